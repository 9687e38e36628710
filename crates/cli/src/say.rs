//! Writing to stdout and stderr without a panic when nobody takes it.
//!
//! `print!` and `eprintln!` panic when the other end is gone or the disk is full. A reader that had enough is no failure; a
//! full disk is one. What cannot be said on stderr cannot be said at all.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use strix_render::escape_terminal;

use crate::exit;

/// Writes a result to stdout; the exit code that this comes to.
pub fn result(text: &str) -> u8 {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// The exit code of a command whose results were written, or not. Says why not.
pub fn written(done: io::Result<()>) -> u8 {
    match done {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            remark(format_args!("ERROR: cannot write: {error}"));
            exit::FAILURE
        }
        _ => exit::SUCCESS,
    }
}

/// Writes a line to stderr. What is in it may come from anywhere: terminals get nothing to act on.
pub fn remark(text: fmt::Arguments<'_>) {
    coloured("", text, "");
}

/// [`remark`] between two texts that switch a colour on and off.
pub fn coloured(on: &str, text: fmt::Arguments<'_>, off: &str) {
    let mut line = on.as_bytes().to_vec();
    escape_terminal(text.to_string().as_bytes(), &mut line);
    line.extend_from_slice(off.as_bytes());
    line.push(b'\n');
    // In one piece, so that it does not mix with what others write.
    let _ = io::stderr().write_all(&line);
}

/// Passes on what a command of the script wrote to its stderr, which may hold traced data.
pub fn others(text: &[u8]) {
    let mut shown = Vec::new();
    if io::stderr().is_terminal() {
        escape_terminal(text, &mut shown);
    }
    let _ = io::stderr().write_all(if shown.is_empty() { text } else { &shown });
}

/// Standard error for remarks beside the results: that they cannot be written does not end a run.
pub struct Remarks;

impl Write for Remarks {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_had_enough_is_no_failure() {
        assert_eq!(written(Ok(())), exit::SUCCESS);
        assert_eq!(written(Err(io::ErrorKind::BrokenPipe.into())), exit::SUCCESS);
        assert_eq!(written(Err(io::ErrorKind::StorageFull.into())), exit::FAILURE);
    }
}
