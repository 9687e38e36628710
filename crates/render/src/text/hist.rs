//! Histograms as rows of `@`.

use std::io::Write as _;

use strix_model::Aggregate;

use crate::hist::{Bucket, linear, log2};

/// Columns of the longest bar.
const BAR: usize = 52;

/// Appends one row a bucket; nothing for other values.
pub(super) fn write(value: &Aggregate, out: &mut Vec<u8>) {
    let buckets = match value {
        Aggregate::Hist { bits, buckets } => log2(*bits, buckets, 1),
        Aggregate::Lhist { min, max, step, buckets } => linear(*min, *max, *step, buckets),
        _ => return,
    };
    rows(&buckets, out);
}

fn rows(buckets: &[Bucket], out: &mut Vec<u8>) {
    let most = buckets.iter().map(|b| b.count).max().unwrap_or(0);
    for bucket in buckets {
        // Single precision, as users' scripts that compare bars expect; nothing over nothing is no bar.
        let bar = ((bucket.count as f32 / most as f32) * BAR as f32) as usize;
        // Writing to memory cannot fail.
        let _ =
            writeln!(out, "{:<16}{:>8} |{:<BAR$}|", bucket.label(), bucket.count, "@".repeat(bar.min(BAR)));
    }
}
