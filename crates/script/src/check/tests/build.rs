//! Resolved trees by hand.

use std::cell::Cell;
use std::path::Path;

use strix_facts::{Features, KernelFacts};
use strix_model::{AttachPoint, Diagnostics, FileId, ProgramKind, Span};
use strix_syntax::ast::{BinaryOp, UnaryOp};

use crate::Options;
use crate::builtins::{Function, Variable};
use crate::hir::*;
use crate::types::Type;

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// A place of its own for every node, so that no two findings are the same.
fn fresh() -> (ExprId, Span) {
    let n = NEXT.with(|next| next.replace(next.get() + 1));
    (ExprId(n), Span::new(FileId(0), n, n + 1))
}

pub(super) fn node(kind: ExprKind) -> Expr {
    let (id, span) = fresh();
    Expr { id, kind, span }
}

pub(super) fn int(value: u64) -> Expr {
    node(ExprKind::Int { value, ty: None })
}

pub(super) fn typed(value: u64, ty: Type) -> Expr {
    node(ExprKind::Int { value, ty: Some(ty) })
}

pub(super) fn text(text: &str) -> Expr {
    node(ExprKind::Str(text.into()))
}

pub(super) fn boolean(value: bool) -> Expr {
    node(ExprKind::Bool(value))
}

pub(super) fn var(n: u32) -> Expr {
    node(ExprKind::Var(VarId(n)))
}

pub(super) fn map(n: u32, key: Vec<Expr>) -> Expr {
    node(ExprKind::Map { map: MapId(n), key })
}

pub(super) fn builtin(variable: Variable) -> Expr {
    node(ExprKind::Builtin(variable))
}

pub(super) fn call(function: Function, args: Vec<Expr>) -> Expr {
    let name_span = fresh().1;
    node(ExprKind::Call { function, args, name_span })
}

pub(super) fn binary(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    node(ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) })
}

pub(super) fn unary(op: UnaryOp, operand: Expr) -> Expr {
    node(ExprKind::Unary { op, operand: Box::new(operand) })
}

pub(super) fn cast(ty: Type, operand: Expr) -> Expr {
    node(ExprKind::Cast { ty, operand: Box::new(operand) })
}

pub(super) fn tuple(items: Vec<Expr>) -> Expr {
    node(ExprKind::Tuple(items))
}

pub(super) fn place(n: u32, key: Vec<Expr>) -> Place {
    Place::Map { map: MapId(n), key, span: fresh().1 }
}

pub(super) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: fresh().1 }
}

pub(super) fn set(place: Place, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { place, op: None, value })
}

pub(super) fn set_var(n: u32, value: Expr) -> Stmt {
    set(Place::Var(VarId(n)), value)
}

pub(super) fn eval(expr: Expr) -> Stmt {
    stmt(StmtKind::Expr(expr))
}

pub(super) fn print(expr: Expr) -> Stmt {
    eval(call(Function::Print, vec![expr]))
}

/// A kernel that has everything that programs may need, and no type information.
pub(super) fn facts() -> KernelFacts {
    let mut features = Features::default();
    for feature in Features::default().list() {
        features.set(feature.name, feature.name != "btf");
    }
    KernelFacts::at(Path::new("/nowhere")).with_features(features)
}

/// Bodies with maps `@a` to `@d` and variables `$a` to `$d`.
pub(super) fn script(bodies: Vec<Vec<Stmt>>) -> Hir {
    let names = ["a", "b", "c", "d"];
    let span = fresh().1;
    let probe = ProbeDef { name: "kprobe:f".into(), span, attach_points: 1 };
    let site = Site {
        point: AttachPoint::Kprobe { module: None, function: "f".into(), offset: 0 },
        name: 0,
        syscall: None,
    };
    let var = |n: &&str| VarDef { name: format!("${n}"), span, declared: None };
    let instance = |body| Instance {
        probe: 0,
        context: Context::Kprobe,
        kind: ProgramKind::Kprobe,
        sites: vec![site.clone()],
        pid_filter: None,
        predicate: None,
        body,
        vars: names.iter().map(var).collect(),
    };
    Hir {
        maps: names.iter().map(|n| MapDef { name: format!("@{n}"), span, declared: None }).collect(),
        probes: vec![probe],
        instances: bodies.into_iter().map(instance).collect(),
        probe_names: vec!["kprobe:f".into()],
        expr_count: NEXT.with(Cell::get),
        ..Hir::default()
    }
}

/// What came of a check: types, and findings as `message | label… | help…`.
pub(super) struct Checked {
    pub(super) typed: Option<Typed>,
    pub(super) said: Vec<String>,
}

impl Checked {
    pub(super) fn of(hir: Hir) -> Self {
        let mut diags = Diagnostics::default();
        let typed = crate::check::check(hir, &facts(), &Options::default(), &mut diags);
        let said = diags
            .sorted()
            .iter()
            .map(|d| {
                let labels = d.secondary.iter().map(|l| l.text.clone());
                let parts: Vec<String> =
                    std::iter::once(d.message.clone()).chain(labels).chain(d.help.clone()).collect();
                parts.join(" | ")
            })
            .collect();
        Self { typed, said }
    }

    pub(super) fn body(body: Vec<Stmt>) -> Self {
        Self::of(script(vec![body]))
    }

    /// The types of a script that is right.
    pub(super) fn right(&self) -> &Typed {
        self.typed.as_ref().unwrap_or_else(|| panic!("{:?}", self.said))
    }

    pub(super) fn map(&self, n: usize) -> String {
        let typed = self.right();
        let name = |ty| crate::check::type_name(&typed.hir.types, ty);
        format!("{} -> {}", name(&typed.maps[n].key), name(&typed.maps[n].value))
    }

    pub(super) fn var(&self, n: usize) -> String {
        let typed = self.right();
        crate::check::type_name(&typed.hir.types, &typed.vars[0][n])
    }

    /// Exactly one finding, which starts like this.
    pub(super) fn says(&self, start: &str) {
        assert!(self.said.len() == 1 && self.said[0].starts_with(start), "{:?}", self.said);
    }
}
