//! The built-in variables and functions by identity. What each means to the type check is in this folder, one file a family; what code
//! each becomes is in `lower`, which matches these enums exhaustively.

/// A built-in variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// User id.
    Uid,
    /// Group id.
    Gid,
    /// Monotonic nanoseconds since boot (boot time clock).
    Nsecs,
    /// Nanoseconds since the session began.
    Elapsed,
    /// CPU number.
    Cpu,
    /// Command name.
    Comm,
    /// Kernel stack with the default limit.
    Kstack,
    /// User stack with the default limit.
    Ustack,
    /// `arg0` …
    Arg(u8),
    /// Stack argument `sarg0` …
    Sarg(u8),
    /// Return value.
    Retval,
    /// Function the probe sits in.
    Func,
    /// Full name of the attach point.
    Probe,
    /// Current task.
    Curtask,
    /// Cgroup v2 id.
    Cgroup,
    /// Random 32 bits.
    Rand,
    /// Name of the user.
    Username,
    /// The attach point's arguments.
    Args,
    /// The program's context.
    Ctx,
    /// Pid of the `-c` child.
    Cpid,
    /// NUMA node.
    Numaid,
    /// Jiffies.
    Jiffies,
    /// Number of CPUs.
    Ncpus,
    /// Parent process id.
    Ppid,
    /// Command name of the parent.
    Pcomm,
}

/// A built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Formatted output.
    Printf,
    /// Print a value or map.
    Print,
    /// Empty a map.
    Clear,
    /// Set all values of a map to zero.
    Zero,
    /// Remove a key.
    Delete,
    /// Whether a key is there.
    HasKey,
    /// Entries of a map, frames of a stack.
    Len,
    /// String from memory.
    Str,
    /// Bytes from memory.
    Buf,
    /// Network address for printing.
    Ntop,
    /// Network address from text.
    Pton,
    /// Kernel stack.
    Kstack,
    /// User stack.
    Ustack,
    /// Kernel symbol.
    Ksym,
    /// User symbol.
    Usym,
    /// Address of a kernel symbol.
    Kaddr,
    /// Address of a user symbol.
    Uaddr,
    /// Register by name.
    Reg,
    /// Print the wall clock.
    Time,
    /// Format a timestamp.
    Strftime,
    /// Print an array of strings.
    Join,
    /// Print a file.
    Cat,
    /// Run a shell command.
    System,
    /// End the session.
    Exit,
    /// Compare strings.
    Strncmp,
    /// Search in a string.
    Strcontains,
    /// Length of a string.
    Strlen,
    /// Send a signal to the current process.
    Signal,
    /// Id of a cgroup by path.
    Cgroupid,
    /// Path of a cgroup by id.
    CgroupPath,
    /// Hardware address.
    Macaddr,
    /// Reverse bytes.
    Bswap,
    /// Mark a pointer as kernel memory.
    Kptr,
    /// Mark a pointer as user memory.
    Uptr,
    /// Clock by name.
    Nsecs,
    /// Count events.
    Count,
    /// Add up.
    Sum,
    /// Average.
    Avg,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Count, average and total.
    Stats,
    /// Power-of-two histogram.
    Hist,
    /// Linear histogram.
    Lhist,
}
