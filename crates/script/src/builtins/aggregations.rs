//! Aggregations: kept per CPU, added up when they are read.

use strix_model::MapValue;

use super::{Function, FunctionInfo, Purpose};
use crate::check::{Call, Checker};
use crate::types::Type;

/// Most buckets of a linear histogram, those at both ends not counted.
const MAX_BUCKETS: i64 = 1000;

const BASE: FunctionInfo = FunctionInfo { args: (1, 1), purpose: Purpose::Aggregation, ..FunctionInfo::BASE };

pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        function: Function::Count,
        name: "count",
        usage: "count()",
        doc: "Counts how often it is assigned: `@[comm] = count();`.",
        args: (0, 0),
        check: |_, _| Type::Aggregate(MapValue::Count),
        ..BASE
    },
    FunctionInfo {
        function: Function::Sum,
        name: "sum",
        usage: "sum(n)",
        doc: "Adds numbers up.",
        check: |c, call| number(c, call, |signed| MapValue::Sum { signed }),
        ..BASE
    },
    FunctionInfo {
        function: Function::Avg,
        name: "avg",
        usage: "avg(n)",
        doc: "The average of numbers.",
        check: |c, call| number(c, call, |signed| MapValue::Avg { signed }),
        ..BASE
    },
    FunctionInfo {
        function: Function::Min,
        name: "min",
        usage: "min(n)",
        doc: "The smallest of numbers.",
        check: |c, call| number(c, call, |signed| MapValue::Min { signed }),
        ..BASE
    },
    FunctionInfo {
        function: Function::Max,
        name: "max",
        usage: "max(n)",
        doc: "The largest of numbers.",
        check: |c, call| number(c, call, |signed| MapValue::Max { signed }),
        ..BASE
    },
    FunctionInfo {
        function: Function::Stats,
        name: "stats",
        usage: "stats(n)",
        doc: "Count, average and total of numbers.",
        check: |c, call| number(c, call, |signed| MapValue::Stats { signed }),
        ..BASE
    },
    FunctionInfo {
        function: Function::Hist,
        name: "hist",
        usage: "hist(n[, bits])",
        doc: "A histogram by powers of two, each in `2^bits` steps; `bits` is a constant from 0 to 5, 0 if left out.",
        args: (1, 2),
        check: hist,
        ..BASE
    },
    FunctionInfo {
        function: Function::Lhist,
        name: "lhist",
        usage: "lhist(n, min, max, step)",
        doc: "A histogram with steps of equal width from `min` to `max`, which are constants; at most 1000 steps.",
        args: (4, 4),
        check: lhist,
        ..BASE
    },
];

fn number(checker: &mut Checker<'_>, call: &Call<'_>, value: fn(bool) -> MapValue) -> Type {
    match checker.integer_arg(call, 0) {
        Type::Void => Type::Void,
        ty => Type::Aggregate(value(ty.is_signed())),
    }
}

fn hist(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let ty = checker.integer_arg(call, 0);
    let bits = match call.args.get(1) {
        None => 0,
        Some(arg) => match checker.constant_arg(call, 1) {
            Some(bits @ 0..=5) => bits as u8,
            Some(bits) => return checker.error(arg.span, format!("hist: bits {bits} must be 0..5")),
            None => return Type::Void,
        },
    };
    if ty == Type::Void { Type::Void } else { Type::Aggregate(MapValue::Hist { bits }) }
}

fn lhist(checker: &mut Checker<'_>, call: &Call<'_>) -> Type {
    let ty = checker.integer_arg(call, 0);
    let bounds = [1, 2, 3].map(|index| checker.constant_arg(call, index));
    let [Some(min), Some(max), Some(step)] = bounds else { return Type::Void };
    let span = call.span;
    if step < 1 {
        return checker.error(call.args[3].span, format!("lhist() step must be >= 1 ({step} provided)"));
    }
    if min >= max {
        let message = format!("lhist() min must be less than max (provided min {min} and max {max})");
        return checker.error(span, message);
    }
    let Some(range) = max.checked_sub(min) else {
        return checker.error(span, "lhist() range is too large");
    };
    if range < step {
        let message =
            format!("lhist() step is too large for the given range (provided step {step} for range {range})");
        return checker.error(span, message);
    }
    let buckets = range / step;
    if buckets > MAX_BUCKETS {
        let message = format!("lhist() too many buckets, must be <= {MAX_BUCKETS} (would need {buckets})");
        return checker.error(span, message);
    }
    if ty == Type::Void { Type::Void } else { Type::Aggregate(MapValue::Lhist { min, max, step }) }
}
