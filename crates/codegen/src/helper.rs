//! Numbers of the kernel helpers that generated code calls (`enum bpf_func_id`, linux/bpf.h).

macro_rules! helpers {
    ($($(#[$doc:meta])* $name:ident = $number:literal $text:literal;)*) => {
        $($(#[$doc])* #[doc(alias = $text)] pub const $name: u32 = $number;)*

        /// The kernel's name of a helper, without `bpf_`.
        #[must_use]
        pub fn name(number: u32) -> Option<&'static str> {
            match number {
                $($number => Some($text),)*
                _ => None,
            }
        }

        /// The helper with this name.
        #[must_use]
        pub fn by_name(name: &str) -> Option<u32> {
            match name {
                $($text => Some($number),)*
                _ => None,
            }
        }
    };
}

helpers! {
    /// Value of a key, or null.
    MAP_LOOKUP_ELEM = 1 "map_lookup_elem";
    /// Store a value.
    MAP_UPDATE_ELEM = 2 "map_update_elem";
    /// Remove a key.
    MAP_DELETE_ELEM = 3 "map_delete_elem";
    /// Monotonic nanoseconds.
    KTIME_GET_NS = 5 "ktime_get_ns";
    /// To the kernel's own log.
    TRACE_PRINTK = 6 "trace_printk";
    /// Random 32 bits.
    GET_PRANDOM_U32 = 7 "get_prandom_u32";
    /// CPU number.
    GET_SMP_PROCESSOR_ID = 8 "get_smp_processor_id";
    /// `tgid << 32 | tid`.
    GET_CURRENT_PID_TGID = 14 "get_current_pid_tgid";
    /// `gid << 32 | uid`.
    GET_CURRENT_UID_GID = 15 "get_current_uid_gid";
    /// Command name.
    GET_CURRENT_COMM = 16 "get_current_comm";
    /// Stack into a stack map.
    GET_STACKID = 27 "get_stackid";
    /// `task_struct` address.
    GET_CURRENT_TASK = 35 "get_current_task";
    /// String from either address space (architectures where they do not overlap).
    PROBE_READ_STR = 45 "probe_read_str";
    /// Bytes from either address space.
    PROBE_READ = 4 "probe_read";
    /// NUMA node.
    GET_NUMA_NODE_ID = 42 "get_numa_node_id";
    /// Force a function's result.
    OVERRIDE_RETURN = 58 "override_return";
    /// Stack into memory.
    GET_STACK = 67 "get_stack";
    /// Cgroup v2 id.
    GET_CURRENT_CGROUP_ID = 80 "get_current_cgroup_id";
    /// Signal to the process.
    SEND_SIGNAL = 109 "send_signal";
    /// User bytes.
    PROBE_READ_USER = 112 "probe_read_user";
    /// Kernel bytes.
    PROBE_READ_KERNEL = 113 "probe_read_kernel";
    /// User string.
    PROBE_READ_USER_STR = 114 "probe_read_user_str";
    /// Kernel string.
    PROBE_READ_KERNEL_STR = 115 "probe_read_kernel_str";
    /// Signal to the thread.
    SEND_SIGNAL_THREAD = 117 "send_signal_thread";
    /// Jiffies.
    JIFFIES64 = 118 "jiffies64";
    /// pid and tgid in another pid namespace.
    GET_NS_CURRENT_PID_TGID = 120 "get_ns_current_pid_tgid";
    /// Boot-time nanoseconds.
    KTIME_GET_BOOT_NS = 125 "ktime_get_boot_ns";
    /// Copy into the ring.
    RINGBUF_OUTPUT = 130 "ringbuf_output";
    /// Room in the ring.
    RINGBUF_RESERVE = 131 "ringbuf_reserve";
    /// Publish a record.
    RINGBUF_SUBMIT = 132 "ringbuf_submit";
    /// Drop a reserved record.
    RINGBUF_DISCARD = 133 "ringbuf_discard";
    /// State of the ring.
    RINGBUF_QUERY = 134 "ringbuf_query";
    /// `task_struct` as a BTF pointer.
    GET_CURRENT_TASK_BTF = 158 "get_current_task_btf";
    /// Coarse monotonic nanoseconds.
    KTIME_GET_COARSE_NS = 160 "ktime_get_coarse_ns";
    /// Callback for every element.
    FOR_EACH_MAP_ELEM = 164 "for_each_map_elem";
    /// Instruction address of the traced function.
    GET_FUNC_IP = 173 "get_func_ip";
    /// Value given at attach time.
    GET_ATTACH_COOKIE = 174 "get_attach_cookie";
    /// User registers of a task.
    TASK_PT_REGS = 175 "task_pt_regs";
    /// Callback a number of times.
    LOOP = 181 "loop";
    /// Compare strings.
    STRNCMP = 182 "strncmp";
    /// Value of a per-CPU map on another CPU.
    MAP_LOOKUP_PERCPU_ELEM = 195 "map_lookup_percpu_elem";
    /// TAI nanoseconds.
    KTIME_GET_TAI_NS = 208 "ktime_get_tai_ns";
}
