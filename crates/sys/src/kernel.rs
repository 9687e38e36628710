//! What a session asks of the kernel, as one trait with typed arguments.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use strix_model::{HardwareEvent, MapIdx, MapSpec, Period, Program, SoftwareEvent, SourceMap};

use crate::{LoadError, Result};

/// Every door into the kernel that a session uses. Tests answer from tables.
pub trait Kernel {
    /// CPUs that events can be opened on.
    fn online_cpus(&self) -> Result<Vec<u32>>;

    /// How many values a per-CPU map entry has.
    fn possible_cpus(&self) -> Result<u32>;

    /// Creates a map, writes its first value and freezes it where the spec says so.
    fn map_create(&self, spec: &MapSpec) -> Result<Map>;

    /// The value of a key; per-CPU maps give one value a CPU, each rounded up to 8 bytes.
    fn map_lookup(&self, map: &Map, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Every entry, in no order. A map that changes meanwhile gives each entry at most once.
    fn map_entries(&self, map: &Map) -> Result<Entries>;

    /// Sets the value of a key; `value` is laid out as [`Kernel::map_lookup`] gives it.
    fn map_update(&self, map: &Map, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes a key; false when it was not there.
    fn map_delete(&self, map: &Map, key: &[u8]) -> Result<bool>;

    /// Loads a program. Without a wish for the log, the verifier writes one only after a refusal.
    fn program_load(&self, load: &ProgramLoad<'_>) -> Result<Loaded, LoadError>;

    /// Runs a raw tracepoint program once, here and now, with arguments of zero.
    fn program_run(&self, program: BorrowedFd<'_>) -> Result<u32>;

    /// What the kernel counts for a program.
    fn program_info(&self, program: BorrowedFd<'_>) -> Result<ProgramInfo>;

    /// Opens a perf event, not yet enabled.
    fn perf_open(&self, event: &PerfEvent<'_>) -> Result<OwnedFd>;

    /// Lets an event fire.
    fn perf_enable(&self, event: BorrowedFd<'_>) -> Result<()>;

    /// Stops an event. A program attached to a tracepoint goes on until its link is closed.
    fn perf_disable(&self, event: BorrowedFd<'_>) -> Result<()>;

    /// Attaches a program. `None`: the attachment is part of the perf event and ends with it (kernels before 5.15).
    fn link_create(&self, program: BorrowedFd<'_>, link: &LinkSpec<'_>) -> Result<Option<OwnedFd>>;

    /// Hits of a kprobe that its link could not handle, where the kernel counts them (since v6.7).
    fn link_missed(&self, link: BorrowedFd<'_>) -> Option<u64>;

    /// tracefs id of a tracepoint.
    fn tracepoint_id(&self, category: &str, event: &str) -> Result<u64>;

    /// Lets the kernel measure the run time of programs while the descriptor is open (since v5.8).
    fn enable_stats(&self) -> Result<OwnedFd>;

    /// A descriptor that becomes readable when the ring has something for a sleeping reader.
    fn ring_waker(&self, ring: &Map) -> Result<OwnedFd>;

    /// Closes descriptors, the slow ones of them side by side, and returns when all are closed.
    fn close(&self, descriptors: Vec<OwnedFd>);

    /// Closes perf events that nothing is attached to any more, without waiting for it.
    fn close_later(&self, descriptors: Vec<OwnedFd>);
}

/// A map that exists, with the geometry that reading it needs. Only a [`Kernel`] makes one, so the sizes are the kernel's.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    spec: MapSpec,
    value_bytes: usize,
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Map {
    /// A map with the value geometry that `possible_cpus` makes.
    pub(crate) fn new(fd: OwnedFd, spec: MapSpec, possible_cpus: u32) -> Self {
        let size = spec.value_size as usize;
        let value_bytes =
            if spec.kind.is_percpu() { size.next_multiple_of(8) * possible_cpus as usize } else { size };
        Self { fd, spec, value_bytes }
    }

    /// What was asked for.
    #[must_use]
    pub fn spec(&self) -> &MapSpec {
        &self.spec
    }

    /// Bytes of a whole value as user space reads it: all CPUs of a per-CPU map.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Bytes from one CPU's value to the next.
    #[must_use]
    pub fn cpu_stride(&self) -> usize {
        (self.spec.value_size as usize).next_multiple_of(8)
    }

    /// The descriptor alone.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

/// Entries of a map, keys and values each in one run of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub(crate) key_size: usize,
    pub(crate) value_size: usize,
    pub(crate) keys: Vec<u8>,
    pub(crate) values: Vec<u8>,
}

impl Entries {
    /// No entries of a map with this geometry.
    #[must_use]
    pub fn of(map: &Map) -> Self {
        Self { key_size: map.spec().key_size as usize, value_size: map.value_bytes(), ..Self::default() }
    }

    /// Adds an entry; both parts must have the map's sizes.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        debug_assert_eq!((key.len(), value.len()), (self.key_size, self.value_size));
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len().checked_div(self.key_size).unwrap_or(0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.keys.chunks_exact(self.key_size.max(1)).zip(self.values.chunks_exact(self.value_size.max(1)))
    }
}

/// When the verifier shall write its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRequest {
    /// After a refusal, by loading once more.
    #[default]
    OnRefusal,
    /// Always; what the verifier thought of a program that it took is worth reading too.
    Always,
}

/// A program to load.
#[derive(Clone, Copy)]
pub struct ProgramLoad<'a> {
    /// Code, kind and names.
    pub program: &'a Program,
    /// The descriptor of each map of the plan.
    pub maps: &'a dyn Fn(MapIdx) -> Option<BorrowedFd<'a>>,
    /// Licence that decides about helpers.
    pub license: &'a str,
    /// Texts that line information quotes.
    pub sources: &'a SourceMap,
    /// When to ask for a log.
    pub log: LogRequest,
    /// Most bytes of log.
    pub log_size: u32,
}

/// A program that was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The descriptor.
    pub fd: OwnedFd,
    /// The log, if it was asked for.
    pub log: String,
}

/// What the kernel counts for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Id in the kernel's listings.
    pub id: u32,
    /// Nanoseconds spent in it, while statistics were on.
    pub run_time_ns: u64,
    /// Times it ran, while statistics were on.
    pub run_cnt: u64,
    /// Times it was not run because it was running already on that CPU (since v5.12).
    pub recursion_misses: u64,
    /// Instructions the verifier went through (since v5.16).
    pub verified_insns: u32,
    /// Bytes of machine code.
    pub jited_len: u32,
}

/// What a perf event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfSource<'a> {
    /// A timer (`PERF_COUNT_SW_CPU_CLOCK`).
    Clock(Period),
    /// Every `period`-th software event.
    Software {
        /// The event.
        event: SoftwareEvent,
        /// Events between two hits.
        period: u64,
    },
    /// Every `period`-th hardware event.
    Hardware {
        /// The event.
        event: HardwareEvent,
        /// Events between two hits.
        period: u64,
    },
    /// A tracepoint by its tracefs id.
    Tracepoint {
        /// From [`Kernel::tracepoint_id`].
        id: u64,
    },
    /// A kernel instruction, or a kernel function's return.
    Kprobe {
        /// On return.
        ret: bool,
        /// Where.
        place: KprobePlace<'a>,
    },
    /// A user instruction, or a user function's return.
    Uprobe {
        /// On return.
        ret: bool,
        /// File.
        path: &'a str,
        /// Bytes from the start of the file.
        offset: u64,
    },
}

/// A place in kernel code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KprobePlace<'a> {
    /// Bytes into a function; the name may be `module:function`.
    Function {
        /// Name.
        name: &'a str,
        /// Bytes.
        offset: u64,
    },
    /// An address.
    Address(u64),
}

/// Whose events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfTarget {
    /// Everybody's on one CPU.
    Cpu(u32),
    /// One thread's on every CPU, with the threads and processes it makes later.
    Thread(u32),
}

/// A perf event to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfEvent<'a> {
    /// What.
    pub source: PerfSource<'a>,
    /// Whose.
    pub target: PerfTarget,
}

/// Places of a multi link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places<'a> {
    /// Functions by name.
    Symbols(Vec<&'a str>),
    /// Functions by address.
    Addresses(Vec<u64>),
}

/// Kinds of tracing programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracingHook {
    /// Function entry.
    Entry,
    /// Function return.
    Return,
    /// Raw tracepoint with typed arguments.
    Tracepoint,
}

/// How a program is attached.
#[derive(Clone, Debug)]
pub enum LinkSpec<'a> {
    /// To a perf event; the cookie needs v5.15.
    Perf {
        /// The event.
        event: BorrowedFd<'a>,
        /// For `bpf_get_attach_cookie`.
        cookie: u64,
    },
    /// Where the program was loaded for: function entry and return, BTF tracepoint.
    Tracing {
        /// What the program was loaded as.
        hook: TracingHook,
        /// For `bpf_get_attach_cookie` (functions since v5.18, tracepoints since v6.10; not passed before).
        cookie: u64,
    },
    /// To a raw tracepoint.
    RawTracepoint {
        /// Its name.
        name: &'a str,
        /// For `bpf_get_attach_cookie` (since v6.10; not passed before).
        cookie: u64,
    },
    /// To many kernel functions (since v5.18).
    KprobeMulti {
        /// On return.
        ret: bool,
        /// Which.
        places: Places<'a>,
        /// One each.
        cookies: Vec<u64>,
    },
    /// To many places of one file (since v6.6).
    UprobeMulti {
        /// On return.
        ret: bool,
        /// The file.
        path: &'a str,
        /// Bytes from the start of the file.
        offsets: Vec<u64>,
        /// One each.
        cookies: Vec<u64>,
        /// Only this process.
        pid: Option<u32>,
    },
}
