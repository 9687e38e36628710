//! Memory shared with the kernel, with every access checked against its length.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping of a descriptor, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone; access goes through atomics or through `bytes`, whose callers vouch.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes at `offset` of a descriptor.
    pub(crate) fn new(fd: BorrowedFd<'_>, offset: usize, len: usize, writable: bool) -> io::Result<Self> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { start, len })
    }

    /// The 8 bytes at `offset`, which must lie in the mapping and be aligned. Storing needs a writable mapping.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let fits = offset.is_multiple_of(8) && offset.checked_add(8)? <= self.len;
        let at = fits.then(|| self.start.as_ptr().wrapping_add(offset).cast::<u64>())?;
        // SAFETY: in bounds and aligned (mappings start at a page), mapped as long as `self` lives, and shared with the
        // kernel through atomic accesses only.
        Some(unsafe { AtomicU64::from_ptr(at) })
    }

    /// As [`Mapping::word`], 4 bytes.
    pub(crate) fn half(&self, offset: usize) -> Option<&AtomicU32> {
        let fits = offset.is_multiple_of(4) && offset.checked_add(4)? <= self.len;
        let at = fits.then(|| self.start.as_ptr().wrapping_add(offset).cast::<u32>())?;
        // SAFETY: as for `word`.
        Some(unsafe { AtomicU32::from_ptr(at) })
    }

    /// The bytes at `offset`; `None` when they do not lie in the mapping.
    ///
    /// # Safety
    /// Nobody may write to them while the slice is in use.
    pub(crate) unsafe fn bytes(&self, offset: usize, len: usize) -> Option<&[u8]> {
        let fits = offset.checked_add(len)? <= self.len;
        let at = fits.then(|| self.start.as_ptr().wrapping_add(offset))?;
        // SAFETY: in bounds, mapped as long as `self` lives, not written to by the caller's promise.
        Some(unsafe { std::slice::from_raw_parts(at, len) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; nothing borrowed from it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
