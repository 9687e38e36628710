//! The words of the language: which built-in a name means, and which names are known but not supported.

use strix_facts::nearest;

use super::usage::numbered;
use crate::builtins::{Function, Variable};

/// Built-in variables. All but `args`, `ctx` and the numbered ones can also be written as a call without arguments.
const VARIABLES: &[(&str, Variable)] = &[
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

const FUNCTIONS: &[(&str, Function)] = &[
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

/// Functions and variables of bpftrace that are not here.
const UNSUPPORTED: &[&str] = &[
    "assert",
    "assert_str",
    "config",
    "container_of",
    "debugf",
    "dw_ustack",
    "elf_info",
    "elf_is_exe",
    "errorf",
    "fail",
    "find",
    "is_array",
    "is_integer",
    "is_literal",
    "is_ptr",
    "is_scalar",
    "is_str",
    "is_unsigned_integer",
    "kfunc_allowed",
    "kfunc_exist",
    "leader_comm",
    "leader_tid",
    "memcmp",
    "override",
    "path",
    "percpu_kaddr",
    "signal_name",
    "signal_thread",
    "skboutput",
    "socket_cookie",
    "stack_len",
    "static_assert",
    "str_concat",
    "strcap",
    "strerror",
    "strstr",
    "syscall_name",
    "tseries",
    "typeinfo",
    "unwatch",
    "usermode",
    "warnf",
    "write_user",
];

/// Names of long ago, and what they are called now.
const OLD_NAMES: &[(&str, &str)] = &[("stack", "kstack"), ("sym", "ksym"), ("name", "probe")];

/// Functions that change the system.
const UNSAFE: &[Function] = &[Function::System, Function::Signal];

/// The built-in variable of this name, with the number of `argN` unchecked.
pub(super) fn variable(name: &str) -> Option<Variable> {
    let named = VARIABLES.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    named
        .or_else(|| Some(Variable::Arg(u8::try_from(numbered(name, "arg")?).ok()?)))
        .or_else(|| Some(Variable::Sarg(u8::try_from(numbered(name, "sarg")?).ok()?)))
}

/// The built-in function of this name.
pub(super) fn function(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
}

/// The variable that a call of this name without arguments means.
pub(super) fn callable_variable(name: &str) -> Option<Variable> {
    variable(name)
        .filter(|v| !matches!(v, Variable::Args | Variable::Ctx | Variable::Arg(_) | Variable::Sarg(_)))
}

/// Whether bpftrace has it and strix does not.
pub(super) fn is_unsupported(name: &str) -> bool {
    UNSUPPORTED.contains(&name)
}

/// Whether a function needs `--unsafe`.
pub(super) fn is_unsafe(function: Function) -> bool {
    UNSAFE.contains(&function)
}

/// The variable that may have been meant.
pub(super) fn near_variable(name: &str) -> Option<&'static str> {
    old_name(name).or_else(|| nearest(name, VARIABLES.iter().map(|(n, _)| *n)))
}

/// The function that may have been meant.
pub(super) fn near_function(name: &str) -> Option<&'static str> {
    old_name(name).or_else(|| nearest(name, FUNCTIONS.iter().map(|(n, _)| *n)))
}

fn old_name(name: &str) -> Option<&'static str> {
    OLD_NAMES.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// Words that are arguments and no values: the mode of a clock, a stack, an id.
pub(super) fn is_mode_word(function: &str, word: &str) -> bool {
    match function {
        "nsecs" => matches!(word, "monotonic" | "boot" | "tai" | "sw_tai"),
        "kstack" | "ustack" => super::config::stack_mode(word).is_some(),
        "pid" | "tid" => matches!(word, "curr_ns" | "init"),
        "signal" => matches!(word, "current_pid" | "current_tid"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, UNSUPPORTED, VARIABLES, near_function, near_variable, variable};
    use crate::builtins::Variable;

    #[test]
    fn no_name_is_both_there_and_missing() {
        for name in UNSUPPORTED {
            assert!(!FUNCTIONS.iter().any(|(n, _)| n == name), "{name}");
            assert!(!VARIABLES.iter().any(|(n, _)| n == name), "{name}");
        }
    }

    #[test]
    fn numbered_variables() {
        assert_eq!(variable("arg3"), Some(Variable::Arg(3)));
        assert_eq!(variable("sarg0"), Some(Variable::Sarg(0)));
        assert_eq!(variable("arg300"), None);
        assert_eq!(variable("args"), Some(Variable::Args));
    }

    #[test]
    fn slips() {
        assert_eq!(near_variable("comn"), Some("comm"));
        assert_eq!(near_variable("stack"), Some("kstack"));
        assert_eq!(near_function("pritnf"), Some("printf"));
        assert_eq!(near_function("zebra_crossing"), None);
    }
}
