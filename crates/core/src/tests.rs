//! Whole sessions on a kernel made of tables.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use strix_model::{
    Action, AttachPoint, COUNTERS, Counter, MapKind, MapRole, MapValue, MissingProbes, Period, Plan,
    ProgramKind, Shape, SoftwareEvent,
};
use strix_sys::fake::FakeKernel;
use strix_sys::{ProgramInfo, raise_limits};

use crate::fixture::{Memory, add_map, plan, program, spec, words};
use crate::{EndReason, Error, MapCell, Options, ProbeLoss, Session};

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;

fn kprobe(function: &str) -> AttachPoint {
    AttachPoint::Kprobe { module: None, function: function.into(), offset: 0 }
}

fn tracepoint(event: &str) -> AttachPoint {
    AttachPoint::Tracepoint { category: "sched".into(), event: event.into() }
}

fn uprobe(path: &str, file_offset: u64) -> AttachPoint {
    AttachPoint::Uprobe { path: path.into(), symbol: None, offset: 0, file_offset }
}

fn load(kernel: &FakeKernel, plan: Plan) -> Session {
    Session::load(Rc::new(kernel.clone()), Arc::new(plan), Options::default()).expect("loads")
}

fn calls_with(kernel: &FakeKernel, prefix: &str) -> Vec<String> {
    kernel.calls().into_iter().filter(|call| call.starts_with(prefix)).collect()
}

/// The calls that end a session, in order.
const ENDINGS: [&str; 4] = ["disable", "close link", "close event", "run"];

#[test]
fn programs_attach_in_firing_order_after_begin() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::Kprobe, vec![kprobe("a")]),
        program(1, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
        program(2, ProgramKind::Kprobe, vec![kprobe("a")]),
        program(3, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
        program(4, ProgramKind::TestRun, vec![AttachPoint::Begin]),
        program(5, ProgramKind::TestRun, vec![AttachPoint::End]),
    ];
    let mut session = load(&kernel, plan(programs, vec![]));
    assert_eq!(calls_with(&kernel, "load").len(), 6);
    assert!(calls_with(&kernel, "run").is_empty(), "loading runs nothing");
    let report = session.attach().expect("attaches");
    assert_eq!(report.attached, 6);
    let order: Vec<String> = kernel
        .calls()
        .iter()
        .filter(|call| call.starts_with("run") || call.starts_with("link"))
        .map(|call| call.split(' ').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        order,
        ["run program p4", "link program p1", "link program p3", "link program p2", "link program p0"]
    );
}

#[test]
fn timers_go_everywhere_or_to_one_cpu() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::PerfEvent, vec![AttachPoint::Profile(Period::Hertz(99))]),
        program(1, ProgramKind::PerfEvent, vec![AttachPoint::Interval(Period::Hertz(10))]),
        program(
            2,
            ProgramKind::PerfEvent,
            vec![AttachPoint::Software { event: SoftwareEvent::PageFaults, period: 5 }],
        ),
    ];
    load(&kernel, plan(programs, vec![])).attach().expect("attaches");
    let opened = calls_with(&kernel, "open");
    assert_eq!(
        opened,
        [
            "open event Clock(Hertz(99)) Cpu(0)",
            "open event Clock(Hertz(99)) Cpu(1)",
            "open event Clock(Nanos(100000000)) Cpu(0)",
            "open event Software { event: PageFaults, period: 5 } Cpu(0)",
            "open event Software { event: PageFaults, period: 5 } Cpu(1)",
        ]
    );
}

#[test]
fn a_process_narrows_what_can_be_narrowed() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::Uprobe, vec![uprobe("/bin/x", 16)]),
        program(
            1,
            ProgramKind::UprobeMulti { ret: false },
            vec![uprobe("/a", 1), uprobe("/a", 2), uprobe("/b", 3)],
        ),
        program(2, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
    ];
    let pid = std::process::id();
    let options = Options { pid: Some(pid), ..Options::default() };
    let plan = Arc::new(plan(programs, vec![]));
    let mut session = Session::load(Rc::new(kernel.clone()), plan, options).expect("loads");
    session.attach().expect("attaches");
    assert_eq!(
        calls_with(&kernel, "open"),
        [
            "open event Tracepoint { id: 12 } Cpu(0)".to_owned(),
            format!("open event Uprobe {{ ret: false, path: \"/bin/x\", offset: 16 }} Thread({pid})"),
        ]
    );
    assert_eq!(
        calls_with(&kernel, "link program p1"),
        [
            format!("link program p1 by uprobes false /a [1, 2] [0, 1] Some({pid})"),
            format!("link program p1 by uprobes false /b [3] [2] Some({pid})"),
        ]
    );
}

#[test]
fn teardown_stops_then_detaches_then_runs_end_then_lets_go() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
        program(1, ProgramKind::TestRun, vec![AttachPoint::End]),
    ];
    let mut session = load(&kernel, plan(programs, vec![Action::Time { format: String::new() }]));
    session.options.duration = Some(Duration::from_millis(20));
    session.attach().expect("attaches");
    kernel.record_on_run("p1", &words(&[0, 7]));
    kernel.push_record(&words(&[0, 1]));
    let mut sink = Memory::default();
    let outcome = session.run(&mut sink).expect("runs");
    assert_eq!(outcome.reason, EndReason::Duration);
    assert_eq!(
        sink.records,
        [(0, words(&[0, 1])), (0, words(&[0, 7]))],
        "what the end program wrote comes last"
    );
    assert!(sink.flushes >= 2);
    let ending: Vec<String> = kernel
        .calls()
        .into_iter()
        .filter(|call| ENDINGS.iter().any(|ending| call.starts_with(ending)))
        .map(|call| call.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(ending, ["disable event", "close link", "run program"]);
    assert!(kernel.open_objects().iter().any(|o| o.starts_with("event")), "events are not waited for");
    drop(session);
    assert_eq!(kernel.open_objects(), Vec::<String>::new());
    assert_eq!(calls_with(&kernel, "close later event").len(), 1);
}

#[test]
fn events_that_hold_their_program_are_closed_before_end() {
    let kernel = FakeKernel::new();
    kernel.without_perf_links();
    let programs = vec![
        program(0, ProgramKind::Kprobe, vec![kprobe("a")]),
        program(1, ProgramKind::TestRun, vec![AttachPoint::End]),
    ];
    let mut session = load(&kernel, plan(programs, vec![]));
    session.options.duration = Some(Duration::from_millis(1));
    session.attach().expect("attaches");
    assert!(session.is_waiting());
    session.run(&mut Memory::default()).expect("runs");
    let calls = kernel.calls();
    let at = |prefix: &str| calls.iter().position(|call| call.starts_with(prefix)).expect("called");
    assert!(at("close event") < at("run program p1"));
}

#[test]
fn exit_ends_it_with_its_code_and_mutes_what_follows() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
        program(1, ProgramKind::TestRun, vec![AttachPoint::End]),
    ];
    let mut session =
        load(&kernel, plan(programs, vec![Action::Exit, Action::Time { format: String::new() }]));
    session.attach().expect("attaches");
    kernel.record_on_run("p1", &words(&[1, 3]));
    for record in [[1, 1], [0, 5], [1, 2]] {
        kernel.push_record(&words(&record));
    }
    let mut sink = Memory::default();
    let outcome = session.run(&mut sink).expect("runs");
    assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exit, 5));
    assert_eq!(sink.records, [(1, words(&[1, 1])), (1, words(&[1, 3]))]);
}

#[test]
fn nothing_to_wait_for_ends_at_once_but_reads_everything() {
    let kernel = FakeKernel::new();
    let programs = vec![program(0, ProgramKind::TestRun, vec![AttachPoint::Begin])];
    let mut session = load(&kernel, plan(programs, vec![Action::Time { format: String::new() }]));
    kernel.record_on_run("p0", &words(&[0, 1]));
    session.attach().expect("attaches");
    let mut sink = Memory::default();
    assert_eq!(session.run(&mut sink).expect("runs").reason, EndReason::NothingAttached);
    assert_eq!(sink.records.len(), 1);
}

#[test]
fn a_closed_pipe_ends_quietly_and_another_failure_does_not() {
    for (kind, quiet) in [(std::io::ErrorKind::BrokenPipe, true), (std::io::ErrorKind::StorageFull, false)] {
        let kernel = FakeKernel::new();
        let programs = vec![
            program(0, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")]),
            program(1, ProgramKind::TestRun, vec![AttachPoint::End]),
        ];
        let mut session = load(&kernel, plan(programs, vec![Action::Time { format: String::new() }]));
        session.attach().expect("attaches");
        kernel.push_record(&words(&[0, 1]));
        let mut sink = Memory { fail_at: Some((1, kind)), ..Memory::default() };
        match session.run(&mut sink) {
            Ok(outcome) => assert!(quiet && outcome.reason == EndReason::OutputClosed),
            Err(Error::Output(_)) => assert!(!quiet),
            Err(other) => panic!("{other}"),
        }
        assert!(!session.is_waiting(), "detached in any case");
    }
}

#[test]
fn hostile_records_are_passed_over() {
    let kernel = FakeKernel::new();
    let programs = vec![program(0, ProgramKind::Tracepoint, vec![tracepoint("sched_switch")])];
    let mut session = load(&kernel, plan(programs, vec![Action::Clear { map: 9 }, Action::Exit]));
    session.attach().expect("attaches");
    kernel.push_record(b"");
    kernel.push_record(b"abc");
    kernel.push_record(&words(&[77, 0]));
    kernel.push_record(&words(&[0]));
    kernel.push_record(&words(&[1]));
    let mut sink = Memory::default();
    let outcome = session.run(&mut sink).expect("runs");
    assert_eq!((outcome.reason, outcome.exit_code, sink.records.len()), (EndReason::Exit, 0, 0));
    assert_eq!(sink.problems, ["the plan makes no sense: there is no map 9"]);
}

#[test]
fn missing_probes_follow_the_script() {
    for (policy, missing) in
        [(MissingProbes::Error, None), (MissingProbes::Warn, Some(1)), (MissingProbes::Ignore, Some(0))]
    {
        let kernel = FakeKernel::new();
        kernel.fail("tracepoint sched:gone", ENOENT);
        let programs = vec![
            program(0, ProgramKind::Tracepoint, vec![tracepoint("gone")]),
            program(1, ProgramKind::Tracepoint, vec![tracepoint("here")]),
        ];
        let mut plan = plan(programs, vec![]);
        plan.config.missing_probes = policy;
        let result = load(&kernel, plan).attach();
        match missing {
            None => {
                let error = result.expect_err("an error by default");
                let Error::Attach { point, span, .. } = &error else { panic!("{error}") };
                assert_eq!((point.as_str(), span.lo), ("tracepoint:sched:gone", 100));
            }
            Some(count) => {
                let report = result.expect("the rest is attached");
                assert_eq!((report.attached, report.missing.len()), (1, count));
            }
        }
        assert_eq!(kernel.open_objects(), Vec::<String>::new(), "a session that failed leaves nothing");
    }
}

#[test]
fn one_bad_place_of_many_is_found() {
    for policy in [MissingProbes::Warn, MissingProbes::Error] {
        let kernel = FakeKernel::new();
        kernel.fail("\"bad\"", ENOENT);
        let points = ["a", "b", "bad", "c", "d"].map(kprobe).to_vec();
        let mut plan = plan(vec![program(0, ProgramKind::KprobeMulti { ret: false }, points)], vec![]);
        plan.config.missing_probes = policy;
        match load(&kernel, plan).attach() {
            Ok(report) => {
                assert_eq!((policy, report.attached), (MissingProbes::Warn, 4));
                let missing: Vec<&str> = report.missing.iter().map(|m| m.point.as_str()).collect();
                assert_eq!(missing, ["kprobe:bad"]);
            }
            Err(Error::Attach { point, .. }) => {
                assert_eq!((policy, point.as_str()), (MissingProbes::Error, "kprobe:bad"))
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn missing_privileges_are_never_a_missing_probe() {
    let kernel = FakeKernel::new();
    kernel.fail("open event", EPERM);
    let mut plan = plan(vec![program(0, ProgramKind::Kprobe, vec![kprobe("a")])], vec![]);
    plan.config.missing_probes = MissingProbes::Ignore;
    let error = load(&kernel, plan).attach().expect_err("denied");
    assert!(matches!(error, Error::Denied { .. }), "{error}");
}

#[test]
fn a_rejection_points_into_the_script() {
    let kernel = FakeKernel::new();
    kernel.fail("load p0", EACCES);
    kernel.set_log("p0", "0: (b7) r0 = 0\n1: (95) exit\nR0 !read_ok\nprocessed 2 insns\n");
    let plan = Arc::new(plan(vec![program(0, ProgramKind::Kprobe, vec![kprobe("a")])], vec![]));
    let refused = |kernel: &FakeKernel| {
        Session::load(Rc::new(kernel.clone()), plan.clone(), Options::default()).err().expect("refused")
    };
    match refused(&kernel) {
        Error::Rejected { span, instruction, reason, probe, .. } => {
            assert_eq!((span.lo, instruction, reason.as_str()), (20, Some(1), "R0 !read_ok"));
            assert_eq!(probe, "probe0");
        }
        other => panic!("{other}"),
    }
    kernel.set_log("p0", "");
    assert!(matches!(refused(&kernel), Error::Denied { .. }));
    let old = FakeKernel::new();
    old.fail("load p0", EINVAL);
    assert!(matches!(refused(&old), Error::Unsupported { .. }));
    assert_eq!(kernel.open_objects(), Vec::<String>::new());
}

#[test]
fn losses_add_up_over_cpus_and_programs() {
    let kernel = FakeKernel::new();
    let programs = vec![
        program(0, ProgramKind::Kprobe, vec![kprobe("a")]),
        program(1, ProgramKind::Kprobe, vec![kprobe("b")]),
    ];
    let mut session = load(&kernel, plan(programs, vec![]));
    session.attach().expect("attaches");
    let mut cpus = vec![0u64; 2 * 2 * COUNTERS as usize];
    let per_cpu = 2 * COUNTERS as usize;
    let at = |cpu: usize, probe: usize, counter: Counter| {
        cpu * per_cpu + probe * COUNTERS as usize + counter as usize
    };
    cpus[at(0, 0, Counter::Dropped)] = 3;
    cpus[at(1, 0, Counter::Dropped)] = 4;
    cpus[at(1, 1, Counter::ReadFailed)] = 9;
    cpus[at(0, 1, Counter::ScratchBusy)] = 1;
    kernel.put("counters", &[0; 4], &words(&cpus));
    kernel.set_info(
        "p1",
        ProgramInfo { recursion_misses: 2, run_time_ns: 500, run_cnt: 5, ..ProgramInfo::default() },
    );
    kernel.set_missed("p0", 6);
    let expected = [
        ProbeLoss { probe: 0, dropped: 7, missed: 6, ..ProbeLoss::default() },
        ProbeLoss { probe: 1, read_failed: 9, scratch_busy: 1, recursion: 2, ..ProbeLoss::default() },
    ];
    assert_eq!(session.losses().expect("read"), expected);
    session.detach();
    assert_eq!(session.losses().expect("read"), expected, "misses are kept when links go");
    assert!(!ProbeLoss { read_failed: 1, ..ProbeLoss::default() }.is_loss() && expected[0].is_loss());
    let costs = session.costs().expect("read");
    assert_eq!((costs[1].probe, costs[1].run_time_ns, costs[1].run_cnt), (1, 500, 5));
}

#[test]
fn maps_are_read_cleared_and_zeroed() {
    let kernel = FakeKernel::new();
    let mut plan = plan(vec![], vec![]);
    let int = || Shape::Int { size: 8, signed: false };
    let counts = add_map(&mut plan, "counts", MapKind::PercpuHash, int(), MapValue::Count);
    let total = add_map(&mut plan, "total", MapKind::PercpuArray, Shape::Unit, MapValue::Count);
    plan.maps.push((spec("stacks", MapKind::LruHash, 8, 32, 16), MapRole::Stacks));
    let session = load(&kernel, plan);
    let maps = session.maps();
    let number = |cell: Option<MapCell>| match cell {
        Some(MapCell::Aggregate(strix_model::Aggregate::Unsigned(n))) => Some(n),
        None => None,
        other => panic!("{other:?}"),
    };
    kernel.put("counts", &words(&[7]), &words(&[2, 3]));
    kernel.put("counts", &words(&[8]), &words(&[1, 0]));
    let entries = maps.read_map(counts).expect("read");
    assert_eq!(entries.len(), 2);
    assert_eq!(number(maps.entry(counts, &words(&[7])).expect("read")), Some(5));
    assert_eq!(number(maps.entry(counts, &words(&[9])).expect("read")), None);

    assert_eq!(maps.read_map(total).expect("read"), [], "never set");
    kernel.put("total", &[0; 4], &words(&[4, 1, 0, 0]));
    assert_eq!(number(maps.entry(total, &[]).expect("read")), Some(4));
    maps.zero(total).expect("zeroed");
    assert_eq!(number(maps.entry(total, &[]).expect("read")), Some(0), "zero is a value");
    maps.clear(total).expect("cleared");
    assert_eq!(number(maps.entry(total, &[]).expect("read")), None, "cleared is none");

    maps.zero(counts).expect("zeroed");
    assert_eq!(number(maps.entry(counts, &words(&[7])).expect("read")), Some(0));
    maps.clear(counts).expect("cleared");
    assert!(maps.read_map(counts).expect("read").is_empty());

    kernel.put("stacks", &words(&[5]), &words(&[2, 0xa, 0xb, 0xc]));
    kernel.put("stacks", &words(&[6]), &words(&[u64::MAX, 0xa, 0xb, 0xc]));
    assert_eq!(maps.stack(5).expect("read"), Some(vec![0xa, 0xb]));
    assert_eq!(maps.stack(6).expect("read").map(|s| s.len()), Some(3), "a length is not believed");
    assert_eq!(maps.stack(7).expect("read"), None);
}

#[test]
fn a_command_runs_from_its_start_and_ends_the_session() {
    let kernel = FakeKernel::new();
    raise_limits();
    let child = crate::Child::spawn(&["sh", "-c", "exit 4"]).expect("forked");
    let options = Options { child: Some(child), ..Options::default() };
    let plan = Arc::new(plan(vec![], vec![]));
    let mut session = Session::load(Rc::new(kernel.clone()), plan, options).expect("loads");
    session.attach().expect("attaches");
    let outcome = session.run(&mut Memory::default()).expect("runs");
    assert_eq!(outcome.reason, EndReason::ChildExit);
    assert_eq!(outcome.child.and_then(|status| status.code()), Some(4));
}
