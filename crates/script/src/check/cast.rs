//! Casts.

use strix_model::Diagnostic;

use super::Checker;
use crate::hir::{Expr, ExprKind};
use crate::types::{Space, Type};

impl Checker<'_> {
    /// `(target)operand`. The type is the target's with what it leaves open filled in: the length of an array, the size of a string, the
    /// memory that a pointer points into.
    pub(super) fn cast(&mut self, expr: &Expr, target: &Type, operand: &Expr) -> Type {
        let from = self.value(operand);
        if from == Type::Void {
            return self.completed(target, &from, operand);
        }
        let to = self.completed(target, &from, operand);
        if let Type::Enum { id, .. } = &to {
            self.enum_constant(expr, *id, operand);
        }
        if !self.castable(&to, &from) && !self.is_literal_as_bytes(&to, operand) {
            let (f, t) = (self.name(&from), self.name(&to));
            return self.error(expr.span, format!("cannot cast from \"{f}\" to \"{t}\""));
        }
        to
    }

    fn completed(&self, target: &Type, from: &Type, operand: &Expr) -> Type {
        match target {
            Type::Pointer { to, space } => {
                let space = match from {
                    Type::Pointer { space, .. } => *space,
                    _ if *space == Space::User => Space::User,
                    _ => self.space_of(operand),
                };
                Type::Pointer { to: to.clone(), space }
            }
            Type::Array { element, len: 0 } => {
                let size = self.types.size_of(element);
                let len = self.types.size_of(from).checked_div(size).unwrap_or(0);
                Type::Array { element: element.clone(), len }
            }
            Type::Str { cap: 0 } => match from {
                Type::Str { cap } => Type::Str { cap: *cap },
                Type::Array { len, .. } => Type::Str { cap: *len },
                _ => Type::Str { cap: self.hir.config.max_strlen },
            },
            other => other.clone(),
        }
    }

    fn castable(&self, to: &Type, from: &Type) -> bool {
        let size = |ty| self.types.size_of(ty);
        match (to, from) {
            (to, from) if to == from => true,
            (
                Type::Int { .. } | Type::Enum { .. } | Type::Bool | Type::Pointer { .. },
                Type::Int { .. } | Type::Enum { .. } | Type::Bool | Type::Pointer { .. } | Type::KernelSymbol,
            ) => true,
            (Type::Int { .. }, Type::Username | Type::Timestamp { .. } | Type::CgroupPath) => true,
            (Type::Username, from) => from.is_integral(),
            // The bytes of an array as a number.
            (Type::Int { .. }, Type::Array { .. }) => size(to) == size(from),
            (Type::Array { element, .. }, Type::Int { .. } | Type::Bool) => {
                let bytes = size(to);
                element.is_integral() && bytes <= 8 && bytes.is_power_of_two() && bytes >= size(from)
            }
            (Type::Array { element, .. }, Type::Str { .. } | Type::Array { .. }) => {
                element.is_integral() && size(to) == size(from)
            }
            (Type::Str { cap }, Type::Str { cap: from }) => cap >= from,
            (Type::Str { cap }, Type::Array { element, len }) => size(element) == 1 && cap >= len,
            _ => false,
        }
    }

    /// A literal takes as many bytes as it needs.
    fn is_literal_as_bytes(&self, to: &Type, operand: &Expr) -> bool {
        let Type::Array { element, .. } = to else { return false };
        let bytes = self.types.size_of(to);
        let ExprKind::Int { value, ty: None } = &operand.kind else { return false };
        let needed = (64 - value.leading_zeros()).div_ceil(8);
        element.is_integral() && matches!(bytes, 1 | 2 | 4 | 8) && needed <= bytes
    }

    fn enum_constant(&mut self, expr: &Expr, id: crate::types::EnumId, operand: &Expr) {
        let ExprKind::Int { value, .. } = &operand.kind else { return };
        let def = self.types.enumeration(id);
        if !def.variants.is_empty() && !def.variants.iter().any(|(v, _)| *v as u64 == *value) {
            let message = format!("enum: {} doesn't contain a variant value of {value}", def.name);
            self.push(|_| Diagnostic::error(expr.span, message));
        }
    }
}
