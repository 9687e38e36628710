//! Links: what keeps a program attached, with the older ways for older kernels.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use aya_obj::generated::{self as uapi, bpf_attach_type, bpf_cmd};

use super::{abi, address, c_string, call_for_fd, failed};
use crate::kernel::{LinkSpec, Places, TracingHook};
use crate::{Result, SysError, perf};

const OP: &str = "bpf(BPF_LINK_CREATE)";
const OPEN: &str = "bpf(BPF_RAW_TRACEPOINT_OPEN)";

pub(crate) fn link_create(program: BorrowedFd<'_>, link: &LinkSpec<'_>) -> Result<Option<OwnedFd>> {
    match link {
        LinkSpec::Perf { event, cookie } => perf_link(program, *event, *cookie),
        LinkSpec::Tracing { hook, cookie } => tracing(program, *hook, *cookie).map(Some),
        LinkSpec::RawTracepoint { name, cookie } => raw_tracepoint(program, name, *cookie).map(Some),
        LinkSpec::KprobeMulti { ret, places, cookies } => {
            kprobe_multi(program, *ret, places, cookies).map(Some)
        }
        LinkSpec::UprobeMulti { ret, path, offsets, cookies, pid } => {
            uprobe_multi(program, *ret, path, (offsets, cookies), *pid).map(Some)
        }
    }
}

fn perf_link(program: BorrowedFd<'_>, event: BorrowedFd<'_>, cookie: u64) -> Result<Option<OwnedFd>> {
    let mut attr = abi::LinkPerf {
        prog_fd: raw(program),
        target_fd: raw(event),
        attach_type: bpf_attach_type::BPF_PERF_EVENT as u32,
        bpf_cookie: cookie,
        ..Default::default()
    };
    // SAFETY: the attributes hold no addresses, and the result is a descriptor.
    match unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr) } {
        Ok(fd) => Ok(Some(fd)),
        // Before 5.15 there is no such link: the program becomes part of the event.
        Err(error) if is_unknown(&error) => perf::set_program(event, program).map(|()| None),
        Err(error) => Err(SysError::new(OP, "perf event", error)),
    }
}

fn tracing(program: BorrowedFd<'_>, hook: TracingHook, cookie: u64) -> Result<OwnedFd> {
    let attach = match hook {
        TracingHook::Entry => bpf_attach_type::BPF_TRACE_FENTRY,
        TracingHook::Return => bpf_attach_type::BPF_TRACE_FEXIT,
        TracingHook::Tracepoint => bpf_attach_type::BPF_TRACE_RAW_TP,
    };
    let mut attr =
        abi::LinkTracing { prog_fd: raw(program), attach_type: attach as u32, cookie, ..Default::default() };
    // SAFETY: the attributes hold no addresses, and the result is a descriptor.
    match unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr) } {
        Ok(fd) => return Ok(fd),
        // Older kernels make these links by the other command only, without a cookie.
        Err(error) if is_unknown(&error) => {}
        Err(error) => return Err(SysError::new(OP, "function or tracepoint", error)),
    }
    let mut attr = abi::RawTracepointOpen { prog_fd: raw(program), ..Default::default() };
    // SAFETY: a name of 0 says "where the program was loaded for"; the result is a descriptor.
    unsafe { call_for_fd(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut attr) }
        .map_err(failed(OPEN, "function or tracepoint"))
}

fn raw_tracepoint(program: BorrowedFd<'_>, name: &str, cookie: u64) -> Result<OwnedFd> {
    let c_name = c_string(OPEN, name)?;
    let mut attr = abi::RawTracepointOpen {
        name: address(c_name.as_bytes_with_nul()),
        prog_fd: raw(program),
        cookie,
        ..Default::default()
    };
    // SAFETY: the name is a live C string that is only read; the result is a descriptor.
    let first = unsafe { call_for_fd(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut attr) };
    match first {
        Err(error) if cookie != 0 && is_unknown(&error) => {}
        other => return other.map_err(failed(OPEN, name)),
    }
    attr.cookie = 0;
    // SAFETY: as above.
    unsafe { call_for_fd(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut attr) }.map_err(failed(OPEN, name))
}

fn kprobe_multi(program: BorrowedFd<'_>, ret: bool, places: &Places<'_>, cookies: &[u64]) -> Result<OwnedFd> {
    let names = match places {
        Places::Symbols(names) => names.iter().map(|name| c_string(OP, name)).collect::<Result<Vec<_>>>()?,
        Places::Addresses(_) => Vec::new(),
    };
    let syms: Vec<u64> = names.iter().map(|name| address(name.as_bytes_with_nul())).collect();
    let addresses = match places {
        Places::Symbols(_) => &[][..],
        Places::Addresses(addresses) => addresses,
    };
    let count = syms.len().max(addresses.len());
    check_cookies("functions", count, cookies)?;
    let mut attr = abi::LinkKprobeMulti {
        prog_fd: raw(program),
        attach_type: bpf_attach_type::BPF_TRACE_KPROBE_MULTI as u32,
        multi_flags: if ret { uapi::BPF_F_KPROBE_MULTI_RETURN } else { 0 },
        cnt: count as u32,
        syms: address(&syms),
        addrs: address(addresses),
        cookies: address(cookies),
        ..Default::default()
    };
    // SAFETY: each array has `cnt` elements or is not given; `syms` holds addresses of live C strings; all are only read.
    unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr) }
        .map_err(failed(OP, &format!("{count} kernel functions")))
}

fn uprobe_multi(
    program: BorrowedFd<'_>,
    ret: bool,
    path: &str,
    (offsets, cookies): (&[u64], &[u64]),
    pid: Option<u32>,
) -> Result<OwnedFd> {
    let c_path = c_string(OP, path)?;
    check_cookies(path, offsets.len(), cookies)?;
    let mut attr = abi::LinkUprobeMulti {
        prog_fd: raw(program),
        attach_type: bpf_attach_type::BPF_TRACE_UPROBE_MULTI as u32,
        path: address(c_path.as_bytes_with_nul()),
        offsets: address(offsets),
        cookies: address(cookies),
        cnt: offsets.len() as u32,
        multi_flags: if ret { uapi::BPF_F_UPROBE_MULTI_RETURN } else { 0 },
        pid: pid.unwrap_or(0),
        ..Default::default()
    };
    // SAFETY: the path is a live C string, each array has `cnt` elements or is not given; all are only read.
    unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr) }.map_err(failed(OP, path))
}

fn check_cookies(target: &str, places: usize, cookies: &[u64]) -> Result<()> {
    if cookies.is_empty() || cookies.len() == places {
        return Ok(());
    }
    let error = io::Error::new(io::ErrorKind::InvalidInput, "not one cookie a place");
    Err(SysError::new(OP, target, error))
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP | libc::E2BIG | 524))
}

fn raw(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}
