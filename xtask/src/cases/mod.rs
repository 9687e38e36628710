//! Test cases in files: `tests/live/*.t` and `tests/vm/*.t`. `tests/README.md` describes the format.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod maps;
pub(crate) mod needs;
pub(crate) mod parse;
pub(crate) mod run;

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::Result;

/// What a case runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// `strix trace ARGS -e SCRIPT PARAMS`.
    Prog(String),
    /// `strix trace WORDS`.
    Call(String),
    /// A shell script with the tools in its `PATH`.
    Run(String),
}

/// How the tracer is brought to its end after the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not at all: it ends by itself.
    Itself,
    /// By a signal.
    By(Signal),
}

/// What two tools must agree on in `--against` mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agree {
    /// The case is not run against another tool.
    Nothing,
    /// Maps with all values.
    Maps,
    /// Names and keys of maps.
    Keys,
    /// The whole standard output.
    Text,
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Unique within its folder.
    pub(crate) name: String,
    /// `file:line` of the name, for messages.
    pub(crate) place: String,
    /// What is run.
    pub(crate) body: Body,
    /// Options before the script.
    pub(crate) args: String,
    /// Parameters after the script.
    pub(crate) params: String,
    /// Started before the tracer, killed at the end.
    pub(crate) before: Option<String>,
    /// Run once the tracer has attached.
    pub(crate) workload: Option<String>,
    /// How the tracer ends.
    pub(crate) stop: Stop,
    /// What must be true afterwards.
    pub(crate) checks: Vec<check::Check>,
    /// Exit code of the tracer.
    pub(crate) exit: i32,
    /// What the machine must have.
    pub(crate) needs: Vec<String>,
    /// Kernels it runs on; empty means all.
    pub(crate) kernels: Vec<String>,
    /// Time for all of it.
    pub(crate) timeout: Duration,
    /// Left out by `--quick`.
    pub(crate) slow: bool,
    /// Comparison with another tool.
    pub(crate) agree: Agree,
    /// Environment of the tracer.
    pub(crate) env: Vec<(String, String)>,
    /// Input of the tracer.
    pub(crate) stdin: Option<String>,
    /// Files put into the case's folder.
    pub(crate) files: Vec<(String, String)>,
}

/// All cases of a folder, in order of file name; names must be unique.
pub(crate) fn load(folder: &Path) -> Result<Vec<Case>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "t"))
        .collect();
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for case in parse::parse(&name, &std::fs::read_to_string(&file)?)? {
            if let Some(other) = cases.iter().find(|c| c.name == case.name) {
                return Err(format!("{}: `{}` is also at {}", case.place, case.name, other.place).into());
            }
            cases.push(case);
        }
    }
    Ok(cases)
}
