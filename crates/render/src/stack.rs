//! Symbols and stack lines, in every stack mode.

use std::fmt::Write as _;

use strix_model::{Frame, StackMode};

use crate::Names;

/// The address that a failed unwinder leaves as the last one.
const UNWIND_FAILURE: u64 = u64::MAX;

/// Indentation of a line in the default mode.
const INDENT: &str = "        ";

/// An address without a name: `0x…`, and a bare `0` for zero.
pub(crate) fn bare_address(address: u64) -> String {
    if address == 0 { "0".into() } else { format!("{address:#x}") }
}

/// A symbol without its offset, or the bare address.
#[must_use]
pub fn symbol(frame: Option<&Frame>, address: u64) -> String {
    frame.map_or_else(|| bare_address(address), |f| f.function.clone())
}

/// The lines of one stack, leaf first, each with its indentation. `pid` is `None` for kernel stacks.
#[must_use]
pub fn frame_lines(
    addresses: &[u64],
    limit: u16,
    mode: StackMode,
    pid: Option<u32>,
    names: &mut dyn Names,
) -> Vec<String> {
    let mut lines = Vec::with_capacity(addresses.len());
    let limit = if limit == 0 { addresses.len() } else { usize::from(limit) };
    for &address in addresses.iter().take(limit) {
        if address == UNWIND_FAILURE {
            lines.push(format!("{INDENT}<unwind failure>"));
            break;
        }
        match mode {
            StackMode::Raw => lines.push(format!("{address:x}")),
            StackMode::BuildId => lines.push(build_id_line(address, pid, names)),
            StackMode::Bpftrace => named(address, pid, names, |frame| lines.push(plain_line(frame, address))),
            StackMode::Perf => {
                named(address, pid, names, |frame| lines.push(perf_line(frame, address, pid.is_some())));
            }
        }
    }
    lines
}

/// Calls `each` for every function at the address, or once with `None`.
fn named(address: u64, pid: Option<u32>, names: &mut dyn Names, mut each: impl FnMut(Option<&Frame>)) {
    let frames = match pid {
        None => names.kernel_frames(address),
        Some(pid) => names.user_frames(pid, address),
    };
    if frames.is_empty() {
        each(None);
    }
    frames.iter().for_each(|frame| each(Some(frame)));
}

fn plain_line(frame: Option<&Frame>, address: u64) -> String {
    let Some(frame) = frame else { return format!("{INDENT}{}", bare_address(address)) };
    let mut line = String::from(INDENT);
    if frame.inlined {
        line.push_str("[inlined] ");
    }
    line.push_str(&frame.function);
    if !frame.inlined {
        let _ = write!(line, "+{}", frame.offset);
    }
    if let Some(source) = &frame.source {
        let _ = write!(line, "@{source}");
    }
    line
}

/// Kernel lines have no object in parentheses.
fn perf_line(frame: Option<&Frame>, address: u64, user: bool) -> String {
    let mut line = format!("\t{address:x} ");
    let Some(frame) = frame else {
        line.push_str(&bare_address(address));
        line.push_str(if user { " ([unknown])" } else { "" });
        return line;
    };
    line.push_str(&frame.function);
    if frame.inlined {
        line.push_str(" (inlined)");
        return line;
    }
    let _ = write!(line, "+{}", frame.offset);
    if user {
        let _ = write!(line, " ({})", frame.module.as_deref().unwrap_or("[unknown]"));
    }
    line
}

fn build_id_line(address: u64, pid: Option<u32>, names: &mut dyn Names) -> String {
    match pid.and_then(|pid| names.build_id(pid, address)) {
        Some((id, offset)) => format!("{id} {offset:#04x}"),
        None => format!("{address:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake;

    impl Names for Fake {
        fn kernel_symbol(&mut self, address: u64) -> Option<Frame> {
            (address == 0xffff_ffff_8100_0010).then(|| Frame {
                function: "vfs_read".into(),
                offset: 16,
                module: Some("ext4".into()),
                ..Frame::default()
            })
        }

        fn user_frames(&mut self, _pid: u32, address: u64) -> Vec<Frame> {
            if address != 0x401_136 {
                return Vec::new();
            }
            let inlined = Frame {
                function: "clock".into(),
                source: Some("/src/a.c:7".into()),
                inlined: true,
                ..Frame::default()
            };
            let outer = Frame {
                function: "main".into(),
                offset: 6,
                module: Some("/bin/app".into()),
                source: Some("/src/a.c:12".into()),
                inlined: false,
            };
            vec![inlined, outer]
        }

        fn build_id(&mut self, _pid: u32, address: u64) -> Option<(String, u64)> {
            (address == 0x401_136).then(|| ("00ab".into(), 5))
        }
    }

    fn user(addresses: &[u64], mode: StackMode) -> Vec<String> {
        frame_lines(addresses, 127, mode, Some(7), &mut Fake)
    }

    #[test]
    fn default_mode_is_indented_and_shows_inlined_functions_first() {
        assert_eq!(
            user(&[0x401_136, 0x77], StackMode::Bpftrace),
            ["        [inlined] clock@/src/a.c:7", "        main+6@/src/a.c:12", "        0x77",]
        );
        let kernel = frame_lines(&[0xffff_ffff_8100_0010, 0], 5, StackMode::Bpftrace, None, &mut Fake);
        assert_eq!(kernel, ["        vfs_read+16", "        0"]);
    }

    #[test]
    fn perf_mode_has_address_and_object() {
        assert_eq!(
            user(&[0x401_136, 0x77], StackMode::Perf),
            ["\t401136 clock (inlined)", "\t401136 main+6 (/bin/app)", "\t77 0x77 ([unknown])"]
        );
        let kernel = frame_lines(&[0xffff_ffff_8100_0010, 8], 5, StackMode::Perf, None, &mut Fake);
        assert_eq!(kernel, ["\tffffffff81000010 vfs_read+16", "\t8 0x8"]);
    }

    #[test]
    fn raw_and_build_id_modes_are_not_indented() {
        assert_eq!(user(&[0x401_136], StackMode::Raw), ["401136"]);
        assert_eq!(user(&[0x401_136, 0x77], StackMode::BuildId), ["00ab 0x05", "77"]);
    }

    #[test]
    fn limit_and_unwind_failure_end_a_stack() {
        assert_eq!(frame_lines(&[1, 2, 3], 2, StackMode::Raw, None, &mut Fake).len(), 2);
        assert_eq!(frame_lines(&[1, 2, 3], 0, StackMode::Raw, None, &mut Fake).len(), 3);
        assert_eq!(
            user(&[1, u64::MAX, 2], StackMode::Raw),
            ["1", "        <unwind failure>"],
            "nothing after the failure"
        );
    }

    #[test]
    fn symbols_without_a_name_are_addresses() {
        assert_eq!(symbol(None, 1), "0x1");
        assert_eq!(symbol(None, 0), "0");
        let frame = Frame { function: "f".into(), offset: 3, ..Frame::default() };
        assert_eq!(symbol(Some(&frame), 9), "f");
    }
}
