//! Developer tasks, called as `cargo xtask COMMAND`. One file or folder a command; what several use is in `workspace`
//! (where things are and how they are built), `process` (running others), `outcome` (counting results) and `cases`
//! (the test files under `tests/live` and `tests/vm`).
//!
//! The binary is static and is also the `/init` of the virtual machines that `cargo xtask vm` boots, so that test cases are run by the
//! same code there and here.

mod args;
mod bench;
mod cases;
mod dist;
mod live;
mod outcome;
mod process;
mod test;
mod tidy;
mod vm;
mod workspace;

use std::process::ExitCode;

/// Errors here are read by developers only: a sentence is enough.
pub(crate) type Error = Box<dyn std::error::Error>;
/// Result of a task's step.
pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

/// A task.
struct Command {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(args::Args) -> Result<ExitCode>,
}

/// Every task; `tidy` checks that the documentation names them all.
const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        usage: "test [--quick]",
        about: "everything: format, clippy, tidy, unit tests, live tests, VM tests, release size",
        run: test::run,
    },
    Command {
        name: "tidy",
        usage: "tidy",
        about: "crate edges, module docs, links, licences, unsafe, changelog",
        run: tidy::run,
    },
    Command {
        name: "live",
        usage: "live [--against CMD [--peer-root DIR]] [--quick] [--list] [FILTER]",
        about: "tests/live on this kernel (root); --against compares with a bpftrace",
        run: live::run,
    },
    Command {
        name: "vm",
        usage: "vm [--kernel 5.10,6.1,6.12] [FILTER]",
        about: "tests/vm on other kernels under QEMU",
        run: vm::run,
    },
    Command {
        name: "bench",
        usage: "bench [--peer CMD] [--peer-overhead CMD] [--only start,attach,event,flood,size] [--rounds N] [--json FILE]",
        about: "measures strix, beside a peer bpftrace as ratios",
        run: bench::run,
    },
    Command {
        name: "dist",
        usage: "dist",
        about: "the release binary, checked: static, stripped, at most 12 MiB",
        run: dist::run,
    },
];

fn main() -> ExitCode {
    if std::process::id() == 1 {
        return vm::guest::main();
    }
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    if name == bench::measure::HELPER {
        return bench::measure::helper(words.collect());
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        return usage(&name);
    };
    let outcome = args::Args::parse(command.usage, words).and_then(command.run);
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask {name}: {error}");
        ExitCode::FAILURE
    })
}

fn usage(name: &str) -> ExitCode {
    let asked = matches!(name, "" | "-h" | "--help" | "help");
    if !asked {
        eprintln!("xtask: no task `{name}`");
    }
    for command in COMMANDS {
        eprintln!("cargo xtask {}\n    {}", command.usage, command.about);
    }
    if asked { ExitCode::SUCCESS } else { ExitCode::from(2) }
}
