//! What a session leaves behind, and sessions beside each other: tests that a case file cannot say.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use regex_lite::Regex;

use crate::cases::maps;
use crate::cases::run::{Bench, NOTIFY, is_attached};
use crate::outcome::Outcome;
use crate::process::{self, Background};
use crate::{Result, workspace};

/// A test.
pub(super) struct Session {
    /// As in the listing.
    pub(super) name: &'static str,
    /// Left out by `--quick`.
    pub(super) slow: bool,
    /// The test.
    pub(super) run: fn(&Bench) -> Result<Outcome>,
}

/// All of them.
pub(super) const ALL: &[Session] = &[
    Session { name: "session-end-leaves-nothing", slow: false, run: end_leaves_nothing },
    Session { name: "session-kill-leaves-nothing", slow: false, run: kill_leaves_nothing },
    Session { name: "session-two-at-once", slow: false, run: two_at_once },
    Session { name: "session-blocked-reader-counts-its-loss", slow: false, run: blocked_reader },
    Session { name: "session-flood-is-complete-and-bounded", slow: false, run: flood },
    Session { name: "session-a-thousand-leak-nothing", slow: true, run: thousand },
];

const LIMIT: Duration = Duration::from_secs(60);

/// A script with every kind of kernel object: tracepoints, timers, user probes, a ring, hashes, stacks.
fn everything(bench: &Bench) -> String {
    let workload = bench.workloads.dynamic.display();
    format!(
        "tracepoint:syscalls:sys_enter_getppid {{ @a[comm] = count(); @s[kstack] = count(); }}
         tracepoint:raw_syscalls:sys_exit {{ @b[args.id] = hist(args.ret); }}
         profile:hz:99 {{ @c[cpu] = count(); }} interval:ms:50 {{ @d++; }} software:page-faults:100 {{ @e = count(); }}
         uprobe:{workload}:workload_work {{ @f[arg0] = 1; }} uretprobe:{workload}:workload_work {{ printf(\"%d\\n\", retval); }}
         END {{ printf(\"end\\n\"); }}"
    )
}

fn start(bench: &Bench, script: &str, name: &str) -> Result<Background> {
    let mut command = Command::new(&bench.strix);
    command.args(["trace", "-e", script]).env(NOTIFY, "1");
    let mut tracer = Background::start(command, &bench.scratch, name, None)?;
    let attached = tracer.wait_until(LIMIT, is_attached)?;
    if attached {
        return Ok(tracer);
    }
    Err(format!("did not attach\n{}{}", tracer.stdout(), tracer.stderr()).into())
}

fn work(bench: &Bench, words: &[&str]) -> Result<String> {
    process::quiet(Command::new(&bench.workloads.dynamic).args(words))
}

/// Ids of all programs, maps and links of the kernel; `None` without bpftool.
fn objects() -> Result<Option<Vec<(String, u64)>>> {
    let Some(bpftool) = workspace::find_program("bpftool") else { return Ok(None) };
    let mut all = Vec::new();
    for kind in ["prog", "map", "link"] {
        // bpftool may mount a bpffs, which must stay its own.
        let mut command = Command::new("unshare");
        command.arg("-m").arg(&bpftool).args(["-j", kind, "show"]);
        let listed: serde_json::Value = serde_json::from_str(&process::quiet(&mut command)?)?;
        let ids = listed.as_array().map(Vec::as_slice).unwrap_or_default();
        all.extend(ids.iter().filter_map(|o| Some((kind.to_owned(), o.get("id")?.as_u64()?))));
    }
    Ok(Some(all))
}

/// Objects that living processes have descriptors of: others may be tracing at the same time.
fn held() -> Vec<(String, u64)> {
    let mut held = Vec::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let entries =
        processes.filter_map(|p| std::fs::read_dir(p.path().join("fdinfo")).ok()).flatten().flatten();
    for entry in entries {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        for (key, kind) in [("prog_id:", "prog"), ("map_id:", "map"), ("link_id:", "link")] {
            let id = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
            held.extend(id.map(|id| (kind.to_owned(), id)));
        }
    }
    held
}

/// Compares with the objects of before; the kernel frees some of them a little later.
fn nothing_left(before: &[(String, u64)]) -> Result<Outcome> {
    let started = Instant::now();
    loop {
        let mut left = objects()?.unwrap_or_default();
        let others = held();
        left.retain(|object| !before.contains(object) && !others.contains(object));
        if left.is_empty() {
            return Ok(Outcome::Pass);
        }
        if started.elapsed() > Duration::from_secs(10) {
            return Ok(Outcome::Fail(vec![format!("left behind: {left:?}")]));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn leaves_nothing(bench: &Bench, signal: Signal) -> Result<Outcome> {
    let Some(before) = objects()? else { return Ok(Outcome::Skip("no program `bpftool`".into())) };
    let mut tracer = start(bench, &everything(bench), "everything")?;
    work(bench, &["work", "1000"])?;
    let during = objects()?.unwrap_or_default();
    if during.len() < before.len() + 5 {
        return Ok(Outcome::Fail(vec!["the session shows no kernel objects, so this proves nothing".into()]));
    }
    tracer.signal(signal);
    if tracer.wait(LIMIT)?.is_none() {
        return Ok(Outcome::Fail(vec!["does not end".into()]));
    }
    nothing_left(&before)
}

fn end_leaves_nothing(bench: &Bench) -> Result<Outcome> {
    leaves_nothing(bench, Signal::SIGTERM)
}

fn kill_leaves_nothing(bench: &Bench) -> Result<Outcome> {
    leaves_nothing(bench, Signal::SIGKILL)
}

fn two_at_once(bench: &Bench) -> Result<Outcome> {
    let script = "tracepoint:syscalls:sys_enter_getppid /comm == \"wl-run\"/ { @n = count(); }";
    let mut first = start(bench, script, "first")?;
    work(bench, &["getppid", "1000"])?;
    let mut second = start(bench, script, "second")?;
    work(bench, &["getppid", "500"])?;
    first.signal(Signal::SIGINT);
    let first_ended = first.wait(LIMIT)?.is_some();
    work(bench, &["getppid", "70"])?;
    second.signal(Signal::SIGINT);
    let second_ended = second.wait(LIMIT)?.is_some();
    let counted = [&first, &second].map(|t| count(&t.stdout()));
    if first_ended && second_ended && counted == [Some(1500), Some(570)] {
        return Ok(Outcome::Pass);
    }
    Ok(Outcome::Fail(vec![format!("counted {counted:?} instead of 1500 and 570")]))
}

fn count(stdout: &str) -> Option<i128> {
    maps::read(stdout).get(&("@n".to_owned(), String::new()))?.total()
}

/// Number in the closing line about lost events; 0 without one.
fn lost(stderr: &str) -> Result<u64> {
    let regex = Regex::new(r"otal lost event count: (\d+)")?;
    let found = regex.captures(stderr).and_then(|c| c.get(1)).map(|m| m.as_str().parse());
    Ok(found.transpose()?.unwrap_or(0))
}

const PRINT: &str =
    "tracepoint:syscalls:sys_enter_getppid /comm == \"wl-run\"/ { printf(\"event %d\\n\", pid); }";

/// Nobody reads the tracer's output, so it must lose events; what it printed and what it says it lost make the true number.
fn blocked_reader(bench: &Bench) -> Result<Outcome> {
    let total = 400_000;
    let mut command = Command::new(&bench.strix);
    command.args(["trace", "-B", "none", "-e", PRINT]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stderr = child.stderr.take().ok_or("no stderr")?;
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    // Standard output cannot be read to learn of the attachment, since reading it would unblock it.
    std::thread::sleep(Duration::from_secs(2));
    work(bench, &["getppid", &total.to_string()])?;
    let peak = process::peak_rss_kib(child.id()).unwrap_or(0);
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), Signal::SIGINT);
    let mut text = String::new();
    child.stdout.take().ok_or("no stdout")?.read_to_string(&mut text)?;
    child.wait()?;
    let stderr = errors.join().map_err(|_| "reader of stderr panicked")??;
    let printed = text.lines().filter(|l| l.starts_with("event ")).count() as u64;
    let lost = lost(&stderr)?;
    if printed + lost == total && lost > 0 && peak < 64 * 1024 {
        return Ok(Outcome::Pass);
    }
    Ok(Outcome::Fail(vec![
        format!("{printed} printed and {lost} said lost of {total}, peak {peak} KiB"),
        stderr,
    ]))
}

/// Output goes to a file, which takes it as fast as it comes: nothing may be lost.
fn flood(bench: &Bench) -> Result<Outcome> {
    let total = 300_000;
    let mut tracer = start(bench, PRINT, "flood")?;
    work(bench, &["getppid", &total.to_string()])?;
    tracer.signal(Signal::SIGINT);
    let peak = process::peak_rss_kib(tracer.pid()).unwrap_or(0);
    tracer.wait(LIMIT)?;
    let printed = tracer.stdout().lines().filter(|l| l.starts_with("event ")).count() as u64;
    let lost = lost(&tracer.stderr())?;
    if printed + lost == total && lost == 0 && peak < 48 * 1024 {
        return Ok(Outcome::Pass);
    }
    Ok(Outcome::Fail(vec![format!("{printed} printed and {lost} said lost of {total}, peak {peak} KiB")]))
}

fn thousand(bench: &Bench) -> Result<Outcome> {
    let Some(before) = objects()? else { return Ok(Outcome::Skip("no program `bpftool`".into())) };
    let files = open_files()?;
    for round in 0..1000 {
        let mut command = Command::new(&bench.strix);
        command.args([
            "trace",
            "-e",
            "BEGIN { @x = 1; exit(); } tracepoint:syscalls:sys_enter_getppid { @ = count(); }",
        ]);
        let text = process::quiet(&mut command)?;
        if !text.contains("@x: 1") {
            return Ok(Outcome::Fail(vec![format!("round {round} printed {text:?}")]));
        }
    }
    let grown = open_files()?.saturating_sub(files);
    if grown > 500 {
        return Ok(Outcome::Fail(vec![format!("{grown} more open files than before")]));
    }
    nothing_left(&before)
}

/// Files open in the whole system. Others open files too, so only a growth in the order of the rounds means something.
fn open_files() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/sys/fs/file-nr")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
}
