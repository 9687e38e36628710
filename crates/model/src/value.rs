//! Values as user space has them once bytes were decoded and addresses were given names.

/// A decoded value, ready to print.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// Signed integer.
    Int(i64),
    /// Unsigned integer.
    Uint(u64),
    /// Truth value.
    Bool(bool),
    /// Pointer, shown in hexadecimal.
    Pointer(u64),
    /// Integer with a name; JSON shows the number.
    Enum {
        /// The number.
        value: i64,
        /// Its name, when it has one.
        name: Option<String>,
    },
    /// Text as it came; may hold anything a traced process puts there.
    Str(Vec<u8>),
    /// Bytes that print escaped.
    Buffer(Vec<u8>),
    /// Text that strix made: symbols, addresses, user names, times. `number` is what it was made from.
    Named {
        /// Shown text.
        text: String,
        /// The raw number (`%d`, `%x`, sorting).
        number: u64,
    },
    /// A stack, formatted one line an entry, leaf first; each line carries the indentation of its mode.
    Stack(Vec<String>),
    /// Parenthesised values.
    Tuple(Vec<Value>),
    /// Named values.
    Struct(Vec<(String, Value)>),
    /// Values in brackets.
    Array(Vec<Value>),
}

/// One function at an address, as a symbolizer finds it. An address inside inlined code has several: the inlined ones
/// first, the function that holds the instruction last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Name, demangled if that was asked for.
    pub function: String,
    /// Bytes from the function's start; 0 for inlined ones.
    pub offset: u64,
    /// Kernel module without brackets, or path of the DSO.
    pub module: Option<String>,
    /// `file:line`, where debug information has it.
    pub source: Option<String>,
    /// Inlined into the next one.
    pub inlined: bool,
}

/// A map value, added up over the CPUs.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// Not an aggregation.
    Plain(Value),
    /// `count`, unsigned `sum`, `min`, `max`.
    Unsigned(u64),
    /// Signed `sum`, `min`, `max`.
    Signed(i64),
    /// `avg` and `stats`: the total is signed or unsigned as the script's values are.
    Stats {
        /// Values seen.
        count: u64,
        /// Their sum, as bits.
        total: u64,
        /// How to read `total`.
        signed: bool,
        /// Only the average is shown.
        average_only: bool,
    },
    /// `hist`: the count of every bucket.
    Hist {
        /// See [`crate::MapValue::Hist`].
        bits: u8,
        /// All buckets.
        buckets: Vec<u64>,
    },
    /// `lhist`: the count of every bucket.
    Lhist {
        /// See [`crate::MapValue::Lhist`].
        min: i64,
        /// See [`crate::MapValue::Lhist`].
        max: i64,
        /// See [`crate::MapValue::Lhist`].
        step: i64,
        /// All buckets.
        buckets: Vec<u64>,
    },
}
