//! Tests from files: `files/NAME.t` holds scripts and what comes of each.
//!
//! A file starts with comment lines. Then come cases, divided by lines of `====`: a script, a line of `----`, and the expected text:
//! the findings, or the tree as it is printed when there are none. `BLESS=1` writes what comes instead of comparing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use strix_model::{Diagnostics, Severity, SourceMap, Span};

#[test]
fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("the folder is there").map(|e| e.expect("readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "t"));
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", folder.display());
    let wrong: Vec<String> = files.iter().filter_map(|file| run_file(file)).collect();
    assert!(wrong.is_empty(), "{}\nBLESS=1 accepts what comes", wrong.join("\n"));
}

/// Runs the cases of a file; what is wrong.
fn run_file(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).expect("a test file is text");
    let head: String = text.lines().take_while(|l| l.starts_with("# ")).map(|l| format!("{l}\n")).collect();
    let mut wrong = String::new();
    let mut written = Vec::new();
    for case in text[head.len()..].split("\n====\n") {
        let (script, expected) = case.split_once("\n----\n").unwrap_or((case, ""));
        let script = script.trim();
        let found = outcome(script);
        if found.trim() != expected.trim() {
            let expected = expected.trim();
            let _ =
                writeln!(wrong, "{}: {script}\n--- expected\n{expected}\n--- found\n{found}", file.display());
        }
        written.push(format!("\n{script}\n----\n{}\n", found.trim()));
    }
    if env::var_os("BLESS").is_some() {
        fs::write(file, format!("{head}{}", written.join("\n===="))).expect("test files can be written");
        return None;
    }
    (!wrong.is_empty()).then_some(wrong)
}

/// The findings; without any, the tree.
fn outcome(script: &str) -> String {
    let mut sources = SourceMap::default();
    let file = sources.add("script", script);
    let mut diags = Diagnostics::default();
    let tree = strix_syntax::parse(file, script, &mut diags);
    if diags.is_empty() {
        return strix_syntax::print(&tree);
    }
    let at = |span: Span| {
        let place = sources.file(span.file).line_col(span.lo);
        format!("{}:{} `{}`", place.line, place.col, sources.snippet(span))
    };
    let mut out = String::new();
    for d in diags.sorted() {
        let severity = if d.severity == Severity::Error { "error" } else { "warning" };
        let _ = writeln!(out, "{severity}: {} at {}", d.message, at(d.primary.span));
        for label in &d.secondary {
            let _ = writeln!(out, "  label: {} at {}", label.text, at(label.span));
        }
        for help in &d.help {
            let _ = writeln!(out, "  help: {help}");
        }
    }
    out
}
