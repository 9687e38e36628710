//! The kernel's doors, and the only crate that says `unsafe`: bpf(2), perf_event_open(2), ring mappings, fork.
//!
//! [`Kernel`] is what a session needs of the kernel, with two implementations: [`LiveKernel`] asks the running one, and
//! `fake::FakeKernel` (feature `fake`) answers from tables, so that attach order, teardown and fallbacks can be tested
//! without privileges. What has no second implementation (children, capabilities, mounts) is a plain function or type.
//!
//! This crate decides nothing: it does not know probes, scripts or output. Every descriptor is owned and closed on
//! drop, nothing is pinned, and every error says what was asked of which object.

mod bpf;
pub mod caps;
mod child;
mod close;
mod cpus;
mod error;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod kernel;
mod limits;
mod live;
mod mapping;
mod perf;
mod process;
mod readable;
mod ring;
pub mod tracefs;
mod value;

pub use bpf::{BpfIds, LinkInfo, MapInfo, ids, link_info, map_info};
pub use child::Child;
pub use cpus::{online_cpus, possible_cpus};
pub use error::{Kind, LoadError, Result, SysError};
pub use kernel::{
    Entries, Kernel, KprobePlace, LinkSpec, Loaded, LogRequest, Map, PerfEvent, PerfSource, PerfTarget,
    Places, ProgramInfo, ProgramLoad, TracingHook,
};
pub use limits::{Raised, raise_limits};
pub use live::LiveKernel;
pub use process::{HeldSignals, Pidfd, end_at_second, hold_signals, is_ignored, threads};
pub use readable::Readable;
pub use ring::{Drained, Ring};
pub use value::SharedWord;
