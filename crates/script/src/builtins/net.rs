//! Network addresses.

use super::{Function, FunctionInfo};
use crate::check::{Call, Checker};
use crate::types::Type;

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Ntop,
        name: "ntop",
        usage: "ntop([family, ]address)",
        doc: "A network address to print: IPv4 from an integer or 4 bytes, IPv6 from 16 bytes, in network order. The family is `AF_INET` (2) \
              or `AF_INET6` (10).",
        args: (1, 2),
        check: ntop,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Pton,
        name: "pton",
        usage: "pton(\"address\")",
        doc: "The 4 or 16 bytes of a textual address, to compare with.",
        args: (1, 1),
        check: pton,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Macaddr,
        name: "macaddr",
        usage: "macaddr(address)",
        doc: "A hardware address to print, from an array of at least 6 bytes or a pointer to them.",
        args: (1, 1),
        check: macaddr,
        ..FunctionInfo::BASE
    },
];

fn ntop(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let index = call.args.len() - 1;
    if index == 1 {
        checker.integer_arg(call, 0);
    }
    let arg = &call.args[index];
    let ty = checker.value(arg);
    match &ty {
        Type::Void | Type::Int { .. } | Type::Enum { .. } => {}
        Type::Array { .. } | Type::Str { .. } | Type::Record(_) => {
            if !matches!(checker.types.size_of(&ty), 4 | 16) {
                checker.refuse_arg(call, arg, "argument must be 4 or 16 bytes in size", &ty);
            }
        }
        Type::Pointer { to, .. } if matches!(checker.types.size_of(to), 4 | 16) => {}
        other => {
            checker.refuse_arg(call, arg, "expects an integer or array argument", other);
        }
    }
    Type::Inet
}

fn pton(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let Some(text) = checker.literal_arg(call, 0) else { return Type::Void };
    match text.parse::<std::net::IpAddr>() {
        Ok(address) => {
            let len = if address.is_ipv4() { 4 } else { 16 };
            Type::Array { element: Box::new(Type::Int { size: 1, signed: false }), len }
        }
        Err(_) => {
            let message = format!("pton() expects a valid IPv4/IPv6 address, got {text}");
            checker.error(call.args[0].span, message)
        }
    }
}

fn macaddr(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    let ty = checker.value(arg);
    match &ty {
        _ if arg.as_str().is_some() => {
            checker.error(arg.span, "macaddr() does not support literal string arguments");
        }
        Type::Void | Type::Int { .. } | Type::Pointer { .. } => {}
        Type::Array { .. } | Type::Str { .. } | Type::Record(_) => {
            if checker.types.size_of(&ty) < 6 {
                checker.refuse_arg(call, arg, "argument must be at least 6 bytes in size", &ty);
            }
        }
        other => {
            checker.refuse_arg(call, arg, "only supports array or pointer arguments", other);
        }
    }
    Type::Mac
}
