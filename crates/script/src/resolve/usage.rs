//! What a probe's body looks at: fields of `args`, arguments, the result, names. It decides which attach points can
//! share a program.

use std::collections::{BTreeSet, HashMap};

use strix_syntax::ast::{Block, Expr, ExprKind, OffsetofBase, Probe, Stmt, StmtKind, TypeBase, TypeExpr};

/// What a body looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Fields of `args`.
    pub(super) fields: BTreeSet<String>,
    /// `args` as a whole.
    pub(super) whole_args: bool,
    /// `arg0` … by number.
    pub(super) arguments: BTreeSet<u32>,
    /// `retval`.
    pub(super) retval: bool,
    /// `ctx`, registers or other parts of the context.
    pub(super) ctx: bool,
    /// `func`.
    pub(super) func: bool,
    /// `probe`.
    pub(super) probe: bool,
    /// Words that are none of these.
    words: BTreeSet<String>,
}

impl Usage {
    /// Looks through predicate and body, and through the `#define`s they name.
    pub(super) fn of(probe: &Probe, defines: &HashMap<String, Expr>) -> Self {
        let mut usage = Self::default();
        // The names are gathered in one go; definitions add names until there are no new ones.
        usage.in_probe(probe);
        let mut looked_at = BTreeSet::new();
        while let Some(name) = usage.words.iter().find(|w| !looked_at.contains(*w)).cloned() {
            if let Some(expr) = defines.get(&name) {
                usage.expr(expr);
            }
            looked_at.insert(name);
        }
        usage
    }

    fn in_probe(&mut self, probe: &Probe) {
        if let Some(predicate) = &probe.predicate {
            self.expr(predicate);
        }
        self.block(&probe.body);
    }

    /// Whether `args` is looked at in any way.
    pub(super) fn args(&self) -> bool {
        self.whole_args || !self.fields.is_empty()
    }

    /// Whether a kernel stack is taken.
    pub(super) fn kernel_stack(&self) -> bool {
        self.words.contains("kstack")
    }

    /// Whether the body can tell one attach point from another by its name.
    pub(super) fn names(&self) -> bool {
        self.func || self.probe
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Discard(e) => self.expr(e),
            StmtKind::Assign { target, value, .. } => {
                self.expr(target);
                self.expr(value);
            }
            StmtKind::Let { ty, init, .. } => {
                ty.iter().for_each(|t| self.ty(t));
                init.iter().for_each(|e| self.expr(e));
            }
            StmtKind::If { cond, then, els } => {
                self.expr(cond);
                self.block(then);
                els.iter().for_each(|b| self.block(b));
            }
            StmtKind::While { cond, body } | StmtKind::Unroll { count: cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::ForRange { lo, hi, body, .. } => {
                self.expr(lo);
                self.expr(hi);
                self.block(body);
            }
            StmtKind::ForMap { body, .. } | StmtKind::Block(body) => self.block(body),
            StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Ident(name) => self.word(name),
            ExprKind::Field { base, name, .. } => match &base.kind {
                ExprKind::Ident(word) if word == "args" => {
                    self.fields.insert(name.text.clone());
                }
                _ => self.expr(base),
            },
            ExprKind::Call { name, args } => {
                self.word(&name.text);
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Map { key, .. } => key.iter().flatten().for_each(|e| self.expr(e)),
            ExprKind::Unary { operand, .. } | ExprKind::SizeofExpr(operand) => self.expr(operand),
            ExprKind::IncDec { target, .. } => self.expr(target),
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Ternary { cond, then, els } => {
                self.expr(cond);
                then.iter().for_each(|e| self.expr(e));
                self.expr(els);
            }
            ExprKind::TupleField { base, .. } => self.expr(base),
            ExprKind::Index { base, index } => {
                self.expr(base);
                self.expr(index);
            }
            ExprKind::Cast { ty, operand } => {
                self.ty(ty);
                self.expr(operand);
            }
            ExprKind::Tuple(items) => items.iter().for_each(|e| self.expr(e)),
            ExprKind::Record(items) => items.iter().for_each(|(_, e)| self.expr(e)),
            ExprKind::SizeofType(ty) => self.ty(ty),
            ExprKind::Offsetof { of, .. } => match of {
                OffsetofBase::Type(ty) => self.ty(ty),
                OffsetofBase::Expr(e) => self.expr(e),
            },
            ExprKind::Block { stmts, value } => {
                stmts.iter().for_each(|s| self.stmt(s));
                self.expr(value);
            }
            ExprKind::Int { .. }
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Positional(_)
            | ExprKind::PositionalCount
            | ExprKind::Error => {}
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        match &ty.base {
            TypeBase::TypeofExpr(e) => self.expr(e),
            TypeBase::Tuple(items) => items.iter().for_each(|t| self.ty(t)),
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        match word.strip_prefix("__builtin_").unwrap_or(word) {
            "args" => self.whole_args = true,
            "retval" => self.retval = true,
            "ctx" | "reg" | "usermode" => self.ctx = true,
            "func" => self.func = true,
            "probe" => self.probe = true,
            _ => {
                if let Some(n) = numbered(word, "arg") {
                    self.arguments.insert(n);
                } else if numbered(word, "sarg").is_some() {
                    self.ctx = true;
                } else {
                    self.words.insert(word.to_owned());
                }
            }
        }
    }
}

/// The number after a prefix: 3 of `arg3`.
pub(super) fn numbered(word: &str, prefix: &str) -> Option<u32> {
    let digits = word.strip_prefix(prefix)?;
    // `arg` and `arg03` are no arguments.
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Maps that something is assigned to anywhere in the script; the names are without `@`.
pub(super) fn assigned_maps(probes: &[Probe]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for probe in probes {
        if let Some(predicate) = &probe.predicate {
            maps_in_expr(predicate, &mut found);
        }
        probe.body.stmts.iter().for_each(|s| maps_in_stmt(s, &mut found));
    }
    found
}

fn maps_in_stmt(stmt: &Stmt, found: &mut BTreeSet<String>) {
    let block = |b: &Block, found: &mut BTreeSet<String>| b.stmts.iter().for_each(|s| maps_in_stmt(s, found));
    match &stmt.kind {
        StmtKind::Assign { target, value, .. } => {
            if let ExprKind::Map { name, .. } = &target.kind {
                found.insert(name.clone());
            }
            maps_in_expr(target, found);
            maps_in_expr(value, found);
        }
        StmtKind::Expr(e) | StmtKind::Discard(e) => maps_in_expr(e, found),
        StmtKind::Let { init, .. } => init.iter().for_each(|e| maps_in_expr(e, found)),
        StmtKind::If { cond, then, els } => {
            maps_in_expr(cond, found);
            block(then, found);
            els.iter().for_each(|b| block(b, found));
        }
        StmtKind::While { cond, body } | StmtKind::Unroll { count: cond, body } => {
            maps_in_expr(cond, found);
            block(body, found);
        }
        StmtKind::ForRange { lo, hi, body, .. } => {
            maps_in_expr(lo, found);
            maps_in_expr(hi, found);
            block(body, found);
        }
        StmtKind::ForMap { body, .. } | StmtKind::Block(body) => block(body, found),
        StmtKind::Return(value) => value.iter().for_each(|e| maps_in_expr(e, found)),
        StmtKind::Break | StmtKind::Continue => {}
    }
}

/// Expressions assign by `++` and `--`, and by blocks inside them.
fn maps_in_expr(expr: &Expr, found: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::IncDec { target, .. } => {
            if let ExprKind::Map { name, .. } = &target.kind {
                found.insert(name.clone());
            }
            maps_in_expr(target, found);
        }
        ExprKind::Block { stmts, value } => {
            stmts.iter().for_each(|s| maps_in_stmt(s, found));
            maps_in_expr(value, found);
        }
        ExprKind::Map { key, .. } => key.iter().flatten().for_each(|e| maps_in_expr(e, found)),
        ExprKind::Call { args, .. } => args.iter().for_each(|e| maps_in_expr(e, found)),
        ExprKind::Tuple(items) => items.iter().for_each(|e| maps_in_expr(e, found)),
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => maps_in_expr(operand, found),
        ExprKind::Field { base, .. } | ExprKind::TupleField { base, .. } => maps_in_expr(base, found),
        ExprKind::Binary { lhs, rhs, .. } => {
            maps_in_expr(lhs, found);
            maps_in_expr(rhs, found);
        }
        ExprKind::Index { base, index } => {
            maps_in_expr(base, found);
            maps_in_expr(index, found);
        }
        ExprKind::Ternary { cond, then, els } => {
            maps_in_expr(cond, found);
            then.iter().for_each(|e| maps_in_expr(e, found));
            maps_in_expr(els, found);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn argument_numbers() {
        assert_eq!(numbered("arg0", "arg"), Some(0));
        assert_eq!(numbered("arg12", "arg"), Some(12));
        assert_eq!(numbered("args", "arg"), None);
        assert_eq!(numbered("arg", "arg"), None);
        assert_eq!(numbered("arg01", "arg"), None);
        assert_eq!(numbered("arg99999999999", "arg"), None);
    }
}
