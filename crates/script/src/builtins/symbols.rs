//! Stacks, and names of addresses.

use strix_facts::nearest;
use strix_model::{Diagnostic, StackMode};

use super::{Function, FunctionInfo, Variable, VariableInfo};
use crate::check::{Call, Checker};
use crate::types::{Space, Type};

/// Most frames, and how many are taken when the script does not say: what the kernel's own limit is by default.
const MAX_FRAMES: i64 = 127;

pub(super) static VARIABLES: &[VariableInfo] = &[
    VariableInfo {
        variable: Variable::Kstack,
        name: "kstack",
        ty: "kstack",
        doc: "The kernel stack, up to 127 frames.",
        check: |c, _, _| Type::KernelStack {
            limit: MAX_FRAMES as u16,
            mode: kernel_mode(c.hir.config.stack_mode),
        },
    },
    VariableInfo {
        variable: Variable::Ustack,
        name: "ustack",
        ty: "ustack",
        doc: "The user stack, up to 127 frames.",
        check: |c, _, _| Type::UserStack { limit: MAX_FRAMES as u16, mode: c.hir.config.stack_mode },
    },
];

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Kstack,
        name: "kstack",
        usage: "kstack([mode, ][limit])",
        doc: "The kernel stack, `limit` frames of it (127 at most and by default), printed as `mode` says: `bpftrace`, `perf` or `raw`.",
        args: (0, 2),
        check: |c, call| {
            let (mode, limit) = stack(c, call);
            if mode == Some(StackMode::BuildId) {
                c.error(call.args[0].span, "'build_id' stack mode can only be used for ustack");
            }
            let mode = mode.unwrap_or(kernel_mode(c.hir.config.stack_mode));
            Type::KernelStack { limit, mode }
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Ustack,
        name: "ustack",
        usage: "ustack([mode, ][limit])",
        doc: "The user stack, `limit` frames of it (127 at most and by default), printed as `mode` says: `bpftrace`, `perf`, `raw` or \
              `build_id`.",
        args: (0, 2),
        check: |c, call| {
            let (mode, limit) = stack(c, call);
            Type::UserStack { limit, mode: mode.unwrap_or(c.hir.config.stack_mode) }
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Ksym,
        name: "ksym",
        usage: "ksym(address)",
        doc: "A kernel address that prints as its symbol.",
        args: (1, 1),
        check: |c, call| address(c, call, Type::KernelSymbol),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Usym,
        name: "usym",
        usage: "usym(address)",
        doc: "An address of the process that prints as its symbol.",
        args: (1, 1),
        check: |c, call| address(c, call, Type::UserSymbol),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Kaddr,
        name: "kaddr",
        usage: "kaddr(\"symbol\")",
        doc: "Address of a kernel symbol, as `uint64`: `*kaddr(\"jiffies\")` reads what is there.",
        args: (1, 1),
        check: kaddr,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Uaddr,
        name: "uaddr",
        usage: "uaddr(\"symbol\")",
        doc: "Address of a function or variable of the probed program or library, as a pointer to an integer of the variable's size.",
        args: (1, 1),
        check: uaddr,
        ..FunctionInfo::BASE
    },
];

/// The kernel's addresses have no build ids.
fn kernel_mode(mode: StackMode) -> StackMode {
    if mode == StackMode::BuildId { StackMode::Raw } else { mode }
}

fn stack(checker: &mut Checker<'_>, call: &Call<'_>) -> (Option<StackMode>, u16) {
    let mut rest = call.args;
    let mut mode = None;
    if let [first, others @ ..] = rest
        && let Some(word) = first.as_str()
    {
        mode = match word {
            "bpftrace" => Some(StackMode::Bpftrace),
            "perf" => Some(StackMode::Perf),
            "raw" => Some(StackMode::Raw),
            "build_id" => Some(StackMode::BuildId),
            _ => {
                checker.error(
                    first.span,
                    format!("unknown stack mode: {word} (expects: bpftrace, perf, raw or build_id)"),
                );
                None
            }
        };
        rest = others;
    } else if let [first, _] = rest {
        checker.error(first.span, "expected stack mode as first argument");
        return (None, MAX_FRAMES as u16);
    }
    let Some(arg) = rest.first() else { return (mode, MAX_FRAMES as u16) };
    let index = call.args.len() - rest.len();
    let limit = match checker.constant_arg(call, index) {
        Some(limit @ 1..=MAX_FRAMES) => limit as u16,
        Some(limit) => {
            let name = call.info.name;
            checker.error(
                arg.span,
                format!("{name}([int limit]): limit must be from 1 to {MAX_FRAMES}, {limit} given"),
            );
            MAX_FRAMES as u16
        }
        None => MAX_FRAMES as u16,
    };
    (mode, limit)
}

fn address(checker: &mut Checker<'_>, call: &Call<'_>, result: Type) -> Type {
    let ty = checker.value(&call.args[0]);
    if !matches!(ty, Type::Void | Type::Int { .. } | Type::Pointer { .. }) {
        checker.refuse_arg(call, &call.args[0], "expects an integer or pointer argument", &ty);
    }
    result
}

fn kaddr(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let Some(name) = checker.literal_arg(call, 0) else { return Type::U64 };
    let span = call.args[0].span;
    match checker.facts.kernel_symbol(name) {
        Ok(Some(_)) => {}
        Ok(None) => {
            checker.error(span, format!("failed to resolve kernel symbol: {name}"));
        }
        Err(reason) => {
            checker.error(span, format!("failed to resolve kernel symbol {name}: {reason}"));
        }
    }
    Type::U64
}

fn uaddr(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let pointer = |size| {
        let to = Box::new(Type::Int { size, signed: false });
        Type::Pointer { to, space: Space::User }
    };
    let Some(name) = checker.literal_arg(call, 0) else { return pointer(8) };
    let Some((binary, place)) = crate::lower::probed_file(checker.facts, checker.instance()) else {
        return checker.error(call.span, "uaddr() can only be used in probes of one file");
    };
    let Some((_, size)) = crate::lower::user_symbol(&binary, name) else {
        let names: Vec<&str> = binary.functions().iter().map(|f| f.name.as_str()).collect();
        let near = nearest(name, names.into_iter()).map(str::to_owned);
        let path = binary.path.display().to_string();
        checker.push(|_| {
            let error =
                Diagnostic::error(call.args[0].span, format!("could not resolve symbol: {path}:{name}"));
            match near {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error,
            }
        });
        return pointer(8);
    };
    if binary.position_independent && place.is_none() {
        let message = "uaddr() in a position-independent file can only be used in a uprobe at one place";
        checker.push(|_| {
            Diagnostic::error(call.span, message).with_help("addresses are found from that of the probe")
        });
    }
    pointer(match size {
        Some(size @ (1 | 2 | 4)) => size as u8,
        _ => 8,
    })
}
