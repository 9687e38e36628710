//! From a script's text to the end of its session.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::rc::Rc;
use std::sync::Arc;

use strix_core::{Child, EndReason, Error, LiveKernel, Options, ProbeLoss, Session, caps};
use strix_facts::KernelFacts;
use strix_model::{Diagnostic, Diagnostics, Plan, SourceMap};
use strix_render::{DiagnosticStyle, Json, Output, ProbeLosses, Text};
use strix_symbolize::Symbolizer;

use super::args::{Buffering, Format, TraceArgs};
use super::sink::Sink;
use super::source::{self, Source};
use super::{Failure, Style, colours, emit, show};
use crate::{exit, say};

/// Bytes gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Environment variables that are settings of the script's config block.
const CONFIG_VARIABLES: [&str; 19] = [
    "BPFTRACE_CACHE_USER_SYMBOLS",
    "BPFTRACE_CPP_DEMANGLE",
    "BPFTRACE_LAZY_SYMBOLICATION",
    "BPFTRACE_LICENSE",
    "BPFTRACE_LOG_SIZE",
    "BPFTRACE_MAX_BPF_PROGS",
    "BPFTRACE_MAX_CAT_BYTES",
    "BPFTRACE_MAX_MAP_KEYS",
    "BPFTRACE_MAX_PROBES",
    "BPFTRACE_MAX_STRLEN",
    "BPFTRACE_MISSING_PROBES",
    "BPFTRACE_ON_STACK_LIMIT",
    "BPFTRACE_PERF_RB_PAGES",
    "BPFTRACE_PRINT_MAPS_ON_EXIT",
    "BPFTRACE_SHOW_DEBUG_INFO",
    "BPFTRACE_STACK_MODE",
    "BPFTRACE_STR_TRUNC_TRAILER",
    "BPFTRACE_USE_BLAZESYM",
    "BPFTRACE_STRLEN",
];

/// Runs a script.
pub fn run(args: &TraceArgs, facts: &KernelFacts, style: Style) -> Result<u8, Failure> {
    let source = source::read(args).map_err(Failure::plain)?;
    if let Some(pid) = args.pid {
        check_process(pid)?;
    }
    let child = args.command.as_deref().map(spawn).transpose()?;
    let options = compile_options(args, &source, child.as_ref());
    let mut diags = Diagnostics::default();
    if let Some(stage) = &args.emit {
        let text = emit::emit(stage, &source, facts, &options, &mut diags);
        show(&diags, &source.sources, DiagnosticStyle { colour: colours(), errors_only: args.no_warnings });
        let Some(text) = text else { return Ok(exit::FAILURE) };
        return Ok(say::result(&text));
    }
    let plan = strix_script::pipeline::compile(&source.sources, source.file, facts, &options, &mut diags);
    let Some(plan) = plan else { return Err(Failure::script(diags, source.sources)) };
    if plan.programs.is_empty() {
        return Err(Failure::plain("the script has no probes".into()));
    }
    show(
        &diags,
        &source.sources,
        DiagnosticStyle { colour: colours(), errors_only: args.no_warnings || args.quiet },
    );
    trace(args, style, Arc::new(plan), child)
}

fn compile_options(args: &TraceArgs, source: &Source, child: Option<&Child>) -> strix_script::Options {
    let config = CONFIG_VARIABLES.iter().filter_map(|name| {
        let value = env::var(name).ok()?;
        Some((name.strip_prefix("BPFTRACE_")?.to_ascii_lowercase(), value))
    });
    strix_script::Options {
        params: source.params.clone(),
        named_params: source.named_params.clone(),
        pid: args.pid,
        child_pid: child.map(Child::pid),
        uprobe_links: !caps::effective().is_ok_and(|held| caps::holds(held, "CAP_SYS_ADMIN")),
        unsafe_mode: args.unsafe_mode,
        count_runs: args.verbose,
        config: config.collect(),
        start_ns: boot_time_ns(),
        pid_namespace: pid_namespace(),
        own_pid: std::process::id(),
        cpus: strix_sys::possible_cpus().unwrap_or(1),
    }
}

/// Device, as the kernel writes it, and inode of the pid namespace that strix is in, unless it is the initial one.
fn pid_namespace() -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    /// The initial namespace's inode (`PROC_PID_INIT_INO`).
    const INITIAL: u64 = 0xefff_fffc;
    let metadata = std::fs::metadata("/proc/self/ns/pid").ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let device = u64::from(major) << 20 | u64::from(minor);
    (metadata.ino() != INITIAL).then_some((device, metadata.ino()))
}

fn boot_time_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn check_process(pid: u32) -> Result<(), Failure> {
    if std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return Ok(());
    }
    Err(Failure::plain(format!("no process with PID {pid}")))
}

/// Forks the command of `-c`, which waits until it is let go.
fn spawn(command: &str) -> Result<Child, Failure> {
    let words = split_command(command).map_err(Failure::plain)?;
    Child::spawn(&words).map_err(|e| Failure::plain(format!("cannot run the command: {e}")))
}

/// Splits at white space; quotes and backslashes keep it. No shell is run.
fn split_command(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("unterminated quote in the command \"{command}\""));
    }
    words.extend(word);
    if words.is_empty() { Err("the command of -c is empty".into()) } else { Ok(words) }
}

/// Loads, attaches, runs and finishes.
fn trace(args: &TraceArgs, style: Style, plan: Arc<Plan>, child: Option<Child>) -> Result<u8, Failure> {
    let failed = |error: Error| refusal(error, &plan.sources, args.verbose, style);
    let options = Options {
        pid: args.pid,
        child,
        duration: args.duration,
        measure_cost: false,
        verifier_log: args.verbose,
    };
    let output = open_output(args)?;
    let symbols =
        Symbolizer::new(strix_symbolize::Options { demangle: plan.config.demangle, debug_info: false });
    let every_record =
        args.buffering == Buffering::Line && args.output.is_none() && io::stdout().is_terminal();
    let mut sink = Sink::new(Arc::clone(&plan), output, symbols, every_record);
    if args.no_warnings {
        sink = sink.without_warnings();
    }
    let mut session = Session::load(Rc::new(LiveKernel), Arc::clone(&plan), options).map_err(failed)?;
    if args.verbose {
        show_verifier_logs(&session, &plan);
    }
    let report = session.attach().map_err(failed)?;
    for missing in &report.missing {
        let warning =
            Diagnostic::warning(missing.span, format!("cannot attach {}: {}", missing.point, missing.source));
        let mut diags = Diagnostics::default();
        diags.push(warning);
        show(&diags, &plan.sources, DiagnosticStyle { colour: colours(), errors_only: args.no_warnings });
    }
    if !args.quiet && !args.dry_run {
        sink.output().attached(u64::from(report.attached)).map_err(output_failed)?;
        sink.output().flush().map_err(output_failed)?;
    }
    notify_attached(&mut sink)?;
    if args.dry_run {
        return Ok(exit::SUCCESS);
    }
    give_up_capabilities(args);
    let outcome = session.run(&mut sink).map_err(failed)?;
    if outcome.reason == EndReason::OutputClosed {
        return Ok(exit::SUCCESS);
    }
    finish(args, style, &session, &mut sink).map_err(|error| match error {
        Ended::Kernel(error) => failed(error),
        Ended::Output(error) => output_failed(error),
    })?;
    Ok(outcome.exit_code as u8)
}

/// What is still needed once everything is attached: reading maps by descriptor and running end programs where
/// `kernel.unprivileged_bpf_disabled` is set, names of kernel functions, names of functions of other users' processes, files
/// that `cat` shows, and ending the command of `-c` when it has become another user's.
const STILL_NEEDED: [&str; 5] =
    ["CAP_BPF", "CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_KILL"];

/// From here on hostile data is read; what is not needed for that goes. Commands of `system` are to have what their user has.
fn give_up_capabilities(args: &TraceArgs) {
    if args.unsafe_mode {
        return;
    }
    if let Err(error) = caps::keep_only(&STILL_NEEDED) {
        say::remark(format_args!("WARNING: cannot give up capabilities: {error}"));
    }
}

/// What can go wrong while the last results are printed.
enum Ended {
    Kernel(Error),
    Output(io::Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Maps, then losses.
fn finish(args: &TraceArgs, style: Style, session: &Session, sink: &mut Sink<'_>) -> Result<(), Ended> {
    let plan = session.plan();
    sink.output().end()?;
    if plan.config.print_maps_on_exit {
        sink.print_maps(&session.maps())?;
    }
    // What goes to stderr from here on is about what stands above it.
    sink.output().flush()?;
    for problem in sink.symbol_problems() {
        say::remark(format_args!("WARNING: {problem}"));
    }
    let losses = session.losses().map_err(Ended::Kernel)?;
    let rows: Vec<ProbeLosses<'_>> = losses.iter().map(|loss| row(loss, plan)).collect();
    let total = losses.iter().map(|l| l.dropped).sum();
    // Old scripts that read bpftrace's JSON see an object they do not know only when there is something to say.
    let always = args.verbose || (args.format == Format::Json && style == Style::Strix);
    sink.output().losses(total, &rows, always)?;
    sink.output().flush()?;
    Ok(())
}

fn row<'p>(loss: &ProbeLoss, plan: &'p Plan) -> ProbeLosses<'p> {
    ProbeLosses {
        probe: plan.probes.get(loss.probe as usize).map_or("", |p| p.name.as_str()),
        counters: [
            loss.fired,
            loss.filtered,
            loss.dropped,
            loss.map_full,
            loss.stack_full,
            loss.read_failed,
            loss.scratch_busy,
        ],
        counts_runs: plan.counts_runs,
        missed: Some(loss.recursion + loss.missed),
    }
}

/// Test harnesses of bpftrace wait for this line.
fn notify_attached(sink: &mut Sink<'_>) -> Result<(), Failure> {
    if env::var_os("__BPFTRACE_NOTIFY_PROBES_ATTACHED").is_some() {
        sink.output().flush().map_err(output_failed)?;
        // A harness that went away is told nothing.
        say::result("__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
    }
    Ok(())
}

fn output_failed(error: io::Error) -> Failure {
    Failure::plain(format!("cannot write results: {error}"))
}

fn open_output(args: &TraceArgs) -> Result<Box<dyn Output>, Failure> {
    let mut escapes = io::stdout().is_terminal();
    let out: Box<dyn Write> = match &args.output {
        None => Box::new(BufWriter::with_capacity(BUFFER, io::stdout())),
        Some(path) => {
            // What is traced is nobody else's business.
            let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
            let file = file.map_err(|e| {
                Failure::plain(format!("cannot write output file \"{}\": {e}", path.display()))
            })?;
            escapes = file.is_terminal();
            Box::new(BufWriter::with_capacity(BUFFER, file))
        }
    };
    Ok(match args.format {
        Format::Text => Box::new(Text::new(out, say::Remarks, escapes, colours())),
        Format::Json => Box::new(Json::new(out, say::Remarks)),
    })
}

fn show_verifier_logs(session: &Session, plan: &Plan) {
    for (program, log) in plan.programs.iter().zip(session.verifier_logs()) {
        if let Some(summary) = log.lines().rev().find(|l| l.starts_with("processed ")) {
            say::remark(format_args!("{}: {} instructions, {summary}", program.name, program.insns.len()));
        }
    }
}

/// An error of the session as a diagnostic, with a caret where it has a place.
fn refusal(error: Error, sources: &SourceMap, verbose: bool, style: Style) -> Failure {
    let code = if style == Style::Bpftrace { exit::BPFTRACE_RUN_FAILED } else { exit::FAILURE };
    let text = error.to_string();
    let (span, log) = match error {
        Error::Rejected { span, log, .. } => (Some(span), Some(log)),
        Error::Denied { span, .. } | Error::Unsupported { span, .. } => (span, None),
        Error::Attach { span, .. } | Error::Run { span, .. } => (Some(span), None),
        _ => (None, None),
    };
    let Some(span) = span else { return Failure::Plain { text, code } };
    let mut diagnostic = Diagnostic::error(span, text);
    if log.is_some() && !verbose {
        diagnostic = diagnostic.with_help("run with -v to see the verifier's log");
    }
    Failure::refused(diagnostic, sources.clone(), log.filter(|_| verbose), code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_split_like_a_shell_would_without_being_one() {
        let split = |text: &str| split_command(text).expect("a command");
        assert_eq!(split("ls -la /tmp"), ["ls", "-la", "/tmp"]);
        assert_eq!(split("sh -c 'echo \"a b\"; true'"), ["sh", "-c", "echo \"a b\"; true"]);
        assert_eq!(split("a\\ b \"\""), ["a b", ""]);
        assert!(split_command("echo 'x").is_err());
        assert!(split_command("   ").is_err());
    }
}
