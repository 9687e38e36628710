//! What renderers must ask somebody else: what a number stands for.

use strix_model::{EnumDef, EnumIdx, Frame};

/// Gives names to numbers. Everything may be unknown; every method then answers `None` (or nothing), and the number
/// itself is shown. Methods take `&mut self` because implementations cache.
pub trait Names {
    /// The kernel function at an address.
    fn kernel_symbol(&mut self, _address: u64) -> Option<Frame> {
        None
    }

    /// The function at an address of a process.
    fn user_symbol(&mut self, _pid: u32, _address: u64) -> Option<Frame> {
        None
    }

    /// All functions at a kernel address, inlined ones first.
    fn kernel_frames(&mut self, address: u64) -> Vec<Frame> {
        self.kernel_symbol(address).into_iter().collect()
    }

    /// All functions at an address of a process, inlined ones first.
    fn user_frames(&mut self, pid: u32, address: u64) -> Vec<Frame> {
        self.user_symbol(pid, address).into_iter().collect()
    }

    /// Build id (hexadecimal) of the file mapped at an address of a process, and the address's offset in that file.
    fn build_id(&mut self, _pid: u32, _address: u64) -> Option<(String, u64)> {
        None
    }

    /// Return addresses of a stack in the plan's stack store, leaf first.
    fn stack(&mut self, _id: u64) -> Option<Vec<u64>> {
        None
    }

    /// Login name of a user.
    fn user_name(&mut self, _uid: u64) -> Option<String> {
        None
    }

    /// Paths of a cgroup as they are shown, `unified:/user.slice`.
    fn cgroup_path(&mut self, _id: u64) -> Option<String> {
        None
    }

    /// Full name of the attach point with this cookie.
    fn probe_name(&self, _index: u64) -> Option<&str> {
        None
    }

    /// Names of an enum's values.
    fn enum_def(&self, _index: EnumIdx) -> Option<&EnumDef> {
        None
    }

    /// Nanoseconds to add to a reading of a clock (`CLOCK_BOOTTIME` 7, `CLOCK_MONOTONIC` 1) to get the time since
    /// the epoch.
    fn clock_offset(&self, _clock: u8) -> Option<i64> {
        None
    }
}

/// Knows nothing: for values that are numbers and text only.
impl Names for () {}
