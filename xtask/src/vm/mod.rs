//! `cargo xtask vm`: the cases of `tests/vm` on other kernels. Each kernel is booted once under QEMU with an initramfs that holds
//! the release binary, the workload, the cases and this program as `/init`.

pub(crate) mod cpio;
pub(crate) mod guest;
mod initramfs;
mod kernels;
mod qemu;

use std::process::ExitCode;

use crate::args::Args;
use crate::outcome::Tally;
use crate::{Result, cases, workspace};

/// Kernels that must work: the oldest with a ring buffer and BTF in a Debian release, and its two successors.
const KERNELS: &[&str] = &["5.10", "6.1", "6.12"];

/// The task.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let kernels = args.list("--kernel").unwrap_or_else(|| KERNELS.iter().map(|k| (*k).to_owned()).collect());
    let filter = args.rest.first().map_or("", String::as_str);
    Ok(on(&kernels, filter)?.close())
}

/// All kernels that must work.
pub(crate) fn all() -> Result<Tally> {
    let kernels: Vec<String> = KERNELS.iter().map(|k| (*k).to_owned()).collect();
    on(&kernels, "")
}

fn on(kernels: &[String], filter: &str) -> Result<Tally> {
    let mut tally = Tally::default();
    let cases = cases::load(&workspace::root().join("tests/vm"))?;
    let skip = |tally: &mut Tally, kernel: &str, why: &str| {
        println!("skip vm/{kernel} (all cases): {why}");
        tally.skipped += 1;
    };
    let Some(qemu) = qemu::find() else {
        for kernel in kernels {
            skip(
                &mut tally,
                kernel,
                "no qemu-system-x86_64 (package qemu-system-x86; STRIX_SETUP=1 as root installs it)",
            );
        }
        return Ok(tally);
    };
    let initramfs = initramfs::build(filter)?;
    for kernel in kernels {
        match kernels::obtain(kernel) {
            Ok(image) => tally.merge(qemu::boot(&qemu, kernel, &image, &initramfs, &cases, filter)?),
            Err(error) => skip(&mut tally, kernel, &format!("no kernel image: {error}")),
        }
    }
    Ok(tally)
}
