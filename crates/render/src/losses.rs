//! What every probe lost.

use std::fmt::Write as _;

use strix_model::{COUNTERS, Counter};

/// Counters of one probe over the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeLosses<'a> {
    /// The probe as written.
    pub probe: &'a str,
    /// In the order of [`Counter`].
    pub counters: [u64; COUNTERS as usize],
    /// Whether runs and false predicates were counted at all.
    pub counts_runs: bool,
    /// Hits that the kernel did not run the program for (recursion, missed kprobes), where it tells.
    pub missed: Option<u64>,
}

/// What is a loss, with its name in JSON and tables.
const KINDS: [(Counter, &str); 5] = [
    (Counter::Dropped, "dropped"),
    (Counter::MapFull, "map_full"),
    (Counter::StackFull, "stack_full"),
    (Counter::ReadFailed, "read_failed"),
    (Counter::ScratchBusy, "scratch_busy"),
];

impl ProbeLosses<'_> {
    /// One counter.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// Whether anything was lost.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.missed.unwrap_or(0) == 0 && KINDS.iter().all(|&(counter, _)| self.get(counter) == 0)
    }

    /// Every number with its name, in the order in which they are shown. `None` was not counted.
    pub(crate) fn fields(&self) -> [(&'static str, Option<u64>); 8] {
        let runs = |counter| self.counts_runs.then(|| self.get(counter));
        let kind = |i: usize| (KINDS[i].1, Some(self.get(KINDS[i].0)));
        [
            ("fired", runs(Counter::Fired)),
            ("filtered", runs(Counter::Filtered)),
            kind(0),
            kind(1),
            kind(2),
            kind(3),
            kind(4),
            ("missed", self.missed),
        ]
    }
}

/// What to do about each kind of loss, by the names of [`ProbeLosses::fields`].
const REMEDIES: [(&str, &str); 6] = [
    ("dropped", "the ring was full: print less, filter earlier, aggregate in a map, or raise perf_rb_pages"),
    (
        "map_full",
        "Map full; can't update element: raise max_map_keys, or declare the map larger, e.g. `let @a = hash(10000)`",
    ),
    ("stack_full", "the stack store was full: take fewer or shorter stacks, or filter earlier"),
    (
        "read_failed",
        "an address could not be read: not mapped, not resident, or not a pointer; the value was zero or empty",
    ),
    ("scratch_busy", "a probe interrupted itself too often on one CPU; those runs were given up"),
    ("missed", "the kernel did not run the program, because a probe was already running on that CPU"),
];

/// The table for people: a column for every counter that is not zero somewhere, or with `verbose` for every one counted.
/// Empty when there is nothing to say.
pub(crate) fn table(probes: &[ProbeLosses<'_>], verbose: bool) -> String {
    let shown: Vec<_> = probes.iter().filter(|p| verbose || !p.is_lossless()).collect();
    let columns: Vec<usize> = (0..8)
        .filter(|&i| {
            let mut cells = shown.iter().filter_map(|p| p.fields()[i].1);
            if verbose { cells.next().is_some() } else { cells.any(|n| n > 0) }
        })
        .collect();
    let mut text = String::new();
    if columns.is_empty() {
        return text;
    }
    for &column in &columns {
        let _ = write!(text, "{:>12} ", shown[0].fields()[column].0);
    }
    text.push_str(" probe\n");
    for probe in shown {
        for &column in &columns {
            let cell = probe.fields()[column].1.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let _ = write!(text, "{cell:>12} ");
        }
        let _ = writeln!(text, " {}", probe.probe);
    }
    let fields: Vec<_> = probes.iter().flat_map(ProbeLosses::fields).collect();
    for (name, remedy) in REMEDIES {
        if fields.iter().any(|&(field, number)| field == name && number.unwrap_or(0) > 0) {
            let _ = writeln!(text, "HINT: {name}: {remedy}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(probe: &str, counters: [u64; COUNTERS as usize]) -> ProbeLosses<'_> {
        ProbeLosses { probe, counters, counts_runs: false, missed: None }
    }

    #[test]
    fn nothing_lost_is_not_mentioned() {
        let quiet = losses("kprobe:a", [9, 1, 0, 0, 0, 0, 0]);
        assert!(quiet.is_lossless());
        assert_eq!(table(std::slice::from_ref(&quiet), false), "");
        assert_eq!(table(&[], true), "");
    }

    #[test]
    fn only_columns_with_something_in_them() {
        let probes = [
            losses("kprobe:a", [0, 0, 12, 0, 0, 0, 0]),
            losses("kprobe:quiet", [0; 7]),
            ProbeLosses { missed: Some(3), ..losses("kprobe:b", [0, 0, 0, 0, 0, 7, 0]) },
        ];
        let expected = "     dropped  read_failed       missed  probe
          12            0            -  kprobe:a
           0            7            3  kprobe:b
";
        let text = table(&probes, false);
        let hints = text.strip_prefix(expected).unwrap_or_else(|| panic!("{text}"));
        let named: Vec<&str> = hints.lines().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(named, ["dropped", "read_failed", "missed"], "a remedy for what was lost, nothing else");
    }

    #[test]
    fn verbose_shows_all_that_was_counted() {
        let probe = ProbeLosses { counts_runs: true, ..losses("kprobe:a", [100, 40, 0, 0, 0, 0, 0]) };
        let text = table(&[probe], true);
        assert!(text.starts_with("       fired     filtered      dropped"), "{text}");
        assert!(text.contains("         100           40            0"), "{text}");
        assert!(!text.contains("missed") && !text.contains("HINT"), "{text}");
    }
}
