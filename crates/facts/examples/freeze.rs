//! Freezes facts of a kernel into a fixture directory for tests: a small BTF, tracepoint formats and symbol lists.
//!
//! `freeze ROOT TRACEFS OUT`, for example `freeze / /sys/kernel/tracing tests/facts/6.18-x86_64`. `freeze --btf FILE OUT`
//! writes only what features are concluded from, out of a BTF file.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use strix_facts::btf::subset::{Subset, enums_with};
use strix_facts::{Btf, BtfKind, Glob, KernelFacts, TypeId};

/// Kept with all members wherever they are met.
const WHOLE: &[&str] = &[
    "task_struct",
    "mm_struct",
    "file",
    "path",
    "dentry",
    "qstr",
    "vfsmount",
    "inode",
    "super_block",
    "cred",
    "nsproxy",
    "css_set",
    "cgroup",
    "kernfs_node",
    "sock",
    "sock_common",
    "inet_sock",
    "tcp_sock",
    "sk_buff",
    "request",
    "bio",
    "gendisk",
    "block_device",
    "linux_binprm",
    "pid",
    "signal_struct",
    "pt_regs",
    "net_device",
];

const FUNCTIONS: &[&str] = &[
    "vfs_read",
    "vfs_write",
    "vfs_open",
    "vfs_fsync",
    "tcp_sendmsg",
    "tcp_recvmsg",
    "tcp_v4_connect",
    "tcp_connect",
    "tcp_set_state",
    "do_sys_openat2",
    "do_nanosleep",
    "schedule",
    "wake_up_new_task",
    "try_to_wake_up",
];

const RAW_TRACEPOINTS: &[&str] = &[
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_process_exec",
    "sched_process_exit",
    "sched_process_fork",
    "sys_enter",
    "sys_exit",
    "kfree_skb",
    "block_rq_issue",
    "block_rq_complete",
    "tcp_retransmit_skb",
];

/// What features are concluded from. Structs among them are cut to what is asked about.
const EVIDENCE_STRUCTS: &[&str] = &[
    "bpf_kprobe_multi_link",
    "bpf_uprobe_multi_link",
    "btf_module",
    "dyn_ftrace",
    "desc_struct",
    "ftrace_ops",
    "bpf_verifier_state",
];
const EVIDENCE_FUNCTIONS: &[&str] = &["bpf_iter_num_new", "bpf_path_d_path", "check_atomic"];
const BPF_ENUMS: &[&str] = &[
    "BPF_FUNC_",
    "BPF_MAP_TYPE_",
    "BPF_PROG_TYPE_",
    "BPF_LINK_TYPE_",
    "BPF_TRACE_",
    "BPF_MAP_CREATE",
    "BPF_F_MMAPABLE",
    "BPF_ENABLE_STATS",
    "BPF_ANY",
];
const OTHER_ENUMS: &[&str] =
    &["TCP_ESTABLISHED", "PIDTYPE_PID", "SKB_DROP_REASON_NOT_SPECIFIED", "HI_SOFTIRQ"];

const EVENTS: &[&str] = &[
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    "sched:sched_process_fork",
    "sched:sched_stat_runtime",
    "sched:sched_migrate_task",
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
    "kmem:kmalloc",
    "kmem:kfree",
    "kmem:mm_page_alloc",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "block:block_rq_insert",
    "tcp:tcp_retransmit_skb",
    "tcp:tcp_probe",
    "sock:inet_sock_set_state",
    "net:net_dev_xmit",
    "net:net_dev_queue",
    "vmscan:mm_vmscan_direct_reclaim_begin",
    "vmscan:mm_vmscan_direct_reclaim_end",
    "writeback:writeback_pages_written",
    "skb:kfree_skb",
    "irq:irq_handler_entry",
    "irq:irq_handler_exit",
    "irq:softirq_entry",
    "irq:softirq_exit",
    "signal:signal_generate",
    "signal:signal_deliver",
    "task:task_newtask",
    "task:task_rename",
    "timer:hrtimer_expire_entry",
    "workqueue:workqueue_execute_start",
    "exceptions:page_fault_user",
    "oom:mark_victim",
];

const SYSCALLS: &[&str] = &[
    "execve",
    "execveat",
    "openat",
    "openat2",
    "open",
    "read",
    "write",
    "close",
    "getppid",
    "nanosleep",
    "kill",
    "connect",
    "clone",
    "exit_group",
    "mmap",
    "newfstat",
    "futex",
];

/// Parts of the symbol lists.
const SYMBOLS: &[&str] = &[
    "vfs_*",
    "__x64_sys_*",
    "tcp_*",
    "do_sys_open*",
    "ip_*",
    "udp_*",
    "do_nanosleep",
    "schedule*",
    "try_to_wake_up",
    "kmem_*",
    "__kmalloc*",
    "ext4_file_*",
    "submit_bio*",
    "blk_mq_*",
    "_stext",
    "_etext",
    "__noinstr_text_*",
    "__entry_text_*",
    "_sinittext",
    "_einittext",
    "jiffies",
    "init_task",
    "bpf_*",
    "ksys_*",
    "do_exit",
    "wake_up_new_task",
    "icmp_*",
];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--btf", file, out] => {
            let btf = Btf::parse(fs::read(file)?, None)?;
            let small = evidence(&btf).ok_or("split BTF")?;
            eprintln!("{out}: {} bytes", small.len());
            Ok(fs::write(out, small)?)
        }
        [root, tracefs, out] => {
            let facts = KernelFacts::at(Path::new(root)).with_tracefs(PathBuf::from(tracefs));
            freeze(&facts, Path::new(root), Path::new(out))
        }
        _ => Err("usage: freeze ROOT TRACEFS OUT, or freeze --btf FILE OUT".into()),
    }
}

fn find<'a>(btf: &'a Btf, kind: BtfKind, names: &'a [&str]) -> impl Iterator<Item = TypeId> + 'a {
    names.iter().filter_map(move |name| {
        let found = btf.find(kind, name);
        if found.is_none() {
            eprintln!("no {kind:?} {name}");
        }
        found
    })
}

fn evidence(btf: &Btf) -> Option<Vec<u8>> {
    let mut roots: Vec<TypeId> = enums_with(btf, BPF_ENUMS).collect();
    roots.extend(find(btf, BtfKind::Struct, EVIDENCE_STRUCTS));
    roots.extend(find(btf, BtfKind::Func, EVIDENCE_FUNCTIONS));
    roots.extend(btf.find(BtfKind::Union, "bpf_attr"));
    Subset { roots, whole: Default::default(), depth: 0 }.write(btf)
}

fn freeze(facts: &KernelFacts, root: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let put = |path: &str, bytes: &[u8]| put(out, path, bytes);
    let btf = facts.btf()?;
    let mut roots: Vec<TypeId> = enums_with(btf, BPF_ENUMS).collect();
    roots.extend(enums_with(btf, OTHER_ENUMS));
    roots.extend(find(btf, BtfKind::Struct, WHOLE));
    roots.extend(find(btf, BtfKind::Struct, EVIDENCE_STRUCTS));
    roots.extend(find(btf, BtfKind::Func, FUNCTIONS));
    roots.extend(find(btf, BtfKind::Func, EVIDENCE_FUNCTIONS));
    roots.extend(btf.find(BtfKind::Union, "bpf_attr"));
    let raw: Vec<String> = RAW_TRACEPOINTS.iter().map(|name| format!("btf_trace_{name}")).collect();
    roots.extend(find(btf, BtfKind::Typedef, &raw.iter().map(String::as_str).collect::<Vec<_>>()));
    // The typedef has the types of the arguments; these functions have their names.
    let named: Vec<String> = RAW_TRACEPOINTS
        .iter()
        .flat_map(|name| [format!("__probestub_{name}"), format!("__traceiter_{name}")])
        .collect();
    roots.extend(find(btf, BtfKind::Func, &named.iter().map(String::as_str).collect::<Vec<_>>()));
    let records: Vec<String> = EVENTS
        .iter()
        .filter_map(|e| Some(format!("trace_event_raw_{}", e.split_once(':')?.1)))
        .filter(|name| btf.find(BtfKind::Struct, name).is_some())
        .collect();
    roots.extend(records.iter().filter_map(|name| btf.find(BtfKind::Struct, name)));
    let subset = Subset { roots, whole: WHOLE.iter().copied().collect(), depth: 1 };
    let small = subset.write(btf).ok_or("split BTF")?;
    eprintln!("BTF: {} bytes", small.len());
    put("sys/kernel/btf/vmlinux", &small)?;

    let tracefs = facts.tracefs()?;
    put("sys/kernel/tracing/available_events", &fs::read(tracefs.join("available_events"))?)?;
    let calls =
        SYSCALLS.iter().flat_map(|call| ["enter", "exit"].map(|way| format!("syscalls:sys_{way}_{call}")));
    for name in EVENTS.iter().map(ToString::to_string).chain(calls) {
        let path = format!("events/{}/format", name.replace(':', "/"));
        match fs::read(tracefs.join(&path)) {
            Ok(bytes) => put(&format!("sys/kernel/tracing/{path}"), &bytes)?,
            Err(e) => eprintln!("{name}: {e}"),
        }
    }
    freeze_symbols(facts, root, out)?;
    for device in facts.perf_devices() {
        let dir = format!("sys/bus/event_source/devices/{device}");
        put(&format!("{dir}/type"), &fs::read(root.join(&dir).join("type"))?)?;
        for entry in fs::read_dir(root.join(&dir).join("format")).into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| "a format that is no text")?;
            put(&format!("{dir}/format/{name}"), &fs::read(entry.path())?)?;
        }
    }
    let release = facts.release().unwrap_or_default();
    put("proc/sys/kernel/osrelease", format!("{release}\n").as_bytes())
}

fn put(out: &Path, path: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let path = out.join(path);
    fs::create_dir_all(path.parent().ok_or("no directory")?)?;
    Ok(fs::write(path, bytes)?)
}

fn freeze_symbols(facts: &KernelFacts, root: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let wanted: Vec<Glob> = SYMBOLS.iter().map(|p| Glob::new(p)).collect();
    let is_wanted = |name: &str| wanted.iter().any(|g| g.is_match(name));
    let text = fs::read_to_string(root.join("proc/kallsyms"))?;
    let lines: Vec<&str> =
        text.lines().filter(|l| l.split_ascii_whitespace().nth(2).is_some_and(is_wanted)).collect();
    put(out, "proc/kallsyms", (lines.join("\n") + "\n").as_bytes())?;
    let names: BTreeSet<String> = facts
        .kernel_functions()?
        .iter()
        .filter(|f| is_wanted(&f.name))
        .map(|f| match &f.module {
            Some(module) => format!("{} [{module}]\n", f.name),
            None => format!("{}\n", f.name),
        })
        .collect();
    eprintln!("{} symbols, {} functions", lines.len(), names.len());
    put(
        out,
        "sys/kernel/tracing/available_filter_functions",
        names.into_iter().collect::<String>().as_bytes(),
    )
}
