//! One value out of the values of all CPUs.

use strix_model::{Aggregate, MapValue, Shape};

/// A value of a user map, reduced over the CPUs.
#[derive(Clone, Debug, PartialEq)]
pub enum MapCell {
    /// As stored, to be read by the map's shape.
    Plain(Vec<u8>),
    /// An aggregation.
    Aggregate(Aggregate),
}

/// Reduces a whole value as user space reads it: one CPU's after the other, `stride` bytes apart. With `flagged`, each CPU's value is
/// followed by a word that says whether it holds anything. `None`: no CPU has one, or the bytes are too few.
pub(crate) fn reduce(value: &MapValue, bytes: &[u8], stride: usize, flagged: bool) -> Option<MapCell> {
    let size = value.size() as usize;
    let is_set = |cpu: &&[u8]| !flagged || word(cpu, size).is_some_and(|flag| flag != 0);
    let cpus: Vec<&[u8]> =
        bytes.chunks_exact(stride.max(1)).filter(|cpu| cpu.len() >= size).filter(is_set).collect();
    if cpus.is_empty() {
        return None;
    }
    let total = || cpus.iter().filter_map(|cpu| word(cpu, 0)).fold(0u64, u64::wrapping_add);
    let number = |signed: bool, bits: u64| {
        MapCell::Aggregate(if signed { Aggregate::Signed(bits as i64) } else { Aggregate::Unsigned(bits) })
    };
    Some(match *value {
        MapValue::Plain(ref shape) => MapCell::Plain(plain(shape, &cpus, size)),
        MapValue::Count => number(false, total()),
        MapValue::Sum { signed } => number(signed, total()),
        MapValue::Min { signed } => number(signed, extreme(&cpus, signed, true)),
        MapValue::Max { signed } => number(signed, extreme(&cpus, signed, false)),
        MapValue::Avg { signed } | MapValue::Stats { signed } => {
            let count = cpus.iter().filter_map(|cpu| word(cpu, 8)).fold(0u64, u64::wrapping_add);
            let average_only = matches!(value, MapValue::Avg { .. });
            MapCell::Aggregate(Aggregate::Stats { count, total: total(), signed, average_only })
        }
        MapValue::Hist { bits } => {
            MapCell::Aggregate(Aggregate::Hist { bits, buckets: buckets(&cpus, size) })
        }
        MapValue::Lhist { min, max, step } => {
            MapCell::Aggregate(Aggregate::Lhist { min, max, step, buckets: buckets(&cpus, size) })
        }
    })
}

/// The native word at a byte offset.
pub(crate) fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    let end = offset.checked_add(8)?;
    Some(u64::from_ne_bytes(bytes.get(offset..end)?.try_into().ok()?))
}

/// Numbers of several CPUs add up; of anything else, the first CPU that has something speaks.
fn plain(shape: &Shape, cpus: &[&[u8]], size: usize) -> Vec<u8> {
    if let (Shape::Int { .. }, true) = (shape, cpus.len() > 1 && size == 8) {
        let sum = cpus.iter().filter_map(|cpu| word(cpu, 0)).fold(0u64, u64::wrapping_add);
        return sum.to_ne_bytes().to_vec();
    }
    let speaks = cpus.iter().find(|cpu| cpu[..size].iter().any(|&b| b != 0)).or(cpus.first());
    speaks.map_or_else(Vec::new, |cpu| cpu[..size].to_vec())
}

/// The least or greatest of those CPUs that saw a value; 0 when none did.
fn extreme(cpus: &[&[u8]], signed: bool, least: bool) -> u64 {
    let seen =
        cpus.iter().filter(|cpu| word(cpu, 8).is_some_and(|flag| flag != 0)).filter_map(|cpu| word(cpu, 0));
    // Flipping the sign bit makes unsigned order out of signed.
    let key = |bits: &u64| if signed { *bits ^ (1 << 63) } else { *bits };
    if least { seen.min_by_key(key) } else { seen.max_by_key(key) }.unwrap_or(0)
}

fn buckets(cpus: &[&[u8]], size: usize) -> Vec<u64> {
    let mut sums = vec![0u64; size / 8];
    for cpu in cpus {
        for (sum, bytes) in sums.iter_mut().zip(cpu.chunks_exact(8)) {
            *sum = sum.wrapping_add(word(bytes, 0).unwrap_or(0));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[i64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[track_caller]
    fn check(value: &MapValue, words: &[i64], words_a_cpu: usize, expected: &Aggregate) {
        let cell = reduce(value, &bytes(words), words_a_cpu * 8, false).expect("a value");
        assert_eq!(cell, MapCell::Aggregate(expected.clone()));
    }

    #[test]
    fn numbers_add_up() {
        check(&MapValue::Count, &[3, 4], 1, &Aggregate::Unsigned(7));
        check(&MapValue::Sum { signed: false }, &[-1, 2], 1, &Aggregate::Unsigned(1));
        check(&MapValue::Sum { signed: true }, &[-5, 2], 1, &Aggregate::Signed(-3));
    }

    #[test]
    fn extremes_leave_out_cpus_that_saw_nothing() {
        check(&MapValue::Min { signed: true }, &[-3, 1, 7, 1, -9, 0], 2, &Aggregate::Signed(-3));
        check(&MapValue::Min { signed: false }, &[-3, 1, 7, 1, 0, 0], 2, &Aggregate::Unsigned(7));
        check(&MapValue::Max { signed: true }, &[-3, 1, -7, 1, 0, 0], 2, &Aggregate::Signed(-3));
        check(&MapValue::Max { signed: false }, &[-3, 1, 7, 1], 2, &Aggregate::Unsigned(-3i64 as u64));
        check(&MapValue::Max { signed: false }, &[0, 0, 0, 0], 2, &Aggregate::Unsigned(0));
    }

    #[test]
    fn averages_keep_total_and_count() {
        let stats = |average_only| Aggregate::Stats { count: 5, total: 30, signed: true, average_only };
        check(&MapValue::Avg { signed: true }, &[10, 2, 20, 3], 2, &stats(true));
        check(&MapValue::Stats { signed: true }, &[10, 2, 20, 3], 2, &stats(false));
    }

    #[test]
    fn histograms_add_bucket_by_bucket() {
        let value = MapValue::Lhist { min: 0, max: 20, step: 10 };
        let expected = Aggregate::Lhist { min: 0, max: 20, step: 10, buckets: vec![1, 12, 23, 34] };
        check(&value, &[1, 2, 3, 4, 0, 10, 20, 30], 4, &expected);
        let value = MapValue::Hist { bits: 0 };
        let cell = reduce(&value, &vec![1; 65 * 8 * 2], 65 * 8, false).expect("a value");
        let MapCell::Aggregate(Aggregate::Hist { bits: 0, buckets }) = cell else { panic!("{cell:?}") };
        assert_eq!(buckets, vec![0x0202_0202_0202_0202; 65]);
    }

    #[test]
    fn scalars_exist_once_set() {
        let value = MapValue::Count;
        assert_eq!(reduce(&value, &bytes(&[5, 0, 6, 0]), 16, true), None);
        let set = reduce(&value, &bytes(&[5, 0, 6, 1]), 16, true);
        assert_eq!(set, Some(MapCell::Aggregate(Aggregate::Unsigned(6))));
    }

    #[test]
    fn plain_values_are_as_stored() {
        let value = MapValue::Plain(Shape::Str { cap: 16 });
        let cell = reduce(&value, b"hello\0\0\0\0\0\0\0\0\0\0\0", 16, false);
        assert_eq!(cell, Some(MapCell::Plain(b"hello\0\0\0\0\0\0\0\0\0\0\0".to_vec())));
        let value = MapValue::Plain(Shape::Int { size: 8, signed: true });
        assert_eq!(reduce(&value, &bytes(&[2, 3]), 8, false), Some(MapCell::Plain(bytes(&[5]))));
    }

    #[test]
    fn too_few_bytes_are_no_value() {
        assert_eq!(reduce(&MapValue::Count, &[1, 2, 3], 8, false), None);
        assert_eq!(reduce(&MapValue::Count, &[], 0, true), None);
    }
}
