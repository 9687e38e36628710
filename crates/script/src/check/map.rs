//! Maps: keys, values, and what may be done with either.

use strix_facts::nearest;
use strix_model::{Diagnostic, MapKind, MapValue, Span};

use super::Checker;
use super::join::{Flex, Typing, join};
use super::names::aggregate_name;
use super::slots::Source;
use crate::hir::{Expr, ExprKind, MapId, Place};
use crate::types::Type;

impl Checker<'_> {
    /// The map's name with its `@`.
    pub(crate) fn map_name(&self, map: MapId) -> &str {
        &self.hir.maps[map.0 as usize].name
    }

    /// What the map stores, [`Type::Void`] while that is not known.
    pub(crate) fn stored(&self, map: MapId) -> Type {
        self.maps[map.0 as usize].stored()
    }

    /// Whether the map has keys; `None` while nothing uses it with or without.
    pub(crate) fn is_keyed(&self, map: MapId) -> Option<bool> {
        self.maps[map.0 as usize].keyed.map(|(keyed, _)| keyed)
    }

    /// A map as a whole, which must have something in it.
    pub(crate) fn whole_map(&mut self, map: MapId, span: Span) {
        if self.stored(map) == Type::Void {
            self.undefined(map, span);
        }
    }

    /// Notes an aggregation where a map's entry stands for itself.
    pub(crate) fn note_aggregate(&mut self, expr: &Expr, value: MapValue) {
        self.note(expr, Type::Aggregate(value));
    }

    /// Notes another type for an expression than it has by itself.
    pub(crate) fn note_type(&mut self, expr: &Expr, ty: Type) {
        self.note(expr, ty);
    }

    /// Checks the key of an access and lets the map's key type grow to hold it.
    pub(super) fn access_key(&mut self, map: MapId, key: &[Expr], span: Span) {
        let keyed = !key.is_empty();
        match self.maps[map.0 as usize].keyed {
            None => self.maps[map.0 as usize].keyed = Some((keyed, span)),
            Some((before, first)) if before != keyed => self.scalar_or_keyed(map, keyed, span, first),
            Some(_) => {}
        }
        let typings: Vec<Typing> = key.iter().map(|e| self.key_part(e)).collect();
        if typings.is_empty() || typings.iter().any(|t| t.ty == Type::Void) {
            return;
        }
        let typing = match <[Typing; 1]>::try_from(typings) {
            Ok([only]) => only,
            Err(parts) => {
                let (types, open) = parts.into_iter().map(|t| (t.ty, t.flex)).unzip();
                Typing { ty: Type::Tuple(types), flex: Flex::Tuple(open) }
            }
        };
        self.grow_key(map, typing, span);
    }

    fn key_part(&mut self, expr: &Expr) -> Typing {
        let typing = self.typing(expr);
        let refused = match &expr.kind {
            ExprKind::Builtin(crate::builtins::Variable::Ctx) => true,
            _ => matches!(typing.ty, Type::Aggregate(_)),
        };
        if refused {
            let name = if matches!(expr.kind, ExprKind::Builtin(_)) {
                "context".into()
            } else {
                self.name(&typing.ty)
            };
            self.error(expr.span, format!("{name} cannot be part of a map key"));
            return Typing::fixed(Type::Void);
        }
        typing
    }

    fn scalar_or_keyed(&mut self, map: MapId, keyed: bool, span: Span, first: Span) {
        let name = self.map_name(map).to_owned();
        let (now, before) = if keyed {
            ("with an explicit key (non-scalar map)", "without an explicit key (scalar map)")
        } else {
            ("without an explicit key (scalar map)", "with an explicit key (non-scalar map)")
        };
        self.push(|_| {
            Diagnostic::error(span, format!("{name} used as a map {now}, previously used {before}"))
                .with_label(first, "first used here")
        });
    }

    fn grow_key(&mut self, map: MapId, typing: Typing, span: Span) {
        let wide = typing.clone().widened();
        let slot = &mut self.maps[map.0 as usize];
        match &slot.key {
            None => {
                slot.key = Some(Source { typing: wide, span });
                self.changed = true;
            }
            Some(source) => match join(&source.typing, &wide).map(Typing::widened) {
                Some(joined) if joined == source.typing => {}
                Some(joined) => {
                    let span = source.span;
                    slot.key = Some(Source { typing: joined, span });
                    self.changed = true;
                }
                None => {
                    let (first, expected) = (source.span, source.typing.ty.clone());
                    self.key_mismatch(map, (&typing.ty, span), (&expected, first));
                }
            },
        }
    }

    fn key_mismatch(&mut self, map: MapId, found: (&Type, Span), expected: (&Type, Span)) {
        let name = self.map_name(map).to_owned();
        let (f, e) = (self.name(found.0), self.name(expected.0));
        self.push(|_| {
            let message = format!(
                "argument mismatch for {name}: trying to access with arguments: '{f}' when map expects arguments: '{e}'"
            );
            Diagnostic::error(found.1, message)
                .with_label(found.1, format!("'{f}' here"))
                .with_label(expected.1, format!("'{e}' here"))
        });
    }

    /// A map's value where a value is wanted; aggregations read as the integer they come to.
    pub(super) fn read_map(&mut self, expr: &Expr, map: MapId, key: &[Expr]) -> Type {
        self.access_key(map, key, expr.span);
        match self.stored(map) {
            Type::Void => {
                if self.self_made || !self.searching {
                    self.undefined(map, expr.span);
                }
                Type::Void
            }
            Type::Aggregate(value) => self.read_aggregate(map, &value, expr.span),
            ty => ty,
        }
    }

    fn read_aggregate(&mut self, map: MapId, value: &MapValue, span: Span) -> Type {
        let Some(ty) = integer_view(value) else {
            let name = self.map_name(map).to_owned();
            let what = aggregate_name(value);
            self.push(|_| {
                Diagnostic::error(span, format!("{name} is a '{what}' and has no single value to use here"))
                    .with_help(format!("it can be printed as a whole: `print({name})`"))
            });
            return Type::Void;
        };
        if !self.facts.features().map_lookup_percpu_elem {
            self.missing_feature(span, "map_lookup_percpu_elem", "reading an aggregation");
        }
        ty
    }

    /// Something that this kernel does not have.
    pub(crate) fn missing_feature(&mut self, span: Span, feature: &str, what: &str) {
        let facts = self.facts;
        self.push(|_| crate::limits::missing_feature(facts, span, feature, what));
    }

    fn undefined(&mut self, map: MapId, span: Span) {
        let reported = &mut self.maps[map.0 as usize].reported;
        if self.searching || *reported || self.errors_before {
            return;
        }
        *reported = true;
        let name = self.map_name(map).to_owned();
        let others = self.hir.maps.iter().zip(&self.maps);
        let known: Vec<&str> =
            others.filter(|(_, slot)| slot.value.is_some()).map(|(def, _)| def.name.as_str()).collect();
        let error = Diagnostic::error(span, format!("undefined map: {name}"));
        let error = match nearest(&name, known.into_iter()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help("maps exist once something is assigned to them"),
        };
        self.found.push(error);
    }

    /// Maps that are used without that anything tells their type.
    pub(super) fn unknown_maps(&mut self) {
        for index in 0..self.maps.len() {
            let map = MapId(index as u32);
            let slot = &self.maps[index];
            let keyless = matches!(slot.keyed, Some((true, _))) && slot.key.is_none();
            if (slot.value.is_none() && slot.keyed.is_some()) || keyless {
                // An error about what was assigned to it has been told already.
                if self.found.iter().all(|d| d.severity != strix_model::Severity::Error) {
                    let span = self.hir.maps[index].span;
                    self.undefined(map, span);
                }
            }
        }
    }

    /// Maps declared by `let` whose kind does not suit what they store.
    pub(super) fn declared_maps(&mut self) {
        for index in 0..self.maps.len() {
            let def = &self.hir.maps[index];
            let Some((kind, _)) = def.declared else { continue };
            let slot = &self.maps[index];
            let Some(value) = &slot.value else {
                let name = def.name.clone();
                let span = def.span;
                self.warn(span, format!("unused map: {name}"));
                continue;
            };
            let aggregate = matches!(value.typing.ty, Type::Aggregate(_));
            let (name, span, used) = (def.name.clone(), def.span, value.span);
            if kind.is_percpu() != aggregate {
                let kinds = |percpu| if percpu { "percpuhash or percpulruhash" } else { "hash or lruhash" };
                self.push(|_| {
                    let message = format!(
                        "incompatible map types for {name}: declared as {}, its values need {}",
                        kind_name(kind),
                        kinds(aggregate)
                    );
                    Diagnostic::error(span, message).with_label(used, "this value")
                });
            }
        }
    }

    /// Lets the map's value type grow to hold what is assigned at `span`. `value` is the expression assigned, if there is one.
    pub(super) fn grow_value(&mut self, map: MapId, typing: &Typing, value: Option<&Expr>, span: Span) {
        if typing.ty == Type::Void {
            return;
        }
        let wide = typing.clone().widened();
        let slot = &mut self.maps[map.0 as usize];
        let Some(source) = &slot.value else {
            slot.value = Some(Source { typing: wide, span });
            self.changed = true;
            return;
        };
        match join(&source.typing, &wide).map(Typing::widened) {
            Some(joined) if joined == source.typing => {
                if let Some(value) = value {
                    let to = joined.ty;
                    self.check_fit(&to, typing, value);
                }
            }
            Some(joined) => {
                let first = source.span;
                slot.value = Some(Source { typing: joined, span: first });
                self.changed = true;
            }
            None => {
                let (first, current) = (source.span, source.typing.ty.clone());
                self.value_mismatch(map, (&typing.ty, span), (&current, first));
            }
        }
    }

    fn value_mismatch(&mut self, map: MapId, found: (&Type, Span), current: (&Type, Span)) {
        let name = self.map_name(map).to_owned();
        if let (Type::Aggregate(x), Type::Aggregate(y)) = (found.0, current.0)
            && aggregate_name(x) == aggregate_name(y)
        {
            let what = if matches!(x, MapValue::Hist { .. }) {
                "different bits in a single hist unsupported"
            } else {
                "different lhist bounds in a single map unsupported"
            };
            self.push(|_| Diagnostic::error(found.1, what).with_label(current.1, "others here"));
            return;
        }
        let (f, c) = (self.name(found.0), self.name(current.0));
        let aggregated = matches!(current.0, Type::Aggregate(_)) != matches!(found.0, Type::Aggregate(_));
        self.push(|_| {
            let message = format!(
                "type mismatch for {name}: trying to assign value of type '{f}' when map already has a type '{c}'"
            );
            let error = Diagnostic::error(found.1, message).with_label(current.1, format!("'{c}' here"));
            if aggregated {
                error.with_help("an aggregation and a plain value need maps of their own")
            } else {
                error
            }
        });
    }

    /// An operator that needs a plain value, on an aggregation.
    pub(super) fn not_plain(&mut self, place: &Place, operator: &str, span: Span) -> Type {
        let Place::Map { map, .. } = place else { return Type::Void };
        let slot = &self.maps[map.0 as usize];
        let (Type::Aggregate(value), Some(source)) = (slot.stored(), &slot.value) else { return Type::Void };
        let first = source.span;
        let (name, what) = (self.map_name(*map).to_owned(), aggregate_name(&value));
        self.push(|_| {
            let message = format!("the {operator} operator can not be used on {name}, which is a '{what}'");
            Diagnostic::error(span, message).with_label(first, format!("'{what}' here"))
        });
        Type::Void
    }
}

/// The integer that an aggregation reads as; `None` for those that have no single value.
pub(super) fn integer_view(value: &MapValue) -> Option<Type> {
    match value {
        MapValue::Count => Some(Type::U64),
        MapValue::Sum { signed }
        | MapValue::Min { signed }
        | MapValue::Max { signed }
        | MapValue::Avg { signed } => Some(Type::Int { size: 8, signed: *signed }),
        MapValue::Stats { .. } | MapValue::Hist { .. } | MapValue::Lhist { .. } | MapValue::Plain(_) => None,
    }
}

fn kind_name(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Hash => "hash",
        MapKind::PercpuHash => "percpuhash",
        MapKind::LruHash => "lruhash",
        MapKind::LruPercpuHash => "percpulruhash",
        MapKind::Array => "array",
        MapKind::PercpuArray => "percpuarray",
        MapKind::Ringbuf => "ringbuf",
    }
}
