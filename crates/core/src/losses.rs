//! What a session did not see, and what it cost.

use strix_model::{COUNTERS, Counter, MapRole};

use crate::reduce::word;
use crate::{Error, Session};

/// The counts of one probe, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeLoss {
    /// Index into [`strix_model::Plan::probes`].
    pub probe: u32,
    /// Runs; 0 unless the plan counts them.
    pub fired: u64,
    /// Runs whose predicate was false; 0 unless the plan counts them.
    pub filtered: u64,
    /// Records that found no room in the ring.
    pub dropped: u64,
    /// Map updates refused by full maps.
    pub map_full: u64,
    /// Stacks that found no room.
    pub stack_full: u64,
    /// Failed reads of memory.
    pub read_failed: u64,
    /// Runs given up for want of a scratch buffer.
    pub scratch_busy: u64,
    /// Runs that the kernel skipped because the program was running already on that CPU: in an interrupt, or, where tracepoints can
    /// be preempted (system calls since v7), in another task.
    pub recursion: u64,
    /// Hits that the kernel could not handle.
    pub missed: u64,
}

impl ProbeLoss {
    /// Whether anything that should have been seen was not. Failed reads are not counted here: they gave a value, an empty one.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        [self.dropped, self.map_full, self.stack_full, self.scratch_busy, self.recursion, self.missed]
            .iter()
            .any(|&n| n != 0)
    }
}

/// What one program cost, while costs were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCost {
    /// Index into [`strix_model::Plan::programs`].
    pub program: u32,
    /// Index into [`strix_model::Plan::probes`].
    pub probe: u32,
    /// Nanoseconds in the program.
    pub run_time_ns: u64,
    /// Runs.
    pub run_cnt: u64,
}

impl Session {
    /// The counts of every probe so far.
    ///
    /// # Errors
    /// When the kernel does not give them.
    pub fn losses(&self) -> Result<Vec<ProbeLoss>, Error> {
        let probes = self.plan.probes.len();
        let mut losses: Vec<ProbeLoss> =
            (0..probes).map(|probe| ProbeLoss { probe: probe as u32, ..Default::default() }).collect();
        self.add_counters(&mut losses)?;
        for (program, loaded) in self.plan.programs.iter().zip(&self.programs) {
            let Some(loss) = losses.get_mut(program.probe as usize) else { continue };
            loss.recursion += self.kernel.program_info(fd(loaded)).map_err(Error::Read)?.recursion_misses;
        }
        for (program, missed) in self.missed() {
            let probe = self.plan.programs.get(program).map(|p| p.probe as usize);
            if let Some(loss) = probe.and_then(|p| losses.get_mut(p)) {
                loss.missed += missed;
            }
        }
        Ok(losses)
    }

    fn add_counters(&self, losses: &mut [ProbeLoss]) -> Result<(), Error> {
        let Some(map) = self.plan.map_with_role(MapRole::Counters).and_then(|i| self.maps.get(i.0 as usize))
        else {
            return Ok(());
        };
        let Some(bytes) = self.kernel.map_lookup(map, &[0; 4]).map_err(Error::Read)? else { return Ok(()) };
        let stride = if map.spec().kind.is_percpu() { map.cpu_stride() } else { map.value_bytes() };
        for cpu in bytes.chunks_exact(stride.max(1)) {
            for loss in &mut *losses {
                let count = |counter: Counter| {
                    word(cpu, (loss.probe * COUNTERS + counter as u32) as usize * 8).unwrap_or(0)
                };
                *loss = ProbeLoss {
                    fired: loss.fired + count(Counter::Fired),
                    filtered: loss.filtered + count(Counter::Filtered),
                    dropped: loss.dropped + count(Counter::Dropped),
                    map_full: loss.map_full + count(Counter::MapFull),
                    stack_full: loss.stack_full + count(Counter::StackFull),
                    read_failed: loss.read_failed + count(Counter::ReadFailed),
                    scratch_busy: loss.scratch_busy + count(Counter::ScratchBusy),
                    ..*loss
                };
            }
        }
        Ok(())
    }

    /// What each program cost so far; zeroes unless [`crate::Options::measure_cost`] was set.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn costs(&self) -> Result<Vec<ProgramCost>, Error> {
        let cost = |(index, (program, loaded)): (usize, (&strix_model::Program, _))| {
            let info = self.kernel.program_info(fd(loaded)).map_err(Error::Read)?;
            Ok(ProgramCost {
                program: index as u32,
                probe: program.probe,
                run_time_ns: info.run_time_ns,
                run_cnt: info.run_cnt,
            })
        };
        self.plan.programs.iter().zip(&self.programs).enumerate().map(cost).collect()
    }
}

fn fd(loaded: &std::os::fd::OwnedFd) -> std::os::fd::BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(loaded)
}
