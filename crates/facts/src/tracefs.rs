//! Where tracefs is, and the parts of it that say what the kernel has. Nothing is written or switched on here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::FactsError;
use crate::paths::{text, under};

const WHAT: &str = "tracefs";
const MOUNT_IT: &str = "mount it: mount -t tracefs tracefs /sys/kernel/tracing";

/// Where the running kernel's tracefs is mounted: on its usual place if it is there, else anywhere, else inside debugfs.
pub(crate) fn find_mounted(root: &Path) -> Result<PathBuf, FactsError> {
    let mounts = fs::read_to_string(under(root, "/proc/self/mounts")).unwrap_or_default();
    let usual = under(root, "/sys/kernel/tracing");
    match mount_points(&mounts).into_iter().next() {
        Some(found) => Ok(found),
        None => Err(FactsError::Missing { what: WHAT, path: usual, remedy: MOUNT_IT }),
    }
}

/// Where it is in a directory that stands for a root.
pub(crate) fn find_in_fixture(root: &Path) -> Result<PathBuf, FactsError> {
    let usual = under(root, "/sys/kernel/tracing");
    let old = under(root, "/sys/kernel/debug/tracing");
    if usual.is_dir() {
        Ok(usual)
    } else if old.is_dir() {
        Ok(old)
    } else {
        Err(FactsError::Missing { what: WHAT, path: usual, remedy: MOUNT_IT })
    }
}

/// Candidates in the text of a mount table, best first.
fn mount_points(mounts: &str) -> Vec<PathBuf> {
    let mut ranked: Vec<(u8, PathBuf)> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (_, at, kind) = (words.next()?, unescape(words.next()?), words.next()?);
            match kind {
                "tracefs" if at == "/sys/kernel/tracing" => Some((0, PathBuf::from(at))),
                "tracefs" => Some((1, PathBuf::from(at))),
                "debugfs" => Some((2, Path::new(&at).join("tracing"))),
                _ => None,
            }
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, path)| path).collect()
}

/// The mount table writes space, tab, newline and backslash as `\ooo`.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 4).and_then(|c| u8::from_str_radix(c, 8).ok());
        match code {
            Some(byte) if byte.is_ascii() => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            _ => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Reads a file of tracefs.
pub(crate) fn read(path: &Path) -> Result<String, FactsError> {
    fs::read(path)
        .map(text)
        .map_err(|e| FactsError::io(path, "tracefs file", "this kernel has none of it", e))
}

/// Whether `name` can be one component of a path below `events/`.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::{is_plain_name, mount_points, unescape};
    use std::path::Path;

    #[test]
    fn the_usual_place_comes_first() {
        let mounts = "debugfs /sys/kernel/debug debugfs rw 0 0\n\
            tracefs /tmp/my\\040traces tracefs rw 0 0\n\
            tracefs /sys/kernel/tracing tracefs rw 0 0\n\
            broken\n";
        assert_eq!(
            mount_points(mounts),
            ["/sys/kernel/tracing", "/tmp/my traces", "/sys/kernel/debug/tracing"].map(Path::new)
        );
        assert!(mount_points("proc /proc proc rw 0 0\n").is_empty());
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape("a\\040b\\134"), "a b\\");
        assert_eq!(unescape("a\\"), "a\\");
        assert_eq!(unescape("\\9é"), "\\9é");
    }

    #[test]
    fn names_that_leave_the_directory() {
        assert!(is_plain_name("sched"));
        for name in ["", ".", "..", "a/b", "../x", "a\0"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
