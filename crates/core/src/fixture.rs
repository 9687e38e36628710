//! Small plans and a sink that remembers, for tests.

use std::io;

use strix_model::{
    Action, AttachPoint, Attachment, COUNTERS, ConfigValues, EventSchema, Insn, LineInfo, MapIdx, MapKind,
    MapRole, MapSpec, MapValue, Plan, ProbeInfo, Program, ProgramKind, Shape, SourceMap, Span, UserMap,
};

use crate::{Error, EventSink, MapReader};

pub(crate) fn spec(name: &str, kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> MapSpec {
    MapSpec {
        name: name.into(),
        kind,
        key_size,
        value_size,
        max_entries,
        no_prealloc: false,
        mmapable: name == "control",
        init: Vec::new(),
        read_only: false,
    }
}

/// A program whose probe has its index, attached at `points` with cookies from 0.
pub(crate) fn program(probe: u32, kind: ProgramKind, points: Vec<AttachPoint>) -> Program {
    let attachments =
        points.into_iter().zip(0..).map(|(point, cookie)| Attachment { point, cookie }).collect();
    let span = |lo| Span { lo, hi: lo + 1, ..Span::default() };
    Program {
        name: format!("p{probe}"),
        kind,
        insns: vec![Insn { code: 0xb7, ..Insn::default() }, Insn { code: 0x95, ..Insn::default() }],
        map_refs: Vec::new(),
        functions: Vec::new(),
        line_info: vec![LineInfo { insn: 0, span: span(10) }, LineInfo { insn: 1, span: span(20) }],
        probe,
        attachments,
    }
}

/// A plan with ring, control word and counters, of programs that have a probe each.
pub(crate) fn plan(programs: Vec<Program>, actions: Vec<Action>) -> Plan {
    let probes = programs.len() as u32;
    let probe = |index: u32| ProbeInfo {
        name: format!("probe{index}"),
        span: Span { lo: 100 + index, hi: 101 + index, ..Span::default() },
        attach_points: 1,
    };
    let event = |action| EventSchema { action, size: 16, span: Span::default(), probe: 0 };
    Plan {
        sources: SourceMap::default(),
        config: ConfigValues::default(),
        probes: (0..probes).map(probe).collect(),
        probe_names: Vec::new(),
        maps: vec![
            (spec("ring", MapKind::Ringbuf, 0, 0, 4096), MapRole::Ring),
            (spec("control", MapKind::Array, 4, 8, 1), MapRole::Control),
            (spec("counters", MapKind::PercpuArray, 4, (probes * COUNTERS * 8).max(8), 1), MapRole::Counters),
        ],
        user_maps: Vec::new(),
        programs,
        events: actions.into_iter().map(event).collect(),
        enums: Vec::new(),
        counts_runs: false,
    }
}

/// Adds a user map; a scalar one if the key is [`Shape::Unit`].
pub(crate) fn add_map(plan: &mut Plan, name: &str, kind: MapKind, key: Shape, value: MapValue) -> u32 {
    let scalar = key == Shape::Unit;
    let (key_size, value_size) = if scalar { (4, value.size() + 8) } else { (key.size(), value.size()) };
    let entries = if scalar { 1 } else { 64 };
    plan.maps.push((spec(name, kind, key_size, value_size, entries), MapRole::User));
    let map = MapIdx(plan.maps.len() as u32 - 1);
    plan.user_maps.push(UserMap { name: format!("@{name}"), map, key, value, span: Span::default() });
    plan.user_maps.len() as u32 - 1
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

/// Remembers what it was given; can be made to fail.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) records: Vec<(u32, Vec<u8>)>,
    pub(crate) flushes: usize,
    pub(crate) problems: Vec<String>,
    pub(crate) fail_at: Option<(usize, io::ErrorKind)>,
}

impl EventSink for Memory {
    fn record(&mut self, schema: u32, record: &[u8], _maps: &MapReader<'_>) -> io::Result<()> {
        self.records.push((schema, record.to_vec()));
        match self.fail_at {
            Some((at, kind)) if self.records.len() >= at => Err(kind.into()),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        Ok(())
    }

    fn problem(&mut self, error: &Error) {
        self.problems.push(error.to_string());
    }
}
