//! What bytes that come back from the kernel mean: the layout of one value in a record, a map key or a map value.
//!
//! The compiler gives every value it sends to user space a shape, so that nobody who decodes bytes has to look at the script again.
//! All numbers are in the machine's byte order.

/// Index into [`crate::Plan::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnumIdx(pub u32);

/// Names of an enum's values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnumDef {
    /// `enum` tag; may be empty.
    pub name: String,
    /// Value and name, in declaration order.
    pub variants: Vec<(i64, String)>,
}

/// A shape at a byte offset; `name` is empty for tuple elements and arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Field name, for structs.
    pub name: String,
    /// Bytes from the start of the enclosing value.
    pub offset: u32,
    /// Meaning.
    pub shape: Shape,
}

/// Meaning of a run of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Nothing (a scalar map has no key).
    Unit,
    /// Integer.
    Int {
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Bit-field: `bits` bits, `shift` bits above the least significant one of a word of `size` bytes.
    Bits {
        /// Bytes of the word: 1, 2, 4 or 8.
        size: u8,
        /// Bits below the field.
        shift: u8,
        /// Width.
        bits: u8,
        /// Two's complement.
        signed: bool,
    },
    /// One byte, zero is false.
    Bool,
    /// Integer with names.
    Enum {
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
        /// Two's complement.
        signed: bool,
        /// The names.
        names: EnumIdx,
    },
    /// 8 bytes, shown in hexadecimal.
    Pointer,
    /// Up to `cap` bytes, ended by a NUL unless full.
    Str {
        /// Bytes reserved; a string that fills them without a NUL was cut.
        cap: u32,
    },
    /// `u32` length, then up to `cap` bytes.
    Buffer {
        /// Bytes reserved after the length.
        cap: u32,
    },
    /// `u64` id of a stack in the plan's stack store (0: not taken, -ERRNO as a negative number: why); 8 bytes.
    KernelStack {
        /// Most frames asked for.
        limit: u16,
        /// How it prints.
        mode: crate::StackMode,
    },
    /// `u64` id as for kernel stacks, `u32` pid, `u32` padding; 16 bytes.
    UserStack {
        /// Most frames asked for.
        limit: u16,
        /// How it prints.
        mode: crate::StackMode,
    },
    /// `u64` kernel address, shown as a symbol.
    KernelSymbol,
    /// `u64` user address, `u32` pid, `u32` padding; shown as a symbol; 16 bytes.
    UserSymbol,
    /// `u64` kernel or user instruction address of the probed function, shown as the bare function name (`func`). The `u32` pid
    /// after it is 0 for kernel addresses; 16 bytes.
    Function,
    /// `u64` address family (2 or 10), then 16 bytes of address in network order; 24 bytes.
    Inet,
    /// 6 bytes of hardware address, shown `AA:BB:CC:DD:EE:FF`; 2 bytes padding.
    Mac,
    /// `u64` nanoseconds of a clock, shown by `format` (strftime, with `%f`).
    Timestamp {
        /// strftime format.
        format: String,
        /// `CLOCK_BOOTTIME` (7) or `CLOCK_MONOTONIC` (1).
        clock: u8,
    },
    /// `u64` user id, shown as the user's name.
    Username,
    /// `u64` index into [`crate::Plan::probe_names`].
    ProbeName,
    /// `u64` cgroup id, shown as its path.
    CgroupPath,
    /// `i64` that is shown by name, also where other enums are numbers.
    Named {
        /// The names.
        names: EnumIdx,
    },
    /// Fields in order, shown in parentheses.
    Tuple {
        /// Elements; offsets ascend.
        fields: Vec<Field>,
        /// Bytes in all.
        size: u32,
    },
    /// A C struct or union, shown with field names.
    Struct {
        /// Named fields; offsets ascend.
        fields: Vec<Field>,
        /// Bytes in all.
        size: u32,
    },
    /// `len` elements of one shape, one after the other.
    Array {
        /// Element.
        element: Box<Shape>,
        /// How many.
        len: u32,
    },
}

impl Shape {
    /// Bytes the value takes.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Self::Unit => 0,
            Self::Bool => 1,
            Self::Int { size, .. } | Self::Bits { size, .. } | Self::Enum { size, .. } => u32::from(*size),
            Self::Str { cap } => *cap,
            Self::Buffer { cap } => cap + 4,
            Self::Pointer
            | Self::KernelStack { .. }
            | Self::KernelSymbol
            | Self::Mac
            | Self::Timestamp { .. }
            | Self::Username
            | Self::ProbeName
            | Self::CgroupPath
            | Self::Named { .. } => 8,
            Self::UserStack { .. } | Self::UserSymbol | Self::Function => 16,
            Self::Inet => 24,
            Self::Tuple { size, .. } | Self::Struct { size, .. } => *size,
            Self::Array { element, len } => element.size() * len,
        }
    }
}
