//! The type check: a resolved script → the same script with a type for everything in it.
//!
//! Variables and maps get their types from everything that is assigned to them, in any probe. So the bodies are gone through
//! silently until nothing changes any more, and once again to report. The rules of joining are in `join`; a type only ever grows, so
//! the search ends. After the types come the limits (see [`crate::limits`]): what passes both can be lowered.
//!
//! This stage finds no names (`resolve` did) and emits nothing.

mod access;
mod binary;
mod call;
mod cast;
mod expr;
mod format;
mod join;
mod map;
mod names;
mod records;
mod slots;
mod space;
mod stmt;
#[cfg(test)]
mod tests;

use strix_facts::KernelFacts;
use strix_model::{Diagnostic, Diagnostics, Span};

use crate::Options;
use crate::hir::{Expr, Hir, Instance, MapType, Typed};
use crate::types::{Type, Types};

pub(crate) use call::Call;
pub use names::{aggregate_name, type_name};
pub use space::default_space;

use slots::{MapSlot, VarSlot};

/// Rounds until the types must have settled, besides one for each variable and map up to as many again: every round but the last makes
/// the type of one of them larger. Scripts that people write need three.
const MAX_ROUNDS: usize = 500;

/// Expressions may be nested this deep.
const MAX_DEPTH: u32 = 400;

/// Gives every expression, variable and map its type. `None` when there are errors, of this stage or before.
#[must_use]
pub fn check(mut hir: Hir, facts: &KernelFacts, options: &Options, diags: &mut Diagnostics) -> Option<Typed> {
    let types = std::mem::take(&mut hir.types);
    let mut checker = Checker::new(&hir, types, facts, options);
    checker.errors_before = diags.has_errors();
    checker.settle();
    checker.report(diags);
    let Checker { types, exprs, vars, maps, .. } = checker;
    let vars = vars.into_iter().map(|slots| slots.into_iter().map(VarSlot::into_type).collect()).collect();
    let maps: Vec<MapType> = maps.into_iter().map(MapSlot::into_type).collect();
    if diags.has_errors() {
        return None;
    }
    hir.types = types;
    for (def, ty) in hir.maps.iter_mut().zip(&maps) {
        // The kind and the entries that a map is declared with are for its keys; without keys it is one value.
        if ty.key == Type::Void {
            def.declared = None;
        }
    }
    Some(Typed { hir, exprs, vars, maps })
}

/// The state of a check.
pub(crate) struct Checker<'a> {
    pub(crate) hir: &'a Hir,
    pub(crate) types: Types,
    pub(crate) facts: &'a KernelFacts,
    pub(crate) options: &'a Options,
    /// By expression.
    exprs: Vec<Type>,
    vars: Vec<Vec<VarSlot>>,
    maps: Vec<MapSlot>,
    found: Vec<Diagnostic>,
    /// Types are still being looked for: nothing is reported.
    searching: bool,
    /// Something became larger in this round.
    changed: bool,
    /// `@x++` and `@x += …` alone make an integer of `@x`.
    self_made: bool,
    /// Something was wrong before this stage: what is missing here may be missing for that.
    errors_before: bool,
    /// The body being checked.
    instance: usize,
    depth: u32,
}

impl<'a> Checker<'a> {
    fn new(hir: &'a Hir, types: Types, facts: &'a KernelFacts, options: &'a Options) -> Self {
        let slots = |i: &Instance| i.vars.iter().map(|v| VarSlot::new(v.declared.clone(), v.span)).collect();
        Self {
            hir,
            types,
            facts,
            options,
            exprs: vec![Type::Void; hir.expr_count as usize],
            vars: hir.instances.iter().map(slots).collect(),
            maps: hir.maps.iter().map(|_| MapSlot::default()).collect(),
            found: Vec::new(),
            searching: true,
            changed: false,
            self_made: false,
            errors_before: false,
            instance: 0,
            depth: 0,
        }
    }

    /// Goes through the bodies until the types of variables and maps stay.
    fn settle(&mut self) {
        let slots = self.maps.len() + self.vars.iter().map(Vec::len).sum::<usize>();
        for _ in 0..MAX_ROUNDS + slots.min(MAX_ROUNDS) {
            self.changed = false;
            self.bodies();
            match (self.changed, self.self_made) {
                (true, _) => {}
                (false, false) => self.self_made = true,
                (false, true) => {
                    if !self.fill_unknown() {
                        return;
                    }
                }
            }
        }
        if let Some(probe) = self.hir.probes.first() {
            let message = "the types of variables and maps depend on each other in too long a chain";
            self.found.push(Diagnostic::error(probe.span, message));
        }
    }

    /// Variables that nothing gives a type are integers; whether there was one.
    fn fill_unknown(&mut self) -> bool {
        let mut filled = false;
        for slot in self.vars.iter_mut().flatten() {
            filled |= slot.fill();
        }
        filled
    }

    /// Goes through the bodies once more, with types that no longer change.
    fn report(&mut self, diags: &mut Diagnostics) {
        self.searching = false;
        self.bodies();
        self.unknown_maps();
        self.declared_maps();
        self.load_stored_records();
        for diagnostic in std::mem::take(&mut self.found) {
            diags.push(diagnostic);
        }
    }

    fn bodies(&mut self) {
        let hir = self.hir;
        for (index, instance) in hir.instances.iter().enumerate() {
            self.instance = index;
            if let Some(predicate) = &instance.predicate {
                self.condition(predicate);
            }
            self.stmts(&instance.body);
        }
    }

    /// The body being checked.
    pub(crate) fn instance(&self) -> &'a Instance {
        &self.hir.instances[self.instance]
    }

    /// Keeps a finding, unless types are still being looked for.
    pub(crate) fn push(&mut self, diagnostic: impl FnOnce(&Self) -> Diagnostic) {
        if !self.searching {
            let diagnostic = diagnostic(self);
            self.found.push(diagnostic);
        }
    }

    /// An error; gives the type that stops further complaints.
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) -> Type {
        if !self.searching {
            self.found.push(Diagnostic::error(span, message));
        }
        Type::Void
    }

    /// A warning.
    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>) {
        if !self.searching {
            self.found.push(Diagnostic::warning(span, message));
        }
    }

    /// The name of a type.
    pub(crate) fn name(&self, ty: &Type) -> String {
        type_name(&self.types, ty)
    }

    /// Notes the type of an expression.
    fn note(&mut self, expr: &Expr, ty: Type) {
        if let Some(slot) = self.exprs.get_mut(expr.id.0 as usize) {
            *slot = ty;
        }
    }
}
