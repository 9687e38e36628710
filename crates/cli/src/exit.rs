//! Exit codes; docs/exit-codes.md says when each is given.

/// All went well.
pub const SUCCESS: u8 = 0;
/// It could not be done.
pub const FAILURE: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// What bpftrace gives when loading, attaching or running fails.
pub const BPFTRACE_RUN_FAILED: u8 = 255;
