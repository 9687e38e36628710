//! Sessions on the running kernel, with exact counts.
//!
//! Needs root; without it every test is skipped by name, or fails if `STRIX_LIVE=require`. Tests run one after the other, since some
//! compare what the whole kernel holds before and after. The binary starts itself as the traced command: `live --work N`.

mod asm;
mod plans;
mod tests;

use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode, Stdio};

use strix_sys::{caps, tracefs};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--work") => return work(&args),
        Some("--hold") => return tests::hold(),
        Some("--list") => return ExitCode::SUCCESS,
        _ => {}
    }
    leave_mounts_alone();
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let missing = caps::missing(&["CAP_BPF", "CAP_PERFMON"]).unwrap_or_default();
    let denied = (!missing.is_empty()).then(|| format!("needs {}", missing.join(" and ")));
    let required = std::env::var("STRIX_LIVE").is_ok_and(|v| v == "require");
    let mut failed = 0;
    for (name, needs, test) in tests::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if let Some(reason) = denied.clone().or_else(|| needs.lacking()) {
            println!("test {name} ... skipped: {reason}");
            failed += u32::from(required && denied.is_some());
            continue;
        }
        let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u32::from(!passed);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Goes on in a mount namespace of our own where tracefs is not mounted yet, so that testing changes nothing outside.
fn leave_mounts_alone() {
    const MARK: &str = "STRIX_LIVE_UNSHARED";
    if tracefs::mounted().is_some() || std::env::var_os(MARK).is_some() {
        return;
    }
    let Ok(exe) = std::env::current_exe() else { return };
    let allowed = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
    if allowed.is_ok_and(|status| status.success()) {
        let mut unshared = Command::new("unshare");
        // Comes back only if it did not work, and then the tests can do without.
        let _ = unshared.arg("--mount").arg(exe).args(std::env::args_os().skip(1)).env(MARK, "1").exec();
    }
}

/// The traced command: calls getppid(2) and [`probed`] N times each, after a pause of so many milliseconds.
fn work(args: &[String]) -> ExitCode {
    let number = |at: usize| args.get(at).and_then(|a| a.parse::<u64>().ok()).unwrap_or(0);
    std::thread::sleep(std::time::Duration::from_millis(number(2)));
    let mut sum = 0;
    for round in 0..number(1) {
        sum += probed(round) + u64::from(std::os::unix::process::parent_id());
    }
    std::hint::black_box(sum);
    ExitCode::from(number(3) as u8)
}

/// What user probes are put on.
#[inline(never)]
pub fn probed(round: u64) -> u64 {
    std::hint::black_box(round)
}
