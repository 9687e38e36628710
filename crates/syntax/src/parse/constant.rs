//! Values of constant expressions, as far as C declarations need them: lengths of arrays and widths of bit-fields.
//!
//! Knows what the script itself defines; what headers or the kernel's types define is not known here.

use std::collections::BTreeMap;

use crate::ast::{BinaryOp, CEnum, Expr, ExprKind, UnaryOp};

/// Names with a value: `#define` and enumerators.
#[derive(Debug, Default)]
pub(super) struct Constants(BTreeMap<String, i64>);

impl Constants {
    /// Adds a name if its value is known.
    pub(super) fn define(&mut self, name: &str, value: &Expr) {
        if let Some(value) = self.value(value) {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Adds the enumerators, counting on from the last value as C does.
    pub(super) fn define_enum(&mut self, def: &CEnum) {
        let mut next = Some(0i64);
        for (name, value) in &def.variants {
            if let Some(value) = value {
                next = self.value(value);
            }
            if let Some(value) = next {
                self.0.insert(name.text.clone(), value);
            }
            next = next.map(|n| n.wrapping_add(1));
        }
    }

    /// The value of an expression of constants; `None` when it is none, or divides by zero.
    pub(super) fn value(&self, expr: &Expr) -> Option<i64> {
        Some(match &expr.kind {
            // Two's complement is what C has as well.
            ExprKind::Int { value, .. } => value.cast_signed(),
            ExprKind::Bool(value) => i64::from(*value),
            ExprKind::Ident(name) => *self.0.get(name)?,
            ExprKind::Unary { op, operand } => unary(*op, self.value(operand)?)?,
            ExprKind::Binary { op, lhs, rhs } => binary(*op, self.value(lhs)?, self.value(rhs)?)?,
            ExprKind::Ternary { cond, then, els } => match (self.value(cond)?, then) {
                (0, _) => self.value(els)?,
                (_, Some(then)) => self.value(then)?,
                (cond, None) => cond,
            },
            _ => return None,
        })
    }
}

fn unary(op: UnaryOp, value: i64) -> Option<i64> {
    match op {
        UnaryOp::Neg => Some(value.wrapping_neg()),
        UnaryOp::Not => Some(i64::from(value == 0)),
        UnaryOp::BitNot => Some(!value),
        UnaryOp::Deref | UnaryOp::AddressOf => None,
    }
}

fn binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    use BinaryOp as B;
    Some(match op {
        B::Mul => a.wrapping_mul(b),
        B::Div => a.checked_div(b)?,
        B::Mod => a.checked_rem(b)?,
        B::Add => a.wrapping_add(b),
        B::Sub => a.wrapping_sub(b),
        B::Shl => a.checked_shl(u32::try_from(b).ok()?)?,
        B::Shr => a.checked_shr(u32::try_from(b).ok()?)?,
        B::Lt => i64::from(a < b),
        B::Le => i64::from(a <= b),
        B::Gt => i64::from(a > b),
        B::Ge => i64::from(a >= b),
        B::Eq => i64::from(a == b),
        B::Ne => i64::from(a != b),
        B::BitAnd => a & b,
        B::BitXor => a ^ b,
        B::BitOr => a | b,
        B::And => i64::from(a != 0 && b != 0),
        B::Or => i64::from(a != 0 || b != 0),
    })
}
