//! Trees for tests, made by hand so that they do not depend on the parser.

use std::path::PathBuf;

use strix_facts::{Features, KernelFacts};
use strix_model::{Diagnostics, FileId, Span};
use strix_syntax::ast::*;

use crate::Options;
use crate::hir::{Hir, Instance};

pub(super) const SPAN: Span = Span { file: FileId(0), lo: 0, hi: 0 };

/// The frozen kernel with all features that scripts can use.
pub(super) fn facts() -> KernelFacts {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/facts/6.18-x86_64"));
    KernelFacts::at(&root).with_features(features())
}

pub(super) fn features() -> Features {
    let mut features = Features::default();
    for name in ["btf", "attach_cookie", "raw_tp_cookie", "kprobe_multi", "uprobe_multi", "tp_btf"] {
        assert!(features.set(name, true), "{name}");
    }
    features
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: SPAN }
}

fn name(text: &str) -> Name {
    Name { text: text.to_owned(), span: SPAN }
}

pub(super) fn int(value: u64) -> Expr {
    expr(ExprKind::Int { value, unsigned: false, duration: false })
}

pub(super) fn text(text: &str) -> Expr {
    expr(ExprKind::Str(text.to_owned()))
}

pub(super) fn ident(word: &str) -> Expr {
    expr(ExprKind::Ident(word.to_owned()))
}

pub(super) fn var(word: &str) -> Expr {
    expr(ExprKind::Var(word.to_owned()))
}

pub(super) fn param(n: u32) -> Expr {
    expr(ExprKind::Positional(n))
}

pub(super) fn map(word: &str) -> Expr {
    expr(ExprKind::Map { name: word.to_owned(), key: None })
}

pub(super) fn entry(word: &str, key: Vec<Expr>) -> Expr {
    expr(ExprKind::Map { name: word.to_owned(), key: Some(key) })
}

pub(super) fn tuple(items: Vec<Expr>) -> Expr {
    expr(ExprKind::Tuple(items))
}

pub(super) fn field(base: Expr, word: &str) -> Expr {
    expr(ExprKind::Field { base: Box::new(base), name: name(word), arrow: false })
}

pub(super) fn call(word: &str, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Call { name: name(word), args })
}

pub(super) fn add(lhs: Expr, rhs: Expr) -> Expr {
    expr(ExprKind::Binary { op: BinaryOp::Add, lhs: Box::new(lhs), rhs: Box::new(rhs) })
}

pub(super) fn struct_type(tag: &str, pointers: u32) -> TypeExpr {
    TypeExpr { base: TypeBase::Struct(tag.to_owned()), pointers, arrays: Vec::new(), span: SPAN }
}

pub(super) fn named_type(word: &str, arrays: Vec<Option<u64>>) -> TypeExpr {
    TypeExpr { base: TypeBase::Named(word.to_owned()), pointers: 0, arrays, span: SPAN }
}

pub(super) fn cast(ty: TypeExpr, operand: Expr) -> Expr {
    expr(ExprKind::Cast { ty, operand: Box::new(operand) })
}

pub(super) fn sizeof(ty: TypeExpr) -> Expr {
    expr(ExprKind::SizeofType(ty))
}

pub(super) fn offsetof(ty: TypeExpr, path: &[&str]) -> Expr {
    let path = path.iter().map(|p| name(p)).collect();
    expr(ExprKind::Offsetof { of: OffsetofBase::Type(ty), path })
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: SPAN }
}

pub(super) fn eval(value: Expr) -> Stmt {
    stmt(StmtKind::Expr(value))
}

pub(super) fn assign(target: Expr, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { target, op: None, value })
}

pub(super) fn declare(word: &str, ty: Option<TypeExpr>, init: Option<Expr>) -> Stmt {
    stmt(StmtKind::Let { var: name(word), ty, init })
}

pub(super) fn block(stmts: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::Block(Block { stmts, span: SPAN }))
}

pub(super) fn for_range(word: &str, stmts: Vec<Stmt>) -> Stmt {
    let body = Block { stmts, span: SPAN };
    stmt(StmtKind::ForRange { var: name(word), lo: int(0), hi: int(3), body })
}

pub(super) fn unroll(count: Expr, stmts: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::Unroll { count, body: Block { stmts, span: SPAN } })
}

pub(super) fn leave() -> Stmt {
    stmt(StmtKind::Break)
}

pub(super) fn c_member(word: &str, ty: TypeExpr) -> CMember {
    CMember { name: name(word), ty: CMemberType::Type(ty), bits: None }
}

pub(super) fn c_struct(tag: &str, members: Vec<CMember>) -> CItem {
    CItem::Record(CRecord { name: name(tag), is_union: false, members, packed: false, span: SPAN })
}

pub(super) fn c_enum(tag: &str, variants: &[(&str, Option<u64>)]) -> CItem {
    let variants = variants.iter().map(|(n, v)| (name(n), v.map(int))).collect();
    CItem::Enum(CEnum { name: name(tag), variants, span: SPAN })
}

pub(super) fn c_define(word: &str, value: Expr) -> CItem {
    CItem::Define { name: name(word), value }
}

/// A probe; attach points are divided at commas, and parts at colons that are not in quotes.
pub(super) fn probe(attach: &str, stmts: Vec<Stmt>) -> Probe {
    let attach_points = attach
        .split(',')
        .map(|text| {
            let mut parts: Vec<AttachPart> = Vec::new();
            let mut quoted = false;
            let mut part = AttachPart { text: String::new(), quoted: false, span: SPAN };
            for c in text.chars() {
                match c {
                    '"' => {
                        quoted = !quoted;
                        part.quoted = true;
                    }
                    ':' if !quoted => {
                        parts.push(std::mem::replace(
                            &mut part,
                            AttachPart { text: String::new(), quoted: false, span: SPAN },
                        ));
                    }
                    c => part.text.push(c),
                }
            }
            parts.push(part);
            AttachPointText { parts, text: text.to_owned(), span: SPAN }
        })
        .collect();
    Probe { attach_points, predicate: None, body: Block { stmts, span: SPAN }, span: SPAN }
}

/// A resolved script with what was said about it: message, then help lines, divided by ` | `.
pub(super) struct Run {
    pub(super) hir: Hir,
    pub(super) said: Vec<String>,
    pub(super) failed: bool,
}

impl Run {
    pub(super) fn of(script: &Script, facts: &KernelFacts, options: &Options) -> Self {
        let mut diags = Diagnostics::default();
        let hir = super::resolve(script, facts, options, &mut diags);
        let said = diags
            .sorted()
            .iter()
            .map(|d| [std::slice::from_ref(&d.message), &d.help].concat().join(" | "))
            .collect();
        Self { hir, said, failed: diags.has_errors() }
    }

    pub(super) fn probes(probes: Vec<Probe>) -> Self {
        let script = Script { probes, ..Script::default() };
        Self::of(&script, &facts(), &Options::default())
    }

    pub(super) fn one(attach: &str, stmts: Vec<Stmt>) -> Self {
        Self::probes(vec![probe(attach, stmts)])
    }

    /// The only instance of a script that is right.
    pub(super) fn instance(&self) -> &Instance {
        assert!(!self.failed, "{:?}", self.said);
        assert_eq!(self.hir.instances.len(), 1);
        &self.hir.instances[0]
    }

    /// The names of an instance's sites.
    pub(super) fn sites(&self, instance: &Instance) -> Vec<&str> {
        instance.sites.iter().map(|s| self.hir.probe_names[s.name as usize].as_str()).collect()
    }

    pub(super) fn has(&self, start: &str) -> bool {
        self.said.iter().any(|s| s.starts_with(start))
    }
}
