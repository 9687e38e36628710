//! Concrete places to attach to: what is left of a probe once wildcards and names are resolved.

use std::fmt;

/// How often a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// Times a second, by the kernel's frequency mode.
    Hertz(u64),
    /// Every so many nanoseconds.
    Nanos(u64),
}

macro_rules! perf_events {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $config:literal, $text:literal, [$($alias:literal),*], $period:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $variant,)* }

        impl $name {
            /// Every event of the kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The event of this name or alias.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($text $(| $alias)* => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name in scripts.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The short name, where there is one.
            #[must_use]
            pub fn aliases(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($alias),*],)* }
            }

            /// The value of `perf_event_attr.config` (linux/perf_event.h).
            #[must_use]
            pub fn config(self) -> u64 {
                match self { $(Self::$variant => $config,)* }
            }

            /// Events between two hits when the script names no count; bpftrace's defaults.
            #[must_use]
            pub fn default_period(self) -> u64 {
                match self { $(Self::$variant => $period,)* }
            }
        }
    };
}

perf_events! {
    /// Kernel software events (`enum perf_sw_ids`).
    SoftwareEvent {
        CpuClock = 0, "cpu-clock", ["cpu"], 1_000_000;
        TaskClock = 1, "task-clock", [], 1_000_000;
        PageFaults = 2, "page-faults", ["faults"], 100;
        ContextSwitches = 3, "context-switches", ["cs"], 1_000;
        CpuMigrations = 4, "cpu-migrations", [], 1;
        MinorFaults = 5, "minor-faults", [], 100;
        MajorFaults = 6, "major-faults", [], 1;
        AlignmentFaults = 7, "alignment-faults", [], 1;
        EmulationFaults = 8, "emulation-faults", [], 1;
        Dummy = 9, "dummy", [], 1;
        BpfOutput = 10, "bpf-output", [], 1;
    }
}

perf_events! {
    /// Generic hardware events (`enum perf_hw_id`).
    HardwareEvent {
        CpuCycles = 0, "cpu-cycles", ["cycles"], 1_000_000;
        Instructions = 1, "instructions", [], 1_000_000;
        CacheReferences = 2, "cache-references", [], 1_000_000;
        CacheMisses = 3, "cache-misses", [], 1_000_000;
        BranchInstructions = 4, "branch-instructions", ["branches"], 100_000;
        BranchMisses = 5, "branch-misses", [], 100_000;
        BusCycles = 6, "bus-cycles", [], 100_000;
        FrontendStalls = 7, "frontend-stalls", [], 1_000_000;
        BackendStalls = 8, "backend-stalls", [], 1_000_000;
        RefCycles = 9, "ref-cycles", [], 1_000_000;
    }
}

/// One concrete place in the kernel, in a program or on a clock. Its `Display` is the probe's full name as
/// the `probe` builtin gives it, with the long provider name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttachPoint {
    /// Before anything else is attached.
    Begin,
    /// After everything else was detached.
    End,
    /// A timer on one CPU.
    Interval(Period),
    /// A timer on every CPU.
    Profile(Period),
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
    /// A kernel tracepoint by its tracefs names.
    Tracepoint {
        /// tracefs system, `sched`.
        category: String,
        /// tracefs event, `sched_switch`.
        event: String,
    },
    /// A kernel tracepoint without the tracefs record.
    RawTracepoint {
        /// Module that defines it, when the script named one.
        module: Option<String>,
        /// Tracepoint name.
        event: String,
    },
    /// An instruction of the kernel, usually a function's first.
    Kprobe {
        /// Module that was named, or that a wildcard found.
        module: Option<String>,
        /// Function.
        function: String,
        /// Bytes into the function.
        offset: u64,
    },
    /// A kernel address (`kprobe:0xffff…`, unsafe mode).
    KprobeAddress(u64),
    /// A kernel function's return.
    Kretprobe {
        /// Module that was named, or that a wildcard found.
        module: Option<String>,
        /// Function.
        function: String,
    },
    /// A kernel function's entry by trampoline.
    Fentry {
        /// Module or `vmlinux`.
        module: String,
        /// Function.
        function: String,
    },
    /// A kernel function's return by trampoline.
    Fexit {
        /// Module or `vmlinux`.
        module: String,
        /// Function.
        function: String,
    },
    /// An instruction of a user-space file.
    Uprobe {
        /// Absolute path of the file.
        path: String,
        /// Symbol, mangled, when the probe was by name.
        symbol: Option<String>,
        /// Bytes into the symbol, or the file offset's own meaning when there is no symbol.
        offset: u64,
        /// Where in the file the instruction is.
        file_offset: u64,
    },
    /// A user-space function's return.
    Uretprobe {
        /// Absolute path of the file.
        path: String,
        /// Symbol, mangled, when the probe was by name.
        symbol: Option<String>,
        /// Where in the file the function starts.
        file_offset: u64,
    },
}

impl fmt::Display for AttachPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin => f.write_str("begin"),
            Self::End => f.write_str("end"),
            Self::Interval(p) => write!(f, "interval:{p}"),
            Self::Profile(p) => write!(f, "profile:{p}"),
            Self::Software { event, period } => write!(f, "software:{}:{period}", event.name()),
            Self::Hardware { event, period } => write!(f, "hardware:{}:{period}", event.name()),
            Self::Tracepoint { category, event } => write!(f, "tracepoint:{category}:{event}"),
            Self::RawTracepoint { module, event } => {
                write!(f, "rawtracepoint:{}{event}", Prefix(module.as_deref()))
            }
            Self::Kprobe { module, function, offset } => {
                write!(f, "kprobe:{}{function}", Prefix(module.as_deref()))?;
                if *offset != 0 { write!(f, "+{offset}") } else { Ok(()) }
            }
            Self::KprobeAddress(address) => write!(f, "kprobe:{address:#x}"),
            Self::Kretprobe { module, function } => {
                write!(f, "kretprobe:{}{function}", Prefix(module.as_deref()))
            }
            Self::Fentry { module, function } => write!(f, "fentry:{module}:{function}"),
            Self::Fexit { module, function } => write!(f, "fexit:{module}:{function}"),
            Self::Uprobe { path, symbol: Some(symbol), offset, .. } => {
                write!(f, "uprobe:{path}:{symbol}")?;
                if *offset != 0 { write!(f, "+{offset}") } else { Ok(()) }
            }
            Self::Uprobe { path, symbol: None, offset, .. } => write!(f, "uprobe:{path}:{offset:#x}"),
            Self::Uretprobe { path, symbol: Some(symbol), .. } => write!(f, "uretprobe:{path}:{symbol}"),
            Self::Uretprobe { path, symbol: None, file_offset } => {
                write!(f, "uretprobe:{path}:{file_offset:#x}")
            }
        }
    }
}

/// `module:` or nothing.
struct Prefix<'a>(Option<&'a str>);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(module) => write!(f, "{module}:"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hertz(n) => write!(f, "hz:{n}"),
            Self::Nanos(n) if n % 1_000_000_000 == 0 => write!(f, "s:{}", n / 1_000_000_000),
            Self::Nanos(n) if n % 1_000_000 == 0 => write!(f, "ms:{}", n / 1_000_000),
            Self::Nanos(n) if n % 1_000 == 0 => write!(f, "us:{}", n / 1_000),
            Self::Nanos(n) => write!(f, "{n}"),
        }
    }
}
