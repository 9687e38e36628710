//! Other processes: watching for their end, listing their threads.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{Result, SysError};

/// A process by descriptor, readable once the process has ended (since v5.3).
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// The process with this id.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(pid: u32) -> Result<Self> {
        let error = |source| SysError::new("pidfd_open", format!("process {pid}"), source);
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| error(std::io::Error::from_raw_os_error(libc::ESRCH)))?;
        pidfd_open(number, PidfdFlags::empty()).map(Self).map_err(|e| error(e.into()))
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut fds, Some(&now)), Ok(1..))
    }
}

impl From<Pidfd> for OwnedFd {
    fn from(pidfd: Pidfd) -> Self {
        pidfd.0
    }
}

impl AsFd for Pidfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The threads of a process now.
///
/// # Errors
/// When there is no such process.
pub fn threads(pid: u32) -> Result<Vec<u32>> {
    let error = |source| SysError::new("read", format!("process {pid}"), source);
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).map_err(error)?;
    let mut tids: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    Ok(tids)
}

/// Whether a signal is ignored, as `nohup` arranges it for those it starts.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeroes is a value for the next call to fill.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a live struct to fill; nothing is set.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut now) } == 0;
    known && now.sa_sigaction == libc::SIG_IGN
}

/// Two signals within this time are one: timeout(1) sends one to its command and one to the group that it is in.
const ONE_SIGNAL: Duration = Duration::from_millis(200);

/// Since when somebody wants us to end, in monotonic nanoseconds; 0 while nobody does.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Arranges that the second of these signals, counted from now on, has its default action wherever this process is stuck: in a write that
/// nobody reads, for one. What the first does is left to others.
///
/// # Errors
/// When a signal cannot be handled.
pub fn end_at_second(signals: &[i32]) -> std::io::Result<()> {
    static HANDLED: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    ASKED.store(0, Ordering::Relaxed);
    let mut handled = HANDLED.lock().unwrap_or_else(PoisonError::into_inner);
    for &signal in signals {
        if !handled.contains(&signal) {
            // SAFETY: the action uses an atomic and calls that are async-signal-safe.
            unsafe { signal_hook_registry::register(signal, move || asked_to_end(signal)) }?;
            handled.push(signal);
        }
    }
    Ok(())
}

/// In the signal's handler.
fn asked_to_end(signal: i32) {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now = (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64);
    match ASKED.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if now.saturating_sub(first) > ONE_SIGNAL.as_nanos() as u64 => {
            // SAFETY: sets the default action, which runs no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // SAFETY: sends the signal to this thread, which gets it when the handler returns.
            unsafe { libc::raise(signal) };
        }
        _ => {}
    }
}

/// Signals that wait; they arrive when this is dropped.
pub struct HeldSignals {
    before: libc::sigset_t,
}

/// Lets the signals wait that ask a program to end, from before it says that it is ready until it can act on them.
#[must_use]
pub fn hold_signals() -> HeldSignals {
    // SAFETY: all zeroes is a value for the next calls to fill.
    let mut wanted: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: likewise.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a live set to fill.
    unsafe { libc::sigemptyset(&mut wanted) };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: a set that was filled, and signals that exist.
        unsafe { libc::sigaddset(&mut wanted, signal) };
    }
    // SAFETY: both sets are live; only this thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &wanted, &mut before) };
    HeldSignals { before }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: the mask that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_seen() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().expect("sleep");
        let pidfd = Pidfd::open(child.id()).expect("it runs");
        assert!(!pidfd.has_ended());
        child.kill().expect("ours");
        child.wait().expect("ours");
        assert!(pidfd.has_ended());
    }

    #[test]
    fn nobody_is_an_error() {
        assert_eq!(Pidfd::open(0).expect_err("no process 0").kind(), crate::Kind::NotFound);
        assert!(threads(u32::MAX).is_err());
        assert!(threads(std::process::id()).expect("we live").contains(&std::process::id()));
    }
}
