//! Attaching programs and letting go of them again.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use strix_model::{AttachPoint, Attachment, MissingProbes, Period, Program, ProgramKind};
use strix_sys::{
    Kernel, Kind, KprobePlace, LinkSpec, PerfEvent, PerfSource, PerfTarget, Places, SysError, TracingHook,
    threads,
};

use crate::session::probe_of;
use crate::{AttachFailure, AttachReport, Error, Session};

/// Said of hardware events that the machine does not have.
const NO_COUNTER: &str =
    "this machine has no such hardware counter, as most virtual machines; software:cpu-clock comes nearest";

/// What keeps programs attached.
#[derive(Default)]
pub(crate) struct Attached {
    /// Links, each with the program it attaches.
    links: Vec<(usize, OwnedFd)>,
    /// Perf events whose program is held by a link.
    events: Vec<OwnedFd>,
    /// Perf events that hold their program themselves (kernels before 5.15).
    holding: Vec<OwnedFd>,
    /// What the links had missed when they were closed.
    missed: Vec<(usize, u64)>,
}

impl Attached {
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.holding.is_empty()
    }

    /// Lets go of events that nothing is attached to any more.
    pub(crate) fn forget_events(&mut self, kernel: &dyn Kernel) {
        kernel.close_later(std::mem::take(&mut self.events));
    }
}

impl Session {
    /// Programs in the order to attach them. Where the kernel runs the newest first, the last declared is attached first.
    pub(crate) fn firing_order(&self) -> Vec<usize> {
        let newest_first = |program: &Program| {
            matches!(
                program.kind,
                ProgramKind::Kprobe
                    | ProgramKind::KprobeMulti { ret: false }
                    | ProgramKind::Uprobe
                    | ProgramKind::Uretprobe
                    | ProgramKind::UprobeMulti { .. }
                    | ProgramKind::Fentry { .. }
                    | ProgramKind::Fexit { .. }
            )
        };
        let all = self.plan.programs.iter().enumerate().filter(|(_, p)| p.kind != ProgramKind::TestRun);
        let (reversed, forward): (Vec<_>, Vec<_>) = all.partition(|(_, program)| newest_first(program));
        forward.into_iter().chain(reversed.into_iter().rev()).map(|(index, _)| index).collect()
    }

    /// Attaches one program everywhere it goes.
    pub(crate) fn attach_program(&mut self, index: usize, report: &mut AttachReport) -> Result<(), Error> {
        let plan = self.plan.clone();
        let program = &plan.programs[index];
        for group in groups(program) {
            self.attach_or_split(index, program, group, report)?;
        }
        Ok(())
    }

    /// Attaches at all places of a group. A link to many places fails as a whole without saying for which of them, so halves are tried,
    /// down to the one that is to blame.
    fn attach_or_split(
        &mut self,
        index: usize,
        program: &Program,
        group: &[Attachment],
        report: &mut AttachReport,
    ) -> Result<(), Error> {
        match self.attach_group(index, program, group) {
            Ok(()) => {
                report.attached += group.len() as u32;
                Ok(())
            }
            Err(source) if group.len() > 1 && !matches!(source.kind(), Kind::Denied | Kind::Exhausted) => {
                let (first, second) = group.split_at(group.len() / 2);
                self.attach_or_split(index, program, first, report)?;
                self.attach_or_split(index, program, second, report)
            }
            Err(source) => self.missing(program, group, source, report),
        }
    }

    /// Decides what a failure means.
    fn missing(
        &self,
        program: &Program,
        group: &[Attachment],
        source: SysError,
        report: &mut AttachReport,
    ) -> Result<(), Error> {
        let (_, span) = probe_of(&self.plan, program);
        let first = group.first().map_or_else(|| program.name.clone(), |a| a.point.to_string());
        let point = match group.len() {
            0 | 1 => first,
            more => format!("{first} and {} more", more - 1),
        };
        match source.kind() {
            Kind::Denied => {
                return Err(Error::Denied { what: format!("attach {point}"), span: Some(span), source });
            }
            Kind::Exhausted => return Err(Error::Attach { point, span, source }),
            _ => {}
        }
        if self.plan.config.missing_probes == MissingProbes::Error {
            return Err(Error::Attach { point, span, source });
        }
        report.missing.push(AttachFailure { point, span, source });
        Ok(())
    }

    /// Attaches a program at places that one link serves.
    fn attach_group(
        &mut self,
        index: usize,
        program: &Program,
        group: &[Attachment],
    ) -> Result<(), SysError> {
        let Some(first) = group.first() else { return Ok(()) };
        let cookies = || group.iter().map(|a| a.cookie).collect();
        let cookie = first.cookie;
        match (&program.kind, &first.point) {
            (ProgramKind::KprobeMulti { ret }, _) => {
                let places = Places::Symbols(group.iter().filter_map(|a| function_of(&a.point)).collect());
                self.link(index, &LinkSpec::KprobeMulti { ret: *ret, places, cookies: cookies() })
            }
            (ProgramKind::UprobeMulti { ret }, point) => {
                let path = file_of(point).map_or("", |(path, _)| path);
                let offsets =
                    group.iter().filter_map(|a| file_of(&a.point)).map(|(_, offset)| offset).collect();
                let pid = self.process();
                self.link(index, &LinkSpec::UprobeMulti { ret: *ret, path, offsets, cookies: cookies(), pid })
            }
            (ProgramKind::RawTracepoint, AttachPoint::RawTracepoint { event: name, .. }) => {
                self.link(index, &LinkSpec::RawTracepoint { name, cookie })
            }
            (ProgramKind::RawTracepoint, AttachPoint::Tracepoint { event: name, .. }) => {
                self.link(index, &LinkSpec::RawTracepoint { name, cookie })
            }
            (ProgramKind::BtfTracepoint { .. }, _) => {
                self.link(index, &LinkSpec::Tracing { hook: TracingHook::Tracepoint, cookie })
            }
            (ProgramKind::Fentry { .. }, _) => {
                self.link(index, &LinkSpec::Tracing { hook: TracingHook::Entry, cookie })
            }
            (ProgramKind::Fexit { .. }, _) => {
                self.link(index, &LinkSpec::Tracing { hook: TracingHook::Return, cookie })
            }
            (_, point) => self.attach_events(index, point, cookie),
        }
    }

    fn link(&mut self, index: usize, spec: &LinkSpec<'_>) -> Result<(), SysError> {
        let link = self.kernel.link_create(self.programs[index].as_fd(), spec)?;
        self.attached.links.extend(link.map(|fd| (index, fd)));
        Ok(())
    }

    /// Attaches through perf events: one, or one a CPU or thread.
    fn attach_events(&mut self, index: usize, point: &AttachPoint, cookie: u64) -> Result<(), SysError> {
        let first_cpu = || -> Result<PerfTarget, SysError> {
            Ok(PerfTarget::Cpu(self.kernel.online_cpus()?.first().copied().unwrap_or(0)))
        };
        let everywhere = || -> Result<Vec<PerfTarget>, SysError> {
            match self.process() {
                Some(pid) => Ok(threads(pid)?.into_iter().map(PerfTarget::Thread).collect()),
                None => Ok(self.kernel.online_cpus()?.into_iter().map(PerfTarget::Cpu).collect()),
            }
        };
        let name;
        let (source, targets) = match point {
            AttachPoint::Interval(period) => (PerfSource::Clock(exact(*period)), vec![first_cpu()?]),
            AttachPoint::Profile(period) => (PerfSource::Clock(*period), everywhere()?),
            &AttachPoint::Software { event, period } => {
                (PerfSource::Software { event, period }, everywhere()?)
            }
            &AttachPoint::Hardware { event, period } => {
                (PerfSource::Hardware { event, period }, everywhere()?)
            }
            AttachPoint::Tracepoint { category, event } => {
                let id = self.kernel.tracepoint_id(category, event)?;
                (PerfSource::Tracepoint { id }, vec![first_cpu()?])
            }
            AttachPoint::Kprobe { module, function, offset } => {
                name = qualified(module.as_deref(), function);
                let place = KprobePlace::Function { name: &name, offset: *offset };
                (PerfSource::Kprobe { ret: false, place }, vec![first_cpu()?])
            }
            AttachPoint::KprobeAddress(address) => {
                let place = KprobePlace::Address(*address);
                (PerfSource::Kprobe { ret: false, place }, vec![first_cpu()?])
            }
            AttachPoint::Kretprobe { module, function } => {
                name = qualified(module.as_deref(), function);
                let place = KprobePlace::Function { name: &name, offset: 0 };
                (PerfSource::Kprobe { ret: true, place }, vec![first_cpu()?])
            }
            AttachPoint::Uprobe { path, file_offset, .. }
            | AttachPoint::Uretprobe { path, file_offset, .. } => {
                let ret = matches!(point, AttachPoint::Uretprobe { .. });
                let target = self.process().map_or_else(first_cpu, |pid| Ok(PerfTarget::Thread(pid)))?;
                (PerfSource::Uprobe { ret, path, offset: *file_offset }, vec![target])
            }
            AttachPoint::Begin
            | AttachPoint::End
            | AttachPoint::RawTracepoint { .. }
            | AttachPoint::Fentry { .. }
            | AttachPoint::Fexit { .. } => {
                let error = io::Error::from(io::ErrorKind::InvalidInput);
                return Err(SysError::new("attach", point.to_string(), error));
            }
        };
        for target in targets {
            self.attach_event(index, &PerfEvent { source, target }, cookie)?;
        }
        Ok(())
    }

    fn attach_event(&mut self, index: usize, event: &PerfEvent<'_>, cookie: u64) -> Result<(), SysError> {
        let fd = match self.kernel.perf_open(event) {
            Err(mut error) if error.source.kind() == io::ErrorKind::NotFound && is_hardware(event) => {
                error.hint = Some(NO_COUNTER.into());
                return Err(error);
            }
            // A thread or CPU that went away since it was listed has nothing to tell.
            Err(error) if counts(event) && error.kind() == Kind::NotFound => return Ok(()),
            other => other?,
        };
        let spec = LinkSpec::Perf { event: fd.as_fd(), cookie };
        let link = self.kernel.link_create(self.programs[index].as_fd(), &spec)?;
        let enabled = self.kernel.perf_enable(fd.as_fd());
        match link {
            Some(link) => {
                self.attached.links.push((index, link));
                self.attached.events.push(fd);
            }
            None => self.attached.holding.push(fd),
        }
        enabled
    }

    /// Stops every program that is attached. Timers first: they are the ones that go on by themselves.
    pub(crate) fn detach(&mut self) {
        for event in self.attached.events.iter().chain(&self.attached.holding) {
            // One that cannot be stopped is closed in a moment.
            let _ = self.kernel.perf_disable(event.as_fd());
        }
        self.attached.missed = self.missed();
        let links = std::mem::take(&mut self.attached.links).into_iter().map(|(_, fd)| fd);
        let closing: Vec<OwnedFd> = links.chain(std::mem::take(&mut self.attached.holding)).collect();
        if !closing.is_empty() {
            self.kernel.close(closing);
        }
    }

    /// Hits that links could not handle, by program; what they had when they were closed included.
    pub(crate) fn missed(&self) -> Vec<(usize, u64)> {
        let now =
            |(program, link): &(usize, OwnedFd)| Some((*program, self.kernel.link_missed(link.as_fd())?));
        let alive = self.attached.links.iter().filter_map(now);
        self.attached.missed.iter().copied().chain(alive).filter(|&(_, missed)| missed != 0).collect()
    }
}

/// Attachments that go by one link: all for kernel functions, those of one file for user code, else each by itself.
fn groups(program: &Program) -> Vec<&[Attachment]> {
    match program.kind {
        ProgramKind::KprobeMulti { .. } => vec![&program.attachments],
        ProgramKind::UprobeMulti { .. } => {
            let path = |a: &Attachment| file_of(&a.point).map(|(path, _)| path.to_owned());
            program.attachments.chunk_by(|a, b| path(a) == path(b)).collect()
        }
        _ => program.attachments.chunks(1).collect(),
    }
}

fn function_of(point: &AttachPoint) -> Option<&str> {
    match point {
        AttachPoint::Kprobe { function, .. } | AttachPoint::Kretprobe { function, .. } => Some(function),
        _ => None,
    }
}

fn file_of(point: &AttachPoint) -> Option<(&str, u64)> {
    match point {
        AttachPoint::Uprobe { path, file_offset, .. } | AttachPoint::Uretprobe { path, file_offset, .. } => {
            Some((path, *file_offset))
        }
        _ => None,
    }
}

/// `module:function`, as the kernel takes it; `vmlinux` is no module.
fn qualified(module: Option<&str>, function: &str) -> String {
    match module {
        Some(module) if module != "vmlinux" => format!("{module}:{function}"),
        _ => function.to_owned(),
    }
}

/// A period that the kernel keeps: its frequency mode searches for one.
fn exact(period: Period) -> Period {
    match period {
        Period::Hertz(hertz) => Period::Nanos(1_000_000_000 / hertz.max(1)),
        Period::Nanos(_) => period,
    }
}

fn counts(event: &PerfEvent<'_>) -> bool {
    matches!(event.source, PerfSource::Clock(_) | PerfSource::Software { .. } | PerfSource::Hardware { .. })
}

fn is_hardware(event: &PerfEvent<'_>) -> bool {
    matches!(event.source, PerfSource::Hardware { .. })
}
