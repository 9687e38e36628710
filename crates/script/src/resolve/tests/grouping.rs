//! Which attach points share a program.

use strix_model::{AttachPoint, ProgramKind};
use strix_syntax::ast::Script;

use super::super::testing::*;
use crate::Options;
use crate::hir::Context;
use crate::types::{FieldLayout, Space, Type};

fn args(name: &str) -> strix_syntax::ast::Stmt {
    eval(call("print", vec![field(ident("args"), name)]))
}

fn count_by(key: &str) -> strix_syntax::ast::Stmt {
    assign(entry("x", vec![ident(key)]), call("count", Vec::new()))
}

#[test]
fn a_tracepoint_that_is_not_looked_at_is_raw() {
    let run = Run::one("tracepoint:sched:sched_switch", vec![count_by("comm")]);
    let instance = run.instance();
    assert_eq!(instance.kind, ProgramKind::RawTracepoint);
    assert_eq!(instance.context, Context::RawTracepoint { args: None, btf: false });
    assert_eq!(run.sites(instance), ["tracepoint:sched:sched_switch"]);
    let raw = AttachPoint::RawTracepoint { module: None, event: "sched_switch".into() };
    assert_eq!(instance.sites[0].point, raw);
    // One without a raw one is itself.
    let run = Run::one("tracepoint:syscalls:sys_enter_read", vec![count_by("comm")]);
    assert_eq!(run.instance().kind, ProgramKind::Tracepoint);
}

#[test]
fn tracepoint_fields() {
    let run = Run::one("tracepoint:sched:sched_switch", vec![args("next_pid")]);
    let Context::Tracepoint { args: record } = run.instance().context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    let next = fields.iter().find(|f| f.name == "next_pid").unwrap();
    assert_eq!(next.ty, Type::Int { size: 4, signed: true });
    let comm = fields.iter().find(|f| f.name == "prev_comm").unwrap();
    let char_type = Box::new(Type::Int { size: 1, signed: true });
    assert_eq!(comm.ty, Type::Array { element: char_type, len: 16 });
    let run = Run::one("t:net:net_dev_xmit", vec![args("name")]);
    let Context::Tracepoint { args: record } = run.instance().context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    assert_eq!(fields.iter().find(|f| f.name == "name").unwrap().layout, FieldLayout::DataLoc);
    let run = Run::one("t:syscalls:sys_enter_openat", vec![args("filename")]);
    let Context::Tracepoint { args: record } = run.instance().context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    let filename = fields.iter().find(|f| f.name == "filename").unwrap();
    assert!(matches!(filename.ty, Type::Pointer { space: Space::User, .. }), "{filename:?}");
}

#[test]
fn definitions_are_looked_through() {
    let c_items = vec![c_define("A", ident("B")), c_define("B", field(ident("args"), "next_pid"))];
    let probes = vec![probe("t:sched:sched_switch", vec![eval(call("print", vec![ident("A")]))])];
    let run = Run::of(&Script { c_items, probes, ..Script::default() }, &facts(), &Options::default());
    assert_eq!(run.instance().kind, ProgramKind::Tracepoint);
}

#[test]
fn records_that_agree_share() {
    let both = "t:sched:sched_wakeup,t:sched:sched_waking";
    let run = Run::one(both, vec![args("pid")]);
    assert_eq!(run.instance().sites.len(), 2);
    // `pid` is somewhere else in sched_process_exit or not: whatever is read decides.
    let run = Run::one("t:sched:sched_switch,t:sched:sched_waking", vec![args("next_pid")]);
    assert_eq!(run.hir.instances.len(), 2);
}

#[test]
fn many_calls_by_one_program() {
    let run = Run::one("tracepoint:syscalls:sys_enter_*", vec![count_by("probe")]);
    let instance = run.instance();
    let Context::Syscalls { enter: true, args: None, filter: false, btf: true } = instance.context else {
        panic!("{:?}", instance.context);
    };
    assert!(matches!(instance.kind, ProgramKind::BtfTracepoint { .. }));
    assert!(instance.sites.len() > 300);
    let read = run.sites(instance).iter().position(|n| *n == "tracepoint:syscalls:sys_enter_read").unwrap();
    assert_eq!(instance.sites[read].syscall, Some(0));
    let stat = run.sites(instance).iter().position(|n| n.ends_with(":sys_enter_newfstat")).unwrap();
    assert_eq!(instance.sites[stat].syscall, Some(5));
    // Two unread ones already: a filter on the number.
    let run = Run::one("t:syscalls:sys_exit_read,t:syscalls:sys_exit_write", vec![count_by("comm")]);
    let Context::Syscalls { enter: false, filter: true, .. } = run.instance().context else { panic!() };
}

#[test]
fn fields_of_many_calls() {
    let calls = ["read", "write", "openat", "close", "futex", "mmap"];
    let exits: Vec<String> = calls.iter().map(|c| format!("t:syscalls:sys_exit_{c}")).collect();
    let run = Run::one(&exits.join(","), vec![args("ret")]);
    let Context::Syscalls { enter: false, args: Some(record), filter: true, .. } = run.instance().context
    else {
        panic!("{:?}", run.hir.instances);
    };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    assert_eq!((fields[0].name.as_str(), fields[0].layout.clone()), ("ret", FieldLayout::SyscallRet));
    // read and write have `fd` first; of the others some have it elsewhere or not at all.
    let enters: Vec<String> = calls.iter().map(|c| format!("t:syscalls:sys_enter_{c}")).collect();
    let run = Run::one(&enters.join(","), vec![args("fd")]);
    let shared: Vec<_> =
        run.hir.instances.iter().filter(|i| matches!(i.context, Context::Syscalls { .. })).collect();
    assert_eq!(shared.len(), 1, "{:?}", run.hir.instances);
    assert!(run.sites(shared[0]).contains(&"tracepoint:syscalls:sys_enter_read"));
    let Context::Syscalls { args: Some(record), .. } = shared[0].context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    assert_eq!(fields[0].layout, FieldLayout::SyscallArg(0));
    // The record's own fields are only in the record.
    let run = Run::one(&enters.join(","), vec![args("__syscall_nr")]);
    assert!(run.hir.instances.iter().all(|i| i.kind == ProgramKind::Tracepoint));
    // Few with fields stay what they are.
    let run = Run::one(&exits[..3].join(","), vec![args("ret")]);
    assert_eq!(run.instance().kind, ProgramKind::Tracepoint);
}

#[test]
fn raw_tracepoint_arguments() {
    let run = Run::one("rt:sched_switch", vec![args("prev")]);
    let Context::RawTracepoint { args: Some(record), btf: true } = run.instance().context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    assert_eq!((fields[0].name.as_str(), fields[1].name.as_str()), ("preempt", "prev"));
    assert_eq!(fields[1].offset, 8);
    let run = Run::one("rt:sched_switch", vec![eval(call("print", vec![ident("arg1")]))]);
    assert_eq!(run.instance().kind, ProgramKind::RawTracepoint);
    let run = Run::one("rt:sched_switch", vec![eval(call("print", vec![ident("arg9")]))]);
    assert!(run.has("there is no arg9: the probe has 4 arguments"), "{:?}", run.said);
}

#[test]
fn functions() {
    let run = Run::one("kprobe:vfs_*", vec![count_by("func")]);
    assert_eq!(run.instance().kind, ProgramKind::KprobeMulti { ret: false });
    let run = Run::one("kprobe:vfs_read", vec![count_by("comm")]);
    assert_eq!(run.instance().kind, ProgramKind::Kprobe);
    let run = Run::one("fexit:vfs_read,fexit:vfs_write", vec![eval(call("print", vec![ident("retval")]))]);
    assert_eq!(run.hir.instances.len(), 2);
    let Context::Fexit { params: 4, ref ret, .. } = run.hir.instances[0].context else { panic!() };
    assert_eq!(*ret, Type::Int { size: 8, signed: true });
    let run = Run::one("fentry:vfs_read", vec![args("file")]);
    let Context::Fentry { args: record, .. } = run.instance().context else { panic!() };
    let fields = run.hir.types.record(record).fields.as_ref().unwrap();
    let Type::Pointer { to, space: Space::Kernel } = &fields[0].ty else { panic!("{fields:?}") };
    let Type::Record(file) = **to else { panic!() };
    assert_eq!(run.hir.types.record(file).name, "struct file");
}

#[test]
fn without_cookies_names_need_programs() {
    let mut bare = features();
    for name in ["attach_cookie", "raw_tp_cookie", "kprobe_multi"] {
        bare.set(name, false);
    }
    let facts = facts().with_features(bare);
    let go = |attach: &str, key: &str| {
        let script = Script { probes: vec![probe(attach, vec![count_by(key)])], ..Script::default() };
        Run::of(&script, &facts, &Options::default()).hir.instances.len()
    };
    assert_eq!(go("kprobe:vfs_read,kprobe:vfs_write", "probe"), 2);
    assert_eq!(go("kprobe:vfs_read,kprobe:vfs_write", "comm"), 1);
    assert_eq!(go("t:sched:sched_switch,t:sched:sched_waking", "probe"), 2);
    assert_eq!(go("profile:hz:99,profile:hz:49", "probe"), 2);
    assert_eq!(go("profile:hz:99,profile:hz:49", "pid"), 1);
}

#[test]
fn one_process_only() {
    let options = Options { pid: Some(42), ..Options::default() };
    let go = |attach: &str| {
        let script = Script { probes: vec![probe(attach, Vec::new())], ..Script::default() };
        let run = Run::of(&script, &facts(), &options);
        run.instance().pid_filter
    };
    for attach in ["kprobe:vfs_read", "t:sched:sched_switch", "profile:hz:99", "software:cs:", "f:vfs_read"] {
        assert_eq!(go(attach), Some(42), "{attach}");
    }
    for attach in ["begin", "end", "interval:s:1"] {
        assert_eq!(go(attach), None, "{attach}");
    }
}
