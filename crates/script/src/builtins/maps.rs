//! Maps as a whole, and their entries.

use super::{Function, FunctionInfo, Purpose};
use crate::check::{Call, Checker};
use crate::hir::ExprKind;
use crate::types::Type;

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Clear,
        name: "clear",
        usage: "clear(@map)",
        doc: "Removes all entries of a map.",
        args: (1, 1),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: whole,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Zero,
        name: "zero",
        usage: "zero(@map)",
        doc: "Sets all values of a map to zero; the keys stay.",
        args: (1, 1),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: whole,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Delete,
        name: "delete",
        usage: "delete(@map[, key])",
        doc: "Removes an entry; whether it was there. `delete(@map[key])` is the same; several keys are one tuple: `delete(@m, (1, 2))`.",
        args: (1, 2),
        purpose: Purpose::Both,
        check: delete,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::HasKey,
        name: "has_key",
        usage: "has_key(@map, key)",
        doc: "Whether the map has an entry with the key.",
        args: (1, 2),
        check: has_key,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Len,
        name: "len",
        usage: "len(@map)",
        doc: "Number of entries of a map with keys, or of frames of a stack.",
        args: (1, 1),
        check: len,
        ..FunctionInfo::BASE
    },
];

fn whole(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    if let Some(map) = checker.map_arg(call, 0) {
        checker.whole_map(map, call.args[0].span);
    }
    Type::Void
}

fn delete(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    // With a map and a key resolve makes one argument of the two.
    if let [_, key] = call.args {
        let message = "delete() expects a map without brackets before the key";
        checker.look_at(call.args);
        return checker.error(key.span, message);
    }
    if let Some((map, false)) = checker.entry_arg(call)
        && checker.is_keyed(map) == Some(true)
    {
        let message =
            "call to delete() with a single argument expects a map without explicit keys (scalar map)";
        checker.error(call.args[0].span, message);
    }
    Type::Bool
}

fn has_key(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    if let [_, key] = call.args {
        checker.look_at(call.args);
        return checker.error(key.span, "has_key() expects a map without brackets before the key");
    }
    if let Some((_, false)) = checker.entry_arg(call) {
        let message = "call to has_key() expects a map with explicit keys (non-scalar map)";
        checker.error(call.args[0].span, message);
    }
    Type::Bool
}

fn len(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let arg = &call.args[0];
    match &arg.kind {
        ExprKind::Map { map, key } if key.is_empty() && !is_stack(&checker.stored(*map)) => {
            checker.whole_map(*map, arg.span);
            if checker.is_keyed(*map) == Some(false) {
                let message = "call to len() expects a map with explicit keys (non-scalar map)";
                checker.error(arg.span, message);
            }
            if !checker.facts.features().for_each_map_elem {
                checker.missing_feature(call.span, "for_each_map_elem", "len()");
            }
        }
        _ => {
            let ty = checker.value(arg);
            if ty != Type::Void && !is_stack(&ty) {
                checker.error(arg.span, "call to len() expects a map, ustack, or kstack");
            }
        }
    }
    Type::I64
}

fn is_stack(ty: &Type) -> bool {
    matches!(ty, Type::KernelStack { .. } | Type::UserStack { .. })
}
