//! What a compilation depends on besides the script and the kernel.

/// Settings of one compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Positional parameters, `$1` first.
    pub params: Vec<String>,
    /// Named parameters (`--name`, `--name=value` after `--`), for `getopt`.
    pub named_params: Vec<(String, Option<String>)>,
    /// Trace only this process (`-p`).
    pub pid: Option<u32>,
    /// The traced child (`-c`): what `cpid` gives.
    pub child_pid: Option<u32>,
    /// User probes go by links of their own kind, where the kernel has them, even a single one: perf events for them take
    /// CAP_SYS_ADMIN since v6.17, links take CAP_BPF and CAP_PERFMON.
    pub uprobe_links: bool,
    /// Functions that change the system may be used (`--unsafe`).
    pub unsafe_mode: bool,
    /// Count runs and filtered runs of each probe; costs a few nanoseconds an event.
    pub count_runs: bool,
    /// Configuration from the environment: lower-case key and value, in effect over the script's own block.
    pub config: Vec<(String, String)>,
    /// Monotonic nanoseconds of the session's start, for `elapsed`.
    pub start_ns: u64,
    /// Device and inode of the pid namespace that strix runs in, unless it is the initial one: process ids are those of that namespace.
    pub pid_namespace: Option<(u64, u64)>,
    /// Process id of strix itself.
    pub own_pid: u32,
    /// Possible CPUs of the machine.
    pub cpus: u32,
}
