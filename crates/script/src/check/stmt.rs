//! Statements.

use strix_facts::nearest;
use strix_model::{Diagnostic, Span};
use strix_syntax::ast::BinaryOp;

use super::Checker;
use super::join::{Fit, Typing, fits, join};
use super::map::integer_view;
use super::slots::Source;
use crate::builtins;
use crate::hir::{Expr, ExprKind, MapId, Place, Stmt, StmtKind, VarId};
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if self.depth >= super::MAX_DEPTH {
            self.error(stmt.span, "statements are nested too deeply");
            return;
        }
        self.depth += 1;
        match &stmt.kind {
            StmtKind::Expr(e) => self.effect(e),
            StmtKind::Assign { place, op, value } => self.assign(stmt, place, *op, value),
            StmtKind::Let(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
            StmtKind::If { cond, then, els } => {
                self.condition(cond);
                self.stmts(then);
                self.stmts(els);
            }
            StmtKind::While { cond, body } => {
                self.condition(cond);
                self.stmts(body);
            }
            StmtKind::ForRange { var, lo, hi, body } => {
                self.range(*var, lo, hi);
                self.stmts(body);
            }
            StmtKind::ForMap { var, map, body } => {
                self.entries(stmt.span, *var, *map);
                self.stmts(body);
            }
            StmtKind::Unroll { body, .. } | StmtKind::Block(body) => self.stmts(body),
            StmtKind::Return(Some(value)) => {
                let ty = self.value(value);
                if !matches!(ty, Type::Void | Type::Int { .. } | Type::Enum { .. } | Type::Bool) {
                    let name = self.name(&ty);
                    self.error(value.span, format!("probe return values can only be integers. Found {name}"));
                }
            }
        }
        self.depth -= 1;
    }

    /// An expression for its effect: a value that is thrown away is probably a slip.
    fn effect(&mut self, expr: &Expr) {
        let ty = self.expr(expr);
        let pointless = match &expr.kind {
            ExprKind::IncDec { .. } | ExprKind::Error | ExprKind::Block { .. } | ExprKind::Ternary { .. } => {
                false
            }
            ExprKind::Call { function, .. } => {
                builtins::function(*function).purpose == builtins::Purpose::Value
            }
            _ => true,
        };
        if pointless && ty != Type::Void {
            self.warn(expr.span, "return value discarded");
        }
    }

    fn assign(&mut self, stmt: &Stmt, place: &Place, op: Option<BinaryOp>, value: &Expr) {
        match (place, op) {
            (Place::Map { map, key, span }, None) => {
                self.access_key(*map, key, *span);
                match &value.kind {
                    ExprKind::Call { function, args, name_span }
                        if builtins::function(*function).is_aggregation() =>
                    {
                        let typing = self.aggregation(value, *function, args, *name_span);
                        self.note(value, typing.ty.clone());
                        self.grow_value(*map, &typing, None, stmt.span);
                    }
                    _ => {
                        let typing = self.typing(value);
                        if self.storable(&typing.ty, value) {
                            self.grow_value(*map, &typing, Some(value), stmt.span);
                        }
                    }
                }
            }
            (Place::Var(var), None) => {
                let typing = self.typing(value);
                if self.storable(&typing.ty, value) {
                    self.grow_var(*var, &typing, Some(value), stmt.span);
                }
            }
            (place, Some(op)) => self.compound(stmt, place, op, value),
        }
    }

    /// Whether a value can be kept in a variable or map.
    fn storable(&mut self, ty: &Type, value: &Expr) -> bool {
        if matches!(value.kind, ExprKind::Builtin(builtins::Variable::Ctx)) {
            return true;
        }
        match ty {
            Type::Aggregate(_) => {
                let name = self.name(ty);
                self.error(value.span, format!("value '{name}' cannot be assigned"));
                false
            }
            Type::Record(id) if self.types.record(*id).size == 0 => {
                let name = self.name(ty);
                self.error(value.span, format!("the size of '{name}' is not known: it cannot be copied"));
                false
            }
            _ => true,
        }
    }

    fn compound(&mut self, stmt: &Stmt, place: &Place, op: BinaryOp, value: &Expr) {
        let old = match place {
            Place::Var(var) => {
                match self.vars[self.instance].get(var.0 as usize).and_then(|v| v.source.clone()) {
                    Some(source) => source.typing,
                    None => Typing::fixed(Type::Void),
                }
            }
            Place::Map { map, key, span } => {
                self.access_key(*map, key, *span);
                match &self.maps[map.0 as usize].value {
                    Some(source) => source.typing.clone(),
                    None if self.self_made => Typing::literal(),
                    None => Typing::fixed(Type::Void),
                }
            }
        };
        if matches!(old.ty, Type::Aggregate(_)) {
            self.value(value);
            let operator = format!("{}=", op.text());
            self.not_plain(place, &operator, stmt.span);
            return;
        }
        let right = self.typing(value);
        let open = old.flex == super::join::Flex::Yes && right.flex == super::join::Flex::Yes;
        // The left side has no expression of its own: the value stands for its place.
        let target = Expr { id: value.id, kind: ExprKind::Error, span: place_span(self, place, stmt) };
        let whole = Expr { id: value.id, kind: ExprKind::Error, span: stmt.span };
        let ty = self.combine(&whole, op, (&target, old), (value, right));
        if ty == Type::Void {
            return;
        }
        let flex = if open && op != BinaryOp::Sub { super::join::Flex::Yes } else { super::join::Flex::No };
        let typing = Typing { ty, flex };
        match place {
            Place::Var(var) => self.grow_var(*var, &typing, None, stmt.span),
            Place::Map { map, .. } => self.grow_value(*map, &typing, None, stmt.span),
        }
    }

    /// Lets a variable's type grow to hold what is assigned at `span`.
    pub(super) fn grow_var(&mut self, var: VarId, typing: &Typing, value: Option<&Expr>, span: Span) {
        if typing.ty == Type::Void {
            return;
        }
        let Some(slot) = self.vars[self.instance].get_mut(var.0 as usize) else { return };
        let Some(source) = &slot.source else {
            slot.source = Some(Source { typing: typing.clone(), span });
            self.changed = true;
            return;
        };
        if let Some(declared) = slot.declared.clone() {
            let first = source.span;
            match (value, fits(&declared, typing, value.and_then(Expr::as_const))) {
                (_, Fit::Yes) | (None, Fit::Lossy) => {}
                (Some(value), Fit::Lossy) => self.lossy(value, &typing.ty, &declared),
                (_, Fit::No) => self.var_mismatch(var, (&typing.ty, span), (&declared, first)),
            }
            return;
        }
        match join(&source.typing, typing) {
            Some(joined) if joined == source.typing => {
                if let Some(value) = value {
                    let to = joined.ty;
                    self.check_fit(&to, typing, value);
                }
            }
            Some(joined) => {
                let first = source.span;
                slot.source = Some(Source { typing: joined, span: first });
                self.changed = true;
            }
            None => {
                let (first, current) = (source.span, source.typing.ty.clone());
                self.var_mismatch(var, (&typing.ty, span), (&current, first));
            }
        }
    }

    fn var_mismatch(&mut self, var: VarId, found: (&Type, Span), current: (&Type, Span)) {
        let name = self.instance().vars[var.0 as usize].name.clone();
        let (f, c) = (self.name(found.0), self.name(current.0));
        self.push(|_| {
            let message = format!(
                "type mismatch for {name}: trying to assign value of type '{f}' when variable already has a type '{c}'"
            );
            Diagnostic::error(found.1, message).with_label(current.1, format!("'{c}' here"))
        });
    }

    /// Warns when some values of an integer change as they are stored.
    pub(super) fn check_fit(&mut self, to: &Type, typing: &Typing, value: &Expr) {
        if fits(to, typing, value.as_const()) != Fit::Yes {
            self.lossy(value, &typing.ty, to);
        }
    }

    fn range(&mut self, var: VarId, lo: &Expr, hi: &Expr) {
        let mut typings = Vec::with_capacity(2);
        for (expr, which) in [(lo, "start"), (hi, "end")] {
            let typing = self.typing(expr);
            if !matches!(typing.ty, Type::Void | Type::Int { .. } | Type::Enum { .. }) {
                self.error(expr.span, format!("loop range requires an integer for the {which} value"));
                return;
            }
            typings.push(typing);
        }
        if typings.iter().any(|t| t.ty == Type::Void) {
            return;
        }
        if let Some(joined) = join(&typings[0], &typings[1]) {
            let (_, signed) = super::join::int_parts(&joined.ty);
            let typing = Typing { ty: Type::Int { size: 8, signed }, flex: joined.flex };
            self.grow_var(var, &typing, None, lo.span);
        }
    }

    /// The variable of a loop over a map: key and value.
    fn entries(&mut self, span: Span, var: VarId, map: MapId) {
        if let Some(slot) = self.vars[self.instance].get_mut(var.0 as usize) {
            slot.entry = true;
        }
        let name = self.map_name(map).to_owned();
        if let Some((false, used)) = self.maps[map.0 as usize].keyed {
            self.push(|_| {
                let message =
                    format!("{name} has no explicit keys (scalar map), and cannot be used for iteration");
                Diagnostic::error(span, message).with_label(used, "used without a key here")
            });
            return;
        }
        let slot = &self.maps[map.0 as usize];
        let value = match slot.stored() {
            Type::Aggregate(value) => match integer_view(&value) {
                Some(ty) => {
                    if !self.facts.features().map_lookup_percpu_elem {
                        self.missing_feature(span, "map_lookup_percpu_elem", "reading an aggregation");
                    }
                    ty
                }
                None => {
                    let what = super::aggregate_name(&value);
                    self.error(span, format!("loop expression does not support type: {what}"));
                    return;
                }
            },
            ty => ty,
        };
        let key = self.maps[map.0 as usize].key.as_ref().map_or(Type::Void, |s| s.typing.ty.clone());
        if key != Type::Void && value != Type::Void {
            self.set_entry(var, Type::Tuple(vec![key, value]), span);
        } else if !self.searching && !self.errors_before {
            let known: Vec<String> = self.hir.maps.iter().map(|m| m.name.clone()).collect();
            let error = Diagnostic::error(span, format!("undefined map: {name}"));
            let near = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
            self.found.push(match near {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help("nothing is stored in it"),
            });
        }
    }

    /// The entry's type follows the map's.
    fn set_entry(&mut self, var: VarId, ty: Type, span: Span) {
        let Some(slot) = self.vars[self.instance].get_mut(var.0 as usize) else { return };
        let source = Source { typing: Typing::fixed(ty), span };
        if slot.source.as_ref() != Some(&source) && self.searching {
            slot.source = Some(source);
            self.changed = true;
        }
    }
}

fn place_span(checker: &Checker<'_>, place: &Place, stmt: &Stmt) -> Span {
    match place {
        Place::Map { span, .. } => *span,
        Place::Var(var) => {
            let name = checker.instance().vars.get(var.0 as usize).map_or(0, |v| v.name.len() as u32);
            Span { hi: (stmt.span.lo + name).min(stmt.span.hi), ..stmt.span }
        }
    }
}
