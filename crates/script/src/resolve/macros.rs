//! Macros of the script: every call becomes the macro's body, before any name is resolved.
//!
//! Expansion is hygienic: variables of a body are the expansion's own, so that they meet none of the caller's. What the caller gives keeps
//! its meaning, for it is put in after the body's own names were changed. A macro may have the name of a built-in; it is meant where the
//! arguments fit.

use std::borrow::Cow;
use std::collections::HashMap;

use strix_model::{Diagnostic, Diagnostics, Span};
use strix_syntax::ast::{
    Block, Expr, ExprKind, Macro, MacroParamKind, Name, OffsetofBase, Script, Stmt, StmtKind, TypeBase,
    TypeExpr,
};

use super::words;

/// Macros in macros.
const MAX_NESTING: usize = 16;
/// Expressions that all expansions of a script make, in all.
const MAX_SIZE: usize = 100_000;
/// How deep an expression may be after expansion.
const MAX_DEPTH: usize = 300;

/// The script with its macros expanded.
pub(super) fn expand<'a>(script: &'a Script, diags: &mut Diagnostics) -> Cow<'a, Script> {
    if script.macros.is_empty() {
        return Cow::Borrowed(script);
    }
    let mut script = script.clone();
    let macros = std::mem::take(&mut script.macros);
    let mut by_name: HashMap<&str, Vec<&Macro>> = HashMap::new();
    for item in &macros {
        let same = by_name.entry(&item.name.text).or_default();
        if let Some(first) = same.iter().find(|m| kinds(m).eq(kinds(item))) {
            let message = format!("the macro {} is there already with these parameters", item.name.text);
            diags.push(Diagnostic::error(item.name.span, message).with_label(first.name.span, "here"));
            continue;
        }
        same.push(item);
    }
    let mut expander =
        Expander { macros: by_name, diags, active: Vec::new(), expansions: 0, size: 0, depth: 0 };
    for probe in &mut script.probes {
        if let Some(predicate) = &mut probe.predicate {
            expander.expr(predicate);
        }
        expander.block(&mut probe.body);
    }
    Cow::Owned(script)
}

fn kinds(item: &Macro) -> impl Iterator<Item = MacroParamKind> {
    item.params.iter().map(|p| p.kind)
}

/// Goes through a tree and changes it.
trait Walk {
    fn expr(&mut self, expr: &mut Expr) {
        self.inside(expr);
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        self.inside_stmt(stmt);
    }

    /// A variable that a statement introduces.
    fn variable(&mut self, _name: &mut Name) {}

    /// A map that a loop goes through.
    fn looped_map(&mut self, _name: &mut Name) {}

    fn block(&mut self, block: &mut Block) {
        block.stmts.iter_mut().for_each(|s| self.stmt(s));
    }

    fn ty(&mut self, ty: &mut TypeExpr) {
        match &mut ty.base {
            TypeBase::TypeofExpr(expr) => self.expr(expr),
            TypeBase::Tuple(items) => items.iter_mut().for_each(|t| self.ty(t)),
            _ => {}
        }
    }

    fn inside(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Map { key: Some(list), .. }
            | ExprKind::Call { args: list, .. }
            | ExprKind::Tuple(list) => list.iter_mut().for_each(|e| self.expr(e)),
            ExprKind::Unary { operand: e, .. }
            | ExprKind::IncDec { target: e, .. }
            | ExprKind::Field { base: e, .. }
            | ExprKind::TupleField { base: e, .. }
            | ExprKind::SizeofExpr(e) => self.expr(e),
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
            ExprKind::Cast { ty, operand } => {
                self.ty(ty);
                self.expr(operand);
            }
            ExprKind::Record(fields) => fields.iter_mut().for_each(|(_, e)| self.expr(e)),
            ExprKind::SizeofType(ty) | ExprKind::Offsetof { of: OffsetofBase::Type(ty), .. } => self.ty(ty),
            ExprKind::Offsetof { of: OffsetofBase::Expr(e), .. } => self.expr(e),
            ExprKind::Block { stmts, value } => {
                stmts.iter_mut().for_each(|s| self.stmt(s));
                self.expr(value);
            }
            ExprKind::Int { .. }
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Ident(_)
            | ExprKind::Var(_)
            | ExprKind::Map { key: None, .. }
            | ExprKind::Positional(_)
            | ExprKind::PositionalCount
            | ExprKind::Error => {}
        }
    }

    fn inside_stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Expr(e) | StmtKind::Discard(e) | StmtKind::Return(Some(e)) => self.expr(e),
            StmtKind::Assign { target, value, .. } => {
                self.expr(target);
                self.expr(value);
            }
            StmtKind::Let { var, ty, init } => {
                self.variable(var);
                if let Some(ty) = ty {
                    self.ty(ty);
                }
                if let Some(init) = init {
                    self.expr(init);
                }
            }
            StmtKind::If { cond, then, els } => {
                self.expr(cond);
                self.block(then);
                if let Some(els) = els {
                    self.block(els);
                }
            }
            StmtKind::While { cond, body } | StmtKind::Unroll { count: cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::ForRange { var, lo, hi, body } => {
                self.variable(var);
                self.expr(lo);
                self.expr(hi);
                self.block(body);
            }
            StmtKind::ForMap { var, map, body } => {
                self.variable(var);
                self.looped_map(map);
                self.block(body);
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
        }
    }
}

/// Replaces calls by bodies.
struct Expander<'m, 'd> {
    macros: HashMap<&'m str, Vec<&'m Macro>>,
    diags: &'d mut Diagnostics,
    /// Names of the macros being expanded.
    active: Vec<&'m str>,
    expansions: usize,
    size: usize,
    depth: usize,
}

impl<'m> Expander<'m, '_> {
    fn error(&mut self, span: Span, message: String) {
        self.diags.push(Diagnostic::error(span, message));
    }

    /// The macro that a call means.
    fn meant(&mut self, name: &str, args: &[Expr], span: Span) -> Option<&'m Macro> {
        let candidates = self.macros.get(name)?;
        let fits = |item: &Macro| {
            item.params.len() == args.len()
                && item.params.iter().zip(args).all(|(param, arg)| fits(param.kind, arg))
        };
        // What names its parameters more closely comes first.
        let loose = |item: &&&Macro| kinds(item).filter(|k| *k == MacroParamKind::Value).count();
        let found = candidates.iter().filter(|m| fits(m)).min_by_key(loose).copied();
        if found.is_none() && !is_built_in(name) {
            let first = candidates.first().map(|m| m.span);
            let message = format!("no macro {name} takes these arguments");
            let error = Diagnostic::error(span, message);
            self.diags.push(match first {
                Some(first) => error.with_label(first, "defined here"),
                None => error,
            });
        }
        found
    }

    /// The body of a macro for these arguments; `None` after an error.
    fn body(&mut self, item: &'m Macro, args: Vec<Expr>, span: Span) -> Option<Block> {
        let name = item.name.text.as_str();
        if self.active.contains(&name) || self.active.len() >= MAX_NESTING {
            let what = if self.active.contains(&name) { "calls itself" } else { "is nested too deeply" };
            self.error(span, format!("the macro {name} {what}"));
            return None;
        }
        self.expansions += 1;
        let mut body = item.body.clone();
        let mut put_in =
            PutIn { args: HashMap::new(), number: self.expansions, diags: self.diags, size: &mut self.size };
        for (param, arg) in item.params.iter().zip(args) {
            put_in.args.insert((param.kind, &param.name.text), arg);
        }
        put_in.block(&mut body);
        if self.size > MAX_SIZE {
            self.error(span, "the macros of the script make too much code".to_owned());
            return None;
        }
        self.active.push(name);
        self.block(&mut body);
        self.active.pop();
        Some(body)
    }

    /// Expands a call; `None` when it is none of a macro.
    fn expanded(&mut self, expr: &mut Expr) -> Option<Option<Block>> {
        let span = expr.span;
        if self.size > MAX_SIZE {
            return None;
        }
        match &mut expr.kind {
            ExprKind::Ident(name) => {
                let item = *self.macros.get(name.as_str())?.iter().find(|m| m.params.is_empty())?;
                Some(self.body(item, Vec::new(), span))
            }
            ExprKind::Call { name, args } if self.macros.contains_key(name.text.as_str()) => {
                let Some(item) = self.meant(&name.text, args, span) else {
                    return if is_built_in(&name.text) { None } else { Some(None) };
                };
                args.iter_mut().for_each(|a| self.expr(a));
                Some(self.body(item, std::mem::take(args), span))
            }
            _ => None,
        }
    }
}

fn is_built_in(name: &str) -> bool {
    words::function(name).is_some() || words::variable(name).is_some() || words::is_unsupported(name)
}

fn fits(kind: MacroParamKind, arg: &Expr) -> bool {
    match kind {
        MacroParamKind::Variable => matches!(arg.kind, ExprKind::Var(_)),
        MacroParamKind::Map => matches!(arg.kind, ExprKind::Map { key: None, .. }),
        MacroParamKind::Value => true,
    }
}

impl Walk for Expander<'_, '_> {
    fn expr(&mut self, expr: &mut Expr) {
        if self.depth >= MAX_DEPTH {
            self.error(expr.span, "the expression is nested too deeply".to_owned());
            expr.kind = ExprKind::Error;
            return;
        }
        self.depth += 1;
        match self.expanded(expr) {
            None => self.inside(expr),
            Some(None) => expr.kind = ExprKind::Error,
            Some(Some(mut body)) => match body.stmts.pop().map(|s| s.kind) {
                Some(StmtKind::Expr(value)) if body.stmts.is_empty() => expr.kind = value.kind,
                Some(StmtKind::Expr(value)) => {
                    expr.kind = ExprKind::Block { stmts: body.stmts, value: Box::new(value) };
                }
                _ => {
                    let message = "the macro has no value: its last statement is no expression";
                    self.error(expr.span, message.to_owned());
                    expr.kind = ExprKind::Error;
                }
            },
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        let StmtKind::Expr(expr) = &mut stmt.kind else { return self.inside_stmt(stmt) };
        match self.expanded(expr) {
            None => self.inside(expr),
            Some(None) => expr.kind = ExprKind::Error,
            Some(Some(body)) => stmt.kind = StmtKind::Block(body),
        }
    }
}

/// Puts arguments into a body and makes its variables its own.
struct PutIn<'m, 'd> {
    args: HashMap<(MacroParamKind, &'m str), Expr>,
    number: usize,
    diags: &'d mut Diagnostics,
    size: &'d mut usize,
}

impl PutIn<'_, '_> {
    /// The name of the caller's variable, or one that only this expansion has.
    fn own(&self, name: &str) -> String {
        match self.args.get(&(MacroParamKind::Variable, name)).map(|a| &a.kind) {
            Some(ExprKind::Var(given)) => given.clone(),
            _ => format!("{name}#{}", self.number),
        }
    }

    fn map(&mut self, name: &mut String, span: Span) {
        match self.args.get(&(MacroParamKind::Map, name.as_str())).map(|a| &a.kind) {
            Some(ExprKind::Map { name: given, .. }) => *name = given.clone(),
            _ => {
                let message = format!("@{name} is no parameter of the macro");
                let help = "give the macro the map when calling it";
                self.diags.push(Diagnostic::error(span, message).with_help(help));
            }
        }
    }
}

impl Walk for PutIn<'_, '_> {
    fn expr(&mut self, expr: &mut Expr) {
        *self.size += 1;
        if *self.size > MAX_SIZE {
            return;
        }
        let span = expr.span;
        match &mut expr.kind {
            ExprKind::Ident(name) => {
                if let Some(arg) = self.args.get(&(MacroParamKind::Value, name.as_str())) {
                    *self.size += nodes(&mut arg.clone());
                    *expr = arg.clone();
                }
            }
            ExprKind::Var(name) => *name = self.own(name),
            ExprKind::Map { name, .. } => {
                self.map(name, span);
                self.inside(expr);
            }
            _ => self.inside(expr),
        }
    }

    fn variable(&mut self, name: &mut Name) {
        name.text = self.own(&name.text);
    }

    fn looped_map(&mut self, name: &mut Name) {
        let span = name.span;
        self.map(&mut name.text, span);
    }
}

/// How many expressions an expression consists of.
fn nodes(expr: &mut Expr) -> usize {
    struct Count(usize);
    impl Walk for Count {
        fn expr(&mut self, expr: &mut Expr) {
            self.0 += 1;
            self.inside(expr);
        }
    }
    let mut count = Count(0);
    count.expr(expr);
    count.0
}
