//! What is known so far about the types of variables and maps.

use strix_model::Span;

use super::join::{Flex, Typing};
use crate::hir::MapType;
use crate::types::Type;

/// A type, and the first place that gave it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    pub(super) typing: Typing,
    pub(super) span: Span,
}

/// A scratch variable.
#[derive(Clone, Debug)]
pub(super) struct VarSlot {
    /// Type given by `let`; a string type without a size takes that of the values.
    pub(super) declared: Option<Type>,
    pub(super) source: Option<Source>,
    /// The variable of a loop over a map, whose type the map has to give.
    pub(super) entry: bool,
    span: Span,
}

impl VarSlot {
    pub(super) fn new(declared: Option<Type>, span: Span) -> Self {
        let sized = declared.filter(|ty| !matches!(ty, Type::Str { cap: 0 }));
        let source = sized.clone().map(|ty| Source { typing: Typing::fixed(ty), span });
        Self { declared: sized, source, entry: false, span }
    }

    /// Makes an integer of what has no type; whether it had none.
    pub(super) fn fill(&mut self) -> bool {
        if self.source.is_some() || self.entry {
            return false;
        }
        self.source = Some(Source { typing: Typing::literal(), span: self.span });
        true
    }

    /// Its type; [`Type::Void`] while it is not known.
    pub(super) fn ty(&self) -> Type {
        self.source.as_ref().map_or(Type::Void, |s| s.typing.ty.clone())
    }

    pub(super) fn flex(&self) -> Flex {
        self.source.as_ref().map_or(Flex::No, |s| s.typing.flex.clone())
    }

    /// Its type in the end: what nothing was assigned to is an integer.
    pub(super) fn into_type(self) -> Type {
        match self.ty() {
            Type::Void => Type::I64,
            ty => ty,
        }
    }
}

/// A map.
#[derive(Clone, Debug, Default)]
pub(super) struct MapSlot {
    /// Whether it is used with keys, and where that was seen first.
    pub(super) keyed: Option<(bool, Span)>,
    pub(super) key: Option<Source>,
    pub(super) value: Option<Source>,
    /// The missing type was reported already.
    pub(super) reported: bool,
}

impl MapSlot {
    /// What is stored: [`Type::Void`] while it is not known.
    pub(super) fn stored(&self) -> Type {
        self.value.as_ref().map_or(Type::Void, |s| s.typing.ty.clone())
    }

    pub(super) fn into_type(self) -> MapType {
        let key = match self.keyed {
            Some((true, _)) => self.key.map_or(Type::Void, |s| s.typing.ty),
            _ => Type::Void,
        };
        MapType { key, value: self.value.map_or(Type::I64, |s| s.typing.ty) }
    }
}
