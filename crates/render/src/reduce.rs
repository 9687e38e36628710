//! A map entry as the kernel keeps it, one value a CPU → one aggregate.

use strix_model::{Aggregate, MapValue, Shape, Value};

use crate::Decoder;
use crate::decode::{tail, unsigned};

/// Adds up one entry. `slots` is the value of every CPU in turn (a single one for maps without per-CPU values), each
/// without the set flag of scalar maps, though a longer slot does no harm.
pub fn reduce<'b>(
    value: &MapValue,
    slots: impl IntoIterator<Item = &'b [u8]>,
    decoder: &mut Decoder<'_>,
) -> Aggregate {
    let mut slots = slots.into_iter();
    match *value {
        MapValue::Plain(ref shape) => {
            Aggregate::Plain(decoder.value(slots.next().unwrap_or_default(), shape))
        }
        MapValue::Count => Aggregate::Unsigned(total(slots)),
        MapValue::Sum { signed } => integer(total(slots), signed),
        MapValue::Min { signed } => extreme(slots, signed, false),
        MapValue::Max { signed } => extreme(slots, signed, true),
        MapValue::Avg { signed } => stats(slots, signed, true),
        MapValue::Stats { signed } => stats(slots, signed, false),
        MapValue::Hist { bits } => Aggregate::Hist { bits, buckets: buckets(slots, value.buckets()) },
        MapValue::Lhist { min, max, step } => {
            Aggregate::Lhist { min, max, step, buckets: buckets(slots, value.buckets()) }
        }
    }
}

/// What an explicit `print` shows of a scalar map that nothing was stored in. Histograms show nothing.
#[must_use]
pub fn empty_scalar(value: &MapValue, decoder: &mut Decoder<'_>) -> Option<Aggregate> {
    match value {
        MapValue::Hist { .. } | MapValue::Lhist { .. } => None,
        MapValue::Plain(Shape::Str { .. }) => Some(Aggregate::Plain(Value::Str(Vec::new()))),
        _ => Some(reduce(value, std::iter::empty(), decoder)),
    }
}

fn word(slot: &[u8], index: u32) -> u64 {
    unsigned(tail(slot, index * 8), 8)
}

fn integer(bits: u64, signed: bool) -> Aggregate {
    if signed { Aggregate::Signed(bits as i64) } else { Aggregate::Unsigned(bits) }
}

fn total<'b>(slots: impl Iterator<Item = &'b [u8]>) -> u64 {
    slots.fold(0, |sum, slot| sum.wrapping_add(word(slot, 0)))
}

/// The smallest or largest value of the CPUs that have one; 0 when none has.
fn extreme<'b>(slots: impl Iterator<Item = &'b [u8]>, signed: bool, largest: bool) -> Aggregate {
    let set = slots.filter(|slot| word(slot, 1) != 0).map(|slot| word(slot, 0));
    let order = |bits: &u64| if signed { i128::from(*bits as i64) } else { i128::from(*bits) };
    let found = if largest { set.max_by_key(order) } else { set.min_by_key(order) };
    integer(found.unwrap_or(0), signed)
}

fn stats<'b>(slots: impl Iterator<Item = &'b [u8]>, signed: bool, average_only: bool) -> Aggregate {
    let (mut total, mut count) = (0u64, 0u64);
    for slot in slots {
        total = total.wrapping_add(word(slot, 0));
        count = count.wrapping_add(word(slot, 1));
    }
    Aggregate::Stats { count, total, signed, average_only }
}

fn buckets<'b>(slots: impl Iterator<Item = &'b [u8]>, len: u32) -> Vec<u64> {
    let mut sums = vec![0u64; len as usize];
    for slot in slots {
        for (sum, chunk) in sums.iter_mut().zip(slot.chunks_exact(8)) {
            *sum = sum.wrapping_add(unsigned(chunk, 8));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: &MapValue, slots: &[&[u64]]) -> Aggregate {
        let slots: Vec<Vec<u8>> =
            slots.iter().map(|words| words.iter().flat_map(|w| w.to_ne_bytes()).collect()).collect();
        reduce(value, slots.iter().map(Vec::as_slice), &mut Decoder { names: &mut (), trailer: ".." })
    }

    const MINUS_4: u64 = -4i64 as u64;

    #[test]
    fn cpus_are_added_up() {
        assert_eq!(run(&MapValue::Count, &[&[3], &[4]]), Aggregate::Unsigned(7));
        assert_eq!(run(&MapValue::Sum { signed: true }, &[&[3], &[MINUS_4]]), Aggregate::Signed(-1));
        assert_eq!(run(&MapValue::Sum { signed: false }, &[]), Aggregate::Unsigned(0));
        assert_eq!(
            run(&MapValue::Avg { signed: false }, &[&[10, 1], &[20, 3]]),
            Aggregate::Stats { count: 4, total: 30, signed: false, average_only: true }
        );
        assert_eq!(
            run(&MapValue::Hist { bits: 0 }, &[&[1, 2], &[0, 5, 1]]),
            Aggregate::Hist { bits: 0, buckets: [vec![1, 7, 1], vec![0; 62]].concat() }
        );
        assert_eq!(
            run(&MapValue::Lhist { min: 0, max: 2, step: 1 }, &[&[1, 2, 3, 4, 99]]),
            Aggregate::Lhist { min: 0, max: 2, step: 1, buckets: vec![1, 2, 3, 4] }
        );
    }

    #[test]
    fn extremes_ignore_cpus_that_saw_nothing() {
        let slots: &[&[u64]] = &[&[0, 0], &[7, 1], &[MINUS_4, 1]];
        assert_eq!(run(&MapValue::Min { signed: true }, slots), Aggregate::Signed(-4));
        assert_eq!(run(&MapValue::Max { signed: true }, slots), Aggregate::Signed(7));
        assert_eq!(run(&MapValue::Max { signed: false }, slots), Aggregate::Unsigned(MINUS_4));
        assert_eq!(run(&MapValue::Min { signed: false }, slots), Aggregate::Unsigned(7));
        assert_eq!(run(&MapValue::Min { signed: false }, &[&[5, 0]]), Aggregate::Unsigned(0));
    }

    #[test]
    fn empty_scalars_are_zero() {
        let mut decoder = Decoder { names: &mut (), trailer: ".." };
        assert_eq!(empty_scalar(&MapValue::Count, &mut decoder), Some(Aggregate::Unsigned(0)));
        assert_eq!(empty_scalar(&MapValue::Hist { bits: 0 }, &mut decoder), None);
        let text = MapValue::Plain(Shape::Str { cap: 4 });
        assert_eq!(empty_scalar(&text, &mut decoder), Some(Aggregate::Plain(Value::Str(Vec::new()))));
    }
}
