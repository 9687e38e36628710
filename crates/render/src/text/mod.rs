//! The text form: what a person at a terminal reads, and what existing scripts parse.

mod hist;

use std::io::{self, Write};

use strix_model::{Aggregate, Severity};

use crate::order::{average, total_of};
use crate::value::{write_key, write_value};
use crate::{MapView, Message, Output, ProbeLosses, arrange, diagnostics, escape, losses};

/// The text form of everything.
pub struct Text<'w> {
    out: Box<dyn Write + 'w>,
    err: Box<dyn Write + 'w>,
    escapes: bool,
    colour: bool,
    /// Reused from value to value.
    buffer: Vec<u8>,
}

impl<'w> Text<'w> {
    /// Results go to `out`, remarks to `err`. Both should be buffered by the caller. With `escapes` (stdout is a terminal)
    /// control characters in traced data are escaped; with `colour` (stderr is a terminal) warnings and errors are coloured.
    pub fn new(out: impl Write + 'w, err: impl Write + 'w, escapes: bool, colour: bool) -> Self {
        Self { out: Box::new(out), err: Box::new(err), escapes, colour, buffer: Vec::new() }
    }

    /// Fills the buffer and writes it.
    fn emit(&mut self, fill: impl FnOnce(&mut Vec<u8>, bool)) -> io::Result<()> {
        self.buffer.clear();
        fill(&mut self.buffer, self.escapes);
        self.out.write_all(&self.buffer)
    }

    /// Writes text of a traced process, followed by `after`.
    fn traced(&mut self, text: &[u8], after: &[u8]) -> io::Result<()> {
        self.emit(|out, escapes| {
            if escapes {
                escape::escape_terminal(text, out)
            } else {
                out.extend_from_slice(text)
            }
            out.extend_from_slice(after);
        })
    }
}

impl Output for Text<'_> {
    fn escapes(&self) -> bool {
        self.escapes
    }

    fn printf(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.write_all(text)
    }

    fn value(&mut self, value: &Aggregate) -> io::Result<()> {
        self.emit(|out, escapes| {
            aggregate(value, 1, escapes, out);
            out.push(b'\n');
        })
    }

    fn map(&mut self, map: MapView<'_>) -> io::Result<()> {
        let rows = arrange(map.rows, map.top, map.div);
        for (key, value) in &rows {
            self.emit(|out, escapes| {
                out.extend_from_slice(map.name.as_bytes());
                if !map.scalar {
                    out.push(b'[');
                    write_key(key, escapes, out);
                    out.push(b']');
                }
                out.extend_from_slice(if is_block(value) { b":\n" } else { b": " });
                aggregate(value, map.div, escapes, out);
                out.push(b'\n');
            })?;
        }
        Ok(())
    }

    fn time(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    fn join(&mut self, text: &[u8]) -> io::Result<()> {
        self.traced(text, b"\n")
    }

    fn cat(&mut self, content: &[u8]) -> io::Result<()> {
        self.traced(content, b"")
    }

    fn system(&mut self, text: &[u8]) -> io::Result<()> {
        self.traced(text, b"\n")
    }

    fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        let mut text = Vec::new();
        escape::escape_terminal(message.text, &mut text);
        let line = format!(
            "{}: {}{}",
            message.location,
            diagnostics::prefix(message.severity),
            String::from_utf8_lossy(&text)
        );
        let line = line.strip_suffix('\n').unwrap_or(&line);
        diagnostics::write_coloured(&mut *self.err, message.severity, self.colour, line)
    }

    fn attached(&mut self, count: u64) -> io::Result<()> {
        writeln!(self.err, "Attached {count} probe{}", if count == 1 { "" } else { "s" })
    }

    fn lost(&mut self, count: u64) -> io::Result<()> {
        writeln!(self.err, "Lost {count} events")
    }

    fn losses(&mut self, total_lost: u64, probes: &[ProbeLosses<'_>], verbose: bool) -> io::Result<()> {
        losses_text(&mut *self.err, self.colour, total_lost, probes, verbose)
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.err.flush()
    }
}

/// The warning and the table at the end of a run.
pub(crate) fn losses_text(
    err: &mut dyn Write,
    colour: bool,
    total_lost: u64,
    probes: &[ProbeLosses<'_>],
    verbose: bool,
) -> io::Result<()> {
    if total_lost > 0 {
        let line = format!("WARNING: Total lost event count: {total_lost}");
        diagnostics::write_coloured(err, Severity::Warning, colour, &line)?;
    }
    let table = losses::table(probes, verbose);
    if !table.is_empty() {
        err.write_all(b"Losses by probe:\n")?;
        err.write_all(table.as_bytes())?;
    }
    Ok(())
}

/// Whether the value takes lines of its own below the key.
fn is_block(value: &Aggregate) -> bool {
    matches!(value, Aggregate::Hist { .. } | Aggregate::Lhist { .. })
}

/// Appends a map value; `div` divides only the averages, the rest was divided before.
fn aggregate(value: &Aggregate, div: u64, escapes: bool, out: &mut Vec<u8>) {
    match value {
        Aggregate::Plain(value) => write_value(value, escapes, out),
        Aggregate::Unsigned(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Aggregate::Signed(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Aggregate::Stats { count, total, signed, average_only } => {
            let average = average(*count, *total, *signed) / i128::from(div.max(1));
            let text = if *average_only {
                average.to_string()
            } else {
                let total = total_of(*total, *signed);
                format!("{{ .count = {count}, .average = {average}, .total = {total} }}")
            };
            out.extend_from_slice(text.as_bytes());
        }
        Aggregate::Hist { .. } | Aggregate::Lhist { .. } => hist::write(value, out),
    }
}

#[cfg(test)]
mod tests;
