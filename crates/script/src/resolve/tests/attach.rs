//! Which places attach points stand for, and what is said when there are none.

use strix_facts::KernelFacts;
use strix_model::{AttachPoint, Period};
use strix_syntax::ast::Script;

use super::super::testing::*;
use crate::Options;

fn names(attach: &str) -> Vec<String> {
    let run = Run::one(attach, Vec::new());
    assert!(!run.failed, "{attach}: {:?}", run.said);
    let mut names = run.hir.probe_names.clone();
    names.sort();
    names
}

fn said(attach: &str) -> String {
    let run = Run::one(attach, Vec::new());
    assert!(run.failed, "{attach}: {:?}", run.said);
    run.said.join(" / ")
}

#[test]
fn kernel_functions() {
    assert_eq!(names("kprobe:vfs_read"), ["kprobe:vfs_read"]);
    assert_eq!(names("K:vfs_read"), ["kprobe:vfs_read"]);
    assert_eq!(names("kr:vfs_read"), ["kretprobe:vfs_read"]);
    assert_eq!(names("kprobe:vfs_read+0x10"), ["kprobe:vfs_read+16"]);
    assert_eq!(names("kprobe:vmlinux:vfs_read"), ["kprobe:vmlinux:vfs_read"]);
    let wild = names("kprobe:vfs_*");
    assert!(wild.len() > 3 && wild.iter().all(|n| n.starts_with("kprobe:vfs_")), "{wild:?}");
    assert!(said("kprobe:vfs_raed").starts_with("no matches for kprobe vfs_raed | did you mean `vfs_read`?"));
    assert!(said("kprobe:zzz_*").starts_with("no matches for kprobe zzz_*"));
    assert_eq!(said("kretprobe:vfs_read+1"), "offset not allowed: a return has no place of its own");
    assert_eq!(said("kprobe:0xffffffff81000000"), "probing by address requires --unsafe");
    assert_eq!(said("kprobe"), "kprobe probe type requires 1 or 2 arguments, found 0");
    assert_eq!(
        said("kprobe:nosuchmod:f"),
        "specified module nosuchmod in probe kprobe:nosuchmod:f is not loaded"
    );
}

#[test]
fn addresses_need_unsafe_mode() {
    let script = Script { probes: vec![probe("kprobe:0x1000", Vec::new())], ..Script::default() };
    let options = Options { unsafe_mode: true, ..Options::default() };
    let run = Run::of(&script, &facts(), &options);
    assert_eq!(run.instance().sites[0].point, AttachPoint::KprobeAddress(0x1000));
}

#[test]
fn tracepoints() {
    assert_eq!(names("tracepoint:sched:sched_switch"), ["tracepoint:sched:sched_switch"]);
    assert_eq!(names("t:kmem:kmallo*"), ["tracepoint:kmem:kmalloc"]);
    assert!(names("t:*sched_switch").contains(&"tracepoint:sched:sched_switch".to_owned()));
    let all = names("t:sched:*");
    assert!(all.len() > 10 && all.iter().all(|n| n.starts_with("tracepoint:sched:")), "{all:?}");
    assert!(
        said("t:sched:sched_swich")
            .contains("tracepoint not found: sched:sched_swich | did you mean `sched:sched_switch`?")
    );
    assert!(said("t:syscall:sys_enter_openat").contains("did you mean `syscalls:sys_enter_openat`?"));
    assert!(said("tracepoint:sched").contains("tracepoint probe type requires 2 arguments, found 1"));
}

#[test]
fn raw_tracepoints() {
    assert_eq!(names("rt:sched_switch"), ["rawtracepoint:sched_switch"]);
    assert_eq!(names("rawtracepoint:vmlinux:sched_switch"), ["rawtracepoint:vmlinux:sched_switch"]);
    assert!(said("rt:sched_swtch").contains("did you mean `sched_switch`?"));
}

#[test]
fn functions_with_type_information() {
    assert_eq!(names("fentry:vfs_read"), ["fentry:vmlinux:vfs_read"]);
    assert_eq!(names("kretfunc:vfs_read"), ["fexit:vmlinux:vfs_read"]);
    let wild = names("f:vfs_*");
    assert!(wild.contains(&"fentry:vmlinux:vfs_write".to_owned()), "{wild:?}");
    assert!(said("fentry:vfs_raed").contains("did you mean `vfs_read`?"));
    assert!(
        said("fentry:nosuchmod:f").starts_with("no matches for fentry nosuchmod:f | module nosuchmod is not")
    );
    assert_eq!(said("fentry:bpf:prog"), "fentry:bpf probes are not supported yet");
}

#[test]
fn user_programs() {
    let facts = KernelFacts::live();
    let go = |attach: &str, pid: Option<u32>| {
        let script = Script { probes: vec![probe(attach, Vec::new())], ..Script::default() };
        Run::of(&script, &facts, &Options { pid, ..Options::default() })
    };
    let run = go("uprobe:/proc/self/exe:main", None);
    let AttachPoint::Uprobe { path, symbol, offset: 0, file_offset } = &run.instance().sites[0].point else {
        panic!("{:?}", run.hir.instances);
    };
    assert_eq!((path.as_str(), symbol.as_deref()), ("/proc/self/exe", Some("main")));
    assert_ne!(*file_offset, 0);
    let run = go("uprobe:/proc/self/exe:mian", None);
    assert!(run.has("no matches for uprobe /proc/self/exe:mian | did you mean `main`?"), "{:?}", run.said);
    let run = go("uprobe:/proc/self/exe:*strix_script*resolve*tests*attach*", None);
    assert!(!run.failed && run.hir.instances[0].sites.len() > 1, "{:?}", run.said);
    let run = go("uprobe:/nonexistent:f", None);
    assert!(run.has("uprobe target file '/nonexistent' does not exist"), "{:?}", run.said);
    let run = go("uprobe:main", None);
    assert!(
        run.has("uprobe probe type requires 2 or 3 arguments, found 1 | name the program"),
        "{:?}",
        run.said
    );
    let run = go("uprobe:main", Some(std::process::id()));
    assert!(run.sites(run.instance())[0].starts_with("uprobe:/proc/"));
    assert_eq!(run.instance().pid_filter, None);
    let run = go("uretprobe:/proc/self/exe:main+4", None);
    assert!(run.has("offset not allowed"), "{:?}", run.said);
    let run = go("uprobe:/proc/self/exe:main+99999999", None);
    assert!(run.has("offset 0x5f5e0ff is outside of main"), "{:?}", run.said);
    let run = go("uprobe:/proc/self/exe:1", None);
    assert!(run.has("address 0x1 is not in") || run.has("could not resolve address"), "{:?}", run.said);
    let run = go("uprobe:*:main", None);
    assert!(run.has("`*` for every running program"), "{:?}", run.said);
}

#[test]
fn demangled_names() {
    let facts = KernelFacts::live();
    let name = "strix_script::resolve::tests::attach::demangled_names";
    let script = Script {
        probes: vec![probe(&format!("u:/proc/self/exe:cpp:\"{name}\""), Vec::new())],
        ..Script::default()
    };
    let run = Run::of(&script, &facts, &Options::default());
    assert!(!run.failed, "{:?}", run.said);
    assert!(run.hir.probe_names[0].starts_with("uprobe:/proc/self/exe:cpp:_"), "{:?}", run.hir.probe_names);
}

#[test]
fn what_is_not_there_yet() {
    for (attach, provider) in [
        ("usdt:/bin/x:p", "usdt"),
        ("w:0x10:8:w", "watchpoint"),
        ("iter:task", "iter"),
        ("self:signal:SIGUSR1", "self"),
    ] {
        assert_eq!(said(attach), format!("{provider} probes are not supported yet"));
    }
    assert!(said("kporbe:f").starts_with("invalid probe type: kporbe | did you mean `kprobe`?"));
    // As perf and DTrace write it.
    assert!(said("syscalls:sys_enter_open").ends_with("written `tracepoint:syscalls:sys_enter_open`"));
    assert!(said("syscall::open:entry").ends_with("| write `tracepoint:syscalls:sys_enter_open`"));
    assert!(said("vfs_read").ends_with("are written `kprobe:vfs_read`"));
}

#[test]
fn wildcard_providers_and_names_of_ones_own() {
    let all = names("*:sched_switch*");
    assert!(all.contains(&"rawtracepoint:sched_switch".to_owned()), "{all:?}");
    let run = Run::one("mine=interval:s:1", Vec::new());
    assert_eq!(run.sites(run.instance()), ["mine"]);
    assert_eq!(run.instance().sites[0].point, AttachPoint::Interval(Period::Nanos(1_000_000_000)));
}

#[test]
fn missing_probes_by_policy() {
    use strix_syntax::ast::{ConfigEntry, ConfigValue, Name};
    let go = |policy: &str, attach: &str| {
        let key = Name { text: "missing_probes".into(), span: SPAN };
        let value = ConfigValue::Word(policy.into());
        let script = Script {
            config: vec![ConfigEntry { key, value, value_span: SPAN }],
            probes: vec![probe(attach, Vec::new())],
            ..Script::default()
        };
        Run::of(&script, &facts(), &Options::default())
    };
    let run = go("warn", "kprobe:vfs_raed,kprobe:vfs_read");
    assert!(!run.failed && run.has("no matches for kprobe vfs_raed, skipping"), "{:?}", run.said);
    assert_eq!(run.hir.probes[0].attach_points, 1);
    let run = go("error", "kprobe:vfs_read,kprobe:vfs_read.constprop.*");
    assert!(!run.failed && run.said.is_empty(), "{:?}", run.said);
    let run = go("ignore", "kprobe:vfs_raed");
    assert_eq!(run.said, ["nothing to attach to: no probe of the script has a match"]);
    let run = go("ignore", "kprobe:vfs_raed,kprobe:vfs_read");
    assert!(!run.failed && run.said.is_empty(), "{:?}", run.said);
    let run = go("warn", "kprobe:vfs_raed");
    assert!(run.has("probe has no valid attach points and is removed"), "{:?}", run.said);
}

#[test]
fn limits_and_repetitions() {
    let run = Run::one("kprobe:*", Vec::new());
    assert!(run.has("can't attach to "), "{:?}", run.said);
    let run = Run::one("kprobe:vfs_read,kprobe:vfs_rea*", Vec::new());
    assert!(run.has("kprobe:vfs_read is named twice and attached once"), "{:?}", run.said);
    let run = Run::one("k:vfs_read,", Vec::new());
    assert_eq!(run.instance().sites.len(), 1);
    let run = Run::one("begin,begin", Vec::new());
    assert_eq!(run.hir.instances.len(), 2);
}

proptest::proptest! {
    #[test]
    fn any_attach_point_is_answered(text in "(k|kr|f|t|rt|u|ur|i|p|s|h|[a-z*]{1,4}|\\PC{0,3}):?(\\PC|[a-z_:*+$\\[\\]0-9=\"]){0,14}") {
        let params = vec!["a:b".to_owned(), "$1".to_owned(), "*".to_owned()];
        let config = vec![("max_probes".to_owned(), "100000".to_owned())];
        let script = Script { probes: vec![probe(&text, Vec::new())], ..Script::default() };
        let run = Run::of(&script, &facts(), &Options { params, config, ..Options::default() });
        // Something is attached, or it is said why not.
        proptest::prop_assert!(run.failed || !run.hir.instances.is_empty(), "{text}: {:?}", run.said);
    }
}
