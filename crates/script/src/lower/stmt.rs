//! Statements and scratch variables.

use strix_codegen::ir::{AtomicOp, BinOp, Operand, Size};
use strix_syntax::ast::BinaryOp;

use super::expr::arithmetic;
use super::function::{LoopTarget, Lower, SHARED_RETURNED, Storage};
use super::value::{Place, Value};
use crate::builtins::Function;
use crate::hir::{Expr, ExprKind, MapId, Place as HirPlace, Stmt, StmtKind, VarId};
use crate::types::Type;

impl Lower<'_, '_> {
    /// Lowers statements until one leaves.
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if self.b().is_terminated() {
                return;
            }
            self.b().set_span(stmt.span);
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(Expr { kind: ExprKind::IncDec { increment, prefix, place }, .. }) => {
                self.inc_dec(*increment, *prefix, place, false);
            }
            StmtKind::Expr(expr) => {
                self.expr(expr);
            }
            StmtKind::Assign { place, op, value } => self.assign(place, *op, value),
            StmtKind::Let(var) => self.zero_var(*var),
            StmtKind::If { cond, then, els } => self.if_else(cond, then, els),
            StmtKind::While { cond, body } => self.while_loop(cond, body),
            StmtKind::ForRange { var, lo, hi, body } => self.for_range(*var, lo, hi, body),
            StmtKind::ForMap { var, map, body } => self.for_map(*var, *map, body),
            StmtKind::Unroll { count, body } => self.unroll(*count, body),
            StmtKind::Break => match self.f.loops.last().copied() {
                Some(LoopTarget::Blocks { out, .. }) => self.b().jump(out),
                _ => self.b().ret(1),
            },
            StmtKind::Continue => match self.f.loops.last().copied() {
                Some(LoopTarget::Blocks { next, .. }) => self.b().jump(next),
                _ => self.b().ret(0),
            },
            StmtKind::Return(value) => self.return_from_probe(value.as_ref()),
            StmtKind::Block(body) => self.region(|l| l.stmts(body)),
        }
    }

    /// Ends the probe. From a callback that takes a flag, which the loop's owner looks at.
    pub(super) fn return_from_probe(&mut self, value: Option<&Expr>) {
        if let Some(value) = value {
            self.expr(value);
        }
        if self.in_callback() {
            if let Some(env) = self.f.env {
                self.b().store(Place::new(env).at(SHARED_RETURNED).addr(), Size::B8, 1);
            }
            self.b().ret(1);
        } else {
            self.b().ret(0);
        }
    }

    pub(super) fn in_callback(&self) -> bool {
        matches!(self.f.loops.first(), Some(LoopTarget::Callback))
    }

    fn if_else(&mut self, cond: &Expr, then: &[Stmt], els: &[Stmt]) {
        let (yes, no, done) = (self.b().block(), self.b().block(), self.b().block());
        self.branch_on(cond, yes, no);
        self.b().switch_to(yes);
        self.region(|l| l.stmts(then));
        self.b().jump(done);
        self.b().switch_to(no);
        self.region(|l| l.stmts(els));
        self.b().jump(done);
        self.b().switch_to(done);
    }

    fn assign(&mut self, place: &HirPlace, op: Option<BinaryOp>, value: &Expr) {
        match (place, op) {
            (HirPlace::Var(var), None) => self.assign_var(*var, value),
            (HirPlace::Var(var), Some(op)) => {
                let ty = self.var_type(*var).clone();
                let old = self.read_var(*var);
                let new = self.combine(op, (old, &ty), value);
                let new = self.convert(new, &Type::I64, &ty);
                self.write_var(*var, new);
            }
            (HirPlace::Map { map, key, .. }, None) => match &value.kind {
                ExprKind::Call { function, args, .. } if is_aggregation(*function) => {
                    self.aggregate(*map, key, *function, args);
                }
                _ => self.write_map(*map, key, value),
            },
            (HirPlace::Map { map, key, .. }, Some(op)) => self.update_map(*map, key, op, value),
        }
    }

    fn assign_var(&mut self, var: VarId, value: &Expr) {
        let ty = self.var_type(var).clone();
        if ty.is_scalar() {
            let from = self.type_of(value).clone();
            let scalar = self.scalar(value);
            let scalar = self.convert(scalar, &from, &ty);
            return self.write_var(var, scalar);
        }
        let Storage::Memory(place) = self.storage(var) else { return };
        if mentions(value, var) {
            let copy = self.slot_for("copy", &ty);
            self.expr_into(value, &ty, copy, true);
            self.store(Value::Memory(copy), &ty, &ty, place, true);
        } else {
            self.expr_into(value, &ty, place, true);
        }
    }

    fn combine(&mut self, op: BinaryOp, left: (Operand, &Type), value: &Expr) -> Operand {
        let signed = left.1.is_signed() || (self.type_of(value).is_signed() && value.as_const().is_none());
        let right = self.scalar(value);
        let right = match left.1 {
            Type::Pointer { to, .. } => {
                let size = i64::from(self.size_of(to).max(1));
                self.b().bin_operand(BinOp::Mul, right, size)
            }
            _ => right,
        };
        self.b().bin_operand(arithmetic(op, signed, left.1.is_signed()), left.0, right)
    }

    /// `@x op= value`. Sums and bit operations are atomic; others read, compute and write.
    fn update_map(&mut self, map: MapId, key: &[Expr], op: BinaryOp, value: &Expr) {
        let ty = self.typed.maps[map.0 as usize].value.clone();
        let atomic = match op {
            BinaryOp::Add | BinaryOp::Sub => Some(AtomicOp::Add),
            BinaryOp::BitOr => Some(AtomicOp::Or),
            BinaryOp::BitAnd => Some(AtomicOp::And),
            BinaryOp::BitXor => Some(AtomicOp::Xor),
            _ => None,
        };
        let wide = self.size_of(&ty) == 8 && !matches!(ty, Type::Pointer { .. });
        let add_only = self.facts.features().atomics_fetch || matches!(atomic, Some(AtomicOp::Add));
        match atomic.filter(|_| wide && add_only) {
            Some(kind) => {
                let right = self.scalar(value);
                let right = if op == BinaryOp::Sub { self.negated(right) } else { right };
                let place = self.value_place(map, key);
                self.b().atomic(kind, place.addr(), Size::B8, right);
            }
            None => {
                let place = self.value_place(map, key);
                let old = self.load(place, &ty);
                let new = self.combine(op, (old, &ty), value);
                let new = self.convert(new, &Type::I64, &ty);
                self.store_scalar(new, &ty, place);
            }
        }
    }

    fn negated(&mut self, value: Operand) -> Operand {
        match value {
            Operand::Imm(v) => v.wrapping_neg().into(),
            Operand::Reg(_) => self.b().neg(value).into(),
        }
    }

    /// Where a variable is kept, made on first use.
    pub(super) fn storage(&mut self, var: VarId) -> Storage {
        if let Some(storage) = self.f.vars[var.0 as usize] {
            return storage;
        }
        // The address is made anew: where it was made first need not lie on the way here.
        if let Some(&slot) = self.f.slots.get(&var) {
            return Storage::Memory(Place::new(self.b().slot_addr(slot)));
        }
        let ty = self.var_type(var).clone();
        let storage = match (self.shared[var.0 as usize], self.f.env) {
            (Some(offset), Some(env)) => Storage::Memory(Place::new(env).at(offset)),
            _ if ty.is_scalar() && !self.address_taken(var) => {
                let reg = self.b().vreg();
                Storage::Register(reg)
            }
            _ => {
                let name = self.instance.vars[var.0 as usize].name.clone();
                let size = self.size_of(&ty).max(1);
                let slot = self.b().slot(name, size, 8);
                self.f.slots.insert(var, slot);
                return Storage::Memory(Place::new(self.b().slot_addr(slot)));
            }
        };
        self.f.vars[var.0 as usize] = Some(storage);
        storage
    }

    fn address_taken(&self, var: VarId) -> bool {
        let mut taken = false;
        super::function::walk(self.instance, &mut |_| {}, &mut |expr| {
            if let ExprKind::Unary { op: strix_syntax::ast::UnaryOp::AddressOf, operand } = &expr.kind {
                taken |= matches!(operand.kind, ExprKind::Var(v) if v == var);
            }
        });
        taken
    }

    /// A scalar variable's value.
    pub(super) fn read_var(&mut self, var: VarId) -> Operand {
        match self.storage(var) {
            Storage::Register(reg) => reg.into(),
            Storage::Memory(place) => {
                let ty = self.var_type(var).clone();
                self.load(place, &ty)
            }
        }
    }

    /// Sets a scalar variable.
    pub(super) fn write_var(&mut self, var: VarId, value: Operand) {
        match self.storage(var) {
            Storage::Register(reg) => self.b().copy(reg, value),
            Storage::Memory(place) => {
                let ty = self.var_type(var).clone();
                self.store_scalar(value, &ty, place);
            }
        }
    }

    fn zero_var(&mut self, var: VarId) {
        let ty = self.var_type(var).clone();
        match self.storage(var) {
            Storage::Register(reg) => self.b().copy(reg, 0),
            Storage::Memory(place) => {
                let size = self.size_of(&ty).max(1);
                self.b().zero_mem(place.addr(), size, place.align());
            }
        }
    }
}

pub(super) fn is_aggregation(function: Function) -> bool {
    matches!(
        function,
        Function::Count
            | Function::Sum
            | Function::Avg
            | Function::Min
            | Function::Max
            | Function::Stats
            | Function::Hist
            | Function::Lhist
    )
}

/// Whether an expression reads the variable.
fn mentions(expr: &Expr, var: VarId) -> bool {
    let mut found = false;
    super::function::walk_expr(expr, &mut |_| {}, &mut |e| {
        found |= matches!(e.kind, ExprKind::Var(v) if v == var)
    });
    found
}
