//! Plan → loaded, attached, read, torn down: one session from its first map to its last record.
//!
//! ```text
//! Session::load      limits, maps, programs            nothing runs yet
//! Session::attach    begin programs run, then everything is attached in firing order
//! Session::run       records go to the sink until something ends the session; then detach, drain, end programs, drain
//! Session::maps, losses, costs                         what is left to read
//! drop               everything is gone
//! ```
//!
//! This crate prints nothing and knows no source text except through spans: what records mean is the sink's business.
//! It carries out what touches the kernel (`clear`, `zero`, `exit`, reading and adding up maps).

mod attach;
mod error;
mod losses;
mod maps;
mod pace;
mod reduce;
mod run;
mod session;
mod sink;
mod verdict;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use losses::{ProbeLoss, ProgramCost};
pub use maps::{MapEntry, MapReader};
pub use reduce::MapCell;
pub use run::{EndReason, Outcome};
pub use session::{AttachFailure, AttachReport, Options, Session};
pub use sink::EventSink;
pub use strix_sys::{Child, Kernel, Kind, LiveKernel, SysError, caps, tracefs};
