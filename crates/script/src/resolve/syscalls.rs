//! Many tracepoints of system calls by one program on `raw_syscalls`.
//!
//! Hundreds of perf events take seconds to take down; one raw tracepoint with a table of call numbers takes none, and
//! costs less an event.

use std::collections::HashSet;

use strix_facts::{BtfKind, FieldKind, KernelFacts, TracepointField, TracepointFormat};
use strix_model::{AttachPoint, ProgramKind};

use super::args;
use super::attach::Concrete;
use super::instances::{Group, Grouper};
use crate::hir::Context;
use crate::types::{FieldLayout, RecordField, Type};

/// With more tracepoints of one direction than this, one program is used.
const FEW: usize = 4;

/// A tracepoint of a system call.
struct Call {
    concrete: Concrete,
    number: u32,
    event: String,
}

/// What of a call's record the body reads: place among the arguments and type of each field, in the order of the names.
type Reads = Vec<(String, u8, String, u32, bool)>;

impl Grouper<'_, '_> {
    /// Takes the tracepoints out of `points` that one program shall serve; the others stay.
    pub(super) fn take_syscalls(&mut self, points: &mut Vec<Concrete>) -> Vec<Group> {
        let mut groups = self.take_direction(points, true);
        groups.extend(self.take_direction(points, false));
        groups
    }

    fn take_direction(&mut self, points: &mut Vec<Concrete>, enter: bool) -> Vec<Group> {
        let prefix = if enter { "sys_enter_" } else { "sys_exit_" };
        let usage = self.usage;
        let few = if usage.args() { FEW } else { 1 };
        let is_call = |c: &Concrete| event_of(c).is_some_and(|e| e.starts_with(prefix));
        let whole_record = usage.whole_args || usage.fields.iter().any(|f| is_record_field(f));
        if whole_record || usage.kernel_stack() || points.iter().filter(|c| is_call(c)).count() <= few {
            return Vec::new();
        }
        let raw = if enter { "sys_enter" } else { "sys_exit" };
        let facts = self.names.facts;
        // Without type information nobody can say; but where there are tracepoints of calls there is the raw one.
        if facts.raw_tracepoints().is_ok_and(|names| !names.iter().any(|n| n == raw)) {
            return Vec::new();
        }
        let mut shared: Vec<(Reads, Vec<Call>)> = Vec::new();
        let mut rest = Vec::new();
        for concrete in points.drain(..) {
            let call = is_call(&concrete).then(|| self.call(&concrete, enter)).flatten();
            match call {
                Some((reads, call)) => match shared.iter_mut().find(|(r, _)| *r == reads) {
                    Some((_, calls)) => calls.push(call),
                    None => shared.push((reads, vec![call])),
                },
                None => rest.push(concrete),
            }
        }
        let mut groups = Vec::new();
        for (reads, calls) in shared {
            // A filter on every call for the sake of one is dearer than its own tracepoint.
            if calls.len() < 2 {
                rest.extend(calls.into_iter().map(|c| c.concrete));
            } else {
                groups.push(self.raw_group(raw, enter, &reads, calls));
            }
        }
        *points = rest;
        groups
    }

    /// The call of a tracepoint and what the body reads of it; `None` when it needs the tracepoint itself.
    fn call(&self, concrete: &Concrete, enter: bool) -> Option<(Reads, Call)> {
        let facts = self.names.facts;
        let event = event_of(concrete)?.to_owned();
        let number = facts.syscall_event_number(&event)?;
        let mut reads = Reads::new();
        if !enter && self.usage.fields.iter().all(|f| f == "ret") {
            // All calls return a `long`: hundreds of files need not be read to know it.
            reads.extend(self.usage.fields.iter().map(|f| (f.clone(), 0, "long".to_owned(), 8, true)));
        } else if !enter {
            return None;
        } else if self.usage.args() {
            let format = facts.tracepoint("syscalls", &event).ok()??;
            for name in &self.usage.fields {
                let (place, field) = argument(&format, name)?;
                reads.push((name.clone(), place, field.c_type.clone(), field.size, field.signed));
            }
        }
        Some((reads, Call { concrete: concrete.clone(), number, event }))
    }

    fn raw_group(&mut self, raw: &str, enter: bool, reads: &Reads, calls: Vec<Call>) -> Group {
        let facts = self.names.facts;
        let fields = if enter { self.argument_fields(reads, &calls) } else { result_fields(reads) };
        let record = self
            .usage
            .args()
            .then(|| args::enter(self.types, format!("args of raw_syscalls:{raw}"), 48, fields));
        let typedef = facts.btf().ok().and_then(|b| b.find(BtfKind::Typedef, &format!("btf_trace_{raw}")));
        let kind = match typedef {
            Some(id) if facts.features().tp_btf => ProgramKind::BtfTracepoint { btf_id: id.0 },
            _ => ProgramKind::RawTracepoint,
        };
        let filter = !all_calls(facts, enter, &calls);
        let btf = matches!(kind, ProgramKind::BtfTracepoint { .. });
        let context = Context::Syscalls { enter, args: record, filter, btf };
        let point = AttachPoint::RawTracepoint { module: None, event: raw.to_owned() };
        let sites = calls
            .into_iter()
            .map(|call| (Concrete { point: point.clone(), ..call.concrete }, Some(call.number)))
            .collect();
        Group::new(context, kind, sites)
    }

    /// The fields that the body reads, with the types that the first call has them in; the others agree.
    fn argument_fields(&mut self, reads: &Reads, calls: &[Call]) -> Vec<RecordField> {
        let first = calls.first().filter(|_| !reads.is_empty());
        let format = first.and_then(|call| self.names.facts.tracepoint("syscalls", &call.event).ok()?);
        let Some(format) = format else { return Vec::new() };
        let space = args::pointee_space("syscalls");
        reads
            .iter()
            .filter_map(|(name, place, ..)| {
                let ty = args::field_type(self.names, self.types, format.field(name)?, space);
                let layout = FieldLayout::SyscallArg(*place);
                Some(RecordField { name: name.clone(), ty, offset: u32::from(*place) * 8, layout })
            })
            .collect()
    }
}

fn result_fields(reads: &Reads) -> Vec<RecordField> {
    let field = |(name, ..): &(String, u8, String, u32, bool)| RecordField {
        name: name.clone(),
        ty: Type::I64,
        offset: 0,
        layout: FieldLayout::SyscallRet,
    };
    reads.iter().map(field).collect()
}

fn event_of(concrete: &Concrete) -> Option<&str> {
    match &concrete.point {
        AttachPoint::Tracepoint { category, event } if category == "syscalls" => Some(event),
        _ => None,
    }
}

/// Fields that only the tracefs record has.
fn is_record_field(name: &str) -> bool {
    name == "__syscall_nr" || name.starts_with("common_")
}

/// A field by name, and which argument of the call it is.
fn argument<'f>(format: &'f TracepointFormat, name: &str) -> Option<(u8, &'f TracepointField)> {
    let mut own = format.fields.iter().filter(|f| !f.common && !is_record_field(&f.name));
    let place = own.position(|f| f.name == name)?;
    let field = format.field(name)?;
    // Anything but a word comes from somewhere else than the registers.
    let is_word = field.size == 8 && matches!(field.kind, FieldKind::Scalar | FieldKind::Pointer);
    (is_word && place < 6).then_some((place as u8, field))
}

/// Whether every call that has a tracepoint is among `calls`.
fn all_calls(facts: &KernelFacts, enter: bool, calls: &[Call]) -> bool {
    let prefix = if enter { "sys_enter_" } else { "sys_exit_" };
    let meant: HashSet<&str> = calls.iter().map(|c| c.event.as_str()).collect();
    facts.tracepoints().is_ok_and(|all| {
        let mut events = all.iter().filter(|t| t.category == "syscalls" && t.event.starts_with(prefix));
        events.all(|t| meant.contains(t.event.as_str()))
    })
}
