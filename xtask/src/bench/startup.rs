//! Start-up of the smallest script, and attaching to and detaching from hundreds of places.

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::measure::{self, Cost};
use super::table::Table;
use super::{Contender, Setup, median};
use crate::Result;
use crate::cases::run::{NOTIFY, is_attached};
use crate::process::Background;

/// More rounds here: one takes little.
const MORE: usize = 4;
/// An attachment that takes longer is broken.
const LIMIT: Duration = Duration::from_secs(180);

/// `BEGIN { exit() }`: wall time, CPU time, memory.
pub(super) fn start(setup: &Setup, table: &mut Table) -> Result {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); setup.tools.len()];
    let mut overheads: Vec<Vec<Cost>> = vec![Vec::new(); setup.tools.len()];
    for _ in 0..setup.rounds * MORE {
        for (at, contender) in setup.tools.iter().enumerate() {
            let mut words = contender.tool.command.clone();
            words.extend(["-e".into(), "BEGIN { exit() }".into()]);
            costs[at].push(measure::command(&words)?);
            if let Some(overhead) = &contender.overhead {
                overheads[at].push(measure::command(overhead)?);
            }
        }
    }
    type Pick = fn(&Cost) -> f64;
    let net = |pick: Pick| -> Vec<Option<f64>> {
        let of = |costs: &[Cost]| median(costs.iter().map(pick).collect());
        costs.iter().zip(&overheads).map(|(c, o)| Some(of(c)? - of(o).unwrap_or(0.0))).collect()
    };
    table.add("BEGIN { exit() }: wall", "ms", net(|c| c.wall_ms), None, Some(1.0 / 8.0));
    table.add("BEGIN { exit() }: CPU", "ms", net(|c| c.cpu_ms), None, Some(1.0 / 6.0));
    let peaks = costs.iter().map(|c| median(c.iter().map(|c| c.peak_mib).collect())).collect();
    table.add("BEGIN { exit() }: peak memory", "MiB", peaks, Some(20.0), None);
    Ok(())
}

/// Every system call's entry: from start to attached, to the signal, to the end.
pub(super) fn attach(setup: &Setup, table: &mut Table) -> Result {
    let mut walls: Vec<Vec<f64>> = vec![Vec::new(); setup.tools.len()];
    for _ in 0..setup.rounds.min(3) {
        for (at, contender) in setup.tools.iter().enumerate() {
            walls[at].push(attach_once(setup, contender)?);
        }
    }
    let values = walls.into_iter().map(median).collect();
    table.add("tracepoint:syscalls:sys_enter_*: attach + detach", "ms", values, Some(400.0), None);
    Ok(())
}

fn attach_once(setup: &Setup, contender: &Contender) -> Result<f64> {
    let mut tracer =
        spawn(setup, contender, "tracepoint:syscalls:sys_enter_* { @[probe] = count(); }", "attach")?;
    tracer.signal(Signal::SIGINT);
    tracer.wait(LIMIT)?.ok_or_else(|| format!("{} does not end", contender.name))?;
    Ok(tracer.age().as_secs_f64() * 1e3)
}

/// Starts a tracer and waits until it has attached.
pub(super) fn spawn(setup: &Setup, contender: &Contender, script: &str, name: &str) -> Result<Background> {
    let mut words = contender.tool.command.iter();
    let mut command = Command::new(words.next().ok_or("an empty command")?);
    command.args(words).args(["-e", script]).env(NOTIFY, "1");
    let mut tracer = Background::start(command, &setup.scratch, &format!("{name}-{}", contender.name), None)?;
    let attached = tracer.wait_until(LIMIT, is_attached)?;
    if attached {
        return Ok(tracer);
    }
    Err(format!("{} did not attach `{script}`\n{}", contender.name, tracer.stderr()).into())
}
