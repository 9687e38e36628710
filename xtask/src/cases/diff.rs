//! Comparison of two tools on the same case.

use super::check::{Observed, trimmed};
use super::{Agree, maps};

/// How the two runs differ, in lines; empty if they agree.
pub(crate) fn differences(agree: Agree, ours: &Observed, theirs: &Observed) -> Vec<String> {
    match agree {
        Agree::Nothing => Vec::new(),
        Agree::Text => texts(&trimmed(&ours.stdout), &trimmed(&theirs.stdout)),
        Agree::Maps => compare_maps(ours, theirs, true),
        Agree::Keys => compare_maps(ours, theirs, false),
    }
}

fn compare_maps(ours: &Observed, theirs: &Observed, values: bool) -> Vec<String> {
    let (ours, theirs) = (maps::read(&ours.stdout), maps::read(&theirs.stdout));
    let mut lines = Vec::new();
    if ours.is_empty() && theirs.is_empty() {
        lines.push("neither printed a map".to_owned());
    }
    for (place, value) in &ours {
        match theirs.get(place) {
            None => lines.push(format!("only ours: {place:?} = {value:?}")),
            Some(other) if values && other != value => {
                lines.push(format!("{place:?}: ours {value:?}, theirs {other:?}"));
            }
            Some(_) => {}
        }
    }
    let missing = theirs.iter().filter(|(place, _)| !ours.contains_key(place));
    lines.extend(missing.map(|(place, value)| format!("only theirs: {place:?} = {value:?}")));
    lines
}

fn texts(ours: &str, theirs: &str) -> Vec<String> {
    if ours == theirs {
        return Vec::new();
    }
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    let mut lines = Vec::new();
    loop {
        match (a.next(), b.next()) {
            (None, None) => return lines,
            (x, y) if x == y => {}
            (x, y) => {
                lines.push(format!("ours:   {}", x.unwrap_or("(end)")));
                lines.push(format!("theirs: {}", y.unwrap_or("(end)")));
            }
        }
        if lines.len() > 20 {
            lines.push("...".to_owned());
            return lines;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(stdout: &str) -> Observed {
        Observed { stdout: stdout.into(), ..Observed::default() }
    }

    #[test]
    fn values_or_keys_alone() {
        let (a, b) = (printed("@x[k]: 1\n"), printed("@x[k]: 2\n"));
        assert_eq!(differences(Agree::Maps, &a, &b).len(), 1);
        assert!(differences(Agree::Keys, &a, &b).is_empty());
        assert_eq!(differences(Agree::Keys, &a, &printed("@y[k]: 1\n")).len(), 2);
    }

    #[test]
    fn text_differs_by_line() {
        let lines = differences(Agree::Text, &printed("a\nb\n"), &printed("\na\nc\n"));
        assert_eq!(lines, ["ours:   b", "theirs: c"]);
    }
}
