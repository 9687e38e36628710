//! Closing many descriptors at once.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

/// Closing the event of a tracepoint or probe waits for the kernel's grace periods, tens of milliseconds each. Threads wait side
/// by side.
const THREADS: usize = 32;

/// Closes all and returns when that is done.
pub(crate) fn close_all(descriptors: Vec<OwnedFd>) {
    if descriptors.len() < 4 {
        drop(descriptors);
        return;
    }
    let threads = THREADS.min(descriptors.len());
    let queue = Mutex::new(descriptors);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let closer = || {
                while let Some(fd) = queue.lock().ok().and_then(|mut q| q.pop()) {
                    drop(fd);
                }
            };
            // Without threads it takes longer, and the queue's own drop does the rest.
            let _ = std::thread::Builder::new().spawn_scoped(scope, closer);
        }
    });
}
