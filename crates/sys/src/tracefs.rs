//! Where tracefs is, and having it where it is not mounted.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

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

/// A directory of tracefs: where it is mounted, or else a mount of our own that is attached nowhere. Nobody else sees that one, and it
/// goes when this process ends, however it ends.
///
/// # Errors
/// When the kernel has no tracefs or mounting is not allowed.
pub fn ensure() -> Result<PathBuf> {
    static DETACHED: Mutex<Option<OwnedFd>> = Mutex::new(None);
    if let Some(path) = mounted() {
        return Ok(path);
    }
    let mut detached = DETACHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mount = match detached.take() {
        Some(mount) => mount,
        None => mount_detached().map_err(mount_error)?,
    };
    let path = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
    *detached = Some(mount);
    Ok(path)
}

/// Makes a mount without a place (since v5.2).
fn mount_detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn mount_error(e: rustix::io::Errno) -> SysError {
    let mut error = SysError::new("mount", "tracefs", e.into());
    if e == rustix::io::Errno::NODEV || e == rustix::io::Errno::NOENT {
        error.hint = Some("the kernel is built without CONFIG_TRACING".into());
    } else if let Some(hint) = &mut error.hint {
        hint.push_str(&format!("; or let root type `mount -t tracefs tracefs {MOUNT_POINT}`"));
    }
    error
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
