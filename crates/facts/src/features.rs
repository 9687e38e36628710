//! What this kernel can do, concluded from what it has: enumerators, members and functions in its type information,
//! devices in sysfs, and, where there is no type information, the names in kallsyms. Never from a version number:
//! distributions carry features back, and builds leave them out.
//!
//! A feature says that the kernel has it, not that this process may use it: privileges, lockdown and other sysctls are
//! found out by trying.

use crate::BtfKind;
use crate::kernel::KernelFacts;
use crate::{btf::Btf, kallsyms};

/// Where a feature is to be seen.
enum Evidence {
    /// `BPF_FUNC_name` in `enum bpf_func_id`; without BTF a symbol `bpf_name`.
    Helper(&'static str),
    /// A value of an enum.
    Enumerator(&'static str),
    /// A struct with members.
    Struct(&'static str),
    /// A member, by its path from a struct or union: `bpf_attr`, `link_create.perf_event.bpf_cookie`.
    Member(&'static str, &'static str),
    /// A function that BTF describes; without BTF a symbol of the name.
    Func(&'static str),
    /// A symbol, looked at only where there is no BTF.
    Symbol(&'static str),
    /// A perf device that sysfs lists under one of these names; a trailing `*` takes what follows.
    Device(&'static [&'static str]),
    /// A file of a perf device.
    DeviceFile(&'static str),
    /// BTF itself.
    HasBtf,
    /// Any of these.
    Any(&'static [Evidence]),
    /// All of these.
    All(&'static [Evidence]),
}

use Evidence::{All, Any, Device, DeviceFile, Enumerator, Func, HasBtf, Helper, Member, Struct, Symbol};

/// A feature with its name, for `--info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureInfo {
    /// Name of the field in [`Features`].
    pub name: &'static str,
    /// Whether this kernel has it.
    pub present: bool,
    /// The mainline release that brought it, to tell people what would have it.
    pub since: &'static str,
}

macro_rules! features {
    ($($(#[doc = $doc:literal])* $name:ident: $since:literal, $evidence:expr;)*) => {
        /// What this kernel can do.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Features {
            $($(#[doc = $doc])* #[doc = concat!("\n\nMainline since v", $since, ".")] pub $name: bool,)*
        }

        impl Features {
            pub(crate) fn of(facts: &KernelFacts) -> Self {
                let source = Source::new(facts);
                Self { $($name: source.shows(&$evidence),)* }
            }

            /// Every feature in the order of the fields.
            #[must_use]
            pub fn list(&self) -> Vec<FeatureInfo> {
                vec![$(FeatureInfo { name: stringify!($name), present: self.$name, since: $since },)*]
            }

            /// The feature of this name; `None` for a name that is none.
            #[must_use]
            pub fn by_name(&self, name: &str) -> Option<bool> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Sets the feature of this name, as `--no-feature` does; whether there is one.
            pub fn set(&mut self, name: &str, present: bool) -> bool {
                match name {
                    $(stringify!($name) => self.$name = present,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

features! {
    /// Type information of the kernel: `/sys/kernel/btf/vmlinux`.
    btf: "5.4", HasBtf;
    /// Type information of modules: `struct btf_module`, there with `CONFIG_DEBUG_INFO_BTF_MODULES`.
    module_btf: "5.11", Struct("btf_module");
    /// A link on a perf event carries a cookie: `bpf_attr.link_create.perf_event.bpf_cookie`.
    attach_cookie: "5.15",
        Any(&[Member("bpf_attr", "link_create.perf_event.bpf_cookie"), Symbol("bpf_perf_link_release")]);
    /// Links on perf events, with or without cookie: `BPF_LINK_TYPE_PERF_EVENT`.
    perf_link: "5.15", Any(&[Enumerator("BPF_LINK_TYPE_PERF_EVENT"), Symbol("bpf_perf_link_release")]);
    /// A raw tracepoint carries a cookie: `bpf_attr.raw_tracepoint.cookie`.
    raw_tp_cookie: "6.10", Member("bpf_attr", "raw_tracepoint.cookie");
    /// fentry, fexit and BTF tracepoint links carry a cookie: `bpf_attr.link_create.tracing.cookie`.
    tracing_cookie: "5.19", Member("bpf_attr", "link_create.tracing.cookie");
    /// One link for many kprobes: `struct bpf_kprobe_multi_link`, there with `CONFIG_FPROBE` (the enumerator always is).
    kprobe_multi: "5.18", Any(&[Struct("bpf_kprobe_multi_link"), Symbol("bpf_kprobe_multi_link_release")]);
    /// Entry and return by one program: `BPF_TRACE_KPROBE_SESSION` where there is `kprobe_multi`.
    kprobe_session: "6.10",
        All(&[Struct("bpf_kprobe_multi_link"), Enumerator("BPF_TRACE_KPROBE_SESSION")]);
    /// One link for many uprobes of a file: `struct bpf_uprobe_multi_link`, there with `CONFIG_UPROBES`.
    uprobe_multi: "6.6", Any(&[Struct("bpf_uprobe_multi_link"), Symbol("bpf_uprobe_multi_link_release")]);
    /// Entry and return of user functions by one program: `BPF_TRACE_UPROBE_SESSION` where there is `uprobe_multi`.
    uprobe_session: "6.13",
        All(&[Struct("bpf_uprobe_multi_link"), Enumerator("BPF_TRACE_UPROBE_SESSION")]);
    /// Raw tracepoints with typed arguments: `BPF_TRACE_RAW_TP`.
    tp_btf: "5.5", Enumerator("BPF_TRACE_RAW_TP");
    /// Function entry and return by trampoline: `BPF_TRACE_FENTRY` in a kernel whose functions can call one. That shows
    /// in `ftrace_ops.direct_call` (since v6.4); before, x86-64 (which has `struct desc_struct`) could wherever it has
    /// `struct dyn_ftrace`, and arm64 could not.
    fentry: "5.5", All(&[
        Enumerator("BPF_TRACE_FENTRY"),
        Any(&[
            Member("ftrace_ops", "direct_call"),
            All(&[Struct("dyn_ftrace"), Struct("desc_struct")]),
        ]),
    ]);
    /// Programs that walk kernel objects: `BPF_TRACE_ITER`.
    iter: "5.8", Enumerator("BPF_TRACE_ITER");
    /// `bpf_loop`.
    bpf_loop: "5.17", Helper("loop");
    /// `bpf_for_each_map_elem`.
    for_each_map_elem: "5.13", Helper("for_each_map_elem");
    /// Loops with a counter kept by the kernel: the kfunc `bpf_iter_num_new`.
    iter_num: "6.4", Func("bpf_iter_num_new");
    /// Loops that the verifier follows to their end: `bpf_verifier_state.branches`.
    bounded_loops: "5.3", Member("bpf_verifier_state", "branches");
    /// Atomic operations that give the old value: `check_atomic` in the verifier, or the helper `check_mtu`, which was
    /// merged after it for the same release.
    atomics_fetch: "5.12", Any(&[Func("check_atomic"), Helper("check_mtu")]);
    /// `bpf_get_func_ip`.
    get_func_ip: "5.15", Helper("get_func_ip");
    /// `bpf_get_attach_cookie`.
    get_attach_cookie: "5.15", Helper("get_attach_cookie");
    /// `bpf_get_func_arg`: arguments of fentry programs by number.
    get_func_arg: "5.17", Helper("get_func_arg");
    /// `bpf_ktime_get_boot_ns`.
    ktime_get_boot_ns: "5.8", Helper("ktime_get_boot_ns");
    /// `bpf_ktime_get_tai_ns`.
    ktime_get_tai_ns: "6.1", Helper("ktime_get_tai_ns");
    /// `bpf_jiffies64`.
    jiffies64: "5.5", Helper("jiffies64");
    /// `bpf_probe_read_kernel`, and the other three that say whose memory they read.
    probe_read_kernel: "5.5", Helper("probe_read_kernel");
    /// `bpf_copy_from_user`, for programs that may sleep.
    copy_from_user: "5.10", Helper("copy_from_user");
    /// `bpf_map_lookup_percpu_elem`.
    map_lookup_percpu_elem: "5.19", Helper("map_lookup_percpu_elem");
    /// `bpf_strncmp`.
    strncmp: "5.17", Helper("strncmp");
    /// `bpf_task_pt_regs`.
    task_pt_regs: "5.15", Helper("task_pt_regs");
    /// `bpf_get_current_task_btf`.
    get_current_task_btf: "5.11", Helper("get_current_task_btf");
    /// `bpf_get_task_stack`.
    get_task_stack: "5.9", Helper("get_task_stack");
    /// `bpf_get_current_cgroup_id`.
    cgroup_id: "4.18", Helper("get_current_cgroup_id");
    /// `bpf_get_current_ancestor_cgroup_id`.
    ancestor_cgroup_id: "5.7", Helper("get_current_ancestor_cgroup_id");
    /// `bpf_get_ns_current_pid_tgid`.
    get_ns_current_pid_tgid: "5.7", Helper("get_ns_current_pid_tgid");
    /// `bpf_send_signal`.
    send_signal: "5.3", Helper("send_signal");
    /// `bpf_skb_output`, `bpf_perf_event_output` for socket buffers in tracing programs.
    skb_output: "5.5", Helper("skb_output");
    /// `bpf_d_path`.
    dpath: "5.10", Helper("d_path");
    /// The kfunc `bpf_path_d_path`, which the verifier trusts with more pointers.
    path_d_path: "6.12", Func("bpf_path_d_path");
    /// Ring buffers: `BPF_MAP_TYPE_RINGBUF`.
    ringbuf: "5.8", Any(&[Enumerator("BPF_MAP_TYPE_RINGBUF"), Symbol("bpf_ringbuf_reserve")]);
    /// Array maps that user space maps: `BPF_F_MMAPABLE`.
    mmapable: "5.5", Enumerator("BPF_F_MMAPABLE");
    /// Many map entries by one system call: `BPF_MAP_LOOKUP_BATCH`.
    map_batch: "5.6", Enumerator("BPF_MAP_LOOKUP_BATCH");
    /// Run time and run count of programs, switched on for as long as somebody holds a descriptor: `BPF_ENABLE_STATS`.
    enable_stats: "5.8", Enumerator("BPF_ENABLE_STATS");
    /// kprobes through perf events: the device `kprobe`.
    kprobes: "4.17", Device(&["kprobe"]);
    /// uprobes through perf events: the device `uprobe`.
    uprobes: "4.17", Device(&["uprobe"]);
    /// USDT semaphores counted by the kernel: `ref_ctr_offset` in the format of the device `uprobe`.
    uprobe_ref_ctr: "4.20", DeviceFile("uprobe/format/ref_ctr_offset");
    /// Hardware counters: a device of the CPU's own.
    hardware_pmu: "2.6.31",
        Device(&["cpu", "cpu_core", "cpu_atom", "armv8_*", "armv9_*", "armv7_*", "apple_*"]);
    /// The function tracer: `struct ftrace_ops`, which is only declared without it.
    function_tracer: "2.6.27", Any(&[Struct("ftrace_ops"), Symbol("register_ftrace_function")]);
}

/// Where evidence is looked for.
struct Source<'a> {
    facts: &'a KernelFacts,
    btf: Option<&'a Btf>,
}

impl<'a> Source<'a> {
    fn new(facts: &'a KernelFacts) -> Self {
        Self { facts, btf: facts.btf().ok() }
    }

    fn shows(&self, evidence: &Evidence) -> bool {
        match evidence {
            Helper(name) => match self.btf {
                Some(btf) => btf.find_enumerator(&format!("BPF_FUNC_{name}")).is_some(),
                None => self.has_symbol(&format!("bpf_{name}"), true),
            },
            Enumerator(name) => self.btf.is_some_and(|b| b.find_enumerator(name).is_some()),
            Struct(name) => self.btf.is_some_and(|b| b.find(BtfKind::Struct, name).is_some()),
            Member(of, path) => self.btf.is_some_and(|b| has_member(b, of, path)),
            Func(name) => match self.btf {
                Some(btf) => btf.find(BtfKind::Func, name).is_some(),
                None => self.has_symbol(name, false),
            },
            Symbol(name) => self.btf.is_none() && self.has_symbol(name, false),
            Device(names) => self.facts.perf_devices().iter().any(|device| {
                names.iter().any(|name| match name.strip_suffix('*') {
                    Some(prefix) => device.starts_with(prefix),
                    None => device == name,
                })
            }),
            DeviceFile(path) => self.facts.has_perf_device_file(path),
            HasBtf => self.btf.is_some(),
            Any(list) => list.iter().any(|e| self.shows(e)),
            All(list) => list.iter().all(|e| self.shows(e)),
        }
    }

    /// Whether kallsyms has a symbol; with `variants` also `NAME_…`, as one helper has an implementation for each kind
    /// of program.
    fn has_symbol(&self, name: &str, variants: bool) -> bool {
        let Ok(text) = self.facts.kallsyms() else { return false };
        kallsyms::find(text, name).is_some() || (variants && text.contains(&format!(" {name}_")))
    }
}

fn has_member(btf: &Btf, of: &str, path: &str) -> bool {
    let root = btf.find(BtfKind::Union, of).or_else(|| btf.find(BtfKind::Struct, of));
    root.is_some_and(|root| {
        path.split('.').try_fold(root, |at, name| btf.member(at, name).map(|m| m.ty)).is_some()
    })
}
