//! Time and memory of a command, from the kernel's accounting of a finished child.
//!
//! The accounting covers all children that a process ever waited for, so each measurement is made by a fresh process: this program
//! again, which starts the command, waits, and prints the figures.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::Result;

/// First word that makes this program the measuring process.
pub(crate) const HELPER: &str = "--measure-child";

/// What a command cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// From start to end.
    pub(super) wall_ms: f64,
    /// Time on CPUs, user and system.
    pub(super) cpu_ms: f64,
    /// Largest resident set of any process in it.
    pub(super) peak_mib: f64,
}

/// Runs a command to its end, output thrown away, and measures it.
pub(super) fn command(words: &[String]) -> Result<Cost> {
    let output =
        Command::new(std::env::current_exe()?).arg(HELPER).args(words).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    match figures.as_slice() {
        [wall_ms, cpu_ms, peak_mib] if output.status.success() => {
            Ok(Cost { wall_ms: *wall_ms, cpu_ms: *cpu_ms, peak_mib: *peak_mib })
        }
        _ => Err(format!("`{}`: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The measuring process.
pub(crate) fn helper(words: Vec<String>) -> ExitCode {
    match measured(&words) {
        Ok(cost) => {
            println!("{} {} {}", cost.wall_ms, cost.cpu_ms, cost.peak_mib);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(words: &[String]) -> Result<Cost> {
    let (program, args) = words.split_first().ok_or("no command")?;
    let started = Instant::now();
    let status = Command::new(program).args(args).stdout(Stdio::null()).status()?;
    let wall = started.elapsed();
    if !status.success() {
        return Err(status.to_string().into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Cost {
        wall_ms: wall.as_secs_f64() * 1e3,
        cpu_ms: cpu as f64 / 1e3,
        peak_mib: usage.max_rss() as f64 / 1024.0,
    })
}
