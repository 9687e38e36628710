//! The trace language's meaning: a syntax tree and what is true of the kernel → a plan.
//!
//! Pure: it opens no file, reads no clock and calls no kernel; what it must know comes from [`strix_facts::KernelFacts`] and [`Options`].
//! The stages and their types: `resolve` gives [`hir::Hir`] (names are ids, attach points concrete), `check` gives [`hir::Typed`]
//! (every expression has a type; the gate after which a failure is a defect of ours), `lower` gives IR, and `strix_codegen` bytecode.

pub mod builtins;
pub mod check;
pub mod hir;
pub mod limits;
pub mod lower;
mod options;
pub mod pipeline;
pub mod resolve;
pub mod types;

pub use options::Options;
