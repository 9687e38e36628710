//! The tests themselves.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use strix_core::{Child, EndReason, Error, LiveKernel, MapCell, Options, Outcome, Session};
use strix_facts::btf::{Btf, BtfKind};
use strix_model::{Aggregate, AttachPoint, Attachment, Period, Plan, ProgramKind, SoftwareEvent};
use strix_sys::{BpfIds, ids};

use crate::asm::Asm;
use crate::plans::{GETPPID, Times, plan, program, raw, tracepoint};
use crate::probed;

/// What a test needs of the kernel.
#[derive(Clone, Copy)]
pub enum Needs {
    /// Nothing that the oldest supported kernel lacks.
    Nothing,
    /// A kernel function, as a sign that it was built with what we want.
    Symbol(&'static str),
    /// Kernel code that may be patched: probes, and functions with types.
    Patching,
}

impl Needs {
    /// Why it cannot be had here.
    pub fn lacking(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Symbol(name) => {
                let symbols = std::fs::read_to_string("/proc/kallsyms").expect("root may read it");
                let found = symbols.lines().any(|line| line.split(' ').nth(2) == Some(name));
                (!found).then(|| format!("this kernel has no {name}"))
            }
            Self::Patching => {
                let there = Path::new("/sys/bus/event_source/devices/kprobe/type").exists();
                (!there).then(|| "this kernel has no kprobes".to_owned())
            }
        }
    }
}

const COOKIES: Needs = Needs::Symbol("bpf_get_attach_cookie_pe");
const UPROBE_MULTI: Needs = Needs::Symbol("bpf_uprobe_multi_link_attach");
const KPROBE_MULTI: Needs = Needs::Symbol("register_fprobe");

/// Every test, by name.
pub const ALL: &[(&str, Needs, fn())] = &[
    ("tracepoint_counts_exactly", Needs::Nothing, tracepoint_counts_exactly),
    ("raw_tracepoint_counts_exactly", Needs::Nothing, raw_tracepoint_counts_exactly),
    ("btf_tracepoint_counts_exactly", Needs::Nothing, btf_tracepoint_counts_exactly),
    ("user_probes_count_exactly", Needs::Nothing, user_probes_count_exactly),
    ("many_user_probes_count_exactly", UPROBE_MULTI, many_user_probes_count_exactly),
    ("kernel_probes_count_exactly", Needs::Patching, kernel_probes_count_exactly),
    ("many_kernel_probes_count_exactly", KPROBE_MULTI, many_kernel_probes_count_exactly),
    ("kernel_functions_count", Needs::Patching, kernel_functions_count),
    ("cookies_arrive", COOKIES, cookies_arrive),
    ("cookies_arrive_at_many", UPROBE_MULTI, cookies_arrive_at_many),
    ("programs_fire_in_declaration_order", Needs::Nothing, programs_fire_in_declaration_order),
    ("records_arrive_in_order", Needs::Nothing, records_arrive_in_order),
    ("a_flood_is_accounted_for_exactly", Needs::Nothing, a_flood_is_accounted_for_exactly),
    ("a_flood_does_not_hide_the_end", Needs::Nothing, a_flood_does_not_hide_the_end),
    ("the_exec_itself_is_traced", Needs::Nothing, the_exec_itself_is_traced),
    ("a_lone_event_is_seen_at_once", Needs::Nothing, a_lone_event_is_seen_at_once),
    ("a_quiet_session_uses_no_cpu", Needs::Nothing, a_quiet_session_uses_no_cpu),
    ("timers_keep_their_period", Needs::Nothing, timers_keep_their_period),
    ("counters_of_a_process_count", Needs::Nothing, counters_of_a_process_count),
    ("begin_and_end_run_once", Needs::Nothing, begin_and_end_run_once),
    ("a_rejection_names_the_instruction", Needs::Nothing, a_rejection_names_the_instruction),
    ("costs_and_logs_are_told", Needs::Nothing, costs_and_logs_are_told),
    ("many_tracepoints_end_quickly", COOKIES, many_tracepoints_end_quickly),
    ("an_interrupt_finishes_in_good_order", Needs::Nothing, an_interrupt_finishes_in_good_order),
    ("a_killed_session_leaves_nothing", Needs::Nothing, a_killed_session_leaves_nothing),
];

const N: u64 = 1000;

fn worker(calls: u64, pause_ms: u64) -> Child {
    let exe = std::env::current_exe().expect("this binary");
    let args = [exe.into_os_string(), "--work".into(), calls.to_string().into(), pause_ms.to_string().into()];
    Child::spawn(&args).expect("forked")
}

fn session(plan: Plan, options: Options) -> Session {
    let loaded = Session::load(Rc::new(LiveKernel), Arc::new(plan), options);
    loaded.unwrap_or_else(|error| match error {
        Error::Rejected { log, .. } => panic!("{log}"),
        other => panic!("{other}"),
    })
}

fn run(session: &mut Session) -> (Outcome, Times) {
    let report = session.attach().expect("attaches");
    assert!(report.missing.is_empty());
    let mut sink = Times::default();
    let outcome = session.run(&mut sink).expect("runs");
    (outcome, sink)
}

fn count(session: &Session) -> u64 {
    match session.maps().entry(0, &[]).expect("read") {
        Some(MapCell::Aggregate(Aggregate::Unsigned(n))) => n,
        None => 0,
        other => panic!("{other:?}"),
    }
}

/// Runs one program over a worker that makes `N` calls, and gives what it counted.
fn counted(kind: ProgramKind, point: AttachPoint, code: impl Fn(u32) -> Asm) -> u64 {
    let child = worker(N, 0);
    let code = code(child.pid());
    let plan = plan(vec![program(0, kind, point, 7, code)], 1 << 16);
    let mut session = session(plan, Options { child: Some(child), ..Options::default() });
    let (outcome, _) = run(&mut session);
    assert_eq!(outcome.reason, EndReason::ChildExit);
    assert!(outcome.child.is_some_and(|status| status.success()));
    count(&session)
}

fn btf() -> Btf {
    let bytes = std::fs::read("/sys/kernel/btf/vmlinux").expect("this kernel has BTF");
    Btf::parse(bytes, None).expect("BTF")
}

fn btf_tracepoint() -> ProgramKind {
    let btf_id = btf().find(BtfKind::Typedef, "btf_trace_sys_enter").expect("a tracepoint of every kernel").0;
    ProgramKind::BtfTracepoint { btf_id }
}

/// Where [`probed`] is in this binary's file.
fn user_point(ret: bool) -> AttachPoint {
    let address = probed as fn(u64) -> u64 as usize as u64;
    let maps = std::fs::read_to_string("/proc/self/maps").expect("ours");
    let file_offset = maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (start, end, offset) = (hex(start)?, hex(end)?, hex(fields.nth(1)?)?);
        (start..end).contains(&address).then(|| address - start + offset)
    });
    let file_offset = file_offset.expect("code is mapped");
    let path = std::env::current_exe().expect("this binary").to_string_lossy().into_owned();
    if ret {
        AttachPoint::Uretprobe { path, symbol: None, file_offset }
    } else {
        AttachPoint::Uprobe { path, symbol: None, offset: 0, file_offset }
    }
}

fn keep_context(code: Asm) -> Asm {
    code.op(0xbf, 6, 1, 0, 0)
}

fn tracepoint_counts_exactly() {
    let code = |pid| Asm::default().only(pid).count().end();
    assert_eq!(counted(ProgramKind::Tracepoint, tracepoint(), code), N);
}

fn raw_tracepoint_counts_exactly() {
    let code = |pid| Asm::default().only_syscall(GETPPID).only(pid).count().end();
    assert_eq!(counted(ProgramKind::RawTracepoint, raw(), code), N);
}

fn btf_tracepoint_counts_exactly() {
    let code = |pid| Asm::default().only_syscall(GETPPID).only(pid).count().end();
    assert_eq!(counted(btf_tracepoint(), raw(), code), N);
}

fn user_probes_count_exactly() {
    for (kind, ret) in [(ProgramKind::Uprobe, false), (ProgramKind::Uretprobe, true)] {
        let counted = counted(kind.clone(), user_point(ret), |_| Asm::default().count().end());
        assert_eq!(counted, N, "{kind:?}");
    }
}

fn many_user_probes_count_exactly() {
    for ret in [false, true] {
        let kind = ProgramKind::UprobeMulti { ret };
        assert_eq!(counted(kind, user_point(ret), |_| Asm::default().count().end()), N, "return: {ret}");
    }
}

const FUNCTION: &str = "__x64_sys_getppid";

fn kernel_point(ret: bool) -> AttachPoint {
    let function = FUNCTION.to_owned();
    if ret {
        AttachPoint::Kretprobe { module: None, function }
    } else {
        AttachPoint::Kprobe { module: None, function, offset: 0 }
    }
}

fn kernel_probes_count_exactly() {
    for (kind, ret) in [(ProgramKind::Kprobe, false), (ProgramKind::Kretprobe, true)] {
        let counted = counted(kind.clone(), kernel_point(ret), |pid| Asm::default().only(pid).count().end());
        assert_eq!(counted, N, "{kind:?}");
    }
    let gone = AttachPoint::Kprobe { module: None, function: "no_such_function".into(), offset: 0 };
    let plan = plan(vec![program(0, ProgramKind::Kprobe, gone, 0, Asm::default().count().end())], 1 << 16);
    let error = session(plan, Options::default()).attach().expect_err("there is none");
    assert!(matches!(error, Error::Attach { .. }), "{error}");
}

fn many_kernel_probes_count_exactly() {
    for ret in [false, true] {
        let kind = ProgramKind::KprobeMulti { ret };
        let counted = counted(kind, kernel_point(ret), |pid| Asm::default().only(pid).count().end());
        assert_eq!(counted, N, "return: {ret}");
    }
}

fn kernel_functions_count() {
    // Entries of system calls are not in every kernel's BTF; this one getppid(2) calls once, and few others do.
    const FUNCTION: &str = "__task_pid_nr_ns";
    let btf_id = btf().find(BtfKind::Func, FUNCTION).expect("a function of every kernel").0;
    let (module, function) = ("vmlinux".to_owned(), FUNCTION.to_owned());
    let entry = AttachPoint::Fentry { module: module.clone(), function: function.clone() };
    let exit = AttachPoint::Fexit { module, function };
    for (kind, point) in [
        (ProgramKind::Fentry { btf_id, module: None }, entry),
        (ProgramKind::Fexit { btf_id, module: None }, exit),
    ] {
        let counted = counted(kind.clone(), point, |pid| Asm::default().only(pid).count().end());
        assert!((N..N + 100).contains(&counted), "{kind:?}: {counted}");
    }
}

/// Runs a program that stores its cookie.
fn assert_cookie(kind: ProgramKind, point: AttachPoint) {
    let seen = counted(kind.clone(), point, |pid| keep_context(Asm::default()).only(pid).cookie().end());
    // Each CPU that ran it says 7.
    assert!(seen > 0 && seen.is_multiple_of(7), "{kind:?}: {seen}");
}

fn cookies_arrive() {
    assert_cookie(ProgramKind::Tracepoint, tracepoint());
    assert_cookie(ProgramKind::Uprobe, user_point(false));
}

fn cookies_arrive_at_many() {
    assert_cookie(ProgramKind::UprobeMulti { ret: false }, user_point(false));
}

/// Three programs at one place send their number: the order is that of the plan, whatever way the kernel keeps its lists.
fn programs_fire_in_declaration_order() {
    let mut kinds = vec![
        (ProgramKind::Tracepoint, tracepoint()),
        (ProgramKind::Uprobe, user_point(false)),
        (ProgramKind::Uretprobe, user_point(true)),
    ];
    if UPROBE_MULTI.lacking().is_none() {
        kinds.push((ProgramKind::UprobeMulti { ret: false }, user_point(false)));
    }
    if Needs::Patching.lacking().is_none() {
        kinds.push((ProgramKind::Kprobe, kernel_point(false)));
        kinds.push((ProgramKind::Kretprobe, kernel_point(true)));
    }
    for (kind, point) in kinds {
        let child = worker(3, 0);
        let numbered = |number: u32| {
            let code = Asm::default().only(child.pid()).send_number(number as i32).end();
            program(number, kind.clone(), point.clone(), 0, code)
        };
        let plan = plan((0..3).map(numbered).collect(), 1 << 16);
        let mut session = session(plan, Options { child: Some(child), ..Options::default() });
        let (_, sink) = run(&mut session);
        assert_eq!(sink.stamps, [0, 1, 2, 0, 1, 2, 0, 1, 2], "{kind:?}");
    }
}

fn sending(child: &Child) -> Asm {
    Asm::default().only_syscall(GETPPID).only(child.pid()).send(0).end()
}

fn records_arrive_in_order() {
    let child = worker(N, 0);
    let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, sending(&child))], 1 << 18);
    let mut session = session(plan, Options { child: Some(child), ..Options::default() });
    let (_, sink) = run(&mut session);
    assert_eq!(sink.stamps.len() as u64, N);
    assert!(sink.stamps.is_sorted());
    assert_eq!(session.losses().expect("read")[0].dropped, 0);
}

fn a_flood_is_accounted_for_exactly() {
    const FLOOD: u64 = 400_000;
    for (ring, may_lose) in [(1 << 24, false), (1 << 12, true)] {
        let child = worker(FLOOD, 0);
        let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, sending(&child))], ring);
        let mut session = session(plan, Options { child: Some(child), ..Options::default() });
        let (_, sink) = run(&mut session);
        let dropped = session.losses().expect("read")[0].dropped;
        println!(
            "  ring {ring}: {} records in {} batches, {dropped} dropped",
            sink.stamps.len(),
            sink.batches
        );
        assert_eq!(sink.stamps.len() as u64 + dropped, FLOOD);
        assert_eq!(dropped > 0, may_lose);
    }
}

fn a_flood_does_not_hide_the_end() {
    let child = worker(u64::MAX >> 1, 0);
    let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, sending(&child))], 1 << 22);
    let duration = Some(Duration::from_millis(500));
    let mut session = session(plan, Options { child: Some(child), duration, ..Options::default() });
    let before = Instant::now();
    let (outcome, sink) = run(&mut session);
    assert_eq!((outcome.reason, outcome.child), (EndReason::Duration, None));
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
    assert!(sink.stamps.len() > 1000);
}

fn the_exec_itself_is_traced() {
    let point = AttachPoint::Tracepoint { category: "syscalls".into(), event: "sys_enter_execve".into() };
    assert_eq!(counted(ProgramKind::Tracepoint, point, |pid| Asm::default().only(pid).count().end()), 1);
}

fn a_lone_event_is_seen_at_once() {
    let child = worker(1, 400);
    let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, sending(&child))], 1 << 16);
    let mut session = session(plan, Options { child: Some(child), ..Options::default() });
    let (_, sink) = run(&mut session);
    assert_eq!(sink.stamps.len(), 1);
    println!("  seen after {} µs", sink.latest_ns / 1000);
    // A reader that polled would need up to 10 ms; this machine is shared, so leave it some room.
    assert!(sink.latest_ns < 8_000_000, "{} ns", sink.latest_ns);
}

fn a_quiet_session_uses_no_cpu() {
    let on_cpu = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("ours");
        text.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("nanoseconds")
    };
    // Attached, but to a process that is not there.
    let code = Asm::default().only_syscall(GETPPID).only(u32::MAX >> 1).send(0).end();
    let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, code)], 1 << 16);
    let mut session =
        session(plan, Options { duration: Some(Duration::from_millis(1500)), ..Options::default() });
    session.attach().expect("attaches");
    let before = on_cpu();
    let outcome = session.run(&mut Times::default()).expect("runs");
    let used = on_cpu() - before;
    println!("  {} µs in 1.5 s", used / 1000);
    assert_eq!(outcome.reason, EndReason::Duration);
    assert!(used < 15_000_000, "{used} ns");
}

fn timers_keep_their_period() {
    let ticks = |point| {
        let code = Asm::default().send(0).end();
        let plan = plan(vec![program(0, ProgramKind::PerfEvent, point, 0, code)], 1 << 16);
        let options = Options { duration: Some(Duration::from_millis(1000)), ..Options::default() };
        run(&mut session(plan, options)).1.stamps
    };
    let interval = ticks(AttachPoint::Interval(Period::Nanos(20_000_000)));
    // A machine that stands still for longer than a period loses the ticks of that time, so look at most of them.
    assert!((25..=51).contains(&interval.len()), "{} ticks of 20 ms in 1 s", interval.len());
    let mut periods: Vec<u64> = interval.windows(2).map(|pair| pair[1] - pair[0]).collect();
    periods.sort_unstable();
    let median = periods[periods.len() / 2];
    assert!(median.abs_diff(20_000_000) < 1_000_000, "median period {median} ns");
    // A CPU that idles need not be sampled.
    let cpus = strix_sys::online_cpus().expect("sysfs").len();
    let profile = ticks(AttachPoint::Profile(Period::Hertz(50))).len();
    assert!((25..=51 * cpus).contains(&profile), "{profile} samples at 50 Hz on {cpus} CPUs in 1 s");
}

fn counters_of_a_process_count() {
    let point = AttachPoint::Software { event: SoftwareEvent::PageFaults, period: 1 };
    let faults = counted(ProgramKind::PerfEvent, point, |pid| Asm::default().only(pid).count().end());
    assert!(faults > 10, "{faults} page faults of a process that starts");
}

fn begin_and_end_run_once() {
    let by_hand = |probe, point| program(probe, ProgramKind::TestRun, point, 0, Asm::default().send(0).end());
    let mut session = session(
        plan(vec![by_hand(0, AttachPoint::Begin), by_hand(1, AttachPoint::End)], 1 << 16),
        Options::default(),
    );
    let (outcome, sink) = run(&mut session);
    assert_eq!((outcome.reason, sink.stamps.len()), (EndReason::NothingAttached, 2));
}

fn a_rejection_names_the_instruction() {
    // r0 = *(r1 + 4096): a raw tracepoint has no such argument.
    let code = Asm::default().op(0xb7, 2, 0, 0, 1).op(0x79, 0, 1, 4096, 0).end();
    let plan = plan(vec![program(0, ProgramKind::RawTracepoint, raw(), 0, code)], 1 << 16);
    let refused = Session::load(Rc::new(LiveKernel), Arc::new(plan), Options::default());
    match refused.err().expect("refused") {
        Error::Rejected { span, instruction, reason, log, .. } => {
            assert_eq!((instruction, span.lo), (Some(1), 1), "{log}");
            assert!(reason.contains("invalid"), "{reason}");
            assert!(log.contains("a script of one line"), "the log quotes the script: {log}");
        }
        other => panic!("{other}"),
    }
}

fn costs_and_logs_are_told() {
    let child = worker(N, 0);
    let code = Asm::default().only(child.pid()).count().end();
    let plan = plan(vec![program(0, ProgramKind::Tracepoint, tracepoint(), 0, code)], 1 << 16);
    let options =
        Options { child: Some(child), measure_cost: true, verifier_log: true, ..Options::default() };
    let mut session = session(plan, options);
    assert!(session.verifier_logs()[0].contains("processed "), "{:?}", session.verifier_logs());
    run(&mut session);
    let cost = &session.costs().expect("read")[0];
    println!("  {} ns a run", cost.run_time_ns / cost.run_cnt.max(1));
    assert!(cost.run_cnt >= N && cost.run_time_ns > 0, "{cost:?}");
}

fn many_tracepoints_end_quickly() {
    let events = strix_sys::tracefs::ensure().expect("tracefs").join("events/syscalls");
    let mut names: Vec<String> = std::fs::read_dir(events)
        .expect("tracefs")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("sys_enter_"))
        .collect();
    names.sort();
    names.truncate(60);
    let mut one = program(0, ProgramKind::Tracepoint, tracepoint(), 0, Asm::default().only(1).count().end());
    one.attachments = names
        .into_iter()
        .map(|event| Attachment {
            point: AttachPoint::Tracepoint { category: "syscalls".into(), event },
            cookie: 0,
        })
        .collect();
    let options = Options { duration: Some(Duration::ZERO), ..Options::default() };
    let mut session = session(plan(vec![one], 1 << 16), options);
    let before = Instant::now();
    run(&mut session);
    drop(session);
    println!("  60 tracepoints attached and let go in {:?}", before.elapsed());
    // One at a time it takes the kernel more than 4 s.
    assert!(before.elapsed() < Duration::from_millis(1500), "{:?}", before.elapsed());
}

/// Programs, maps and links of the whole kernel.
fn objects() -> Vec<Vec<u32>> {
    [BpfIds::Programs, BpfIds::Maps, BpfIds::Links].map(|kind| ids(kind).expect("root may list")).to_vec()
}

/// Waits until the kernel, which frees objects after a grace period, holds what it held before.
#[track_caller]
fn assert_gone(before: &[Vec<u32>]) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while objects().iter().zip(before).any(|(now, then)| now.iter().any(|id| !then.contains(id))) {
        assert!(Instant::now() < deadline, "left behind: {:?}, before: {before:?}", objects());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Everything attached that this machine can attach, until a signal comes: the other half of the next two tests.
pub fn hold() -> ExitCode {
    let count = |code: Asm| code.only(1).count().end();
    let by_hand = |probe, point| program(probe, ProgramKind::TestRun, point, 0, Asm::default().send(0).end());
    let programs = vec![
        program(0, ProgramKind::Tracepoint, tracepoint(), 0, count(Asm::default())),
        program(1, ProgramKind::Uprobe, user_point(false), 0, count(Asm::default())),
        program(2, ProgramKind::Uretprobe, user_point(true), 0, count(Asm::default())),
        program(3, ProgramKind::RawTracepoint, raw(), 0, count(Asm::default())),
        program(4, ProgramKind::PerfEvent, AttachPoint::Profile(Period::Hertz(99)), 0, count(Asm::default())),
        by_hand(5, AttachPoint::Begin),
        by_hand(6, AttachPoint::End),
    ];
    let mut session = session(plan(programs, 1 << 16), Options::default());
    session.attach().expect("attaches");
    println!("attached");
    let mut sink = Times::default();
    let outcome = session.run(&mut sink).expect("runs");
    println!("{:?} after {} records", outcome.reason, sink.stamps.len());
    ExitCode::SUCCESS
}

/// Starts a holder and waits until it has attached.
fn holder() -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let exe = std::env::current_exe().expect("this binary");
    let mut child = Command::new(exe).arg("--hold").stdout(Stdio::piped()).spawn().expect("started");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("readable");
    assert_eq!(line, "attached\n");
    (child, out)
}

fn an_interrupt_finishes_in_good_order() {
    let before = objects();
    let (mut child, mut out) = holder();
    std::thread::sleep(Duration::from_millis(100));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("ours");
    let mut line = String::new();
    out.read_line(&mut line).expect("readable");
    assert_eq!(line, "Signal(2) after 2 records\n");
    assert!(child.wait().expect("ours").success());
    assert_gone(&before);
}

fn a_killed_session_leaves_nothing() {
    let before = objects();
    let (mut child, _out) = holder();
    assert!(objects().iter().zip(&before).all(|(now, then)| now.len() > then.len()), "it holds something");
    child.kill().expect("ours");
    child.wait().expect("ours");
    assert_gone(&before);
}
