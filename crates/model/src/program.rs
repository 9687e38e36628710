//! Bytecode ready to load, the maps it uses and where it goes.

use crate::{AttachPoint, Span};

/// One eBPF instruction as `struct bpf_insn` has it (linux/bpf.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Insn {
    /// Operation.
    pub code: u8,
    /// Destination register in the low four bits, source register in the high four.
    pub regs: u8,
    /// Jump distance or memory offset.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

/// Index into [`crate::Plan::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapIdx(pub u32);

/// Index into [`crate::Plan::programs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramIdx(pub u32);

/// What a map reference in the code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRefKind {
    /// The map itself (`BPF_PSEUDO_MAP_FD`).
    Map,
    /// The address of byte `offset` of the only value of an array map (`BPF_PSEUDO_MAP_VALUE`).
    Value {
        /// Bytes into the value.
        offset: u32,
    },
}

/// A two-slot load at `insn` whose immediate the loader fills in once the map exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRef {
    /// Index of the first of the two instruction slots.
    pub insn: u32,
    /// Which map.
    pub map: MapIdx,
    /// The map or a place in its value.
    pub kind: MapRefKind,
}

/// From this instruction on, the code comes from this place in the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Instruction slot.
    pub insn: u32,
    /// Source.
    pub span: Span,
}

/// A function of a program: the entry, or a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// First instruction slot.
    pub insn: u32,
    /// Name in the kernel's listings.
    pub name: String,
    /// How many arguments the function takes.
    pub params: u8,
}

/// What the kernel must be told when the program is loaded, and how it is attached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// Run once from user space, by `BPF_PROG_TEST_RUN` as a raw tracepoint program.
    TestRun,
    /// Tracefs tracepoint: perf event + perf link.
    Tracepoint,
    /// `BPF_RAW_TRACEPOINT_OPEN`.
    RawTracepoint,
    /// Raw tracepoint whose arguments are BTF pointers (`BPF_TRACE_RAW_TP`).
    BtfTracepoint {
        /// BTF id of the `btf_trace_NAME` typedef in vmlinux.
        btf_id: u32,
    },
    /// Kprobe through perf events, one event each.
    Kprobe,
    /// Kretprobe through perf events, one event each.
    Kretprobe,
    /// All attach points by one `BPF_TRACE_KPROBE_MULTI` link (since v5.18).
    KprobeMulti {
        /// On return.
        ret: bool,
    },
    /// Uprobe through perf events.
    Uprobe,
    /// Uretprobe through perf events.
    Uretprobe,
    /// All attach points of one file by one `BPF_TRACE_UPROBE_MULTI` link (since v6.6).
    UprobeMulti {
        /// On return.
        ret: bool,
    },
    /// Software, hardware, profile or interval.
    PerfEvent,
    /// Function entry by trampoline (`BPF_TRACE_FENTRY`).
    Fentry {
        /// BTF id of the function.
        btf_id: u32,
        /// Module whose BTF the id counts in; `None` is vmlinux.
        module: Option<String>,
    },
    /// Function return by trampoline (`BPF_TRACE_FEXIT`).
    Fexit {
        /// BTF id of the function.
        btf_id: u32,
        /// Module whose BTF the id counts in; `None` is vmlinux.
        module: Option<String>,
    },
}

/// One place a program is attached at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The place the kernel is told. For programs that serve many tracepoints through one raw one, this is
    /// the raw one.
    pub point: AttachPoint,
    /// What `bpf_get_attach_cookie` gives there; an index into [`crate::Plan::probe_names`].
    pub cookie: u64,
}

/// One eBPF program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name in the kernel's listings; at most 15 bytes of `[A-Za-z0-9_.]`.
    pub name: String,
    /// Type and attach method.
    pub kind: ProgramKind,
    /// Code.
    pub insns: Vec<Insn>,
    /// Map references to fill in.
    pub map_refs: Vec<MapRef>,
    /// Functions, entry first.
    pub functions: Vec<FunctionInfo>,
    /// Ascending by instruction.
    pub line_info: Vec<LineInfo>,
    /// The probe it belongs to: index into [`crate::Plan::probes`].
    pub probe: u32,
    /// Where it goes.
    pub attachments: Vec<Attachment>,
}

/// Kind of a map (`enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// `BPF_MAP_TYPE_HASH`.
    Hash,
    /// `BPF_MAP_TYPE_PERCPU_HASH`.
    PercpuHash,
    /// `BPF_MAP_TYPE_LRU_HASH`.
    LruHash,
    /// `BPF_MAP_TYPE_LRU_PERCPU_HASH`.
    LruPercpuHash,
    /// `BPF_MAP_TYPE_ARRAY`.
    Array,
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`.
    PercpuArray,
    /// `BPF_MAP_TYPE_RINGBUF` (since v5.8).
    Ringbuf,
}

impl MapKind {
    /// Whether each CPU has a value of its own.
    #[must_use]
    pub fn is_percpu(self) -> bool {
        matches!(self, Self::PercpuHash | Self::LruPercpuHash | Self::PercpuArray)
    }
}

/// A map to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSpec {
    /// Name in the kernel's listings; at most 15 bytes of `[A-Za-z0-9_.]`.
    pub name: String,
    /// Kind.
    pub kind: MapKind,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries; for a ring its bytes.
    pub max_entries: u32,
    /// Allocate entries when they are used (`BPF_F_NO_PREALLOC`).
    pub no_prealloc: bool,
    /// User space maps the value (`BPF_F_MMAPABLE`, arrays only).
    pub mmapable: bool,
    /// Bytes the (single) value starts with, for constants; empty is zeroes.
    pub init: Vec<u8>,
    /// Programs may only read it (`BPF_F_RDONLY_PROG`), and it is frozen after `init` is written.
    pub read_only: bool,
}
