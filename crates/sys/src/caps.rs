//! Capabilities of this thread, by name.
//!
//! What a session needs is CAP_BPF and CAP_PERFMON (since v5.8; CAP_SYS_ADMIN before), with CAP_DAC_READ_SEARCH where tracefs
//! is closed to others. Once attached, the rest can be dropped.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::{Result, SysError};

/// The capabilities that matter to a tracer, with the names people know.
const NAMES: &[(&str, CapabilitySet)] = &[
    ("CAP_BPF", CapabilitySet::BPF),
    ("CAP_PERFMON", CapabilitySet::PERFMON),
    ("CAP_SYS_ADMIN", CapabilitySet::SYS_ADMIN),
    ("CAP_DAC_OVERRIDE", CapabilitySet::DAC_OVERRIDE),
    ("CAP_DAC_READ_SEARCH", CapabilitySet::DAC_READ_SEARCH),
    ("CAP_SYSLOG", CapabilitySet::SYSLOG),
    ("CAP_SYS_PTRACE", CapabilitySet::SYS_PTRACE),
    ("CAP_SYS_RESOURCE", CapabilitySet::SYS_RESOURCE),
    ("CAP_KILL", CapabilitySet::KILL),
    ("CAP_NET_ADMIN", CapabilitySet::NET_ADMIN),
];

/// A set of capabilities, by bit number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps(u64);

/// What this thread may do now.
///
/// # Errors
/// When the kernel does not answer.
pub fn effective() -> Result<Caps> {
    let sets = capabilities(None).map_err(|e| SysError::new("capget", "this process", e.into()))?;
    Ok(Caps(sets.effective.bits()))
}

/// Whether a set holds the capability of this name. CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON, as in the kernel.
#[must_use]
pub fn holds(caps: Caps, name: &str) -> bool {
    let Some(&(_, bit)) = NAMES.iter().find(|(known, _)| *known == name) else { return false };
    let implied = CapabilitySet::BPF.union(CapabilitySet::PERFMON).contains(bit);
    let any = if implied { bit.union(CapabilitySet::SYS_ADMIN) } else { bit };
    caps.0 & any.bits() != 0
}

/// Those of `names` that this thread lacks.
///
/// # Errors
/// When the kernel does not answer.
pub fn missing<'a>(names: &[&'a str]) -> Result<Vec<&'a str>> {
    let caps = effective()?;
    Ok(names.iter().copied().filter(|name| !holds(caps, name)).collect())
}

/// Gives up every capability of this thread except those named, for good. CAP_SYS_ADMIN stays if it is what stands for a named
/// one that the thread does not hold itself.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_only(names: &[&str]) -> Result<()> {
    let error = |e: rustix::io::Errno| SysError::new("capset", "this process", e.into());
    let now = capabilities(None).map_err(error)?;
    let mut keep = CapabilitySet::empty();
    for (name, bit) in NAMES.iter().filter(|(name, _)| names.contains(name)) {
        if now.permitted.contains(*bit) {
            keep |= *bit;
        } else if holds(Caps(now.permitted.bits()), name) {
            keep |= CapabilitySet::SYS_ADMIN;
        }
    }
    let sets = CapabilitySets {
        effective: now.effective & keep,
        permitted: now.permitted & keep,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_stands_for_bpf_and_perfmon_only() {
        let admin = Caps(CapabilitySet::SYS_ADMIN.bits());
        assert!(holds(admin, "CAP_BPF") && holds(admin, "CAP_PERFMON") && holds(admin, "CAP_SYS_ADMIN"));
        assert!(!holds(admin, "CAP_SYSLOG"));
        assert!(!holds(Caps(u64::MAX), "CAP_NONE"));
    }

    #[test]
    fn dropping_is_for_good_and_per_thread() {
        let before = effective().expect("answer");
        let after = std::thread::spawn(|| {
            keep_only(&["CAP_SYSLOG"]).expect("dropping is always allowed");
            effective().expect("answer")
        })
        .join()
        .expect("no panic");
        assert_eq!(after.0, before.0 & CapabilitySet::SYSLOG.bits());
        assert_eq!(effective().expect("answer"), before);
    }
}
