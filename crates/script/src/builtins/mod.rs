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

/// Built-in variables by name; `argN` and `sargN` are numbered.
const VARIABLE_NAMES: &[(&str, Variable)] = &[
    ("pid", Variable::Pid),
    ("tid", Variable::Tid),
    ("uid", Variable::Uid),
    ("gid", Variable::Gid),
    ("nsecs", Variable::Nsecs),
    ("elapsed", Variable::Elapsed),
    ("cpu", Variable::Cpu),
    ("comm", Variable::Comm),
    ("kstack", Variable::Kstack),
    ("ustack", Variable::Ustack),
    ("retval", Variable::Retval),
    ("func", Variable::Func),
    ("probe", Variable::Probe),
    ("curtask", Variable::Curtask),
    ("cgroup", Variable::Cgroup),
    ("rand", Variable::Rand),
    ("username", Variable::Username),
    ("args", Variable::Args),
    ("ctx", Variable::Ctx),
    ("cpid", Variable::Cpid),
    ("numaid", Variable::Numaid),
    ("jiffies", Variable::Jiffies),
    ("ncpus", Variable::Ncpus),
    ("ppid", Variable::Ppid),
    ("pcomm", Variable::Pcomm),
];

/// Built-in functions by name.
const FUNCTION_NAMES: &[(&str, Function)] = &[
    ("printf", Function::Printf),
    ("print", Function::Print),
    ("clear", Function::Clear),
    ("zero", Function::Zero),
    ("delete", Function::Delete),
    ("has_key", Function::HasKey),
    ("len", Function::Len),
    ("str", Function::Str),
    ("buf", Function::Buf),
    ("ntop", Function::Ntop),
    ("pton", Function::Pton),
    ("kstack", Function::Kstack),
    ("ustack", Function::Ustack),
    ("ksym", Function::Ksym),
    ("usym", Function::Usym),
    ("kaddr", Function::Kaddr),
    ("uaddr", Function::Uaddr),
    ("reg", Function::Reg),
    ("time", Function::Time),
    ("strftime", Function::Strftime),
    ("join", Function::Join),
    ("cat", Function::Cat),
    ("system", Function::System),
    ("exit", Function::Exit),
    ("strncmp", Function::Strncmp),
    ("strcontains", Function::Strcontains),
    ("strlen", Function::Strlen),
    ("signal", Function::Signal),
    ("cgroupid", Function::Cgroupid),
    ("cgroup_path", Function::CgroupPath),
    ("macaddr", Function::Macaddr),
    ("bswap", Function::Bswap),
    ("kptr", Function::Kptr),
    ("uptr", Function::Uptr),
    ("nsecs", Function::Nsecs),
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("avg", Function::Avg),
    ("min", Function::Min),
    ("max", Function::Max),
    ("stats", Function::Stats),
    ("hist", Function::Hist),
    ("lhist", Function::Lhist),
];

/// The built-in variable of this name: also `arg0` to `arg255` and `sarg0` to `sarg255`.
#[must_use]
pub fn variable_by_name(name: &str) -> Option<Variable> {
    if let Some((_, variable)) = VARIABLE_NAMES.iter().find(|(n, _)| *n == name) {
        return Some(*variable);
    }
    let number = |prefix| {
        let digits: &str = name.strip_prefix(prefix)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        digits.parse::<u8>().ok().filter(|_| canonical && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    number("arg").map(Variable::Arg).or_else(|| number("sarg").map(Variable::Sarg))
}

/// The built-in function of this name.
#[must_use]
pub fn function_by_name(name: &str) -> Option<Function> {
    FUNCTION_NAMES.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
}

/// Names of all built-in variables but the numbered ones.
pub fn variable_names() -> impl Iterator<Item = &'static str> {
    VARIABLE_NAMES.iter().map(|(n, _)| *n)
}

/// Names of all built-in functions.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTION_NAMES.iter().map(|(n, _)| *n)
}
