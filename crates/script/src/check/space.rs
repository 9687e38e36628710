//! Which memory an address points into.

use super::Checker;
use crate::builtins::Variable;
use crate::hir::{Context, Expr, ExprKind};
use crate::types::{Space, Type};
use strix_syntax::ast::UnaryOp;

/// The memory that an integer is taken to point into where nothing else is known of it: that of the process in probes of user code and of
/// system calls; elsewhere the helper that tries both has to find out.
#[must_use]
pub fn default_space(context: &Context) -> Space {
    match context {
        Context::Uprobe | Context::Uretprobe | Context::Syscalls { .. } => Space::User,
        _ => Space::Unknown,
    }
}

impl Checker<'_> {
    /// The memory that the value of an expression points into when it is used as an address.
    pub(crate) fn space_of(&self, expr: &Expr) -> Space {
        match self.noted(expr) {
            Type::Pointer { space, .. } => *space,
            _ => match &expr.kind {
                ExprKind::Builtin(Variable::Curtask) => Space::Kernel,
                ExprKind::Cast { operand, .. } => self.space_of(operand),
                ExprKind::Binary { lhs, rhs, .. } => match (self.space_of(lhs), self.space_of(rhs)) {
                    (Space::Kernel, _) | (_, Space::Kernel) => Space::Kernel,
                    (space, _) => space,
                },
                ExprKind::Call { function: crate::builtins::Function::Kaddr, .. } => Space::Kernel,
                _ => default_space(&self.instance().context),
            },
        }
    }

    /// The memory that a record or array expression lies in; `None` for what is copied to or was made by the program.
    pub(super) fn home_of(&self, expr: &Expr) -> Option<Space> {
        match &expr.kind {
            ExprKind::Unary { op: UnaryOp::Deref, operand } => Some(self.space_of(operand)),
            ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => match self.noted(base) {
                Type::Pointer { space, .. } => Some(*space),
                _ => self.home_of(base),
            },
            _ => None,
        }
    }

    /// A value found in the given memory: its pointers point into the same, unless their type says that they are the process's.
    pub(super) fn found_in(&self, ty: Type, home: Option<Space>) -> Type {
        match (ty, home) {
            (Type::Pointer { to, space }, Some(home)) if space != Space::User && home != Space::Bpf => {
                Type::Pointer { to, space: home }
            }
            (ty, _) => ty,
        }
    }

    /// The type noted for an expression that was gone through before.
    pub(super) fn noted(&self, expr: &Expr) -> &Type {
        self.exprs.get(expr.id.0 as usize).unwrap_or(&Type::Void)
    }
}
