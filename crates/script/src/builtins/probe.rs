//! Where the probe is, and what it was given.

use super::{Function, FunctionInfo, Variable, VariableInfo};
use crate::check::{Call, Checker};
use crate::hir::Context;
use crate::types::{Space, Type};

pub(super) static VARIABLES: &[VariableInfo] = &[
    VariableInfo {
        variable: Variable::Probe,
        name: "probe",
        ty: "probe",
        doc: "Full name of the attach point, `kprobe:vfs_read`. It can be printed and be part of a key.",
        check: |_, _, _| Type::ProbeName,
    },
    VariableInfo {
        variable: Variable::Func,
        name: "func",
        ty: "func",
        doc: "Name of the probed function, in kprobes, uprobes, fentry and fexit.",
        check: |_, _, _| Type::Function,
    },
    VariableInfo {
        variable: Variable::Args,
        name: "args",
        ty: "record",
        doc: "The attach point's arguments by name, `args.filename`: in tracepoints, raw tracepoints, fentry and fexit.",
        check: |c, _, _| args(c),
    },
    VariableInfo {
        variable: Variable::Arg(0),
        name: "argN",
        ty: "uint64",
        doc: "Argument by number, from `arg0`: in kprobes, uprobes, raw tracepoints, fentry and fexit.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Sarg(0),
        name: "sargN",
        ty: "uint64",
        doc: "Argument on the stack by number, from `sarg0`: in kprobes and uprobes.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Retval,
        name: "retval",
        ty: "uint64",
        doc: "What the function returned: `uint64` in kretprobes and uretprobes, the function's own type in fexit.",
        check: |c, _, _| match &c.instance().context {
            Context::Fexit { ret, .. } => ret.clone(),
            _ => Type::U64,
        },
    },
    VariableInfo {
        variable: Variable::Ctx,
        name: "ctx",
        ty: "struct pt_regs *",
        doc: "The program's context: registers in kprobes and uprobes, `struct bpf_perf_event_data *` in profile, interval, \
              software and hardware.",
        check: |c, _, _| match c.instance().context {
            Context::PerfEvent => c.kernel_pointer("bpf_perf_event_data"),
            Context::Kprobe | Context::Kretprobe | Context::Uprobe | Context::Uretprobe => {
                c.kernel_pointer("pt_regs")
            }
            _ => Type::Pointer { to: Box::new(Type::Void), space: Space::Kernel },
        },
    },
];

fn args(checker: &mut Checker<'_>) -> Type {
    match checker.instance().context {
        Context::Tracepoint { args } | Context::Fentry { args, .. } | Context::Fexit { args, .. } => {
            Type::Record(args)
        }
        Context::RawTracepoint { args: Some(args), .. } | Context::Syscalls { args: Some(args), .. } => {
            Type::Record(args)
        }
        _ => Type::Void,
    }
}

pub(super) static FUNCTIONS: &[FunctionInfo] = &[FunctionInfo {
    function: Function::Reg,
    name: "reg",
    usage: "reg(\"name\")",
    doc: "A register of the probed code, `reg(\"sp\")`, as `uint64`: in kprobes, uprobes and timers.",
    args: (1, 1),
    check: reg,
    ..FunctionInfo::BASE
}];

fn reg(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    if let Some(name) = checker.literal_arg(call, 0)
        && crate::lower::register_offset(name).is_none()
    {
        let span = call.args[0].span;
        checker.error(span, format!("'{name}' is not a valid register on this architecture (x86_64)"));
    }
    Type::U64
}
