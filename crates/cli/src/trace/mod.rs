//! `strix trace`, and the personality `bpftrace`: compile a script, run it, print what it says.

mod args;
mod emit;
mod info;
mod listing;
mod names;
mod run;
mod sink;
mod source;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use strix_facts::KernelFacts;
use strix_model::{Diagnostic, Diagnostics, SourceMap};
use strix_render::{DiagnosticStyle, render_diagnostics};

use crate::{exit, say};
use args::{Parsed, TraceArgs};

/// As whom strix was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `strix trace`.
    Strix,
    /// `bpftrace`.
    Bpftrace,
}

/// Why nothing was run, or a run was given up.
#[derive(Debug)]
pub enum Failure {
    /// Something to say, and the exit code for it.
    Plain {
        /// Message.
        text: String,
        /// Exit code.
        code: u8,
    },
    /// The script has errors, or the kernel found one in it.
    Script {
        /// What.
        diags: Box<Diagnostics>,
        /// The texts they point into.
        sources: Box<SourceMap>,
        /// Text for below them, such as a verifier's log.
        log: Option<String>,
        /// Exit code.
        code: u8,
    },
}

impl Failure {
    /// A failure without a place in the script.
    pub fn plain(text: String) -> Self {
        Self::Plain { text, code: exit::FAILURE }
    }

    /// Errors in the script.
    pub fn script(diags: Diagnostics, sources: SourceMap) -> Self {
        Self::Script { diags: Box::new(diags), sources: Box::new(sources), log: None, code: exit::FAILURE }
    }

    /// An error of the kernel about a place in the script.
    pub fn refused(diagnostic: Diagnostic, sources: SourceMap, log: Option<String>, code: u8) -> Self {
        let mut diags = Diagnostics::default();
        diags.push(diagnostic);
        Self::Script { diags: Box::new(diags), sources: Box::new(sources), log, code }
    }

    /// Says it on stderr and gives the exit code.
    fn report(self) -> u8 {
        let colour = colours();
        match self {
            Self::Plain { text, code } => {
                let (on, off) = if colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
                say::coloured(on, format_args!("ERROR: {text}"), off);
                code
            }
            Self::Script { diags, sources, log, code } => {
                show(&diags, &sources, DiagnosticStyle { colour, errors_only: false });
                if let Some(log) = log {
                    say::remark(format_args!("{}", log.trim_end()));
                }
                code
            }
        }
    }
}

/// Shows diagnostics on stderr.
fn show(diags: &Diagnostics, sources: &SourceMap, style: DiagnosticStyle) {
    let mut text = Vec::new();
    // Writing to memory cannot fail; when stderr is gone, nobody can be told.
    let _ = render_diagnostics(diags, sources, style, &mut text);
    let _ = io::stderr().write_all(&text);
}

/// Whether stderr takes colours: a terminal, unless NO_COLOR or BPFTRACE_COLOR say otherwise.
fn colours() -> bool {
    match env::var("BPFTRACE_COLOR").as_deref() {
        Ok("always") => true,
        Ok("never") => false,
        _ => io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Runs the command line.
pub fn main(args: Vec<OsString>, style: Style) -> u8 {
    let args = match args::parse(args, style) {
        Parsed::Run(args) => args,
        Parsed::Show(text) => return say::result(&text),
        Parsed::Wrong(text) => {
            say::remark(format_args!("{}", text.trim_end()));
            return if style == Style::Bpftrace { exit::FAILURE } else { exit::USAGE };
        }
    };
    dispatch(&args, style).unwrap_or_else(Failure::report)
}

fn dispatch(args: &TraceArgs, style: Style) -> Result<u8, Failure> {
    let facts = kernel_facts(args)?;
    if args.info {
        let mut out = io::stdout().lock();
        return Ok(say::written(info::print(&facts, style, &mut out).and_then(|()| out.flush())));
    }
    if args.list {
        return listing::run(args, &facts, style, &mut io::stdout().lock());
    }
    run::run(args, &facts, style)
}

/// The running kernel, less the features that were switched off. tracefs is mounted if it is not.
fn kernel_facts(args: &TraceArgs) -> Result<KernelFacts, Failure> {
    let mut facts = KernelFacts::live();
    if let Some(path) = env::var_os("BPFTRACE_BTF").filter(|p| !p.is_empty()) {
        facts = facts.with_btf(PathBuf::from(path));
    }
    if facts.tracefs().is_err() {
        // Whoever needs it and finds it missing says why; a script of timers and uprobes does not.
        if let Ok(path) = strix_sys::tracefs::ensure() {
            facts = facts.with_tracefs(path);
        }
    }
    if !args.no_features.is_empty() {
        let mut features = facts.features().clone();
        for name in &args.no_features {
            if !features.set(name, false) {
                return Err(Failure::Plain {
                    text: format!("unknown feature \"{name}\""),
                    code: exit::USAGE,
                });
            }
        }
        facts = facts.with_features(features);
    }
    Ok(facts)
}
