//! `cargo xtask test`: everything that can be checked here, in one call.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::args::Args;
use crate::outcome::{Outcome, Tally};
use crate::{Result, dist, live, tidy, vm, workspace};

/// The task. `--quick` leaves out the virtual machines, the slow cases and the release checks. Every part runs even if
/// one before it failed: one call shows all there is to mend.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let quick = args.has("--quick");
    let mut tally = Tally::default();
    step(&mut tally, "cargo fmt", &["fmt", "--all", "--check"]);
    step(
        &mut tally,
        "cargo clippy",
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
    );
    part(&mut tally, "tidy", tidy::all);
    unit_tests(&mut tally)?;
    part(&mut tally, "live", || live::all("", quick));
    if quick {
        println!("skip vm, dist: --quick");
        tally.skipped += 2;
    } else {
        part(&mut tally, "dist", dist::all);
        part(&mut tally, "vm", vm::all);
    }
    Ok(tally.close())
}

fn part(tally: &mut Tally, name: &str, run: impl FnOnce() -> Result<Tally>) {
    println!("-- {name}");
    let started = Instant::now();
    match run() {
        Ok(more) => tally.merge(more),
        Err(error) => tally.add(name, started.elapsed(), &Outcome::Fail(vec![error.to_string()])),
    }
}

fn step(tally: &mut Tally, name: &str, args: &[&str]) {
    println!("-- {name}");
    let started = Instant::now();
    let outcome = match workspace::cargo(args).status() {
        Ok(status) if status.success() => Outcome::Pass,
        Ok(status) => Outcome::Fail(vec![status.to_string()]),
        Err(error) => Outcome::Fail(vec![error.to_string()]),
    };
    tally.add(name, started.elapsed(), &outcome);
}

/// Runs `cargo test` and adds its own counts up, so that the closing line counts tests and not test binaries.
fn unit_tests(tally: &mut Tally) -> Result {
    println!("-- cargo test");
    let started = Instant::now();
    let mut cargo: Command = workspace::cargo(&["test", "--workspace", "--no-fail-fast"]);
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counted = count(&text);
    tally.merge(counted);
    if output.status.success() {
        println!("pass cargo test ({:.2}s): {}", started.elapsed().as_secs_f64(), counted.line());
    } else {
        print!("{text}");
        // A binary that does not build or dies has no count of its own.
        if counted.failed == 0 {
            tally.add("cargo test", started.elapsed(), &Outcome::Fail(vec![output.status.to_string()]));
        }
    }
    Ok(())
}

/// Sums lines such as `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
fn count(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines().filter_map(|l| l.strip_prefix("test result: ")) {
        let number = |what: &str| {
            let before = line.split(what).next().unwrap_or_default();
            before.trim_end().rsplit([' ', '.']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        tally.passed += number("passed");
        tally.failed += number("failed");
        tally.skipped += number("ignored");
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up() {
        let text = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\nx\ntest result: FAILED. 12 passed; 2 failed; 0 ignored;";
        let tally = count(text);
        assert_eq!((tally.passed, tally.failed, tally.skipped), (15, 2, 1));
    }
}
