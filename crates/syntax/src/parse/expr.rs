//! Expressions, with C's precedence.

use strix_model::{Diagnostic, Span};

use super::{Parsed, Parser};
use crate::ast::{
    BinaryOp, Block, Expr, ExprKind, Name, OffsetofBase, Stmt, StmtKind, TypeBase, TypeExpr, UnaryOp,
};
use crate::lex::TokenKind;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(Self::ternary)
    }

    fn ternary(&mut self) -> Parsed<Expr> {
        let cond = self.binary(0)?;
        let short = self.is("?:");
        if !short && !self.is("?") {
            return Ok(cond);
        }
        self.advance();
        let then = if short || self.take(":") {
            None
        } else {
            let then = self.beside(Self::expr)?;
            self.expect(":")?;
            Some(Box::new(then))
        };
        let els = self.beside(Self::expr)?;
        let span = cond.span.to(els.span);
        Ok(Expr { kind: ExprKind::Ternary { cond: Box::new(cond), then, els: Box::new(els) }, span })
    }

    fn binary(&mut self, min: u8) -> Parsed<Expr> {
        let mut lhs = self.unary()?;
        while let Some((op, level)) = self.binary_op()
            && level >= min
        {
            self.advance();
            let rhs = self.beside(|p| p.nested(|p| p.binary(level + 1)))?;
            self.link()?;
            let span = lhs.span.to(rhs.span);
            lhs = Expr { kind: ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }, span };
        }
        Ok(lhs)
    }

    /// The infix operator at hand and its level; higher binds tighter.
    fn binary_op(&self) -> Option<(BinaryOp, u8)> {
        let TokenKind::Punct(punct) = self.kind() else { return None };
        if *punct == "/" && self.in_predicate && (self.is_at(1, "{") || *self.kind_at(1) == TokenKind::Eof) {
            return None;
        }
        let op = match *punct {
            "||" => BinaryOp::Or,
            "&&" => BinaryOp::And,
            "|" => BinaryOp::BitOr,
            "^" => BinaryOp::BitXor,
            "&" => BinaryOp::BitAnd,
            "==" => BinaryOp::Eq,
            "!=" => BinaryOp::Ne,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            "<<" => BinaryOp::Shl,
            ">>" => BinaryOp::Shr,
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" => BinaryOp::Div,
            "%" => BinaryOp::Mod,
            _ => return None,
        };
        Some((op, op.level()))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let TokenKind::Punct(punct) = *self.kind() else { return self.postfix() };
        let op = match punct {
            "-" => UnaryOp::Neg,
            "!" => UnaryOp::Not,
            "~" => UnaryOp::BitNot,
            "*" => UnaryOp::Deref,
            "&" => UnaryOp::AddressOf,
            "++" | "--" => return self.prefix_inc_dec(punct == "++"),
            "(" => {
                if let Some(ty) = self.cast_type()? {
                    let operand = self.nested(Self::unary)?;
                    let span = start.to(operand.span);
                    return Ok(Expr { kind: ExprKind::Cast { ty, operand: Box::new(operand) }, span });
                }
                return self.postfix();
            }
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, span })
    }

    fn prefix_inc_dec(&mut self, increment: bool) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        let target = self.nested(Self::postfix)?;
        self.inc_dec(increment, true, target, start)
    }

    fn inc_dec(&mut self, increment: bool, prefix: bool, target: Expr, start: Span) -> Parsed<Expr> {
        let op = if increment { "++" } else { "--" };
        if !matches!(target.kind, ExprKind::Var(_) | ExprKind::Map { .. }) {
            return Err(self.error(target.span, format!("`{op}` needs a variable ($x) or a map (@x)")));
        }
        let span = start.to(self.previous());
        Ok(Expr { kind: ExprKind::IncDec { increment, prefix, target: Box::new(target) }, span })
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        loop {
            let TokenKind::Punct(punct) = *self.kind() else { return Ok(expr) };
            expr = match punct {
                "." | "->" => self.member(expr, punct == "->")?,
                "[" => {
                    self.advance();
                    let index = self.beside(Self::expr)?;
                    let close = self.expect("]")?;
                    let span = expr.span.to(close);
                    Expr { kind: ExprKind::Index { base: Box::new(expr), index: Box::new(index) }, span }
                }
                "++" | "--" => {
                    let start = expr.span;
                    self.advance();
                    return self.inc_dec(punct == "++", false, expr, start);
                }
                _ => return Ok(expr),
            };
            self.link()?;
        }
    }

    fn member(&mut self, base: Expr, arrow: bool) -> Parsed<Expr> {
        self.advance();
        if let TokenKind::Int { value, .. } = *self.kind() {
            let span = base.span.to(self.span());
            if matches!(base.kind, ExprKind::Int { .. }) {
                let problem = Diagnostic::error(span, "numbers with a fraction are not supported");
                return Err(
                    self.report(problem.with_help("use integers, such as microseconds for milliseconds"))
                );
            }
            self.advance();
            let index = u32::try_from(value).unwrap_or(u32::MAX);
            return Ok(Expr { kind: ExprKind::TupleField { base: Box::new(base), index }, span });
        }
        let name = self.ident("a field's name")?;
        let span = base.span.to(name.span);
        Ok(Expr { kind: ExprKind::Field { base: Box::new(base), name, arrow }, span })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let kind = match self.kind().clone() {
            TokenKind::Int { value, unsigned, duration } => ExprKind::Int { value, unsigned, duration },
            TokenKind::Str(text) => ExprKind::Str(text),
            TokenKind::Var(name) => ExprKind::Var(name),
            TokenKind::Positional(n) => ExprKind::Positional(n),
            TokenKind::PositionalCount => ExprKind::PositionalCount,
            TokenKind::Map(name) => return self.map(name),
            TokenKind::Ident(word) => return self.word(word),
            TokenKind::Punct("(") => return self.parenthesised(),
            TokenKind::Punct("{") => return self.block_expr(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        Ok(Expr { kind, span })
    }

    fn map(&mut self, name: String) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        if !self.take("[") {
            return Ok(Expr { kind: ExprKind::Map { name, key: None }, span: start });
        }
        let open = self.previous();
        let key = self.list("]", open)?;
        let span = start.to(self.previous());
        if key.is_empty() {
            return Err(self.error(span, "a map's key cannot be empty"));
        }
        Ok(Expr { kind: ExprKind::Map { name, key: Some(key) }, span })
    }

    /// Expressions between commas up to a closing token, which is taken. A trailing comma is fine.
    fn list(&mut self, close: &str, open: Span) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        while !self.is(close) {
            list.push(self.beside(Self::expr)?);
            if !self.take(",") {
                break;
            }
        }
        if !self.is(close) {
            return Err(self.unclosed(&format!("`,` or `{close}`"), open));
        }
        self.advance();
        Ok(list)
    }

    fn word(&mut self, word: String) -> Parsed<Expr> {
        let start = self.span();
        match word.as_str() {
            "if" => return self.if_expr(),
            "sizeof" => return self.sizeof(),
            "offsetof" => return self.offsetof(),
            "container_of" if self.is_at(1, "(") => return self.container_of(),
            "comptime" | "typeof" | "typeinfo" => {
                return Err(self.error(start, format!("`{word}` is not supported yet")));
            }
            "true" | "false" => {
                self.advance();
                return Ok(Expr { kind: ExprKind::Bool(word == "true"), span: start });
            }
            "else" | "while" | "for" | "unroll" | "let" | "break" | "continue" | "return" => {
                return Err(self.unexpected("an expression"));
            }
            "struct" | "union" | "enum" => {
                return Err(self
                    .error(start, format!("unexpected `{word}`: a type stands in parentheses, as a cast")));
            }
            _ => {}
        }
        self.advance();
        if !self.take("(") {
            return Ok(Expr { kind: ExprKind::Ident(word), span: start });
        }
        let open = self.previous();
        let args = self.list(")", open)?;
        let span = start.to(self.previous());
        Ok(Expr { kind: ExprKind::Call { name: Name { text: word, span: start }, args }, span })
    }

    fn sizeof(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        self.expect("(")?;
        let kind = if self.starts_type(0) || self.pointer_to_name(")") {
            ExprKind::SizeofType(self.type_expr()?)
        } else {
            ExprKind::SizeofExpr(Box::new(self.expr()?))
        };
        let close = self.expect(")")?;
        Ok(Expr { kind, span: start.to(close) })
    }

    fn offsetof(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        self.expect("(")?;
        let of = if self.starts_type(0) || self.pointer_to_name(",") {
            OffsetofBase::Type(self.type_expr()?)
        } else {
            OffsetofBase::Expr(Box::new(self.expr()?))
        };
        self.expect(",")?;
        let mut path = vec![self.ident("a field's name")?];
        while self.take(".") {
            path.push(self.ident("a field's name")?);
        }
        let close = self.expect(")")?;
        Ok(Expr { kind: ExprKind::Offsetof { of, path }, span: start.to(close) })
    }

    /// `container_of(pointer, type, field)` is `(type *)((void *)pointer - offsetof(type, field))`.
    fn container_of(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        self.expect("(")?;
        let pointer = self.beside(Self::expr)?;
        self.expect(",")?;
        let ty = self.type_expr()?;
        self.expect(",")?;
        let mut path = vec![self.ident("a field's name")?];
        while self.take(".") {
            path.push(self.ident("a field's name")?);
        }
        let close = self.expect(")")?;
        let span = start.to(close);
        let at = |kind| Box::new(Expr { kind, span });
        let void = TypeExpr { base: TypeBase::Named("void".into()), pointers: 1, arrays: Vec::new(), span };
        let lhs = at(ExprKind::Cast { ty: void, operand: Box::new(pointer) });
        let rhs = at(ExprKind::Offsetof { of: OffsetofBase::Type(ty.clone()), path });
        let operand = at(ExprKind::Binary { op: BinaryOp::Sub, lhs, rhs });
        let ty = TypeExpr { pointers: ty.pointers + 1, ..ty };
        Ok(Expr { kind: ExprKind::Cast { ty, operand }, span })
    }

    /// A grouping, a tuple or a record.
    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        let in_predicate = std::mem::replace(&mut self.in_predicate, false);
        let result = self.inside_parentheses(start);
        self.in_predicate = in_predicate;
        result
    }

    fn inside_parentheses(&mut self, start: Span) -> Parsed<Expr> {
        if matches!(self.kind(), TokenKind::Ident(_)) && self.is_at(1, "=") {
            return self.record(start);
        }
        if self.take(")") {
            return Ok(Expr { kind: ExprKind::Tuple(Vec::new()), span: start.to(self.previous()) });
        }
        let first = self.expr()?;
        if self.take(")") {
            // The span of a grouping is its parentheses, the tree does not keep it.
            return Ok(Expr { kind: first.kind, span: start.to(self.previous()) });
        }
        if !self.take(",") {
            return Err(self.unclosed("`,` or `)`", start));
        }
        let mut items = vec![first];
        items.extend(self.list(")", start)?);
        Ok(Expr { kind: ExprKind::Tuple(items), span: start.to(self.previous()) })
    }

    fn record(&mut self, start: Span) -> Parsed<Expr> {
        let mut fields = Vec::new();
        while !self.is(")") {
            let name = self.ident("a field's name")?;
            self.expect("=")?;
            fields.push((name, self.beside(Self::expr)?));
            if !self.take(",") {
                break;
            }
        }
        if !self.is(")") {
            return Err(self.unclosed("`,` or `)`", start));
        }
        self.advance();
        Ok(Expr { kind: ExprKind::Record(fields), span: start.to(self.previous()) })
    }

    /// `{ …; value }`.
    fn block_expr(&mut self) -> Parsed<Expr> {
        let open = self.span();
        let block = self.block()?;
        match value_of(block) {
            Some(value) => Ok(value),
            None => Err(self.error(open, "a block used as a value must end with an expression")),
        }
    }

    /// `if cond { …; value } else { …; value }` in place of a value.
    fn if_expr(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = self.if_stmt()?;
        let span = start.to(self.previous());
        match value_of_stmt(Stmt { kind, span }) {
            Some(value) => Ok(value),
            None => {
                let problem =
                    Diagnostic::error(start, "an `if` used as a value needs a value in each branch");
                Err(self.report(problem.with_help("write `if (…) { 1 } else { 2 }` or `… ? 1 : 2`")))
            }
        }
    }
}

/// What a block gives in place of a value: that of its last statement.
fn value_of(mut block: Block) -> Option<Expr> {
    let value = value_of_stmt(block.stmts.pop()?)?;
    Some(Expr { kind: ExprKind::Block { stmts: block.stmts, value: Box::new(value) }, span: block.span })
}

/// A branch's value, without braces where there is nothing else in them.
fn branch(block: Block) -> Option<Expr> {
    match value_of(block)? {
        Expr { kind: ExprKind::Block { stmts, value }, .. } if stmts.is_empty() => Some(*value),
        value => Some(value),
    }
}

fn value_of_stmt(stmt: Stmt) -> Option<Expr> {
    match stmt.kind {
        StmtKind::Expr(value) => Some(value),
        StmtKind::Block(block) => value_of(block),
        StmtKind::If { cond, then, els } => {
            let (then, els) = (Some(Box::new(branch(then)?)), Box::new(branch(els?)?));
            Some(Expr { kind: ExprKind::Ternary { cond: Box::new(cond), then, els }, span: stmt.span })
        }
        _ => None,
    }
}
