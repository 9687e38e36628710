//! What a guest boots with.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cpio::Archive;
use crate::{Result, process, workspace};

/// Directories of the guest, parents first.
const DIRECTORIES: &[&str] = &["/bin", "/dev", "/proc", "/sys", "/tmp", "/cases", "/etc", "/root", "/run"];

/// Builds it and gives its path.
pub(super) fn build(filter: &str) -> Result<PathBuf> {
    let folder = workspace::target_dir().join("vm");
    std::fs::create_dir_all(&folder)?;
    let mut archive = Archive::default();
    for directory in DIRECTORIES {
        archive.directory(directory);
    }
    archive.device("/dev/console", 5, 1);
    archive.device("/dev/null", 1, 3);
    archive.device("/dev/zero", 1, 5);
    archive.file("/init", &stripped(&std::env::current_exe()?, &folder.join("init"))?);
    archive.file("/bin/strix", &stripped(&workspace::strix()?, &folder.join("strix"))?);
    archive.link("/bin/bpftrace", "strix");
    // Not stripped: its functions are probed.
    archive.file("/bin/workload", &std::fs::read(workspace::workloads()?.fixed)?);
    for case in std::fs::read_dir(workspace::root().join("tests/vm"))? {
        let path = case?.path();
        if path.extension().is_some_and(|e| e == "t") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            archive.file(&format!("/cases/{name}"), &std::fs::read(&path)?);
        }
    }
    archive.file("/cases/filter", filter.as_bytes());
    if let Some(busybox) = static_busybox() {
        archive.file("/bin/busybox", &std::fs::read(busybox)?);
        for name in ["sh", "ls", "cat", "dd", "grep", "sleep", "kill", "mount", "dmesg"] {
            archive.link(&format!("/bin/{name}"), "busybox");
        }
    }
    let path = folder.join("initramfs.cpio");
    std::fs::write(&path, archive.finish())?;
    Ok(path)
}

/// A copy without debug information: the guest's memory and the emulated CPU's time are scarce.
fn stripped(program: &Path, copy: &Path) -> Result<Vec<u8>> {
    match workspace::find_program("strip") {
        Some(strip) => {
            process::quiet(Command::new(strip).arg("-o").arg(copy).arg(program))?;
            Ok(std::fs::read(copy)?)
        }
        None => Ok(std::fs::read(program)?),
    }
}

/// A busybox that needs no libraries. Only cases with RUN want it, and they say so (`NEEDS cmd:sh`).
fn static_busybox() -> Option<PathBuf> {
    let busybox = workspace::find_program("busybox")?;
    let bytes = std::fs::read(&busybox).ok()?;
    let interpreted =
        bytes.windows(11).any(|w| w == b"/ld-linux-x") || bytes.windows(8).any(|w| w == b"/ld-musl");
    (!interpreted).then_some(busybox)
}
