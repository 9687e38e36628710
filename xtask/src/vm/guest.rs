//! The guest's `/init`: mounts what a machine has, runs the cases, tells the host over the console, powers off.
//!
//! tracefs and bpffs are left unmounted on purpose, as on a minimal machine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

use crate::cases::run::Bench;
use crate::cases::{self, Case};
use crate::outcome::Outcome;
use crate::workspace::Workloads;
use crate::{Result, process};

/// Starts each line that is meant for the host.
pub(crate) const MARK: &str = "STRIX-VM";
/// Emulated without hardware help, everything takes longer.
const PATIENCE: u32 = 4;

/// Runs as process 1; never returns to the kernel, which would panic.
pub(crate) fn main() -> ExitCode {
    if let Err(error) = run() {
        println!("{MARK} error {error}");
    }
    println!("{MARK} end");
    let error = reboot(RebootMode::RB_POWER_OFF);
    println!("{MARK} error power off: {error:?}");
    loop {
        std::thread::park();
    }
}

fn run() -> Result {
    let none: Option<&str> = None;
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), none)
            .map_err(|e| format!("mount {place}: {e}"))?;
    }
    // As udev would; programs rely on it.
    std::os::unix::fs::symlink("/proc/self/fd", "/dev/fd")?;
    let workload = PathBuf::from("/bin/workload");
    if let Err(error) = process::quiet(Command::new(&workload).arg("lo")) {
        println!("{MARK} note {error}");
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    println!("{MARK} boot {}", release.trim());
    let kernel = release.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let filter = std::fs::read_to_string("/cases/filter")?;
    let workloads = Workloads { dynamic: workload.clone(), fixed: workload };
    let bench = Bench::new("/bin/strix".into(), workloads, "/tmp/strix".into(), PATIENCE)?;
    for case in cases::load(Path::new("/cases"))? {
        if is_chosen(&case, &kernel, &filter) {
            report(&bench, &case);
        }
    }
    Ok(())
}

/// Whether a case is for this kernel and wanted; host and guest must agree on it.
pub(super) fn is_chosen(case: &Case, kernel: &str, filter: &str) -> bool {
    case.name.contains(filter) && (case.kernels.is_empty() || case.kernels.iter().any(|k| k == kernel))
}

/// One line for the verdict, one for each detail; nothing that a tracer printed reaches the console raw.
fn report(bench: &Bench, case: &Case) {
    let started = Instant::now();
    let outcome = bench.judge(case);
    let millis = started.elapsed().as_millis();
    match outcome {
        Outcome::Pass => println!("{MARK} pass {millis} {}", case.name),
        Outcome::Skip(why) => println!("{MARK} skip {millis} {} {}", case.name, why.escape_debug()),
        Outcome::Fail(lines) => {
            for line in lines.iter().flat_map(|l| l.lines()) {
                println!("{MARK} detail {}", line.replace(|c: char| c.is_control(), "?"));
            }
            println!("{MARK} fail {millis} {}", case.name);
        }
    }
}
