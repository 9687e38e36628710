//! The sink that events and answers go to.

use std::io;

use strix_model::{Aggregate, Severity, SourceMap, Span};

use crate::{MapView, ProbeLosses, location};

/// A remark that is tied to a place in the script (`warnf`, `errorf`, a helper that failed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Warning or error.
    pub severity: Severity,
    /// `file:line:col-col`, see [`crate::location`].
    pub location: String,
    /// Name of the script.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is said.
    pub text: &'a [u8],
}

impl<'a> Message<'a> {
    /// A remark about a place in the script.
    #[must_use]
    pub fn new(severity: Severity, sources: &'a SourceMap, span: Span, text: &'a [u8]) -> Self {
        let file = sources.file(span.file);
        let start = file.line_col(span.lo);
        Self {
            severity,
            location: location(sources, span),
            file: &file.name,
            line: start.line,
            column: start.col,
            text,
        }
    }
}

/// Where results go, and in which form. Results go to the sink's output; remarks of the text form go to its error
/// output. Nothing is flushed unless [`Output::flush`] is called.
pub trait Output {
    /// Whether text made from traced data must be escaped before it is given to [`Output::printf`].
    fn escapes(&self) -> bool;

    /// Text of a `printf`.
    fn printf(&mut self, text: &[u8]) -> io::Result<()>;

    /// A printed value that is not a map.
    fn value(&mut self, value: &Aggregate) -> io::Result<()>;

    /// A map, or some of its rows.
    fn map(&mut self, map: MapView<'_>) -> io::Result<()>;

    /// Text of a `time`.
    fn time(&mut self, text: &str) -> io::Result<()>;

    /// Strings of a `join`, joined.
    fn join(&mut self, text: &[u8]) -> io::Result<()>;

    /// Start of a file, for `cat`.
    fn cat(&mut self, content: &[u8]) -> io::Result<()>;

    /// What a `system` command wrote.
    fn system(&mut self, text: &[u8]) -> io::Result<()>;

    /// A remark of the script or about one of its places.
    fn message(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// How many attach points are attached.
    fn attached(&mut self, count: u64) -> io::Result<()>;

    /// Events lost since the last time.
    fn lost(&mut self, count: u64) -> io::Result<()>;

    /// At the end: events lost in all, and what each probe lost. Nothing is shown for probes that lost nothing, unless
    /// `verbose`.
    fn losses(&mut self, total_lost: u64, probes: &[ProbeLosses<'_>], verbose: bool) -> io::Result<()>;

    /// No more events come; only maps follow.
    fn end(&mut self) -> io::Result<()>;

    /// Passes on what is buffered.
    fn flush(&mut self) -> io::Result<()>;
}
