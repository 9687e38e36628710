//! Counting what passed, failed and was skipped, and saying so.

use std::process::ExitCode;
use std::time::Duration;

/// What became of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As expected.
    Pass,
    /// Not as expected; the lines say how.
    Fail(Vec<String>),
    /// Could not be tried here; says why.
    Skip(String),
}

/// The sum so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// As expected.
    pub(crate) passed: usize,
    /// Not as expected.
    pub(crate) failed: usize,
    /// Not tried.
    pub(crate) skipped: usize,
}

impl Tally {
    /// Counts an outcome and prints its line.
    pub(crate) fn add(&mut self, name: &str, took: Duration, outcome: &Outcome) {
        match outcome {
            Outcome::Pass => {
                self.passed += 1;
                println!("pass {name} ({:.2}s)", took.as_secs_f64());
            }
            Outcome::Fail(lines) => {
                self.failed += 1;
                println!("FAIL {name} ({:.2}s)", took.as_secs_f64());
                for line in lines {
                    println!("     {line}");
                }
            }
            Outcome::Skip(why) => {
                self.skipped += 1;
                println!("skip {name}: {why}");
            }
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// The closing line.
    pub(crate) fn line(self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    /// Prints the closing line, alone and last, and gives the exit code. Nothing tried at all is a failure: a filter that
    /// matches nothing must not look like success.
    pub(crate) fn close(self) -> ExitCode {
        println!("{}", self.line());
        if self.failed > 0 || self.passed + self.skipped == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
