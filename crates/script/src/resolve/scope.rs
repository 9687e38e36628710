//! Scratch variables and where they are visible.

use std::collections::BTreeMap;

use strix_facts::nearest;
use strix_model::{Diagnostic, Diagnostics, Span};

use crate::hir::{VarDef, VarId};
use crate::types::Type;

/// The variables of one body. A block opens a scope; no name hides another.
#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<BTreeMap<String, VarId>>,
    vars: Vec<VarDef>,
    assigned: Vec<bool>,
    /// In `sizeof` and its kin nothing is read.
    pub(super) unevaluated: u32,
}

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.open.push(BTreeMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    fn find(&self, name: &str) -> Option<VarId> {
        self.open.iter().find_map(|scope| scope.get(name).copied())
    }

    /// Whether a variable of this name can be seen.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn insert(&mut self, name: &str, span: Span, declared: Option<Type>, assigned: bool) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(VarDef { name: format!("${name}"), span, declared });
        self.assigned.push(assigned);
        if self.open.is_empty() {
            self.enter();
        }
        if let Some(scope) = self.open.last_mut() {
            scope.insert(name.to_owned(), id);
        }
        id
    }

    /// `let $name`.
    pub(super) fn declare(
        &mut self,
        name: &str,
        span: Span,
        declared: Option<Type>,
        assigned: bool,
        diags: &mut Diagnostics,
    ) -> VarId {
        if let Some(known) = self.find(name) {
            let message = format!("variable ${name} was already declared: variable shadowing is not allowed");
            let first = self.vars[known.0 as usize].span;
            diags.push(Diagnostic::error(span, message).with_label(first, "first introduced here"));
            return known;
        }
        self.insert(name, span, declared, assigned)
    }

    /// The variable of a loop, in the scope just entered.
    pub(super) fn loop_variable(&mut self, name: &str, span: Span, diags: &mut Diagnostics) -> VarId {
        if let Some(known) = self.find(name) {
            let message = format!("loop declaration shadows existing variable: ${name}");
            let first = self.vars[known.0 as usize].span;
            diags.push(Diagnostic::error(span, message).with_label(first, "first introduced here"));
        }
        self.insert(name, span, None, true)
    }

    /// The target of `$name = …`, which introduces it unless it is there.
    pub(super) fn assign(&mut self, name: &str, span: Span) -> VarId {
        match self.find(name) {
            Some(id) => {
                self.assigned[id.0 as usize] = true;
                id
            }
            None => self.insert(name, span, None, true),
        }
    }

    /// A use. `None` after an error.
    pub(super) fn read(&mut self, name: &str, span: Span, diags: &mut Diagnostics) -> Option<VarId> {
        let Some(id) = self.find(name) else {
            let error = Diagnostic::error(span, format!("undefined or undeclared variable: ${name}"));
            let visible = self.open.iter().flat_map(|s| s.keys().map(String::as_str));
            diags.push(match nearest(name, visible) {
                Some(near) => error.with_help(format!("did you mean `${near}`?")),
                None => match self.vars.iter().find(|v| v.name[1..] == *name) {
                    Some(v) => error.with_label(v.span, "this one is gone at the end of its block"),
                    None => error,
                },
            });
            return None;
        };
        if !self.assigned[id.0 as usize] && self.unevaluated == 0 {
            diags.push(Diagnostic::warning(span, format!("variable used before it was assigned: ${name}")));
        }
        Some(id)
    }

    /// `&$name`: it may be written through the pointer.
    pub(super) fn mark_assigned(&mut self, id: VarId) {
        self.assigned[id.0 as usize] = true;
    }

    /// Gives the variables away and warns of those that nothing was assigned to.
    pub(super) fn finish(self, diags: &mut Diagnostics) -> Vec<VarDef> {
        for (var, assigned) in self.vars.iter().zip(&self.assigned) {
            if !assigned {
                let message = format!("variable {} was never assigned to", var.name);
                diags.push(Diagnostic::warning(var.span, message));
            }
        }
        self.vars
    }
}
