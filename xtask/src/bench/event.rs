//! What one event costs in the kernel, by the kernel's own accounting of BPF programs.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::table::Table;
use super::{Contender, Setup, median, startup};
use crate::process::Background;
use crate::{Result, process, workspace};

/// A script, and a workload that makes `EVENTS` events of its kind.
struct Script {
    name: &'static str,
    text: &'static str,
    workload: &'static [&'static str],
}

/// Events a round; enough to drown those of other processes.
const EVENTS: u64 = 200_000;

const SCRIPTS: &[Script] = &[
    Script {
        name: "@[comm] = count()",
        text: "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }",
        workload: &["getppid"],
    },
    Script {
        name: "@[args.id] = count()",
        text: "tracepoint:raw_syscalls:sys_enter { @[args->id] = count(); }",
        workload: &["getppid"],
    },
    Script {
        name: "hist(args.ret)",
        text: "tracepoint:syscalls:sys_exit_read { @ = hist(args->ret); }",
        workload: &["read", "64"],
    },
    Script {
        name: "start map and latency hist",
        text: "tracepoint:syscalls:sys_enter_read { @s[tid] = nsecs; }
            tracepoint:syscalls:sys_exit_read /@s[tid]/ { @ns = hist(nsecs - @s[tid]); delete(@s[tid]); }",
        workload: &["read", "64"],
    },
    Script {
        name: "false predicate",
        text: "tracepoint:raw_syscalls:sys_enter /pid == 1/ { @ = count(); }",
        workload: &["getppid"],
    },
    Script {
        name: "printf of pid, comm, argument",
        text: "tracepoint:syscalls:sys_enter_read { printf(\"%d %s %d\\n\", pid, comm, args->count); }",
        workload: &["read", "64"],
    },
    Script {
        name: "@[kstack] = count()",
        text: "tracepoint:raw_syscalls:sys_enter { @[kstack] = count(); }",
        workload: &["getppid"],
    },
    Script {
        name: "@ = count()",
        text: "tracepoint:raw_syscalls:sys_enter { @ = count(); }",
        workload: &["getppid"],
    },
];

/// Noise allowed for a single script, and the goal for all together.
const EACH: f64 = 1.05;
const TOGETHER: f64 = 0.85;

const LIMIT: Duration = Duration::from_secs(60);

/// All scripts, alternating between the tools.
pub(super) fn run(setup: &Setup, table: &mut Table) -> Result {
    let _accounting = Accounting::on()?;
    let mut ratios = Vec::new();
    for script in SCRIPTS {
        let mut costs: Vec<Vec<f64>> = vec![Vec::new(); setup.tools.len()];
        let mut runs: Vec<Vec<f64>> = vec![Vec::new(); setup.tools.len()];
        for _ in 0..setup.rounds {
            for (at, contender) in setup.tools.iter().enumerate() {
                let (cost, run) = once(setup, contender, script)?;
                costs[at].push(cost);
                runs[at].push(run);
            }
        }
        let values: Vec<Option<f64>> = costs.into_iter().map(median).collect();
        if let [Some(ours), Some(theirs)] = values.as_slice() {
            ratios.push(ours / theirs);
        }
        table.add(script.name, "ns/event", values, None, Some(EACH));
        let runs = runs.into_iter().map(median).collect();
        table.add(&format!("{}: program runs", script.name), "per event", runs, None, None);
    }
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        table.add(
            "geometric mean of the eight",
            "of peer",
            vec![Some(mean), Some(1.0)],
            None,
            Some(TOGETHER),
        );
    }
    Ok(())
}

/// One round: nanoseconds an event, and program runs per true event. Each program's mean cost is taken for itself and they are
/// added up: a script with an entry and an exit program pays both for an event.
fn once(setup: &Setup, contender: &Contender, script: &Script) -> Result<(f64, f64)> {
    let mut tracer = startup::spawn(setup, contender, script.text, "event")?;
    let before = programs(&tracer)?;
    let count = EVENTS.to_string();
    let mut workload = Command::new(&setup.workload);
    workload.arg(script.workload[0]).arg(&count).args(&script.workload[1..]);
    process::quiet(&mut workload)?;
    let after = programs(&tracer)?;
    tracer.signal(Signal::SIGINT);
    tracer.wait(LIMIT)?.ok_or_else(|| format!("{} does not end", contender.name))?;
    let (mut cost, mut runs) = (0.0, 0.0);
    for (id, end) in &after {
        let start = before.get(id).copied().unwrap_or_default();
        let ran = end.runs.saturating_sub(start.runs);
        // Programs for begin, end and timers run a few times only.
        if ran > EVENTS / 100 {
            cost += end.nanos.saturating_sub(start.nanos) as f64 / ran as f64;
            runs += ran as f64 / EVENTS as f64;
        }
    }
    if runs == 0.0 {
        return Err(format!("{}: no program of `{}` ran", contender.name, script.text).into());
    }
    Ok((cost, runs))
}

/// The kernel's figures of one program.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    nanos: u64,
    runs: u64,
}

/// Figures of the programs that the tracer holds, by id: from its descriptors of programs, else by the ids that its links name.
fn programs(tracer: &Background) -> Result<BTreeMap<u64, Figures>> {
    let mut found = BTreeMap::new();
    let mut named = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{}/fdinfo", tracer.pid()))?.flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let field = |name: &str| -> Option<u64> {
            text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
        };
        match (field("prog_id"), field("run_time_ns"), field("run_cnt")) {
            (Some(id), Some(nanos), Some(runs)) => {
                found.insert(id, Figures { nanos, runs });
            }
            (Some(id), _, _) => named.push(id),
            _ => {}
        }
    }
    for id in named {
        if let std::collections::btree_map::Entry::Vacant(place) = found.entry(id) {
            place.insert(by_bpftool(id)?);
        }
    }
    Ok(found)
}

fn by_bpftool(id: u64) -> Result<Figures> {
    let bpftool =
        workspace::find_program("bpftool").ok_or("the tracer holds only links: bpftool is needed")?;
    let mut command = Command::new("unshare");
    command.arg("-m").arg(bpftool).args(["-j", "prog", "show", "id", &id.to_string()]);
    let shown: serde_json::Value = serde_json::from_str(&process::quiet(&mut command)?)?;
    let number = |name: &str| shown[name].as_u64().unwrap_or(0);
    Ok(Figures { nanos: number("run_time_ns"), runs: number("run_cnt") })
}

/// The kernel counts program time only while this is on; the old setting comes back at the end.
struct Accounting {
    before: String,
}

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

impl Accounting {
    fn on() -> Result<Self> {
        let before = std::fs::read_to_string(SWITCH).map_err(|e| format!("{SWITCH}: {e}"))?;
        std::fs::write(SWITCH, "1").map_err(|e| format!("{SWITCH}: {e}"))?;
        Ok(Self { before })
    }
}

impl Drop for Accounting {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(SWITCH, self.before.trim()) {
            eprintln!("{SWITCH} is left on: {error}");
        }
    }
}
