//! Resource limits that get in the way of tracing.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What [`raise_limits`] could not do; nothing here is an error by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Memory that maps may lock is unlimited. Kernels from 5.11 on do not ask.
    pub memlock: bool,
    /// Descriptors that may be open.
    pub descriptors: u64,
}

/// Raises RLIMIT_MEMLOCK and RLIMIT_NOFILE as far as it is allowed.
pub fn raise_limits() -> Raised {
    let unlimited = Rlimit { current: None, maximum: None };
    let memlock = setrlimit(Resource::Memlock, unlimited).is_ok() || {
        let most = getrlimit(Resource::Memlock).maximum;
        let raised = setrlimit(Resource::Memlock, Rlimit { current: most, maximum: most }).is_ok();
        raised && most.is_none()
    };
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(DESCRIPTORS, |most| most.max(DESCRIPTORS));
    let higher = Rlimit { current: Some(wanted), maximum: Some(wanted) };
    if setrlimit(Resource::Nofile, higher).is_err() {
        // The hard limit may be raised by root only; up to it everybody may go.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    Raised { memlock, descriptors }
}

/// Enough for a thousand probes on a machine with many CPUs.
const DESCRIPTORS: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_do_not_get_fewer() {
        let before = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert!(raise_limits().descriptors >= before);
    }
}
