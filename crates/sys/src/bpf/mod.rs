//! bpf(2): one function that enters the kernel, and the commands made of it.

mod abi;
mod btf;
mod info;
mod link;
mod map;
mod program;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use aya_obj::generated::bpf_cmd;

use crate::{Result, SysError};

pub use info::{BpfIds, LinkInfo, MapInfo, ids, link_info, map_info};
pub(crate) use info::{link_missed, program_info};
pub(crate) use link::link_create;
pub(crate) use map::{map_create, map_delete, map_entries, map_lookup, map_update};
pub(crate) use program::{enable_stats, program_load, program_run};

/// Enters the kernel with a command and its attributes.
///
/// # Safety
/// `attr` must be the attributes of `command`, and every address in it must be of memory that stays valid over the call
/// and that the kernel may read, or write where the command writes, for the length that `attr` gives or implies.
unsafe fn call<T: abi::Attr>(command: bpf_cmd, attr: &mut T) -> io::Result<i32> {
    let size = size_of::<T>() as libc::c_uint;
    // SAFETY: the caller vouches for the addresses; `attr` itself is a live value of `size` bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command as libc::c_int, std::ptr::from_mut(attr), size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// As [`call`], for commands whose result is a new descriptor.
///
/// # Safety
/// As [`call`]; `command` must be one that gives a descriptor.
unsafe fn call_for_fd<T: abi::Attr>(command: bpf_cmd, attr: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as this function's.
    let raw = unsafe { call(command, attr) }?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// An error of a command about `target`.
fn failed(op: &'static str, target: &str) -> impl FnOnce(io::Error) -> SysError {
    move |source| SysError::new(op, target, source)
}

/// The kernel's name of an object: up to 15 bytes of what it allows, NUL padded.
fn object_name(name: &str) -> [u8; 16] {
    let mut out = [0; 16];
    let allowed = name.bytes().map(|b| if b.is_ascii_alphanumeric() || b == b'.' { b } else { b'_' });
    for (slot, byte) in out[..15].iter_mut().zip(allowed) {
        *slot = byte;
    }
    out
}

/// The address of a slice for an attribute field; 0 for an empty one.
fn address<T>(slice: &[T]) -> u64 {
    if slice.is_empty() { 0 } else { slice.as_ptr() as u64 }
}

/// As [`address`], for what the kernel writes to.
fn address_mut<T>(slice: &mut [T]) -> u64 {
    if slice.is_empty() { 0 } else { slice.as_mut_ptr() as u64 }
}

/// A C string for a path or name that must not hold a NUL.
pub(crate) fn c_string(op: &'static str, text: &str) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text).map_err(|_| {
        SysError::new(op, text, io::Error::new(io::ErrorKind::InvalidInput, "name holds a NUL byte"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel() {
        assert_eq!(&object_name("a-b@c"), b"a_b_c\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(object_name("0123456789abcdefgh")[15], 0);
    }
}
