//! What can be wrong with a program that passed the front end.

use strix_model::Span;
use thiserror::Error;

use crate::ir::verify::VerifyError;

/// Why a program cannot be compiled, and where in the script the reason is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct CodegenError {
    /// Where.
    pub span: Span,
    /// What.
    pub kind: ErrorKind,
}

/// Why a program cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ErrorKind {
    /// What must be on the stack does not fit.
    #[error(
        "this probe needs {needed} bytes of kernel stack and has {limit}: use fewer variables, or fewer or smaller map keys and values in one statement"
    )]
    StackExhausted {
        /// Bytes needed.
        needed: u32,
        /// Bytes there are.
        limit: u32,
    },
    /// Local memory does not even fit a per-CPU map.
    #[error(
        "this probe needs {size} bytes of working memory and can have {limit}: lower max_strlen or use fewer strings and stacks in one probe"
    )]
    ScratchTooLarge {
        /// Bytes needed.
        size: u32,
        /// Bytes there can be.
        limit: u32,
    },
    /// More instructions than the kernel takes.
    #[error(
        "this probe compiles to {insns} instructions and the kernel takes {limit}: unroll less or split the probe"
    )]
    ProgramTooLarge {
        /// Instructions.
        insns: u32,
        /// Most.
        limit: u32,
    },
    /// Code whose analysis would take too much time and memory.
    #[error("this probe is too long: unroll less, or split it into several")]
    TooMuchCode,
    /// A jump over more than 32767 instructions.
    #[error("this probe is too long for a jump over it (32767 instructions): unroll less or split the probe")]
    JumpTooFar,
    /// The front end built something that is not well formed.
    #[error("internal error: malformed code: {0}")]
    Malformed(#[from] VerifyError),
    /// Register allocation did not come to an end.
    #[error("internal error: no registers left")]
    RegisterAllocation,
}

impl From<VerifyError> for CodegenError {
    fn from(error: VerifyError) -> Self {
        Self { span: error.span, kind: ErrorKind::Malformed(error) }
    }
}
