//! The state of one program being lowered: the function under construction, its variables, and what is known already.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use strix_codegen::ir::builder::FunctionBuilder;
use strix_codegen::ir::{self, BlockId, Cond, Operand, Vreg};
use strix_facts::KernelFacts;
use strix_model::{Counter, MapIdx};

use super::plan::PlanBuilder;
use super::value::Place;
use crate::Options;
use crate::hir::{Expr, ExprKind, Instance, MapId, Place as HirPlace, Stmt, StmtKind, Typed, VarId};
use crate::types::Type;

/// Something that need not be computed again in the region it was computed in.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// Result of a helper that does not change while the program runs.
    Helper(u32, Vreg),
    /// The command name.
    Comm(Place),
    /// A key that was built in memory, by map and key expressions.
    Key(MapId, Vec<Expr>, Place),
    /// What a lookup gave (may be null).
    Lookup(MapId, Vec<Expr>, Vreg),
    /// Something that was known and no longer holds.
    Forgotten,
    /// Which of the calls of `Context::Syscalls` this is, as an index of probe names.
    SyscallName(Vreg),
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoopTarget {
    /// Blocks of this function.
    Blocks { next: BlockId, out: BlockId },
    /// The function is the loop's body: it returns 0 to go on, 1 to stop.
    Callback,
}

/// Where a variable is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Storage {
    /// Scalar in a register.
    Register(Vreg),
    /// Value in local memory.
    Memory(Place),
}

/// The function being built.
pub(super) struct FunctionState {
    pub(super) builder: FunctionBuilder,
    /// Points to the context.
    pub(super) ctx: Option<Vreg>,
    /// Valid here; regions truncate it on leaving.
    pub(super) known: Vec<Known>,
    pub(super) loops: Vec<LoopTarget>,
    /// Points to the variables shared with callbacks.
    pub(super) env: Option<Vreg>,
    /// Registers, and places among the shared variables.
    pub(super) vars: Vec<Option<Storage>>,
    /// Memory of the function's own.
    pub(super) slots: HashMap<VarId, ir::SlotId>,
}

/// One program being lowered.
pub(super) struct Lower<'a, 'p> {
    pub(super) typed: &'a Typed,
    pub(super) facts: &'a KernelFacts,
    pub(super) options: &'a Options,
    pub(super) plan: &'p mut PlanBuilder<'a>,
    pub(super) instance: &'a Instance,
    pub(super) instance_index: usize,
    pub(super) preemptible: bool,
    pub(super) f: FunctionState,
    /// Finished callbacks; function 0 is the entry, so callback `n` is function `n + 1`.
    pub(super) callbacks: Vec<Option<ir::Function>>,
    /// Offsets of variables shared with callbacks, by variable.
    pub(super) shared: Vec<Option<u32>>,
    pub(super) shared_size: u32,
}

/// Bytes at the start of the shared variables: the context pointer, then the flag that a callback returned from the probe.
pub(super) const SHARED_CTX: u32 = 0;
pub(super) const SHARED_RETURNED: u32 = 8;
const SHARED_HEADER: u32 = 16;

/// Lowers one instance to a module.
pub(super) fn lower_instance<'a>(
    typed: &'a Typed,
    facts: &'a KernelFacts,
    options: &'a Options,
    plan: &mut PlanBuilder<'a>,
    index: usize,
    preemptible: bool,
) -> ir::Module {
    let instance = &typed.hir.instances[index];
    let mut builder = FunctionBuilder::new("entry", 1);
    builder.set_span(typed.hir.probes[instance.probe as usize].span);
    let ctx = builder.param(0);
    let mut lower = Lower {
        typed,
        facts,
        options,
        plan,
        instance,
        instance_index: index,
        preemptible,
        f: FunctionState {
            builder,
            ctx: Some(ctx),
            known: Vec::new(),
            loops: Vec::new(),
            env: None,
            vars: vec![None; instance.vars.len()],
            slots: HashMap::new(),
        },
        callbacks: Vec::new(),
        shared: vec![None; instance.vars.len()],
        shared_size: 0,
    };
    lower.lay_out_shared();
    lower.entry();
    let Lower { f, callbacks, .. } = lower;
    let mut functions = vec![f.builder.finish()];
    functions
        .extend(callbacks.into_iter().map(|c| c.expect("every callback was finished when its loop was")));
    ir::Module { functions }
}

impl Lower<'_, '_> {
    /// The builder.
    pub(super) fn b(&mut self) -> &mut FunctionBuilder {
        &mut self.f.builder
    }

    fn entry(&mut self) {
        if self.shared_size > 0 {
            self.make_shared();
        }
        self.count_run(Counter::Fired);
        self.filter_process();
        self.filter_syscalls();
        if let Some(predicate) = &self.instance.predicate {
            let (pass, stop) = (self.b().block(), self.b().block());
            self.branch_on(predicate, pass, stop);
            self.b().switch_to(stop);
            self.count_run(Counter::Filtered);
            self.b().ret(0);
            self.b().switch_to(pass);
        }
        self.stmts(&self.instance.body);
        if !self.b().is_terminated() {
            self.b().ret(0);
        }
    }

    /// `-p`: leave unless in the process.
    fn filter_process(&mut self) {
        let Some(pid) = self.instance.pid_filter else { return };
        let current = self.pid();
        self.leave_unless_equal(current, i64::from(pid));
    }

    pub(super) fn leave_unless_equal(&mut self, value: Operand, expected: i64) {
        let (other, same) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, value, expected, other, same);
        self.b().switch_to(other);
        self.b().ret(0);
        self.b().switch_to(same);
    }

    /// Runs `body` as a region: what it learns is forgotten afterwards.
    pub(super) fn region<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.f.known.len();
        let result = body(self);
        self.f.known.truncate(mark);
        result
    }

    /// The result of a helper that is called once a program run.
    pub(super) fn helper_once(&mut self, helper: u32) -> Operand {
        for known in &self.f.known {
            if let Known::Helper(number, reg) = known
                && *number == helper
            {
                return (*reg).into();
            }
        }
        let reg = self.b().call_pure(helper, &[]);
        self.f.known.push(Known::Helper(helper, reg));
        reg.into()
    }

    /// The type of an expression.
    pub(super) fn type_of(&self, expr: &Expr) -> &Type {
        self.typed.type_of(expr)
    }

    /// The type of a variable.
    pub(super) fn var_type(&self, var: VarId) -> &Type {
        &self.typed.vars[self.instance_index][var.0 as usize]
    }

    pub(super) fn size_of(&self, ty: &Type) -> u32 {
        self.typed.hir.types.size_of(ty)
    }

    /// A new piece of local memory, aligned to 8.
    pub(super) fn slot(&mut self, name: &str, size: u32) -> Place {
        let slot = self.b().slot(name, size.max(1), 8);
        Place::new(self.b().slot_addr(slot))
    }

    /// A new piece of local memory for a value of the type.
    pub(super) fn slot_for(&mut self, name: &str, ty: &Type) -> Place {
        let size = self.size_of(ty);
        self.slot(name, size)
    }

    /// Address of a place in a register, for helpers.
    pub(super) fn address(&mut self, place: Place) -> Vreg {
        if place.off == 0 {
            return place.base;
        }
        self.b().bin(ir::BinOp::Add, place.base, i64::from(place.off))
    }

    pub(super) fn map_operand(&mut self, map: MapIdx) -> Operand {
        self.b().map_ptr(map).into()
    }

    /// The context.
    pub(super) fn ctx(&mut self) -> Vreg {
        match (self.f.ctx, self.f.env) {
            (Some(ctx), _) => ctx,
            // Read anew: where it was read first need not lie on the way here.
            (None, Some(env)) => self.b().load(Place::new(env).at(SHARED_CTX).addr(), ir::Size::B8, false),
            (None, None) => unreachable!("a callback always has the shared variables"),
        }
    }

    /// Gives variables that a callback sees a place in the entry function's frame.
    fn lay_out_shared(&mut self) {
        let mut captured = HashSet::new();
        let mut ranges = HashSet::new();
        let mut needed = false;
        walk(
            self.instance,
            &mut |stmt| {
                if let Some(body) = super::loops::callback_body(self.facts, stmt) {
                    needed = true;
                    captured.extend(vars_of(body));
                    match &stmt.kind {
                        StmtKind::ForMap { var, .. } => captured.insert(*var),
                        StmtKind::ForRange { var, .. } => captured.insert(*var) | ranges.insert(*var),
                        _ => false,
                    };
                }
            },
            &mut |_| {},
        );
        if !needed {
            return;
        }
        self.shared_size = SHARED_HEADER;
        for var in 0..self.instance.vars.len() {
            if captured.contains(&VarId(var as u32)) {
                self.shared[var] = Some(self.shared_size);
                let size = self.size_of(self.var_type(VarId(var as u32)));
                let start = if ranges.contains(&VarId(var as u32)) { super::loops::RANGE_START } else { 0 };
                self.shared_size += size.max(8).next_multiple_of(8) + start;
            }
        }
    }

    fn make_shared(&mut self) {
        let size = self.shared_size;
        let slot = self.b().stack_slot("shared", size, 8);
        let env = self.b().slot_addr(slot);
        let ctx = self.ctx();
        let place = Place::new(env);
        self.b().zero_mem(place.at(SHARED_RETURNED).addr(), size - SHARED_RETURNED, 8);
        self.b().store(place.at(SHARED_CTX).addr(), ir::Size::B8, ctx);
        self.f.env = Some(env);
    }
}

/// Every variable that statements mention.
fn vars_of(stmts: &[Stmt]) -> HashSet<VarId> {
    let vars = RefCell::new(HashSet::new());
    walk_stmts(
        stmts,
        &mut |stmt| match &stmt.kind {
            StmtKind::Assign { place: HirPlace::Var(var), .. }
            | StmtKind::Let(var)
            | StmtKind::ForRange { var, .. }
            | StmtKind::ForMap { var, .. } => {
                vars.borrow_mut().insert(*var);
            }
            _ => {}
        },
        &mut |expr| match &expr.kind {
            ExprKind::Var(var) | ExprKind::IncDec { place: HirPlace::Var(var), .. } => {
                vars.borrow_mut().insert(*var);
            }
            _ => {}
        },
    );
    vars.into_inner()
}

/// Calls the functions on every statement and expression of an instance, outermost first.
pub(super) fn walk(instance: &Instance, stmt: &mut dyn FnMut(&Stmt), expr: &mut dyn FnMut(&Expr)) {
    if let Some(predicate) = &instance.predicate {
        walk_expr(predicate, stmt, expr);
    }
    walk_stmts(&instance.body, stmt, expr);
}

pub(super) fn walk_stmts(stmts: &[Stmt], on_stmt: &mut dyn FnMut(&Stmt), on_expr: &mut dyn FnMut(&Expr)) {
    for stmt in stmts {
        on_stmt(stmt);
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Return(Some(e)) => walk_expr(e, on_stmt, on_expr),
            StmtKind::Assign { place, value, .. } => {
                walk_place(place, on_stmt, on_expr);
                walk_expr(value, on_stmt, on_expr);
            }
            StmtKind::If { cond, then, els } => {
                walk_expr(cond, on_stmt, on_expr);
                walk_stmts(then, on_stmt, on_expr);
                walk_stmts(els, on_stmt, on_expr);
            }
            StmtKind::While { cond, body } => {
                walk_expr(cond, on_stmt, on_expr);
                walk_stmts(body, on_stmt, on_expr);
            }
            StmtKind::ForRange { lo, hi, body, .. } => {
                walk_expr(lo, on_stmt, on_expr);
                walk_expr(hi, on_stmt, on_expr);
                walk_stmts(body, on_stmt, on_expr);
            }
            StmtKind::ForMap { body, .. } | StmtKind::Unroll { body, .. } | StmtKind::Block(body) => {
                walk_stmts(body, on_stmt, on_expr);
            }
            StmtKind::Let(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
        }
    }
}

fn walk_place(place: &HirPlace, on_stmt: &mut dyn FnMut(&Stmt), on_expr: &mut dyn FnMut(&Expr)) {
    if let HirPlace::Map { key, .. } = place {
        key.iter().for_each(|k| walk_expr(k, on_stmt, on_expr));
    }
}

pub(super) fn walk_expr(expr: &Expr, on_stmt: &mut dyn FnMut(&Stmt), on_expr: &mut dyn FnMut(&Expr)) {
    on_expr(expr);
    match &expr.kind {
        ExprKind::Map { key: list, .. } | ExprKind::Call { args: list, .. } | ExprKind::Tuple(list) => {
            list.iter().for_each(|e| walk_expr(e, on_stmt, on_expr));
        }
        ExprKind::Unary { operand: e, .. }
        | ExprKind::Field { base: e, .. }
        | ExprKind::TupleField { base: e, .. }
        | ExprKind::Cast { operand: e, .. }
        | ExprKind::Sizeof(e)
        | ExprKind::Offsetof { of: e, .. } => walk_expr(e, on_stmt, on_expr),
        ExprKind::IncDec { place, .. } => walk_place(place, on_stmt, on_expr),
        ExprKind::Binary { lhs, rhs, .. } | ExprKind::Index { base: lhs, index: rhs } => {
            walk_expr(lhs, on_stmt, on_expr);
            walk_expr(rhs, on_stmt, on_expr);
        }
        ExprKind::Ternary { cond, then, els } => {
            walk_expr(cond, on_stmt, on_expr);
            if let Some(then) = then {
                walk_expr(then, on_stmt, on_expr);
            }
            walk_expr(els, on_stmt, on_expr);
        }
        ExprKind::Block { stmts, value } => {
            walk_stmts(stmts, on_stmt, on_expr);
            walk_expr(value, on_stmt, on_expr);
        }
        ExprKind::Record(fields) => fields.iter().for_each(|(_, e)| walk_expr(e, on_stmt, on_expr)),
        ExprKind::Int { .. }
        | ExprKind::Str(_)
        | ExprKind::Bool(_)
        | ExprKind::Var(_)
        | ExprKind::Builtin(_)
        | ExprKind::Error => {}
    }
}
