//! `cargo xtask bench`: what strix costs, beside what a peer with bpftrace's command line costs on the same machine in the same
//! run. docs/benchmarks.md says how and why.

mod event;
mod flood;
pub(crate) mod measure;
mod startup;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::Args;
use crate::cases::run::Tool;
use crate::{Result, process, workspace};

/// Rounds of each measurement unless `--rounds` says otherwise.
const ROUNDS: usize = 5;

/// What is compared, and how often.
struct Setup {
    /// Ours first.
    tools: Vec<Contender>,
    rounds: usize,
    workload: PathBuf,
    scratch: PathBuf,
}

/// A tool with a name for the table.
struct Contender {
    name: &'static str,
    tool: Tool,
    /// A command that costs what the tool's wrapper costs; its time is taken off.
    overhead: Option<Vec<String>>,
}

/// The task.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if !workspace::is_root() {
        return Err("needs root".into());
    }
    let binary = workspace::strix()?;
    let mut tools = vec![Contender { name: "strix", tool: Tool::strix(&binary), overhead: None }];
    if let Some(peer) = args.value("--peer") {
        let overhead = args.value("--peer-overhead").map(process::words).transpose()?;
        let tool = Tool { command: process::words(peer)?, root: String::new() };
        tools.push(Contender { name: "peer", tool, overhead });
    }
    let rounds = args.value("--rounds").map_or(Ok(ROUNDS), str::parse)?.max(1);
    let scratch = workspace::target_dir().join("bench");
    std::fs::create_dir_all(&scratch)?;
    let setup = Setup { tools, rounds, workload: workspace::workloads()?.dynamic, scratch };
    let only = args.list("--only");
    let wanted = |part: &str| only.as_ref().is_none_or(|list| list.iter().any(|p| p == part));
    let mut table = table::Table::default();
    if wanted("size") {
        let mib = binary.metadata()?.len() as f64 / (1024.0 * 1024.0);
        table.add("binary size", "MiB", vec![Some(mib)], Some(12.0), None);
    }
    if wanted("start") {
        startup::start(&setup, &mut table)?;
    }
    if wanted("attach") {
        startup::attach(&setup, &mut table)?;
    }
    if wanted("event") {
        event::run(&setup, &mut table)?;
    }
    if wanted("flood") {
        flood::run(&setup, &mut table)?;
    }
    print!("{}", table.text());
    if let Some(path) = args.value("--json") {
        std::fs::write(path, table.json())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The middle value (the lower of two).
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| values[(values.len() - 1) / 2])
}
