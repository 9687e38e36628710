//! The tools whose names strix answers to.

use std::ffi::OsStr;
use std::path::Path;

/// A tool that strix stands for when it is called by that tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personality {
    /// `bpftrace`.
    Bpftrace,
}

impl Personality {
    /// Every personality with its names, for `links install`.
    pub const NAMES: &'static [(&'static str, Self)] = &[("bpftrace", Self::Bpftrace)];

    /// The personality for `argv[0]`.
    pub fn of(called: &OsStr) -> Option<Self> {
        let name = Path::new(called).file_name()?.to_str()?;
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, p)| *p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_the_path_decides() {
        assert_eq!(Personality::of(OsStr::new("/opt/bin/bpftrace")), Some(Personality::Bpftrace));
        assert_eq!(Personality::of(OsStr::new("strix")), None);
        assert_eq!(Personality::of(OsStr::new("/bpftrace/strix")), None);
    }
}
