//! The running kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use strix_model::MapSpec;

use crate::kernel::{Kernel, LinkSpec, Loaded, Map, PerfEvent, ProgramInfo, ProgramLoad};
use crate::{Entries, LoadError, Result, SysError, bpf, close, cpus, perf, tracefs};

/// The kernel this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveKernel;

impl Kernel for LiveKernel {
    fn online_cpus(&self) -> Result<Vec<u32>> {
        cpus::online_cpus()
    }

    fn possible_cpus(&self) -> Result<u32> {
        cpus::possible_cpus()
    }

    fn map_create(&self, spec: &MapSpec) -> Result<Map> {
        let cpus = if spec.kind.is_percpu() { cpus::possible_cpus()? } else { 1 };
        bpf::map_create(spec, cpus)
    }

    fn map_lookup(&self, map: &Map, key: &[u8]) -> Result<Option<Vec<u8>>> {
        bpf::map_lookup(map, key)
    }

    fn map_entries(&self, map: &Map) -> Result<Entries> {
        bpf::map_entries(map)
    }

    fn map_update(&self, map: &Map, key: &[u8], value: &[u8]) -> Result<()> {
        bpf::map_update(map, key, value)
    }

    fn map_delete(&self, map: &Map, key: &[u8]) -> Result<bool> {
        bpf::map_delete(map, key)
    }

    fn program_load(&self, load: &ProgramLoad<'_>) -> Result<Loaded, LoadError> {
        bpf::program_load(load)
    }

    fn program_run(&self, program: BorrowedFd<'_>) -> Result<u32> {
        bpf::program_run(program)
    }

    fn program_info(&self, program: BorrowedFd<'_>) -> Result<ProgramInfo> {
        bpf::program_info(program)
    }

    fn perf_open(&self, event: &PerfEvent<'_>) -> Result<OwnedFd> {
        perf::open(event)
    }

    fn perf_enable(&self, event: BorrowedFd<'_>) -> Result<()> {
        perf::enable(event)
    }

    fn perf_disable(&self, event: BorrowedFd<'_>) -> Result<()> {
        perf::disable(event)
    }

    fn link_create(&self, program: BorrowedFd<'_>, link: &LinkSpec<'_>) -> Result<Option<OwnedFd>> {
        bpf::link_create(program, link)
    }

    fn link_missed(&self, link: BorrowedFd<'_>) -> Option<u64> {
        bpf::link_missed(link)
    }

    fn tracepoint_id(&self, category: &str, event: &str) -> Result<u64> {
        tracefs::tracepoint_id(category, event)
    }

    fn enable_stats(&self) -> Result<OwnedFd> {
        bpf::enable_stats()
    }

    fn ring_waker(&self, ring: &Map) -> Result<OwnedFd> {
        let copy = ring.as_fd().try_clone_to_owned();
        copy.map_err(|source| SysError::new("dup", &ring.spec().name, source))
    }

    fn close(&self, descriptors: Vec<OwnedFd>) {
        close::close_all(descriptors);
    }

    fn close_later(&self, descriptors: Vec<OwnedFd>) {
        close::close_later(descriptors);
    }
}
