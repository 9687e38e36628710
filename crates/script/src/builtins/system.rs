//! The machine, and what changes it.

use super::{Function, FunctionInfo, Purpose, Variable, VariableInfo};
use crate::check::{Call, Checker};
use crate::types::Type;

pub(super) static VARIABLES: &[VariableInfo] = &[
    VariableInfo {
        variable: Variable::Cpu,
        name: "cpu",
        ty: "uint64",
        doc: "Number of the CPU.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Ncpus,
        name: "ncpus",
        ty: "uint64",
        doc: "How many CPUs the machine may have.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Numaid,
        name: "numaid",
        ty: "uint64",
        doc: "Number of the NUMA node.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Rand,
        name: "rand",
        ty: "uint32",
        doc: "A random number.",
        check: |_, _, _| Type::Int { size: 4, signed: false },
    },
];

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Exit,
        name: "exit",
        usage: "exit([code])",
        doc: "Ends the script after this probe, with the exit code or 0.",
        args: (0, 1),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| {
            c.integer_arg(call, 0);
            Type::Void
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::System,
        name: "system",
        usage: "system(\"format\"[, values…])",
        doc: "Runs a shell command, formatted as by `printf`.",
        args: (1, 128),
        purpose: Purpose::Effect,
        unsafe_only: true,
        needs: &["ringbuf"],
        check: |c, call| c.formatted(call),
    },
    FunctionInfo {
        function: Function::Signal,
        name: "signal",
        usage: "signal(signal)",
        doc: "Sends the current process a signal, by number or name: `signal(\"SIGSTOP\")`.",
        args: (1, 1),
        purpose: Purpose::Effect,
        unsafe_only: true,
        needs: &["send_signal"],
        check: signal,
    },
    FunctionInfo {
        function: Function::SignalThread,
        name: "signal_thread",
        usage: "signal_thread(signal)",
        doc: "Sends the current thread a signal, by number or name.",
        args: (1, 1),
        purpose: Purpose::Effect,
        unsafe_only: true,
        needs: &["send_signal"],
        check: signal,
    },
    FunctionInfo {
        function: Function::Cgroupid,
        name: "cgroupid",
        usage: "cgroupid(\"path\")",
        doc: "Id of the cgroup (version 2) at a path, to compare with `cgroup`.",
        args: (1, 1),
        check: cgroupid,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::CgroupPath,
        name: "cgroup_path",
        usage: "cgroup_path(id)",
        doc: "A cgroup's id that prints as its path.",
        args: (1, 2),
        check: |c, call| {
            c.integer_arg(call, 0);
            if c.literal_arg(call, 1).is_some() {
                c.warn(
                    call.args[1].span,
                    "cgroup_path() looks in the version 2 hierarchy: the filter has no effect",
                );
            }
            Type::CgroupPath
        },
        ..FunctionInfo::BASE
    },
];

fn signal(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    let Some(name) = arg.as_str() else {
        checker.integer_arg(call, 0);
        if arg.as_const().is_some_and(|n| !(1..=64).contains(&n)) {
            checker.error(arg.span, format!("{}() expects a number from 1 to 64", call.info.name));
        }
        return Type::Void;
    };
    checker.literal_arg(call, 0);
    if crate::lower::signal_number(name).is_none() {
        checker.error(arg.span, format!("{name} is not a valid signal"));
    }
    Type::Void
}

fn cgroupid(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    if let Some(path) = checker.literal_arg(call, 0)
        && checker.facts.cgroup_id(path).is_none()
    {
        checker.error(call.args[0].span, format!("there is no cgroup at {path}"));
    }
    Type::U64
}
