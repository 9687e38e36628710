//! Expressions.

use strix_syntax::ast::UnaryOp;

use super::join::{Flex, Typing, join};
use super::{Checker, MAX_DEPTH};
use crate::builtins::{self, Variable};
use crate::hir::{Expr, ExprKind, Place};
use crate::types::Type;

impl Checker<'_> {
    /// The type of an expression; [`Type::Void`] when it has no value, when its type is not known yet, and after an error.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Type {
        if self.depth >= MAX_DEPTH {
            return self.error(expr.span, "the expression is nested too deeply");
        }
        self.depth += 1;
        let ty = self.kind(expr);
        self.depth -= 1;
        self.note(expr, ty.clone());
        ty
    }

    /// The type of an expression that must have a value.
    pub(crate) fn value(&mut self, expr: &Expr) -> Type {
        let ty = self.expr(expr);
        match &expr.kind {
            ExprKind::Builtin(Variable::Args) => {
                let message = "args is not a value: name one of its fields";
                self.error(expr.span, message)
            }
            ExprKind::Call { function, .. }
                if ty == Type::Void && builtins::function(*function).is_void() =>
            {
                let name = builtins::function(*function).name;
                self.error(expr.span, format!("{name}() has no value"))
            }
            _ => ty,
        }
    }

    /// The type of a value, and what is open about it.
    pub(super) fn typing(&mut self, expr: &Expr) -> Typing {
        let ty = self.value(expr);
        Typing { flex: self.flex(expr), ty }
    }

    fn kind(&mut self, expr: &Expr) -> Type {
        match &expr.kind {
            ExprKind::Int { ty: Some(ty), .. } => ty.clone(),
            ExprKind::Int { value, .. } if i64::try_from(*value).is_err() => Type::U64,
            ExprKind::Int { .. } => Type::I64,
            ExprKind::Str(text) => self.literal(text, expr),
            ExprKind::Bool(_) => Type::Bool,
            ExprKind::Var(var) => {
                self.vars[self.instance].get(var.0 as usize).map_or(Type::Void, super::VarSlot::ty)
            }
            ExprKind::Map { map, key } => self.read_map(expr, *map, key),
            ExprKind::Builtin(variable) => {
                let check = builtins::variable(*variable).check;
                check(self, *variable, expr.span)
            }
            ExprKind::Call { function, args, name_span } => self.call(expr, *function, args, *name_span),
            ExprKind::Unary { op, operand } => self.unary(expr, *op, operand),
            ExprKind::IncDec { increment, place, .. } => self.inc_dec(expr, *increment, place),
            ExprKind::Binary { op, lhs, rhs } => self.binary(expr, *op, lhs, rhs),
            ExprKind::Ternary { cond, then, els } => self.ternary(expr, cond, then.as_deref(), els),
            ExprKind::Field { base, name, name_span } => self.field_access(base, name, *name_span),
            ExprKind::TupleField { base, index } => self.tuple_field(expr, base, *index),
            ExprKind::Index { base, index } => self.index(expr, base, index),
            ExprKind::Cast { ty, operand } => self.cast(expr, ty, operand),
            ExprKind::Tuple(items) => {
                let types: Vec<Type> = items.iter().map(|e| self.value(e)).collect();
                // A tuple of something unknown is unknown: it could contain itself.
                if types.contains(&Type::Void) { Type::Void } else { Type::Tuple(types) }
            }
            ExprKind::Record(fields) => {
                let types: Vec<(String, Type)> =
                    fields.iter().map(|(name, e)| (name.clone(), self.value(e))).collect();
                if types.iter().any(|(_, ty)| *ty == Type::Void) {
                    return Type::Void;
                }
                let roomy = |(name, ty)| (name, roomy(ty));
                Type::Record(self.types.intern(types.into_iter().map(roomy).collect()))
            }
            ExprKind::Sizeof(operand) => {
                self.expr(operand);
                Type::U64
            }
            ExprKind::Offsetof { of, path } => self.offset_of(expr, of, path),
            ExprKind::Block { stmts, value } => {
                self.stmts(stmts);
                self.expr(value)
            }
            ExprKind::Error => Type::Void,
        }
    }

    /// A string literal where a value stands. Formats and other texts that no program holds do not come here.
    fn literal(&mut self, text: &str, expr: &Expr) -> Type {
        let max = self.hir.config.max_strlen;
        let size = u32::try_from(text.len()).unwrap_or(u32::MAX);
        if size >= max {
            let message = format!("string is too long (over {max} bytes)");
            self.push(|_| {
                strix_model::Diagnostic::error(expr.span, message).with_help("see the setting max_strlen")
            });
            return Type::Str { cap: max };
        }
        Type::Str { cap: size + 1 }
    }

    /// What is open about the sign of an expression.
    pub(super) fn flex(&self, expr: &Expr) -> Flex {
        let yes_if = |yes| if yes { Flex::Yes } else { Flex::No };
        match &expr.kind {
            ExprKind::Int { ty, .. } => yes_if(ty.is_none()),
            ExprKind::Binary { lhs, rhs, .. } => {
                let open = self.flex(lhs) == Flex::Yes && self.flex(rhs) == Flex::Yes;
                yes_if(open && expr.as_const().is_some_and(|v| v >= 0))
            }
            ExprKind::Var(var) => {
                self.vars[self.instance].get(var.0 as usize).map_or(Flex::No, super::VarSlot::flex)
            }
            ExprKind::Map { map, .. } => match &self.maps[map.0 as usize].value {
                Some(source) if !matches!(source.typing.ty, Type::Aggregate(_)) => source.typing.flex.clone(),
                _ => Flex::No,
            },
            ExprKind::Tuple(items) => Flex::Tuple(items.iter().map(|e| self.flex(e)).collect()),
            ExprKind::TupleField { base, index } => match self.flex(base) {
                Flex::Tuple(items) => items.get(*index as usize).cloned().unwrap_or(Flex::No),
                _ => Flex::No,
            },
            ExprKind::Ternary { then: Some(then), els, .. } => {
                yes_if(self.flex(then) == Flex::Yes && self.flex(els) == Flex::Yes)
            }
            ExprKind::Block { value, .. } => self.flex(value),
            _ => Flex::No,
        }
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, operand: &Expr) -> Type {
        if op == UnaryOp::AddressOf {
            return self.address_of(expr, operand);
        }
        let ty = self.value(operand);
        let refuse = |c: &mut Self, text: &str| {
            let name = c.name(&ty);
            c.error(expr.span, format!("the {text} operator can not be used on expressions of type '{name}'"))
        };
        match (op, &ty) {
            (_, Type::Void) => Type::Void,
            (UnaryOp::Deref, _) => self.deref(expr, operand, &ty),
            (UnaryOp::Not, Type::Int { .. } | Type::Enum { .. } | Type::Bool | Type::Pointer { .. }) => {
                Type::Bool
            }
            (UnaryOp::Not, _) => refuse(self, "!"),
            (UnaryOp::Neg, Type::Int { .. } | Type::Enum { .. }) => Type::I64,
            (UnaryOp::Neg, _) => refuse(self, "-"),
            (_, Type::Int { signed, .. } | Type::Enum { signed, .. }) => {
                Type::Int { size: 8, signed: *signed }
            }
            _ => refuse(self, "~"),
        }
    }

    fn inc_dec(&mut self, expr: &Expr, increment: bool, place: &Place) -> Type {
        let step = if increment { Typing::literal() } else { Typing::fixed(Type::I64) };
        let sign = if increment { "++" } else { "--" };
        let ty = match place {
            Place::Var(var) => {
                self.vars[self.instance].get(var.0 as usize).map_or(Type::Void, super::VarSlot::ty)
            }
            Place::Map { map, key, span } => {
                self.access_key(*map, key, *span);
                self.maps[map.0 as usize].stored()
            }
        };
        match ty {
            Type::Pointer { .. } => ty,
            Type::Void | Type::Int { .. } | Type::Enum { .. } => match place {
                Place::Var(var) => {
                    self.grow_var(*var, &step, None, expr.span);
                    self.vars[self.instance].get(var.0 as usize).map_or(Type::Void, super::VarSlot::ty)
                }
                Place::Map { map, .. } => {
                    if ty != Type::Void || self.self_made {
                        self.grow_value(*map, &step, None, expr.span);
                    }
                    self.maps[map.0 as usize].stored()
                }
            },
            Type::Aggregate(_) => self.not_plain(place, sign, expr.span),
            _ => {
                let name = self.name(&ty);
                self.error(
                    expr.span,
                    format!("the {sign} operator can not be used on expressions of type '{name}'"),
                )
            }
        }
    }

    fn ternary(&mut self, expr: &Expr, cond: &Expr, then: Option<&Expr>, els: &Expr) -> Type {
        let Some(then) = then else { return self.elvis(expr, cond, els) };
        self.condition(cond);
        let (left, right) = (self.expr(then), self.expr(els));
        if left == Type::Void && right == Type::Void {
            return Type::Void;
        }
        if is_void_call(then) || is_void_call(els) {
            let (l, r) = (self.name(&left), self.name(&right));
            let message =
                format!("branches must return the same type or compatible types: have '{l}' and '{r}'");
            return self.error(expr.span, message);
        }
        let left = Typing { flex: self.flex(then), ty: left };
        let right = Typing { flex: self.flex(els), ty: right };
        self.unify(expr, (then, left), (els, right))
    }

    /// `cond ?: els`: both are scalars.
    fn elvis(&mut self, expr: &Expr, cond: &Expr, els: &Expr) -> Type {
        self.condition(cond);
        let left = Typing { flex: self.flex(cond), ty: self.noted(cond).clone() };
        let right = self.typing(els);
        if !left.ty.is_scalar() && left.ty != Type::Void {
            return Type::Void;
        }
        self.unify(expr, (cond, left), (els, right))
    }

    fn unify(&mut self, expr: &Expr, left: (&Expr, Typing), right: (&Expr, Typing)) -> Type {
        match join(&left.1, &right.1) {
            Some(joined) => joined.ty,
            None => {
                let (l, r) = (self.name(&left.1.ty), self.name(&right.1.ty));
                self.push(|_| {
                    let message = format!(
                        "branches must return the same type or compatible types: have '{l}' and '{r}'"
                    );
                    strix_model::Diagnostic::error(expr.span, message)
                        .with_label(left.0.span, l)
                        .with_label(right.0.span, r)
                });
                Type::Void
            }
        }
    }

    /// A condition: an integer, a truth value or a pointer.
    pub(super) fn condition(&mut self, expr: &Expr) {
        let ty = self.value(expr);
        if expr.as_str().is_some() {
            // A constant: whether there is text in it.
            return;
        }
        if !matches!(
            ty,
            Type::Void | Type::Int { .. } | Type::Enum { .. } | Type::Bool | Type::Pointer { .. }
        ) {
            let name = self.name(&ty);
            self.push(|_| {
                let error = strix_model::Diagnostic::error(expr.span, format!("invalid condition: {name}"));
                match ty {
                    Type::Str { .. } => error.with_help("compare it: `!= \"\"`"),
                    _ => error,
                }
            });
        }
    }
}

/// A call that has no value.
fn is_void_call(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { function, .. } => builtins::function(*function).is_void(),
        ExprKind::Block { value, .. } => is_void_call(value),
        _ => false,
    }
}

/// The type of a record's field for a value: records do not grow as tuples do, so that their numbers and strings have room from the start.
fn roomy(ty: Type) -> Type {
    match ty {
        Type::Int { size: 1 | 2 | 4, .. } => Type::I64,
        Type::Str { cap } => Type::Str { cap: cap.next_multiple_of(ROOM) },
        Type::Tuple(items) => Type::Tuple(items.into_iter().map(roomy).collect()),
        other => other,
    }
}

/// Strings in records take a multiple of this many bytes.
const ROOM: u32 = 64;
