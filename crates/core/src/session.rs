//! Loading a plan, and what a session owns.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use strix_model::{AttachPoint, MapIdx, MissingProbes, Plan, Program, ProgramKind, Span};
use strix_sys::{
    Child, HeldSignals, Kernel, Kind, LoadError, LogRequest, Map, ProgramLoad, SysError, hold_signals,
    raise_limits,
};

use crate::attach::Attached;
use crate::{Error, MapReader, verdict};

/// What a session is asked for beside its plan.
#[derive(Debug, Default)]
pub struct Options {
    /// User probes, timers and counters fire in this process only, and its end ends the session.
    pub pid: Option<u32>,
    /// A command that waits; it is let go once everything is attached, and its end ends the session. Stands for `pid`.
    pub child: Option<Child>,
    /// End after this long.
    pub duration: Option<Duration>,
    /// Let the kernel measure what programs cost.
    pub measure_cost: bool,
    /// Keep what the verifier says about programs that it takes.
    pub verifier_log: bool,
}

/// A probe that could not be attached, and that the script allows to be missing.
#[derive(Debug)]
pub struct AttachFailure {
    /// The attach point's full name.
    pub point: String,
    /// The probe.
    pub span: Span,
    /// Why.
    pub source: SysError,
}

/// What [`Session::attach`] did.
#[derive(Debug, Default)]
pub struct AttachReport {
    /// Attach points that are in place, begin and end probes included.
    pub attached: u32,
    /// Those that are not, unless the script wants them ignored.
    pub missing: Vec<AttachFailure>,
}

/// A loaded plan. Everything it made goes when it is dropped; nothing is pinned, so nothing stays behind a killed one either.
pub struct Session {
    pub(crate) kernel: Rc<dyn Kernel>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: Options,
    pub(crate) maps: Vec<Map>,
    pub(crate) programs: Vec<OwnedFd>,
    pub(crate) attached: Attached,
    /// Verifier logs of programs that were taken, if asked for.
    logs: Vec<String>,
    _stats: Option<OwnedFd>,
    /// From loading until the event loop listens, a wish to end waits.
    pub(crate) held: Option<HeldSignals>,
}

impl Session {
    /// Creates the maps and loads the programs. Nothing runs yet.
    ///
    /// # Errors
    /// When the kernel refuses a map or a program.
    pub fn load(kernel: Rc<dyn Kernel>, plan: Arc<Plan>, options: Options) -> Result<Self, Error> {
        raise_limits();
        let stats = if options.measure_cost { kernel.enable_stats().ok() } else { None };
        let mut maps = Vec::with_capacity(plan.maps.len());
        for (spec, _) in &plan.maps {
            maps.push(kernel.map_create(spec).map_err(|source| map_error(&spec.name, source))?);
        }
        let mut programs = Vec::with_capacity(plan.programs.len());
        let mut logs = Vec::new();
        for program in &plan.programs {
            let loaded = load_program(&*kernel, &plan, &maps, program, options.verifier_log)?;
            programs.push(loaded.fd);
            if options.verifier_log {
                logs.push(loaded.log);
            }
        }
        Ok(Self {
            kernel,
            plan,
            options,
            maps,
            programs,
            attached: Attached::default(),
            logs,
            _stats: stats,
            held: Some(hold_signals()),
        })
    }

    /// Runs the begin programs, then attaches everything, so that what is attached to one place fires in declaration order.
    ///
    /// # Errors
    /// When a begin program cannot be run, or a probe not be attached that the script does not allow to be missing.
    pub fn attach(&mut self) -> Result<AttachReport, Error> {
        self.run_by_hand(&AttachPoint::Begin)?;
        let mut report = AttachReport::default();
        for index in self.firing_order() {
            self.attach_program(index, &mut report)?;
        }
        let by_hand = self.plan.programs.iter().filter(|p| p.kind == ProgramKind::TestRun);
        report.attached += by_hand.map(|p| p.attachments.len() as u32).sum::<u32>();
        if self.plan.config.missing_probes == MissingProbes::Ignore {
            report.missing.clear();
        }
        Ok(report)
    }

    /// The script's maps and stored stacks, as they are now.
    #[must_use]
    pub fn maps(&self) -> MapReader<'_> {
        MapReader { kernel: &*self.kernel, plan: &self.plan, maps: &self.maps }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The verifier's words on each program, if they were asked for.
    #[must_use]
    pub fn verifier_logs(&self) -> &[String] {
        &self.logs
    }

    /// Whether anything is attached that can still fire.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.attached.is_empty()
    }

    /// Runs the programs of a begin or end point once, in order.
    pub(crate) fn run_by_hand(&self, point: &AttachPoint) -> Result<(), Error> {
        for (program, fd) in self.plan.programs.iter().zip(&self.programs) {
            for _ in program.attachments.iter().filter(|a| a.point == *point) {
                self.kernel.program_run(fd.as_fd()).map_err(|source| {
                    let (probe, span) = probe_of(&self.plan, program);
                    Error::Run { probe, span, source }
                })?;
            }
        }
        Ok(())
    }

    /// Whose events are wanted.
    pub(crate) fn process(&self) -> Option<u32> {
        self.options.child.as_ref().map(Child::pid).or(self.options.pid)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.detach();
        self.attached.forget_events(&*self.kernel);
    }
}

fn map_error(name: &str, source: SysError) -> Error {
    match source.kind() {
        Kind::Denied => Error::Denied { what: format!("create map {name}"), span: None, source },
        Kind::Unsupported => Error::Unsupported { what: format!("make map {name}"), span: None, source },
        _ => Error::Map { name: name.to_owned(), source },
    }
}

fn load_program(
    kernel: &dyn Kernel,
    plan: &Plan,
    maps: &[Map],
    program: &Program,
    keep_log: bool,
) -> Result<strix_sys::Loaded, Error> {
    let load = ProgramLoad {
        program,
        maps: &|index: MapIdx| maps.get(index.0 as usize).map(AsFd::as_fd),
        license: &plan.config.license,
        sources: &plan.sources,
        log: if keep_log { LogRequest::Always } else { LogRequest::OnRefusal },
        log_size: plan.config.log_size,
    };
    kernel.program_load(&load).map_err(|refused| load_error(plan, program, refused))
}

fn load_error(plan: &Plan, program: &Program, LoadError { error, log }: LoadError) -> Error {
    let (probe, span) = probe_of(plan, program);
    if log.trim().is_empty() {
        let what = format!("load the program of {probe}");
        return match error.kind() {
            Kind::Denied => Error::Denied { what, span: Some(span), source: error },
            _ => Error::Unsupported { what, span: Some(span), source: error },
        };
    }
    let verdict = verdict::read(&log);
    let exact = verdict.instruction.and_then(|at| verdict::span_of(program, at));
    Error::Rejected {
        program: program.name.clone(),
        probe,
        span: exact.unwrap_or(span),
        instruction: verdict.instruction,
        reason: verdict.reason,
        log,
    }
}

/// Name and place of a program's probe.
pub(crate) fn probe_of(plan: &Plan, program: &Program) -> (String, Span) {
    let probe = plan.probes.get(program.probe as usize);
    probe.map_or_else(|| (program.name.clone(), Span::default()), |p| (p.name.clone(), p.span))
}
