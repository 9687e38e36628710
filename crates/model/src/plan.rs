//! All that a session needs, and all that is needed to read what comes back: the compiler's result.

use crate::{EnumDef, Field, MapIdx, MapSpec, Program, Shape, SourceMap, Span};

/// How a stack prints (`stack_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StackMode {
    /// `symbol+offset`, one a line, indented.
    #[default]
    Bpftrace,
    /// `address symbol+offset (module)`.
    Perf,
    /// Bare addresses.
    Raw,
    /// `build-id offset`.
    BuildId,
}

/// What a wildcard or name that matches nothing means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingProbes {
    /// Nothing runs.
    #[default]
    Error,
    /// Said, then the rest runs.
    Warn,
    /// Not mentioned.
    Ignore,
}

/// Settings that matter after compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValues {
    /// Capacity of strings in bytes (`max_strlen`).
    pub max_strlen: u32,
    /// Entries of a keyed map (`max_map_keys`).
    pub max_map_keys: u32,
    /// Attach points allowed (`max_probes`).
    pub max_probes: u32,
    /// Bytes `cat` copies (`max_cat_bytes`).
    pub max_cat_bytes: u32,
    /// Bytes of verifier log asked for (`log_size`).
    pub log_size: u32,
    /// Pages of 4 KiB of the ring (`perf_rb_pages`); 0 chooses by the number of CPUs.
    pub ring_pages: u32,
    /// Print maps at the end (`print_maps_on_exit`).
    pub print_maps_on_exit: bool,
    /// Demangle C++ and Rust names (`cpp_demangle`).
    pub demangle: bool,
    /// Mark of a cut string (`str_trunc_trailer`).
    pub str_trunc_trailer: String,
    /// What to do about attach points that are not there (`missing_probes`).
    pub missing_probes: MissingProbes,
    /// Licence string of the programs (`license`).
    pub license: String,
    /// Default stack mode (`stack_mode`).
    pub stack_mode: StackMode,
}

impl Default for ConfigValues {
    fn default() -> Self {
        Self {
            max_strlen: 1024,
            max_map_keys: 4096,
            max_probes: 1024,
            max_cat_bytes: 10240,
            log_size: 1_000_000,
            ring_pages: 0,
            print_maps_on_exit: true,
            demangle: true,
            str_trunc_trailer: "..".into(),
            missing_probes: MissingProbes::Error,
            license: "GPL".into(),
            stack_mode: StackMode::Bpftrace,
        }
    }
}

/// A probe as the user wrote it; the unit of the loss accounting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeInfo {
    /// The attach points as written, comma separated.
    pub name: String,
    /// Where.
    pub span: Span,
    /// Concrete attach points it stands for, as counted to the user.
    pub attach_points: u32,
}

/// The counters each probe has; per-CPU `u64`s in this order at `probe * COUNTERS * 8` of the counter map's value.
/// A counter map is there in every plan that can lose something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Times the program ran (only counted when asked for: it costs).
    Fired = 0,
    /// Times the predicate was false (likewise).
    Filtered = 1,
    /// Records that found no room in the ring.
    Dropped = 2,
    /// Map updates refused because the map was full.
    MapFull = 3,
    /// Stacks that found no room in the stack store.
    StackFull = 4,
    /// Reads of user or kernel memory that failed (page not there, bad address).
    ReadFailed = 5,
    /// Runs given up because every scratch buffer of the CPU was in use.
    ScratchBusy = 6,
}

/// How many [`Counter`]s a probe has.
pub const COUNTERS: u32 = 7;

/// Key of the stack store: `u64` id. Its value: `u64` number of frames, then that many `u64` addresses, leaf first.
pub const STACK_STORE_KEY_SIZE: u32 = 8;

/// What a map of the plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRole {
    /// One of [`Plan::user_maps`].
    User,
    /// The ring that carries events.
    Ring,
    /// Per-CPU counters, see [`Counter`].
    Counters,
    /// Stacks by id.
    Stacks,
    /// Working memory of one program.
    Scratch,
    /// Constants: format strings, tables.
    Rodata,
    /// Shared with user space: `u64` reader-is-asleep flag at byte 0. Non-zero asks programs to wake the reader with their
    /// next record; zero tells them that it will look by itself.
    Control,
}

/// How a user map's value reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapValue {
    /// As stored.
    Plain(Shape),
    /// Per-CPU `u64`, added up.
    Count,
    /// Per-CPU `i64`/`u64`, added up.
    Sum {
        /// Signed.
        signed: bool,
    },
    /// Per-CPU value then `u64` set flag; the smallest of those set.
    Min {
        /// Signed.
        signed: bool,
    },
    /// Per-CPU value then `u64` set flag; the largest of those set.
    Max {
        /// Signed.
        signed: bool,
    },
    /// Per-CPU total then `u64` count; shown as total / count.
    Avg {
        /// Signed.
        signed: bool,
    },
    /// Per-CPU total then `u64` count; all three shown.
    Stats {
        /// Signed.
        signed: bool,
    },
    /// Per-CPU `u64` buckets, `((64 - bits) << bits) + 1` of them. Bucket 0: negative; else with n = 2^bits,
    /// `1 + value` below n and `((log2(value) - bits + 1) << bits) + (bits after the leading one) + 1` from n on.
    Hist {
        /// Linear steps per power of two, as a power of two: 0 to 5.
        bits: u8,
    },
    /// Per-CPU `u64` buckets, `(max - min) / step + 2` of them: below min, the steps, from max on.
    Lhist {
        /// Lower border of the first step.
        min: i64,
        /// Upper border of the last step.
        max: i64,
        /// Width of a step.
        step: i64,
    },
}

impl MapValue {
    /// Bytes of one CPU's value, without the set flag of scalar maps.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Self::Plain(shape) => shape.size().next_multiple_of(8),
            Self::Count | Self::Sum { .. } => 8,
            Self::Min { .. } | Self::Max { .. } | Self::Avg { .. } | Self::Stats { .. } => 16,
            Self::Hist { .. } | Self::Lhist { .. } => self.buckets() * 8,
        }
    }

    /// Number of buckets of a histogram, 0 for others.
    #[must_use]
    pub fn buckets(&self) -> u32 {
        match *self {
            Self::Hist { bits } => ((64 - u32::from(bits)) << bits) + 1,
            Self::Lhist { min, max, step } => ((max - min) / step) as u32 + 2,
            _ => 0,
        }
    }
}

/// A map of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMap {
    /// Name with the `@`.
    pub name: String,
    /// The kernel map. A scalar map is an array of one entry, and its value is followed by a `u64` that is not zero
    /// once something was stored (per-CPU maps: on that CPU); a keyed one is a hash.
    pub map: MapIdx,
    /// Shape of the key; [`Shape::Unit`] for a scalar map. Several keys are one tuple.
    pub key: Shape,
    /// Shape of the value.
    pub value: MapValue,
    /// First use in the script.
    pub span: Span,
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatArg {
    /// Bytes from the start of the record, header included, and meaning. The last string of a record may be cut short by
    /// the record's end.
    pub field: Field,
}

/// Layout of a `join` record after the header: `u64` number of strings, then each in `cap` bytes, NUL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRecord {
    /// Bytes per string.
    pub cap: u32,
    /// Most strings.
    pub max: u32,
}

/// What user space does with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `printf`; the format with its conversions as written.
    Printf {
        /// Format string with escapes resolved.
        format: String,
        /// Arguments in order.
        args: Vec<FormatArg>,
    },
    /// `errorf`, `warnf`: a remark about the call's place in the script.
    Message {
        /// An error, else a warning.
        error: bool,
        /// Format string.
        format: String,
        /// Arguments.
        args: Vec<FormatArg>,
    },
    /// `print` of a value that is not a map.
    PrintValue(FormatArg),
    /// `print(@x[, top[, div]])`.
    PrintMap {
        /// Index into [`Plan::user_maps`].
        map: u32,
        /// Entries to show, 0 is all.
        top: u64,
        /// Divisor, 0 is none.
        div: u64,
    },
    /// `print(@x[key])` of an aggregation: the entry with the key that the record carries (a scalar key is [`Shape::Unit`]).
    PrintMapEntry {
        /// Index into [`Plan::user_maps`].
        map: u32,
        /// The key in the record, laid out as in the map.
        key: FormatArg,
    },
    /// `clear`.
    Clear {
        /// Index into [`Plan::user_maps`].
        map: u32,
    },
    /// `zero`.
    Zero {
        /// Index into [`Plan::user_maps`].
        map: u32,
    },
    /// `time(format)`, wall clock of the moment it is handled.
    Time {
        /// strftime format.
        format: String,
    },
    /// `join`.
    Join {
        /// Layout.
        record: JoinRecord,
        /// Put between the strings.
        separator: String,
    },
    /// `cat`; the formatted text is a path.
    Cat {
        /// Format string.
        format: String,
        /// Arguments.
        args: Vec<FormatArg>,
    },
    /// `system`; the formatted text is a shell command.
    System {
        /// Format string.
        format: String,
        /// Arguments.
        args: Vec<FormatArg>,
    },
    /// `exit`; `i64` exit code at byte 8 of the record.
    Exit,
}

/// One kind of record in the ring. A record starts with a `u64` whose low half is the index of its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSchema {
    /// What to do with it.
    pub action: Action,
    /// Bytes of a whole record.
    pub size: u32,
    /// The call.
    pub span: Span,
    /// Index into [`Plan::probes`].
    pub probe: u32,
}

/// A compiled script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The texts spans point into.
    pub sources: SourceMap,
    /// Settings.
    pub config: ConfigValues,
    /// Probes as written.
    pub probes: Vec<ProbeInfo>,
    /// Full names of attach points, as `probe` shows them; indexed by attach cookie.
    pub probe_names: Vec<String>,
    /// Maps to create, with what they are for.
    pub maps: Vec<(MapSpec, MapRole)>,
    /// The script's maps, ordered by name.
    pub user_maps: Vec<UserMap>,
    /// Programs to load, in declaration order, which is the order they must fire in.
    pub programs: Vec<Program>,
    /// Record kinds.
    pub events: Vec<EventSchema>,
    /// Enums that shapes name.
    pub enums: Vec<EnumDef>,
    /// Whether [`Counter::Fired`] and [`Counter::Filtered`] are counted.
    pub counts_runs: bool,
}

impl Plan {
    /// The first map with this role.
    #[must_use]
    pub fn map_with_role(&self, role: MapRole) -> Option<MapIdx> {
        self.maps.iter().position(|(_, r)| *r == role).map(|i| MapIdx(i as u32))
    }

    /// Concrete attach points, as "Attached N probes" counts them.
    #[must_use]
    pub fn attach_points(&self) -> u32 {
        self.probes.iter().map(|p| p.attach_points).sum()
    }
}
