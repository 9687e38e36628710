//! Strings and bytes.

use super::{Function, FunctionInfo};
use crate::check::{Call, Checker};
use crate::hir::Expr;
use crate::types::{NameTable, Type};

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Str,
        name: "str",
        usage: "str(pointer[, length])",
        doc: "The string at an address, up to its NUL and at most `max_strlen` bytes; with a length, that many bytes, of which the last is the \
              NUL. An array of bytes or a string gives what it holds.",
        args: (1, 2),
        check: str,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Buf,
        name: "buf",
        usage: "buf(pointer[, length])",
        doc: "Bytes at an address, at most `max_strlen` of them, to be printed with `%r`, `%rx` or `%rh`. Arrays and strings need no length.",
        args: (1, 2),
        check: buf,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strncmp,
        name: "strncmp",
        usage: "strncmp(a, b, length)",
        doc: "Compares the first bytes of two strings: 0 when they are the same. The length is a constant.",
        args: (3, 3),
        check: strncmp,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strcontains,
        name: "strcontains",
        usage: "strcontains(text, part)",
        doc: "Whether a string has another one in it.",
        args: (2, 2),
        check: |c, call| {
            let [text, part] = call.args else { return Type::Bool };
            // Which attach points' names have it in them is known before anything runs.
            if part.as_str().is_none() || c.value(text) != Type::ProbeName {
                string_arg(c, call, text);
            }
            string_arg(c, call, part);
            Type::Bool
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strlen,
        name: "strlen",
        usage: "strlen(text)",
        doc: "Length of a string, in bytes.",
        args: (1, 1),
        check: |c, call| {
            string_arg(c, call, &call.args[0]);
            Type::U64
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strstr,
        name: "strstr",
        usage: "strstr(text, part)",
        doc: "Where a string begins in another one, from 0; -1 if it is not there.",
        args: (2, 2),
        check: |c, call| {
            call.args.iter().for_each(|arg| string_arg(c, call, arg));
            Type::I64
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strcap,
        name: "strcap",
        usage: "strcap(text)",
        doc: "How many bytes a string or array has room for; of what a pointer points to, the length.",
        args: (1, 1),
        check: |c, call| {
            string_arg(c, call, &call.args[0]);
            Type::U64
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::StrConcat,
        name: "str_concat",
        usage: "str_concat(a, b)",
        doc: "Two strings, one behind the other.",
        args: (2, 2),
        check: str_concat,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strerror,
        name: "strerror",
        usage: "strerror(number)",
        doc: "An error number that prints as its text, `No such file or directory`.",
        args: (1, 1),
        check: |c, call| {
            c.integer_arg(call, 0);
            Type::Named(NameTable::Error)
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::SignalName,
        name: "signal_name",
        usage: "signal_name(number)",
        doc: "A signal number that prints as its text, `Hangup`.",
        args: (1, 1),
        check: |c, call| {
            c.integer_arg(call, 0);
            Type::Named(NameTable::Signal)
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::SyscallName,
        name: "syscall_name",
        usage: "syscall_name(number)",
        doc: "A system call number that prints as its name, `openat`.",
        args: (1, 1),
        check: |c, call| {
            c.integer_arg(call, 0);
            Type::Named(NameTable::Syscall)
        },
        ..FunctionInfo::BASE
    },
];

/// Longest string that `str_concat` makes.
const MAX_CONCATENATED: u32 = 1024;

fn str_concat(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let caps = call.args.iter().map(|arg| {
        string_arg(checker, call, arg);
        match checker.value(arg) {
            Type::Str { cap } => cap,
            ty @ Type::Array { .. } => checker.types.size_of(&ty).saturating_add(1),
            _ => checker.hir.config.max_strlen,
        }
    });
    let both = caps.fold(0u32, u32::saturating_add);
    Type::Str { cap: both.clamp(1, MAX_CONCATENATED) }
}

fn is_bytes(ty: &Type) -> bool {
    matches!(ty, Type::Array { element, .. } if matches!(**element, Type::Int { size: 1, .. }))
}

fn string_arg(checker: &mut Checker<'_>, call: &Call<'_>, arg: &Expr) {
    let ty = checker.value(arg);
    let fits = match &ty {
        Type::Void | Type::Str { .. } => true,
        Type::Pointer { to, .. } => matches!(**to, Type::Int { size: 1, .. }),
        ty => is_bytes(ty),
    };
    if !fits {
        checker.refuse_arg(call, arg, "expects strings, or arrays or pointers of characters", &ty);
    }
}

/// A length argument, which is not negative if it is constant.
fn length_arg(checker: &mut Checker<'_>, call: &Call<'_>) -> Option<i64> {
    let arg = call.args.get(1)?;
    checker.integer_arg(call, 1);
    match arg.as_const() {
        Some(length) if length < 0 => {
            checker.error(arg.span, format!("{}() cannot use negative length ({length})", call.info.name));
            None
        }
        length => length,
    }
}

fn str(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    let max = checker.hir.config.max_strlen;
    let cap = match length_arg(checker, call) {
        Some(length) if length + 1 > i64::from(max) => {
            let message = format!("length param ({length}) is too long and will be shortened to {max} bytes");
            checker.warn(call.args[1].span, message);
            max
        }
        Some(length) => length as u32 + 1,
        None => max,
    };
    let cap = match checker.value(arg) {
        Type::Void | Type::Int { .. } | Type::Enum { .. } | Type::Pointer { .. } => cap,
        Type::Str { cap: own } => cap.min(own),
        Type::Array { element, len } if matches!(*element, Type::Int { size: 1, .. }) => {
            if len == 0 {
                cap
            } else {
                cap.min(len.saturating_add(1))
            }
        }
        other => {
            let wanted = "expects a string, integer or a pointer type as first argument";
            checker.refuse_arg(call, arg, wanted, &other);
            cap
        }
    };
    Type::Str { cap: cap.max(1) }
}

fn buf(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    let ty = checker.value(arg);
    let max = checker.hir.config.max_strlen;
    let given = length_arg(checker, call).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let whole = match &ty {
        Type::Array { .. } | Type::Str { .. } | Type::Record(_) => {
            Some(checker.types.size_of(&ty)).filter(|n| *n > 0)
        }
        Type::Void | Type::Int { .. } | Type::Pointer { .. } => None,
        other => {
            checker.refuse_arg(call, arg, "expects an integer, string, pointer or array argument", other);
            None
        }
    };
    if call.args.len() == 1 && whole.is_none() && ty != Type::Void {
        let name = checker.name(&ty);
        checker.error(call.span, format!("buf() expects a length argument for non-array type {name}"));
    }
    let wanted = match (given, whole) {
        (Some(given), Some(whole)) => given.min(whole),
        (Some(size), None) | (None, Some(size)) => size,
        (None, None) => max,
    };
    Type::Buffer { cap: wanted.min(max).max(1) }
}

fn strncmp(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    string_arg(checker, call, &call.args[0]);
    string_arg(checker, call, &call.args[1]);
    if checker.constant_arg(call, 2).is_some_and(|n| n < 0) {
        checker.error(call.args[2].span, "builtin strncmp requires a non-negative literal");
    }
    Type::U64
}
