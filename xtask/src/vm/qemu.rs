//! Boots a guest and reads its report.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::guest;
use crate::cases::Case;
use crate::outcome::{Outcome, Tally};
use crate::process::Background;
use crate::{Result, workspace};

/// Time for a guest that has nothing to do.
const BOOT: Duration = Duration::from_secs(90);
/// Additional time for each case.
const PER_CASE: Duration = Duration::from_secs(40);

/// The emulator; installed first if that is allowed.
pub(super) fn find() -> Option<PathBuf> {
    let program = "qemu-system-x86_64";
    if let Some(path) = workspace::find_program(program) {
        return Some(path);
    }
    if workspace::may_install() {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "-y", "-q", "--no-install-recommends", "qemu-system-x86", "busybox-static"]);
        let _ = crate::process::quiet(apt.env("DEBIAN_FRONTEND", "noninteractive"));
    }
    workspace::find_program(program)
}

/// Boots `image` and counts the cases. Hardware virtualisation is used only if `STRIX_VM_ACCEL` asks for it: nested in another
/// machine it often starts and then fails.
pub(super) fn boot(
    qemu: &Path,
    kernel: &str,
    image: &Path,
    initramfs: &Path,
    cases: &[Case],
    filter: &str,
) -> Result<Tally> {
    let wanted: Vec<&Case> = cases.iter().filter(|case| guest::is_chosen(case, kernel, filter)).collect();
    let mut tally = Tally::default();
    if wanted.is_empty() {
        return Ok(tally);
    }
    let accel = std::env::var("STRIX_VM_ACCEL").unwrap_or_else(|_| "tcg,thread=single".into());
    let mut command = Command::new(qemu);
    command.args(["-accel", &accel, "-cpu", "max", "-m", "1024", "-nographic", "-no-reboot", "-net", "none"]);
    command.arg("-kernel").arg(image).arg("-initrd").arg(initramfs);
    command.args(["-append", "console=ttyS0 panic=-1 quiet"]);
    let folder = workspace::target_dir().join("vm");
    let mut machine = Background::start(command, &folder, &format!("console-{kernel}"), None)?;
    let ended = machine.wait(BOOT + PER_CASE * wanted.len() as u32)?.is_some();
    let console = machine.stdout();
    let took = machine.age();
    let report = read(&console);
    for case in wanted {
        let (millis, outcome) = report.outcome(&case.name);
        tally.add(&format!("vm/{kernel}/{}", case.name), Duration::from_millis(millis), &outcome);
    }
    if !ended || !report.ended || !report.errors.is_empty() {
        let mut lines = report.errors;
        lines.push(format!("ended: {ended}; console in {}", machine.stdout_path().display()));
        let tail: Vec<&str> = console.lines().rev().take(15).collect();
        lines.extend(tail.iter().rev().map(|line| format!("console| {}", line.escape_debug())));
        tally.add(&format!("vm/{kernel}/boot"), took, &Outcome::Fail(lines));
    }
    Ok(tally)
}

/// What the guest said.
#[derive(Debug, Default)]
struct Report {
    verdicts: Vec<(String, u64, Outcome)>,
    errors: Vec<String>,
    ended: bool,
}

impl Report {
    fn outcome(&self, name: &str) -> (u64, Outcome) {
        match self.verdicts.iter().find(|(n, _, _)| n == name) {
            Some((_, millis, outcome)) => (*millis, outcome.clone()),
            None => (0, Outcome::Fail(vec!["the guest did not get to it".into()])),
        }
    }
}

fn read(console: &str) -> Report {
    let mut report = Report::default();
    let mut details = Vec::new();
    let lines = console.lines().filter_map(|line| Some(line.split_once(guest::MARK)?.1.trim()));
    for line in lines {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.splitn(3, ' ');
        let millis = words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
        let name = words.next().unwrap_or_default().to_owned();
        match kind {
            "detail" => details.push(rest.to_owned()),
            "pass" => report.verdicts.push((name, millis, Outcome::Pass)),
            "fail" => report.verdicts.push((name, millis, Outcome::Fail(std::mem::take(&mut details)))),
            "skip" => {
                report.verdicts.push((
                    name,
                    millis,
                    Outcome::Skip(words.next().unwrap_or_default().to_owned()),
                ));
            }
            "error" => report.errors.push(rest.to_owned()),
            "end" => report.ended = true,
            "boot" => println!("vm: {rest}"),
            _ => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_from_a_console() {
        let text = "SeaBIOS\r\nSTRIX-VM boot 6.1\r\n\u{1b}[0mSTRIX-VM pass 12 a\nnoise\nSTRIX-VM detail why\nSTRIX-VM fail 3 b\nSTRIX-VM skip 0 c no kprobe\nSTRIX-VM end\n";
        let report = read(text);
        assert!(report.ended);
        assert_eq!(report.outcome("a"), (12, Outcome::Pass));
        assert_eq!(report.outcome("b").1, Outcome::Fail(vec!["why".into()]));
        assert_eq!(report.outcome("c").1, Outcome::Skip("no kprobe".into()));
        assert!(matches!(report.outcome("d").1, Outcome::Fail(_)));
    }
}
