//! Command lines of the tasks. The usage text is the grammar: an option is allowed if the usage names it, and takes a value
//! if a word in capitals, digits or lowercase follows it there.

use crate::Result;

/// Options and the rest.
#[derive(Debug, Default)]
pub(crate) struct Args {
    options: Vec<(String, Option<String>)>,
    /// Words that are not options.
    pub(crate) rest: Vec<String>,
}

impl Args {
    /// Reads `words` by the grammar in `usage`.
    pub(crate) fn parse(usage: &str, words: impl Iterator<Item = String>) -> Result<Self> {
        let known = known_options(usage);
        let mut args = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                args.rest.push(word);
                continue;
            }
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            let Some((_, takes_value)) = known.iter().find(|(k, _)| *k == name) else {
                return Err(format!("no option `{name}`; usage: cargo xtask {usage}").into());
            };
            let value = match (takes_value, inline) {
                (true, None) => Some(words.next().ok_or_else(|| format!("`{name}` needs a value"))?),
                (true, some) => some,
                (false, None) => None,
                (false, Some(_)) => return Err(format!("`{name}` takes no value").into()),
            };
            args.options.push((name, value));
        }
        Ok(args)
    }

    /// Whether the option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(n, _)| n == name)
    }

    /// The option's value, the last one if given twice.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(n, _)| n == name).and_then(|(_, v)| v.as_deref())
    }

    /// The option's value as a comma list.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<String>> {
        self.value(name).map(|v| v.split(',').map(str::to_owned).collect())
    }
}

fn known_options(usage: &str) -> Vec<(String, bool)> {
    let words: Vec<&str> = usage.split_whitespace().collect();
    let mut known = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let name = word.trim_start_matches('[');
        if name.starts_with("--") {
            let alone = name.ends_with(']');
            let next = words.get(at + 1).is_some_and(|n| !n.starts_with('['));
            known.push((name.trim_end_matches(']').to_owned(), !alone && next));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "live [--against CMD [--peer-root DIR]] [--quick] [FILTER]";

    fn parse(words: &[&str]) -> Result<Args> {
        Args::parse(USAGE, words.iter().map(|w| (*w).to_owned()))
    }

    #[test]
    fn options_follow_the_usage_text() {
        let args = parse(&["--against", "x y", "--quick", "T1", "--peer-root=/host"]).unwrap();
        assert_eq!(args.value("--against"), Some("x y"));
        assert_eq!(args.value("--peer-root"), Some("/host"));
        assert!(args.has("--quick"));
        assert_eq!(args.rest, ["T1"]);
    }

    #[test]
    fn unknown_and_incomplete_options_are_refused() {
        assert!(parse(&["--nosuch"]).is_err());
        assert!(parse(&["--against"]).is_err());
        assert!(parse(&["--quick=1"]).is_err());
    }
}
