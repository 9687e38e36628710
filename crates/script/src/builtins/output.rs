//! What goes to the user.

use strix_model::MapValue;

use super::{Function, FunctionInfo, Purpose};
use crate::check::{Call, Checker};
use crate::hir::{Expr, ExprKind, MapId};
use crate::types::Type;

/// Most arguments of a format, and the format.
const FORMATTED: (u8, u8) = (1, 128);

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Printf,
        name: "printf",
        usage: "printf(\"format\"[, values…])",
        doc: "Prints values by a format, as in C: `%d %i %u %o %x %X %c %p` for numbers, `%s` for everything, `%r %rx %rh` for \
              buffers, `%gr` for allocation flags, with C's flags, widths and lengths.",
        args: FORMATTED,
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| c.formatted(call),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Errorf,
        name: "errorf",
        usage: "errorf(\"format\"[, values…])",
        doc: "Reports an error at this place of the script, formatted as by `printf`. The script goes on.",
        args: FORMATTED,
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| c.formatted(call),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Warnf,
        name: "warnf",
        usage: "warnf(\"format\"[, values…])",
        doc: "As `errorf`, a warning; `--no-warnings` leaves it out.",
        args: FORMATTED,
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| c.formatted(call),
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Print,
        name: "print",
        usage: "print(@map[, top[, div]])",
        doc: "Prints a map, only its `top` largest entries, values divided by `div`; or one value: `print(@map[key])`, `print(comm)`.",
        args: (1, 3),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: print,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Join,
        name: "join",
        usage: "join(strings[, \"separator\"])",
        doc: "Prints an array of pointers to strings that a null pointer ends (`args.argv`), at most 16 of them, with a space or the \
              separator between them, and a line end.",
        args: (1, 2),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: join,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Cat,
        name: "cat",
        usage: "cat(\"format\"[, values…])",
        doc: "Prints the file whose path the format gives.",
        args: FORMATTED,
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| c.formatted(call),
        ..FunctionInfo::BASE
    },
];

fn print(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let first = &call.args[0];
    match &first.kind {
        ExprKind::Map { map, key } if key.is_empty() => print_map(checker, call, *map),
        ExprKind::Map { map, .. } => match checker.stored(*map) {
            Type::Aggregate(value) => {
                checker.entry_arg(call);
                checker.note_aggregate(first, value);
                only_one(checker, call);
            }
            _ => print_value(checker, call, first),
        },
        _ => print_value(checker, call, first),
    }
    Type::Void
}

fn print_map(checker: &mut Checker<'_>, call: &Call<'_>, map: MapId) {
    checker.whole_map(map, call.args[0].span);
    for (index, what) in [(1, "top"), (2, "div")] {
        if let Some(value) = checker.constant_arg(call, index)
            && value < 0
        {
            checker.error(call.args[index].span, format!("print() needs a {what} that is not negative"));
        }
    }
    if call.args.len() > 1 && matches!(checker.stored(map), Type::Aggregate(MapValue::Stats { .. })) {
        checker.warn(call.span, "print()'s top and div arguments are ignored when used on stats() maps");
    }
}

fn print_value(checker: &mut Checker<'_>, call: &Call<'_>, value: &Expr) {
    let ty = checker.value(value);
    checker.printable(&ty, value.span);
    only_one(checker, call);
}

fn only_one(checker: &mut Checker<'_>, call: &Call<'_>) {
    let found = call.args.len();
    if found > 1 {
        checker.error(call.span, format!("non-map print() only takes 1 argument, {found} found"));
    }
}

fn join(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let ty = checker.value(&call.args[0]);
    if !matches!(ty, Type::Void | Type::Int { .. } | Type::Pointer { .. }) {
        checker.refuse_arg(call, &call.args[0], "only supports int or pointer arguments", &ty);
    }
    checker.literal_arg(call, 1);
    Type::Void
}
