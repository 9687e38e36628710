//! The nouns that cross crate borders: spans, diagnostics, attach points, programs, maps, plans, values.
//!
//! Nothing here does I/O, asks the kernel or reads a clock, and no function in this crate can fail for a
//! reason outside the process. Behaviour lives in the crates that own it; this one only lets them agree.

mod attach;
mod diag;
mod plan;
mod program;
mod shape;
mod span;
mod value;

pub use attach::{AttachPoint, HardwareEvent, Period, SoftwareEvent};
pub use diag::{Diagnostic, Diagnostics, Label, Severity};
pub use plan::{
    Action, COUNTERS, ConfigValues, Counter, EventSchema, FormatArg, JoinRecord, MapRole, MapValue,
    MissingProbes, Plan, ProbeInfo, STACK_STORE_KEY_SIZE, StackMode, UserMap,
};
pub use program::{
    Attachment, FunctionInfo, Insn, LineInfo, MapIdx, MapKind, MapRef, MapRefKind, MapSpec, Program,
    ProgramIdx, ProgramKind,
};
pub use shape::{EnumDef, EnumIdx, Field, Shape};
pub use span::{FileId, LineCol, SourceFile, SourceMap, Span};
pub use value::{Aggregate, Frame, Value};
