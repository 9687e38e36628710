//! From the intermediate representation to eBPF bytecode.
//!
//! The front end builds an [`ir::Module`] for each program; this crate verifies it, optimises it, gives every virtual register a
//! machine register or a stack slot, lays out memory, and emits instructions with line information. It knows nothing
//! of the trace language, of maps' meaning or of the running kernel.

mod bitset;
pub mod helper;
pub mod ir;
pub mod opt;
