//! Programs: loading with map references filled in, the verifier's log, running one by hand.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use aya_obj::generated::{self as uapi, bpf_attach_type, bpf_cmd, bpf_prog_type, bpf_stats_type};
use strix_model::{Insn, MapRefKind, ProgramKind};

use super::{abi, address, address_mut, btf, c_string, call, call_for_fd, failed, info, object_name};
use crate::{LoadError, Loaded, LogRequest, ProgramLoad, Result, SysError};

const OP: &str = "bpf(BPF_PROG_LOAD)";
/// `BPF_LD | BPF_IMM | BPF_DW`: the load that takes two slots.
const WIDE_LOAD: u8 = 0x18;
/// The log starts with this much and grows as long as the kernel says it is too small.
const FIRST_LOG: usize = 64 << 10;
/// The kernel takes no larger buffer.
const LAST_LOG: usize = (u32::MAX >> 8) as usize;

const _: () = assert!(size_of::<Insn>() == size_of::<uapi::bpf_insn>());

/// Program type and expected attach type.
fn types_of(kind: &ProgramKind) -> (bpf_prog_type, u32) {
    use bpf_attach_type as attach;
    use bpf_prog_type as ty;
    let (program, attach) = match kind {
        ProgramKind::TestRun | ProgramKind::RawTracepoint => (ty::BPF_PROG_TYPE_RAW_TRACEPOINT, None),
        ProgramKind::Tracepoint => (ty::BPF_PROG_TYPE_TRACEPOINT, None),
        ProgramKind::BtfTracepoint { .. } => (ty::BPF_PROG_TYPE_TRACING, Some(attach::BPF_TRACE_RAW_TP)),
        ProgramKind::Fentry { .. } => (ty::BPF_PROG_TYPE_TRACING, Some(attach::BPF_TRACE_FENTRY)),
        ProgramKind::Fexit { .. } => (ty::BPF_PROG_TYPE_TRACING, Some(attach::BPF_TRACE_FEXIT)),
        ProgramKind::KprobeMulti { .. } => (ty::BPF_PROG_TYPE_KPROBE, Some(attach::BPF_TRACE_KPROBE_MULTI)),
        ProgramKind::UprobeMulti { .. } => (ty::BPF_PROG_TYPE_KPROBE, Some(attach::BPF_TRACE_UPROBE_MULTI)),
        ProgramKind::Kprobe | ProgramKind::Kretprobe | ProgramKind::Uprobe | ProgramKind::Uretprobe => {
            (ty::BPF_PROG_TYPE_KPROBE, None)
        }
        ProgramKind::PerfEvent => (ty::BPF_PROG_TYPE_PERF_EVENT, None),
    };
    (program, attach.map_or(0, |a| a as u32))
}

pub(crate) fn program_load(load: &ProgramLoad<'_>) -> Result<Loaded, LoadError> {
    let without_log = |error| LoadError { error, log: String::new() };
    let prepared = Prepared::new(load).map_err(without_log)?;
    if load.log == LogRequest::Always {
        return prepared.load_logged(load).map(|(fd, log)| Loaded { fd, log });
    }
    let first = match prepared.load(0, &mut []) {
        Ok(fd) => return Ok(Loaded { fd, log: String::new() }),
        Err(error) => error,
    };
    if !is_verdict(&first) {
        return Err(without_log(SysError::new(OP, &load.program.name, first)));
    }
    match prepared.load_logged(load) {
        Ok((fd, log)) => Ok(Loaded { fd, log }),
        // The kernel dislikes what we say about functions and lines, not the code: an old one, or a bug that must not
        // cost the user the run.
        Err(refused) if prepared.btf.is_some() && complains_about_info(&refused.log) => {
            let plain = Prepared { btf: None, ..prepared };
            plain.load_logged(load).map(|(fd, log)| Loaded { fd, log })
        }
        Err(refused) => Err(refused),
    }
}

/// Whether a second load, for the log, can tell more.
fn is_verdict(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EINVAL
                | libc::EACCES
                | libc::EPERM
                | libc::E2BIG
                | libc::EFAULT
                | libc::ENOENT
                | libc::ERANGE
        )
    ) || error
        .raw_os_error()
        .is_some_and(|errno| errno == 524 || errno == libc::EOPNOTSUPP || errno == libc::ELOOP)
}

fn complains_about_info(log: &str) -> bool {
    let start: String = log.chars().take(400).collect();
    ["func_info", "line_info", "Invalid insn_off", "func#", "type_id"].iter().any(|mark| start.contains(mark))
        && !start.contains("R1=ctx")
}

/// All that the load call points at, kept alive over retries.
struct Prepared {
    attr: abi::ProgLoad,
    insns: Vec<Insn>,
    license: std::ffi::CString,
    btf: Option<(OwnedFd, Vec<abi::FuncInfo>, Vec<abi::LineInfo>)>,
    module: Option<OwnedFd>,
    name: String,
}

impl Prepared {
    fn new(load: &ProgramLoad<'_>) -> Result<Self> {
        let program = load.program;
        let (program_type, attach_type) = types_of(&program.kind);
        let (attach_btf_id, module) = match &program.kind {
            ProgramKind::BtfTracepoint { btf_id } => (*btf_id, None),
            ProgramKind::Fentry { btf_id, module } | ProgramKind::Fexit { btf_id, module } => {
                (*btf_id, module.as_deref().filter(|&m| m != "vmlinux"))
            }
            _ => (0, None),
        };
        let attr = abi::ProgLoad {
            prog_type: program_type as u32,
            expected_attach_type: attach_type,
            attach_btf_id,
            prog_name: object_name(&program.name),
            ..Default::default()
        };
        Ok(Self {
            attr,
            insns: patched(load)?,
            license: c_string(OP, load.license)?,
            btf: load_btf(load),
            module: module.map(info::btf_of_module).transpose()?,
            name: program.name.clone(),
        })
    }

    fn load(&self, log_level: u32, log: &mut [u8]) -> io::Result<OwnedFd> {
        let mut attr = abi::ProgLoad {
            insn_cnt: self.insns.len() as u32,
            insns: address(&self.insns),
            license: address(self.license.as_bytes_with_nul()),
            log_level,
            log_size: log.len() as u32,
            log_buf: address_mut(log),
            attach_btf_obj_fd: self.module.as_ref().map_or(0, |fd| fd.as_raw_fd() as u32),
            ..self.attr
        };
        if let Some((fd, functions, lines)) = &self.btf {
            attr.prog_btf_fd = fd.as_raw_fd() as u32;
            attr.func_info_rec_size = size_of::<abi::FuncInfo>() as u32;
            attr.func_info = address(functions);
            attr.func_info_cnt = functions.len() as u32;
            attr.line_info_rec_size = size_of::<abi::LineInfo>() as u32;
            attr.line_info = address(lines);
            attr.line_info_cnt = lines.len() as u32;
        }
        // The kernel may answer EAGAIN when a signal is pending.
        for _ in 0..5 {
            // SAFETY: every address is of a slice that `self` or the caller owns, given with its length; the license ends with
            // a NUL; only `log` is written to.
            match unsafe { call_for_fd(bpf_cmd::BPF_PROG_LOAD, &mut attr) } {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                other => return other,
            }
        }
        Err(io::Error::from_raw_os_error(libc::EAGAIN))
    }

    /// Loads with a log, in a buffer that grows while the kernel says that it is too small.
    fn load_logged(&self, load: &ProgramLoad<'_>) -> Result<(OwnedFd, String), LoadError> {
        let most = (load.log_size as usize).clamp(4096, LAST_LOG);
        let mut size = FIRST_LOG.min(most);
        loop {
            let mut log = vec![0; size];
            match self.load(1, &mut log) {
                Ok(fd) => return Ok((fd, text_of(&log))),
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) && size < most => {
                    size = (size * 4).min(most);
                }
                Err(error) => {
                    return Err(LoadError {
                        error: SysError::new(OP, &self.name, error),
                        log: text_of(&log),
                    });
                }
            }
        }
    }
}

fn text_of(log: &[u8]) -> String {
    let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}

/// The code with descriptors in its map references.
fn patched(load: &ProgramLoad<'_>) -> Result<Vec<Insn>> {
    let program = load.program;
    let wrong =
        |what: String| SysError::new(OP, &program.name, io::Error::new(io::ErrorKind::InvalidInput, what));
    let mut insns = program.insns.clone();
    for reference in &program.map_refs {
        let fd = (load.maps)(reference.map)
            .ok_or_else(|| wrong(format!("map reference {} has no map", reference.map.0)))?;
        let at = reference.insn as usize;
        let Some([first, second]) = insns.get_mut(at..at + 2) else {
            return Err(wrong(format!("map reference at {at} lies outside the program")));
        };
        if first.code != WIDE_LOAD {
            return Err(wrong(format!("map reference at {at} is not a wide load")));
        }
        let (pseudo, offset) = match reference.kind {
            MapRefKind::Map => (uapi::BPF_PSEUDO_MAP_FD, 0),
            MapRefKind::Value { offset } => (uapi::BPF_PSEUDO_MAP_VALUE, offset),
        };
        first.regs = first.regs & 0x0f | (pseudo as u8) << 4;
        first.imm = fd.as_raw_fd();
        second.imm = offset as i32;
    }
    Ok(insns)
}

/// Loads the program's type information. A kernel that has no use for it loads the program without.
fn load_btf(load: &ProgramLoad<'_>) -> Option<(OwnedFd, Vec<abi::FuncInfo>, Vec<abi::LineInfo>)> {
    let built = btf::build(load.program, load.sources);
    let mut attr =
        abi::BtfLoad { btf: address(&built.data), btf_size: built.data.len() as u32, ..Default::default() };
    // SAFETY: `btf` is a live slice of `btf_size` bytes that is only read; no log is asked for.
    let fd = unsafe { call_for_fd(bpf_cmd::BPF_BTF_LOAD, &mut attr) }.ok()?;
    Some((fd, built.functions, built.lines))
}

pub(crate) fn program_run(program: BorrowedFd<'_>) -> Result<u32> {
    const OP: &str = "bpf(BPF_PROG_TEST_RUN)";
    let arguments = [0u64; 12];
    let mut attr = abi::ProgRun {
        prog_fd: program.as_raw_fd() as u32,
        ctx_in: address(&arguments),
        ctx_size_in: size_of_val(&arguments) as u32,
        ..Default::default()
    };
    // SAFETY: the context is a live array of the given size that is only read; there is no output buffer.
    unsafe { call(bpf_cmd::BPF_PROG_TEST_RUN, &mut attr) }.map_err(failed(OP, "program"))?;
    Ok(attr.retval)
}

pub(crate) fn enable_stats() -> Result<OwnedFd> {
    let mut attr = abi::EnableStats { stats_type: bpf_stats_type::BPF_STATS_RUN_TIME as u32 };
    // SAFETY: the attributes hold no addresses, and the result is a descriptor.
    let fd = unsafe { call_for_fd(bpf_cmd::BPF_ENABLE_STATS, &mut attr) };
    let fd = fd.map_err(failed("bpf(BPF_ENABLE_STATS)", "run time"))?;
    debug_assert!(fd.as_fd().as_raw_fd() > 2);
    Ok(fd)
}
