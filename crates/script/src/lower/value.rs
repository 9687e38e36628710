//! What an expression was lowered to: a register, memory of ours, or an address of memory that must be read by a helper.

use strix_codegen::ir::{Addr, Operand, Vreg};

use crate::types::Space;

/// Memory that the program may load from: a slot, a map value, a ring record or the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: Vreg,
    pub(super) off: i32,
    /// What the base is aligned to: 8, or 1 when not known.
    pub(super) base_align: u8,
    /// It is the context: helpers take no pointer to it, and it cannot be written.
    pub(super) context: bool,
}

impl Place {
    /// Memory of ours at an aligned pointer.
    pub(super) fn new(base: Vreg) -> Self {
        Self { base, off: 0, base_align: 8, context: false }
    }

    /// The place `off` bytes further on.
    pub(super) fn at(self, off: u32) -> Self {
        Self { off: self.off + off as i32, ..self }
    }

    pub(super) fn addr(self) -> Addr {
        Addr { base: self.base, off: self.off }
    }

    /// What the place is known to be aligned to.
    pub(super) fn align(self) -> u8 {
        if self.base_align == 1 {
            return 1;
        }
        match self.off.trailing_zeros() {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => 8,
        }
    }
}

/// Memory of the kernel or of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) base: Operand,
    pub(super) off: i64,
    pub(super) space: Space,
}

/// A lowered expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing.
    Unit,
    /// A value of 64 bits, extended as its type says.
    Scalar(Operand),
    /// A value in memory of ours.
    Memory(Place),
    /// A value in memory that a helper must read.
    Remote(Remote),
    /// A string literal that no memory holds yet.
    Text(String),
}
