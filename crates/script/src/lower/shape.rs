//! Types → shapes: what the bytes of a value mean once they have left the program.

use strix_facts::KernelFacts;
use strix_model::{EnumDef, EnumIdx, Field, MapValue, Shape};

use super::lookup;
use crate::types::{FieldLayout, NameTable, Type, Types};

/// C's `char`.
const CHAR: Type = Type::Int { size: 1, signed: true };

/// The enums that shapes of a plan name, each once.
pub(super) struct EnumTable<'a> {
    facts: &'a KernelFacts,
    enums: Vec<EnumDef>,
}

impl<'a> EnumTable<'a> {
    pub(super) fn new(facts: &'a KernelFacts) -> Self {
        Self { facts, enums: Vec::new() }
    }

    fn names(&mut self, table: NameTable) -> EnumIdx {
        let (name, variants) = match table {
            NameTable::Error => ("error names", lookup::error_texts()),
            NameTable::Signal => ("signal names", lookup::signal_texts()),
            NameTable::Syscall => ("system call names", lookup::syscall_names(self.facts)),
        };
        self.index(&crate::types::EnumDef { name: name.to_owned(), size: 8, signed: true, variants })
    }

    fn index(&mut self, def: &crate::types::EnumDef) -> EnumIdx {
        let found = self.enums.iter().position(|e| e.name == def.name && e.variants == def.variants);
        let index = found.unwrap_or_else(|| {
            self.enums.push(EnumDef { name: def.name.clone(), variants: def.variants.clone() });
            self.enums.len() - 1
        });
        EnumIdx(index as u32)
    }

    pub(super) fn finish(self) -> Vec<EnumDef> {
        self.enums
    }
}

/// The shape of a value of the type, laid out as [`Types::size_of`] and [`Types::tuple_layout`] say.
pub(super) fn shape_of(types: &Types, enums: &mut EnumTable<'_>, ty: &Type) -> Shape {
    match ty {
        Type::Void | Type::Aggregate(_) => Shape::Unit,
        Type::Int { size, signed } => Shape::Int { size: *size, signed: *signed },
        Type::Bool => Shape::Bool,
        Type::Enum { id, size, signed } => {
            Shape::Enum { size: *size, signed: *signed, names: enums.index(types.enumeration(*id)) }
        }
        Type::Str { cap } => Shape::Str { cap: *cap },
        Type::Buffer { cap } => Shape::Buffer { cap: *cap },
        Type::Pointer { .. } => Shape::Pointer,
        Type::Record(id) => {
            let def = types.record(*id);
            let fields = def.fields.as_deref().unwrap_or_default();
            let fields = fields.iter().filter_map(|f| {
                let shape = match f.layout {
                    FieldLayout::Plain => member_shape(types, enums, &f.ty),
                    FieldLayout::Bits { shift, bits } => bits_shape(shift, bits, f.ty.is_signed()),
                    _ => return None,
                };
                Some(Field { name: f.name.clone(), offset: f.offset, shape })
            });
            let fields = fields.collect();
            Shape::Struct { fields, size: def.size }
        }
        Type::Array { element, len } => {
            Shape::Array { element: Box::new(shape_of(types, enums, element)), len: *len }
        }
        Type::Tuple(items) => {
            let (offsets, size) = types.tuple_layout(items);
            let fields = items
                .iter()
                .zip(offsets)
                .map(|(t, offset)| Field { name: String::new(), offset, shape: shape_of(types, enums, t) })
                .collect();
            Shape::Tuple { fields, size }
        }
        Type::KernelStack { limit, mode } => Shape::KernelStack { limit: *limit, mode: *mode },
        Type::UserStack { limit, mode } => Shape::UserStack { limit: *limit, mode: *mode },
        Type::KernelSymbol => Shape::KernelSymbol,
        Type::UserSymbol => Shape::UserSymbol,
        Type::Function => Shape::Function,
        Type::Inet => Shape::Inet,
        Type::Mac => Shape::Mac,
        Type::Timestamp { format, clock } => Shape::Timestamp { format: format.clone(), clock: *clock },
        Type::Username => Shape::Username,
        Type::ProbeName => Shape::ProbeName,
        Type::CgroupPath => Shape::CgroupPath,
        Type::Named(table) => Shape::Named { names: enums.names(*table) },
    }
}

/// In a record an array of C's `char` is a string.
fn member_shape(types: &Types, enums: &mut EnumTable<'_>, ty: &Type) -> Shape {
    match ty {
        Type::Array { element, len } if *len > 0 && **element == CHAR => Shape::Str { cap: *len },
        ty => shape_of(types, enums, ty),
    }
}

fn bits_shape(shift: u8, bits: u8, signed: bool) -> Shape {
    let size = (u32::from(shift) + u32::from(bits)).div_ceil(8).next_power_of_two().min(8) as u8;
    Shape::Bits { size, shift, bits, signed }
}

/// How a map's value reads.
pub(super) fn map_value_of(types: &Types, enums: &mut EnumTable<'_>, ty: &Type) -> MapValue {
    match ty {
        Type::Aggregate(value) => value.clone(),
        plain => MapValue::Plain(shape_of(types, enums, plain)),
    }
}
