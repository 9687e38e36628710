//! What must be true of a run.

use regex_lite::Regex;

use super::maps::{self, Maps};
use crate::Result;

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What a run left to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// Standard output without the notification line.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// Exit code as a shell shows it.
    pub(crate) exit: i32,
    /// Peak memory of the tracer, where it could be read.
    pub(crate) rss_kib: Option<u64>,
    /// From start to end.
    pub(crate) wall_ms: u64,
}

impl Observed {
    fn stream(&self, stream: Stream) -> &str {
        match stream {
            Stream::Out => &self.stdout,
            Stream::Err => &self.stderr,
        }
    }
}

/// A line that is looked for.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// The whole line.
    Exact(String),
    /// A part of the line.
    Regex(Regex),
}

impl Pattern {
    fn fits(&self, line: &str) -> bool {
        match self {
            Self::Exact(text) => line.trim_end() == text.trim_end(),
            Self::Regex(regex) => regex.is_match(line),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Exact(text) => format!("line `{text}`"),
            Self::Regex(regex) => format!("line matching /{regex}/"),
        }
    }
}

/// A comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    fn holds(self, a: i128, b: i128) -> bool {
        match self {
            Self::Equal => a == b,
            Self::NotEqual => a != b,
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
        }
    }
}

/// A number that can be taken from a run.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// Value (or histogram total) of a map's entry.
    Entry(String, String),
    /// Count of a histogram's row: map, key, label.
    Row(String, String, String),
    /// Sum over all entries of a map.
    Sum(String),
    /// Number of entries of a map.
    Keys(String),
    /// Lines that match.
    Lines(Stream, Regex),
    /// Peak memory in MiB.
    RssMib,
    /// Time in milliseconds.
    WallMs,
}

/// One thing that must be true.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// These lines occur in this order; others may lie between.
    Lines(Stream, Vec<Pattern>),
    /// No line matches.
    None(Stream, Vec<Regex>),
    /// Standard output is this, apart from blank lines at both ends and blanks at line ends.
    All(String),
    /// A comparison; the text is for messages.
    Value(String, Subject, Comparison, i128),
}

impl Check {
    /// Exact lines in order.
    pub(crate) fn exact(stream: Stream, lines: Vec<String>) -> Self {
        Self::Lines(stream, lines.into_iter().map(Pattern::Exact).collect())
    }

    /// Regular expressions for lines in order.
    pub(crate) fn regex(stream: Stream, lines: &[String]) -> Result<Self> {
        let patterns = lines.iter().map(|line| Ok(Pattern::Regex(Regex::new(line)?)));
        Ok(Self::Lines(stream, patterns.collect::<Result<_>>()?))
    }

    /// Regular expressions that no line may match.
    pub(crate) fn none(stream: Stream, lines: &[String]) -> Result<Self> {
        Ok(Self::None(stream, lines.iter().map(|line| Ok(Regex::new(line)?)).collect::<Result<_>>()?))
    }

    /// `SUBJECT OP NUMBER`.
    pub(crate) fn value(text: &str) -> Result<Self> {
        let wrong = || format!("`{text}`: CHECK wants SUBJECT OPERATOR NUMBER");
        let mut parts = text.rsplitn(3, ' ');
        let number = parts.next().and_then(|n| n.replace('_', "").parse().ok()).ok_or_else(wrong)?;
        let comparison = parts.next().and_then(Comparison::parse).ok_or_else(wrong)?;
        let subject = subject(parts.next().ok_or_else(wrong)?.trim())?;
        Ok(Self::Value(text.to_owned(), subject, comparison, number))
    }

    /// `None` if it holds, else how it does not.
    pub(crate) fn failure(&self, seen: &Observed) -> Option<String> {
        match self {
            Self::Lines(stream, patterns) => {
                let mut lines = seen.stream(*stream).lines();
                let missing = patterns.iter().find(|p| !lines.any(|line| p.fits(line)))?;
                Some(format!("missing (in this order) in {stream:?}: {}", missing.shown()))
            }
            Self::None(stream, regexes) => {
                let line = seen.stream(*stream).lines().find(|l| regexes.iter().any(|r| r.is_match(l)))?;
                Some(format!("not wanted in {stream:?}: {line}"))
            }
            Self::All(text) => {
                let (want, got) = (trimmed(text), trimmed(&seen.stdout));
                (want != got).then(|| format!("stdout is not the expected text:\n{want}"))
            }
            Self::Value(text, subject, comparison, number) => {
                let found = measure(subject, seen);
                let holds = found.is_some_and(|found| comparison.holds(found, *number));
                let shown = found.map_or_else(|| "nothing".to_owned(), |n| n.to_string());
                (!holds).then(|| format!("{text}: found {shown}"))
            }
        }
    }
}

fn subject(text: &str) -> Result<Subject> {
    let call = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(map) = call("sum") {
        return Ok(Subject::Sum(map.to_owned()));
    }
    if let Some(map) = call("keys") {
        return Ok(Subject::Keys(map.to_owned()));
    }
    if let Some(regex) = call("lines") {
        return Ok(Subject::Lines(Stream::Out, Regex::new(regex)?));
    }
    if let Some(regex) = call("errlines") {
        return Ok(Subject::Lines(Stream::Err, Regex::new(regex)?));
    }
    if let Some((map, label)) = call("row").and_then(|inside| inside.split_once(' ')) {
        let (map, key) = place(map);
        return Ok(Subject::Row(map, key, label.trim().to_owned()));
    }
    match text {
        "rss_mib" => Ok(Subject::RssMib),
        "wall_ms" => Ok(Subject::WallMs),
        _ if text.starts_with('@') => {
            let (map, key) = place(text);
            Ok(Subject::Entry(map, key))
        }
        _ => Err(format!("no subject `{text}` for CHECK").into()),
    }
}

fn place(text: &str) -> (String, String) {
    match text.split_once('[') {
        Some((map, key)) => (map.to_owned(), key.trim_end_matches(']').to_owned()),
        None => (text.to_owned(), String::new()),
    }
}

fn measure(subject: &Subject, seen: &Observed) -> Option<i128> {
    let of = |maps: &Maps, map: &str| -> Vec<maps::Value> {
        maps.iter().filter(|((name, _), _)| name == map).map(|(_, value)| value.clone()).collect()
    };
    match subject {
        Subject::Entry(map, key) => maps::read(&seen.stdout).get(&(map.clone(), key.clone()))?.total(),
        Subject::Row(map, key, label) => match maps::read(&seen.stdout).get(&(map.clone(), key.clone()))? {
            maps::Value::Hist(rows) => rows.iter().find(|(l, _)| l == label).map(|(_, n)| *n),
            _ => None,
        },
        Subject::Sum(map) => of(&maps::read(&seen.stdout), map).iter().map(maps::Value::total).sum(),
        Subject::Keys(map) => Some(of(&maps::read(&seen.stdout), map).len() as i128),
        Subject::Lines(stream, regex) => {
            Some(seen.stream(*stream).lines().filter(|line| regex.is_match(line)).count() as i128)
        }
        Subject::RssMib => seen.rss_kib.map(|kib| i128::from(kib.div_ceil(1024))),
        Subject::WallMs => Some(i128::from(seen.wall_ms)),
    }
}

/// Without blank lines at both ends and blanks at line ends.
pub(crate) fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Observed {
        let stdout = "a 1\nb 2\n\n@x[k]: 5\n@h:\n[1]   2 |@@|\n[2, 4)   3 |@|\n\n".to_owned();
        Observed { stdout, stderr: "warn\n".into(), exit: 0, rss_kib: Some(2048), wall_ms: 10 }
    }

    fn fails(check: Check) -> bool {
        check.failure(&seen()).is_some()
    }

    #[test]
    fn lines_are_looked_for_in_order() {
        let lines = |l: &[&str]| l.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert!(!fails(Check::exact(Stream::Out, lines(&["a 1", "b 2"]))));
        assert!(fails(Check::exact(Stream::Out, lines(&["b 2", "a 1"]))));
        assert!(!fails(Check::regex(Stream::Out, &lines(&["^b"])).unwrap()));
        assert!(fails(Check::none(Stream::Err, &lines(&["warn"])).unwrap()));
    }

    #[test]
    fn numbers_are_taken_from_maps_and_lines() {
        for text in [
            "@x[k] == 5",
            "@h == 5",
            "row(@h [2, 4)) == 3",
            "sum(@x) >= 5",
            "keys(@x) == 1",
            "lines(^[ab]) == 2",
            "errlines(w) == 1",
            "rss_mib <= 2",
            "wall_ms < 11",
        ] {
            assert!(!fails(Check::value(text).unwrap()), "{text}");
        }
        for text in ["@x[j] == 5", "@h == 4", "@nosuch == 0", "row(@h [8, 16)) == 0"] {
            assert!(fails(Check::value(text).unwrap()), "{text}");
        }
    }
}
