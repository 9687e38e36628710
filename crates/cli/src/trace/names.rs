//! Names for numbers: what renderers ask, answered by the symbolizer, the plan and the session's stack store.

use std::cell::Cell;

use strix_core::MapReader;
use strix_model::{EnumDef, EnumIdx, Frame, Plan};
use strix_render::Names;
use strix_symbolize::Symbolizer;

/// `CLOCK_BOOTTIME`, as [`strix_model::Shape::Timestamp`] has it.
const BOOTTIME: u8 = 7;

/// The wall clock may be this much ahead of a remembered offset before the offset is taken anew: corrections by and by, which would make
/// times that a script prints differ by more than the events did, are not followed; a clock that was set is.
const TOLERANCE: i64 = 10_000_000;

/// Distance of the wall clock from the clocks of events, each taken once.
#[derive(Debug, Default)]
pub struct ClockOffsets {
    boottime: Cell<Option<i64>>,
    monotonic: Cell<Option<i64>>,
}

impl ClockOffsets {
    fn get(&self, clock: u8) -> i64 {
        use rustix::time::{ClockId, clock_gettime};
        let nanos = |id| {
            let time = clock_gettime(id);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        let (kept, reference) = match clock {
            BOOTTIME => (&self.boottime, ClockId::Boottime),
            _ => (&self.monotonic, ClockId::Monotonic),
        };
        let now = nanos(ClockId::Realtime) - nanos(reference);
        match kept.get() {
            Some(before) if (now - before).abs() < TOLERANCE => before,
            _ => {
                kept.set(Some(now));
                now
            }
        }
    }
}

/// Answers while a session lives.
pub struct SessionNames<'a> {
    /// The compiled script.
    pub plan: &'a Plan,
    /// Functions, users, cgroups.
    pub symbols: &'a mut Symbolizer,
    /// Stored stacks.
    pub maps: &'a MapReader<'a>,
    /// For dates.
    pub clocks: &'a ClockOffsets,
}

impl Names for SessionNames<'_> {
    fn kernel_symbol(&mut self, address: u64) -> Option<Frame> {
        self.symbols.kernel_symbol(address)
    }

    fn user_symbol(&mut self, pid: u32, address: u64) -> Option<Frame> {
        self.symbols.user_symbol(pid, address)
    }

    fn user_frames(&mut self, pid: u32, address: u64) -> Vec<Frame> {
        self.symbols.user_frames(pid, address)
    }

    fn build_id(&mut self, pid: u32, address: u64) -> Option<(String, u64)> {
        self.symbols.build_id(pid, address)
    }

    fn stack(&mut self, id: u64) -> Option<Vec<u64>> {
        // An unreadable store is as good as a stack that was not kept; the loss is counted where it happened.
        self.maps.stack(id).ok().flatten()
    }

    fn user_name(&mut self, uid: u64) -> Option<String> {
        self.symbols.user_name(uid)
    }

    fn cgroup_path(&mut self, id: u64) -> Option<String> {
        self.symbols.cgroup_path(id)
    }

    fn probe_name(&self, index: u64) -> Option<&str> {
        self.plan.probe_names.get(usize::try_from(index).ok()?).map(String::as_str)
    }

    fn enum_def(&self, index: EnumIdx) -> Option<&EnumDef> {
        self.plan.enums.get(index.0 as usize)
    }

    fn clock_offset(&self, clock: u8) -> Option<i64> {
        Some(self.clocks.get(clock))
    }
}
