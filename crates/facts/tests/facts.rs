//! Frozen kernels give the facts they should, and the BTF reader agrees with other readers.

mod bpftool;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use strix_facts::{Arch, Btf, BtfKind, BtfType, FactsError, Features, FieldKind, Glob, KernelFacts, TypeId};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/facts").join(name)
}

fn frozen() -> KernelFacts {
    KernelFacts::at(&fixture("6.18-x86_64")).with_arch(Arch::X86_64)
}

/// A directory of this test's own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("strix-facts-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("made");
        Self(path)
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, bytes).expect("written");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn features_of_five_kernels() {
    // What each kernel lacks; mainline history and the kernels' configurations are the oracle.
    let lacks: [(&str, &[&str]); 5] = [
        (
            "5.10-x86_64",
            &[
                "module_btf",
                "attach_cookie",
                "perf_link",
                "raw_tp_cookie",
                "tracing_cookie",
                "kprobe_multi",
                "kprobe_session",
                "uprobe_multi",
                "uprobe_session",
                "bpf_loop",
                "for_each_map_elem",
                "iter_num",
                "atomics_fetch",
                "get_func_ip",
                "get_attach_cookie",
                "get_func_arg",
                "ktime_get_tai_ns",
                "map_lookup_percpu_elem",
                "strncmp",
                "task_pt_regs",
                "get_current_task_btf",
                "path_d_path",
            ],
        ),
        // Debian builds this one without CONFIG_FPROBE.
        (
            "6.1-x86_64",
            &[
                "raw_tp_cookie",
                "kprobe_multi",
                "kprobe_session",
                "uprobe_multi",
                "uprobe_session",
                "iter_num",
                "path_d_path",
            ],
        ),
        ("6.12-x86_64", &["uprobe_session"]),
        ("6.18-x86_64", &["module_btf", "kprobe_multi", "kprobe_session", "hardware_pmu"]),
        ("7.2-x86_64", &[]),
    ];
    let devices = ["kprobes", "uprobes", "uprobe_ref_ctr", "hardware_pmu"];
    for (name, lacks) in lacks {
        let facts = KernelFacts::at(&fixture(name));
        for feature in facts.features().list() {
            // Only one fixture has sysfs.
            if name != "6.18-x86_64" && devices.contains(&feature.name) {
                continue;
            }
            assert_eq!(feature.present, !lacks.contains(&feature.name), "{} of {name}", feature.name);
        }
    }
}

#[test]
fn features_by_name() {
    let mut features = Features::default();
    assert_eq!(features.by_name("kprobe_multi"), Some(false));
    assert!(features.set("kprobe_multi", true));
    assert!(features.kprobe_multi);
    assert_eq!(features.by_name("kprobe_multi"), Some(true));
    assert!(!features.set("warp_drive", true));
    assert_eq!(features.by_name("warp_drive"), None);
    assert!(KernelFacts::at(Path::new("/no/such/root")).with_features(features).features().kprobe_multi);
}

#[test]
fn features_without_type_information() {
    let scratch = Scratch::new("nobtf");
    scratch.put(
        "proc/kallsyms",
        "ffffffff81000000 T bpf_loop\nffffffff81000010 t bpf_get_attach_cookie_trace\n\
         ffffffff81000020 T bpf_ringbuf_reserve\nffffffff81000030 t bpf_perf_link_release\n",
    );
    scratch.put("sys/bus/event_source/devices/kprobe/type", "6\n");
    scratch.put("sys/bus/event_source/devices/cpu_core/type", "4\n");
    let facts = KernelFacts::at(&scratch.0);
    assert!(matches!(facts.btf(), Err(FactsError::Missing { .. })));
    let features = facts.features();
    for name in ["bpf_loop", "get_attach_cookie", "attach_cookie", "ringbuf", "kprobes", "hardware_pmu"] {
        assert_eq!(features.by_name(name), Some(true), "{name}");
    }
    for name in ["btf", "fentry", "tp_btf", "strncmp", "kprobe_multi", "uprobes"] {
        assert_eq!(features.by_name(name), Some(false), "{name}");
    }
}

#[test]
fn every_field_that_the_scripts_use() {
    let facts = frozen();
    let uses = [
        ("syscalls:sys_enter_execve", "filename"),
        ("raw_syscalls:sys_enter", "id"),
        ("syscalls:sys_exit_read", "ret"),
        ("syscalls:sys_enter_openat", "filename"),
        ("sched:sched_waking", "pid"),
        ("sched:sched_switch", "next_pid"),
        ("kmem:kmalloc", "bytes_alloc"),
        ("block:block_rq_issue", "sector"),
        ("block:block_rq_complete", "dev"),
        ("tcp:tcp_retransmit_skb", "saddr"),
        ("net:net_dev_xmit", "len"),
        ("vmscan:mm_vmscan_direct_reclaim_begin", "order"),
        ("vmscan:mm_vmscan_direct_reclaim_end", "nr_reclaimed"),
        ("writeback:writeback_pages_written", "pages"),
        ("skb:kfree_skb", "location"),
        ("signal:signal_generate", "sig"),
        ("irq:softirq_entry", "vec"),
    ];
    for (name, field) in uses {
        let (category, event) = name.split_once(':').expect("two parts");
        let format = facts.tracepoint(category, event).expect("readable");
        let format = format.unwrap_or_else(|| panic!("no {name}"));
        assert!(format.field(field).is_some(), "{name} has no {field}");
        assert!(format.field("common_pid").is_some_and(|f| f.common));
    }
    let switch = facts.tracepoint("sched", "sched_switch").expect("readable").expect("there");
    let comm = switch.field("prev_comm").expect("there");
    assert_eq!((comm.kind, comm.offset), (FieldKind::Array { len: 16, elem_size: 1 }, 8));
    let xmit = facts.tracepoint("net", "net_dev_xmit").expect("readable").expect("there");
    assert_eq!(xmit.field("name").map(|f| f.kind), Some(FieldKind::DataLoc));
    assert_eq!(facts.tracepoint("sched", "no_such").expect("readable"), None);
    assert_eq!(facts.tracepoint("..", "x").expect("refused"), None);
}

#[test]
fn walks_from_a_task_to_its_program() {
    let facts = frozen();
    let btf = facts.btf().expect("there");
    let mut at = btf.find(BtfKind::Struct, "task_struct").expect("there");
    for step in ["mm", "exe_file", "f_path", "dentry", "d_name", "name"] {
        let member = btf.member(at, step).unwrap_or_else(|| panic!("no {step} in {}", btf.type_name(at)));
        at = btf.resolve(member.ty);
        if let Some(BtfType::Ptr(to)) = btf.get(at) {
            at = btf.resolve(to);
        }
    }
    assert!(matches!(btf.get(at), Some(BtfType::Int { size: 1, is_char: true, .. })));
    for (name, member) in [
        ("sock", "__sk_common"),
        ("inet_sock", "inet_sport"),
        ("sk_buff", "len"),
        ("request", "__sector"),
        ("bio", "bi_iter"),
        ("linux_binprm", "filename"),
        ("cred", "uid"),
        ("nsproxy", "pid_ns_for_children"),
        ("signal_struct", "group_exit_code"),
        ("pt_regs", "di"),
        ("css_set", "dfl_cgrp"),
    ] {
        let id = btf.find(BtfKind::Struct, name).unwrap_or_else(|| panic!("no {name}"));
        assert!(btf.member(id, member).is_some(), "{name} has no {member}");
    }
}

#[test]
fn functions_with_their_parameters() {
    let facts = frozen();
    let btf = facts.btf().expect("there");
    let connect = btf.function("tcp_v4_connect").expect("there");
    let params: Vec<String> = connect.params.iter().map(|p| btf.declaration(p.ty, &p.name)).collect();
    assert_eq!(params[0], "struct sock *sk");
    assert_eq!(params[2], "int addr_len");
    assert_eq!(btf.type_name(connect.ret), "int");
    for name in ["vfs_read", "vfs_write", "vfs_open", "tcp_sendmsg", "do_sys_openat2", "tcp_connect"] {
        assert!(btf.function(name).is_some_and(|f| !f.params.is_empty()), "{name}");
    }
    let switch = btf.find(BtfKind::Typedef, "btf_trace_sched_switch").expect("there");
    let args = btf.prototype(switch).expect("a pointer to a function");
    assert_eq!(btf.type_name(args.params[2].ty), "struct task_struct *");
}

#[test]
fn lists_of_probes() {
    let facts = frozen();
    let tracepoints = facts.tracepoints().expect("readable");
    assert!(tracepoints.len() > 2000 && tracepoints.is_sorted());
    assert!(tracepoints.iter().any(|t| t.to_string() == "sched:sched_switch"));
    let raw = facts.raw_tracepoints().expect("there");
    for name in ["sched_switch", "sched_waking", "sys_enter", "sys_exit", "kfree_skb"] {
        assert!(raw.iter().any(|r| r == name), "{name}");
    }
    let functions = facts.kernel_functions().expect("readable");
    assert!(functions.is_sorted());
    assert!(functions.iter().any(|f| f.name == "vfs_read" && f.module.is_none()));
    let vfs = facts.kernel_functions_like(&Glob::new("vfs_*")).expect("readable");
    assert!(vfs.len() > 30 && vfs.iter().all(|f| functions.contains(f) && f.name.starts_with("vfs_")));
    // Known to the type information; only in the list; nowhere.
    for (name, there) in [("tcp_v4_connect", true), ("vfs_statx", true), ("vfs_statxx", false)] {
        assert_eq!(facts.has_kernel_function(name).expect("readable"), there, "{name}");
    }
    assert!(!functions.iter().any(|f| f.name.starts_with("__pfx_") || f.name.ends_with(".cold")));
    assert!(facts.kernel_symbol("vfs_read").expect("readable").is_some_and(|a| a > 1 << 63));
    assert_eq!(facts.kernel_symbol("no_such_symbol").expect("readable"), None);
}

#[test]
fn every_syscall_event_has_a_number_of_its_own() {
    let facts = frozen();
    let mut seen: HashMap<(bool, u32), &str> = HashMap::new();
    let mut count = 0;
    for t in facts.tracepoints().expect("readable").iter().filter(|t| t.category == "syscalls") {
        let nr = facts.syscall_event_number(&t.event).unwrap_or_else(|| panic!("{} has no number", t.event));
        let other = seen.insert((t.event.starts_with("sys_enter_"), nr), &t.event);
        assert_eq!(other, None, "{} has the number of another", t.event);
        assert!(facts.syscall_name(nr).is_some());
        count += 1;
    }
    assert!(count > 600);
    assert_eq!(facts.syscall_number("openat"), Some(257));
    assert_eq!(facts.with_arch(Arch::Aarch64).syscall_number("openat"), Some(56));
}

#[test]
fn functions_without_the_function_tracer() {
    let scratch = Scratch::new("symbols");
    scratch.put("sys/kernel/tracing/available_events", "sched:sched_switch\nbroken\n");
    scratch.put(
        "proc/kallsyms",
        "ffffffff81000000 T vfs_read\nffffffff81000010 t __pfx_vfs_read\nffffffff81000020 D jiffies\n\
         ffffffff81000030 T __noinstr_text_start\nffffffff81000034 t no_probe\nffffffff81000040 T __noinstr_text_end\n\
         ffffffffc0000000 t ext4_read\t[ext4]\n",
    );
    let facts = KernelFacts::at(&scratch.0);
    let names: Vec<_> = facts
        .kernel_functions()
        .expect("readable")
        .iter()
        .map(|f| (f.name.as_str(), f.module.as_deref()))
        .collect();
    assert_eq!(names, [("ext4_read", Some("ext4")), ("vfs_read", None)]);
    assert!(facts.has_kernel_function("ext4_read").expect("readable"));
    assert!(!facts.has_kernel_function("jiffies").expect("readable"));
    assert_eq!(facts.tracepoints().expect("readable").len(), 1);
}

#[test]
fn hidden_addresses_name_the_sysctl() {
    let scratch = Scratch::new("hidden");
    scratch.put("proc/kallsyms", "0000000000000000 T vfs_read\n0000000000000000 T vfs_write\n");
    let facts = KernelFacts::at(&scratch.0);
    let error = facts.kernel_symbol("vfs_read").expect_err("hidden");
    assert!(matches!(error, FactsError::Restricted { .. }));
    assert!(error.to_string().contains("kptr_restrict"), "{error}");
    assert_eq!(facts.kernel_functions().expect("names are not hidden").len(), 2);
}

#[test]
fn what_is_not_there_says_what_to_do() {
    let facts = KernelFacts::at(Path::new("/no/such/root"));
    for (error, remedy) in [
        (facts.btf().expect_err("nothing there"), "CONFIG_DEBUG_INFO_BTF"),
        (facts.tracefs().expect_err("nothing there"), "mount -t tracefs"),
        (facts.tracepoints().expect_err("nothing there"), "mount -t tracefs"),
        (facts.kernel_functions().expect_err("nothing there"), "CONFIG_KALLSYMS"),
        (facts.module_btf("ext4").expect_err("nothing there"), "CONFIG_DEBUG_INFO_BTF"),
        (facts.module_btf("../vmlinux").expect_err("no module"), "check the module's name"),
    ] {
        let text = error.to_string();
        assert!(text.contains(remedy), "{text}");
        assert!(!text.ends_with('.'));
    }
    assert!(!facts.has_config());
}

#[test]
fn configuration_by_release() {
    let scratch = Scratch::new("config");
    scratch.put("proc/sys/kernel/osrelease", "6.1.0-test\n");
    scratch.put("boot/config-6.1.0-test", "CONFIG_KPROBES=y\n# CONFIG_FPROBE is not set\n");
    let facts = KernelFacts::at(&scratch.0);
    assert_eq!(facts.release().as_deref(), Some("6.1.0-test"));
    assert_eq!(facts.config("KPROBES"), Some("y"));
    assert_eq!(facts.config("CONFIG_FPROBE"), None);
    assert!(facts.has_config());
}

#[test]
fn agrees_with_aya_obj_on_every_name() {
    use aya_obj::btf::{Btf as AyaBtf, BtfKind as AyaKind};
    let bytes = fs::read(fixture("6.18-x86_64/sys/kernel/btf/vmlinux")).expect("there");
    let aya = AyaBtf::parse(&bytes, object::Endianness::Little).expect("parses");
    let btf = Btf::parse(bytes, None).expect("parses");
    let mut compared = 0;
    for id in btf.own_ids() {
        let kinds = match btf.kind(id) {
            Some(BtfKind::Struct) => (BtfKind::Struct, AyaKind::Struct),
            Some(BtfKind::Union) => (BtfKind::Union, AyaKind::Union),
            Some(BtfKind::Func) => (BtfKind::Func, AyaKind::Func),
            Some(BtfKind::Typedef) => (BtfKind::Typedef, AyaKind::Typedef),
            Some(BtfKind::Int) => (BtfKind::Int, AyaKind::Int),
            _ => continue,
        };
        let name = btf.name(id);
        if name.is_empty() {
            continue;
        }
        let theirs = aya.id_by_type_name_kind(name, kinds.1).expect("there too");
        assert_eq!(btf.find(kinds.0, name), Some(TypeId(theirs)), "{name}");
        compared += 1;
    }
    assert!(compared > 500, "only {compared} names");
}

#[test]
fn finds_the_libraries_of_this_machine() {
    let facts = KernelFacts::live();
    let shell = facts.resolve_path("sh");
    assert_eq!(shell.len(), 1, "no sh in PATH");
    let binary = facts.binary(&shell[0]).expect("an ELF file");
    assert!(binary.file_offset(0).is_some());
    let Some(libc) = facts.resolve_path("libc").into_iter().next() else {
        eprintln!("skipped finds_the_libraries_of_this_machine: no libc.so.6");
        return;
    };
    let binary = facts.binary(&libc).expect("an ELF file");
    let malloc = binary.find("malloc").expect("libc has malloc");
    assert_eq!(binary.address(malloc.file_offset), Some(malloc.address));
    assert!(!malloc.is_old_version && !malloc.is_ifunc);
    assert!(binary.find("strlen").is_some_and(|f| f.is_ifunc));
    assert!(std::sync::Arc::ptr_eq(&binary, &facts.binary(&libc).expect("known")));
    assert!(facts.binary(&env::current_dir().expect("known")).is_err());
}
