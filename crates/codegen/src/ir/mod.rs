//! The intermediate representation: functions of basic blocks over virtual registers.
//!
//! Registers are mutable (this is not SSA): the front end assigns a script variable's register as often as the script
//! does. Every value is 64 bits wide; narrower values are kept extended as their type says. Memory is reached only through
//! pointers: the context, slots (local memory that the back end places on the stack or in a scratch map), map values and ring
//! records. Every instruction carries the span of the script it comes from.

pub mod builder;
pub mod eval;
pub(crate) mod flow;
pub mod interp;
pub mod parse;
pub mod print;
#[cfg(test)]
pub(crate) mod sample;
pub mod verify;
mod visit;

use std::fmt;

use strix_model::{MapIdx, Span};

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vreg(pub u32);

impl Vreg {
    /// The place `off` bytes from the pointer in this register.
    #[must_use]
    pub fn at(self, off: i32) -> Addr {
        Addr { base: self, off }
    }
}

/// A basic block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A piece of local memory of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// A function of a module; 0 is the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(pub u32);

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Vreg),
    /// A constant.
    Imm(i64),
}

impl From<Vreg> for Operand {
    fn from(reg: Vreg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i64> for Operand {
    fn from(imm: i64) -> Self {
        Self::Imm(imm)
    }
}

/// Two-operand arithmetic on 64 bits. Division by zero gives 0 and remainder by zero the dividend, as eBPF has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient.
    Udiv,
    /// Unsigned remainder.
    Umod,
    /// Signed quotient, rounded towards zero.
    Sdiv,
    /// Signed remainder, with the dividend's sign.
    Smod,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one.
    Xor,
    /// Shift left; the count is taken modulo 64.
    Shl,
    /// Shift right, zeroes in.
    Lshr,
    /// Shift right, sign in.
    Ashr,
}

/// A comparison of 64-bit values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cond {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less.
    Ult,
    /// Unsigned less or equal.
    Ule,
    /// Unsigned greater.
    Ugt,
    /// Unsigned greater or equal.
    Uge,
    /// Signed less.
    Slt,
    /// Signed less or equal.
    Sle,
    /// Signed greater.
    Sgt,
    /// Signed greater or equal.
    Sge,
    /// Any common bit set.
    Set,
}

/// Width of a memory access in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// 1 byte.
    B1,
    /// 2 bytes.
    B2,
    /// 4 bytes.
    B4,
    /// 8 bytes.
    B8,
}

impl Size {
    /// The width of this many bytes.
    #[must_use]
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            1 => Some(Self::B1),
            2 => Some(Self::B2),
            4 => Some(Self::B4),
            8 => Some(Self::B8),
            _ => None,
        }
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::B2 => 2,
            Self::B4 => 4,
            Self::B8 => 8,
        }
    }
}

/// A memory place: `[base + off]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addr {
    /// Pointer register.
    pub base: Vreg,
    /// Bytes added.
    pub off: i32,
}

/// An atomic read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Addition.
    Add,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
    /// Exchange (always with a result).
    Xchg,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `dst = src`.
    Copy {
        /// Result.
        dst: Vreg,
        /// Source.
        src: Operand,
    },
    /// `dst = lhs op rhs`.
    Bin {
        /// Result.
        dst: Vreg,
        /// Operation.
        op: BinOp,
        /// Left operand.
        lhs: Operand,
        /// Right operand.
        rhs: Operand,
    },
    /// `dst = (lhs cond rhs) ? 1 : 0`.
    Cmp {
        /// Result.
        dst: Vreg,
        /// Comparison.
        cond: Cond,
        /// Left operand.
        lhs: Operand,
        /// Right operand.
        rhs: Operand,
    },
    /// `dst = -src`.
    Neg {
        /// Result.
        dst: Vreg,
        /// Source.
        src: Operand,
    },
    /// The low bytes of `src`, extended to 64 bits.
    Extend {
        /// Result.
        dst: Vreg,
        /// Source.
        src: Operand,
        /// How many low bytes count.
        from: Size,
        /// Extend the sign.
        signed: bool,
    },
    /// The low `size` bytes of `src` in the other byte order, zero-extended.
    Bswap {
        /// Result.
        dst: Vreg,
        /// Source.
        src: Vreg,
        /// How many bytes: 2, 4 or 8.
        size: Size,
    },
    /// `dst = *(size *)addr`, extended.
    Load {
        /// Result.
        dst: Vreg,
        /// Place.
        addr: Addr,
        /// Width.
        size: Size,
        /// Extend the sign.
        signed: bool,
    },
    /// `*(size *)addr = src`.
    Store {
        /// Place.
        addr: Addr,
        /// Width.
        size: Size,
        /// Value.
        src: Operand,
    },
    /// Atomic read-modify-write of 4 or 8 bytes. With `fetch` the old value is given (kernel v5.12).
    Atomic {
        /// Operation.
        op: AtomicOp,
        /// Where the old value goes.
        fetch: Option<Vreg>,
        /// Place.
        addr: Addr,
        /// Width.
        size: Size,
        /// Operand.
        src: Operand,
    },
    /// `memcpy(dst, src, len)` with a constant length; both sides are memory a program may access directly.
    CopyMem {
        /// To.
        dst: Addr,
        /// From.
        src: Addr,
        /// Bytes.
        len: u32,
        /// What both addresses are known to be aligned to: 1, 2, 4 or 8.
        align: u8,
    },
    /// `memset(dst, 0, len)` with a constant length.
    ZeroMem {
        /// Where.
        dst: Addr,
        /// Bytes.
        len: u32,
        /// Known alignment: 1, 2, 4 or 8.
        align: u8,
    },
    /// Address of local memory.
    SlotAddr {
        /// Result.
        dst: Vreg,
        /// Which.
        slot: SlotId,
    },
    /// A map, for helpers that take one.
    MapPtr {
        /// Result.
        dst: Vreg,
        /// Which.
        map: MapIdx,
    },
    /// Address inside the only value of an array map.
    MapValuePtr {
        /// Result.
        dst: Vreg,
        /// Which.
        map: MapIdx,
        /// Bytes into the value.
        off: u32,
    },
    /// A function, for helpers that take a callback.
    FuncPtr {
        /// Result.
        dst: Vreg,
        /// Which.
        func: FuncId,
    },
    /// `dst = helper(args…)`, at most five arguments. `pure` calls may be dropped when the result is unused.
    Call {
        /// Result.
        dst: Option<Vreg>,
        /// Helper number (`enum bpf_func_id`).
        helper: u32,
        /// Arguments.
        args: Vec<Operand>,
        /// Without effects other than the result.
        pure: bool,
    },
    /// `dst = kfunc(args…)`: a kernel function by its BTF id (kernel v5.18 for tracing programs).
    CallKfunc {
        /// Result.
        dst: Option<Vreg>,
        /// BTF id in vmlinux.
        btf_id: u32,
        /// Arguments.
        args: Vec<Operand>,
    },
}

/// An operation and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// What.
    pub op: Op,
    /// Where in the script.
    pub span: Span,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// Go on at the block.
    Jump(BlockId),
    /// Go on at `then` if the comparison holds, else at `els`.
    Branch {
        /// Comparison.
        cond: Cond,
        /// Left operand.
        lhs: Operand,
        /// Right operand.
        rhs: Operand,
        /// Taken when it holds.
        then: BlockId,
        /// Taken when not.
        els: BlockId,
        /// Whether `then` is seldom taken, so that its code goes out of line.
        unlikely: bool,
    },
    /// Leave the function.
    Return(Operand),
}

/// A straight run of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// The end.
    pub term: Terminator,
    /// Where the end comes from.
    pub term_span: Span,
}

/// Local memory. Its content is undefined at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Bytes.
    pub size: u32,
    /// Alignment: 1, 2, 4 or 8.
    pub align: u8,
    /// It must be on the stack: its address is given to something that the verifier wants to be stack, or pointers are kept in it.
    pub stack_only: bool,
    /// For reading dumps.
    pub name: String,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Registers that hold the arguments on entry, at most five.
    pub params: Vec<Vreg>,
    /// Number of virtual registers.
    pub vregs: u32,
    /// Local memory.
    pub slots: Vec<Slot>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A program: its entry function and the callbacks it hands to helpers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Functions; the first is the entry, which gets the context.
    pub functions: Vec<Function>,
}

impl fmt::Display for Vreg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(reg) => reg.fmt(f),
            Self::Imm(imm) => imm.fmt(f),
        }
    }
}
