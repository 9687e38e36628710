//! Statements of a probe's body, resolved for one context.

use std::collections::BTreeSet;

use strix_facts::nearest;
use strix_model::{Diagnostic, Diagnostics, Span};
use strix_syntax::ast;

use super::names::Names;
use super::place::Surroundings;
use super::scope::Scopes;
use crate::Options;
use crate::hir::{Expr, ExprId, ExprKind, MapDef, MapId, Place, Stmt, StmtKind, VarDef};
use crate::types::Types;

/// Expressions of all instances of a script's probes.
pub(super) const MAX_NODES: u32 = 1_000_000;

/// What bodies share: names that are the same in all of them.
pub(super) struct Shared<'a> {
    pub(super) names: Names<'a>,
    pub(super) options: &'a Options,
    /// Maps that something is assigned to, without `@`.
    pub(super) assigned: BTreeSet<String>,
    pub(super) types: Types,
    pub(super) maps: Vec<MapDef>,
    pub(super) expr_count: u32,
    /// Named parameters that the script asks for.
    pub(super) getopts: super::getopt::Known,
}

/// A resolved body.
pub(super) struct Resolved {
    pub(super) predicate: Option<Expr>,
    pub(super) body: Vec<Stmt>,
    pub(super) vars: Vec<VarDef>,
}

/// What a statement stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// `while`, `unroll`.
    Plain,
    /// `for`: its body has no access to the probe's context.
    Callback,
}

/// Resolves one body.
pub(super) struct Body<'a, 's> {
    pub(super) shared: &'a mut Shared<'s>,
    pub(super) place: Surroundings<'a>,
    pub(super) diags: &'a mut Diagnostics,
    pub(super) scopes: Scopes,
    loops: Vec<Loop>,
    /// `#define`s being expanded.
    pub(super) expanding: Vec<String>,
    /// Expressions around the one at hand.
    pub(super) depth: u32,
    /// Expressions that came of `#define`s.
    pub(super) expanded: u32,
}

impl<'a, 's> Body<'a, 's> {
    pub(super) fn resolve(
        shared: &'a mut Shared<'s>,
        place: Surroundings<'a>,
        probe: &ast::Probe,
        diags: &'a mut Diagnostics,
    ) -> Resolved {
        let scopes = Scopes::default();
        let mut body = Body {
            shared,
            place,
            diags,
            scopes,
            loops: Vec::new(),
            expanding: Vec::new(),
            depth: 0,
            expanded: 0,
        };
        body.scopes.enter();
        let predicate = probe.predicate.as_ref().map(|p| body.expr(p));
        let stmts = body.stmts(&probe.body.stmts);
        body.scopes.leave();
        let vars = std::mem::take(&mut body.scopes).finish(body.diags);
        Resolved { predicate, body: stmts, vars }
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diags.push(Diagnostic::error(span, message));
    }

    /// An expression node of its own identity.
    pub(super) fn node(&mut self, kind: ExprKind, span: Span) -> Expr {
        let id = ExprId(self.shared.expr_count);
        self.shared.expr_count += 1;
        Expr { id, kind, span }
    }

    /// Whether the body runs in a `for` loop's callback here.
    pub(super) fn in_callback(&self) -> bool {
        self.loops.contains(&Loop::Callback)
    }

    /// A block's statements in a scope of their own.
    fn block(&mut self, block: &ast::Block) -> Vec<Stmt> {
        self.scopes.enter();
        let stmts = self.stmts(&block.stmts);
        self.scopes.leave();
        stmts
    }

    pub(super) fn stmts(&mut self, stmts: &[ast::Stmt]) -> Vec<Stmt> {
        let leaves = |s: &ast::Stmt| {
            matches!(s.kind, ast::StmtKind::Return(_) | ast::StmtKind::Break | ast::StmtKind::Continue)
        };
        if let Some(at) = stmts.iter().position(leaves)
            && let Some(next) = stmts.get(at + 1)
        {
            self.diags.push(Diagnostic::warning(next.span, "unreachable statement"));
        }
        stmts.iter().filter_map(|s| self.stmt(s)).collect()
    }

    pub(super) fn stmt(&mut self, stmt: &ast::Stmt) -> Option<Stmt> {
        let kind = match &stmt.kind {
            ast::StmtKind::Expr(e) | ast::StmtKind::Discard(e) => match self.assertion(e) {
                Some(kind) => kind,
                None => StmtKind::Expr(self.expr(e)),
            },
            ast::StmtKind::Assign { target, op, value } => self.assign(target, *op, value)?,
            ast::StmtKind::Let { var, ty, init } => self.declare(var, ty.as_ref(), init.as_ref()),
            ast::StmtKind::If { cond, then, els } => StmtKind::If {
                cond: self.expr(cond),
                then: self.block(then),
                els: els.as_ref().map(|b| self.block(b)).unwrap_or_default(),
            },
            ast::StmtKind::While { cond, body } => {
                self.diags.push(
                    Diagnostic::warning(
                        stmt.span,
                        "while loops are deprecated and may be removed in the future",
                    )
                    .with_help("a range does the same and is known to end: `for ($i : 0..10) { … }`"),
                );
                let cond = self.expr(cond);
                StmtKind::While { cond, body: self.looped(Loop::Plain, body) }
            }
            ast::StmtKind::ForRange { var, lo, hi, body } => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                self.scopes.enter();
                let var = self.scopes.loop_variable(&var.text, var.span, self.diags);
                let body = self.looped(Loop::Callback, body);
                self.scopes.leave();
                StmtKind::ForRange { var, lo, hi, body }
            }
            ast::StmtKind::ForMap { var, map, body } => {
                let map = self.map(&map.text, map.span);
                self.scopes.enter();
                let var = self.scopes.loop_variable(&var.text, var.span, self.diags);
                let body = self.looped(Loop::Callback, body);
                self.scopes.leave();
                StmtKind::ForMap { var, map, body }
            }
            ast::StmtKind::Unroll { count, body } => {
                let count = self.unroll_count(count)?;
                StmtKind::Unroll { count, body: self.looped(Loop::Plain, body) }
            }
            ast::StmtKind::Break => self.jump(StmtKind::Break, "break", stmt.span)?,
            ast::StmtKind::Continue => self.jump(StmtKind::Continue, "continue", stmt.span)?,
            ast::StmtKind::Return(value) => StmtKind::Return(value.as_ref().map(|e| self.expr(e))),
            ast::StmtKind::Block(block) => StmtKind::Block(self.block(block)),
        };
        Some(Stmt { kind, span: stmt.span })
    }

    fn looped(&mut self, kind: Loop, body: &ast::Block) -> Vec<Stmt> {
        self.loops.push(kind);
        let stmts = self.block(body);
        self.loops.pop();
        stmts
    }

    fn jump(&mut self, kind: StmtKind, word: &str, span: Span) -> Option<StmtKind> {
        if self.loops.is_empty() {
            self.error(span, format!("'{word}' statement is not allowed in a probe, only in a loop"));
            return None;
        }
        Some(kind)
    }

    fn unroll_count(&mut self, count: &ast::Expr) -> Option<u32> {
        let message = match self.expr(count).as_const() {
            None => "invalid unroll value: it must be a constant",
            Some(n) if n > 100 => "unroll maximum value is 100",
            Some(n) if n < 1 => "unroll minimum value is 1",
            Some(n) => return Some(n as u32),
        };
        self.error(count.span, message);
        None
    }

    fn assign(
        &mut self,
        target: &ast::Expr,
        op: Option<ast::BinaryOp>,
        value: &ast::Expr,
    ) -> Option<StmtKind> {
        // What a block gives a map may be an aggregation, which is no value: the assignment goes inside.
        if let (ast::ExprKind::Map { .. }, ast::ExprKind::Block { stmts, value: last }) =
            (&target.kind, &value.kind)
        {
            self.scopes.enter();
            let mut stmts = self.stmts(stmts);
            let kind = self.assign(target, op, last);
            self.scopes.leave();
            stmts.push(Stmt { kind: kind?, span: value.span });
            return Some(StmtKind::Block(stmts));
        }
        // The value first: what it reads must be there before.
        let place = match (&target.kind, op) {
            (ast::ExprKind::Var(name), None) => {
                let value = self.expr(value);
                let place = Place::Var(self.scopes.assign(name, target.span));
                return Some(StmtKind::Assign { place, op, value });
            }
            _ => self.target(target),
        };
        let value = self.expr(value);
        Some(StmtKind::Assign { place: place?, op, value })
    }

    /// What is changed in place, so that a variable must be there already.
    pub(super) fn target(&mut self, target: &ast::Expr) -> Option<Place> {
        match &target.kind {
            ast::ExprKind::Var(name) => {
                let id = self.scopes.read(name, target.span, self.diags)?;
                self.scopes.mark_assigned(id);
                Some(Place::Var(id))
            }
            ast::ExprKind::Map { name, key } => {
                let map = self.map(name, target.span);
                let key = self.key(key.as_deref().unwrap_or_default());
                Some(Place::Map { map, key, span: target.span })
            }
            ast::ExprKind::Error => None,
            _ => {
                self.error(target.span, "only a variable or a map can be assigned to");
                None
            }
        }
    }

    fn declare(&mut self, var: &ast::Name, ty: Option<&ast::TypeExpr>, init: Option<&ast::Expr>) -> StmtKind {
        let declared = ty.and_then(|t| self.ty(t));
        let init = init.map(|e| self.expr(e));
        let id = self.scopes.declare(&var.text, var.span, declared, init.is_some(), self.diags);
        match init {
            Some(value) => StmtKind::Assign { place: Place::Var(id), op: None, value },
            None => StmtKind::Let(id),
        }
    }

    /// A map by its name without `@`; entered at its first use.
    pub(super) fn map(&mut self, name: &str, span: Span) -> MapId {
        if !self.shared.assigned.contains(name) {
            let error = Diagnostic::error(span, format!("undefined map: @{name}"));
            let known = self.shared.assigned.iter().map(String::as_str).filter(|n| !n.is_empty());
            let error = match nearest(name, known) {
                Some(near) => error.with_help(format!("did you mean `@{near}`?")),
                None => error.with_help("a map exists once something is assigned to it"),
            };
            self.diags.push(error);
        }
        let maps = &mut self.shared.maps;
        let index = maps.iter().position(|m| m.name[1..] == *name).unwrap_or_else(|| {
            maps.push(MapDef { name: format!("@{name}"), span, declared: None });
            maps.len() - 1
        });
        MapId(index as u32)
    }

    /// Key expressions; a tuple literal as the only key is several keys.
    pub(super) fn key(&mut self, key: &[ast::Expr]) -> Vec<Expr> {
        match key {
            [ast::Expr { kind: ast::ExprKind::Tuple(items), .. }] if items.len() > 1 => {
                items.iter().map(|e| self.expr(e)).collect()
            }
            _ => key.iter().map(|e| self.expr(e)).collect(),
        }
    }

    /// A type as written; `None` after an error.
    pub(super) fn ty(&mut self, ty: &ast::TypeExpr) -> Option<crate::types::Type> {
        let shared = &mut *self.shared;
        match shared.names.resolve(ty, &mut shared.types, self.place.modules) {
            Ok(ty) => Some(ty),
            Err(error) => {
                self.diags.push(error);
                None
            }
        }
    }
}
