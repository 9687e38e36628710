//! "Did you mean": the candidate with the fewest typing slips from a name.

/// Names longer than this are not compared: a kernel name is at most 512 bytes, and such a long one is no slip.
const MAX_LEN: usize = 128;

/// The candidate nearest to `name` by insertions, deletions, replacements and swaps of neighbours, wrong case at half the
/// price; `None` when nothing is near enough to be meant. The first of equals wins, one that differs in case alone
/// beats all.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().collect();
    if wanted.is_empty() || wanted.len() > MAX_LEN {
        return None;
    }
    // Costs are counted in halves.
    let mut limit = 2 * wanted.len().div_ceil(3).min(4) + 1;
    let mut best = None;
    let mut table = Table::default();
    for candidate in candidates {
        if candidate.eq_ignore_ascii_case(name) && candidate != name {
            return Some(candidate);
        }
        if candidate == name || candidate.len().abs_diff(name.len()) > 3 * MAX_LEN {
            continue;
        }
        if let Some(cost) = table.cost(&wanted, candidate, limit) {
            limit = cost;
            best = Some(candidate);
        }
    }
    best
}

/// Rows of the cost table, kept between candidates.
#[derive(Default)]
struct Table {
    text: Vec<char>,
    rows: [Vec<usize>; 3],
}

impl Table {
    /// The cost of turning `wanted` into `candidate`, if it is below `limit`.
    fn cost(&mut self, wanted: &[char], candidate: &str, limit: usize) -> Option<usize> {
        self.text.clear();
        self.text.extend(candidate.chars().take(MAX_LEN + 1));
        if self.text.len() > MAX_LEN || 2 * self.text.len().abs_diff(wanted.len()) >= limit {
            return None;
        }
        let [older, before, row] = &mut self.rows;
        row.clear();
        row.extend((0..=self.text.len()).map(|n| 2 * n));
        for (i, &w) in wanted.iter().enumerate() {
            std::mem::swap(older, before);
            std::mem::swap(before, row);
            row.clear();
            row.push(2 * (i + 1));
            for (j, &t) in self.text.iter().enumerate() {
                let replace = match () {
                    () if w == t => 0,
                    () if w.eq_ignore_ascii_case(&t) => 1,
                    () => 2,
                };
                let mut cost = (before[j] + replace).min(before[j + 1] + 2).min(row[j] + 2);
                if i > 0 && j > 0 && w == self.text[j - 1] && wanted[i - 1] == t {
                    cost = cost.min(older[j - 1] + 2);
                }
                row.push(cost);
            }
            if row.iter().all(|c| *c >= limit) {
                return None;
            }
        }
        row.last().copied().filter(|cost| *cost < limit)
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use proptest::prelude::*;

    #[test]
    fn finds_the_slip() {
        let names = ["start", "stop", "vfs_read", "vfs_write", "tid", "pid"];
        assert_eq!(nearest("strat", names.into_iter()), Some("start"));
        assert_eq!(nearest("vfs_raed", names.into_iter()), Some("vfs_read"));
        assert_eq!(nearest("TID", names.into_iter()), Some("tid"));
        assert_eq!(nearest("vfsread", names.into_iter()), Some("vfs_read"));
    }

    #[test]
    fn stays_silent_when_nothing_is_near() {
        let names = ["start", "stop"];
        assert_eq!(nearest("elephant", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
        assert_eq!(nearest("xy", names.into_iter()), None);
        assert_eq!(nearest(&"a".repeat(10_000), names.into_iter()), None);
    }

    proptest! {
        #[test]
        fn one_lost_letter_is_found(name in "[a-z]{4,20}", at in 0usize..20) {
            let mut short = name.clone();
            short.remove(at % name.len());
            prop_assume!(short != name);
            prop_assert_eq!(nearest(&short, [name.as_str()].into_iter()), Some(name.as_str()));
        }

        #[test]
        fn any_text_is_fine(a in ".{0,200}", b in ".{0,200}") {
            let _ = nearest(&a, [b.as_str()].into_iter());
        }
    }
}
