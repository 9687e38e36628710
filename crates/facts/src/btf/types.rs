//! Decoded types. Each borrows its names and elements from the bytes.

use super::{Btf, TypeId};

/// Numbers and bit fields of the records (include/uapi/linux/btf.h).
pub(super) mod raw {
    pub(in super::super) const INT: u32 = 1;
    pub(in super::super) const PTR: u32 = 2;
    pub(in super::super) const ARRAY: u32 = 3;
    pub(in super::super) const STRUCT: u32 = 4;
    pub(in super::super) const UNION: u32 = 5;
    pub(in super::super) const ENUM: u32 = 6;
    pub(in super::super) const FWD: u32 = 7;
    pub(in super::super) const TYPEDEF: u32 = 8;
    pub(in super::super) const VOLATILE: u32 = 9;
    pub(in super::super) const CONST: u32 = 10;
    pub(in super::super) const RESTRICT: u32 = 11;
    pub(in super::super) const FUNC: u32 = 12;
    pub(in super::super) const FUNC_PROTO: u32 = 13;
    pub(in super::super) const VAR: u32 = 14;
    pub(in super::super) const DATASEC: u32 = 15;
    pub(in super::super) const FLOAT: u32 = 16;
    pub(in super::super) const DECL_TAG: u32 = 17;
    pub(in super::super) const TYPE_TAG: u32 = 18;
    pub(in super::super) const ENUM64: u32 = 19;

    /// Bytes after the common 12, by kind: once, and for each element.
    pub(in super::super) const SIZES: [Option<(u8, u8)>; 20] = {
        let mut sizes = [Some((0, 0)); 20];
        sizes[0] = None;
        sizes[INT as usize] = Some((4, 0));
        sizes[ARRAY as usize] = Some((12, 0));
        sizes[STRUCT as usize] = Some((0, 12));
        sizes[UNION as usize] = Some((0, 12));
        sizes[ENUM as usize] = Some((0, 8));
        sizes[FUNC_PROTO as usize] = Some((0, 8));
        sizes[VAR as usize] = Some((4, 0));
        sizes[DATASEC as usize] = Some((0, 12));
        sizes[DECL_TAG as usize] = Some((4, 0));
        sizes[ENUM64 as usize] = Some((0, 12));
        // The element count of these says something else (a function's linkage) or is not used.
        sizes
    };

    /// Five bits up to v7.0, seven since; the two were zero before.
    pub(in super::super) const fn kind(info: u32) -> u32 {
        (info >> 24) & 0x7f
    }

    /// Sixteen bits up to v7.0, twenty-four since; the eight were zero before.
    pub(in super::super) const fn vlen(info: u32) -> u32 {
        info & 0xff_ffff
    }

    pub(in super::super) const fn flag(info: u32) -> bool {
        info >> 31 == 1
    }
}

/// Kind of a type, for look-ups by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BtfKind {
    /// Integer, `char`, `bool`.
    Int,
    /// Pointer.
    Ptr,
    /// Array.
    Array,
    /// Struct.
    Struct,
    /// Union.
    Union,
    /// Enum, of any value size.
    Enum,
    /// Struct or union that is only declared.
    Fwd,
    /// Typedef.
    Typedef,
    /// `volatile`.
    Volatile,
    /// `const`.
    Const,
    /// `restrict`.
    Restrict,
    /// Function.
    Func,
    /// Type of a function.
    FuncProto,
    /// Global variable.
    Var,
    /// Section of variables.
    Datasec,
    /// Floating point.
    Float,
    /// Tag on a declaration.
    DeclTag,
    /// Tag on a pointee, `user`, `rcu`, `percpu`.
    TypeTag,
}

impl BtfKind {
    pub(super) fn from_info(info: u32) -> Option<Self> {
        Some(match raw::kind(info) {
            raw::INT => Self::Int,
            raw::PTR => Self::Ptr,
            raw::ARRAY => Self::Array,
            raw::STRUCT => Self::Struct,
            raw::UNION => Self::Union,
            raw::ENUM | raw::ENUM64 => Self::Enum,
            raw::FWD => Self::Fwd,
            raw::TYPEDEF => Self::Typedef,
            raw::VOLATILE => Self::Volatile,
            raw::CONST => Self::Const,
            raw::RESTRICT => Self::Restrict,
            raw::FUNC => Self::Func,
            raw::FUNC_PROTO => Self::FuncProto,
            raw::VAR => Self::Var,
            raw::DATASEC => Self::Datasec,
            raw::FLOAT => Self::Float,
            raw::DECL_TAG => Self::DeclTag,
            raw::TYPE_TAG => Self::TypeTag,
            _ => return None,
        })
    }
}

/// A decoded type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BtfType<'a> {
    /// `void`, and the type of what has none.
    Void,
    /// An integer.
    Int {
        /// C name.
        name: &'a str,
        /// Bytes.
        size: u32,
        /// Bits that count; fewer than the bytes hold only in bitfields of old compilers.
        bits: u32,
        /// Signed.
        signed: bool,
        /// `_Bool`.
        is_bool: bool,
        /// `char`. Compilers do not set it reliably: a byte-wide integer named `char` counts.
        is_char: bool,
    },
    /// Pointer to a type.
    Ptr(TypeId),
    /// An array; `len` is 0 for a flexible one.
    Array {
        /// Type of the elements.
        element: TypeId,
        /// Type that indexes.
        index: TypeId,
        /// Number of elements.
        len: u32,
    },
    /// A struct.
    Struct {
        /// Tag; empty if there is none.
        name: &'a str,
        /// Bytes.
        size: u32,
        /// In order.
        members: Members<'a>,
    },
    /// A union.
    Union {
        /// Tag; empty if there is none.
        name: &'a str,
        /// Bytes.
        size: u32,
        /// In order.
        members: Members<'a>,
    },
    /// An enum.
    Enum {
        /// Tag; empty if there is none.
        name: &'a str,
        /// Bytes of a value.
        size: u32,
        /// Whether values are signed.
        signed: bool,
        /// In order.
        values: EnumValues<'a>,
    },
    /// A struct or union that is only declared.
    Fwd {
        /// Tag.
        name: &'a str,
        /// A union.
        is_union: bool,
    },
    /// Another name of a type.
    Typedef {
        /// The name.
        name: &'a str,
        /// The type.
        to: TypeId,
    },
    /// `const`.
    Const(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// A tag on the type that a pointer points to: `user`, `rcu`, `percpu`.
    TypeTag {
        /// The tag.
        tag: &'a str,
        /// The type.
        to: TypeId,
    },
    /// A function.
    Func {
        /// Its name.
        name: &'a str,
        /// Its [`BtfType::FuncProto`].
        proto: TypeId,
    },
    /// Type of a function.
    FuncProto {
        /// Parameters; `...` is a last one without name and of type `void`.
        params: Params<'a>,
        /// What is returned.
        ret: TypeId,
    },
    /// A global variable.
    Var {
        /// Its name.
        name: &'a str,
        /// Its type.
        ty: TypeId,
    },
    /// A section of variables.
    Datasec {
        /// Its name.
        name: &'a str,
        /// Bytes.
        size: u32,
    },
    /// A floating-point number.
    Float {
        /// C name.
        name: &'a str,
        /// Bytes.
        size: u32,
    },
    /// A tag on a declaration.
    DeclTag {
        /// The tag.
        tag: &'a str,
        /// What it is on.
        to: TypeId,
        /// Which member or parameter; -1 is the whole.
        component: i32,
    },
}

impl<'a> BtfType<'a> {
    /// The name or tag; empty when there is none.
    #[must_use]
    pub fn name(&self) -> &'a str {
        match *self {
            Self::Int { name, .. }
            | Self::Struct { name, .. }
            | Self::Union { name, .. }
            | Self::Enum { name, .. }
            | Self::Fwd { name, .. }
            | Self::Typedef { name, .. }
            | Self::Func { name, .. }
            | Self::Var { name, .. }
            | Self::Datasec { name, .. }
            | Self::Float { name, .. } => name,
            _ => "",
        }
    }
}

/// A function with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncProto {
    /// The function, as fentry wants it; or the type that was asked about.
    pub id: TypeId,
    /// In order.
    pub params: Vec<FuncParam>,
    /// What is returned; [`TypeId::VOID`] when nothing is.
    pub ret: TypeId,
    /// Ends in `...`.
    pub variadic: bool,
}

/// A parameter of a [`FuncProto`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncParam {
    /// Name; may be empty.
    pub name: String,
    /// Type.
    pub ty: TypeId,
}

/// A member of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name; empty for an anonymous struct or union.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
    /// Bits from the start of the struct.
    pub bit_offset: u32,
    /// Width of a bitfield; 0 for a member that is none.
    pub bitfield_bits: u32,
}

/// Where a member was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef {
    /// Type.
    pub ty: TypeId,
    /// Bits from the start of the struct that was asked about.
    pub bit_offset: u32,
    /// Width of a bitfield; 0 for a member that is none.
    pub bitfield_bits: u32,
}

/// Members of a struct or union, in order.
#[derive(Clone)]
pub struct Members<'a> {
    btf: &'a Btf,
    /// Whether offsets carry a width, rather than the integer type.
    wide: bool,
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let (chunk, rest) = self.rest.split_first_chunk::<12>()?;
        self.rest = rest;
        let [name, ty, offset] = words(chunk);
        let ty = TypeId(ty);
        let (mut bit_offset, mut bitfield_bits) =
            if self.wide { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
        if !self.wide
            && let Some((shift, bits)) = self.btf.narrow_int(ty)
        {
            bit_offset = bit_offset.saturating_add(shift);
            bitfield_bits = bits;
        }
        Some(Member { name: self.btf.string(name), ty, bit_offset, bitfield_bits })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len() / 12, Some(self.rest.len() / 12))
    }
}

impl ExactSizeIterator for Members<'_> {}

/// Parameter of a function type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Name; may be empty.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
}

/// Parameters of a function type, in order.
#[derive(Clone)]
pub struct Params<'a> {
    btf: &'a Btf,
    rest: &'a [u8],
}

impl<'a> Iterator for Params<'a> {
    type Item = Param<'a>;

    fn next(&mut self) -> Option<Param<'a>> {
        let (chunk, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        let [name, ty] = words(chunk);
        Some(Param { name: self.btf.string(name), ty: TypeId(ty) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len() / 8, Some(self.rest.len() / 8))
    }
}

impl ExactSizeIterator for Params<'_> {}

/// Values of an enum, in order. A value of an unsigned 64-bit enum above `i64::MAX` wraps.
#[derive(Clone)]
pub struct EnumValues<'a> {
    btf: &'a Btf,
    signed: bool,
    /// Values are two words.
    wide: bool,
    rest: &'a [u8],
}

impl<'a> EnumValues<'a> {
    /// Where the names of the values are in the string section.
    pub(super) fn name_offsets(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.rest.chunks_exact(if self.wide { 12 } else { 8 }).map(|c| {
            let [name] = words(c);
            name
        })
    }
}

impl<'a> Iterator for EnumValues<'a> {
    type Item = (&'a str, i64);

    fn next(&mut self) -> Option<(&'a str, i64)> {
        if self.wide {
            let (chunk, rest) = self.rest.split_first_chunk::<12>()?;
            self.rest = rest;
            let [name, low, high] = words(chunk);
            Some((self.btf.string(name), (u64::from(low) | (u64::from(high) << 32)) as i64))
        } else {
            let (chunk, rest) = self.rest.split_first_chunk::<8>()?;
            self.rest = rest;
            let [name, value] = words(chunk);
            let value = if self.signed { i64::from(value as i32) } else { i64::from(value) };
            Some((self.btf.string(name), value))
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.rest.len() / if self.wide { 12 } else { 8 };
        (n, Some(n))
    }
}

impl ExactSizeIterator for EnumValues<'_> {}

macro_rules! debug_as_list {
    ($($name:ident)*) => {$(
        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_list().entries(self.clone()).finish()
            }
        }
    )*};
}
debug_as_list! { Members Params EnumValues }

/// The first words of a record; missing ones are 0.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*chunk);
    }
    words
}

/// Decodes the record at a position of `btf`'s own type section.
pub(super) fn decode(btf: &Btf, at: usize) -> Option<BtfType<'_>> {
    let bytes = btf.type_bytes(at);
    let [name_off, info, size] = words(bytes.get(..12)?);
    let body = bytes.get(12..)?;
    let elements = |size: usize| body.get(..size * raw::vlen(info) as usize);
    let to = TypeId(size);
    let name = || btf.string(name_off);
    Some(match raw::kind(info) {
        raw::INT => {
            let [encoding] = words(body.get(..4)?);
            let name = name();
            let bits = encoding & 0xff;
            BtfType::Int {
                name,
                size,
                bits,
                signed: encoding & (1 << 24) != 0,
                is_bool: encoding & (1 << 26) != 0,
                is_char: encoding & (1 << 25) != 0
                    || (size == 1 && matches!(name, "char" | "signed char" | "unsigned char")),
            }
        }
        raw::PTR => BtfType::Ptr(to),
        raw::ARRAY => {
            let [element, index, len] = words(body.get(..12)?);
            BtfType::Array { element: TypeId(element), index: TypeId(index), len }
        }
        kind @ (raw::STRUCT | raw::UNION) => {
            let members = Members { btf, wide: raw::flag(info), rest: elements(12)? };
            let name = name();
            if kind == raw::STRUCT {
                BtfType::Struct { name, size, members }
            } else {
                BtfType::Union { name, size, members }
            }
        }
        kind @ (raw::ENUM | raw::ENUM64) => {
            let (signed, wide) = (raw::flag(info), kind == raw::ENUM64);
            let rest = elements(if wide { 12 } else { 8 })?;
            // Before v6.0 nobody wrote the sign: an enum with a negative value looked unsigned.
            let signed = signed || (!wide && looks_signed(rest, size));
            BtfType::Enum { name: name(), size, signed, values: EnumValues { btf, signed, wide, rest } }
        }
        raw::FWD => BtfType::Fwd { name: name(), is_union: raw::flag(info) },
        raw::TYPEDEF => BtfType::Typedef { name: name(), to },
        raw::VOLATILE => BtfType::Volatile(to),
        raw::CONST => BtfType::Const(to),
        raw::RESTRICT => BtfType::Restrict(to),
        raw::FUNC => BtfType::Func { name: name(), proto: to },
        raw::FUNC_PROTO => BtfType::FuncProto { params: Params { btf, rest: elements(8)? }, ret: to },
        raw::VAR => BtfType::Var { name: name(), ty: to },
        raw::DATASEC => BtfType::Datasec { name: name(), size },
        raw::FLOAT => BtfType::Float { name: name(), size },
        raw::DECL_TAG => {
            let [component] = words(body.get(..4)?);
            BtfType::DeclTag { tag: name(), to, component: component as i32 }
        }
        raw::TYPE_TAG => BtfType::TypeTag { tag: name(), to },
        _ => return None,
    })
}

/// Whether a value has its top bit set while all others are small: -1 rather than a flag.
fn looks_signed(values: &[u8], size: u32) -> bool {
    size == 4
        && values.chunks_exact(8).any(|c| {
            let [_, value] = words(c);
            value > 0xffff_f000
        })
}

impl Btf {
    /// Shift and width of an integer type that is narrower than its bytes: how compilers before 2018 wrote bitfields.
    fn narrow_int(&self, ty: TypeId) -> Option<(u32, u32)> {
        let super::Place::At(btf, at) = self.locate(self.resolve(ty))? else { return None };
        let [_, info, size, encoding] = words(btf.type_bytes(at));
        if raw::kind(info) != raw::INT {
            return None;
        }
        let (shift, bits) = ((encoding >> 16) & 0xff, encoding & 0xff);
        (bits != 0 && (shift != 0 || bits < size.saturating_mul(8))).then_some((shift, bits))
    }
}
