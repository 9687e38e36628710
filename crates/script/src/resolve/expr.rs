//! Expressions of a probe's body: identifiers become built-ins or constants, parameters become literals.

use strix_model::{Diagnostic, Span};
use strix_syntax::ast::{self, UnaryOp};

use super::body::Body;
use super::btf_types::find_field;
use super::names::Constant;
use super::number;
use super::words;
use crate::builtins::{self, Function, Variable};
use crate::hir::{Context, Expr, ExprKind};
use crate::types::Type;

/// `#define`s that use each other expand this deep.
const MAX_EXPANSION: usize = 64;
/// Expressions that the `#define`s in a body expand to in all.
const MAX_EXPANDED: u32 = 100_000;
/// Expressions in expressions, `#define`s written out.
const MAX_DEPTH: u32 = 400;

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        if self.depth >= MAX_DEPTH {
            self.error(expr.span, "the expression is nested too deeply");
            return self.node(ExprKind::Error, expr.span);
        }
        self.depth += 1;
        self.expanded = self.expanded.saturating_add(u32::from(!self.expanding.is_empty()));
        let kind = self.kind(expr).unwrap_or(ExprKind::Error);
        self.depth -= 1;
        self.node(kind, expr.span)
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    /// `None` after an error.
    fn kind(&mut self, expr: &ast::Expr) -> Option<ExprKind> {
        let span = expr.span;
        Some(match &expr.kind {
            ast::ExprKind::Int { value, unsigned, .. } => {
                ExprKind::Int { value: *value, ty: unsigned.then_some(Type::U64) }
            }
            ast::ExprKind::Str(text) => ExprKind::Str(text.clone()),
            ast::ExprKind::Bool(b) => ExprKind::Bool(*b),
            ast::ExprKind::Ident(name) => return self.ident(name, span),
            ast::ExprKind::Var(name) => ExprKind::Var(self.scopes.read(name, span, self.diags)?),
            ast::ExprKind::Map { name, key } => {
                let map = self.map(name, span);
                ExprKind::Map { map, key: self.key(key.as_deref().unwrap_or_default()) }
            }
            ast::ExprKind::Positional(n) => self.positional(*n, span),
            ast::ExprKind::PositionalCount => {
                ExprKind::Int { value: self.shared.options.params.len() as u64, ty: None }
            }
            ast::ExprKind::Call { name, args } => return self.call(name, args, span),
            ast::ExprKind::Unary { op, operand } => return self.unary(*op, operand),
            ast::ExprKind::IncDec { increment, prefix, target } => {
                ExprKind::IncDec { increment: *increment, prefix: *prefix, place: self.target(target)? }
            }
            ast::ExprKind::Binary { op, lhs, rhs } => {
                ExprKind::Binary { op: *op, lhs: self.boxed(lhs), rhs: self.boxed(rhs) }
            }
            ast::ExprKind::Ternary { cond, then, els } => ExprKind::Ternary {
                cond: self.boxed(cond),
                then: then.as_ref().map(|e| self.boxed(e)),
                els: self.boxed(els),
            },
            ast::ExprKind::Field { base, name, .. } => {
                ExprKind::Field { base: self.boxed(base), name: name.text.clone(), name_span: name.span }
            }
            ast::ExprKind::TupleField { base, index } => {
                ExprKind::TupleField { base: self.boxed(base), index: *index }
            }
            ast::ExprKind::Index { base, index } => {
                ExprKind::Index { base: self.boxed(base), index: self.boxed(index) }
            }
            ast::ExprKind::Cast { ty, operand } => {
                let ty = self.ty(ty);
                let operand = self.boxed(operand);
                ExprKind::Cast { ty: ty?, operand }
            }
            ast::ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(|e| self.expr(e)).collect()),
            ast::ExprKind::Record(fields) => {
                for (at, (name, _)) in fields.iter().enumerate() {
                    if fields[..at].iter().any(|(before, _)| before.text == name.text) {
                        self.error(name.span, format!("the record has two fields named {}", name.text));
                    }
                }
                ExprKind::Record(fields.iter().map(|(n, e)| (n.text.clone(), self.expr(e))).collect())
            }
            ast::ExprKind::SizeofType(ty) => {
                let ty = self.ty(ty)?;
                self.size(&ty, span)?
            }
            ast::ExprKind::SizeofExpr(operand) => match self.type_word(operand) {
                Some(ty) => self.size(&ty, span)?,
                None => ExprKind::Sizeof(Box::new(self.unevaluated(operand))),
            },
            ast::ExprKind::Offsetof { of, path } => return self.offsetof(of, path, span),
            ast::ExprKind::Block { stmts, value } => {
                self.scopes.enter();
                let stmts = self.stmts(stmts);
                let value = self.boxed(value);
                self.scopes.leave();
                ExprKind::Block { stmts, value }
            }
            ast::ExprKind::Error => return None,
        })
    }

    /// An expression of which only the type counts.
    fn unevaluated(&mut self, expr: &ast::Expr) -> Expr {
        self.scopes.unevaluated += 1;
        let resolved = self.expr(expr);
        self.scopes.unevaluated -= 1;
        resolved
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Option<ExprKind> {
        if op == UnaryOp::AddressOf
            && let ast::ExprKind::Var(name) = &operand.kind
        {
            self.scopes.unevaluated += 1;
            let id = self.scopes.read(name, operand.span, self.diags);
            self.scopes.unevaluated -= 1;
            let id = id?;
            self.scopes.mark_assigned(id);
            let operand = Box::new(self.node(ExprKind::Var(id), operand.span));
            return Some(ExprKind::Unary { op, operand });
        }
        Some(ExprKind::Unary { op, operand: self.boxed(operand) })
    }

    fn ident(&mut self, name: &str, span: Span) -> Option<ExprKind> {
        // A `#define` stands for its text wherever the word stands, as the C preprocessor would have it.
        let constant = {
            let shared = &mut *self.shared;
            if shared.names.script.defines.contains_key(name) || words::variable(name).is_none() {
                shared.names.constant(name, &mut shared.types, self.place.modules)
            } else {
                None
            }
        };
        match constant {
            Some(Constant::Enumerator(value, ty)) => {
                return Some(ExprKind::Int { value: value as u64, ty: Some(ty) });
            }
            Some(Constant::Number(value)) => return Some(ExprKind::Int { value, ty: None }),
            Some(Constant::Define(expr)) => return self.expand(name, &expr, span),
            None => {}
        }
        // The built-in itself, whatever macros the script has.
        let name = name.strip_prefix("__builtin_").unwrap_or(name);
        if let Some(variable) = words::variable(name) {
            return self.variable(variable, name, span);
        }
        match name {
            "leader_tid" | "leader_comm" => return self.sugar(name, &[], span)?,
            "probetype" => {
                // As bpftrace has it.
                let special = matches!(self.place.provider, "begin" | "end");
                let name = if special { "special" } else { self.place.provider };
                return Some(ExprKind::Str(name.to_owned()));
            }
            "has_cpid" => return Some(ExprKind::Bool(self.shared.options.child_pid.is_some())),
            "usermode" => return Some(self.usermode(span)),
            _ => {}
        }
        if words::is_unsupported(name) {
            self.error(span, format!("`{name}` is not supported yet"));
            return None;
        }
        let error = Diagnostic::error(span, format!("unknown identifier: '{name}'"));
        self.diags.push(match words::near_variable(name) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None if words::function(name).is_some() => {
                error.with_help(format!("`{name}` is a function: write `{name}(…)`"))
            }
            None => error,
        });
        None
    }

    fn expand(&mut self, name: &str, expr: &ast::Expr, span: Span) -> Option<ExprKind> {
        if self.expanding.len() >= MAX_EXPANSION || self.expanding.iter().any(|n| n == name) {
            self.error(span, format!("`#define {name}` expands to itself"));
            return None;
        }
        if self.expanded > MAX_EXPANDED {
            // Said once.
            if self.expanded < u32::MAX {
                self.error(span, format!("`#define {name}` expands to too much"));
            }
            self.expanded = u32::MAX;
            return None;
        }
        self.expanding.push(name.to_owned());
        let kind = self.kind(expr);
        self.expanding.pop();
        kind
    }

    /// A positional parameter where a number may stand: what is no number is a string.
    fn positional(&mut self, n: u32, span: Span) -> ExprKind {
        let text = self.parameter(n);
        if text.is_empty() {
            let message = format!("positional parameter ${n} is empty or not provided");
            self.diags.push(Diagnostic::warning(span, message).with_help("it counts as 0"));
            return ExprKind::Int { value: 0, ty: None };
        }
        if text.starts_with('-') {
            return match number::signed(&text) {
                Ok(value) => {
                    let operand = ExprKind::Int { value: value.unsigned_abs(), ty: None };
                    let operand = Box::new(self.node(operand, span));
                    ExprKind::Unary { op: UnaryOp::Neg, operand }
                }
                Err(_) => ExprKind::Str(text),
            };
        }
        match number::unsigned(&text) {
            Ok(value) => ExprKind::Int { value, ty: None },
            Err(_) => ExprKind::Str(text),
        }
    }

    fn parameter(&self, n: u32) -> String {
        let index = (n as usize).checked_sub(1);
        index.and_then(|i| self.shared.options.params.get(i)).cloned().unwrap_or_default()
    }

    fn call(&mut self, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<ExprKind> {
        let word = name.text.as_str();
        if args.is_empty()
            && !matches!(word, "kstack" | "ustack" | "nsecs")
            && let Some(variable) = words::callable_variable(word)
        {
            return self.variable(variable, word, span);
        }
        match (word, args) {
            ("str", [first, rest @ ..]) => {
                if let Some(text) = self.constant_str(first, rest) {
                    return Some(ExprKind::Str(text));
                }
            }
            ("pid" | "tid", [ast::Expr { kind: ast::ExprKind::Ident(mode), .. }])
                if words::is_mode_word(word, mode) =>
            {
                let variable = match (word, mode.as_str()) {
                    ("pid", "init") => Variable::InitPid,
                    (_, "init") => Variable::InitTid,
                    _ => words::variable(word)?,
                };
                return self.variable(variable, word, span);
            }
            ("pid" | "tid", [other, ..]) => {
                self.error(other.span, format!("{word}() only supports curr_ns and init as the argument"));
                return None;
            }
            ("getopt", args) => return self.getopt(args, span),
            ("is_err", [operand]) => return Some(self.is_err(operand, span)),
            ("probetype" | "has_cpid" | "usermode", []) => return self.ident(word, span),
            ("default_str_length", []) => {
                let value = u64::from(self.shared.names.max_strlen);
                return Some(ExprKind::Int { value, ty: Some(Type::U64) });
            }
            _ => {}
        }
        if let Some(kind) = self.sugar(word, args, span) {
            return kind;
        }
        let Some(function) = words::function(word) else {
            return self.unknown_function(name, args.len());
        };
        if builtins::function(function).unsafe_only && !self.shared.options.unsafe_mode {
            let message = format!("{word}() is an unsafe function being used in safe mode");
            let help = "it can change the system: allow it with --unsafe";
            self.diags.push(Diagnostic::error(span, message).with_help(help));
        }
        self.check_place(function, word, span);
        let args = self.arguments(function, word, args);
        Some(ExprKind::Call { function, args, name_span: name.span })
    }

    fn unknown_function(&mut self, name: &ast::Name, args: usize) -> Option<ExprKind> {
        let word = name.text.as_str();
        if words::is_unsupported(word) {
            self.error(name.span, format!("`{word}` is not supported yet"));
        } else if words::callable_variable(word).is_some() {
            self.error(name.span, format!("{word}() takes no arguments ({args} provided)"));
        } else {
            let error = Diagnostic::error(name.span, format!("unknown function: '{word}'"));
            self.diags.push(match words::near_function(word) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error,
            });
        }
        None
    }

    /// `delete(@m, k)` and `has_key(@m, k)` become one argument with the key in it.
    fn arguments(&mut self, function: Function, word: &str, args: &[ast::Expr]) -> Vec<Expr> {
        if let (Function::Delete | Function::HasKey, [first, key]) = (function, args)
            && let ast::ExprKind::Map { name, key: None } = &first.kind
        {
            let map = self.map(name, first.span);
            let key = self.key(std::slice::from_ref(key));
            return vec![self.node(ExprKind::Map { map, key }, first.span)];
        }
        args.iter()
            .map(|arg| match &arg.kind {
                ast::ExprKind::Ident(mode) if words::is_mode_word(word, mode) => {
                    self.node(ExprKind::Str(mode.clone()), arg.span)
                }
                _ => self.expr(arg),
            })
            .collect()
    }

    /// `str` of a literal or a parameter is known now.
    fn constant_str(&mut self, first: &ast::Expr, rest: &[ast::Expr]) -> Option<String> {
        let mut text = match &first.kind {
            ast::ExprKind::Positional(n) => self.parameter(*n),
            ast::ExprKind::Binary { op: ast::BinaryOp::Add, lhs, rhs } => {
                let (ast::ExprKind::Positional(n), ast::ExprKind::Int { value, .. }) = (&lhs.kind, &rhs.kind)
                else {
                    return None;
                };
                let text = self.parameter(*n);
                let skip = usize::try_from(*value).unwrap_or(usize::MAX);
                text.char_indices()
                    .find(|(at, _)| *at >= skip)
                    .map(|(at, _)| text[at..].to_owned())
                    .unwrap_or_default()
            }
            ast::ExprKind::Str(text) => text.clone(),
            _ => return None,
        };
        match rest {
            [] => Some(text),
            [ast::Expr { kind: ast::ExprKind::Int { value, .. }, .. }] => {
                let mut end = usize::try_from(*value).unwrap_or(usize::MAX).min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                text.truncate(end);
                Some(text)
            }
            _ => None,
        }
    }

    /// `is_err(p)`: p as a signed number is one of the last 4095. As an unsigned comparison it needs p once.
    fn is_err(&mut self, operand: &ast::Expr, span: Span) -> ExprKind {
        let operand = self.boxed(operand);
        let number = ExprKind::Cast { ty: Type::U64, operand };
        let lhs = Box::new(self.node(number, span));
        let least = ExprKind::Int { value: (-4095i64) as u64, ty: Some(Type::U64) };
        let rhs = Box::new(self.node(least, span));
        ExprKind::Binary { op: ast::BinaryOp::Ge, lhs, rhs }
    }

    /// Whether user code was interrupted: the privilege level in the code segment register. Without registers it is known
    /// from the kind of probe.
    fn usermode(&mut self, span: Span) -> ExprKind {
        let int = |value| ExprKind::Int { value, ty: Some(Type::Int { size: 1, signed: false }) };
        if !self.place.has_registers() {
            return int(u64::from(matches!(self.place.context, Context::Nothing)));
        }
        let name = self.node(ExprKind::Str("cs".to_owned()), span);
        let call = ExprKind::Call { function: Function::Reg, args: vec![name], name_span: span };
        let lhs = Box::new(self.node(call, span));
        let rhs = Box::new(self.node(ExprKind::Int { value: 3, ty: Some(Type::U64) }, span));
        let level = ExprKind::Binary { op: ast::BinaryOp::BitAnd, lhs, rhs };
        let cond = Box::new(self.node(level, span));
        let then = Some(Box::new(self.node(int(1), span)));
        let els = Box::new(self.node(int(0), span));
        ExprKind::Ternary { cond, then, els }
    }

    fn variable(&mut self, variable: Variable, word: &str, span: Span) -> Option<ExprKind> {
        if let Variable::Sarg(_) = variable {
            let message = format!("{word} is deprecated and will be removed in the future");
            self.diags.push(
                Diagnostic::warning(span, message).with_help("use `*(reg(\"sp\") + <stack_offset>)` instead"),
            );
        }
        match self.place.refuse(variable, word, self.in_callback()) {
            Some(message) => {
                self.error(span, message);
                None
            }
            None => Some(ExprKind::Builtin(variable)),
        }
    }

    fn check_place(&mut self, function: Function, word: &str, span: Span) {
        let provider = self.place.provider;
        let possible = match function {
            Function::Reg => self.place.has_registers(),
            Function::Uaddr => matches!(provider, "uprobe" | "uretprobe"),
            _ => true,
        };
        if !possible {
            self.error(span, format!("{word} can not be used with \"{provider}\" probes"));
        }
    }

    /// A word that is the name of a type and of nothing else.
    fn type_word(&mut self, expr: &ast::Expr) -> Option<Type> {
        let ast::ExprKind::Ident(name) = &expr.kind else { return None };
        if words::variable(name).is_some() {
            return None;
        }
        let shared = &mut *self.shared;
        shared.names.named(name, &mut shared.types, self.place.modules)
    }

    fn size(&mut self, ty: &Type, span: Span) -> Option<ExprKind> {
        if let Type::Record(id) = ty
            && self.shared.types.record(*id).size == 0
            && self.shared.types.record(*id).fields.is_none()
        {
            let name = self.shared.types.record(*id).name.clone();
            self.error(span, format!("the size of `{name}` is not known: it is only declared"));
            return None;
        }
        let value = u64::from(self.shared.types.size_of(ty));
        Some(ExprKind::Int { value, ty: Some(Type::U64) })
    }

    fn offsetof(&mut self, of: &ast::OffsetofBase, path: &[ast::Name], span: Span) -> Option<ExprKind> {
        let mut ty = match of {
            ast::OffsetofBase::Type(ty) => self.ty(ty)?,
            ast::OffsetofBase::Expr(expr) => match self.type_word(expr) {
                Some(ty) => ty,
                None => {
                    let of = Box::new(self.unevaluated(expr));
                    let path = path.iter().map(|n| n.text.clone()).collect();
                    return Some(ExprKind::Offsetof { of, path });
                }
            },
        };
        let mut offset = 0u64;
        for name in path {
            let Type::Record(id) = ty else {
                self.error(name.span, "offsetof needs a struct or union");
                return None;
            };
            let shared = &mut *self.shared;
            match find_field(shared.names.facts, &mut shared.types, id, &name.text) {
                Ok(Some(field)) => {
                    offset += u64::from(field.offset);
                    ty = field.ty;
                }
                Ok(None) => {
                    let record = shared.types.record(id).name.clone();
                    self.error(name.span, format!("'{record}' has no field named '{}'", name.text));
                    return None;
                }
                Err(reason) => {
                    self.error(span, format!("cannot look into the struct: {reason}"));
                    return None;
                }
            }
        }
        Some(ExprKind::Int { value: offset, ty: Some(Type::U64) })
    }
}
