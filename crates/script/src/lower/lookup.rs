//! Constants that calls name: signals, network addresses, user symbols.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use strix_facts::{Binary, KernelFacts};
use strix_model::AttachPoint;

use crate::hir::Instance;

/// Signals of Linux on x86-64 and arm64 (signal(7)), from number 1.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// What the signals are called in text (strsignal(3)), from number 1.
const SIGNAL_TEXTS: [&str; 31] = [
    "Hangup",
    "Interrupt",
    "Quit",
    "Illegal instruction",
    "Trace/breakpoint trap",
    "Aborted",
    "Bus error",
    "Floating point exception",
    "Killed",
    "User defined signal 1",
    "Segmentation fault",
    "User defined signal 2",
    "Broken pipe",
    "Alarm clock",
    "Terminated",
    "Stack fault",
    "Child exited",
    "Continued",
    "Stopped (signal)",
    "Stopped",
    "Stopped (tty input)",
    "Stopped (tty output)",
    "Urgent I/O condition",
    "CPU time limit exceeded",
    "File size limit exceeded",
    "Virtual timer expired",
    "Profiling timer expired",
    "Window changed",
    "I/O possible",
    "Power failure",
    "Bad system call",
];

/// Real-time signals (signal(7)).
const REAL_TIME: std::ops::RangeInclusive<i64> = 34..=64;

/// Largest error number that has a text, and a bound for system call numbers.
const MAX_ERROR: i32 = 133;
const MAX_SYSCALL: u32 = 1024;

/// Signals by number.
pub(super) fn signal_texts() -> Vec<(i64, String)> {
    let plain = (1..).zip(SIGNAL_TEXTS).map(|(number, text)| (number, text.to_owned()));
    plain.chain(REAL_TIME.map(|n| (n, format!("Real-time signal {}", n - REAL_TIME.start())))).collect()
}

/// Errors by number, as the C library has them.
pub(super) fn error_texts() -> Vec<(i64, String)> {
    let text = |number| {
        let text = std::io::Error::from_raw_os_error(number).to_string();
        text.rsplit_once(" (os error").map_or(text.clone(), |(text, _)| text.to_owned())
    };
    (0..=MAX_ERROR).map(|number| (i64::from(number), text(number))).collect()
}

/// System calls by number.
pub(super) fn syscall_names(facts: &KernelFacts) -> Vec<(i64, String)> {
    (0..MAX_SYSCALL).filter_map(|n| Some((i64::from(n), facts.syscall_name(n)?.to_owned()))).collect()
}

/// Number of a signal by name, with or without `SIG`.
pub(crate) fn signal_number(name: &str) -> Option<u32> {
    let upper = name.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    SIGNALS.iter().position(|s| *s == bare).map(|at| at as u32 + 1)
}

/// Bytes of a textual address, in network order: 4 or 16.
pub(crate) fn parse_address(text: &str) -> Option<Vec<u8>> {
    match text.parse().ok()? {
        IpAddr::V4(v4) => Some(v4.octets().to_vec()),
        IpAddr::V6(v6) => Some(v6.octets().to_vec()),
    }
}

/// Address of a function or variable in a file, as the file states it, and the size of a variable.
pub(crate) fn user_symbol(binary: &Binary, symbol: &str) -> Option<(u64, Option<u64>)> {
    let function = binary.find(symbol).map(|s| (s.address, None));
    function.or_else(|| binary.find_data(symbol).map(|(address, size)| (address, Some(size))))
}

/// The file that an instance's user probes are in, if it is one, and the address in it of the only place that they are at.
pub(crate) fn probed_file(facts: &KernelFacts, instance: &Instance) -> Option<(Arc<Binary>, Option<u64>)> {
    let places = instance.sites.iter().filter_map(|site| match &site.point {
        AttachPoint::Uprobe { path, file_offset, .. } => Some((path, Some(*file_offset))),
        AttachPoint::Uretprobe { path, .. } => Some((path, None)),
        _ => None,
    });
    let places: Vec<_> = places.collect();
    let (path, first) = *places.first()?;
    if places.iter().any(|(other, _)| *other != path) {
        return None;
    }
    let binary = facts.binary(Path::new(path)).ok()?;
    let only = first.filter(|_| places.len() == 1).and_then(|offset| binary.address(offset));
    Some((binary, only))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_texts() {
        let text =
            |all: Vec<(i64, String)>, number| all.into_iter().find(|(n, _)| *n == number).map(|(_, t)| t);
        assert_eq!(text(signal_texts(), 9).as_deref(), Some("Killed"));
        assert_eq!(text(signal_texts(), 35).as_deref(), Some("Real-time signal 1"));
        assert_eq!(text(signal_texts(), 32), None);
        assert_eq!(text(error_texts(), 1).as_deref(), Some("Operation not permitted"));
    }

    #[test]
    fn signals_have_their_kernel_numbers() {
        assert_eq!(signal_number("SIGKILL"), Some(9));
        assert_eq!(signal_number("term"), Some(15));
        assert_eq!(signal_number("SYS"), Some(31));
        assert_eq!(signal_number("NOPE"), None);
    }
}
