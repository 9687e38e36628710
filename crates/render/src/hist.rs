//! Histograms: which buckets are shown and what their borders are called. Text and JSON share it.

/// A border between two buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Border {
    /// The number.
    pub number: i128,
    /// How text shows it: with a suffix for multiples of 1024 where every border of the histogram has one.
    pub label: String,
    /// Whether the label is the plain number. A bucket between two plain neighbours holds a single value.
    pub plain: bool,
}

/// The shown part of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Lowest value; `None` is without bound.
    pub from: Option<Border>,
    /// One past the highest value; `None` is without bound.
    pub to: Option<Border>,
    /// Values seen.
    pub count: u64,
}

impl Bucket {
    /// The label of text output: `(..., 0)`, `[5]`, `[2, 4)`, `[10, ...)`.
    pub fn label(&self) -> String {
        match (&self.from, &self.to) {
            (None, None) => "(..., ...)".into(),
            (None, Some(to)) => format!("(..., {})", to.label),
            (Some(from), None) => format!("[{}, ...)", from.label),
            (Some(from), Some(to)) if from.plain && to.plain && from.number + 1 == to.number => {
                format!("[{}]", from.label)
            }
            (Some(from), Some(to)) => format!("[{}, {})", from.label, to.label),
        }
    }
}

/// Buckets of `hist` from the first to the last that is not empty. Counts are divided by `div`.
pub(crate) fn log2(bits: u8, counts: &[u64], div: u64) -> Vec<Bucket> {
    let bits = u32::from(bits.min(5));
    let border = |index: usize| log2_border(index as u32, bits);
    shown(counts)
        .map(|i| Bucket {
            from: (i > 0).then(|| border(i - 1)),
            to: Some(border(i)),
            count: counts[i] / div.max(1),
        })
        .collect()
}

/// Upper border of a bucket of `hist`, see [`strix_model::MapValue::Hist`]. Up to twice the number of steps every value has
/// a bucket of its own and borders are plain; above they are written in powers of 1024.
fn log2_border(index: u32, bits: u32) -> Border {
    if index <= 2 << bits {
        return Border { number: i128::from(index), label: index.to_string(), plain: true };
    }
    let steps = 1u128 << bits;
    let mantissa = steps + (u128::from(index) & (steps - 1));
    let power = (index >> bits).saturating_sub(1).min(70);
    let suffix = ["", "K", "M", "G", "T", "P", "E", "Z"][power as usize / 10];
    let label = format!("{}{suffix}", mantissa << (power % 10));
    Border { number: (mantissa << power) as i128, label, plain: false }
}

/// Buckets of `lhist` from the first to the last that is not empty.
pub(crate) fn linear(min: i64, max: i64, step: i64, counts: &[u64]) -> Vec<Bucket> {
    let border = |index: usize| linear_border(i128::from(min) + index as i128 * i128::from(step), step);
    shown(counts)
        .map(|i| Bucket {
            from: (i > 0).then(|| border(i - 1)),
            to: Some(border(i)).filter(|to| to.number <= i128::from(max)),
            count: counts[i],
        })
        .collect()
}

/// Suffixes only when the step is a multiple of 1024, because only then every border has one.
fn linear_border(number: i128, step: i64) -> Border {
    const KILO: i128 = 1024;
    const MEGA: i128 = KILO * KILO;
    if step % 1024 != 0 {
        return Border { number, label: number.to_string(), plain: true };
    }
    let label = if number != 0 && number % MEGA == 0 {
        format!("{}M", number / MEGA)
    } else if number != 0 && number % KILO == 0 {
        format!("{}K", number / KILO)
    } else {
        number.to_string()
    };
    Border { number, label, plain: false }
}

/// From the first to the last count that is not zero.
fn shown(counts: &[u64]) -> std::ops::Range<usize> {
    match counts.iter().position(|&c| c > 0) {
        Some(first) => first..counts.iter().rposition(|&c| c > 0).unwrap_or(first) + 1,
        None => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(buckets: &[Bucket]) -> Vec<String> {
        buckets.iter().map(Bucket::label).collect()
    }

    fn one(bits: u8, index: usize) -> String {
        let mut counts = vec![0; ((64 - usize::from(bits)) << bits) + 1];
        counts[index] = 1;
        log2(bits, &counts, 1)[0].label()
    }

    #[test]
    fn powers_of_two() {
        for (index, label) in [
            (0, "(..., 0)"),
            (1, "[0]"),
            (2, "[1]"),
            (3, "[2, 4)"),
            (4, "[4, 8)"),
            (11, "[512, 1K)"),
            (12, "[1K, 2K)"),
            (21, "[512K, 1M)"),
            (34, "[4G, 8G)"),
            (64, "[4E, 8E)"),
        ] {
            assert_eq!(one(0, index), label);
        }
    }

    #[test]
    fn finer_steps() {
        for (index, label) in [
            (0, "(..., 0)"),
            (1, "[0]"),
            (4, "[3]"),
            (5, "[4]"),
            (8, "[7]"),
            (9, "[8, 10)"),
            (12, "[14, 16)"),
            (13, "[16, 20)"),
            (37, "[1024, 1280)"),
            (45, "[4K, 5K)"),
        ] {
            assert_eq!(one(2, index), label, "{index}");
        }
    }

    #[test]
    fn bucket_borders_agree_with_the_bucket_function() {
        for bits in 0..=5u8 {
            let n = 1u64 << bits;
            let index = |value: u64| {
                if value < n {
                    return 1 + value as usize;
                }
                let log = value.ilog2();
                let fraction = (value >> (log - u32::from(bits))) & (n - 1);
                ((u64::from(log - u32::from(bits) + 1) << bits) + fraction + 1) as usize
            };
            for value in (0..5000).chain([1 << 20, (1 << 20) + 12345, 1 << 40, (1 << 62) + 99, (1 << 63) - 1])
            {
                let mut counts = vec![0; ((64 - usize::from(bits)) << bits) + 1];
                counts[index(value)] = 1;
                let bucket = &log2(bits, &counts, 1)[0];
                let from = bucket.from.as_ref().map_or(i128::MIN, |b| b.number);
                let to = bucket.to.as_ref().map_or(i128::MAX, |b| b.number);
                assert!((from..to).contains(&i128::from(value)), "{value} with {bits} bits: {from}..{to}");
            }
        }
    }

    #[test]
    fn linear_steps() {
        let all = linear(0, 10, 2, &[1, 0, 2, 0, 1, 0, 1]);
        assert_eq!(
            labels(&all),
            ["(..., 0)", "[0, 2)", "[2, 4)", "[4, 6)", "[6, 8)", "[8, 10)", "[10, ...)"]
        );
        assert_eq!(labels(&linear(0, 4, 1, &[0, 1, 1, 0, 0, 0])), ["[0]", "[1]"]);
        assert_eq!(labels(&linear(0, 100, 10, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])), ["[100, ...)"]);
        assert_eq!(labels(&linear(10, 110, 10, &[1])), ["(..., 10)"]);
        assert_eq!(
            labels(&linear(-2048, 1 << 20, 1024, &[0, 1, 1, 1])),
            ["[-2K, -1K)", "[-1K, 0)", "[0, 1K)"]
        );
        assert_eq!(labels(&linear(610_000, 670_000, 10_000, &[0, 0, 0, 1])), ["[630000, 640000)"]);
    }

    #[test]
    fn empty_histograms_show_nothing() {
        assert!(log2(0, &[0; 65], 1).is_empty());
        assert!(log2(0, &[], 1).is_empty());
        assert_eq!(log2(0, &[0, 5], 2)[0].count, 2);
        assert_eq!(log2(0, &[0, 5], 0)[0].count, 5);
    }
}
