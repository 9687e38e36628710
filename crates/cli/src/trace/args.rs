//! Options of `strix trace`, which are bpftrace's.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::Style;

/// Text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// When output is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// After every event.
    Line,
    /// When the buffer is full, or nothing more is there to read.
    Full,
}

/// What was asked for.
#[derive(Clone, Debug)]
pub struct TraceArgs {
    /// Program text of `-e`.
    pub program: Option<String>,
    /// Script file and parameters, or parameters alone with `-e`, or what to list.
    pub words: Vec<String>,
    /// `-l`.
    pub list: bool,
    /// `-p`.
    pub pid: Option<u32>,
    /// `-c`.
    pub command: Option<String>,
    /// `-o`.
    pub output: Option<PathBuf>,
    /// `-f`.
    pub format: Format,
    /// `-B`.
    pub buffering: Buffering,
    /// `-q`.
    pub quiet: bool,
    /// `-v`.
    pub verbose: bool,
    /// `--unsafe`.
    pub unsafe_mode: bool,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--info`.
    pub info: bool,
    /// `--no-warnings`.
    pub no_warnings: bool,
    /// `--emit STAGE`.
    pub emit: Option<String>,
    /// `--duration`.
    pub duration: Option<Duration>,
    /// `--no-feature`.
    pub no_features: Vec<String>,
}

/// What the command line comes to.
pub enum Parsed {
    /// Run with these.
    Run(Box<TraceArgs>),
    /// Print and succeed (help, version).
    Show(String),
    /// Print on stderr and fail.
    Wrong(String),
}

/// Stages that `--emit` knows.
pub const STAGES: [&str; 6] = ["tokens", "ast", "hir", "types", "ir", "bpf"];

fn command(style: Style) -> Command {
    let (name, usage) = match style {
        Style::Strix => ("strix trace", "strix trace [options] -e 'program' [param…] | FILE [param…] | -"),
        Style::Bpftrace => ("bpftrace", "bpftrace [options] -e 'program' [param…] | FILE [param…] | -"),
    };
    let flag =
        |id: &'static str, help: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue).help(help);
    let hidden = |id: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue).hide(true);
    Command::new(name)
        .override_usage(usage)
        .about("Runs a tracing script on the running kernel.")
        .after_help(EXAMPLES)
        .disable_version_flag(true)
        .args_override_self(true)
        .arg(
            Arg::new("program")
                .short('e')
                .value_name("program")
                .allow_hyphen_values(true)
                .help("Run this program"),
        )
        .arg(
            flag("list", "List probes that match a pattern, or those of a script; with -v their arguments")
                .short('l'),
        )
        .arg(
            Arg::new("pid")
                .short('p')
                .long("pid")
                .value_name("PID")
                .value_parser(value_parser!(u32).range(1..))
                .help("Trace only this process"),
        )
        .arg(
            Arg::new("cmd")
                .short('c')
                .long("cmd")
                .value_name("CMD")
                .help("Run a command and trace until it ends"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write results to a file"),
        )
        .arg(
            Arg::new("format")
                .short('f')
                .value_name("FORMAT")
                .value_parser(PossibleValuesParser::new(["text", "json"]))
                .help("Form of the results"),
        )
        .arg(
            Arg::new("buffering")
                .short('B')
                .value_name("MODE")
                .value_parser(PossibleValuesParser::new(["line", "full", "none"]))
                .help("When results are passed on"),
        )
        .arg(
            Arg::new("duration")
                .long("duration")
                .value_name("TIME")
                .value_parser(parse_duration)
                .help("End after this time (10s, 500ms, 2m)"),
        )
        .arg(flag("quiet", "No messages but errors").short('q'))
        .arg(flag("verbose", "More messages: what each probe did and lost, the verifier's log").short('v'))
        .arg(flag("unsafe", "Allow system(), signal() and other functions that change the system"))
        .arg(flag("info", "Show what this kernel supports"))
        .arg(flag("dry-run", "End when everything is attached"))
        .arg(flag("no-warnings", "No warnings about the script"))
        .arg(
            Arg::new("emit")
                .long("emit")
                .value_name("STAGE")
                .value_parser(PossibleValuesParser::new(STAGES))
                .help("Compile up to a stage and print it"),
        )
        .arg(
            Arg::new("no-feature")
                .long("no-feature")
                .value_name("FEATURE")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Do without a feature of the kernel"),
        )
        .arg(flag("version", "Show the version").short('V'))
        // Accepted, so that old command lines run: they concern what strix does not have (headers, LLVM).
        .arg(hidden("verify-llvm-ir"))
        .arg(hidden("btf").short('b'))
        .arg(hidden("warnings").short('k'))
        .arg(hidden("usdt-file-activation"))
        .arg(Arg::new("include-dir").short('I').action(ArgAction::Append).hide(true))
        .arg(Arg::new("include").long("include").action(ArgAction::Append).hide(true))
        .arg(Arg::new("words").value_name("FILE").num_args(0..).allow_hyphen_values(false))
}

const EXAMPLES: &str = "\
Examples:
  strix trace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
      count system calls by process name
  strix trace -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }'
      show opened files
  strix trace -e 'profile:hz:99 { @[kstack] = count(); }'
      profile kernel stacks
  strix trace -l 'tracepoint:syscalls:*'
      list probes";

/// `10s`, `500ms`, `2m`; a bare number is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 =
        number.parse().map_err(|_| format!("\"{text}\" is not a time, such as 10s, 500ms or 2m"))?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("unknown unit \"{unit}\": use ms, s, m or h")),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(|| "that is too long".to_owned())
}

/// Parses a command line without the command's name.
pub fn parse(args: Vec<OsString>, style: Style) -> Parsed {
    let command = command(style).no_binary_name(true);
    let matches = match command.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return Parsed::Wrong(error.to_string()),
        Err(error) => return Parsed::Show(error.to_string()),
    };
    if matches.get_flag("version") {
        let version = env!("CARGO_PKG_VERSION");
        return Parsed::Show(match style {
            Style::Strix => format!("strix {version}\n"),
            Style::Bpftrace => format!("bpftrace v0.27.1 (strix {version})\n"),
        });
    }
    let args = collect(&matches);
    match complaint(&args, style) {
        Some(text) => Parsed::Wrong(text),
        None => Parsed::Run(Box::new(args)),
    }
}

fn collect(matches: &ArgMatches) -> TraceArgs {
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let many = |id: &str| matches.get_many::<String>(id).unwrap_or_default().cloned().collect();
    TraceArgs {
        program: text("program"),
        words: many("words"),
        list: matches.get_flag("list"),
        pid: matches.get_one("pid").copied(),
        command: text("cmd"),
        output: matches.get_one("output").cloned(),
        format: if text("format").as_deref() == Some("json") { Format::Json } else { Format::Text },
        buffering: match text("buffering").as_deref() {
            Some("full") => Buffering::Full,
            _ => Buffering::Line,
        },
        quiet: matches.get_flag("quiet"),
        verbose: matches.get_flag("verbose"),
        unsafe_mode: matches.get_flag("unsafe"),
        dry_run: matches.get_flag("dry-run"),
        info: matches.get_flag("info"),
        no_warnings: matches.get_flag("no-warnings"),
        emit: text("emit"),
        duration: matches.get_one("duration").copied(),
        no_features: many("no-feature"),
    }
}

/// What is wrong with options that are each right.
fn complaint(args: &TraceArgs, style: Style) -> Option<String> {
    let name = match style {
        Style::Strix => "strix trace",
        Style::Bpftrace => "bpftrace",
    };
    if args.pid.is_some() && args.command.is_some() {
        return Some("error: -p and -c cannot be used together\n".into());
    }
    if args.info || args.list || args.program.is_some() || !args.words.is_empty() {
        return None;
    }
    Some(format!(
        "error: no script: give a FILE, or -e 'program'\n\nFor more information, try '{name} --help'.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> TraceArgs {
        match parse(args.iter().map(OsString::from).collect(), Style::Strix) {
            Parsed::Run(args) => *args,
            Parsed::Show(text) | Parsed::Wrong(text) => panic!("{text}"),
        }
    }

    #[test]
    fn words_after_a_program_are_parameters() {
        let args = run(&["-e", "BEGIN { print($1); }", "5", "-q"]);
        assert_eq!(args.words, ["5"]);
        assert!(args.quiet);
        let args = run(&["-e", "BEGIN {}", "--", "-5"]);
        assert_eq!(args.words, ["-5"]);
    }

    #[test]
    fn short_options_combine() {
        let args = run(&["-lv", "tracepoint:*"]);
        assert!(args.list && args.verbose);
        assert_eq!(args.words, ["tracepoint:*"]);
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert!(parse_duration("2 days").is_err());
        assert!(parse_duration("99999999999999999999h").is_err());
    }

    #[test]
    fn pid_and_command_exclude_each_other() {
        let args = ["-p", "1", "-c", "true", "-e", "BEGIN {}"].iter().map(OsString::from).collect();
        assert!(matches!(parse(args, Style::Strix), Parsed::Wrong(text) if text.contains("together")));
    }
}
