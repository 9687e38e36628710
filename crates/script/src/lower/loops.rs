//! Loops: plain ones as blocks, loops over maps and long or unknown ranges as callbacks of the kernel's loop helpers.

use std::cell::Cell;
use std::collections::HashMap;
use std::mem;

use strix_codegen::helper;
use strix_codegen::ir::builder::FunctionBuilder;
use strix_codegen::ir::{BinOp, Cond, FuncId, Operand, Size};
use strix_facts::KernelFacts;
use strix_syntax::ast::BinaryOp;

use super::function::{FunctionState, LoopTarget, Lower, SHARED_RETURNED, Storage, walk_stmts};
use super::value::{Place, Value};
use crate::hir::{Expr, ExprKind, MapId, Place as HirPlace, Stmt, StmtKind, VarId};
use crate::types::Type;

/// Ranges up to this many rounds become blocks: the verifier walks every round, those of loops inside for each of them.
const BLOCK_LOOP_LIMIT: i64 = 64;

/// Rounds, times ways that a round may fork, of a loop that becomes blocks. Where each round leaves a variable with another value the verifier
/// has to follow all combinations.
const FORK_LIMIT: i64 = 32;

/// Rounds allowed to `loop` (`BPF_MAX_LOOPS`).
const MAX_ROUNDS: i64 = 8 << 20;

/// Where a range's lower bound lies, from its variable among the shared ones.
pub(super) const RANGE_START: u32 = 8;

/// The body that becomes a function of its own, if the statement is such a loop.
pub(super) fn callback_body<'s>(facts: &KernelFacts, stmt: &'s Stmt) -> Option<&'s [Stmt]> {
    match &stmt.kind {
        StmtKind::ForMap { body, .. } => Some(body),
        StmtKind::ForRange { lo, hi, body, .. } if range_is_callback(facts, lo, hi, body) => Some(body),
        _ => None,
    }
}

fn range_is_callback(facts: &KernelFacts, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
    if !facts.features().bpf_loop {
        return false;
    }
    let Some(rounds) = rounds(lo, hi) else { return true };
    let inside = inner_rounds(body);
    rounds.saturating_mul(inside) > BLOCK_LOOP_LIMIT || rounds.saturating_mul(forks(body)) > FORK_LIMIT
}

/// Rounds of a range that is known.
fn rounds(lo: &Expr, hi: &Expr) -> Option<i64> {
    Some(hi.as_const()?.saturating_sub(lo.as_const()?).max(0))
}

/// The most rounds that a loop in the body takes for one of the body's own.
fn inner_rounds(body: &[Stmt]) -> i64 {
    fn stmt_rounds(stmt: &Stmt) -> i64 {
        match &stmt.kind {
            StmtKind::ForRange { lo, hi, body, .. } => {
                rounds(lo, hi).unwrap_or(1).max(1).saturating_mul(inner_rounds(body))
            }
            StmtKind::If { then, els, .. } => inner_rounds(then).max(inner_rounds(els)),
            StmtKind::Block(body) | StmtKind::While { body, .. } => inner_rounds(body),
            StmtKind::Unroll { count, body } => i64::from(*count).saturating_mul(inner_rounds(body)),
            _ => 1,
        }
    }
    body.iter().map(stmt_rounds).max().unwrap_or(1)
}

/// How often a body may go one way or another. Looking into a map, reading memory and sending a record do.
fn forks(body: &[Stmt]) -> i64 {
    let count = Cell::new(0i64);
    let fork = |n: i64| count.set(count.get().saturating_add(n));
    walk_stmts(
        body,
        &mut |stmt| match &stmt.kind {
            StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::ForRange { .. } => fork(1),
            StmtKind::Assign { place: HirPlace::Map { .. }, .. } => fork(1),
            _ => {}
        },
        &mut |expr| match &expr.kind {
            ExprKind::Call { .. } | ExprKind::Ternary { .. } | ExprKind::Map { .. } => fork(1),
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, .. } => fork(1),
            ExprKind::IncDec { place: HirPlace::Map { .. }, .. } => fork(1),
            _ => {}
        },
    );
    count.get()
}

impl Lower<'_, '_> {
    pub(super) fn unroll(&mut self, count: u32, body: &[Stmt]) {
        let out = self.b().block();
        for _ in 0..count {
            let next = self.b().block();
            self.f.loops.push(LoopTarget::Blocks { next, out });
            self.region(|l| l.stmts(body));
            self.f.loops.pop();
            self.b().jump(next);
            self.b().switch_to(next);
        }
        self.b().jump(out);
        self.b().switch_to(out);
    }

    pub(super) fn while_loop(&mut self, cond: &Expr, body: &[Stmt]) {
        let (head, inside, out) = (self.b().block(), self.b().block(), self.b().block());
        self.forget_lookups();
        self.b().jump(head);
        self.b().switch_to(head);
        self.region(|l| {
            l.branch_on(cond, inside, out);
            l.b().switch_to(inside);
            l.f.loops.push(LoopTarget::Blocks { next: head, out });
            l.stmts(body);
            l.f.loops.pop();
            l.b().jump(head);
        });
        self.b().switch_to(out);
    }

    pub(super) fn for_range(&mut self, var: VarId, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        if range_is_callback(self.facts, lo, hi, body) {
            return self.for_range_callback(var, lo, hi, body);
        }
        let first = self.scalar(lo);
        let end = self.scalar(hi);
        let end = self.b().copy_new(end);
        let counter = self.b().copy_new(first);
        let (head, inside, next, out) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.forget_lookups();
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Slt, counter, end, inside, out);
        self.b().switch_to(inside);
        self.write_var(var, counter.into());
        self.f.loops.push(LoopTarget::Blocks { next, out });
        self.region(|l| l.stmts(body));
        self.f.loops.pop();
        self.b().jump(next);
        self.b().switch_to(next);
        self.b().bin_to(counter, BinOp::Add, counter, 1);
        self.b().jump(head);
        self.b().switch_to(out);
    }

    /// `loop(rounds, callback, shared, 0)`: the callback gets the round's number.
    fn for_range_callback(&mut self, var: VarId, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        let first = self.scalar(lo);
        let end = self.scalar(hi);
        let start = self.slot_in_shared(var).at(RANGE_START);
        let rounds = self.b().bin(BinOp::Sub, end, first);
        let (some, out) = (self.b().block(), self.b().block());
        let (run, cut) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Sle, rounds, 0, out, some);
        self.b().switch_to(some);
        self.b().branch_unlikely(Cond::Ugt, rounds, MAX_ROUNDS, cut, run);
        self.b().switch_to(cut);
        self.b().copy(rounds, MAX_ROUNDS);
        self.b().jump(run);
        self.b().switch_to(run);
        self.b().store(start.addr(), Size::B8, first);
        // The variable is made of the round's number, which the verifier takes for any: counting up from a bound that it knows, it would
        // follow every round.
        let callback = self.callback("range", 2, |l| {
            let round = l.f.builder.param(0);
            let env = l.f.builder.param(1);
            l.f.env = Some(env);
            let place = l.slot_in_shared(var);
            let start = l.b().load(place.at(RANGE_START).addr(), Size::B8, false);
            let now = l.b().bin(BinOp::Add, start, round);
            l.b().store(place.addr(), Size::B8, now);
            l.stmts(body);
        });
        let env = self.f.env.expect("a function with callbacks has shared variables");
        let func = self.b().func_ptr(callback);
        self.b().call_void(helper::LOOP, &[rounds.into(), func.into(), env.into(), 0.into()]);
        self.after_callback();
        self.b().jump(out);
        self.b().switch_to(out);
    }

    fn slot_in_shared(&mut self, var: VarId) -> Place {
        match self.storage(var) {
            Storage::Memory(place) => place,
            Storage::Register(_) => unreachable!("loop variables of callbacks are shared"),
        }
    }

    /// `for_each_map_elem(map, callback, shared, 0)`: the callback gets map, key, value and the shared variables.
    pub(super) fn for_map(&mut self, var: VarId, map: MapId, body: &[Stmt]) {
        let kernel_map = self.plan.user_map(map).0.map;
        let callback = self.callback("each", 4, |l| {
            let key = Place::new(l.f.builder.param(1));
            let value = Place::new(l.f.builder.param(2));
            let env = l.f.builder.param(3);
            l.f.env = Some(env);
            l.load_entry(var, map, key, value);
            l.stmts(body);
        });
        let env = self.f.env.expect("a function with callbacks has shared variables");
        let func = self.b().func_ptr(callback);
        let map = self.map_operand(kernel_map);
        self.b().call_void(helper::FOR_EACH_MAP_ELEM, &[map, func.into(), env.into(), 0.into()]);
        self.after_callback();
    }

    /// Fills the loop variable: a tuple of key and value.
    fn load_entry(&mut self, var: VarId, map: MapId, key: Place, value: Place) {
        let Type::Tuple(items) = self.var_type(var).clone() else { return };
        let [key_ty, value_ty] = items.as_slice() else { return };
        let (offsets, _) = self.typed.hir.types.tuple_layout(&items);
        let Storage::Memory(dst) = self.storage(var) else { return };
        let map_ty = self.typed.maps[map.0 as usize].clone();
        self.store(Value::Memory(key), &map_ty.key, key_ty, dst.at(offsets[0]), true);
        if let Type::Aggregate(aggregate) = &map_ty.value {
            let kernel_map = self.plan.user_map(map).0.map;
            let sum = self.sum_over_cpus(kernel_map, key, aggregate);
            self.store_scalar(sum, value_ty, dst.at(offsets[1]));
        } else {
            self.store(Value::Memory(value), &map_ty.value, value_ty, dst.at(offsets[1]), true);
        }
    }

    /// Builds a callback function: `body` is lowered in a function state of its own.
    pub(super) fn callback(&mut self, name: &str, params: u32, body: impl FnOnce(&mut Self)) -> FuncId {
        let index = self.callbacks.len();
        self.callbacks.push(None);
        let mut builder = FunctionBuilder::new(format!("{name}_{index}"), params);
        builder.set_span(self.f.builder.span());
        let state = FunctionState {
            builder,
            ctx: None,
            known: Vec::new(),
            loops: vec![LoopTarget::Callback],
            env: None,
            vars: vec![None; self.instance.vars.len()],
            slots: HashMap::new(),
        };
        let outer = mem::replace(&mut self.f, state);
        body(self);
        self.b().ret(0);
        let inner = mem::replace(&mut self.f, outer);
        self.callbacks[index] = Some(inner.builder.finish());
        self.forget_lookups();
        FuncId(index as u32 + 1)
    }

    /// Leaves the probe if the callback did.
    fn after_callback(&mut self) {
        let env = self.f.env.expect("a function with callbacks has shared variables");
        let returned = self.b().load(Place::new(env).at(SHARED_RETURNED).addr(), Size::B8, false);
        let (leave, stay) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Ne, returned, 0, leave, stay);
        self.b().switch_to(leave);
        let result: Operand = if self.in_callback() { 1.into() } else { 0.into() };
        self.b().ret(result);
        self.b().switch_to(stay);
    }
}

impl Lower<'_, '_> {
    /// A callback that does nothing.
    pub(super) fn empty_callback(&mut self) -> FuncId {
        self.callback("count", 4, |_| {})
    }
}
