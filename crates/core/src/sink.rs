//! Where events go.

use std::io;

use crate::MapReader;

/// Takes what a session reads. `clear`, `zero` and `exit` are done by the session itself and not handed over.
pub trait EventSink {
    /// A record of the schema with this index; it has at least its header. Maps are read through `maps`, as they are now.
    ///
    /// # Errors
    /// When writing fails: the session ends. A closed pipe is no failure of the session.
    fn record(&mut self, schema: u32, record: &[u8], maps: &MapReader<'_>) -> io::Result<()>;

    /// Nothing more waits: what was written may go out now.
    ///
    /// # Errors
    /// As for [`EventSink::record`].
    fn flush(&mut self) -> io::Result<()>;

    /// Something that does not end the session went wrong, such as a map that could not be read.
    fn problem(&mut self, error: &crate::Error);
}
