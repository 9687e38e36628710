//! The wildcard matcher of probe names: `*`, `?` and `[a-z]`. Not a regular expression, and no `{a,b}`.

/// A compiled wildcard. `*` is any text, `?` any one character, `[a-z]` one of a set, `[!a]` or `[^a]` one not of a
/// set. A `[` without its `]` stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// This byte.
    Byte(u8),
    /// Any one character.
    One,
    /// Any text.
    Any,
    /// One byte in (or, negated, outside) these inclusive ranges.
    Set { negated: bool, ranges: Vec<(u8, u8)> },
}

impl Glob {
    /// Compiles a pattern; every text is one.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        let bytes = pattern.as_bytes();
        let mut parts = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'*' => {
                    if parts.last() != Some(&Part::Any) {
                        parts.push(Part::Any);
                    }
                }
                b'?' => parts.push(Part::One),
                b'[' => match parse_set(&bytes[at..]) {
                    Some((set, used)) => {
                        parts.push(set);
                        at += used;
                    }
                    None => parts.push(Part::Byte(b'[')),
                },
                other => parts.push(Part::Byte(other)),
            }
        }
        Self { pattern: pattern.to_owned(), parts }
    }

    /// The pattern as written.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether the pattern matches exactly one text, itself.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.parts.iter().all(|p| matches!(p, Part::Byte(_)))
    }

    /// The text that every match begins with.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        let len = self.parts.iter().take_while(|p| matches!(p, Part::Byte(_))).count();
        // A part of one byte is one byte of the pattern, and a wildcard is ASCII, so this is a boundary.
        self.pattern.get(..len).unwrap_or("")
    }

    /// Whether the whole of `text` matches. Time is at most the product of both lengths.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let (mut part, mut at) = (0, 0);
        // Only the last `*` can need another try: an earlier one took the shortest text that worked.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    retry = Some((part + 1, at));
                    part += 1;
                    continue;
                }
                Some(p) => {
                    if let Some(width) = p.width_at(text, at) {
                        part += 1;
                        at += width;
                        continue;
                    }
                }
                None if at == text.len() => return true,
                None => {}
            }
            match retry {
                Some((after, from)) if from < text.len() => {
                    retry = Some((after, from + 1));
                    part = after;
                    at = from + 1;
                }
                _ => return false,
            }
        }
    }
}

impl Part {
    /// How many bytes this part takes of `text` at `at`; `None` when it does not match there.
    fn width_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let byte = *text.get(at)?;
        let matches = match self {
            Self::Byte(b) => *b == byte,
            Self::One => {
                // A whole character: its continuation bytes come along.
                let rest = &text[at + 1..];
                return Some(1 + rest.iter().take_while(|b| **b & 0xc0 == 0x80).count());
            }
            Self::Set { negated, ranges } => {
                ranges.iter().any(|&(lo, hi)| (lo..=hi).contains(&byte)) != *negated
            }
            Self::Any => return Some(0),
        };
        matches.then_some(1)
    }
}

/// The set after a `[`, and how many bytes it takes with its `]`.
fn parse_set(bytes: &[u8]) -> Option<(Part, usize)> {
    let mut at = 0;
    let negated = matches!(bytes.first(), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let start = at;
    let mut ranges = Vec::new();
    loop {
        let lo = *bytes.get(at)?;
        // A `]` that comes first is a member of the set.
        if lo == b']' && at > start {
            return Some((Part::Set { negated, ranges }, at + 1));
        }
        match (bytes.get(at + 1), bytes.get(at + 2)) {
            (Some(b'-'), Some(&hi)) if hi != b']' => {
                ranges.push((lo, hi));
                at += 3;
            }
            _ => {
                ranges.push((lo, lo));
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;
    use proptest::prelude::*;

    fn hits(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).is_match(text)
    }

    #[test]
    fn stars_question_marks_and_sets() {
        assert!(hits("vfs_*", "vfs_read"));
        assert!(hits("*", ""));
        assert!(hits("*sched*", "sched"));
        assert!(!hits("vfs_*", "xvfs_read"));
        assert!(!hits("vfs_rea", "vfs_read"));
        assert!(hits("sys_enter_?ead", "sys_enter_read"));
        assert!(!hits("?", ""));
        assert!(hits("?", "ä"));
        assert!(hits("tcp_[a-c]*", "tcp_ack"));
        assert!(!hits("tcp_[a-c]*", "tcp_v4"));
        assert!(hits("tcp_[!a-c]*", "tcp_v4"));
        assert!(hits("x[]]y", "x]y"));
        assert!(hits("a[b", "a[b"));
        assert!(hits("a*b*c", "a-b-b-c"));
        assert!(!hits("a*b*c", "a-b-b-"));
    }

    #[test]
    fn literals_and_prefixes() {
        assert!(Glob::new("vfs_read").is_literal());
        assert!(!Glob::new("vfs_*").is_literal());
        assert_eq!(Glob::new("vfs_*d").literal_prefix(), "vfs_");
        assert_eq!(Glob::new("[ab]").literal_prefix(), "");
        assert_eq!(Glob::new("a[b").literal_prefix(), "a[b");
    }

    #[test]
    fn many_stars_stay_fast() {
        let pattern = "*a".repeat(200);
        assert!(!hits(&pattern, &"a".repeat(199)));
        assert!(!hits(&(pattern + "b"), &"a".repeat(5000)));
    }

    proptest! {
        #[test]
        fn a_text_without_wildcards_matches_itself_only(a in "[a-z_äß]{0,12}", b in "[a-z_äß]{0,12}") {
            prop_assert!(hits(&a, &a));
            prop_assert_eq!(hits(&a, &b), a == b);
        }

        #[test]
        fn any_pattern_meets_any_text(p in ".{0,20}", t in ".{0,20}") {
            let _ = hits(&p, &t);
        }

        #[test]
        fn star_takes_anything_between(a in "[a-z]{0,6}", m in ".{0,10}", z in "[a-z]{0,6}") {
            let pattern = format!("{a}*{z}");
            let text = format!("{a}{m}{z}");
            prop_assert!(hits(&pattern, &text));
        }
    }
}
