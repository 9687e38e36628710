//! `-l` and `-lv`.

use strix_model::Diagnostics;
use strix_syntax::ast::Script;

use super::super::list::{ListError, Listed, list, list_probes};
use super::super::testing::{facts, probe};
use crate::Options;

fn names(pattern: &str) -> Vec<String> {
    list(pattern, &facts(), None, false).unwrap().into_iter().map(|l| l.name).collect()
}

fn one(pattern: &str) -> Listed {
    let mut all = list(pattern, &facts(), None, true).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn patterns() {
    let all = names("tracepoint:syscalls:*");
    assert!(all.len() > 600 && all.contains(&"tracepoint:syscalls:sys_enter_read".to_owned()));
    let tcp = names("kprobe:tcp_*");
    assert!(tcp.len() > 50 && tcp.iter().all(|n| n.starts_with("kprobe:tcp_")));
    let any = names("*sys_enter_open*");
    assert!(any.contains(&"tracepoint:syscalls:sys_enter_openat".to_owned()), "{any:?}");
    let everything = names("");
    for name in
        ["kprobe:vfs_read", "software:cpu-clock:", "hardware:cycles:", "tracepoint:sched:sched_switch"]
    {
        assert!(everything.contains(&name.to_owned()), "{name}");
    }
    assert_eq!(names("software:*fault*").len(), 6);
    assert!(names("kprobe:no_such_function").is_empty());
    assert!(matches!(list("nonsense:x", &facts(), None, false), Err(ListError::Pattern(_))));
    assert!(names("rawtracepoint:sched_*").contains(&"rawtracepoint:vmlinux:sched_switch".to_owned()));
}

#[test]
fn parameters_are_shown_as_in_c() {
    let openat = one("tracepoint:syscalls:sys_enter_openat");
    assert_eq!(
        openat.params,
        ["int __syscall_nr", "int dfd", "const char * filename", "int flags", "umode_t mode"]
    );
    let switch = one("tracepoint:sched:sched_switch");
    assert_eq!(switch.params[0], "char prev_comm[16]");
    assert_eq!(one("tracepoint:net:net_dev_xmit").params[3], "__data_loc char[] name");
    assert_eq!(one("fentry:vfs_read").params[0], "struct file * file");
    assert_eq!(one("fexit:vfs_read").params.last().unwrap(), "ssize_t retval");
    assert_eq!(one("rawtracepoint:vmlinux:sched_switch").params[0], "bool preempt");
}

#[test]
fn types_are_listed_with_their_definitions() {
    assert_eq!(names("struct qst*"), ["struct qstr"]);
    let qstr = one("struct qstr").name;
    assert!(qstr.starts_with("struct qstr {\n"), "{qstr}");
    assert!(qstr.contains("\n\tconst unsigned char *name;\n"), "{qstr}");
    assert!(qstr.ends_with("\n};"), "{qstr}");
    assert!(one("struct task_struct").name.contains("\n\tunsigned int sched_reset_on_fork: 1;\n"));
}

#[test]
fn probes_of_a_script() {
    let script = Script {
        probes: vec![probe("begin", Vec::new()), probe("k:vfs_read,s:cs:", Vec::new())],
        ..Script::default()
    };
    let mut diags = Diagnostics::default();
    let all = list_probes(&script, &facts(), &Options::default(), true, &mut diags);
    assert!(diags.is_empty());
    assert_eq!((all.len(), all[0].name.as_str()), (2, "kprobe:vfs_read"));
    assert_eq!(all[0].params[0], "struct file * file");
}
