//! Runs one case with one tool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::check::Observed;
use super::{Agree, Body, Case, Stop, needs};
use crate::Result;
use crate::outcome::Outcome;
use crate::process::{self, Background};
use crate::workspace::{self, Workloads};

/// A tracer prints this line on stdout (old ones on stderr) once it has attached, when the variable of that name is set.
pub(crate) const NOTIFY: &str = "__BPFTRACE_NOTIFY_PROBES_ATTACHED";

/// A tracer with bpftrace's command line.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Words of the command that come before the options.
    pub(crate) command: Vec<String>,
    /// Where the tool sees the root of this machine's files, for a tool in a chroot; else empty.
    pub(crate) root: String,
}

impl Tool {
    /// `strix trace`.
    pub(crate) fn strix(path: &Path) -> Self {
        Self { command: vec![path.to_string_lossy().into_owned(), "trace".into()], root: String::new() }
    }
}

/// What cases are run with.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// The binary under test; the shell of `RUN` finds it as `strix` and as `bpftrace`.
    pub(crate) strix: PathBuf,
    /// Observed programs.
    pub(crate) workloads: Workloads,
    /// The shared libc, if there is one.
    pub(crate) libc: Option<PathBuf>,
    /// Folder for the cases' files.
    pub(crate) scratch: PathBuf,
    /// Factor on time limits, for slow machines.
    pub(crate) patience: u32,
}

impl Bench {
    /// Prepares the scratch folder, with links by the names of the personalities.
    pub(crate) fn new(strix: PathBuf, workloads: Workloads, scratch: PathBuf, patience: u32) -> Result<Self> {
        let links = scratch.join("bin");
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&links)?;
        for name in ["strix", "bpftrace"] {
            std::os::unix::fs::symlink(&strix, links.join(name))?;
        }
        let libc = shared_libc();
        Ok(Self { strix, workloads, libc, scratch, patience })
    }

    /// Runs a case with strix and judges it.
    pub(crate) fn judge(&self, case: &Case) -> Outcome {
        if let Some(why) = case.needs.iter().find_map(|need| needs::met(need).err()) {
            return Outcome::Skip(why);
        }
        match self.observe(case, &Tool::strix(&self.strix)) {
            Err(error) => Outcome::Fail(vec![format!("{} ({error})", case.place)]),
            Ok(seen) => verdict(case, &seen),
        }
    }

    /// Runs a case with both tools and compares.
    pub(crate) fn compare(&self, case: &Case, peer: &Tool) -> Outcome {
        if case.agree == Agree::Nothing {
            return Outcome::Skip("not a differential case".into());
        }
        if let Some(why) = case.needs.iter().find_map(|need| needs::met(need).err()) {
            return Outcome::Skip(why);
        }
        let ours = self.observe(case, &Tool::strix(&self.strix));
        let theirs = self.observe(case, peer);
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(error), _) => return Outcome::Fail(vec![format!("{}: ours: {error}", case.place)]),
            (_, Err(error)) => return Outcome::Fail(vec![format!("{}: theirs: {error}", case.place)]),
        };
        let mut lines = super::diff::differences(case.agree, &ours, &theirs);
        if let Outcome::Fail(more) = verdict(case, &theirs) {
            lines.push("the peer itself does not fulfil the case:".into());
            lines.extend(more);
        }
        if lines.is_empty() { Outcome::Pass } else { Outcome::Fail(lines) }
    }

    fn observe(&self, case: &Case, tool: &Tool) -> Result<Observed> {
        let folder = self.scratch.join("case");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        for (name, text) in &case.files {
            std::fs::write(folder.join(name), text)?;
        }
        let limit = case.timeout * self.patience;
        let mut before = match &case.before {
            Some(line) => Some(self.start_before(line, &folder)?),
            None => None,
        };
        let fill = |text: &str| self.fill(text, &tool.root, &folder, before.as_ref().map(Background::pid));
        let mut command = self.command(case, tool, &fill)?;
        command.current_dir(&folder);
        let stdin = case.stdin.as_ref().map(|text| fill(text));
        let mut tracer = Background::start(command, &folder, "tracer", stdin.as_deref())?;
        let mut rss = None;
        if let Some(workload) = &case.workload {
            if !tracer.wait_until(limit, is_attached)? {
                return Err(format!("did not attach\n{}{}", tracer.stdout(), tracer.stderr()).into());
            }
            self.run_workload(&fill(workload), &folder, limit)?;
            rss = process::peak_rss_kib(tracer.pid());
        }
        if let Stop::By(signal) = case.stop {
            if case.workload.is_none() {
                tracer.wait_until(limit, is_attached)?;
            }
            tracer.signal(signal);
        }
        // Looked at meanwhile, so that it does not stay a zombie and seem to be running.
        tracer.wait_until(limit, |_| {
            let _ = before.as_mut().map(Background::poll);
            false
        })?;
        let Some(status) = tracer.poll()? else {
            return Err(format!(
                "no end after {} s\n{}{}",
                limit.as_secs(),
                tracer.stdout(),
                tracer.stderr()
            )
            .into());
        };
        let stdout: Vec<String> =
            tracer.stdout().lines().filter(|l| *l != NOTIFY).map(str::to_owned).collect();
        Ok(Observed {
            stdout: stdout.join("\n"),
            stderr: tracer.stderr(),
            exit: process::code(status),
            rss_kib: rss,
            wall_ms: tracer.age().as_millis() as u64,
        })
    }

    fn start_before(&self, line: &str, folder: &Path) -> Result<Background> {
        let words = process::words(&self.fill(line, "", folder, None))?;
        let command = command_of(&words)?;
        let background = Background::start(command, folder, "before", None)?;
        // Long enough to have passed exec, so that its name and mappings are its own.
        std::thread::sleep(Duration::from_millis(50));
        Ok(background)
    }

    fn run_workload(&self, text: &str, folder: &Path, limit: Duration) -> Result {
        for line in text.lines() {
            let mut command = command_of(&process::words(line)?)?;
            command.current_dir(folder);
            let mut workload = Background::start(command, folder, "workload", None)?;
            match workload.wait(limit)? {
                Some(status) if status.success() => {}
                Some(status) => {
                    return Err(format!("workload `{line}`: {status}\n{}", workload.stderr()).into());
                }
                None => return Err(format!("workload `{line}` does not end").into()),
            }
        }
        Ok(())
    }

    fn command(&self, case: &Case, tool: &Tool, fill: &dyn Fn(&str) -> String) -> Result<Command> {
        let mut words = tool.command.clone();
        match &case.body {
            Body::Run(script) => words = vec!["/bin/sh".into(), "-euc".into(), fill(script)],
            Body::Call(line) => words.extend(process::words(&fill(line))?),
            Body::Prog(script) => {
                words.extend(process::words(&fill(&case.args))?);
                words.extend(["-e".into(), fill(script)]);
                words.extend(process::words(&fill(&case.params))?);
            }
        }
        let mut command = command_of(&words)?;
        command.env("PATH", format!("{}:{}", self.scratch.join("bin").display(), workspace::search_path()));
        command.env(NOTIFY, "1").env_remove("NO_COLOR");
        command.envs(case.env.iter().map(|(key, value)| (key, fill(value))));
        Ok(command)
    }

    /// Puts paths and numbers in place of their names in braces.
    fn fill(&self, text: &str, root: &str, folder: &Path, before: Option<u32>) -> String {
        let path = |p: &Path| p.to_string_lossy().into_owned();
        let libc = self.libc.as_deref().map(|p| format!("{root}{}", p.display())).unwrap_or_default();
        text.replace("{workload}", &path(&self.workloads.dynamic))
            .replace("{static}", &path(&self.workloads.fixed))
            .replace("{libc}", &libc)
            .replace("{dir}", &path(folder))
            .replace("{before}", &before.map(|pid| pid.to_string()).unwrap_or_default())
    }
}

fn command_of(words: &[String]) -> Result<Command> {
    let (program, args) = words.split_first().ok_or("an empty command")?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

/// Whether a tracer that was started with [`NOTIFY`] in its environment has attached.
pub(crate) fn is_attached(tracer: &Background) -> bool {
    [tracer.stdout(), tracer.stderr()].iter().any(|text| text.lines().any(|line| line == NOTIFY))
}

fn verdict(case: &Case, seen: &Observed) -> Outcome {
    let mut lines: Vec<String> = case.checks.iter().filter_map(|check| check.failure(seen)).collect();
    let killed = case.stop == Stop::By(nix::sys::signal::Signal::SIGKILL);
    if seen.exit != case.exit && !killed {
        lines.push(format!("exit code {} instead of {}", seen.exit, case.exit));
    }
    if lines.is_empty() {
        return Outcome::Pass;
    }
    lines.insert(0, case.place.clone());
    for (name, text) in [("stdout", &seen.stdout), ("stderr", &seen.stderr)] {
        lines.extend(text.lines().take(30).map(|line| format!("{name}| {line}")));
    }
    Outcome::Fail(lines)
}

/// The libc that the programs of this machine use.
fn shared_libc() -> Option<PathBuf> {
    let usual = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"];
    usual.into_iter().map(PathBuf::from).find(|path| path.exists())
}
