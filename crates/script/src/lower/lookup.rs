//! Constants that calls name: signals, network addresses, user symbols.

use std::net::IpAddr;
use std::path::Path;

use strix_facts::KernelFacts;

/// Signals of Linux on x86-64 and arm64 (signal(7)), from number 1.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

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

/// Address of a function or object in a file, as the file states it.
pub(crate) fn user_symbol_address(facts: &KernelFacts, path: &str, symbol: &str) -> Option<u64> {
    let binary = facts.binary(Path::new(path)).ok()?;
    binary.find(symbol).map(|s| s.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_kernel_numbers() {
        assert_eq!(signal_number("SIGKILL"), Some(9));
        assert_eq!(signal_number("term"), Some(15));
        assert_eq!(signal_number("SYS"), Some(31));
        assert_eq!(signal_number("NOPE"), None);
    }
}
