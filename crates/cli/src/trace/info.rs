//! `--info`: what this kernel supports, in bpftrace's layout and words where it has them.

use std::io::{self, Write};

use strix_facts::KernelFacts;

use super::Style;

/// Prints the table.
pub fn print(facts: &KernelFacts, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let features = facts.features();
    let system = rustix::system::uname();
    writeln!(out, "System")?;
    writeln!(
        out,
        "  OS: {} {} {}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy(),
        system.version().to_string_lossy()
    )?;
    writeln!(out, "  Arch: {}", system.machine().to_string_lossy())?;
    writeln!(out, "\nBuild")?;
    let version = env!("CARGO_PKG_VERSION");
    match style {
        Style::Strix => writeln!(out, "  version: strix {version}")?,
        Style::Bpftrace => writeln!(out, "  version: v0.27.1 (strix {version})")?,
    }
    writeln!(out, "  LLVM: none (strix compiles by itself)")?;
    section(
        out,
        "Kernel helpers",
        &[
            ("dpath", features.dpath),
            ("get_func_ip", features.get_func_ip),
            ("get_tai_ns", features.ktime_get_tai_ns),
            ("lookup_percpu_elem", features.map_lookup_percpu_elem),
            ("loop", features.bpf_loop),
        ],
    )?;
    let btf = facts.btf().is_ok();
    section(out, "Kernel features", &[("btf", btf), ("module btf", !facts.btf_modules().is_empty() || btf)])?;
    section(
        out,
        "Probe types",
        &[
            ("kprobe", features.kprobes),
            ("kprobe_multi", features.kprobe_multi && features.kprobes),
            ("kprobe_session", features.kprobe_session && features.kprobes),
            ("uprobe", features.uprobes),
            ("uprobe_multi", features.uprobe_multi),
            ("tracepoint", facts.tracefs().is_ok()),
            ("fentry", features.fentry),
            ("hardware", features.hardware_pmu),
        ],
    )?;
    writeln!(out, "\nAll kernel features")?;
    for feature in features.list() {
        writeln!(out, "  {}: {} (since v{})", feature.name, yes_no(feature.present), feature.since)?;
    }
    Ok(())
}

fn section(out: &mut dyn Write, title: &str, rows: &[(&str, bool)]) -> io::Result<()> {
    writeln!(out, "\n{title}")?;
    for (name, present) in rows {
        writeln!(out, "  {name}: {}", yes_no(*present))?;
    }
    Ok(())
}

fn yes_no(present: bool) -> &'static str {
    if present { "yes" } else { "no" }
}
