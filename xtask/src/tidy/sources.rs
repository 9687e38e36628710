//! Rules for Rust files.

use super::Tree;
use crate::Result;

/// The one crate that may.
const UNSAFE_HERE: &str = "crates/sys/";

/// These rules name what they look for.
const RULES_HERE: &str = "xtask/src/tidy";

/// A file longer than this has more than one subject.
const MAX_LINES: usize = 900;

/// Every file starts with `//!`, apart from attributes of the whole file. A `tests.rs` says what it is by its name.
pub(super) fn module_docs(tree: &Tree) -> Result<Vec<String>> {
    let texts = tree.texts("rs");
    let bare = texts.iter().filter(|(file, text)| !file.ends_with("tests.rs") && !starts_with_docs(text));
    Ok(bare.map(|(file, _)| format!("{}: does not start with `//!`", file.display())).collect())
}

fn starts_with_docs(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    first.is_some_and(|line| line.starts_with("//!"))
}

/// The keyword stands nowhere else. (The lint `unsafe_code` says the same to the compiler; this also sees code that is configured away.)
pub(super) fn no_unsafe(tree: &Tree) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (file, text) in tree.texts("rs") {
        if file.starts_with(UNSAFE_HERE) || file.starts_with(RULES_HERE) {
            continue;
        }
        lines.extend(found(&text, is_unsafe).map(|n| format!("{}:{n}: unsafe", file.display())));
    }
    Ok(lines)
}

/// Nothing unfinished or silenced is committed.
pub(super) fn no_leftovers(tree: &Tree) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (file, text) in tree.texts("rs") {
        if !file.starts_with(RULES_HERE) {
            lines.extend(found(&text, is_leftover).map(|n| format!("{}:{n}: left over", file.display())));
        }
    }
    Ok(lines)
}

/// No file is endless.
pub(super) fn lengths(tree: &Tree) -> Result<Vec<String>> {
    let texts = tree.texts("rs");
    let long = texts.iter().map(|(file, text)| (file, text.lines().count())).filter(|(_, n)| *n > MAX_LINES);
    Ok(long.map(|(file, n)| format!("{}: {n} lines, at most {MAX_LINES}", file.display())).collect())
}

fn found(text: &str, is_bad: fn(&str) -> bool) -> impl Iterator<Item = usize> {
    text.lines().enumerate().filter(move |(_, line)| is_bad(line)).map(|(at, _)| at + 1)
}

fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let words: Vec<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let at = words.iter().position(|w| *w == "unsafe");
    at.is_some_and(|at| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let opens = code.split("unsafe").nth(1).is_some_and(|rest| rest.trim_start().starts_with(['{', '(']));
        opens || matches!(next, "fn" | "impl" | "extern" | "trait")
    })
}

fn is_leftover(line: &str) -> bool {
    ["todo!(", "unimplemented!(", "#[ignore", "allow(dead_code", "allow(unused", "FIXME", "XXX:", "dbg!("]
        .iter()
        .any(|mark| line.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_is_found_and_the_word_is_not() {
        for code in [
            "let x = unsafe { f() };",
            "unsafe fn f() {}",
            "unsafe impl Send for X {}",
            "#[unsafe(no_mangle)]",
        ] {
            assert!(is_unsafe(code), "{code}");
        }
        for code in [
            "// unsafe { }",
            "the --unsafe option",
            "let unsafe_mode = options.unsafe_mode;",
            "name: \"unsafe\",",
        ] {
            assert!(!is_unsafe(code), "{code}");
        }
    }
}
