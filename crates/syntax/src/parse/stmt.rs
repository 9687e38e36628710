//! Statements.

use strix_model::Diagnostic;

use super::{MAX_DEPTH, Parsed, Parser, Reported};
use crate::ast::{BinaryOp, Block, Expr, ExprKind, Name, Stmt, StmtKind};
use crate::lex::TokenKind;

/// Words before a colon that show where a probe begins.
const PROVIDERS: [&str; 30] = [
    "kprobe",
    "kretprobe",
    "k",
    "kr",
    "kfunc",
    "kretfunc",
    "fentry",
    "fexit",
    "f",
    "fr",
    "uprobe",
    "uretprobe",
    "u",
    "ur",
    "usdt",
    "U",
    "tracepoint",
    "t",
    "rawtracepoint",
    "rt",
    "profile",
    "p",
    "interval",
    "i",
    "software",
    "s",
    "hardware",
    "h",
    "watchpoint",
    "iter",
];

const FOR_HELP: &str = "loops go over a range or a map: for ($i : 0..10) { }, for ($kv : @map) { }";

impl Parser<'_> {
    /// A block in braces. Errors inside are reported and do not end it.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let open = self.expect("{")?;
        self.nested(|p| {
            let in_predicate = std::mem::replace(&mut p.in_predicate, false);
            let outer = std::mem::replace(&mut p.open, open);
            let mut stmts = Vec::new();
            while !p.is("}") && !p.at_end() {
                let before = p.at;
                match p.beside(Self::stmt) {
                    Ok(stmt) => stmts.push(stmt),
                    Err(_) => p.recover_stmt(),
                }
                if p.at == before && !p.is("}") {
                    p.advance();
                }
            }
            p.in_predicate = in_predicate;
            p.open = outer;
            if p.at_end() && p.unclosed_known {
                return Err(Reported);
            }
            if p.at_end() {
                p.unclosed_known = true;
                let span = p.span();
                let problem = Diagnostic::error(span, "syntax error, unexpected end of file, expected `}`");
                return Err(p.report(problem.with_label(open, "this brace is not closed")));
            }
            let close = p.expect("}")?;
            Ok(Block { stmts, span: open.to(close) })
        })
    }

    /// Skips to the next statement: past a semicolon, or before the brace that closes the block.
    fn recover_stmt(&mut self) {
        let mut depth = 0u32;
        while !self.at_end() {
            match self.kind() {
                TokenKind::Punct("{") => depth += 1,
                TokenKind::Punct("}") if depth == 0 => return,
                TokenKind::Punct("}") => {
                    depth -= 1;
                    if depth == 0 {
                        self.advance();
                        return;
                    }
                }
                TokenKind::Punct(";") if depth == 0 => {
                    self.advance();
                    return;
                }
                TokenKind::AttachPoint(_) => return,
                _ => {}
            }
            self.advance();
        }
    }

    pub(super) fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let (kind, closed) = match self.kind().clone() {
            TokenKind::Punct("{") => (self.block_stmt()?, true),
            TokenKind::Punct(";") => {
                self.advance();
                return Ok(Stmt {
                    kind: StmtKind::Block(Block { stmts: Vec::new(), span: start }),
                    span: start,
                });
            }
            TokenKind::Ident(word) => match word.as_str() {
                "if" => (self.headed(Self::if_stmt)?, true),
                "while" => (self.headed(Self::while_stmt)?, true),
                "for" => (self.headed(Self::for_stmt)?, true),
                "unroll" => (self.headed(Self::unroll_stmt)?, true),
                "let" => (self.let_stmt()?, false),
                "break" | "continue" => {
                    self.advance();
                    (if word == "break" { StmtKind::Break } else { StmtKind::Continue }, false)
                }
                "return" => (self.return_stmt()?, false),
                "_" if self.is_at(1, "=") => {
                    self.advance();
                    self.advance();
                    (StmtKind::Discard(self.expr()?), false)
                }
                "else" => {
                    return Err(self.error(start, "syntax error, `else` without an `if` before it"));
                }
                "import" => {
                    return Err(self.error(start, "`import` is not supported: strix has no imports yet"));
                }
                _ => (self.expr_stmt()?, false),
            },
            _ => (self.expr_stmt()?, false),
        };
        let span = start.to(self.previous());
        if !self.take(";") && !closed {
            self.end_of_stmt(&kind)?;
        }
        Ok(Stmt { kind, span })
    }

    /// The last statement of a block needs no semicolon, nor does one that ends with a block.
    fn end_of_stmt(&mut self, kind: &StmtKind) -> Parsed<()> {
        if self.is("}") || self.at_end() || ends_with_block(kind) {
            return Ok(());
        }
        let last = self.previous();
        if self.probe_begins(kind) {
            self.unclosed_known = true;
            let problem = Diagnostic::error(last, "syntax error, a probe cannot begin inside of another");
            let problem = problem.with_label(self.open, "this brace is not closed");
            return Err(self.report(problem.with_help("close it with `}`")));
        }
        if matches!(self.kind(), TokenKind::Unknown(_)) {
            return Err(self.unexpected("`;`"));
        }
        let found = super::describe(self.kind());
        let span = self.span();
        let problem =
            Diagnostic::error(span, format!("syntax error, unexpected {found}, expected `;` or `}}`"));
        Err(self.report(problem.with_label(last, "the statement before it ends here")))
    }

    /// Whether what looks like an expression is the start of the next probe.
    fn probe_begins(&self, kind: &StmtKind) -> bool {
        let StmtKind::Expr(Expr { kind: ExprKind::Ident(word), .. }) = kind else { return false };
        match word.as_str() {
            "BEGIN" | "END" | "begin" | "end" => self.is("{") || self.is("/"),
            word => PROVIDERS.contains(&word) && self.is(":"),
        }
    }

    /// A statement with a head and a body. The body is worth looking at even when the head is not: then it stands for the statement.
    fn headed(&mut self, stmt: fn(&mut Self) -> Parsed<StmtKind>) -> Parsed<StmtKind> {
        let start = self.at;
        stmt(self).or_else(|reported| {
            let in_head = self.tokens[start..self.at].iter().all(|t| t.kind != TokenKind::Punct("{"));
            if in_head && self.depth < MAX_DEPTH { self.body_after(start) } else { Err(reported) }
        })
    }

    /// Skips the rest of the head that began at `start` and takes the body, if there is one.
    fn body_after(&mut self, start: usize) -> Parsed<StmtKind> {
        let mut parens = 0i64;
        let mut count = |kind: &TokenKind| match kind {
            TokenKind::Punct("(") => {
                parens += 1;
                parens
            }
            TokenKind::Punct(")") => {
                parens -= 1;
                parens
            }
            _ => parens,
        };
        self.tokens[start..self.at].iter().for_each(|t| {
            count(&t.kind);
        });
        loop {
            let open = count(self.kind());
            match self.kind() {
                TokenKind::Eof | TokenKind::AttachPoint(_) | TokenKind::Punct("}") => return Err(Reported),
                TokenKind::Punct(";") if open <= 0 => return Err(Reported),
                TokenKind::Punct("{") => break,
                _ => self.advance(),
            }
        }
        let body = self.block()?;
        if self.take_word("else") {
            if self.is_word("if") {
                self.headed(Self::if_stmt)?;
            } else {
                self.block()?;
            }
        }
        Ok(StmtKind::Block(body))
    }

    fn block_stmt(&mut self) -> Parsed<StmtKind> {
        Ok(StmtKind::Block(self.block()?))
    }

    pub(super) fn if_stmt(&mut self) -> Parsed<StmtKind> {
        self.nested(|p| {
            p.advance();
            if p.is_word("comptime") {
                let span = p.span();
                return Err(p.error(span, "`comptime` is not supported yet"));
            }
            let cond = p.condition()?;
            let then = p.block()?;
            let els = if p.take_word("else") {
                if p.is_word("if") {
                    let start = p.span();
                    let kind = p.if_stmt()?;
                    let span = start.to(p.previous());
                    Some(Block { stmts: vec![Stmt { kind, span }], span })
                } else {
                    Some(p.block()?)
                }
            } else {
                None
            };
            Ok(StmtKind::If { cond, then, els })
        })
    }

    fn condition(&mut self) -> Parsed<Expr> {
        if self.is("{") {
            return Err(self.unexpected("a condition"));
        }
        let cond = self.expr()?;
        self.check_condition(&cond);
        Ok(cond)
    }

    fn while_stmt(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let cond = self.condition()?;
        let body = self.block()?;
        Ok(StmtKind::While { cond, body })
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let parenthesised = self.take("(");
        if !matches!(self.kind(), TokenKind::Var(_)) {
            let problem = self.surprise("a variable ($name)").with_help(FOR_HELP);
            return Err(self.report(problem));
        }
        let var = self.variable_name()?;
        if !self.take(":") {
            // Not about comparing.
            let found = super::describe(self.kind());
            let message = format!("syntax error, unexpected {found}, expected `:`");
            let problem = Diagnostic::error(self.span(), message).with_help(FOR_HELP);
            return Err(self.report(problem));
        }
        if let TokenKind::Map(name) = self.kind().clone()
            && (self.is_at(1, ")") || self.is_at(1, "{"))
        {
            let map = Name { text: name, span: self.span() };
            self.advance();
            if parenthesised {
                self.expect(")")?;
            }
            return Ok(StmtKind::ForMap { var, map, body: self.block()? });
        }
        let lo = self.expr()?;
        self.expect("..")?;
        let hi = self.expr()?;
        if parenthesised {
            self.expect(")")?;
        }
        Ok(StmtKind::ForRange { var, lo, hi, body: self.block()? })
    }

    fn unroll_stmt(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let count = self.expr()?;
        let body = self.block()?;
        Ok(StmtKind::Unroll { count, body })
    }

    fn let_stmt(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let var = self.variable_name()?;
        let ty = if self.take(":") { Some(self.type_expr()?) } else { None };
        let init = if self.take("=") { Some(self.expr()?) } else { None };
        Ok(StmtKind::Let { var, ty, init })
    }

    fn return_stmt(&mut self) -> Parsed<StmtKind> {
        self.advance();
        if self.is(";") || self.is("}") || self.at_end() {
            return Ok(StmtKind::Return(None));
        }
        Ok(StmtKind::Return(Some(self.expr()?)))
    }

    fn expr_stmt(&mut self) -> Parsed<StmtKind> {
        let target = self.expr()?;
        let op = match self.kind() {
            TokenKind::Punct("=") => None,
            TokenKind::Punct(punct) => match compound(punct) {
                Some(op) => Some(op),
                None => return Ok(StmtKind::Expr(target)),
            },
            _ => return Ok(StmtKind::Expr(target)),
        };
        if !is_place(&target) {
            return Err(self.error(target.span, "only a variable ($x) or a map (@x) can be assigned to"));
        }
        self.advance();
        let value = self.expr()?;
        Ok(StmtKind::Assign { target, op, value })
    }

    pub(super) fn variable_name(&mut self) -> Parsed<Name> {
        let span = self.span();
        if let TokenKind::Var(text) = self.kind().clone() {
            self.advance();
            return Ok(Name { text, span });
        }
        Err(self.unexpected("a variable ($name)"))
    }

    pub(super) fn map_name(&mut self) -> Parsed<Name> {
        let span = self.span();
        if let TokenKind::Map(text) = self.kind().clone() {
            self.advance();
            return Ok(Name { text, span });
        }
        Err(self.unexpected("a map (@name)"))
    }
}

fn ends_with_block(kind: &StmtKind) -> bool {
    let last = match kind {
        StmtKind::Expr(e) | StmtKind::Assign { value: e, .. } | StmtKind::Discard(e) => e,
        _ => return false,
    };
    matches!(last.kind, ExprKind::Block { .. })
}

fn is_place(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Var(_) | ExprKind::Map { .. })
}

fn compound(punct: &str) -> Option<BinaryOp> {
    Some(match punct {
        "+=" => BinaryOp::Add,
        "-=" => BinaryOp::Sub,
        "*=" => BinaryOp::Mul,
        "/=" => BinaryOp::Div,
        "%=" => BinaryOp::Mod,
        "<<=" => BinaryOp::Shl,
        ">>=" => BinaryOp::Shr,
        "&=" => BinaryOp::BitAnd,
        "|=" => BinaryOp::BitOr,
        "^=" => BinaryOp::BitXor,
        _ => return None,
    })
}
