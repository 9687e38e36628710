//! What the compiler has to say, with the place in the script underlined.
//!
//! ```text
//! FILE:LINE:FROM-TO: ERROR: what is wrong
//! the line of the script
//!     ~~~~
//! HINT: what to do
//! ```

use std::borrow::Cow;
use std::io::{self, Write};

use strix_model::{Diagnostic, Diagnostics, Severity, SourceFile, SourceMap, Span};
use unicode_width::UnicodeWidthChar as _;

use crate::escape;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const RESET: &str = "\x1b[0m";

/// Columns of a tab.
const TAB: usize = 4;

/// Most lines of a place that goes over several; what is between is left out.
const MOST_LINES: u32 = 64;

/// Most characters of a line; of a longer one, those around the place are shown.
const MOST_CHARS: usize = 400;

/// Characters before the place that are shown of a line that is too long.
const CHARS_BEFORE: usize = 100;

/// Most findings that are shown: nobody reads more, and there may be one a word.
const MOST_FINDINGS: usize = 100;

/// Stands where something of a line is left out.
const CUT: &str = "...";

/// How diagnostics look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticStyle {
    /// Colour the first line.
    pub colour: bool,
    /// Leave warnings out.
    pub errors_only: bool,
}

/// Writes all findings, errors first.
pub fn render_diagnostics(
    diagnostics: &Diagnostics,
    sources: &SourceMap,
    style: DiagnosticStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut wanted: Vec<&Diagnostic> = diagnostics.sorted();
    wanted.retain(|d| !style.errors_only || d.severity == Severity::Error);
    wanted.iter().take(MOST_FINDINGS).try_for_each(|d| render(d, sources, style.colour, out))?;
    match wanted.len().saturating_sub(MOST_FINDINGS) {
        0 => Ok(()),
        more => writeln!(out, "({more} more findings are not shown)"),
    }
}

fn render(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let severity = diagnostic.severity;
    let place = |span: Span, text: &str, out: &mut dyn Write| {
        // Names of files, and what of the script is in the text, may hold anything.
        let line = format!("{}: {}{text}", location(sources, span), prefix(severity));
        write_coloured(out, severity, colour, &harmless(&line))?;
        context(sources, span, out)
    };
    let primary = &diagnostic.primary;
    let message = match primary.text.as_str() {
        "" => diagnostic.message.clone(),
        text => format!("{}: {text}", diagnostic.message),
    };
    place(primary.span, &message, out)?;
    for label in &diagnostic.secondary {
        place(label.span, &label.text, out)?;
    }
    for help in &diagnostic.help {
        writeln!(out, "HINT: {}", harmless(help))?;
    }
    Ok(())
}

/// Without what a terminal could act on.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut escaped = Vec::new();
    escape::escape_terminal(text.as_bytes(), &mut escaped);
    Cow::Owned(String::from_utf8_lossy(&escaped).into_owned())
}

/// `ERROR: ` or `WARNING: `.
pub(crate) fn prefix(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "ERROR: ",
        Severity::Warning => "WARNING: ",
    }
}

/// Writes a line, red or yellow if asked.
pub(crate) fn write_coloured(
    out: &mut dyn Write,
    severity: Severity,
    colour: bool,
    line: &str,
) -> io::Result<()> {
    match (colour, severity) {
        (false, _) => writeln!(out, "{line}"),
        (true, Severity::Error) => writeln!(out, "{RED}{line}{RESET}"),
        (true, Severity::Warning) => writeln!(out, "{YELLOW}{line}{RESET}"),
    }
}

/// `FILE:LINE:FROM-TO`, or `FILE:FIRST-LAST` for a place on several lines.
#[must_use]
pub fn location(sources: &SourceMap, span: Span) -> String {
    let file = sources.file(span.file);
    let (from, to) = (file.line_col(span.lo), file.line_col(span.hi.max(span.lo)));
    if from.line == to.line {
        format!("{}:{}:{}-{}", file.name, from.line, from.col, to.col)
    } else {
        format!("{}:{}-{}", file.name, from.line, to.line)
    }
}

/// The lines of a place; a single one is underlined.
fn context(sources: &SourceMap, span: Span, out: &mut dyn Write) -> io::Result<()> {
    let file = sources.file(span.file);
    let (from, to) = (file.line_col(span.lo), file.line_col(span.hi.max(span.lo)));
    if from.line == to.line {
        return underlined(file.line(from.line), from.col as usize - 1, to.col as usize - 1, out);
    }
    several(file, from.line, to.line, out)
}

fn several(file: &SourceFile, first: u32, last: u32, out: &mut dyn Write) -> io::Result<()> {
    let lines = file.text.split('\n').skip(first as usize - 1).take((last - first + 1) as usize);
    for (i, line) in (0u32..).zip(lines) {
        let left = last - first + 1 - i;
        if i < MOST_LINES - 1 || left == 1 {
            let mut text = Vec::new();
            let line = line.strip_suffix('\r').unwrap_or(line);
            let end = line.char_indices().nth(MOST_CHARS).map_or(line.len(), |(at, _)| at);
            escape::escape_terminal(&line.as_bytes()[..end], &mut text);
            if end < line.len() {
                text.extend_from_slice(CUT.as_bytes());
            }
            text.push(b'\n');
            out.write_all(&text)?;
        } else if i == MOST_LINES - 1 {
            writeln!(out, "...")?;
        }
    }
    Ok(())
}

/// A line, and below it a mark under the characters `from..to`; an empty place gets one mark.
fn underlined(line: &str, from: usize, to: usize, out: &mut dyn Write) -> io::Result<()> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let to = to.max(from + 1);
    // A place may be behind the end of its line.
    let length = line.chars().count();
    let first = if length > MOST_CHARS { from.min(length).saturating_sub(CHARS_BEFORE) } else { 0 };
    let last = length.min(first + MOST_CHARS);
    let mut text = Vec::with_capacity(line.len().min(4 * MOST_CHARS) + 1);
    let mut marks = String::new();
    if first > 0 {
        text.extend_from_slice(CUT.as_bytes());
        marks.extend(std::iter::repeat_n(' ', CUT.len()));
    }
    for (i, c) in line.chars().enumerate().take(last).skip(first) {
        let width = show(c, &mut text);
        if i < to {
            marks.extend(std::iter::repeat_n(if i < from { ' ' } else { '~' }, width));
        }
    }
    if last < length {
        text.extend_from_slice(CUT.as_bytes());
    }
    if from >= length {
        // At the end of the line: an unexpected end of the script, mostly.
        marks.push('~');
    }
    text.push(b'\n');
    out.write_all(&text)?;
    writeln!(out, "{marks}")
}

/// Appends a character as it is shown and gives the columns it takes.
fn show(c: char, text: &mut Vec<u8>) -> usize {
    if c == '\t' {
        text.extend_from_slice(&[b' '; TAB]);
        return TAB;
    }
    let start = text.len();
    let mut buffer = [0; 4];
    escape::escape_terminal(c.encode_utf8(&mut buffer).as_bytes(), text);
    if c.is_control() { text.len() - start } else { c.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(
        text: &str,
        colour: bool,
        make: impl FnOnce(&mut Diagnostics, &dyn Fn(u32, u32) -> Span),
    ) -> String {
        let mut sources = SourceMap::default();
        let file = sources.add("stdin", text);
        let mut diagnostics = Diagnostics::default();
        make(&mut diagnostics, &|lo, hi| Span::new(file, lo, hi));
        let mut out = Vec::new();
        let style = DiagnosticStyle { colour, errors_only: false };
        render_diagnostics(&diagnostics, &sources, style, &mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    fn error(text: &str, lo: u32, hi: u32) -> String {
        shown(text, false, |d, at| d.push(Diagnostic::error(at(lo, hi), "bad")))
    }

    #[test]
    fn one_line_is_underlined() {
        assert_eq!(
            shown("begin { @x = foo; }", false, |d, at| d.push(
                Diagnostic::error(at(13, 16), "undefined name `foo`")
                    .with_help("did you mean `for`?")
                    .with_help("or not")
            )),
            "stdin:1:14-17: ERROR: undefined name `foo`\n\
             begin { @x = foo; }\n\
             \x20            ~~~\n\
             HINT: did you mean `for`?\n\
             HINT: or not\n"
        );
    }

    #[test]
    fn errors_come_before_warnings_and_contexts_after_their_message() {
        assert_eq!(
            shown("ab\ncd", false, |d, at| {
                d.push(Diagnostic::warning(at(0, 1), "hm"));
                d.push(Diagnostic::error(at(3, 5), "no").with_label(at(0, 2), "first here"));
            }),
            "stdin:2:1-3: ERROR: no\ncd\n~~\nstdin:1:1-3: ERROR: first here\nab\n~~\nstdin:1:1-2: WARNING: hm\nab\n~\n"
        );
    }

    #[test]
    fn several_lines_are_shown_plain() {
        assert_eq!(error("a {\n\tb\n}\n", 0, 8), "stdin:1-3: ERROR: bad\na {\n\tb\n}\n");
        let long = "x\n".repeat(200);
        let text = error(&long, 0, 398);
        assert_eq!(text.lines().count(), 1 + 63 + 1 + 1, "{text}");
        assert!(text.ends_with("...\nx\n"), "{text}");
    }

    #[test]
    fn tabs_wide_and_control_characters_keep_the_mark_in_place() {
        assert_eq!(error("\ta b", 3, 4), "stdin:1:4-5: ERROR: bad\n    a b\n      ~\n");
        assert_eq!(error("a\tb", 1, 2), "stdin:1:2-3: ERROR: bad\na    b\n ~~~~\n");
        assert_eq!(error("日本 x", 7, 8), "stdin:1:4-5: ERROR: bad\n日本 x\n     ~\n");
        assert_eq!(error("日本", 3, 6), "stdin:1:2-3: ERROR: bad\n日本\n  ~~\n");
        assert_eq!(error("\x1b[m x", 4, 5), "stdin:1:5-6: ERROR: bad\n\\x1b[m x\n       ~\n");
        assert_eq!(error("a b\r\nc", 2, 3), "stdin:1:3-4: ERROR: bad\na b\n  ~\n");
    }

    #[test]
    fn of_long_lines_only_what_is_around_the_place_is_shown() {
        let long = "a".repeat(1_000_000);
        let shown = error(&long, 500_000, 500_002);
        let expected = format!(
            "stdin:1:500001-500003: ERROR: bad\n...{}...\n   {}~~\n",
            "a".repeat(MOST_CHARS),
            " ".repeat(CHARS_BEFORE)
        );
        assert_eq!(shown, expected);
        let start = error(&long, 0, 1_000_000);
        assert_eq!(start.lines().nth(1), Some(format!("{}...", "a".repeat(MOST_CHARS)).as_str()));
        assert_eq!(start.lines().nth(2), Some("~".repeat(MOST_CHARS).as_str()));
        let end = error(&long, 1_000_000, 1_000_000);
        let marks = format!("   {}~", " ".repeat(CHARS_BEFORE));
        assert_eq!(end.lines().nth(2), Some(marks.as_str()));
        let lines = error(&format!("{long}\n{long}"), 0, 2_000_001);
        assert!(lines.len() < 1000, "{}", lines.len());
    }

    #[test]
    fn of_many_findings_the_first_are_shown() {
        let many = shown("ab", false, |d, at| {
            for i in 0..20_000 {
                d.push(Diagnostic::warning(at(0, 1), format!("hm {i}")));
            }
        });
        assert_eq!(many.lines().filter(|l| l.contains("hm")).count(), MOST_FINDINGS);
        assert!(many.ends_with("(19900 more findings are not shown)\n"));
    }

    #[test]
    fn names_and_messages_cannot_act_on_the_terminal() {
        let mut sources = SourceMap::default();
        let file = sources.add("a\x1b[2Jb.bt", "ab");
        let mut diagnostics = Diagnostics::default();
        let bad = Diagnostic::error(Span::new(file, 0, 1), "no file \x1b]0;x\x07").with_help("\x1bc");
        diagnostics.push(bad);
        let mut out = Vec::new();
        render_diagnostics(&diagnostics, &sources, DiagnosticStyle::default(), &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.starts_with("a\\x1b[2Jb.bt:1:1-2: ERROR: no file \\x1b]0;x\\x07\n"), "{text}");
        assert!(text.ends_with("HINT: \\x1bc\n"), "{text}");
    }

    #[test]
    fn empty_places_and_the_end_of_the_text_are_marked() {
        assert_eq!(error("ab", 2, 2), "stdin:1:3-3: ERROR: bad\nab\n  ~\n");
        assert_eq!(error("", 0, 0), "stdin:1:1-1: ERROR: bad\n\n~\n");
        assert_eq!(error("ab", 90, 99), "stdin:1:3-3: ERROR: bad\nab\n  ~\n");
        assert_eq!(error("ab", 1, 0), "stdin:1:2-2: ERROR: bad\nab\n ~\n");
    }

    #[test]
    fn colour_is_only_around_the_first_line() {
        assert_eq!(
            shown("ab", true, |d, at| d.push(Diagnostic::error(at(0, 1), "x").with_help("y"))),
            "\x1b[31mstdin:1:1-2: ERROR: x\x1b[0m\nab\n~\nHINT: y\n"
        );
        assert_eq!(
            shown("ab", true, |d, at| d.push(Diagnostic::warning(at(0, 1), "x"))),
            "\x1b[33mstdin:1:1-2: WARNING: x\x1b[0m\nab\n~\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_span_of_any_text_is_shown(text in "[a-c\t\n\r\u{1b}\u{200b}é日]{0,30}", lo in 0u32..60, hi in 0u32..60) {
            let shown = error(&text, lo, hi);
            proptest::prop_assert!(shown.starts_with("stdin:") && shown.ends_with('\n'));
            proptest::prop_assert!(!shown.contains('\x1b'));
        }
    }
}
