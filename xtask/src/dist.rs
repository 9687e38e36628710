//! `cargo xtask dist`: the release binary and what is promised of it.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::args::Args;
use crate::outcome::{Outcome, Tally};
use crate::{Result, process, workspace};

/// Promised size.
const MAX_BYTES: u64 = 12 * 1024 * 1024;

/// Complaints about a binary.
type Check = fn(&Path) -> Result<Vec<String>>;

/// The task.
pub(crate) fn run(_: Args) -> Result<ExitCode> {
    Ok(all()?.close())
}

/// Builds and checks.
pub(crate) fn all() -> Result<Tally> {
    let started = Instant::now();
    let binary = workspace::strix()?;
    println!("dist: {} ({} bytes)", binary.display(), binary.metadata()?.len());
    let mut tally = Tally::default();
    let checks: [(&str, Check); 2] = [("static and stripped", linkage), ("size", size)];
    for (name, check) in checks {
        let complaints = check(&binary)?;
        let outcome = if complaints.is_empty() { Outcome::Pass } else { Outcome::Fail(complaints) };
        tally.add(&format!("dist: {name}"), started.elapsed(), &outcome);
    }
    Ok(tally)
}

/// Needs no interpreter and no library, and carries no symbols.
fn linkage(binary: &Path) -> Result<Vec<String>> {
    let shown = process::quiet(Command::new("readelf").args(["--wide", "-l", "-d", "-S"]).arg(binary))?;
    Ok([
        ("INTERP", "asks for an interpreter"),
        ("(NEEDED)", "needs a library"),
        (".symtab", "is not stripped"),
    ]
    .iter()
    .filter(|(mark, _)| shown.contains(mark))
    .map(|(_, complaint)| format!("{} {complaint}", binary.display()))
    .collect())
}

fn size(binary: &Path) -> Result<Vec<String>> {
    let bytes = binary.metadata()?.len();
    Ok(if bytes > MAX_BYTES { vec![format!("{bytes} bytes, at most {MAX_BYTES}")] } else { Vec::new() })
}
