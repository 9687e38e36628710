//! The `strix` binary: decides by name and first argument what is wanted, runs it, and turns its outcome into an exit code.

mod exit;
mod links;
mod personality;
mod say;
mod trace;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use personality::Personality;

const USAGE: &str = "\
strix - Linux tracing and profiling in one static binary

USAGE:
    strix trace [options] -e 'program' | FILE | -    run a tracing script (bpftrace's language)
    strix trace -l [pattern]                         list what can be traced
    strix links install DIR                          make links by the old names (bpftrace) in DIR
    strix version                                    show the version
    strix help [command]                             show this, or the help of a command

Called by the name of a tool it stands for, strix behaves as that tool.
";

fn main() -> ExitCode {
    let mut args = env::args_os();
    let called = args.next().unwrap_or_else(|| OsString::from("strix"));
    let rest: Vec<OsString> = args.collect();
    let code = match Personality::of(&called) {
        Some(Personality::Bpftrace) => trace::main(rest, trace::Style::Bpftrace),
        None => strix(rest),
    };
    ExitCode::from(code)
}

fn strix(mut args: Vec<OsString>) -> u8 {
    if args.is_empty() {
        say::remark(format_args!("{}", USAGE.trim_end()));
        return exit::USAGE;
    }
    let command = args.remove(0);
    match command.to_str() {
        Some("trace") => trace::main(args, trace::Style::Strix),
        Some("links") => links::main(&args),
        Some("version" | "--version" | "-V") => {
            say::result(concat!("strix ", env!("CARGO_PKG_VERSION"), "\n"))
        }
        Some("help" | "--help" | "-h") => match args.first().and_then(|a| a.to_str()) {
            Some("trace") => trace::main(vec!["--help".into()], trace::Style::Strix),
            _ => say::result(USAGE),
        },
        _ => {
            say::remark(format_args!("strix: unknown command \"{}\"; see: strix help", command.display()));
            exit::USAGE
        }
    }
}
