//! Where tracefs is, and mounting it where it is not.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::mount::MountFlags;

use crate::{Result, SysError};

/// Where tracefs is mounted these days (since v4.1).
pub const MOUNT_POINT: &str = "/sys/kernel/tracing";
/// Where it shows on old systems, through debugfs.
const OLD_MOUNT_POINT: &str = "/sys/kernel/debug/tracing";

/// The tracefs directory, if it is mounted.
#[must_use]
pub fn mounted() -> Option<PathBuf> {
    [MOUNT_POINT, OLD_MOUNT_POINT]
        .into_iter()
        .map(Path::new)
        .find(|p| p.join("events").is_dir())
        .map(Path::to_owned)
}

/// The tracefs directory, mounted now if need be. The mount stays: it is where every tool expects it.
///
/// # Errors
/// When the kernel has no tracefs or mounting is not allowed.
pub fn ensure() -> Result<PathBuf> {
    static ONCE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONCE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(path) = mounted() {
        return Ok(path);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME;
    rustix::mount::mount("tracefs", MOUNT_POINT, "tracefs", flags, None).map_err(|e| {
        let mut error = SysError::new("mount", MOUNT_POINT, e.into());
        if e == rustix::io::Errno::NODEV || e == rustix::io::Errno::NOENT {
            error.hint = Some("the kernel is built without CONFIG_TRACING".into());
        } else if let Some(hint) = &mut error.hint {
            hint.push_str(&format!("; or let root type `mount -t tracefs tracefs {MOUNT_POINT}`"));
        }
        error
    })?;
    mounted()
        .ok_or_else(|| SysError::new("open", MOUNT_POINT, std::io::Error::from_raw_os_error(libc::ENOENT)))
}

/// The number by which perf_event_open(2) knows a tracepoint.
///
/// # Errors
/// When tracefs cannot be had or has no such event.
pub fn tracepoint_id(category: &str, event: &str) -> Result<u64> {
    let path = ensure()?.join("events").join(category).join(event).join("id");
    let name = format!("tracepoint {category}:{event}");
    let text = std::fs::read_to_string(&path).map_err(|source| SysError::new("read", &name, source))?;
    text.trim().parse().map_err(|_| {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, format!("{text:?} is not a number"));
        SysError::new("read", name, error)
    })
}
