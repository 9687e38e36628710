//! A kernel that answers from tables: no privileges, every call written down, any call made to fail.
//!
//! Descriptors are real (the writing ends of pipes, or memory files), so ownership works as it does live, and
//! [`FakeKernel::open_objects`] tells which are still open. Maps hold bytes; nothing runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create};
use strix_model::{MapKind, MapSpec};

use crate::kernel::{Kernel, LinkSpec, Loaded, Map, PerfEvent, ProgramInfo, ProgramLoad};
use crate::{Entries, LoadError, Result, SysError};

const CPUS: u32 = 2;

/// Writes records as BPF programs do, into a ring made of memory.
#[derive(Debug)]
pub struct RingWriter {
    file: File,
    page: u64,
    size: u64,
    produced: u64,
}

impl RingWriter {
    /// A ring of `size` bytes, and who writes to it.
    ///
    /// # Errors
    /// When memory files are not to be had.
    pub fn new(size: u32) -> io::Result<(Map, Self)> {
        let spec = MapSpec {
            name: "ring".into(),
            kind: MapKind::Ringbuf,
            key_size: 0,
            value_size: 0,
            max_entries: size,
            no_prealloc: false,
            mmapable: false,
            init: Vec::new(),
            read_only: false,
        };
        let (fd, writer) = Self::backing(size)?;
        Ok((Map::new(fd, spec, 1), writer))
    }

    fn backing(size: u32) -> io::Result<(OwnedFd, Self)> {
        let fd = memfd_create("ring", MemfdFlags::CLOEXEC)?;
        let file = File::from(fd.try_clone()?);
        let (page, size) = (rustix::param::page_size() as u64, u64::from(size));
        file.set_len(2 * page + 2 * size)?;
        Ok((fd, Self { file, page, size, produced: 0 }))
    }

    /// Appends a finished record; false when there is no room.
    pub fn push(&mut self, record: &[u8]) -> bool {
        let mut word = [0; 8];
        let known = self.file.read_exact_at(&mut word, 0).is_ok();
        let used = self.produced - u64::from_ne_bytes(word);
        let total = (record.len() as u64 + 8).next_multiple_of(8);
        let fits = known && used + total <= self.size;
        if fits {
            self.push_with(record, 0);
        }
        fits
    }

    /// Appends a record with state bits in its header, room or not; gives its place for [`RingWriter::finish`].
    pub fn push_with(&mut self, record: &[u8], bits: u32) -> u64 {
        let at = self.produced;
        self.put(at, &(record.len() as u32 | bits).to_ne_bytes());
        self.put(at + 8, record);
        self.produced += (record.len() as u64 + 8).next_multiple_of(8);
        let written = self.file.write_all_at(&self.produced.to_ne_bytes(), self.page);
        written.expect("memory files take writes");
        at
    }

    /// Sets the header of the record at `at`: finished, with this length.
    pub fn finish(&mut self, at: u64, len: u32) {
        self.put(at, &len.to_ne_bytes());
    }

    /// Writes to both views of the data, as the kernel's double mapping shows it.
    fn put(&self, position: u64, bytes: &[u8]) {
        let start = 2 * self.page;
        for (index, byte) in bytes.iter().enumerate() {
            let at = start + (position + index as u64) % self.size;
            for view in [at, at + self.size] {
                self.file.write_all_at(&[*byte], view).expect("memory files take writes");
            }
        }
    }
}

#[derive(Default)]
struct State {
    calls: Vec<String>,
    failures: Vec<(String, i32)>,
    logs: HashMap<String, String>,
    /// Reading ends of the pipes whose writing ends stand for objects.
    objects: Vec<(String, PipeReader)>,
    names: HashMap<i32, String>,
    maps: HashMap<String, BTreeMap<Vec<u8>, Vec<u8>>>,
    infos: HashMap<String, ProgramInfo>,
    missed: HashMap<String, u64>,
    rings: Vec<RingWriter>,
    wakers: Vec<OwnedFd>,
    without_perf_links: bool,
    on_run: Vec<(String, Vec<u8>)>,
}

/// A kernel of two CPUs. Clones share their state.
#[derive(Clone, Default)]
pub struct FakeKernel {
    state: Rc<RefCell<State>>,
}

impl FakeKernel {
    /// A kernel that allows everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the calls whose written-down text holds `part` fail with an errno.
    pub fn fail(&self, part: &str, errno: i32) {
        self.state.borrow_mut().failures.push((part.to_owned(), errno));
    }

    /// The verifier's log if the program of this name is refused.
    pub fn set_log(&self, program: &str, log: &str) {
        self.state.borrow_mut().logs.insert(program.to_owned(), log.to_owned());
    }

    /// What the kernel counts for the program of this name.
    pub fn set_info(&self, program: &str, info: ProgramInfo) {
        self.state.borrow_mut().infos.insert(program.to_owned(), info);
    }

    /// Misses of the links of the program of this name.
    pub fn set_missed(&self, program: &str, missed: u64) {
        self.state.borrow_mut().missed.insert(program.to_owned(), missed);
    }

    /// Behaves as kernels before 5.15: programs become part of perf events.
    pub fn without_perf_links(&self) {
        self.state.borrow_mut().without_perf_links = true;
    }

    /// Puts an entry into the map of this name.
    pub fn put(&self, map: &str, key: &[u8], value: &[u8]) {
        self.state.borrow_mut().maps.entry(map.to_owned()).or_default().insert(key.to_vec(), value.to_vec());
    }

    /// The value of a key in the map of this name.
    #[must_use]
    pub fn get(&self, map: &str, key: &[u8]) -> Option<Vec<u8>> {
        self.state.borrow().maps.get(map)?.get(key).cloned()
    }

    /// Appends a record to the ring and wakes a sleeping reader; false when there is no room.
    pub fn push_record(&self, record: &[u8]) -> bool {
        let mut state = self.state.borrow_mut();
        let pushed = state.rings.last_mut().is_some_and(|ring| ring.push(record));
        for waker in &state.wakers {
            let _ = rustix::io::write(waker, &1u64.to_ne_bytes());
        }
        pushed
    }

    /// Lets the program of this name write a record whenever it is run by hand.
    pub fn record_on_run(&self, program: &str, record: &[u8]) {
        self.state.borrow_mut().on_run.push((program.to_owned(), record.to_vec()));
    }

    /// The calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.state.borrow().calls.clone()
    }

    /// Names of objects that are still open.
    #[must_use]
    pub fn open_objects(&self) -> Vec<String> {
        let mut state = self.state.borrow_mut();
        let open = |reader: &mut PipeReader| {
            let mut byte = [0];
            // End of file says that the last writing end was closed.
            !matches!(reader.read(&mut byte), Ok(0))
        };
        state.objects.iter_mut().filter_map(|(name, reader)| open(reader).then(|| name.clone())).collect()
    }

    /// Writes a call down and tells whether it is to fail.
    fn enter(&self, op: &'static str, call: String) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let errno = state.failures.iter().find(|(part, _)| call.contains(part.as_str())).map(|(_, e)| *e);
        state.calls.push(call.clone());
        match errno {
            Some(errno) => Err(SysError::new(op, call, io::Error::from_raw_os_error(errno))),
            None => Ok(()),
        }
    }

    fn object(&self, name: String) -> OwnedFd {
        let (reader, writer) = io::pipe().expect("pipes are to be had");
        rustix::io::ioctl_fionbio(&reader, true).expect("pipes can be made not to block");
        let fd = OwnedFd::from(writer);
        let mut state = self.state.borrow_mut();
        state.names.insert(fd.as_raw_fd(), name.clone());
        state.objects.push((name, reader));
        fd
    }

    fn name(&self, fd: BorrowedFd<'_>) -> String {
        self.state.borrow().names.get(&fd.as_raw_fd()).cloned().unwrap_or_else(|| "unknown".into())
    }
}

impl Kernel for FakeKernel {
    fn online_cpus(&self) -> Result<Vec<u32>> {
        Ok((0..CPUS).collect())
    }

    fn possible_cpus(&self) -> Result<u32> {
        Ok(CPUS)
    }

    fn map_create(&self, spec: &MapSpec) -> Result<Map> {
        self.enter("bpf(BPF_MAP_CREATE)", format!("map {}", spec.name))?;
        let fd = if spec.kind == MapKind::Ringbuf {
            let (fd, writer) = RingWriter::backing(spec.max_entries).expect("memory files are to be had");
            self.state.borrow_mut().rings.push(writer);
            fd
        } else if spec.mmapable {
            let fd = memfd_create("array", MemfdFlags::CLOEXEC).expect("memory files are to be had");
            let file = File::from(fd.try_clone().expect("descriptors are to be had"));
            file.set_len(rustix::param::page_size() as u64).expect("memory files can grow");
            fd
        } else {
            self.object(format!("map {}", spec.name))
        };
        let map = Map::new(fd, spec.clone(), CPUS);
        let mut state = self.state.borrow_mut();
        let entries = state.maps.entry(spec.name.clone()).or_default();
        if matches!(spec.kind, MapKind::Array | MapKind::PercpuArray) {
            for index in 0..spec.max_entries {
                let mut value = spec.init.clone();
                value.resize(map.value_bytes(), 0);
                entries.entry(index.to_ne_bytes().to_vec()).or_insert(value);
            }
        }
        drop(state);
        Ok(map)
    }

    fn map_lookup(&self, map: &Map, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get(&map.spec().name, key))
    }

    fn map_entries(&self, map: &Map) -> Result<Entries> {
        let mut entries = Entries::of(map);
        for (key, value) in self.state.borrow().maps.get(&map.spec().name).into_iter().flatten() {
            entries.push(key, value);
        }
        Ok(entries)
    }

    fn map_update(&self, map: &Map, key: &[u8], value: &[u8]) -> Result<()> {
        self.enter("bpf(BPF_MAP_UPDATE_ELEM)", format!("update {}", map.spec().name))?;
        self.put(&map.spec().name, key, value);
        Ok(())
    }

    fn map_delete(&self, map: &Map, key: &[u8]) -> Result<bool> {
        self.enter("bpf(BPF_MAP_DELETE_ELEM)", format!("delete {}", map.spec().name))?;
        Ok(self.state.borrow_mut().maps.get_mut(&map.spec().name).is_some_and(|m| m.remove(key).is_some()))
    }

    fn program_load(&self, load: &ProgramLoad<'_>) -> Result<Loaded, LoadError> {
        let name = &load.program.name;
        self.enter("bpf(BPF_PROG_LOAD)", format!("load {name}")).map_err(|error| {
            let log = self.state.borrow().logs.get(name).cloned().unwrap_or_default();
            LoadError { error, log }
        })?;
        Ok(Loaded { fd: self.object(format!("program {name}")), log: String::new() })
    }

    fn program_run(&self, program: BorrowedFd<'_>) -> Result<u32> {
        let name = self.name(program);
        self.enter("bpf(BPF_PROG_TEST_RUN)", format!("run {name}"))?;
        let records: Vec<Vec<u8>> = {
            let state = self.state.borrow();
            let mine = state.on_run.iter().filter(|(p, _)| name == format!("program {p}"));
            mine.map(|(_, record)| record.clone()).collect()
        };
        for record in records {
            self.push_record(&record);
        }
        Ok(0)
    }

    fn program_info(&self, program: BorrowedFd<'_>) -> Result<ProgramInfo> {
        let name = self.name(program);
        let short = name.strip_prefix("program ").unwrap_or(&name);
        Ok(self.state.borrow().infos.get(short).copied().unwrap_or_default())
    }

    fn perf_open(&self, event: &PerfEvent<'_>) -> Result<OwnedFd> {
        let name = format!("event {:?} {:?}", event.source, event.target);
        self.enter("perf_event_open", format!("open {name}"))?;
        Ok(self.object(name))
    }

    fn perf_enable(&self, event: BorrowedFd<'_>) -> Result<()> {
        self.enter("ioctl(PERF_EVENT_IOC_ENABLE)", format!("enable {}", self.name(event)))
    }

    fn perf_disable(&self, event: BorrowedFd<'_>) -> Result<()> {
        self.enter("ioctl(PERF_EVENT_IOC_DISABLE)", format!("disable {}", self.name(event)))
    }

    fn link_create(&self, program: BorrowedFd<'_>, link: &LinkSpec<'_>) -> Result<Option<OwnedFd>> {
        let what = match link {
            LinkSpec::Perf { event, cookie } => format!("perf {cookie} to {}", self.name(*event)),
            LinkSpec::Tracing { hook, cookie } => format!("{hook:?} {cookie}"),
            LinkSpec::RawTracepoint { name, cookie } => format!("raw {cookie} to {name}"),
            LinkSpec::KprobeMulti { ret, places, cookies } => format!("kprobes {ret} {places:?} {cookies:?}"),
            LinkSpec::UprobeMulti { ret, path, offsets, cookies, pid } => {
                format!("uprobes {ret} {path} {offsets:x?} {cookies:?} {pid:?}")
            }
        };
        let program = self.name(program);
        self.enter("bpf(BPF_LINK_CREATE)", format!("link {program} by {what}"))?;
        if self.state.borrow().without_perf_links && matches!(link, LinkSpec::Perf { .. }) {
            return Ok(None);
        }
        Ok(Some(self.object(format!("link of {program}"))))
    }

    fn link_missed(&self, link: BorrowedFd<'_>) -> Option<u64> {
        let name = self.name(link);
        self.state.borrow().missed.get(name.strip_prefix("link of program ")?).copied()
    }

    fn tracepoint_id(&self, category: &str, event: &str) -> Result<u64> {
        self.enter("read", format!("tracepoint {category}:{event}"))?;
        Ok(event.len() as u64)
    }

    fn enable_stats(&self) -> Result<OwnedFd> {
        self.enter("bpf(BPF_ENABLE_STATS)", "stats".into())?;
        Ok(self.object("stats".into()))
    }

    fn ring_waker(&self, ring: &Map) -> Result<OwnedFd> {
        let error = |e: io::Error| SysError::new("eventfd", &ring.spec().name, e);
        let waker =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| error(e.into()))?;
        self.state.borrow_mut().wakers.push(waker.as_fd().try_clone_to_owned().map_err(error)?);
        Ok(waker)
    }

    fn close(&self, descriptors: Vec<OwnedFd>) {
        for fd in descriptors {
            let call = format!("close {}", self.name(fd.as_fd()));
            self.state.borrow_mut().calls.push(call);
        }
    }

    fn close_later(&self, descriptors: Vec<OwnedFd>) {
        for fd in descriptors {
            let call = format!("close later {}", self.name(fd.as_fd()));
            self.state.borrow_mut().calls.push(call);
        }
    }
}
