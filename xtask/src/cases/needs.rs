//! What a case may need of the machine, and whether it is there. Each need is probed by what it is, never by a version.

use std::path::Path;

use crate::workspace;

/// `Err` says why a need is not met.
pub(crate) fn met(need: &str) -> Result<(), String> {
    let there = |ok: bool, why: &str| if ok { Ok(()) } else { Err(why.to_owned()) };
    if let Some(program) = need.strip_prefix("cmd:") {
        return there(workspace::find_program(program).is_some(), &format!("no program `{program}`"));
    }
    if let Some(symbol) = need.strip_prefix("ksym:") {
        return there(has_symbol(symbol), &format!("the kernel has no `{symbol}`"));
    }
    if let Some(count) = need.strip_prefix("cpus:") {
        let have = std::thread::available_parallelism().map_or(1, usize::from);
        return there(count.parse().is_ok_and(|n: usize| have >= n), &format!("{have} cpus"));
    }
    match need {
        "root" => there(workspace::is_root(), "needs root"),
        "btf" => there(
            Path::new("/sys/kernel/btf/vmlinux").exists(),
            "no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)",
        ),
        "kprobe" => there(pmu("kprobe"), "no kprobe events (CONFIG_KPROBE_EVENTS)"),
        "uprobe" => there(pmu("uprobe"), "no uprobe events (CONFIG_UPROBE_EVENTS)"),
        "fentry" => {
            there(pmu("kprobe") && has_symbol("bpf_trampoline_link_prog"), "no fentry (BPF trampoline)")
        }
        "kprobe_multi" => {
            there(has_symbol("bpf_kprobe_multi_link_attach"), "no kprobe.multi (CONFIG_FPROBE)")
        }
        "hardware" => there(pmu("cpu"), "no hardware counters"),
        "tcp" => there(Path::new("/proc/net/tcp").exists(), "no TCP"),
        "block" => there(has_block_device(), "no block device"),
        other => Err(format!("unknown need `{other}`")),
    }
}

fn pmu(name: &str) -> bool {
    Path::new("/sys/bus/event_source/devices").join(name).exists()
}

fn has_symbol(name: &str) -> bool {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    symbols.lines().any(|line| line.split_whitespace().nth(2) == Some(name))
}

fn has_block_device() -> bool {
    let Ok(devices) = std::fs::read_dir("/sys/block") else { return false };
    devices.flatten().any(|d| {
        let name = d.file_name();
        let name = name.to_string_lossy();
        !["loop", "ram", "zram"].iter().any(|virtual_name| name.starts_with(virtual_name))
    })
}
