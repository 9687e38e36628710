//! What no program of this kernel could do, said before code is made: sizes of keys, values and records, loops, and features that are not
//! there. What passes here can be placed by code generation.

use strix_facts::KernelFacts;
use strix_model::{Diagnostic, Diagnostics, Span};

use crate::Options;
use crate::builtins::{self, Function};
use crate::hir::{Expr, ExprKind, Instance, Place, Stmt, StmtKind, Typed};
use crate::types::Type;

/// Bytes of a map's key.
const MAX_KEY: u32 = 4 << 10;

/// Bytes of a map's value, and of a variable: one buffer of working memory.
const MAX_VALUE: u32 = 16 << 10;

/// Bytes of a per-CPU map's value (`PCPU_MIN_UNIT_SIZE` in linux/percpu.h).
const MAX_PERCPU_VALUE: u32 = 32 << 10;

/// Bytes of a record in the ring.
const MAX_RECORD: u32 = 32 << 10;

/// Bytes of a page of the ring.
const PAGE: u32 = 4096;

/// Bytes of the header of a record.
const RECORD_HEADER: u32 = 8;

/// Strings that `join` has room for; with their count before them.
const JOINED: u32 = 16;

/// Tuples in tuples.
const MAX_TUPLE_DEPTH: u32 = 8;

/// Rounds of a loop that the verifier has to follow one by one.
const MAX_FOLLOWED_ROUNDS: i64 = 1024;

/// Statements and expressions of a program once its `unroll` loops are written out, which may be nested: each takes memory and time.
const MAX_UNROLLED: u64 = 1 << 17;

/// Programs a script may become.
const MAX_PROGRAMS: usize = 1024;

/// Looks for what cannot be placed.
pub fn check(typed: &Typed, facts: &KernelFacts, _options: &Options, diags: &mut Diagnostics) {
    let mut limits = Limits { typed, facts, diags, instance: 0, copies: 1, size: 0, too_long: false };
    limits.maps();
    for (index, instance) in typed.hir.instances.iter().enumerate() {
        limits.instance = index;
        limits.size = 0;
        limits.instance(instance);
    }
    let programs = typed.hir.instances.len();
    if programs > MAX_PROGRAMS
        && let Some(probe) = typed.hir.probes.first()
    {
        let message =
            format!("the script becomes {programs} programs: more than {MAX_PROGRAMS} are not supported");
        limits.diags.push(
            Diagnostic::error(probe.span, message)
                .with_help("use narrower wildcards, or fields that all matches share"),
        );
    }
}

/// What the kernel lacks for `what`.
#[must_use]
pub fn missing_feature(facts: &KernelFacts, span: Span, feature: &str, what: &str) -> Diagnostic {
    let since = facts.features().list().into_iter().find(|f| f.name == feature).map(|f| f.since);
    let error = Diagnostic::error(span, format!("missing required kernel feature: {feature} ({what})"));
    match since {
        Some(since) => error.with_help(format!("kernels have it since v{since}")),
        None => error,
    }
}

struct Limits<'a> {
    typed: &'a Typed,
    facts: &'a KernelFacts,
    diags: &'a mut Diagnostics,
    instance: usize,
    /// How often the place that is looked at is written out.
    copies: u64,
    /// Statements and expressions of the program so far.
    size: u64,
    /// That it is too much has been said.
    too_long: bool,
}

impl Limits<'_> {
    fn error(&mut self, span: Span, message: String, help: &str) {
        self.diags.push(Diagnostic::error(span, message).with_help(help));
    }

    fn maps(&mut self) {
        for (def, ty) in self.typed.hir.maps.iter().zip(&self.typed.maps) {
            let (name, span) = (&def.name, def.span);
            let key = self.typed.hir.types.size_of(&ty.key);
            if key > MAX_KEY {
                let message =
                    format!("the key of {name} has {key} bytes: more than {MAX_KEY} are not supported");
                self.error(span, message, "shorten its strings: str(pointer, length)");
            }
            let (value, most) = match &ty.value {
                Type::Aggregate(value) => (value.size(), MAX_PERCPU_VALUE),
                value => (self.typed.hir.types.size_of(value), MAX_VALUE),
            };
            if value > most {
                let message =
                    format!("the value of {name} has {value} bytes: more than {most} are not supported");
                self.error(span, message, "store less in it");
            }
            if depth(&ty.key).max(depth(&ty.value)) > MAX_TUPLE_DEPTH {
                let message = format!("tuples in {name} are nested more than {MAX_TUPLE_DEPTH} deep");
                self.error(span, message, "use more keys instead");
            }
        }
    }

    fn instance(&mut self, instance: &Instance) {
        for (def, ty) in instance.vars.iter().zip(&self.typed.vars[self.instance]) {
            let size = self.typed.hir.types.size_of(ty);
            if size > MAX_VALUE {
                let message =
                    format!("{} has {size} bytes: more than {MAX_VALUE} are not supported", def.name);
                self.error(def.span, message, "keep the pointer and read the fields that are needed");
            } else if depth(ty) > MAX_TUPLE_DEPTH {
                let message = format!("tuples in {} are nested more than {MAX_TUPLE_DEPTH} deep", def.name);
                self.error(def.span, message, "use several variables");
            }
        }
        if let Some(predicate) = &instance.predicate {
            self.expr(predicate);
        }
        self.stmts(&instance.body);
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.size = self.size.saturating_add(self.copies);
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Return(Some(e)) => self.expr(e),
            StmtKind::Assign { place, value, .. } => {
                self.place(place);
                self.expr(value);
            }
            StmtKind::If { cond, then, els } => {
                self.expr(cond);
                self.stmts(then);
                self.stmts(els);
            }
            StmtKind::While { cond, body } => {
                self.need(stmt.span, "bounded_loops", "while");
                self.expr(cond);
                self.stmts(body);
            }
            StmtKind::ForRange { lo, hi, body, .. } => {
                self.range(stmt.span, lo, hi);
                self.stmts(body);
            }
            StmtKind::ForMap { body, .. } => {
                self.need(stmt.span, "for_each_map_elem", "a loop over a map");
                self.stmts(body);
            }
            StmtKind::Unroll { count, body } => self.unroll(stmt.span, *count, body),
            StmtKind::Block(body) => self.stmts(body),
            StmtKind::Let(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
        }
    }

    fn unroll(&mut self, span: Span, count: u32, body: &[Stmt]) {
        let outer = self.copies;
        self.copies = outer.saturating_mul(u64::from(count));
        self.stmts(body);
        self.copies = outer;
        // Said once, at the innermost loop that is too much: those around it have no more to tell.
        if self.size > MAX_UNROLLED && !self.too_long {
            self.too_long = true;
            let message = format!(
                "unroll writes out {} statements and expressions: more than {MAX_UNROLLED} are not supported",
                self.size
            );
            self.error(span, message, "a loop over a range (for $i : 0..n) is not written out");
        }
    }

    fn need(&mut self, span: Span, feature: &str, what: &str) {
        if self.facts.features().by_name(feature) != Some(true) {
            self.diags.push(missing_feature(self.facts, span, feature, what));
        }
    }

    fn range(&mut self, span: Span, lo: &Expr, hi: &Expr) {
        self.expr(lo);
        self.expr(hi);
        let features = self.facts.features();
        if features.bpf_loop {
            return;
        }
        let rounds = match (lo.as_const(), hi.as_const()) {
            (Some(lo), Some(hi)) => Some(hi.saturating_sub(lo)),
            _ => None,
        };
        match rounds {
            Some(rounds) if rounds <= MAX_FOLLOWED_ROUNDS => {
                self.need(span, "bounded_loops", "a loop over a range")
            }
            _ => {
                let what = format!("a loop that is not known to end after {MAX_FOLLOWED_ROUNDS} rounds");
                self.diags.push(missing_feature(self.facts, span, "bpf_loop", &what));
            }
        }
    }

    fn place(&mut self, place: &Place) {
        if let Place::Map { key, .. } = place {
            self.exprs(key);
        }
    }

    fn exprs(&mut self, exprs: &[Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        self.size = self.size.saturating_add(self.copies);
        match &expr.kind {
            ExprKind::Call { function, args, .. } => {
                self.record(expr, *function, args);
                self.exprs(args);
            }
            ExprKind::Map { key: list, .. } | ExprKind::Tuple(list) => self.exprs(list),
            ExprKind::Record(fields) => fields.iter().for_each(|(_, e)| self.expr(e)),
            ExprKind::IncDec { place, .. } => self.place(place),
            ExprKind::Unary { operand: e, .. }
            | ExprKind::Field { base: e, .. }
            | ExprKind::TupleField { base: e, .. }
            | ExprKind::Cast { operand: e, .. }
            | ExprKind::Sizeof(e)
            | ExprKind::Offsetof { of: e, .. } => self.expr(e),
            ExprKind::Binary { lhs, rhs, .. } | ExprKind::Index { base: lhs, index: rhs } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Ternary { cond, then, els } => {
                self.expr(cond);
                if let Some(then) = then {
                    self.expr(then);
                }
                self.expr(els);
            }
            ExprKind::Block { stmts, value } => {
                self.stmts(stmts);
                self.expr(value);
            }
            ExprKind::Int { .. }
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Builtin(_)
            | ExprKind::Error => {}
        }
    }

    /// The size of the record that a call sends.
    fn record(&mut self, expr: &Expr, function: Function, args: &[Expr]) {
        let sized = |e: &Expr| self.typed.hir.types.size_of(self.typed.type_of(e)).next_multiple_of(8);
        let total = |args: &[Expr]| args.iter().map(|e| u64::from(sized(e))).sum::<u64>();
        let size = match function {
            Function::Printf | Function::Cat | Function::System => total(args.get(1..).unwrap_or_default()),
            Function::Print => total(args.get(..1).unwrap_or_default()),
            Function::Join => 8 + u64::from(JOINED) * u64::from(self.typed.hir.config.max_strlen),
            _ => return,
        };
        let size = size + u64::from(RECORD_HEADER);
        // A record larger than the ring that the script asks for could never be sent.
        let ring = u64::from(self.typed.hir.config.ring_pages) * u64::from(PAGE);
        let most = if ring == 0 { u64::from(MAX_RECORD) } else { u64::from(MAX_RECORD).min(ring / 2) };
        if size > most {
            let name = builtins::function(function).name;
            let message = format!("{name}() sends {size} bytes at once: more than {most} are not supported");
            let help = match function {
                Function::Join => "lower the setting max_strlen",
                _ => "shorten its strings: str(pointer, length)",
            };
            self.error(expr.span, message, help);
        }
    }
}

/// How deep tuples are nested in a type.
fn depth(ty: &Type) -> u32 {
    match ty {
        Type::Tuple(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
