//! Addresses and numbers.

use super::{Function, FunctionInfo};
use crate::check::{Call, Checker};
use crate::hir::ExprKind;
use crate::types::{Space, Type};

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Kptr,
        name: "kptr",
        usage: "kptr(pointer)",
        doc: "The pointer, marked as one into kernel memory.",
        args: (1, 1),
        check: |c, call| marked(c, call, Space::Kernel),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Uptr,
        name: "uptr",
        usage: "uptr(pointer)",
        doc: "The pointer, marked as one into the memory of the process.",
        args: (1, 1),
        check: |c, call| marked(c, call, Space::User),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Bswap,
        name: "bswap",
        usage: "bswap(n)",
        doc: "An integer with its bytes in reverse order; the result is as wide as the argument, and unsigned.",
        args: (1, 1),
        check: bswap,
        ..FunctionInfo::BASE
    },
];

fn marked(checker: &mut Checker<'_>, call: &Call<'_>, space: Space) -> Type {
    match checker.value(&call.args[0]) {
        Type::Void => Type::Void,
        Type::Pointer { to, .. } => Type::Pointer { to, space },
        // An address without a type; steps from it count in bytes.
        Type::Int { .. } => Type::Pointer { to: Box::new(Type::Void), space },
        other => {
            checker.refuse_arg(call, &call.args[0], "only supports integer or pointer arguments", &other)
        }
    }
}

fn bswap(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    let ty = checker.integer_arg(call, 0);
    let size = match (&arg.kind, &ty) {
        (_, Type::Void) => return Type::Void,
        // A literal is as wide as the smallest signed type that holds it.
        (ExprKind::Int { value, ty: None }, _) => {
            let bits = 65 - value.leading_zeros();
            let size = bits.div_ceil(8).next_power_of_two().min(8) as u8;
            checker.note_type(arg, Type::Int { size, signed: true });
            size
        }
        _ => checker.types.size_of(&ty) as u8,
    };
    Type::Int { size, signed: false }
}
