//! Running other programs: with a check, with a time limit, in the background.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::Result;

/// How often something is looked at while waiting for it.
const TICK: Duration = Duration::from_millis(3);

/// Runs to the end with this terminal; an unsuccessful end is an error.
pub(crate) fn checked(command: &mut Command) -> Result {
    let status = command.status().map_err(|e| format!("{}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", shown(command)).into()) }
}

/// Runs to the end without input; gives stdout as text, and stderr in the error.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{}: {e}", shown(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` failed: {}\n{}", shown(command), output.status, stderr.trim_end()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A program in the background, in a process group of its own, with output in files. Dropped, the whole group is killed.
#[derive(Debug)]
pub(crate) struct Background {
    child: Child,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
    ended: Option<ExitStatus>,
}

impl Background {
    /// Starts it; stdout and stderr go to `NAME.out` and `NAME.err` in `folder`.
    pub(crate) fn start(
        mut command: Command,
        folder: &Path,
        name: &str,
        stdin: Option<&str>,
    ) -> Result<Self> {
        let (stdout, stderr) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?).process_group(0);
        match stdin {
            Some(text) => {
                let file = folder.join(format!("{name}.in"));
                std::fs::write(&file, text)?;
                command.stdin(File::open(file)?)
            }
            None => command.stdin(Stdio::null()),
        };
        let started = Instant::now();
        let child = command.spawn().map_err(|e| format!("{}: {e}", shown(&command)))?;
        Ok(Self { child, started, stdout, stderr, ended: None })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Time since the start.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Output so far.
    pub(crate) fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// Error output so far.
    pub(crate) fn stderr(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// Where the output goes.
    pub(crate) fn stdout_path(&self) -> &Path {
        &self.stdout
    }

    /// Sends a signal to the process itself, not to its group.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It may have ended meanwhile, which the next wait finds out.
            let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
        }
    }

    /// Its end, if it has ended.
    pub(crate) fn poll(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    /// Waits for the end; `None` when `limit` (since the start) passes first.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.poll()? {
                return Ok(Some(status));
            }
            if self.age() > limit {
                return Ok(None);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Waits until `ready` says so; `false` when it ended or `limit` passed before.
    pub(crate) fn wait_until(
        &mut self,
        limit: Duration,
        mut ready: impl FnMut(&Self) -> bool,
    ) -> Result<bool> {
        loop {
            let ended = self.poll()?.is_some();
            if ready(self) {
                return Ok(true);
            }
            if ended || self.age() > limit {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Grandchildren of a shell may outlive it, so the group is killed even when the leader is gone.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// The exit code as a shell shows it.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn read_lossy(path: &Path) -> String {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Peak resident memory of a running process in KiB.
pub(crate) fn peak_rss_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Splits a command line into words: blanks separate, single and double quotes group, nothing is expanded.
pub(crate) fn words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_with(String::new).push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("unclosed quote in `{line}`").into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_group_words() {
        assert_eq!(words("a 'b c'  \"d 'e\" ''").unwrap(), ["a", "b c", "d 'e", ""]);
        assert!(words("a 'b").is_err());
    }
}
