//! Where the workspace's parts are, and how the binaries that the tests need are built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{Result, process};

/// The only target: one static file is the product (see `.cargo/config.toml`).
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Root of the workspace.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace root").into()
    })
}

/// Cargo's target directory.
pub(crate) fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Cargo, in the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// The binary under test: `STRIX_BIN` if set, else the release build, made if need be. Tests use the release build because it is
/// what ships, and because it is wanted anyway for its size.
pub(crate) fn strix() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("STRIX_BIN") {
        return Ok(std::fs::canonicalize(path)?);
    }
    process::checked(&mut cargo(&["build", "--quiet", "--release", "--package", "strix"]))?;
    Ok(target_dir().join(TARGET).join("release").join("strix"))
}

/// The programs that tests observe.
#[derive(Clone, Debug)]
pub(crate) struct Workloads {
    /// Linked to the shared libc, for probes on libc.
    pub(crate) dynamic: PathBuf,
    /// Needs nothing, for guests.
    pub(crate) fixed: PathBuf,
}

/// Builds `tests/workload/workload.c` both ways with the C compiler that Rust's linker comes with.
pub(crate) fn workloads() -> Result<Workloads> {
    let source = root().join("tests/workload/workload.c");
    let folder = target_dir().join("workload");
    std::fs::create_dir_all(&folder)?;
    let built = Workloads { dynamic: folder.join("workload"), fixed: folder.join("static/workload") };
    std::fs::create_dir_all(folder.join("static"))?;
    for (output, link) in [(&built.dynamic, None), (&built.fixed, Some("-static"))] {
        if is_newer(output, &source) {
            continue;
        }
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-Wall", "-Wextra"])
            .args(link);
        cc.arg("-o").arg(output).arg(&source).arg("-lpthread");
        process::quiet(&mut cc)?;
    }
    Ok(built)
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    matches!((time(file), time(than)), (Some(a), Some(b)) if a > b)
}

/// `PATH`, or where programs usually are: the first process of a guest has none.
pub(crate) fn search_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/bin:/usr/bin:/sbin:/usr/sbin".into())
}

/// Looks a program up in `PATH`, and in the sbin directories that a user's `PATH` often lacks.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = search_path();
    let sbin = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(sbin).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Whether this runs as root.
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether packages may be installed: asked for, or on a CI machine.
pub(crate) fn may_install() -> bool {
    is_root() && ["STRIX_SETUP", "CI"].iter().any(|name| flag(name))
}

/// Whether an environment variable is set to something other than empty, 0 or false.
pub(crate) fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|v| !matches!(v.as_str(), "" | "0" | "false"))
}
