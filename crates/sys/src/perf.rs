//! perf_event_open(2): attributes of each kind of event, and the ioctls of an open one.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{self as uapi, perf_event_attr};
use strix_model::Period;

use crate::bpf::c_string;
use crate::error::{last, uprobe_hint};
use crate::kernel::{KprobePlace, PerfEvent, PerfSource, PerfTarget};
use crate::{Kind, Result, SysError};

const OP: &str = "perf_event_open";
const DEVICES: &str = "/sys/bus/event_source/devices";

/// Opens an event that is not yet enabled.
pub(crate) fn open(event: &PerfEvent<'_>) -> Result<OwnedFd> {
    let mut request = Request::new(&event.source)?;
    let (pid, cpu) = match event.target {
        PerfTarget::Cpu(cpu) => (-1, cpu as i32),
        PerfTarget::Thread(tid) => (tid as i32, -1),
    };
    // A counted event of one thread is to go on in the threads it makes. Breakpoints follow the address space by themselves.
    if pid > 0 && request.counts {
        request.attr.set_inherit(1);
        request.attr.set_inherit_thread(1);
        match request.open(pid, cpu) {
            // Kernels before 5.13 know no such bit; there the rest of the process tree comes along.
            Err(error) if error.kind() == Kind::Unsupported => request.attr.set_inherit_thread(0),
            other => return other,
        }
    }
    request.open(pid, cpu)
}

/// Attributes with the text they point at.
struct Request {
    attr: perf_event_attr,
    /// Kept for the address in `attr`.
    _text: Option<std::ffi::CString>,
    target: String,
    /// Counts events of a task, as against being hit at a place.
    counts: bool,
    user_probe: bool,
}

impl Request {
    fn new(source: &PerfSource<'_>) -> Result<Self> {
        let mut attr = perf_event_attr { size: size_of::<perf_event_attr>() as u32, ..Default::default() };
        attr.set_disabled(1);
        let mut text = None;
        let mut counts = true;
        let target = match *source {
            PerfSource::Clock(period) => {
                attr.type_ = uapi::PERF_TYPE_SOFTWARE;
                attr.config = u64::from(uapi::PERF_COUNT_SW_CPU_CLOCK);
                match period {
                    Period::Hertz(hertz) => {
                        attr.set_freq(1);
                        attr.__bindgen_anon_1.sample_freq = hertz;
                    }
                    Period::Nanos(nanos) => attr.__bindgen_anon_1.sample_period = nanos,
                }
                format!("timer {period}")
            }
            PerfSource::Software { event, period } => {
                attr.type_ = uapi::PERF_TYPE_SOFTWARE;
                attr.config = event.config();
                attr.__bindgen_anon_1.sample_period = period;
                format!("software event {}", event.name())
            }
            PerfSource::Hardware { event, period } => {
                attr.type_ = uapi::PERF_TYPE_HARDWARE;
                attr.config = event.config();
                attr.__bindgen_anon_1.sample_period = period;
                format!("hardware event {}", event.name())
            }
            PerfSource::Tracepoint { id } => {
                counts = false;
                attr.type_ = uapi::PERF_TYPE_TRACEPOINT;
                attr.config = id;
                attr.__bindgen_anon_1.sample_period = 1;
                format!("tracepoint {id}")
            }
            PerfSource::Kprobe { ret, place } => {
                counts = false;
                dynamic(&mut attr, "kprobe", ret)?;
                match place {
                    KprobePlace::Function { name, offset } => {
                        let name_text = text.insert(c_string(OP, name)?);
                        attr.__bindgen_anon_3.kprobe_func = name_text.as_ptr() as u64;
                        attr.__bindgen_anon_4.probe_offset = offset;
                        name.to_owned()
                    }
                    KprobePlace::Address(address) => {
                        attr.__bindgen_anon_4.kprobe_addr = address;
                        format!("kernel address {address:#x}")
                    }
                }
            }
            PerfSource::Uprobe { ret, path, offset } => {
                counts = false;
                dynamic(&mut attr, "uprobe", ret)?;
                let path_text = text.insert(c_string(OP, path)?);
                attr.__bindgen_anon_3.uprobe_path = path_text.as_ptr() as u64;
                attr.__bindgen_anon_4.probe_offset = offset;
                format!("{path} at {offset:#x}")
            }
        };
        let user_probe = matches!(source, PerfSource::Uprobe { .. });
        Ok(Self { attr, _text: text, target, counts, user_probe })
    }

    fn open(&mut self, pid: i32, cpu: i32) -> Result<OwnedFd> {
        let flags = libc::c_ulong::from(uapi::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: `attr` is initialised, its size field is right, and the text it points at is alive in `self`.
        let raw = unsafe { perf_event_open_sys::perf_event_open(&mut self.attr, pid, cpu, -1, flags) };
        if raw < 0 {
            let mut error = last(OP, self.target.clone());
            if self.user_probe && error.kind() == Kind::Denied {
                error.hint = uprobe_hint().or(error.hint);
            }
            return Err(error);
        }
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(raw) })
    }
}

/// Type and return flag of the kernel's event source for probes (since v4.17).
fn dynamic(attr: &mut perf_event_attr, device: &str, ret: bool) -> Result<()> {
    let path = format!("{DEVICES}/{device}/type");
    let kind = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            let config = if device == "kprobe" { "CONFIG_KPROBE_EVENTS" } else { "CONFIG_UPROBE_EVENTS" };
            let mut error = SysError::new("open", &path, io::Error::from_raw_os_error(libc::EOPNOTSUPP));
            error.hint = Some(format!("the kernel has no {device}s: it is built without {config}"));
            error
        }
        _ => SysError::new("read", &path, source),
    })?;
    attr.type_ = parse(&path, kind.trim())?;
    if ret {
        let path = format!("{DEVICES}/{device}/format/retprobe");
        let format = std::fs::read_to_string(&path).map_err(|e| SysError::new("read", &path, e))?;
        let bit: u32 = parse(&path, format.trim().trim_start_matches("config:"))?;
        attr.config |= 1u64.checked_shl(bit).unwrap_or(0);
    }
    Ok(())
}

fn parse(path: &str, text: &str) -> Result<u32> {
    text.parse().map_err(|_| {
        let error = io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} is not a number"));
        SysError::new("read", path, error)
    })
}

/// Makes a program part of an event; it ends with it.
pub(crate) fn set_program(event: BorrowedFd<'_>, program: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request takes a descriptor by value.
    let result = unsafe {
        libc::ioctl(
            event.as_raw_fd(),
            uapi::SET_BPF as libc::Ioctl,
            libc::c_ulong::from(program.as_raw_fd() as u32),
        )
    };
    if result < 0 { Err(last("ioctl(PERF_EVENT_IOC_SET_BPF)", "perf event")) } else { Ok(()) }
}

pub(crate) fn enable(event: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request takes a number by value.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), uapi::ENABLE as libc::Ioctl, 0 as libc::c_ulong) };
    if result < 0 { Err(last("ioctl(PERF_EVENT_IOC_ENABLE)", "perf event")) } else { Ok(()) }
}

pub(crate) fn disable(event: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request takes a number by value.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), uapi::DISABLE as libc::Ioctl, 0 as libc::c_ulong) };
    if result < 0 { Err(last("ioctl(PERF_EVENT_IOC_DISABLE)", "perf event")) } else { Ok(()) }
}
