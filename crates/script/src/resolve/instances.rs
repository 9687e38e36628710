//! Which attach points of a probe share a program: those that look alike to what the body reads.

use strix_facts::{Btf, BtfKind, Features, FuncProto, Glob};
use strix_model::{AttachPoint, Diagnostic, Diagnostics, ProgramKind, Span};

use super::args;
use super::attach::{Concrete, Provider, escape};
use super::names::Names;
use super::usage::Usage;
use crate::Options;
use crate::hir::Context;
use crate::types::{RecordId, Types};

/// Attach points that one program serves.
pub(super) struct Group {
    pub(super) context: Context,
    pub(super) kind: ProgramKind,
    /// With the number of the system call, in [`Context::Syscalls`].
    pub(super) sites: Vec<(Concrete, Option<u32>)>,
    /// Number of arguments, where it is known and not part of the context.
    pub(super) params: Option<u8>,
    /// Kernel modules whose types count.
    pub(super) modules: Vec<String>,
}

impl Group {
    pub(super) fn new(context: Context, kind: ProgramKind, sites: Vec<(Concrete, Option<u32>)>) -> Self {
        Self { context, kind, sites, params: None, modules: Vec::new() }
    }

    fn plain(context: Context, kind: ProgramKind, sites: Vec<Concrete>) -> Self {
        Self::new(context, kind, sites.into_iter().map(|c| (c, None)).collect())
    }
}

/// How the kernel describes a function or raw tracepoint.
struct Described {
    record: RecordId,
    /// Words that the parameters take.
    words: u8,
    proto: FuncProto,
    module: Option<String>,
}

/// Groups the attach points of one probe.
pub(super) struct Grouper<'a, 's> {
    pub(super) names: &'a Names<'s>,
    pub(super) options: &'a Options,
    pub(super) types: &'a mut Types,
    pub(super) usage: &'a Usage,
    pub(super) diags: &'a mut Diagnostics,
    pub(super) span: Span,
}

impl Grouper<'_, '_> {
    /// Groups in the order of their first attach points.
    pub(super) fn group(&mut self, points: Vec<Concrete>) -> Vec<Group> {
        let mut families: Vec<(Provider, Vec<Concrete>)> = Vec::new();
        for point in points {
            match families.iter_mut().find(|(p, _)| *p == point.provider) {
                Some((_, list)) => list.push(point),
                None => families.push((point.provider, vec![point])),
            }
        }
        families.into_iter().flat_map(|(provider, list)| self.family(provider, list)).collect()
    }

    fn family(&mut self, provider: Provider, points: Vec<Concrete>) -> Vec<Group> {
        match provider {
            Provider::Begin | Provider::End => points
                .into_iter()
                .map(|p| Group::plain(Context::Nothing, ProgramKind::TestRun, vec![p]))
                .collect(),
            Provider::Tracepoint => self.tracepoints(points),
            Provider::RawTracepoint => self.raw_tracepoints(points),
            Provider::Kprobe | Provider::Kretprobe => self.kprobes(provider, points),
            Provider::Uprobe | Provider::Uretprobe => self.uprobes(provider, points),
            Provider::Fentry | Provider::Fexit => {
                points.into_iter().filter_map(|p| self.trampoline(p)).collect()
            }
            _ => self
                .told_apart(vec![Group::plain(Context::PerfEvent, ProgramKind::PerfEvent, points)], |f| {
                    f.attach_cookie
                }),
        }
    }

    fn features(&self) -> &Features {
        self.names.facts.features()
    }

    /// One program a site where the body asks for the name and no cookie can tell it.
    fn told_apart(&self, groups: Vec<Group>, cookies: fn(&Features) -> bool) -> Vec<Group> {
        if !self.usage.names() || cookies(self.features()) {
            return groups;
        }
        let single = |group: Group| {
            let Group { context, kind, sites, params, modules } = group;
            sites.into_iter().map(move |site| Group {
                context: context.clone(),
                kind: kind.clone(),
                sites: vec![site],
                params,
                modules: modules.clone(),
            })
        };
        groups.into_iter().flat_map(single).collect()
    }

    fn tracepoints(&mut self, mut points: Vec<Concrete>) -> Vec<Group> {
        let mut groups = self.take_syscalls(&mut points);
        // A raw program's kernel stack would start in the program itself.
        if self.usage.args() || self.usage.ctx || self.usage.kernel_stack() {
            let formatted = self.formatted(points);
            groups.extend(self.told_apart(formatted, |f| f.attach_cookie));
            return groups;
        }
        let raw_names = self.names.facts.raw_tracepoints().unwrap_or_default();
        let is_raw = |c: &Concrete| match &c.point {
            // The tracepoints of calls are made of the raw ones, and have none of their own.
            AttachPoint::Tracepoint { category, event } => {
                category != "syscalls" && raw_names.binary_search(event).is_ok()
            }
            _ => false,
        };
        let (raw, rest): (Vec<_>, Vec<_>) = points.into_iter().partition(is_raw);
        if !raw.is_empty() {
            let sites = raw
                .into_iter()
                .map(|c| match c.point {
                    AttachPoint::Tracepoint { event, .. } => {
                        Concrete { point: AttachPoint::RawTracepoint { module: None, event }, ..c }
                    }
                    _ => c,
                })
                .collect();
            let context = Context::RawTracepoint { args: None, btf: false };
            let group = Group::plain(context, ProgramKind::RawTracepoint, sites);
            groups.extend(self.told_apart(vec![group], |f| f.raw_tp_cookie));
        }
        if !rest.is_empty() {
            // Nothing of the record is read, so all records are the same.
            let args = args::enter(self.types, "args of no tracepoint in particular".into(), 0, Vec::new());
            let group = Group::plain(Context::Tracepoint { args }, ProgramKind::Tracepoint, rest);
            groups.extend(self.told_apart(vec![group], |f| f.attach_cookie));
        }
        groups
    }

    /// Tracepoints by what their records have in the fields that are read.
    fn formatted(&mut self, points: Vec<Concrete>) -> Vec<Group> {
        let mut groups: Vec<(Vec<String>, Group)> = Vec::new();
        let mut unreadable: Vec<String> = Vec::new();
        for point in points {
            let AttachPoint::Tracepoint { category, event } = &point.point else { continue };
            let format = match self.names.facts.tracepoint(category, event) {
                Ok(Some(format)) => format,
                Ok(None) => {
                    unreadable.push(point.name);
                    continue;
                }
                Err(reason) => {
                    self.diags.push(Diagnostic::error(self.span, format!("{}: {reason}", point.name)));
                    continue;
                }
            };
            let read = |name: &String| match format.field(name) {
                Some(f) => format!("{name} {} {} {} {}", f.c_type, f.offset, f.size, f.signed),
                None => format!("{name} is missing"),
            };
            // `args` as a whole has a type of its own in each.
            let mut alike: Vec<String> = self.usage.fields.iter().map(read).collect();
            if self.usage.whole_args {
                alike.push(point.name.clone());
            }
            alike.push((category == "syscalls").to_string());
            if let Some((_, group)) = groups.iter_mut().find(|(a, _)| *a == alike) {
                group.sites.push((point, None));
                continue;
            }
            let args = args::tracepoint_record(self.names, self.types, category, &format);
            let group = Group::plain(Context::Tracepoint { args }, ProgramKind::Tracepoint, vec![point]);
            groups.push((alike, group));
        }
        if let Some(first) = unreadable.first() {
            let more = match unreadable.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            let message = format!("no record to read: {first}{more}, skipping");
            self.diags.push(Diagnostic::warning(self.span, message));
        }
        groups.into_iter().map(|(_, g)| g).collect()
    }

    fn raw_tracepoints(&mut self, points: Vec<Concrete>) -> Vec<Group> {
        let tp_btf = self.features().tp_btf;
        let untyped = |sites| {
            let context = Context::RawTracepoint { args: None, btf: false };
            Group::plain(context, ProgramKind::RawTracepoint, sites)
        };
        if !self.usage.args() && self.usage.arguments.is_empty() {
            return self.told_apart(vec![untyped(points)], |f| f.raw_tp_cookie);
        }
        let mut groups = Vec::new();
        for point in points {
            let AttachPoint::RawTracepoint { module, event } = &point.point else { continue };
            let described =
                self.described(module.as_deref(), &point.name, |btf| args::raw_tracepoint(btf, event));
            let Some(described) = described else {
                groups.push(untyped(vec![point]));
                continue;
            };
            let typed = tp_btf && self.usage.args() && module.is_none();
            let kind = match typed {
                true => ProgramKind::BtfTracepoint { btf_id: described.proto.id.0 },
                false => ProgramKind::RawTracepoint,
            };
            let context = Context::RawTracepoint { args: Some(described.record), btf: typed };
            let mut group = Group::plain(context, kind, vec![point]);
            group.params = Some(described.words);
            group.modules = described.module.into_iter().collect();
            groups.push(group);
        }
        groups
    }

    fn trampoline(&mut self, point: Concrete) -> Option<Group> {
        let (AttachPoint::Fentry { module, function } | AttachPoint::Fexit { module, function }) =
            &point.point
        else {
            return None;
        };
        let owner = (module != "vmlinux").then_some(module.as_str());
        let described = self.described(owner, &point.name, |btf| btf.function(function));
        let Some(described) = described else {
            let message = format!("the kernel has no type information for {}", point.name);
            self.diags.push(Diagnostic::error(self.span, message));
            return None;
        };
        let (args, params) = (described.record, described.words);
        let btf_id = described.proto.id.0;
        let (context, kind) = if point.provider == Provider::Fexit {
            let btf = super::btf_types::btf_of(self.names.facts, owner).ok()?;
            let ret = args::return_type(&btf, owner, self.types, described.proto.ret);
            let kind = ProgramKind::Fexit { btf_id, module: described.module.clone() };
            (Context::Fexit { args, params, ret }, kind)
        } else {
            let kind = ProgramKind::Fentry { btf_id, module: described.module.clone() };
            (Context::Fentry { args, params }, kind)
        };
        let mut group = Group::plain(context, kind, vec![point]);
        group.modules = described.module.into_iter().collect();
        Some(group)
    }

    /// What the kernel says of a function or raw tracepoint, with the record of its parameters.
    fn described(
        &mut self,
        module: Option<&str>,
        shown: &str,
        look: impl FnOnce(&Btf) -> Option<FuncProto>,
    ) -> Option<Described> {
        let btf = super::btf_types::btf_of(self.names.facts, module).ok()?;
        let proto = look(&btf)?;
        let name = format!("args of {shown}");
        let (record, words) = args::parameter_record(&btf, module, self.types, name, &proto.params);
        Some(Described { record, words, proto, module: module.map(str::to_owned) })
    }

    fn kprobes(&mut self, provider: Provider, points: Vec<Concrete>) -> Vec<Group> {
        let ret = provider == Provider::Kretprobe;
        let context = || if ret { Context::Kretprobe } else { Context::Kprobe };
        // The multi link finds functions by bare names.
        let by_name = |c: &Concrete| {
            matches!(
                &c.point,
                AttachPoint::Kprobe { module: None, offset: 0, .. }
                    | AttachPoint::Kretprobe { module: None, .. }
            )
        };
        let (mut multi, mut single): (Vec<_>, Vec<_>) = if self.features().kprobe_multi {
            points.into_iter().partition(by_name)
        } else {
            (Vec::new(), points)
        };
        if multi.len() == 1 {
            single.splice(0..0, multi.drain(..));
        }
        let mut groups = Vec::new();
        if !multi.is_empty() {
            groups.push(Group::plain(context(), ProgramKind::KprobeMulti { ret }, multi));
        }
        if !single.is_empty() {
            let kind = if ret { ProgramKind::Kretprobe } else { ProgramKind::Kprobe };
            let modules = self.modules_of(&single);
            let mut group = Group::plain(context(), kind, single);
            group.modules = modules;
            groups.extend(self.told_apart(vec![group], |f| f.attach_cookie));
        }
        groups
    }

    /// Modules of the few functions that a script names, so that it can use their types.
    fn modules_of(&self, points: &[Concrete]) -> Vec<String> {
        const FEW: usize = 8;
        let facts = self.names.facts;
        let mut modules: Vec<String> = Vec::new();
        for point in points.iter().take(FEW) {
            let (AttachPoint::Kprobe { module, function, .. } | AttachPoint::Kretprobe { module, function }) =
                &point.point
            else {
                continue;
            };
            let owner = module.clone().or_else(|| {
                // Most are in the kernel itself, which the list of functions need not be read for.
                if facts.btf().is_ok_and(|btf| btf.find(BtfKind::Func, function).is_some()) {
                    return None;
                }
                let named = facts.kernel_functions_like(&Glob::new(&escape(function))).ok()?;
                named.into_iter().find_map(|f| f.module)
            });
            if let Some(owner) = owner
                && !modules.contains(&owner)
            {
                modules.push(owner);
            }
        }
        modules
    }

    fn uprobes(&mut self, provider: Provider, points: Vec<Concrete>) -> Vec<Group> {
        let ret = provider == Provider::Uretprobe;
        let context = || if ret { Context::Uretprobe } else { Context::Uprobe };
        let mut files: Vec<(String, Vec<Concrete>)> = Vec::new();
        for point in points {
            let (AttachPoint::Uprobe { path, .. } | AttachPoint::Uretprobe { path, .. }) = &point.point
            else {
                continue;
            };
            match files.iter_mut().find(|(p, _)| p == path) {
                Some((_, list)) => list.push(point),
                None => files.push((path.clone(), vec![point])),
            }
        }
        let multi = self.features().uprobe_multi;
        let mut groups = Vec::new();
        let mut single = Vec::new();
        for (_, list) in files {
            if multi && (list.len() > 1 || self.options.uprobe_links) {
                groups.push(Group::plain(context(), ProgramKind::UprobeMulti { ret }, list));
            } else {
                single.extend(list);
            }
        }
        if !single.is_empty() {
            let kind = if ret { ProgramKind::Uretprobe } else { ProgramKind::Uprobe };
            let group = Group::plain(context(), kind, single);
            groups.extend(self.told_apart(vec![group], |f| f.attach_cookie));
        }
        groups
    }
}
