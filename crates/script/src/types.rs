//! The language's types, and the table of records and enums that they refer to.

use strix_model::{MapValue, StackMode};

/// A struct, union or `args` record: index into [`Types::records`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(pub u32);

/// An enum: index into [`Types::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnumId(pub u32);

/// Which memory a pointer points into, so which helper reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Kernel memory.
    Kernel,
    /// Memory of the current process.
    User,
    /// Not known (`arg0` cast to a pointer): read by the helper that tries both, where there is one.
    Unknown,
    /// The program's own memory: map values, variables.
    Bpf,
}

/// Names of numbers that no enum of the kernel lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameTable {
    /// Texts of errors.
    Error,
    /// Texts of signals.
    Signal,
    /// System calls.
    Syscall,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value; also what an expression with an error has, which stops further complaints about it.
    Void,
    /// Integer of 1, 2, 4 or 8 bytes.
    Int {
        /// Bytes.
        size: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Truth value.
    Bool,
    /// Integer with names.
    Enum {
        /// Which.
        id: EnumId,
        /// Bytes.
        size: u8,
        /// Two's complement.
        signed: bool,
    },
    /// String in at most `cap` bytes, NUL included.
    Str {
        /// Bytes.
        cap: u32,
    },
    /// Bytes with a length.
    Buffer {
        /// Most bytes.
        cap: u32,
    },
    /// Address of a value.
    Pointer {
        /// Pointee; [`Type::Void`] for `void *`.
        to: Box<Type>,
        /// Where it points.
        space: Space,
    },
    /// Struct or union by value.
    Record(RecordId),
    /// Array by value.
    Array {
        /// Element.
        element: Box<Type>,
        /// How many; 0 for a flexible array.
        len: u32,
    },
    /// Tuple.
    Tuple(Vec<Type>),
    /// Kernel stack.
    KernelStack {
        /// Most frames.
        limit: u16,
        /// How it prints.
        mode: StackMode,
    },
    /// User stack.
    UserStack {
        /// Most frames.
        limit: u16,
        /// How it prints.
        mode: StackMode,
    },
    /// Kernel address that prints as a symbol.
    KernelSymbol,
    /// User address that prints as a symbol.
    UserSymbol,
    /// `func`.
    Function,
    /// Network address.
    Inet,
    /// Hardware address.
    Mac,
    /// Nanoseconds that print as a date.
    Timestamp {
        /// strftime format.
        format: String,
        /// Clock, as in [`strix_model::Shape::Timestamp`].
        clock: u8,
    },
    /// User id that prints as a name.
    Username,
    /// `probe`.
    ProbeName,
    /// Cgroup id that prints as a path.
    CgroupPath,
    /// Number that prints as its name.
    Named(NameTable),
    /// What `count()` and its kin give: may only be assigned to a map. Never [`MapValue::Plain`].
    Aggregate(MapValue),
}

impl Type {
    /// `uint64`.
    pub const U64: Self = Self::Int { size: 8, signed: false };
    /// `int64`.
    pub const I64: Self = Self::Int { size: 8, signed: true };

    /// Whether a value fits one register: integers, booleans, enums, pointers and the one-word named values.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Self::Int { .. }
                | Self::Bool
                | Self::Enum { .. }
                | Self::Pointer { .. }
                | Self::KernelSymbol
                | Self::Timestamp { .. }
                | Self::Username
                | Self::ProbeName
                | Self::CgroupPath
                | Self::Named(_)
                | Self::KernelStack { .. }
        )
    }

    /// Whether arithmetic and comparison with numbers make sense.
    #[must_use]
    pub fn is_integral(&self) -> bool {
        matches!(self, Self::Int { .. } | Self::Bool | Self::Enum { .. })
    }

    /// Whether its 64-bit value is signed.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        matches!(self, Self::Int { signed: true, .. } | Self::Enum { signed: true, .. })
    }
}

/// How a field's bits are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldLayout {
    /// At the offset.
    Plain,
    /// Bit-field: `shift` bits above the byte at the offset (counted from the least significant bit of a little-endian
    /// word), `bits` wide.
    Bits {
        /// Bits to shift right.
        shift: u8,
        /// Width.
        bits: u8,
    },
    /// Tracefs dynamic array: the `u32` at the offset holds offset (low half) and length (high half) of the data, from the start of
    /// the record.
    DataLoc,
    /// As [`FieldLayout::DataLoc`], the offset counting from the field's own end.
    RelLoc,
    /// Argument `n` of a system call seen through `raw_syscalls`: a word of the saved user registers.
    SyscallArg(u8),
    /// Result of a system call seen through `raw_syscalls`.
    SyscallRet,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// Name; empty for an anonymous struct or union, whose fields are looked into.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Bytes from the record's start.
    pub offset: u32,
    /// How the value lies there.
    pub layout: FieldLayout,
}

/// A record's definition. Records of the kernel are entered by name first and get their fields when something looks into
/// them: the closure of `task_struct` is most of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDef {
    /// `struct task_struct`, `union foo`, or a description for synthetic ones.
    pub name: String,
    /// Bytes; 0 when only declared.
    pub size: u32,
    /// Fields, once loaded.
    pub fields: Option<Vec<RecordField>>,
    /// Type id in the kernel's BTF that the fields come from.
    pub btf: Option<u32>,
    /// Module whose BTF the id counts in.
    pub module: Option<String>,
}

impl RecordDef {
    /// Whether it is that of a record literal (`(x=1, y=2)`), which has no tag.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.name.starts_with(LITERAL)
    }
}

/// Start of the names of records that scripts write down as values.
const LITERAL: &str = "record (";

/// An enum's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDef {
    /// Tag; may be empty.
    pub name: String,
    /// Bytes.
    pub size: u8,
    /// Two's complement.
    pub signed: bool,
    /// Values and names.
    pub variants: Vec<(i64, String)>,
}

/// Every record and enum of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Types {
    /// By [`RecordId`].
    pub records: Vec<RecordDef>,
    /// By [`EnumId`].
    pub enums: Vec<EnumDef>,
}

impl Types {
    /// A record's definition.
    ///
    /// # Panics
    /// When `id` is not from this table.
    #[must_use]
    pub fn record(&self, id: RecordId) -> &RecordDef {
        &self.records[id.0 as usize]
    }

    /// A field by name, also one of an anonymous member, with its offset from the start of the record; only in what is loaded.
    #[must_use]
    pub fn field(&self, id: RecordId, name: &str) -> Option<RecordField> {
        let fields = self.record(id).fields.as_deref()?;
        if let Some(field) = fields.iter().find(|f| f.name == name) {
            return Some(field.clone());
        }
        fields.iter().filter(|f| f.name.is_empty()).find_map(|f| match f.ty {
            Type::Record(inner) if inner != id => {
                let mut field = self.field(inner, name)?;
                field.offset += f.offset;
                Some(field)
            }
            _ => None,
        })
    }

    /// The record of these fields, laid out as a tuple is; the same fields give the same record.
    pub fn intern(&mut self, fields: Vec<(String, Type)>) -> RecordId {
        let types: Vec<Type> = fields.iter().map(|(_, ty)| ty.clone()).collect();
        let (offsets, size) = self.tuple_layout(&types);
        let fields: Vec<RecordField> = fields
            .into_iter()
            .zip(offsets)
            .map(|((name, ty), offset)| RecordField { name, ty, offset, layout: FieldLayout::Plain })
            .collect();
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        let name = format!("{LITERAL}{})", names.join(", "));
        let known = self.records.iter().position(|r| r.name == name && r.fields.as_ref() == Some(&fields));
        let index = known.unwrap_or_else(|| {
            self.records.push(RecordDef { name, size, fields: Some(fields), btf: None, module: None });
            self.records.len() - 1
        });
        RecordId(index as u32)
    }

    /// An enum's definition.
    ///
    /// # Panics
    /// When `id` is not from this table.
    #[must_use]
    pub fn enumeration(&self, id: EnumId) -> &EnumDef {
        &self.enums[id.0 as usize]
    }

    /// Bytes a value of the type takes in a variable, map or record of the ring; the sizes are those of [`strix_model::Shape`].
    /// What does not fit 32 bits is `u32::MAX`.
    #[must_use]
    pub fn size_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::Void | Type::Aggregate(_) => 0,
            Type::Bool => 1,
            Type::Int { size, .. } | Type::Enum { size, .. } => u32::from(*size),
            Type::Str { cap } => *cap,
            Type::Buffer { cap } => cap.saturating_add(4),
            Type::Pointer { .. }
            | Type::KernelStack { .. }
            | Type::KernelSymbol
            | Type::Mac
            | Type::Timestamp { .. }
            | Type::Username
            | Type::ProbeName
            | Type::CgroupPath
            | Type::Named(_) => 8,
            Type::UserStack { .. } | Type::UserSymbol | Type::Function => 16,
            Type::Inet => 24,
            Type::Record(id) => self.record(*id).size,
            Type::Array { element, len } => self.size_of(element).saturating_mul(*len),
            Type::Tuple(items) => self.tuple_layout(items).1,
        }
    }

    /// The parts of a tuple, or of a record of the script, with their offsets.
    #[must_use]
    pub fn parts(&self, ty: &Type) -> Option<Vec<(u32, Type)>> {
        match ty {
            Type::Tuple(items) => {
                Some(self.tuple_layout(items).0.into_iter().zip(items.iter().cloned()).collect())
            }
            Type::Record(id) if self.record(*id).is_literal() => {
                let fields = self.record(*id).fields.iter().flatten();
                Some(fields.map(|f| (f.offset, f.ty.clone())).collect())
            }
            _ => None,
        }
    }

    /// Alignment of a value of the type in memory of ours: 1, 2, 4 or 8.
    #[must_use]
    pub fn align_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::Void | Type::Bool | Type::Str { .. } => 1,
            Type::Int { size, .. } | Type::Enum { size, .. } => u32::from(*size),
            Type::Buffer { .. } => 4,
            Type::Array { element, .. } => self.align_of(element),
            Type::Tuple(items) => items.iter().map(|t| self.align_of(t)).max().unwrap_or(1),
            _ => 8,
        }
    }

    /// Offsets of a tuple's elements, and its size, padded to its alignment. Padding is always zero: tuples are map keys.
    #[must_use]
    pub fn tuple_layout(&self, items: &[Type]) -> (Vec<u32>, u32) {
        let mut offsets = Vec::with_capacity(items.len());
        let (mut end, mut align) = (0u32, 1u32);
        for item in items {
            let a = self.align_of(item);
            end = round_up(end, a);
            offsets.push(end);
            end = end.saturating_add(self.size_of(item));
            align = align.max(a);
        }
        (offsets, round_up(end, align))
    }
}

/// Scripts can name types of any size; those that are too large for 32 bits have the largest size there is.
fn round_up(size: u32, align: u32) -> u32 {
    size.checked_next_multiple_of(align).unwrap_or(u32::MAX)
}
