//! Clocks and dates.

use super::{Function, FunctionInfo, Purpose, Variable, VariableInfo};
use crate::check::{Call, Checker};
use crate::hir::{Expr, ExprKind};
use crate::types::Type;

/// `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME`.
const MONOTONIC: u8 = 1;
const BOOTTIME: u8 = 7;

pub(super) static VARIABLES: &[VariableInfo] = &[
    VariableInfo {
        variable: Variable::Nsecs,
        name: "nsecs",
        ty: "uint64",
        doc: "Nanoseconds since boot, suspension included where the kernel has that clock.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Elapsed,
        name: "elapsed",
        ty: "uint64",
        doc: "Nanoseconds since the script started.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Jiffies,
        name: "jiffies",
        ty: "uint64",
        doc: "The kernel's tick counter.",
        check: |c, _, span| {
            if !c.facts.features().jiffies64 {
                c.missing_feature(span, "jiffies64", "jiffies");
            }
            Type::U64
        },
    },
];

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Nsecs,
        name: "nsecs",
        usage: "nsecs([clock])",
        doc: "Nanoseconds of a clock: `boot` (the default), `monotonic` (without suspension) or `tai`.",
        args: (0, 1),
        check: nsecs,
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Time,
        name: "time",
        usage: "time([\"format\"])",
        doc: "Prints the wall clock of the moment it is handled, as strftime does; `%H:%M:%S` and a line end without a format.",
        args: (0, 1),
        purpose: Purpose::Effect,
        needs: &["ringbuf"],
        check: |c, call| {
            c.literal_arg(call, 0);
            Type::Void
        },
        ..FunctionInfo::BASE
    },
    FunctionInfo {
        function: Function::Strftime,
        name: "strftime",
        usage: "strftime(\"format\", nsecs)",
        doc: "A timestamp as a date, formatted when it is printed; `%f` gives microseconds.",
        args: (2, 2),
        check: strftime,
        ..FunctionInfo::BASE
    },
];

fn nsecs(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    match checker.literal_arg(call, 0) {
        None | Some("boot" | "monotonic") => {}
        Some("tai") => {
            if !checker.facts.features().ktime_get_tai_ns {
                checker.missing_feature(call.span, "ktime_get_tai_ns", "nsecs(tai)");
            }
        }
        Some("sw_tai") => {
            checker.error(call.args[0].span, "the clock sw_tai is not supported: use tai");
        }
        Some(other) => {
            checker.error(
                call.args[0].span,
                format!("invalid timestamp mode: {other} (expects: boot, monotonic or tai)"),
            );
        }
    }
    Type::U64
}

fn strftime(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let format = checker.literal_arg(call, 0);
    checker.integer_arg(call, 1);
    if call.args[1].as_const().is_some_and(|v| v < 0) {
        checker.error(call.args[1].span, "strftime() does not accept negative timestamps");
    }
    let clock = match clock_of(&call.args[1]) {
        Some("monotonic") => MONOTONIC,
        Some("tai") => {
            checker.error(call.args[1].span, "strftime() takes the clocks boot and monotonic, not tai");
            BOOTTIME
        }
        // `nsecs` itself falls back where the kernel has no such clock for programs.
        _ if checker.facts.features().ktime_get_boot_ns => BOOTTIME,
        _ => MONOTONIC,
    };
    Type::Timestamp { format: format.unwrap_or_default().to_owned(), clock }
}

/// The clock that a timestamp was read from, where that can be seen.
fn clock_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Call { function: Function::Nsecs, args, .. } => args.first().and_then(Expr::as_str),
        ExprKind::Binary { lhs, .. } => clock_of(lhs),
        _ => None,
    }
}
