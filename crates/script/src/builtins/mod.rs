//! The built-in variables and functions by identity. What each means to the type check is in this folder, one file a family, beside the text
//! that documents it; what code each becomes is in `lower`, which matches these enums exhaustively.

mod aggregations;
mod maps;
mod memory;
mod net;
mod output;
mod probe;
mod process;
pub mod reference;
mod strings;
mod symbols;
mod system;
mod time;

use strix_model::Span;

use crate::check::{Call, Checker};
use crate::types::Type;

/// A built-in variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// Process id in the initial pid namespace.
    InitPid,
    /// Thread id in the initial pid namespace.
    InitTid,
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
    /// Where a string stands in another.
    Strstr,
    /// Room that a string has.
    Strcap,
    /// Two strings as one.
    StrConcat,
    /// Text of an error number.
    Strerror,
    /// Text of a signal number.
    SignalName,
    /// Name of a system call number.
    SyscallName,
    /// Formatted error message.
    Errorf,
    /// Formatted warning.
    Warnf,
    /// Send a signal to the current process.
    Signal,
    /// Send a signal to the current thread.
    SignalThread,
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

/// What a function is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its value.
    Value,
    /// Its effect; it has no value.
    Effect,
    /// Both.
    Both,
    /// To be assigned to a map.
    Aggregation,
}

/// A built-in function: how it is called, and what the type check has to say about that.
pub struct FunctionInfo {
    /// Identity.
    pub function: Function,
    /// Name in scripts.
    pub name: &'static str,
    /// How it is called, arguments in brackets being optional: `str(pointer[, length])`.
    pub usage: &'static str,
    /// What it does, in Markdown.
    pub doc: &'static str,
    /// Least and most arguments.
    pub args: (u8, u8),
    /// What it is called for.
    pub purpose: Purpose,
    /// It changes the system, and needs `--unsafe`.
    pub unsafe_only: bool,
    /// Features of [`strix_facts::Features`] that the kernel must have.
    pub needs: &'static [&'static str],
    /// Checks the arguments and gives the type.
    pub(crate) check: fn(&mut Checker<'_>, &Call<'_>) -> Type,
}

impl FunctionInfo {
    /// Whether it has no value.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.purpose == Purpose::Effect
    }

    /// Whether it is an aggregation.
    #[must_use]
    pub fn is_aggregation(&self) -> bool {
        self.purpose == Purpose::Aggregation
    }

    /// A function with no arguments, for its value.
    const BASE: Self = Self {
        function: Function::Count,
        name: "",
        usage: "",
        doc: "",
        args: (0, 0),
        purpose: Purpose::Value,
        unsafe_only: false,
        needs: &[],
        check: |_, _| Type::Void,
    };
}

/// A built-in variable.
pub struct VariableInfo {
    /// Identity; the numbered ones are entered once, with number 0.
    pub variable: Variable,
    /// Name in scripts; `argN` for the numbered ones.
    pub name: &'static str,
    /// Its type, for people.
    pub ty: &'static str,
    /// What it is, in Markdown.
    pub doc: &'static str,
    /// Gives the type.
    pub(crate) check: fn(&mut Checker<'_>, Variable, Span) -> Type,
}

/// Built-ins that belong together.
pub struct Family {
    /// Heading.
    pub title: &'static str,
    /// Variables.
    pub variables: &'static [VariableInfo],
    /// Functions.
    pub functions: &'static [FunctionInfo],
}

/// All built-ins, in the order of the documentation.
pub static ALL: &[Family] = &[
    Family { title: "Process", variables: process::VARIABLES, functions: &[] },
    Family { title: "Probe", variables: probe::VARIABLES, functions: probe::FUNCTIONS },
    Family { title: "Time", variables: time::VARIABLES, functions: time::FUNCTIONS },
    Family { title: "Output", variables: &[], functions: output::FUNCTIONS },
    Family { title: "Maps", variables: &[], functions: maps::FUNCTIONS },
    Family { title: "Aggregations", variables: &[], functions: aggregations::FUNCTIONS },
    Family { title: "Strings", variables: &[], functions: strings::FUNCTIONS },
    Family { title: "Memory", variables: &[], functions: memory::FUNCTIONS },
    Family { title: "Stacks and symbols", variables: symbols::VARIABLES, functions: symbols::FUNCTIONS },
    Family { title: "Network", variables: &[], functions: net::FUNCTIONS },
    Family { title: "System", variables: system::VARIABLES, functions: system::FUNCTIONS },
];

/// Every function.
pub fn functions() -> impl Iterator<Item = &'static FunctionInfo> {
    ALL.iter().flat_map(|f| f.functions)
}

/// Every variable.
pub fn variables() -> impl Iterator<Item = &'static VariableInfo> {
    ALL.iter().flat_map(|f| f.variables)
}

/// What is known of a function.
///
/// # Panics
/// Never: a test makes sure that every one is in [`ALL`].
#[must_use]
pub fn function(function: Function) -> &'static FunctionInfo {
    functions().find(|i| i.function == function).expect("every function is in a family")
}

/// What is known of a variable.
///
/// # Panics
/// Never: a test makes sure that every one is in [`ALL`].
#[must_use]
pub fn variable(variable: Variable) -> &'static VariableInfo {
    let entered = match variable {
        Variable::Arg(_) => Variable::Arg(0),
        Variable::Sarg(_) => Variable::Sarg(0),
        other => other,
    };
    variables().find(|i| i.variable == entered).expect("every variable is in a family")
}

/// The built-in variable of this name: also `arg0` to `arg255` and `sarg0` to `sarg255`.
#[must_use]
pub fn variable_by_name(name: &str) -> Option<Variable> {
    let number = |prefix| {
        let digits: &str = name.strip_prefix(prefix)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        digits.parse::<u8>().ok().filter(|_| canonical && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let named = variables().find(|i| i.name == name && !is_numbered(i.variable)).map(|i| i.variable);
    named.or_else(|| number("arg").map(Variable::Arg)).or_else(|| number("sarg").map(Variable::Sarg))
}

fn is_numbered(variable: Variable) -> bool {
    matches!(variable, Variable::Arg(_) | Variable::Sarg(_))
}

/// The built-in function of this name.
#[must_use]
pub fn function_by_name(name: &str) -> Option<Function> {
    functions().find(|i| i.name == name).map(|i| i.function)
}

/// Names of all built-in variables but the numbered ones.
pub fn variable_names() -> impl Iterator<Item = &'static str> {
    variables().filter(|i| !is_numbered(i.variable)).map(|i| i.name)
}

/// Names of all built-in functions.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    functions().map(|i| i.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails to compile when a variant is added; then [`COUNTS`] has to follow.
    fn exhaustive(function: Function, variable: Variable) {
        use Function as F;
        match function {
            F::Printf | F::Print | F::Clear | F::Zero | F::Delete | F::HasKey | F::Len | F::Str | F::Buf => {}
            F::Ntop | F::Pton | F::Kstack | F::Ustack | F::Ksym | F::Usym | F::Kaddr | F::Uaddr | F::Reg => {}
            F::Time | F::Strftime | F::Join | F::Cat | F::System | F::Exit | F::Strncmp | F::Strcontains => {}
            F::Strstr | F::Strcap | F::StrConcat | F::Strerror | F::SignalName | F::SyscallName => {}
            F::Errorf | F::Warnf | F::SignalThread => {}
            F::Strlen
            | F::Signal
            | F::Cgroupid
            | F::CgroupPath
            | F::Macaddr
            | F::Bswap
            | F::Kptr
            | F::Uptr => {}
            F::Nsecs | F::Count | F::Sum | F::Avg | F::Min | F::Max | F::Stats | F::Hist | F::Lhist => {}
        }
        use Variable as V;
        match variable {
            V::Pid | V::Tid | V::Uid | V::Gid | V::Nsecs | V::Elapsed | V::Cpu | V::Comm | V::Kstack => {}
            V::Ustack | V::Arg(_) | V::Sarg(_) | V::Retval | V::Func | V::Probe | V::Curtask | V::Cgroup => {}
            V::Rand | V::Username | V::Args | V::Ctx | V::Cpid | V::Numaid | V::Jiffies | V::Ncpus => {}
            V::Ppid | V::Pcomm | V::InitPid | V::InitTid => {}
        }
    }

    /// Functions and variables in the enums.
    const COUNTS: (usize, usize) = (52, 29);

    #[test]
    fn every_variant_has_one_entry() {
        exhaustive(Function::Printf, Variable::Pid);
        let mut functions: Vec<String> = functions().map(|i| format!("{:?}", i.function)).collect();
        let mut variables: Vec<String> = variables().map(|i| format!("{:?}", i.variable)).collect();
        for list in [&mut functions, &mut variables] {
            list.sort();
            list.dedup();
        }
        assert_eq!((functions.len(), variables.len()), COUNTS);
        assert_eq!(super::functions().count(), COUNTS.0);
        assert_eq!(super::variables().count(), COUNTS.1);
    }

    #[test]
    fn entries_are_complete() {
        for info in functions() {
            assert!(info.usage.starts_with(info.name) && info.usage.ends_with(')'), "{}", info.usage);
            assert!(info.doc.ends_with('.') && info.args.0 <= info.args.1, "{}", info.name);
            let known = strix_facts::Features::default();
            assert!(info.needs.iter().all(|f| known.by_name(f).is_some()), "{}", info.name);
        }
        for info in variables() {
            assert!(info.doc.ends_with('.') && !info.ty.is_empty(), "{}", info.name);
        }
    }

    #[test]
    fn names() {
        assert_eq!(function_by_name("has_key"), Some(Function::HasKey));
        assert_eq!(function_by_name("pid"), None);
        assert_eq!(variable_by_name("nsecs"), Some(Variable::Nsecs));
        assert_eq!(variable_by_name("arg12"), Some(Variable::Arg(12)));
        assert_eq!(variable_by_name("arg012"), None);
        assert_eq!(variable_by_name("arg256"), None);
        assert_eq!(variable_by_name("arg+1"), None);
        assert_eq!(variable_by_name("argN"), None);
        assert_eq!(variable_by_name("sarg0"), Some(Variable::Sarg(0)));
        assert_eq!(variable(Variable::Arg(3)).name, "argN");
    }
}
