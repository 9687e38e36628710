//! A line of output for each of very many events: how many arrive, how long it takes, how much memory it needs.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::table::Table;
use super::{Contender, Setup, median, startup};
use crate::{Result, process};

/// Events, made as fast as a loop can.
const EVENTS: u64 = 300_000;
const SCRIPT: &str =
    "tracepoint:syscalls:sys_enter_getppid /comm == \"wl-run\"/ { printf(\"%d %s %d\\n\", pid, comm, cpu); }";
const LIMIT: Duration = Duration::from_secs(180);

struct Flood {
    lost_percent: f64,
    seconds: f64,
    peak_mib: f64,
    lines: u64,
}

/// Alternating rounds.
pub(super) fn run(setup: &Setup, table: &mut Table) -> Result {
    let mut all: Vec<Vec<Flood>> = setup.tools.iter().map(|_| Vec::new()).collect();
    for _ in 0..setup.rounds.min(3) {
        for (at, contender) in setup.tools.iter().enumerate() {
            all[at].push(once(setup, contender)?);
        }
    }
    type Pick = fn(&Flood) -> f64;
    let pick =
        |of: Pick| -> Vec<Option<f64>> { all.iter().map(|f| median(f.iter().map(of).collect())).collect() };
    table.add("printf flood of 300,000: lines printed", "lines", pick(|f| f.lines as f64), None, None);
    table.add("printf flood of 300,000: not printed", "%", pick(|f| f.lost_percent), Some(0.0), None);
    table.add("printf flood of 300,000: first event to end", "s", pick(|f| f.seconds), None, None);
    table.add("printf flood of 300,000: peak memory", "MiB", pick(|f| f.peak_mib), None, None);
    Ok(())
}

fn once(setup: &Setup, contender: &Contender) -> Result<Flood> {
    let mut tracer = startup::spawn(setup, contender, SCRIPT, "flood")?;
    let started = Instant::now();
    process::quiet(Command::new(&setup.workload).args(["getppid", &EVENTS.to_string()]))?;
    tracer.signal(Signal::SIGINT);
    // The highest mark is gone with the process, so it is read as late as can be.
    let mut peak_kib = 0;
    tracer.wait_until(LIMIT, |t| {
        peak_kib = peak_kib.max(process::peak_rss_kib(t.pid()).unwrap_or(0));
        false
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let lines = tracer.stdout().lines().filter(|l| l.contains(" wl-run ")).count() as u64;
    let lost_percent = 100.0 * EVENTS.saturating_sub(lines) as f64 / EVENTS as f64;
    Ok(Flood { lost_percent, seconds, peak_mib: peak_kib as f64 / 1024.0, lines })
}
