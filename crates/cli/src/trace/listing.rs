//! `-l` and `-lv`: probes that match a pattern, or those of a script.

use std::io::{self, Write};
use std::path::Path;

use strix_facts::KernelFacts;
use strix_model::Diagnostics;
use strix_script::resolve::{Listed, list, list_probes};

use super::args::TraceArgs;
use super::{Failure, Style, source};
use crate::{exit, say};

/// Prints the listing.
pub fn run(args: &TraceArgs, facts: &KernelFacts, style: Style, out: &mut dyn Write) -> Result<u8, Failure> {
    let found = match script_of(args) {
        Some(args) => of_script(&args, facts)?,
        None => {
            let pattern = args.words.first().map_or("", String::as_str);
            list(pattern, facts, args.pid, args.verbose).map_err(|e| Failure::plain(e.to_string()))?
        }
    };
    let written = say::written(print(&found, out));
    if found.is_empty() {
        let pattern = args.words.first().map_or("", String::as_str);
        say::remark(format_args!("no probe matches \"{pattern}\""));
        return Ok(if style == Style::Bpftrace { exit::SUCCESS } else { exit::FAILURE });
    }
    Ok(written)
}

/// The arguments as those of a run, when it is a script whose probes are wanted.
fn script_of(args: &TraceArgs) -> Option<TraceArgs> {
    let word = args.words.first().map(String::as_str);
    let is_file = word.is_some_and(|w| !w.contains(':') && Path::new(w).is_file());
    (args.program.is_some() || is_file).then(|| args.clone())
}

fn of_script(args: &TraceArgs, facts: &KernelFacts) -> Result<Vec<Listed>, Failure> {
    let source = source::read(args).map_err(Failure::plain)?;
    let mut diags = Diagnostics::default();
    let script = strix_script::pipeline::parse(&source.sources, source.file, &mut diags);
    let options = strix_script::Options {
        params: source.params,
        pid: args.pid,
        unsafe_mode: true,
        ..strix_script::Options::default()
    };
    let found = list_probes(&script, facts, &options, args.verbose, &mut diags);
    if diags.has_errors() {
        return Err(Failure::script(diags, source.sources));
    }
    Ok(found)
}

fn print(found: &[Listed], out: &mut dyn Write) -> io::Result<()> {
    for entry in found {
        writeln!(out, "{}", entry.name)?;
        for line in &entry.params {
            writeln!(out, "    {line}")?;
        }
    }
    out.flush()
}
