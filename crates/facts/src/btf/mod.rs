//! The kernel's own type information (BTF), read where it lies.
//!
//! A [`Btf`] keeps the bytes as the kernel gave them and a table of where each type starts. Types are decoded when
//! they are asked for; names are indexed at the first look-up. Kernel modules come as split BTF on top of the
//! kernel's. Nothing is relocated, merged or written here (but see [`subset`]).

mod index;
mod layout;
mod render;
pub mod subset;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod types;

use std::ffi::CStr;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use types::{
    BtfKind, BtfType, EnumValues, FuncParam, FuncProto, Member, MemberRef, Members, Param, Params,
};

use crate::{FactsError, Glob};
use index::NameIndex;
use layout::Header;

/// Typedefs, qualifiers and arrays are followed this deep. C has no reason for more, and made-up input may be a ring.
const MAX_DEPTH: usize = 64;

/// Number of a type in one [`Btf`] (and its base). 0 is `void`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `void`.
    pub const VOID: Self = Self(0);
}

/// Type information of the kernel, or of one module on top of it.
pub struct Btf {
    data: Box<dyn AsRef<[u8]> + Send + Sync>,
    types: Range<usize>,
    strings: Range<usize>,
    /// Where each own type starts, counted from the start of the type section.
    offsets: Vec<u32>,
    base: Option<Arc<Btf>>,
    /// Id of the first own type.
    first_id: u32,
    /// String offsets below this one are the base's.
    string_base: u32,
    names: OnceLock<NameIndex>,
    enumerators: OnceLock<NameIndex>,
}

impl Btf {
    /// Takes BTF as the kernel exports it. A module's needs the kernel's as `base`. Anything that holds bytes will
    /// do (a `Vec<u8>`, an `Arc<[u8]>`, a file mapping); they are not copied.
    ///
    /// # Errors
    /// [`FactsError::Malformed`] when a header, a type or a string does not lie within the bytes.
    pub fn parse<B>(bytes: B, base: Option<Arc<Self>>) -> Result<Self, FactsError>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let header = Header::parse(bytes.as_ref())?;
        let offsets = header.type_offsets(bytes.as_ref())?;
        let (first_id, string_base) = match &base {
            Some(base) => (base.end_id(), base.string_end()),
            None => (1, 0),
        };
        if u32::try_from(offsets.len()).ok().and_then(|n| first_id.checked_add(n)).is_none() {
            return Err(FactsError::malformed("BTF", "more types than ids"));
        }
        Ok(Self {
            data: Box::new(bytes),
            types: header.types,
            strings: header.strings,
            offsets,
            base,
            first_id,
            string_base,
            names: OnceLock::new(),
            enumerators: OnceLock::new(),
        })
    }

    /// The BTF this one is on top of; `None` for the kernel's.
    #[must_use]
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// Id of the first type that is this BTF's own and not its base's.
    #[must_use]
    pub fn first_id(&self) -> TypeId {
        TypeId(self.first_id)
    }

    /// The ids of all own types, ascending; without those of the base and without `void`.
    pub fn own_ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (self.first_id..self.end_id()).map(TypeId)
    }

    /// The type with this id; `None` when there is none or its bytes make no sense.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Option<BtfType<'_>> {
        match self.locate(id)? {
            Place::Void => Some(BtfType::Void),
            Place::At(btf, at) => types::decode(btf, at),
        }
    }

    /// The name of a type; empty when it has none.
    #[must_use]
    pub fn name(&self, id: TypeId) -> &str {
        match self.locate(id) {
            Some(Place::At(btf, at)) => btf.string(btf.u32_at(at)),
            _ => "",
        }
    }

    /// The kind of a type. `Enum` is also the kind of enums with 64-bit values.
    #[must_use]
    pub fn kind(&self, id: TypeId) -> Option<BtfKind> {
        match self.locate(id)? {
            Place::Void => None,
            Place::At(btf, at) => BtfKind::from_info(btf.u32_at(at + 4)),
        }
    }

    /// The first type of this kind and name: own types before the base's.
    #[must_use]
    pub fn find(&self, kind: BtfKind, name: &str) -> Option<TypeId> {
        if name.is_empty() {
            return None;
        }
        let own = self.names.get_or_init(|| NameIndex::of_types(self));
        own.candidates(name)
            .map(|slot| TypeId(self.first_id + slot))
            .find(|&id| self.kind(id) == Some(kind) && self.name(id) == name)
            .or_else(|| self.base.as_ref()?.find(kind, name))
    }

    /// The enum that has a value of this name, and the value.
    #[must_use]
    pub fn find_enumerator(&self, name: &str) -> Option<(TypeId, i64)> {
        if name.is_empty() {
            return None;
        }
        let own = self.enumerators.get_or_init(|| NameIndex::of_enumerators(self));
        own.candidates(name)
            .find_map(|entry| {
                let (slot, position) = own.enumerator(entry)?;
                let id = TypeId(self.first_id + slot);
                let BtfType::Enum { mut values, .. } = self.get(id)? else { return None };
                let (found, value) = values.nth(position as usize)?;
                (found == name).then_some((id, value))
            })
            .or_else(|| self.base.as_ref()?.find_enumerator(name))
    }

    /// The type below typedefs, `const`, `volatile`, `restrict` and type tags. A ring of those resolves to `void`.
    #[must_use]
    pub fn resolve(&self, id: TypeId) -> TypeId {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            match self.get(id) {
                Some(
                    BtfType::Typedef { to, .. }
                    | BtfType::Const(to)
                    | BtfType::Volatile(to)
                    | BtfType::Restrict(to)
                    | BtfType::TypeTag { to, .. },
                ) => id = to,
                _ => return id,
            }
        }
        TypeId::VOID
    }

    /// Bytes that a value of the type takes; `None` for `void`, functions and types that are only declared.
    #[must_use]
    pub fn size_of(&self, id: TypeId) -> Option<u32> {
        self.size_within(id, MAX_DEPTH)
    }

    fn size_within(&self, id: TypeId, depth: usize) -> Option<u32> {
        match self.get(self.resolve(id))? {
            BtfType::Int { size, .. }
            | BtfType::Struct { size, .. }
            | BtfType::Union { size, .. }
            | BtfType::Enum { size, .. }
            | BtfType::Float { size, .. }
            | BtfType::Datasec { size, .. } => Some(size),
            BtfType::Ptr(_) => Some(8),
            BtfType::Array { element, len, .. } => {
                self.size_within(element, depth.checked_sub(1)?)?.checked_mul(len)
            }
            BtfType::Var { ty, .. } => self.size_within(ty, depth.checked_sub(1)?),
            _ => None,
        }
    }

    /// The function of this name with its parameters.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<FuncProto> {
        let id = self.find(BtfKind::Func, name)?;
        self.prototype(id)
    }

    /// The parameters of a function, of a function type, or of what a pointer or typedef to one leads to.
    /// [`FuncProto::id`] is the id given.
    #[must_use]
    pub fn prototype(&self, id: TypeId) -> Option<FuncProto> {
        let mut at = self.resolve(id);
        for _ in 0..3 {
            match self.get(at)? {
                BtfType::Func { proto, .. } => at = proto,
                BtfType::Ptr(to) => at = self.resolve(to),
                BtfType::FuncProto { params, ret } => {
                    let mut variadic = false;
                    let mut list = Vec::with_capacity(params.len());
                    for param in params {
                        // `...` is a last parameter without name and type.
                        if param.name.is_empty() && param.ty == TypeId::VOID {
                            variadic = true;
                        } else {
                            list.push(FuncParam { name: param.name.to_owned(), ty: param.ty });
                        }
                    }
                    return Some(FuncProto { id, params: list, ret, variadic });
                }
                _ => return None,
            }
        }
        None
    }

    /// A member of a struct or union by name, also one inside members that have no name themselves. Bit offsets
    /// count from the start of `id`.
    #[must_use]
    pub fn member(&self, id: TypeId, name: &str) -> Option<MemberRef> {
        if name.is_empty() {
            return None;
        }
        self.member_within(id, name, 0, MAX_DEPTH.min(16))
    }

    fn member_within(&self, id: TypeId, name: &str, offset: u32, depth: usize) -> Option<MemberRef> {
        let (BtfType::Struct { members, .. } | BtfType::Union { members, .. }) =
            self.get(self.resolve(id))?
        else {
            return None;
        };
        // Two passes: a direct member wins, and most look-ups end in the cheap one.
        if let Some(m) = members.clone().find(|m| m.name == name) {
            let bit_offset = offset.checked_add(m.bit_offset)?;
            return Some(MemberRef { ty: m.ty, bit_offset, bitfield_bits: m.bitfield_bits });
        }
        members.filter(|m| m.name.is_empty()).find_map(|m| {
            self.member_within(m.ty, name, offset.checked_add(m.bit_offset)?, depth.checked_sub(1)?)
        })
    }

    /// Own types of this kind whose name matches, in id order. For listings: it walks all types.
    pub fn names_like<'a>(
        &'a self,
        kind: BtfKind,
        pattern: &'a Glob,
    ) -> impl Iterator<Item = (&'a str, TypeId)> + 'a {
        self.own_ids().filter_map(move |id| {
            if self.kind(id) != Some(kind) {
                return None;
            }
            let name = self.name(id);
            (!name.is_empty() && pattern.is_match(name)).then_some((name, id))
        })
    }

    /// A name from the string section this offset belongs to; empty when it is out of bounds or no UTF-8.
    pub(crate) fn string(&self, offset: u32) -> &str {
        std::str::from_utf8(self.string_bytes(offset)).unwrap_or("")
    }

    pub(crate) fn string_bytes(&self, offset: u32) -> &[u8] {
        let Some(own) = offset.checked_sub(self.string_base) else {
            return self.base.as_ref().map_or(&[], |base| base.string_bytes(offset));
        };
        self.bytes()
            .get(self.strings.clone())
            .and_then(|s| s.get(own as usize..))
            .and_then(|s| CStr::from_bytes_until_nul(s).ok())
            .map_or(&[], CStr::to_bytes)
    }

    fn bytes(&self) -> &[u8] {
        (*self.data).as_ref()
    }

    /// The type section's bytes from `at` on, a position that `locate` gave or one behind it.
    fn type_bytes(&self, at: usize) -> &[u8] {
        self.bytes().get(self.types.clone()).and_then(|t| t.get(at..)).unwrap_or(&[])
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.type_bytes(at).first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
    }

    fn end_id(&self) -> u32 {
        self.first_id + self.offsets.len() as u32
    }

    fn string_end(&self) -> u32 {
        self.string_base.saturating_add(self.strings.len() as u32)
    }

    fn locate(&self, id: TypeId) -> Option<Place<'_>> {
        if id == TypeId::VOID {
            return Some(Place::Void);
        }
        match id.0.checked_sub(self.first_id) {
            Some(slot) => Some(Place::At(self, *self.offsets.get(slot as usize)? as usize)),
            None => self.base.as_ref()?.locate(id),
        }
    }
}

/// Where a type is.
enum Place<'a> {
    Void,
    /// In this BTF, this far into its type section.
    At(&'a Btf, usize),
}

impl fmt::Debug for Btf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Btf")
            .field("first_id", &self.first_id)
            .field("types", &self.offsets.len())
            .field("split", &self.base.is_some())
            .finish_non_exhaustive()
    }
}
