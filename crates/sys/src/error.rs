//! What went wrong at a door of the kernel, and what is likely missing.

use std::fmt;
use std::io;

use crate::caps;

/// Result of this crate.
pub type Result<T, E = SysError> = std::result::Result<T, E>;

/// What an error means to the caller; reporting uses the text, branching uses this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `EPERM` or `EACCES`: a capability, a sysctl or lockdown forbids it.
    Denied,
    /// The kernel does not know the call, the type or the flag.
    Unsupported,
    /// The named thing is not there.
    NotFound,
    /// Out of memory, descriptors or another limited good.
    Exhausted,
    /// Anything else.
    Other,
}

/// A call that the kernel refused.
#[derive(Debug, thiserror::Error)]
pub struct SysError {
    /// The call, as the manual names it: `perf_event_open`, `bpf(BPF_MAP_CREATE)`.
    pub op: &'static str,
    /// What it was asked for: a map's name, a tracepoint, a CPU.
    pub target: String,
    /// The kernel's answer.
    pub source: io::Error,
    /// What is likely missing, with what to type, where that can be told.
    pub hint: Option<String>,
}

impl fmt::Display for SysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed for {}: {}", self.op, self.target, self.source)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl SysError {
    /// An error with the hint that fits the call.
    pub fn new(op: &'static str, target: impl Into<String>, source: io::Error) -> Self {
        let hint = hint(op, &source);
        Self { op, target: target.into(), source, hint }
    }

    /// What happened, for branching.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Kind::Denied,
            Some(libc::ENOENT | libc::ESRCH | libc::ENODEV) => Kind::NotFound,
            Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::E2BIG | libc::ENOTTY | ENOTSUPP) => {
                Kind::Unsupported
            }
            Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ENOSPC | libc::EAGAIN) => Kind::Exhausted,
            Some(_) => Kind::Other,
            None => match self.source.kind() {
                io::ErrorKind::NotFound => Kind::NotFound,
                io::ErrorKind::Unsupported => Kind::Unsupported,
                io::ErrorKind::PermissionDenied => Kind::Denied,
                _ => Kind::Other,
            },
        }
    }
}

/// The kernel's own "not supported", which is not in the C library's list.
const ENOTSUPP: i32 = 524;

/// A program that was not loaded, with what the verifier said.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct LoadError {
    /// The refusal.
    pub error: SysError,
    /// The verifier's log; empty when it had nothing to say.
    pub log: String,
}

/// What is likely missing for `op` to be allowed or to work.
fn hint(op: &'static str, source: &io::Error) -> Option<String> {
    match source.raw_os_error()? {
        libc::EPERM | libc::EACCES => denied_hint(op),
        libc::EMFILE => Some("too many open files: raise the limit with `ulimit -n`".into()),
        libc::ENOMEM => Some("out of memory, or RLIMIT_MEMLOCK is too low: `ulimit -l unlimited`".into()),
        libc::ENOSYS if op.starts_with("bpf") => {
            Some("the kernel is built without CONFIG_BPF_SYSCALL".into())
        }
        libc::ENOSYS if op == "perf_event_open" => {
            Some("the kernel is built without CONFIG_PERF_EVENTS".into())
        }
        _ => None,
    }
}

fn denied_hint(op: &'static str) -> Option<String> {
    let needed: &[&str] = match op {
        "perf_event_open" => &["CAP_PERFMON"],
        "mount" => &["CAP_SYS_ADMIN"],
        "open" | "read" => &["CAP_DAC_READ_SEARCH"],
        _ if op.starts_with("bpf") => &["CAP_BPF", "CAP_PERFMON"],
        _ => return None,
    };
    let effective = caps::effective().unwrap_or_default();
    let missing: Vec<&str> = needed.iter().copied().filter(|name| !caps::holds(effective, name)).collect();
    if missing.is_empty() {
        return lockdown_hint().or_else(namespace_hint);
    }
    let mut text = format!("needs {}: run it as root, or {}", missing.join(" and "), setcap(&missing));
    if op == "perf_event_open"
        && let Some(level) = sysctl("perf_event_paranoid")
    {
        text.push_str(&format!("; kernel.perf_event_paranoid is {level}"));
    } else if op.starts_with("bpf")
        && let Some(level) = sysctl("unprivileged_bpf_disabled")
    {
        text.push_str(&format!("; kernel.unprivileged_bpf_disabled is {level}"));
    }
    Some(text)
}

/// The command that gives capabilities to this program.
fn setcap(names: &[&str]) -> String {
    let program = std::env::current_exe().map_or_else(|_| "strix".into(), |path| path.display().to_string());
    // Capabilities of the file stand for those that it has, so those that matter are given together.
    let more = names.iter().filter(|name| !USUAL.contains(name)).copied();
    let all: Vec<String> = USUAL.into_iter().chain(more).map(str::to_lowercase).collect();
    format!("let root type `setcap {}+ep {program}`", all.join(","))
}

/// What tracing takes as a rule.
const USUAL: [&str; 5] = ["CAP_BPF", "CAP_PERFMON", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_PTRACE"];

/// Perf events of user probes take more than other events.
pub(crate) fn uprobe_hint() -> Option<String> {
    let held = caps::effective().unwrap_or_default();
    (caps::holds(held, "CAP_PERFMON") && !caps::holds(held, "CAP_SYS_ADMIN")).then(|| {
        "user probes take CAP_SYS_ADMIN where the kernel has no multi-uprobe links (v6.6): run it as root"
            .into()
    })
}

/// Capabilities of a user namespace are none over the kernel.
fn namespace_hint() -> Option<String> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    (!whole).then(|| {
        "the capabilities are those of a user namespace: run it as root of the machine, outside of the container".into()
    })
}

/// All capabilities are there, so something else said no.
fn lockdown_hint() -> Option<String> {
    let text = std::fs::read_to_string("/sys/kernel/security/lockdown").ok()?;
    let mode = text.split('[').nth(1)?.split(']').next()?;
    (mode != "none")
        .then(|| format!("the kernel is locked down (lockdown={mode}), which forbids it to everybody"))
}

fn sysctl(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
    Some(text.trim().to_owned())
}

/// The current `errno` as an error of `op`.
pub(crate) fn last(op: &'static str, target: impl Into<String>) -> SysError {
    SysError::new(op, target, io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_errno() {
        let kind = |errno| SysError::new("x", "y", io::Error::from_raw_os_error(errno)).kind();
        assert_eq!(kind(libc::EPERM), Kind::Denied);
        assert_eq!(kind(libc::ENOENT), Kind::NotFound);
        assert_eq!(kind(ENOTSUPP), Kind::Unsupported);
        assert_eq!(kind(libc::EMFILE), Kind::Exhausted);
        assert_eq!(kind(libc::EBUSY), Kind::Other);
    }

    #[test]
    fn text_names_call_object_and_remedy() {
        let error = SysError::new("bpf(BPF_MAP_CREATE)", "map x", io::Error::from_raw_os_error(libc::EMFILE));
        let text = error.to_string();
        assert!(text.starts_with("bpf(BPF_MAP_CREATE) failed for map x: "), "{text}");
        assert!(text.contains("ulimit -n"), "{text}");
    }
}
