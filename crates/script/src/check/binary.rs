//! Operators between two values.

use strix_model::Diagnostic;
use strix_syntax::ast::BinaryOp;

use super::Checker;
use super::join::{Flex, Typing, int_parts, join};
use crate::hir::Expr;
use crate::types::Type;

/// Whether an operator compares.
pub(super) fn compares(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne)
}

/// Whether an operator connects truth values.
pub(super) fn is_logical(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or)
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int { .. } | Type::Enum { .. } | Type::Bool)
}

impl Checker<'_> {
    pub(super) fn binary(&mut self, expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Type {
        if is_logical(op) {
            self.condition(lhs);
            self.condition(rhs);
            return Type::Bool;
        }
        let left = self.typing(lhs);
        let right = self.typing(rhs);
        self.combine(expr, op, (lhs, left), (rhs, right))
    }

    /// The type of `left op right`.
    pub(super) fn combine(
        &mut self,
        expr: &Expr,
        op: BinaryOp,
        left: (&Expr, Typing),
        right: (&Expr, Typing),
    ) -> Type {
        let (l, r) = (&left.1.ty, &right.1.ty);
        if *l == Type::Void || *r == Type::Void {
            // One side is unknown or wrong; the result of a comparison is known all the same. In `@c = @c + 1` the map gets its
            // type from the other side.
            let known = if *l == Type::Void { r } else { l };
            return match known {
                _ if compares(op) => Type::Bool,
                Type::Int { signed: false, .. } if self.searching => Type::U64,
                known if self.searching && is_number(known) => Type::I64,
                _ => Type::Void,
            };
        }
        match (l, r) {
            (Type::Pointer { .. }, _) | (_, Type::Pointer { .. }) => self.pointers(expr, op, left, right),
            (l, r) if is_number(l) && is_number(r) => self.numbers(op, left, right),
            _ if !compares(op) => self.no_operator(expr, op, l, r),
            _ => self.compare(expr, op, left, right),
        }
    }

    fn numbers(&mut self, op: BinaryOp, left: (&Expr, Typing), right: (&Expr, Typing)) -> Type {
        let by_zero = matches!(op, BinaryOp::Div | BinaryOp::Mod) && right.0.as_const() == Some(0);
        if by_zero {
            return self.error(right.0.span, "division by zero");
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr)
            && let Some(by) = right.0.as_const().filter(|by| !(0..64).contains(by))
        {
            self.warn(right.0.span, format!("shift by {by} bits: only 0 to 63 make sense"));
        }
        let joined = join(&number(&left.1), &number(&right.1)).map_or(Type::I64, |t| t.ty);
        // Whether bits are the same does not depend on a sign, nor does how far they are shifted.
        let signless = matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Eq | BinaryOp::Ne);
        if !signless {
            self.mixed_signs(&left, &right);
        }
        if compares(op) {
            self.never_negative(op, &left, &right);
            return Type::Bool;
        }
        let signed = match op {
            BinaryOp::Sub => true,
            BinaryOp::Shl | BinaryOp::Shr => int_parts(&left.1.ty).1,
            _ => joined.is_signed(),
        };
        Type::Int { size: 8, signed }
    }

    /// Warns when an unsigned number is asked whether it is below zero.
    fn never_negative(&mut self, op: BinaryOp, left: &(&Expr, Typing), right: &(&Expr, Typing)) {
        let (value, always) = match op {
            BinaryOp::Lt if right.0.as_const() == Some(0) => (left, "false"),
            BinaryOp::Ge if right.0.as_const() == Some(0) => (left, "true"),
            BinaryOp::Gt if left.0.as_const() == Some(0) => (right, "false"),
            BinaryOp::Le if left.0.as_const() == Some(0) => (right, "true"),
            _ => return,
        };
        if value.1.flex == Flex::Yes || !matches!(value.1.ty, Type::Int { signed: false, .. }) {
            return;
        }
        let (span, name) = (value.0.span, self.name(&value.1.ty));
        self.push(|_| {
            let message = format!("this comparison is always {always}: '{name}' is never negative");
            Diagnostic::warning(span, message).with_help("if the number is a signed one, cast it: `(int64)…`")
        });
    }

    /// An unsigned number of 8 bytes that is taken as a signed one because the other is.
    fn mixed_signs(&mut self, left: &(&Expr, Typing), right: &(&Expr, Typing)) {
        let ((_, left_signed), (_, right_signed)) = (int_parts(&left.1.ty), int_parts(&right.1.ty));
        let (unsigned, signed) = match (left_signed, right_signed) {
            (false, true) => (left, right),
            (true, false) => (right, left),
            _ => return,
        };
        let open = |side: &(&Expr, Typing)| side.1.flex == Flex::Yes;
        if open(unsigned) || open(signed) || int_parts(&unsigned.1.ty).0 < 8 {
            return;
        }
        self.lossy(unsigned.0, &unsigned.1.ty, &Type::I64);
    }

    /// Warns of a conversion that changes some values.
    pub(super) fn lossy(&mut self, expr: &Expr, from: &Type, to: &Type) {
        let (from, to) = (self.name(from), self.name(to));
        self.push(|_| {
            let message = format!(
                "expression of type: {from} being cast to type: {to}. This may cause unexpected results"
            );
            Diagnostic::warning(expr.span, message).with_help("use an explicit cast to suppress this warning")
        });
    }

    fn pointers(&mut self, expr: &Expr, op: BinaryOp, left: (&Expr, Typing), right: (&Expr, Typing)) -> Type {
        match (&left.1.ty, &right.1.ty) {
            (Type::Pointer { to: l, .. }, Type::Pointer { to: r, .. }) if compares(op) => {
                if l != r && **l != Type::Void && **r != Type::Void {
                    let (l, r) = (self.name(l), self.name(r));
                    self.push(|_| {
                        let message = format!("comparison of distinct pointer types: {l}, {r}");
                        Diagnostic::warning(expr.span, message)
                            .with_label(left.0.span, l)
                            .with_label(right.0.span, r)
                    });
                }
                Type::Bool
            }
            (Type::Pointer { .. }, r) if is_number(r) && compares(op) => Type::Bool,
            (l, Type::Pointer { .. }) if is_number(l) && compares(op) => Type::Bool,
            (pointer @ Type::Pointer { .. }, r)
                if is_number(r) && matches!(op, BinaryOp::Add | BinaryOp::Sub) =>
            {
                pointer.clone()
            }
            (l, pointer @ Type::Pointer { .. }) if is_number(l) && op == BinaryOp::Add => pointer.clone(),
            (l, r) => self.no_operator(expr, op, l, r),
        }
    }

    fn no_operator(&mut self, expr: &Expr, op: BinaryOp, l: &Type, r: &Type) -> Type {
        let (l, r) = (self.name(l), self.name(r));
        let op = op.text();
        self.error(expr.span, format!("the {op} operator can not be used on expressions of types {l}, {r}"))
    }

    /// Whether two values can be equal: of tuples and records, part by part.
    fn comparable(&self, l: &Type, r: &Type) -> bool {
        match (l, r) {
            (Type::Str { .. }, Type::Str { .. }) | (Type::Buffer { .. }, Type::Buffer { .. }) => true,
            (Type::Record(a), Type::Record(b)) if a != b => false,
            (Type::Tuple(_), Type::Tuple(_)) | (Type::Record(_), Type::Record(_)) => {
                let (Some(x), Some(y)) = (self.types.parts(l), self.types.parts(r)) else { return false };
                x.len() == y.len() && x.iter().zip(&y).all(|((_, x), (_, y))| self.comparable(x, y))
            }
            (Type::Aggregate(_) | Type::Record(_), _) => false,
            (x, y) => x == y || (x.is_integral() && y.is_integral()),
        }
    }

    /// Comparison of what is no number.
    fn compare(&mut self, expr: &Expr, op: BinaryOp, left: (&Expr, Typing), right: (&Expr, Typing)) -> Type {
        let (l, r) = (&left.1.ty, &right.1.ty);
        // Which attach points have the name is known before anything runs.
        let named = match (l, r) {
            (Type::ProbeName, Type::Str { .. }) => right.0.as_str().is_some(),
            (Type::Str { .. }, Type::ProbeName) => left.0.as_str().is_some(),
            _ => false,
        };
        let comparable = named || self.comparable(l, r);
        if !comparable {
            let (l, r) = (self.name(l), self.name(r));
            let spans = (left.0.span, right.0.span);
            self.push(|_| {
                let message = format!("type mismatch for '{}': comparing {l} with {r}", op.text());
                Diagnostic::error(expr.span, message)
                    .with_label(spans.0, format!("left ({l})"))
                    .with_label(spans.1, format!("right ({r})"))
            });
        } else if !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            self.no_operator(expr, op, l, r);
        }
        Type::Bool
    }
}

/// A truth value among numbers counts as 0 or 1.
fn number(typing: &Typing) -> Typing {
    match typing.ty {
        Type::Bool => Typing { ty: Type::Int { size: 1, signed: false }, flex: Flex::Yes },
        _ => typing.clone(),
    }
}
