//! Which rows of a map are shown, in which order, and divided by what.

use std::cmp::Ordering;

use strix_model::{Aggregate, Value};

/// A map to print. Rows come in any order; the sink arranges them.
#[derive(Clone, Debug, PartialEq)]
pub struct MapView<'a> {
    /// Name with the `@`.
    pub name: &'a str,
    /// No keys: at most one row, whose key is [`Value::None`].
    pub scalar: bool,
    /// Keys and values.
    pub rows: Vec<(Value, Aggregate)>,
    /// Largest rows to show; 0 is all.
    pub top: u64,
    /// What values are divided by; 0 is one.
    pub div: u64,
}

/// Sorts rows as they are printed, keeps the largest `top` and divides by `div`. The averages of `avg` and `stats` are left for
/// the sink to divide, because their totals and counts are not.
///
/// Counts, sums, extremes and integers sort ascending by value, averages and statistics by their average, histograms by the
/// number of values in them, everything else by key; equal rows by key.
#[must_use]
pub fn arrange(mut rows: Vec<(Value, Aggregate)>, top: u64, div: u64) -> Vec<(Value, Aggregate)> {
    rows.sort_by(compare);
    if top > 0 && (rows.len() as u64) > top {
        rows.drain(..rows.len() - top as usize);
    }
    if div > 1 {
        rows.iter_mut().for_each(|(_, value)| divide(value, div));
    }
    rows
}

fn compare(a: &(Value, Aggregate), b: &(Value, Aggregate)) -> Ordering {
    weight(&a.1).cmp(&weight(&b.1)).then_with(|| compare_values(&a.0, &b.0))
}

/// What a row sorts by, unless it is its key.
fn weight(value: &Aggregate) -> Option<i128> {
    match value {
        Aggregate::Unsigned(n) => Some(i128::from(*n)),
        Aggregate::Signed(n) => Some(i128::from(*n)),
        Aggregate::Stats { count, total, signed, .. } => Some(average(*count, *total, *signed)),
        Aggregate::Hist { buckets, .. } | Aggregate::Lhist { buckets, .. } => {
            Some(buckets.iter().map(|&n| i128::from(n)).sum())
        }
        Aggregate::Plain(Value::Int(n)) => Some(i128::from(*n)),
        Aggregate::Plain(Value::Uint(n)) => Some(i128::from(*n)),
        Aggregate::Plain(Value::Enum { value, .. }) => Some(i128::from(*value)),
        Aggregate::Plain(_) => None,
    }
}

/// The average of `avg` and `stats`, rounded towards zero; 0 of nothing.
pub(crate) fn average(count: u64, total: u64, signed: bool) -> i128 {
    if count == 0 { 0 } else { total_of(total, signed) / i128::from(count) }
}

/// The total of `avg` and `stats` as a number.
pub(crate) fn total_of(total: u64, signed: bool) -> i128 {
    if signed { i128::from(total as i64) } else { i128::from(total) }
}

/// Numbers by size, text by bytes, tuples by their first difference. Kinds that never meet in one map are ordered too, so
/// that the order is total.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    if let (Some(x), Some(y)) = (number(a), number(b)) {
        return x.cmp(&y).then_with(|| label(a).cmp(label(b)));
    }
    match (a, b) {
        (Value::Str(x) | Value::Buffer(x), Value::Str(y) | Value::Buffer(y)) => x.cmp(y),
        (Value::Stack(x), Value::Stack(y)) => x.cmp(y),
        (Value::Tuple(x) | Value::Array(x), Value::Tuple(y) | Value::Array(y)) => {
            in_order(x.iter(), y.iter())
        }
        (Value::Struct(x), Value::Struct(y)) => in_order(x.iter().map(|f| &f.1), y.iter().map(|f| &f.1)),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn label(value: &Value) -> &str {
    if let Value::Named { text, .. } = value { text } else { "" }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::None => 0,
        Value::Str(_) | Value::Buffer(_) => 2,
        Value::Stack(_) => 3,
        Value::Tuple(_) | Value::Array(_) => 4,
        Value::Struct(_) => 5,
        _ => 1,
    }
}

fn in_order<'v>(
    a: impl ExactSizeIterator<Item = &'v Value>,
    b: impl ExactSizeIterator<Item = &'v Value>,
) -> Ordering {
    let lengths = a.len().cmp(&b.len());
    a.zip(b).map(|(x, y)| compare_values(x, y)).find(|o| o.is_ne()).unwrap_or(lengths)
}

fn number(value: &Value) -> Option<i128> {
    match *value {
        Value::Int(n) => Some(i128::from(n)),
        Value::Enum { value, .. } => Some(i128::from(value)),
        Value::Uint(n) | Value::Pointer(n) | Value::Named { number: n, .. } => Some(i128::from(n)),
        Value::Bool(b) => Some(i128::from(b)),
        _ => None,
    }
}

/// Divides a value. Linear histograms are not divided, nor are the count and total of statistics.
fn divide(value: &mut Aggregate, div: u64) {
    match value {
        Aggregate::Unsigned(n) => *n /= div,
        Aggregate::Signed(n) => *n = signed_quotient(*n, div),
        Aggregate::Hist { buckets, .. } => buckets.iter_mut().for_each(|n| *n /= div),
        Aggregate::Plain(value) => divide_value(value, div),
        Aggregate::Stats { .. } | Aggregate::Lhist { .. } => {}
    }
}

fn divide_value(value: &mut Value, div: u64) {
    match value {
        Value::Int(n) => *n = signed_quotient(*n, div),
        Value::Uint(n) => *n /= div,
        Value::Tuple(values) | Value::Array(values) => values.iter_mut().for_each(|v| divide_value(v, div)),
        Value::Struct(fields) => fields.iter_mut().for_each(|(_, v)| divide_value(v, div)),
        _ => {}
    }
}

fn signed_quotient(number: i64, div: u64) -> i64 {
    i64::try_from(i128::from(number) / i128::from(div)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(s: &str) -> Value {
        Value::Str(s.as_bytes().to_vec())
    }

    fn keys(rows: &[(Value, Aggregate)]) -> Vec<Value> {
        rows.iter().map(|(key, _)| key.clone()).collect()
    }

    fn arranged(rows: Vec<(&str, Aggregate)>, top: u64) -> Vec<Value> {
        keys(&arrange(rows.into_iter().map(|(key, value)| (text(key), value)).collect(), top, 0))
    }

    #[test]
    fn numbers_sort_by_value_and_signed_ones_signed() {
        let signed = |n| Aggregate::Signed(n);
        assert_eq!(
            arranged(vec![("a", signed(3)), ("b", signed(-1)), ("c", signed(0))], 0),
            [text("b"), text("c"), text("a")]
        );
        let unsigned = |n| Aggregate::Unsigned(n);
        assert_eq!(
            arranged(vec![("a", unsigned(u64::MAX)), ("b", unsigned(1)), ("0", unsigned(1))], 0),
            [text("0"), text("b"), text("a")],
            "equal ones by key"
        );
        assert_eq!(
            arranged(
                vec![("x", Aggregate::Plain(Value::Int(5))), ("y", Aggregate::Plain(Value::Int(-5)))],
                0
            ),
            [text("y"), text("x")]
        );
    }

    #[test]
    fn statistics_sort_by_average_and_histograms_by_total() {
        let stats = |count, total: i64| Aggregate::Stats {
            count,
            total: total as u64,
            signed: true,
            average_only: true,
        };
        assert_eq!(
            arranged(
                vec![("a", stats(10, 100)), ("b", stats(1, 50)), ("c", stats(2, -8)), ("d", stats(0, 0))],
                0
            ),
            [text("c"), text("d"), text("a"), text("b")]
        );
        let hist = |buckets: &[u64]| Aggregate::Hist { bits: 0, buckets: buckets.to_vec() };
        assert_eq!(arranged(vec![("a", hist(&[9, 9])), ("b", hist(&[0, 1]))], 0), [text("b"), text("a")]);
    }

    #[test]
    fn other_values_sort_by_key_first_element_first() {
        let value = || Aggregate::Plain(text("v"));
        let key = |n, s| Value::Tuple(vec![Value::Int(n), text(s)]);
        let rows = vec![
            (key(2, "a"), value()),
            (key(1, "b"), value()),
            (key(1, "a"), value()),
            (key(-9, "z"), value()),
        ];
        assert_eq!(keys(&arrange(rows, 0, 0)), [key(-9, "z"), key(1, "a"), key(1, "b"), key(2, "a")]);
        let rows = vec![(Value::Uint(u64::MAX), value()), (Value::Uint(3), value())];
        assert_eq!(keys(&arrange(rows, 0, 0)), [Value::Uint(3), Value::Uint(u64::MAX)]);
    }

    #[test]
    fn top_keeps_the_largest_in_ascending_order() {
        let rows = |n: u64| (0..n).map(|i| (Value::Uint(i), Aggregate::Unsigned(i))).collect::<Vec<_>>();
        assert_eq!(keys(&arrange(rows(4), 2, 0)), [Value::Uint(2), Value::Uint(3)]);
        assert_eq!(arrange(rows(4), 10, 0).len(), 4);
        assert_eq!(arrange(rows(4), u64::MAX, 0).len(), 4);
    }

    #[test]
    fn division_reaches_inside_but_not_everywhere() {
        let divided = |value| arrange(vec![(Value::None, value)], 0, 10)[0].1.clone();
        assert_eq!(divided(Aggregate::Unsigned(99)), Aggregate::Unsigned(9));
        assert_eq!(divided(Aggregate::Signed(-99)), Aggregate::Signed(-9));
        let tuple = Value::Tuple(vec![Value::Int(-25), text("x"), Value::Uint(30), Value::Pointer(40)]);
        let expected = Value::Tuple(vec![Value::Int(-2), text("x"), Value::Uint(3), Value::Pointer(40)]);
        assert_eq!(divided(Aggregate::Plain(tuple)), Aggregate::Plain(expected));
        let lhist = Aggregate::Lhist { min: 0, max: 1, step: 1, buckets: vec![10, 20] };
        assert_eq!(divided(lhist.clone()), lhist);
        let hist = Aggregate::Hist { bits: 0, buckets: vec![10, 25] };
        assert_eq!(divided(hist), Aggregate::Hist { bits: 0, buckets: vec![1, 2] });
    }
}
