//! Which CPUs there are.

use std::io;

use crate::{Result, SysError};

/// CPUs that are running.
///
/// # Errors
/// When sysfs cannot be read.
pub fn online_cpus() -> Result<Vec<u32>> {
    read("/sys/devices/system/cpu/online")
}

/// How many CPUs there can ever be, which is how many values a per-CPU map entry has.
///
/// # Errors
/// When sysfs cannot be read.
pub fn possible_cpus() -> Result<u32> {
    let cpus = read("/sys/devices/system/cpu/possible")?;
    Ok(cpus.last().map_or(1, |&last| last + 1))
}

fn read(path: &str) -> Result<Vec<u32>> {
    let text = std::fs::read_to_string(path).map_err(|source| SysError::new("read", path, source))?;
    parse(text.trim()).ok_or_else(|| {
        let error = io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} is not a list of CPUs"));
        SysError::new("read", path, error)
    })
}

/// More than any kernel can be built for.
const MOST: u32 = 1 << 16;

/// `0-3,8,10-11`.
fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_nonsense_is_not() {
        assert_eq!(parse("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("0"), Some(vec![0]));
        for bad in ["", "3-1", "x", "0-4294967295", "1,,2"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_machine_has_some() {
        let online = online_cpus().expect("sysfs");
        assert!(!online.is_empty());
        assert!(possible_cpus().expect("sysfs") >= online.len() as u32);
    }
}
