//! The kernel's types as the language's.
//!
//! A record is entered by name and number; its fields are read from BTF when something looks into it, so that one mention of
//! `task_struct` does not pull in half the kernel.

use std::sync::Arc;

use strix_facts::{Btf, BtfKind, BtfType, FactsError, KernelFacts, TypeId};

use crate::types::{EnumDef, EnumId, FieldLayout, RecordDef, RecordField, RecordId, Space, Type, Types};

/// Pointers, arrays and qualifiers are followed this deep; made-up type information may be a ring.
const MAX_DEPTH: u32 = 32;

/// So many anonymous structs within a struct are looked into.
const MAX_NESTED: usize = 256;

/// So many members are looked at for an alignment.
const MAX_MEMBERS: u32 = 10_000;

/// No kernel record is larger; a size beyond is made up, and sums of such sizes could overflow.
const MAX_SIZE: u32 = 1 << 24;

/// Type information by the module that it counts in; `None` is the kernel's own.
pub(crate) fn btf_of(facts: &KernelFacts, module: Option<&str>) -> Result<Arc<Btf>, FactsError> {
    match module {
        None | Some("vmlinux") => facts.btf_shared(),
        Some(module) => facts.module_btf(module),
    }
}

/// A type of the kernel's (`module` is `None`) or a module's BTF. Records it names are entered, not loaded.
pub(crate) fn type_from_btf(btf: &Btf, module: Option<&str>, types: &mut Types, id: TypeId) -> Type {
    Converter { btf, module, types }.convert(id, "", 0).0
}

struct Converter<'a> {
    btf: &'a Btf,
    module: Option<&'a str>,
    types: &'a mut Types,
}

impl Converter<'_> {
    /// The type, and the memory that a tag on it says it lies in. `alias` is the typedef that led here: the only name
    /// that many structs have.
    fn convert(&mut self, id: TypeId, alias: &str, depth: u32) -> (Type, Space) {
        if depth > MAX_DEPTH {
            return (Type::Void, Space::Kernel);
        }
        let depth = depth + 1;
        let plain = |ty| (ty, Space::Kernel);
        match self.btf.get(id) {
            Some(BtfType::Int { is_bool: true, size: 1, .. }) => plain(Type::Bool),
            // Text, whatever its sign: kernels are built with `-funsigned-char` since v6.2.
            Some(BtfType::Int { name: "char", size: 1, .. }) => plain(int_type(1, true)),
            Some(BtfType::Int { size, signed, .. }) => plain(int_type(size, signed)),
            Some(BtfType::Float { size, .. }) => plain(bytes(size)),
            Some(BtfType::Ptr(to)) => {
                let (to, space) = self.convert(to, "", depth);
                plain(Type::Pointer { to: Box::new(to), space })
            }
            Some(BtfType::Array { element, len, .. }) => {
                // A size that does not fit is made up.
                let fits = self.btf.size_of(id).is_some_and(|size| size <= MAX_SIZE);
                let (element, _) = self.convert(element, "", depth);
                plain(Type::Array { element: Box::new(element), len: if fits { len } else { 0 } })
            }
            Some(BtfType::Struct { name, size, .. }) => {
                plain(Type::Record(self.record("struct", name, alias, id, size)))
            }
            Some(BtfType::Union { name, size, .. }) => {
                plain(Type::Record(self.record("union", name, alias, id, size)))
            }
            Some(BtfType::Fwd { name, is_union }) => plain(self.declared(name, is_union)),
            Some(BtfType::Enum { name, size, signed, values }) => {
                let size = u8::try_from(size).ok().filter(|s| matches!(s, 1 | 2 | 4 | 8)).unwrap_or(4);
                let name = if name.is_empty() { alias } else { name };
                let variants = || values.map(|(name, value)| (value, name.to_owned())).collect();
                let id = enter_enum(self.types, name, size, signed, variants);
                plain(Type::Enum { id, size, signed })
            }
            Some(BtfType::Typedef { name, to }) => self.convert(to, name, depth),
            Some(BtfType::Const(to) | BtfType::Volatile(to) | BtfType::Restrict(to)) => {
                self.convert(to, alias, depth)
            }
            Some(BtfType::TypeTag { tag, to }) => {
                let (ty, space) = self.convert(to, alias, depth);
                (ty, if tag == "user" { Space::User } else { space })
            }
            Some(BtfType::Var { ty, .. }) => self.convert(ty, alias, depth),
            // Functions are only pointed to, and nothing can be done with them.
            _ => plain(Type::Void),
        }
    }

    fn record(&mut self, keyword: &str, name: &str, alias: &str, id: TypeId, size: u32) -> RecordId {
        let name = match (name, alias) {
            ("", "") => format!("{keyword} (anonymous)"),
            ("", alias) => alias.to_owned(),
            (name, _) => format!("{keyword} {name}"),
        };
        let module = self.module.filter(|_| id >= self.btf.first_id()).map(str::to_owned);
        enter_record(self.types, name, size.min(MAX_SIZE), id, module)
    }

    /// A record that is only declared; the same BTF may define it all the same.
    fn declared(&mut self, name: &str, is_union: bool) -> Type {
        let (keyword, kind) = if is_union { ("union", BtfKind::Union) } else { ("struct", BtfKind::Struct) };
        if let Some(id) = self.btf.find(kind, name) {
            let size = self.btf.size_of(id).unwrap_or(0);
            return Type::Record(self.record(keyword, name, "", id, size));
        }
        let name = format!("{keyword} {name}");
        let known = self.types.records.iter().position(|r| r.btf.is_none() && r.size == 0 && r.name == name);
        let index = known.unwrap_or_else(|| {
            self.types.records.push(RecordDef { name, size: 0, fields: None, btf: None, module: None });
            self.types.records.len() - 1
        });
        Type::Record(RecordId(index as u32))
    }
}

/// An integer of so many bytes; what is no register's size is an array of bytes.
fn int_type(size: u32, signed: bool) -> Type {
    match u8::try_from(size) {
        Ok(size @ (1 | 2 | 4 | 8)) => Type::Int { size, signed },
        _ => bytes(size),
    }
}

fn bytes(size: u32) -> Type {
    Type::Array { element: Box::new(Type::Int { size: 1, signed: false }), len: size.min(MAX_SIZE) }
}

fn enter_record(types: &mut Types, name: String, size: u32, id: TypeId, module: Option<String>) -> RecordId {
    let known = types.records.iter().position(|r| r.btf == Some(id.0) && r.module == module);
    let index = known.unwrap_or_else(|| {
        types.records.push(RecordDef { name, size, fields: None, btf: Some(id.0), module });
        types.records.len() - 1
    });
    RecordId(index as u32)
}

/// An enum by its tag, entered once; those without a tag are entered each time.
pub(super) fn enter_enum(
    types: &mut Types,
    name: &str,
    size: u8,
    signed: bool,
    variants: impl FnOnce() -> Vec<(i64, String)>,
) -> EnumId {
    let known = types.enums.iter().position(|e| !name.is_empty() && e.name == name && e.size == size);
    let index = known.unwrap_or_else(|| {
        types.enums.push(EnumDef { name: name.to_owned(), size, signed, variants: variants() });
        types.enums.len() - 1
    });
    EnumId(index as u32)
}

/// Gives a record its fields, if it comes from BTF and has none yet. A record that is only declared stays without.
///
/// # Errors
/// When the BTF that it was found in can no longer be read.
pub(crate) fn load_record(facts: &KernelFacts, types: &mut Types, id: RecordId) -> Result<(), FactsError> {
    let Some(def) = types.records.get(id.0 as usize) else { return Ok(()) };
    let (None, Some(type_id)) = (&def.fields, def.btf) else { return Ok(()) };
    let (module, size) = (def.module.clone(), def.size);
    let btf = btf_of(facts, module.as_deref())?;
    let mut fields = Vec::new();
    if let Some(BtfType::Struct { members, .. } | BtfType::Union { members, .. }) = btf.get(TypeId(type_id)) {
        for member in members {
            let ty = type_from_btf(&btf, module.as_deref(), types, member.ty);
            let (offset, layout) = place(&ty, member.bit_offset, member.bitfield_bits);
            // A member outside its record is made up, and would be read from somewhere else.
            if offset <= size {
                fields.push(RecordField { name: member.name.to_owned(), ty, offset, layout });
            }
        }
    }
    types.records[id.0 as usize].fields = Some(fields);
    Ok(())
}

/// Where a member of `bits` width (0: none) starts.
fn place(ty: &Type, bit_offset: u32, bits: u32) -> (u32, FieldLayout) {
    let byte = bit_offset / 8;
    if bits == 0 {
        return (byte, FieldLayout::Plain);
    }
    let unit = match ty {
        Type::Int { size, .. } | Type::Enum { size, .. } => u32::from(*size) * 8,
        _ => 8,
    };
    let bits = bits.min(64) as u8;
    let start = bit_offset / unit * unit;
    let shift = bit_offset - start;
    // In a packed record it may cross the unit of its type; then it is counted from its own first byte.
    if shift + u32::from(bits) <= unit {
        (start / 8, FieldLayout::Bits { shift: shift as u8, bits })
    } else {
        (byte, FieldLayout::Bits { shift: (bit_offset % 8) as u8, bits })
    }
}

/// A field by name, also one of an anonymous member; the offset counts from the start of `id`.
///
/// # Errors
/// As [`load_record`].
pub(crate) fn find_field(
    facts: &KernelFacts,
    types: &mut Types,
    id: RecordId,
    name: &str,
) -> Result<Option<RecordField>, FactsError> {
    find_within(facts, types, id, name, &mut Vec::new())
}

fn find_within(
    facts: &KernelFacts,
    types: &mut Types,
    id: RecordId,
    name: &str,
    seen: &mut Vec<RecordId>,
) -> Result<Option<RecordField>, FactsError> {
    load_record(facts, types, id)?;
    let Some(fields) = types.records.get(id.0 as usize).and_then(|r| r.fields.as_ref()) else {
        return Ok(None);
    };
    if let Some(field) = fields.iter().find(|f| f.name == name) {
        return Ok(Some(field.clone()));
    }
    // Each record once: made-up type information may nest them in many ways, or in a ring.
    seen.push(id);
    let nested: Vec<(u32, RecordId)> = fields
        .iter()
        .filter_map(|f| match f.ty {
            Type::Record(inner) if f.name.is_empty() => Some((f.offset, inner)),
            _ => None,
        })
        .collect();
    for (offset, inner) in nested {
        if seen.contains(&inner) || seen.len() >= MAX_NESTED {
            continue;
        }
        if let Some(mut field) = find_within(facts, types, inner, name, seen)? {
            field.offset = field.offset.saturating_add(offset);
            return Ok(Some(field));
        }
    }
    Ok(None)
}

/// Alignment of a type in C: BTF does not store it, but it follows from the members.
pub(super) fn btf_align(btf: &Btf, id: TypeId) -> u32 {
    align_within(btf, id, 0, &mut 0)
}

fn align_within(btf: &Btf, id: TypeId, depth: u32, steps: &mut u32) -> u32 {
    *steps += 1;
    if *steps > MAX_MEMBERS || depth > MAX_DEPTH {
        return 1;
    }
    match btf.get(btf.resolve(id)) {
        Some(BtfType::Int { size, .. } | BtfType::Enum { size, .. } | BtfType::Float { size, .. }) => {
            size.clamp(1, 16)
        }
        Some(BtfType::Ptr(_)) => 8,
        Some(BtfType::Array { element, .. }) => align_within(btf, element, depth + 1, steps),
        Some(BtfType::Struct { members, size, .. } | BtfType::Union { members, size, .. }) => {
            let mut widest = 1;
            for member in members.filter(|m| m.bitfield_bits == 0) {
                let align = align_within(btf, member.ty, depth + 1, steps);
                // In a packed record members need not be aligned.
                if (member.bit_offset / 8).is_multiple_of(align) {
                    widest = widest.max(align);
                }
                if *steps > MAX_MEMBERS {
                    break;
                }
            }
            if size.is_multiple_of(widest) { widest } else { 1 }
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{place, type_from_btf};
    use crate::types::{FieldLayout, Type};

    const U32: Type = Type::Int { size: 4, signed: false };

    #[test]
    fn bit_fields_stay_in_the_unit_of_their_type() {
        assert_eq!(place(&U32, 0, 0), (0, FieldLayout::Plain));
        assert_eq!(place(&U32, 64, 0), (8, FieldLayout::Plain));
        assert_eq!(place(&U32, 3, 4), (0, FieldLayout::Bits { shift: 3, bits: 4 }));
        assert_eq!(place(&U32, 45, 2), (4, FieldLayout::Bits { shift: 13, bits: 2 }));
        // Packed: 8 bits from bit 28 cross a 32-bit unit.
        assert_eq!(place(&U32, 28, 8), (3, FieldLayout::Bits { shift: 4, bits: 8 }));
    }

    #[test]
    fn made_up_type_information_is_void() {
        let mut types = crate::types::Types::default();
        // A header with no types.
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for n in [24u32, 0, 0, 0, 1] {
            bytes.extend(n.to_le_bytes());
        }
        bytes.push(0);
        let btf = strix_facts::Btf::parse(bytes, None).expect("an empty BTF parses");
        assert_eq!(type_from_btf(&btf, None, &mut types, strix_facts::TypeId(77)), Type::Void);
    }
}
