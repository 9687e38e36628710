//! `cargo xtask live`: the cases of `tests/live` and the session tests, on this kernel.

mod sessions;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::args::Args;
use crate::cases::run::{Bench, Tool};
use crate::cases::{self, Case};
use crate::outcome::{Outcome, Tally};
use crate::{Result, process, workspace};

/// The task.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let filter = args.rest.first().map_or("", String::as_str);
    if args.has("--list") {
        for case in chosen(filter, false)? {
            println!("{}  {}", case.name, case.place);
        }
        return Ok(ExitCode::SUCCESS);
    }
    match args.value("--against") {
        Some(peer) => {
            let root = args.value("--peer-root").unwrap_or_default().to_owned();
            let peer = Tool { command: process::words(peer)?, root };
            Ok(against(&peer, filter)?.close())
        }
        None => Ok(all(filter, args.has("--quick"))?.close()),
    }
}

/// Everything that is chosen; without root all of it is skipped, by name.
pub(crate) fn all(filter: &str, quick: bool) -> Result<Tally> {
    let bench = bench()?;
    let mut tally = Tally::default();
    for case in chosen(filter, quick)? {
        let started = Instant::now();
        let outcome =
            if workspace::is_root() { bench.judge(&case) } else { Outcome::Skip("needs root".into()) };
        tally.add(&format!("live/{}", case.name), started.elapsed(), &strict(outcome));
    }
    for session in sessions::ALL {
        if !session.name.contains(filter) || (quick && session.slow) {
            continue;
        }
        let started = Instant::now();
        let outcome = if workspace::is_root() {
            (session.run)(&bench).unwrap_or_else(|error| Outcome::Fail(vec![error.to_string()]))
        } else {
            Outcome::Skip("needs root".into())
        };
        tally.add(&format!("live/{}", session.name), started.elapsed(), &strict(outcome));
    }
    Ok(tally)
}

fn against(peer: &Tool, filter: &str) -> Result<Tally> {
    let bench = bench()?;
    let mut tally = Tally::default();
    for case in chosen(filter, false)?.iter().filter(|c| c.agree != cases::Agree::Nothing) {
        let started = Instant::now();
        let outcome = bench.compare(case, peer);
        tally.add(&format!("against/{}", case.name), started.elapsed(), &outcome);
    }
    Ok(tally)
}

fn bench() -> Result<Bench> {
    let scratch: PathBuf = workspace::target_dir().join("live");
    Bench::new(workspace::strix()?, workspace::workloads()?, scratch, 1)
}

fn chosen(filter: &str, quick: bool) -> Result<Vec<Case>> {
    let mut chosen = cases::load(&workspace::root().join("tests/live"))?;
    chosen.retain(|case| case.name.contains(filter) && !(quick && case.slow));
    Ok(chosen)
}

/// With `STRIX_LIVE=require` a skip is a failure: a CI machine that lost a feature must be noticed.
fn strict(outcome: Outcome) -> Outcome {
    let required = std::env::var("STRIX_LIVE").is_ok_and(|v| v == "require");
    match outcome {
        Outcome::Skip(why) if required => Outcome::Fail(vec![format!("required, but {why}")]),
        other => other,
    }
}
