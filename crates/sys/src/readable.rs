//! Waiting for a descriptor in the event loop.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor that the runtime watches for something to read.
#[derive(Debug)]
pub struct Readable(AsyncFd<OwnedFd>);

impl Readable {
    /// Hands a descriptor to the runtime of this thread.
    ///
    /// # Errors
    /// When it is of a kind that cannot be waited for.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: `OwnedFd` gives the same descriptor each time, and keeps it open as long as the registration lives.
        let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
        registered.map(Self).map_err(|error| error.into_parts().1)
    }

    /// Waits until it has become readable since the last time. What there is to read must then be read to its end.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}
