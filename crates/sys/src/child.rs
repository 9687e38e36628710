//! A command that waits before its first instruction until tracing has begun.
//!
//! The child is forked at once, so its id is known, and sits in a read of a pipe until [`Child::release`]. Its execve(2) is
//! then the first thing that tracing sees of it. When we die before, the pipe ends and so does the child; when we are killed
//! later, the kernel kills it.

use std::ffi::{CString, OsStr};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::error::last;
use crate::{Pidfd, Result, SysError};

/// What a child that could not run its command exits with.
const NOT_RUN: i32 = 127;

/// A forked command.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    pidfd: Pidfd,
    name: String,
    /// One byte here lets it go; taken once that was done.
    go: Option<io::PipeWriter>,
    /// The errno of a failed exec; ends without a byte when exec succeeded.
    failure: Option<io::PipeReader>,
    status: Option<ExitStatus>,
}

impl Child {
    /// Forks and stops before the command; stdin, stdout and stderr are ours.
    ///
    /// # Errors
    /// When the command is not found or processes are short.
    pub fn spawn(command: &[impl AsRef<OsStr>]) -> Result<Self> {
        let name = command.first().map_or_else(String::new, |c| c.as_ref().to_string_lossy().into_owned());
        let error = |op, source| SysError::new(op, format!("command {name:?}"), source);
        let image = Image::new(command).map_err(|e| error("execve", e))?;
        let (go_read, go) = io::pipe().map_err(|e| error("pipe", e))?;
        let (failure, failure_write) = io::pipe().map_err(|e| error("pipe", e))?;
        // SAFETY: the child calls only `Image::run`, which allocates nothing and takes no lock, as is needed after the fork of
        // a process that may have several threads.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // Ours to write is the parent's end; with it open the child would wait for itself.
            drop(go);
            image.run(go_read.as_raw_fd(), failure_write.as_raw_fd());
        }
        if pid < 0 {
            return Err(last("fork", format!("command {name:?}")));
        }
        let pid = pid as u32;
        let pidfd = Pidfd::open(pid)?;
        Ok(Self { pid, pidfd, name, go: Some(go), failure: Some(failure), status: None })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// For waiting until it ends.
    #[must_use]
    pub fn pidfd(&self) -> &Pidfd {
        &self.pidfd
    }

    /// Lets it run its command, and returns once that has begun.
    ///
    /// # Errors
    /// When the command cannot be executed.
    pub fn release(&mut self) -> Result<()> {
        let error = |source| SysError::new("execve", format!("command {:?}", self.name), source);
        if let Some(mut go) = self.go.take() {
            go.write_all(&[1]).map_err(error)?;
        }
        let mut errno = Vec::new();
        if let Some(failure) = self.failure.take() {
            failure.take(4).read_to_end(&mut errno).map_err(error)?;
        }
        match <[u8; 4]>::try_from(errno.as_slice()) {
            Ok(bytes) => Err(error(io::Error::from_raw_os_error(i32::from_ne_bytes(bytes)))),
            Err(_) => Ok(()),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When somebody else took its status.
    pub fn status(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.wait(libc::WNOHANG)?;
        }
        Ok(self.status)
    }

    /// Sends a signal, unless it has ended.
    pub fn signal(&mut self, signal: i32) {
        if matches!(self.status(), Ok(None)) {
            // SAFETY: takes numbers only. The child is not reaped yet, so its id is still its own.
            unsafe { libc::kill(self.pid as libc::pid_t, signal) };
        }
    }

    fn wait(&self, flags: libc::c_int) -> Result<Option<ExitStatus>> {
        let mut status = 0;
        loop {
            // SAFETY: `status` is a live integer.
            let result = unsafe { libc::waitpid(self.pid as libc::pid_t, &mut status, flags) };
            if result > 0 {
                return Ok(Some(ExitStatus::from_raw(status)));
            }
            if result == 0 {
                return Ok(None);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(SysError::new("waitpid", format!("command {:?}", self.name), error));
            }
        }
    }
}

impl Drop for Child {
    /// A command that was started for tracing ends with it.
    fn drop(&mut self) {
        self.go = None;
        self.signal(libc::SIGKILL);
        if self.status.is_none() {
            let _ = self.wait(0);
        }
    }
}

/// All that exec needs, made before the fork.
struct Image {
    /// Files to try, in order.
    paths: Vec<CString>,
    /// Kept for `argv`.
    _arguments: Vec<CString>,
    argv: Vec<*const libc::c_char>,
}

impl Image {
    fn new(command: &[impl AsRef<OsStr>]) -> io::Result<Self> {
        let arguments =
            command.iter().map(|a| CString::new(a.as_ref().as_bytes())).collect::<Result<Vec<_>, _>>()?;
        let first = command.first().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?.as_ref();
        let paths = if first.as_bytes().contains(&b'/') {
            vec![CString::new(first.as_bytes())?]
        } else {
            let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
            let found =
                std::env::split_paths(&search).map(|dir| dir.join(first)).filter(|path| path.is_file());
            found.map(|path| CString::new(path.as_os_str().as_bytes())).collect::<Result<Vec<_>, _>>()?
        };
        if paths.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let argv = arguments.iter().map(|a| a.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Self { paths, _arguments: arguments, argv })
    }

    /// The child's whole life before its command. Only async-signal-safe calls, no allocation.
    fn run(&self, go: libc::c_int, failure: libc::c_int) -> ! {
        // However we end, the command does not go on alone. If that has happened already, the pipe has ended too.
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        let mut byte = 0u8;
        // SAFETY: one byte of a live variable.
        let mut got = unsafe { libc::read(go, std::ptr::from_mut(&mut byte).cast(), 1) };
        while got < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
            // SAFETY: as above.
            got = unsafe { libc::read(go, std::ptr::from_mut(&mut byte).cast(), 1) };
        }
        if got != 1 {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(NOT_RUN) };
        }
        default_signals();
        let mut errno = libc::ENOENT;
        for path in &self.paths {
            // SAFETY: `path` and what `argv` points at are C strings made before the fork; `argv` ends with a null.
            unsafe { libc::execv(path.as_ptr(), self.argv.as_ptr()) };
            errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOENT);
        }
        let bytes = errno.to_ne_bytes();
        // SAFETY: four bytes of a live array.
        unsafe { libc::write(failure, bytes.as_ptr().cast(), bytes.len()) };
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(NOT_RUN) }
    }
}

/// What Rust and we changed of signal handling is not the command's business.
fn default_signals() {
    // SAFETY: sets the default action; async-signal-safe.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // SAFETY: an all-zero set is a value for the next call to fill.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a live set.
    unsafe { libc::sigemptyset(&mut none) };
    // SAFETY: a live set; the old one is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(child: &mut Child) -> ExitStatus {
        for _ in 0..500 {
            if let Some(status) = child.status().expect("ours") {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("the child did not end");
    }

    #[test]
    fn waits_for_release_then_runs() {
        let mut child = Child::spawn(&["sh", "-c", "exit 3"]).expect("forked");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(child.status().expect("ours").is_none(), "it must not run by itself");
        child.release().expect("sh is there");
        assert_eq!(finish(&mut child).code(), Some(3));
        assert!(child.pidfd().has_ended());
    }

    #[test]
    fn a_missing_command_is_told_before_or_at_release() {
        let early = Child::spawn(&["no-such-command-here"]).expect_err("not in PATH");
        assert_eq!(early.kind(), crate::Kind::NotFound);
        let late = Child::spawn(&["/dev/null"]).expect("forked").release().expect_err("not executable");
        assert_eq!(late.kind(), crate::Kind::Denied);
    }

    #[test]
    fn dropping_ends_it() {
        let child = Child::spawn(&["sleep", "60"]).expect("forked");
        let watch = Pidfd::open(child.pid()).expect("it waits");
        drop(child);
        assert!(watch.has_ended());
    }
}
