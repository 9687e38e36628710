//! What the kernel says about programs, maps, links and BTF objects, and which of them there are.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use aya_obj::generated::{bpf_cmd, bpf_prog_info};

use super::{abi, address_mut, call, call_for_fd, failed};
use crate::kernel::ProgramInfo;
use crate::{Result, SysError};

const OP: &str = "bpf(BPF_OBJ_GET_INFO_BY_FD)";

// SAFETY: `repr(C)` of integers only, as the kernel has it; the generator's size assertions hold.
unsafe impl abi::Attr for bpf_prog_info {}

/// Fills `info` with what the kernel knows about a descriptor, zeroes where an older kernel knows less.
///
/// # Safety
/// `T` must be (the start of) the info struct of the descriptor's kind, and its address fields must be 0 or of memory
/// that the kernel may write.
unsafe fn get<T: abi::Attr>(fd: BorrowedFd<'_>, info: &mut T) -> io::Result<()> {
    let mut attr = abi::GetInfo {
        bpf_fd: fd.as_raw_fd() as u32,
        info_len: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: `info` has `info_len` bytes that may be written; addresses inside are the caller's promise.
    unsafe { call(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attr) }?;
    Ok(())
}

pub(crate) fn program_info(program: BorrowedFd<'_>) -> Result<ProgramInfo> {
    // SAFETY: integers only, for which all zeroes is a value.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is a program's; every address field is 0.
    unsafe { get(program, &mut info) }.map_err(failed(OP, "program"))?;
    Ok(ProgramInfo {
        id: info.id,
        run_time_ns: info.run_time_ns,
        run_cnt: info.run_cnt,
        recursion_misses: info.recursion_misses,
        verified_insns: info.verified_insns,
        jited_len: info.jited_prog_len,
    })
}

/// A map as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapInfo {
    /// Id.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries.
    pub max_entries: u32,
}

/// What the kernel says about a map.
///
/// # Errors
/// When the descriptor is not a map's.
pub fn map_info(map: BorrowedFd<'_>) -> Result<MapInfo> {
    let mut info = abi::MapInfoRaw::default();
    // SAFETY: the start of a map's info, without addresses. The kernel fills another kind's info no further than `info_len`.
    unsafe { get(map, &mut info) }.map_err(failed(OP, "map"))?;
    Ok(MapInfo {
        id: info.id,
        name: text(&info.name),
        key_size: info.key_size,
        value_size: info.value_size,
        max_entries: info.max_entries,
    })
}

/// A link as the kernel lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// `enum bpf_link_type`.
    pub link_type: u32,
    /// Id.
    pub id: u32,
    /// The program it attaches.
    pub program: u32,
}

/// What the kernel says about a link.
///
/// # Errors
/// When the descriptor is not a link's.
pub fn link_info(link: BorrowedFd<'_>) -> Result<LinkInfo> {
    let info = link_info_raw(link).map_err(failed(OP, "link"))?;
    Ok(LinkInfo { link_type: info.link_type, id: info.id, program: info.prog_id })
}

fn link_info_raw(link: BorrowedFd<'_>) -> io::Result<abi::LinkInfoRaw> {
    let mut info = abi::LinkInfoRaw::default();
    // SAFETY: a link's info; every address and length field is 0, so no name is written anywhere.
    unsafe { get(link, &mut info) }?;
    Ok(info)
}

/// Hits that a kprobe link could not handle (since v6.7); `None` where the kernel does not say.
pub(crate) fn link_missed(link: BorrowedFd<'_>) -> Option<u64> {
    const PERF_EVENT: u32 = 7;
    const KPROBE_MULTI: u32 = 8;
    const KPROBE: u64 = 3;
    const KRETPROBE: u64 = 4;
    let info = link_info_raw(link).ok()?;
    match info.link_type {
        // struct { u32 type, pad; u64 func_name; u32 name_len, offset; u64 addr, missed; }
        PERF_EVENT if matches!(info.rest[0] & 0xffff_ffff, KPROBE | KRETPROBE) => Some(info.rest[4]),
        // struct { u64 addrs; u32 count, flags; u64 missed; }
        KPROBE_MULTI => Some(info.rest[2]),
        _ => None,
    }
}

/// Kinds of objects that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BpfIds {
    /// Loaded programs.
    Programs,
    /// Maps.
    Maps,
    /// Links.
    Links,
}

/// The ids of all objects of a kind, of every process (needs CAP_SYS_ADMIN).
///
/// # Errors
/// When listing is not allowed.
pub fn ids(kind: BpfIds) -> Result<Vec<u32>> {
    let command = match kind {
        BpfIds::Programs => bpf_cmd::BPF_PROG_GET_NEXT_ID,
        BpfIds::Maps => bpf_cmd::BPF_MAP_GET_NEXT_ID,
        BpfIds::Links => bpf_cmd::BPF_LINK_GET_NEXT_ID,
    };
    ids_by(command).map_err(failed("bpf(BPF_*_GET_NEXT_ID)", "all objects"))
}

fn ids_by(command: bpf_cmd) -> io::Result<Vec<u32>> {
    let mut attr = abi::GetId::default();
    let mut found = Vec::new();
    loop {
        // SAFETY: the attributes hold no addresses.
        match unsafe { call(command, &mut attr) } {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(found),
            Err(error) => return Err(error),
        }
        found.push(attr.next_id);
        attr.id = attr.next_id;
    }
}

/// The BTF object of a kernel module.
pub(super) fn btf_of_module(module: &str) -> Result<OwnedFd> {
    const OP: &str = "bpf(BPF_BTF_GET_FD_BY_ID)";
    for id in ids_by(bpf_cmd::BPF_BTF_GET_NEXT_ID).map_err(failed(OP, module))? {
        let mut attr = abi::GetId { id, ..Default::default() };
        // SAFETY: the attributes hold no addresses, and the result is a descriptor. An object that went away meanwhile is skipped.
        let Ok(fd) = (unsafe { call_for_fd(bpf_cmd::BPF_BTF_GET_FD_BY_ID, &mut attr) }) else { continue };
        let mut name = [0u8; 64];
        let mut info = abi::BtfInfoRaw {
            name: address_mut(&mut name),
            name_len: name.len() as u32,
            ..Default::default()
        };
        // SAFETY: a BTF object's info; `name` has `name_len` bytes that may be written, `btf` is 0 with size 0.
        let known = unsafe { get(std::os::fd::AsFd::as_fd(&fd), &mut info) };
        if known.is_ok() && info.kernel_btf == 1 && text(&name) == module {
            return Ok(fd);
        }
    }
    Err(SysError::new(OP, module, io::Error::new(io::ErrorKind::NotFound, "the module has no BTF")))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
