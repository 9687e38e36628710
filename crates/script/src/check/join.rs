//! How two types that one variable, map or branch takes on become one, and what fits into what.
//!
//! Types only grow: integers get wider and at most once signed, strings get longer. So the search for the types of variables and
//! maps ends, whatever the script says.

use strix_model::MapValue;

use crate::types::{Space, Type};

/// Whether an integer's sign is still open: literals that are not negative go with whatever they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flex {
    No,
    Yes,
    /// By element of a tuple.
    Tuple(Vec<Flex>),
}

/// A type with what is open about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Typing {
    pub(super) ty: Type,
    pub(super) flex: Flex,
}

impl Typing {
    /// A type with nothing open.
    pub(super) fn fixed(ty: Type) -> Self {
        Self { ty, flex: Flex::No }
    }

    /// An `int64` of open sign.
    pub(super) fn literal() -> Self {
        Self { ty: Type::I64, flex: Flex::Yes }
    }

    fn item(&self, index: usize, ty: &Type) -> Self {
        let flex = match &self.flex {
            Flex::Tuple(items) => items.get(index).cloned().unwrap_or(Flex::No),
            _ => Flex::No,
        };
        Self { ty: ty.clone(), flex }
    }

    /// As map keys and values have it: integers in 8 bytes.
    pub(super) fn widened(self) -> Self {
        Self { ty: widen(&self.ty), flex: self.flex }
    }
}

/// Integers in 8 bytes, also those in tuples.
pub(super) fn widen(ty: &Type) -> Type {
    match ty {
        Type::Int { signed, .. } => Type::Int { size: 8, signed: *signed },
        Type::Enum { id, signed, .. } => Type::Enum { id: *id, size: 8, signed: *signed },
        Type::Tuple(items) => Type::Tuple(items.iter().map(widen).collect()),
        other => other.clone(),
    }
}

/// The type that holds the values of both; `None` when there is none.
pub(super) fn join(a: &Typing, b: &Typing) -> Option<Typing> {
    let fixed = |ty| Some(Typing::fixed(ty));
    match (&a.ty, &b.ty) {
        (Type::Void, _) => Some(b.clone()),
        (_, Type::Void) => Some(a.clone()),
        (Type::Enum { id: x, size: s, signed }, Type::Enum { id: y, size: t, .. }) if x == y => {
            fixed(Type::Enum { id: *x, size: (*s).max(*t), signed: *signed })
        }
        (Type::Int { .. } | Type::Enum { .. }, Type::Int { .. } | Type::Enum { .. }) => Some(join_int(a, b)),
        (Type::Str { cap: x }, Type::Str { cap: y }) => fixed(Type::Str { cap: (*x).max(*y) }),
        (Type::Buffer { cap: x }, Type::Buffer { cap: y }) => fixed(Type::Buffer { cap: (*x).max(*y) }),
        (Type::Pointer { to: x, space: s }, Type::Pointer { to: y, space: t }) => {
            let space = if s == t { *s } else { Space::Unknown };
            let to = match (&**x, &**y) {
                (x, y) if x == y => x.clone(),
                (Type::Void, y) => y.clone(),
                (x, Type::Void) => x.clone(),
                (Type::Int { size: m, .. }, Type::Int { size: n, .. }) if m == n => (**x).clone(),
                _ => return None,
            };
            fixed(Type::Pointer { to: Box::new(to), space })
        }
        // `0` is the null pointer.
        (Type::Pointer { .. }, Type::Int { .. }) if b.flex == Flex::Yes => Some(a.clone()),
        (Type::Int { .. }, Type::Pointer { .. }) if a.flex == Flex::Yes => Some(b.clone()),
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            let mut types = Vec::with_capacity(x.len());
            let mut open = Vec::with_capacity(x.len());
            for (i, (s, t)) in x.iter().zip(y).enumerate() {
                let item = join(&a.item(i, s), &b.item(i, t))?;
                types.push(item.ty);
                open.push(item.flex);
            }
            Some(Typing { ty: Type::Tuple(types), flex: Flex::Tuple(open) })
        }
        (Type::Aggregate(x), Type::Aggregate(y)) => {
            let signed = |x: bool, y: bool| match (&a.flex, &b.flex) {
                (Flex::Yes, Flex::No) => y,
                (Flex::No, Flex::Yes) => x,
                _ => x || y,
            };
            let value = join_aggregate(x, y, signed)?;
            let flex = if a.flex == Flex::Yes && b.flex == Flex::Yes { Flex::Yes } else { Flex::No };
            Some(Typing { ty: Type::Aggregate(value), flex })
        }
        (x, y) if x == y => Some(a.clone()),
        _ => None,
    }
}

fn join_int(a: &Typing, b: &Typing) -> Typing {
    let (size_a, signed_a) = int_parts(&a.ty);
    let (size_b, signed_b) = int_parts(&b.ty);
    let size = size_a.max(size_b);
    let (open_a, open_b) = (a.flex == Flex::Yes, b.flex == Flex::Yes);
    let flex = if open_a && open_b { Flex::Yes } else { Flex::No };
    let int = |size, signed| Typing { ty: Type::Int { size, signed }, flex: flex.clone() };
    if signed_a == signed_b {
        return int(size, signed_a);
    }
    match (open_a, open_b) {
        (true, false) => int(size, signed_b),
        (false, true) => int(size, signed_a),
        _ => {
            let (signed_size, unsigned_size) = if signed_a { (size_a, size_b) } else { (size_b, size_a) };
            int(if signed_size > unsigned_size { signed_size } else { (unsigned_size * 2).min(8) }, true)
        }
    }
}

/// Bytes and sign of an integer or enum.
pub(super) fn int_parts(ty: &Type) -> (u8, bool) {
    match ty {
        Type::Int { size, signed } | Type::Enum { size, signed, .. } => (*size, *signed),
        Type::Bool => (1, false),
        _ => (8, false),
    }
}

fn join_aggregate(a: &MapValue, b: &MapValue, signed: impl Fn(bool, bool) -> bool) -> Option<MapValue> {
    Some(match (a, b) {
        (MapValue::Sum { signed: x }, MapValue::Sum { signed: y }) => {
            MapValue::Sum { signed: signed(*x, *y) }
        }
        (MapValue::Min { signed: x }, MapValue::Min { signed: y }) => {
            MapValue::Min { signed: signed(*x, *y) }
        }
        (MapValue::Max { signed: x }, MapValue::Max { signed: y }) => {
            MapValue::Max { signed: signed(*x, *y) }
        }
        (MapValue::Avg { signed: x }, MapValue::Avg { signed: y }) => {
            MapValue::Avg { signed: signed(*x, *y) }
        }
        (MapValue::Stats { signed: x }, MapValue::Stats { signed: y }) => {
            MapValue::Stats { signed: signed(*x, *y) }
        }
        (x, y) if x == y => x.clone(),
        _ => return None,
    })
}

/// How a value goes into a place of a given type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Every value keeps its meaning.
    Yes,
    /// Some integers do not: upstream warns.
    Lossy,
    /// Not at all.
    No,
}

/// Whether values of `from` can be put where the type is `to`. `constant` is the value, if it is known.
pub(super) fn fits(to: &Type, from: &Typing, constant: Option<i64>) -> Fit {
    match (to, &from.ty) {
        (_, Type::Void) => Fit::Yes,
        (Type::Int { .. } | Type::Enum { .. }, Type::Int { .. } | Type::Enum { .. }) => {
            fits_int(int_parts(to), from, constant)
        }
        (Type::Str { cap: to }, Type::Str { cap: from }) => yes_if(from <= to),
        (Type::Buffer { cap: to }, Type::Buffer { cap: from }) => yes_if(from <= to),
        (Type::Pointer { .. }, Type::Pointer { .. }) => {
            yes_if(join(&Typing::fixed(to.clone()), from).is_some())
        }
        (Type::Pointer { .. }, Type::Int { .. }) => yes_if(constant == Some(0)),
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            let each = x.iter().zip(y).enumerate().map(|(i, (to, ty))| fits(to, &from.item(i, ty), None));
            each.fold(Fit::Yes, |worst, fit| match (worst, fit) {
                (Fit::No, _) | (_, Fit::No) => Fit::No,
                (Fit::Lossy, _) | (_, Fit::Lossy) => Fit::Lossy,
                _ => Fit::Yes,
            })
        }
        (x, y) => yes_if(x == y),
    }
}

fn yes_if(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}

fn fits_int(to: (u8, bool), from: &Typing, constant: Option<i64>) -> Fit {
    let (size, signed) = to;
    let (from_size, from_signed) = int_parts(&from.ty);
    if let Some(value) = constant {
        let bits = u32::from(size) * 8;
        let inside = match (signed, from_signed) {
            _ if bits == 64 => signed == from_signed || value >= 0,
            (true, _) => (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&value),
            (false, _) => (0..1i64 << bits).contains(&value),
        };
        return yes_if(inside);
    }
    if from.flex == Flex::Yes && from_size <= size {
        return Fit::Yes;
    }
    let whole = if signed == from_signed { from_size <= size } else { signed && from_size < size };
    if whole { Fit::Yes } else { Fit::Lossy }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U32: Type = Type::Int { size: 4, signed: false };
    const I32: Type = Type::Int { size: 4, signed: true };

    fn joined(a: Type, b: Type) -> Option<Type> {
        join(&Typing::fixed(a), &Typing::fixed(b)).map(|t| t.ty)
    }

    #[test]
    fn integers_widen_and_literals_take_the_sign_of_others() {
        assert_eq!(joined(U32, Type::U64), Some(Type::U64));
        assert_eq!(joined(U32, I32), Some(Type::I64));
        assert_eq!(joined(I32, Type::Int { size: 1, signed: false }), Some(I32));
        assert_eq!(joined(Type::U64, Type::I64), Some(Type::I64));
        let nsecs = Typing::fixed(Type::U64);
        assert_eq!(join(&Typing::literal(), &nsecs), Some(nsecs.clone()));
        assert_eq!(join(&nsecs, &Typing::literal()), Some(nsecs));
        assert_eq!(join(&Typing::literal(), &Typing::literal()), Some(Typing::literal()));
    }

    #[test]
    fn kinds_do_not_mix() {
        assert_eq!(joined(Type::I64, Type::Str { cap: 4 }), None);
        assert_eq!(joined(Type::Bool, Type::I64), None);
        let count = Type::Aggregate(MapValue::Count);
        assert_eq!(joined(count.clone(), Type::I64), None);
        assert_eq!(joined(count, Type::Aggregate(MapValue::Hist { bits: 0 })), None);
    }

    #[test]
    fn tuples_join_by_element() {
        let short = Type::Tuple(vec![U32, Type::Str { cap: 4 }]);
        let long = Type::Tuple(vec![Type::U64, Type::Str { cap: 9 }]);
        assert_eq!(joined(short.clone(), long.clone()), Some(long));
        assert_eq!(joined(short, Type::Tuple(vec![U32])), None);
    }

    #[test]
    fn what_fits() {
        let int = |size, signed| Type::Int { size, signed };
        let fit = |to: &Type, value| fits(to, &Typing::literal(), Some(value));
        assert_eq!(fit(&int(1, false), 255), Fit::Yes);
        assert_eq!(fit(&int(1, false), 256), Fit::No);
        assert_eq!(fit(&int(1, true), -128), Fit::Yes);
        assert_eq!(fit(&int(8, false), -1), Fit::No);
        assert_eq!(fits(&I32, &Typing::fixed(U32), None), Fit::Lossy);
        assert_eq!(fits(&Type::I64, &Typing::fixed(U32), None), Fit::Yes);
        assert_eq!(fits(&Type::Str { cap: 4 }, &Typing::fixed(Type::Str { cap: 5 }), None), Fit::No);
    }
}
