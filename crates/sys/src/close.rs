//! Closing many descriptors, whose last close can take the kernel tens of milliseconds each.
//!
//! Closing a link to a tracepoint waits for a grace period; links that are closed side by side share it (60 links: 0.1 s against
//! 2.3 s). Closing the perf event of a tracepoint or probe waits for two more, under a lock of the kernel's that lets
//! only one at a time wait (60 events: 2.3 s in any order). Once nothing is attached to such an event, nobody needs to
//! see its end, so a process of its own holds the descriptors while the kernel takes its time.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Mutex;

/// Threads that wait side by side.
const THREADS: usize = 64;

/// Closes all and returns when that is done.
pub(crate) fn close_all(descriptors: Vec<OwnedFd>) {
    if descriptors.len() < 2 {
        drop(descriptors);
        return;
    }
    let threads = THREADS.min(descriptors.len());
    let queue = Mutex::new(descriptors);
    let closer = || {
        while let Some(fd) = queue.lock().ok().and_then(|mut q| q.pop()) {
            drop(fd);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread is to be had, those there are take longer.
            if std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, closer).is_err() {
                break;
            }
        }
        closer();
    });
}

/// Closes all without waiting for it. Where that cannot be done, waits.
pub(crate) fn close_later(descriptors: Vec<OwnedFd>) {
    if descriptors.is_empty() {
        return;
    }
    // The helper must be the last to close: it waits for the end of this pipe, whose other end we close after the descriptors.
    let Ok((wait, closed)) = std::io::pipe() else {
        close_all(descriptors);
        return;
    };
    let mut keep: Vec<u32> = descriptors.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    keep.push(wait.as_raw_fd() as u32);
    keep.sort_unstable();
    // SAFETY: the child calls only `hold`, which allocates nothing and takes no lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        hold(&keep, wait.as_raw_fd());
    }
    if child > 0 {
        let mut status = 0;
        // SAFETY: a live integer. The child ends at once, having left its work to a child of its own, which is nobody's to wait for.
        unsafe { libc::waitpid(child, &mut status, 0) };
    }
    drop(descriptors);
    drop(closed);
}

/// The helper: lets go of everything but the descriptors, waits until nobody else has them, and ends, which closes them.
fn hold(keep: &[u32], wait: libc::c_int) -> ! {
    // SAFETY: the child of the child goes on with this function only.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: a C string; the helper must not keep a file system busy.
        unsafe { libc::chdir(c"/".as_ptr()) };
        // SAFETY: no arguments; signals of our terminal are not for the helper.
        unsafe { libc::setsid() };
        // SAFETY: a C string of at most 15 bytes.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"strix-close".as_ptr()) };
        let mut first = 0;
        for &fd in keep {
            if first < fd {
                close_range(first, fd - 1);
            }
            first = fd + 1;
        }
        close_range(first, u32::MAX);
        let mut byte = 0u8;
        // SAFETY: one byte of a live variable; nobody writes to the pipe, so this ends with the pipe.
        unsafe { libc::read(wait, std::ptr::from_mut(&mut byte).cast(), 1) };
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(0) }
}

fn close_range(first: u32, last: u32) {
    // SAFETY: closes descriptors of this process only, which owns none of them beyond this function (since v5.9).
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn all_are_closed_side_by_side() {
        let (mut reader, writer) = std::io::pipe().expect("pipe");
        let copies = (0..100).map(|_| OwnedFd::from(writer.try_clone().expect("descriptor"))).collect();
        drop(writer);
        close_all(copies);
        assert_eq!(reader.read(&mut [0]).expect("end of file"), 0);
    }

    #[test]
    fn the_helper_lets_go_of_all_it_got() {
        let (mut reader, writer) = std::io::pipe().expect("pipe");
        close_later(vec![writer.into()]);
        // Blocks for ever if the helper stays.
        assert_eq!(reader.read(&mut [0]).expect("end of file"), 0);
    }
}
