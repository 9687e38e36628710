//! Plans by hand: a ring, the control word, counters, one scalar count, and programs.

use std::io;

use strix_core::{Error, EventSink, MapReader};
use strix_model::{
    Action, AttachPoint, Attachment, COUNTERS, ConfigValues, EventSchema, FunctionInfo, LineInfo, MapKind,
    MapRole, MapSpec, MapValue, Plan, ProbeInfo, Program, ProgramKind, Shape, SourceMap, Span, UserMap,
};

use crate::asm::{Asm, COUNT};

/// System call number of getppid(2) on x86_64.
pub const GETPPID: i32 = 110;

pub fn tracepoint() -> AttachPoint {
    AttachPoint::Tracepoint { category: "syscalls".into(), event: "sys_enter_getppid".into() }
}

pub fn raw() -> AttachPoint {
    AttachPoint::RawTracepoint { module: None, event: "sys_enter".into() }
}

/// A program of probe `probe`, attached at one point with `cookie`.
pub fn program(probe: u32, kind: ProgramKind, point: AttachPoint, cookie: u64, code: Asm) -> Program {
    let span = |insn: u32| Span { lo: insn, hi: insn + 1, ..Span::default() };
    Program {
        name: format!("strix_live_{probe}"),
        kind,
        line_info: (0..code.insns.len() as u32).map(|insn| LineInfo { insn, span: span(insn) }).collect(),
        functions: vec![FunctionInfo { insn: 0, name: format!("live_{probe}"), params: 1 }],
        insns: code.insns,
        map_refs: code.map_refs,
        probe,
        attachments: vec![Attachment { point, cookie }],
    }
}

fn spec(name: &str, kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> MapSpec {
    MapSpec {
        name: name.into(),
        kind,
        key_size,
        value_size,
        max_entries,
        no_prealloc: false,
        mmapable: false,
        init: Vec::new(),
        read_only: false,
    }
}

/// A plan with a ring of `ring` bytes. Schema 0 prints, schema 1 exits.
pub fn plan(programs: Vec<Program>, ring: u32) -> Plan {
    let probes = programs.len() as u32;
    let mut sources = SourceMap::default();
    sources.add(
        "live.bt",
        "a script of one line that the kernel can quote, long enough for every instruction to have a byte\n",
    );
    let control = MapSpec { mmapable: true, ..spec("control", MapKind::Array, 4, 8, 1) };
    let event = |action| EventSchema { action, size: 16, span: Span::default(), probe: 0 };
    Plan {
        sources,
        config: ConfigValues::default(),
        probes: (0..probes)
            .map(|i| ProbeInfo { name: format!("probe{i}"), span: Span::default(), attach_points: 1 })
            .collect(),
        probe_names: Vec::new(),
        maps: vec![
            (spec("ring", MapKind::Ringbuf, 0, 0, ring), MapRole::Ring),
            (control, MapRole::Control),
            (spec("counters", MapKind::PercpuArray, 4, probes.max(1) * COUNTERS * 8, 1), MapRole::Counters),
            (spec("count", MapKind::PercpuArray, 4, 16, 1), MapRole::User),
        ],
        user_maps: vec![UserMap {
            name: "@count".into(),
            map: COUNT,
            key: Shape::Unit,
            value: MapValue::Count,
            span: Span::default(),
        }],
        programs,
        events: vec![event(Action::Time { format: String::new() }), event(Action::Exit)],
        enums: Vec::new(),
        counts_runs: false,
    }
}

/// Remembers the second word of each record and how late it came.
#[derive(Default)]
pub struct Times {
    pub stamps: Vec<u64>,
    pub latest_ns: u64,
    pub batches: usize,
}

impl EventSink for Times {
    fn record(&mut self, _schema: u32, record: &[u8], _maps: &MapReader<'_>) -> io::Result<()> {
        let stamp = record.get(8..16).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes);
        self.stamps.push(stamp);
        self.latest_ns = self.latest_ns.max(now_ns().saturating_sub(stamp));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.batches += 1;
        Ok(())
    }

    fn problem(&mut self, error: &Error) {
        panic!("{error}");
    }
}

/// The clock of `bpf_ktime_get_ns`.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
