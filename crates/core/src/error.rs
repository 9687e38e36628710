//! Why a session could not be had, in terms of probes.

use strix_model::Span;
use strix_sys::SysError;

/// A session that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A map could not be made.
    #[error("cannot create map {name}: {source}")]
    Map {
        /// Its name.
        name: String,
        /// Why.
        source: SysError,
    },
    /// The verifier turned a program down.
    #[error("the kernel refused probe {probe}: {reason}")]
    Rejected {
        /// Name of the program.
        program: String,
        /// The probe as written.
        probe: String,
        /// What the refused instruction came from; the probe where that is not known.
        span: Span,
        /// The refused instruction, where the log names it.
        instruction: Option<u32>,
        /// The verifier's complaint.
        reason: String,
        /// All it wrote.
        log: String,
    },
    /// A privilege is missing; the source names it.
    #[error("not allowed to {what}: {source}")]
    Denied {
        /// What was to be done.
        what: String,
        /// The probe it was for.
        span: Option<Span>,
        /// Why not.
        source: SysError,
    },
    /// This kernel lacks something.
    #[error("this kernel cannot {what}: {source}")]
    Unsupported {
        /// What was to be done.
        what: String,
        /// The probe it was for.
        span: Option<Span>,
        /// Why not.
        source: SysError,
    },
    /// A probe could not be attached.
    #[error("cannot attach {point}: {source}")]
    Attach {
        /// The attach point's full name.
        point: String,
        /// The probe.
        span: Span,
        /// Why.
        source: SysError,
    },
    /// A begin or end program could not be run.
    #[error("cannot run {probe}: {source}")]
    Run {
        /// The probe as written.
        probe: String,
        /// The probe.
        span: Span,
        /// Why.
        source: SysError,
    },
    /// A map or the ring could not be read.
    #[error("cannot read what was traced: {0}")]
    Read(#[source] SysError),
    /// The command could not be run.
    #[error("cannot run the command: {0}")]
    Command(#[source] SysError),
    /// The process to watch cannot be watched.
    #[error("cannot watch the process: {0}")]
    Watch(#[source] SysError),
    /// Timers, signals or readiness are not to be had.
    #[error("cannot wait for events: {0}")]
    Wait(#[source] std::io::Error),
    /// Results could not be written.
    #[error("cannot write results: {0}")]
    Output(#[source] std::io::Error),
    /// The plan contradicts itself; a bug of ours.
    #[error("the plan makes no sense: {0}")]
    Plan(String),
}
