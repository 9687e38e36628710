//! Addresses → functions, for the kernel and for processes; users and cgroups → names.
//!
//! Nothing is read until something is asked, and what was read is kept within fixed bounds. Whatever cannot be found is `None`:
//! a missing name is never an error, but [`Symbolizer::problems`] says once why names of a whole kind are missing.
//! Text comes from traced processes and may hold anything; this crate does not make it harmless, who prints it does.

mod build_id;
mod cgroup;
mod demangle;
mod dso;
mod kallsyms;
mod maps;
mod perfmap;
mod process;
mod symbolizer;
mod users;

pub use kallsyms::{Kallsyms, KallsymsEntry};
pub use maps::{Mapping, parse_maps};
pub use perfmap::PerfMap;
pub use symbolizer::{Options, Symbolizer};
