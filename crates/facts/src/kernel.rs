//! The facts of one kernel, each read when it is first asked for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fmt, fs};

use crate::btf::{Btf, BtfKind};
use crate::elf::Binary;
use crate::features::Features;
use crate::ldcache::LdCache;
use crate::paths::{self, under};
use crate::tracepoint::TracepointFormat;
use crate::{FactsError, Glob, kallsyms, kconfig, syscalls, tracefs};

/// An architecture whose numbers and places we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// The one this program is built for.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    /// The flags of its libraries in `ld.so.cache`.
    pub(crate) fn ld_flags(self) -> u32 {
        match self {
            Self::X86_64 => 0x0303,
            Self::Aarch64 => 0x0a03,
        }
    }

    pub(crate) fn multiarch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Aarch64 => "aarch64-linux-gnu",
        }
    }
}

/// A tracepoint that tracefs lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TracepointName {
    /// tracefs system, `sched`.
    pub category: String,
    /// Event, `sched_switch`.
    pub event: String,
}

impl fmt::Display for TracepointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.category, self.event)
    }
}

/// A kernel function that can be traced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelFunction {
    /// Its name; several functions may share one.
    pub name: String,
    /// Module, if it is not in the kernel itself.
    pub module: Option<String>,
}

type Lazy<T> = OnceLock<Result<T, FactsError>>;
type Shared<K, V> = Mutex<HashMap<K, V>>;

/// What is true of a kernel and of the files beside it. Cheap to make; nothing is read that is not asked for, and
/// nothing twice.
pub struct KernelFacts {
    root: PathBuf,
    live: bool,
    arch: Arch,
    btf_path: PathBuf,
    tracefs: Lazy<PathBuf>,
    btf: Lazy<Arc<Btf>>,
    module_btf: Shared<String, Result<Arc<Btf>, FactsError>>,
    tracepoints: Lazy<Vec<TracepointName>>,
    formats: Shared<TracepointName, Option<Arc<TracepointFormat>>>,
    raw_tracepoints: Lazy<Vec<String>>,
    functions: Lazy<Vec<KernelFunction>>,
    filter_functions: OnceLock<Option<String>>,
    no_probe_ranges: OnceLock<Vec<(u64, u64)>>,
    kallsyms: Lazy<String>,
    config: OnceLock<Option<String>>,
    devices: OnceLock<Vec<String>>,
    features: OnceLock<Features>,
    binaries: Shared<PathBuf, Arc<Binary>>,
    ld_cache: OnceLock<LdCache>,
}

impl KernelFacts {
    /// The running kernel. tracefs is where the mount table says.
    #[must_use]
    pub fn live() -> Self {
        Self::new(Path::new("/"), true)
    }

    /// A directory that stands for `/`: `sys/kernel/btf/vmlinux`, `sys/kernel/tracing/…`, `proc/kallsyms` and so on.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self::new(root, false)
    }

    fn new(root: &Path, live: bool) -> Self {
        Self {
            root: root.to_owned(),
            live,
            arch: Arch::HOST,
            btf_path: under(root, "/sys/kernel/btf/vmlinux"),
            tracefs: OnceLock::new(),
            btf: OnceLock::new(),
            module_btf: Mutex::default(),
            tracepoints: OnceLock::new(),
            formats: Mutex::default(),
            raw_tracepoints: OnceLock::new(),
            functions: OnceLock::new(),
            filter_functions: OnceLock::new(),
            no_probe_ranges: OnceLock::new(),
            kallsyms: OnceLock::new(),
            config: OnceLock::new(),
            devices: OnceLock::new(),
            features: OnceLock::new(),
            binaries: Mutex::default(),
            ld_cache: OnceLock::new(),
        }
    }

    /// With tracefs at this path.
    #[must_use]
    pub fn with_tracefs(mut self, path: PathBuf) -> Self {
        self.tracefs = OnceLock::from(Ok(path));
        self
    }

    /// With the kernel's BTF from this file (`BPFTRACE_BTF`).
    #[must_use]
    pub fn with_btf(mut self, path: PathBuf) -> Self {
        self.btf_path = path;
        self.btf = OnceLock::new();
        self
    }

    /// With these features in place of what would be found (`--no-feature`, tests).
    #[must_use]
    pub fn with_features(mut self, features: Features) -> Self {
        self.features = OnceLock::from(features);
        self
    }

    /// With the system calls and libraries of this architecture rather than the host's.
    #[must_use]
    pub fn with_arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// The architecture.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The directory that stands for `/`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where tracefs is.
    ///
    /// # Errors
    /// [`FactsError::Missing`] when it is not mounted.
    pub fn tracefs(&self) -> Result<&Path, FactsError> {
        let find = || {
            if self.live { tracefs::find_mounted(&self.root) } else { tracefs::find_in_fixture(&self.root) }
        };
        lazily(&self.tracefs, find).map(PathBuf::as_path)
    }

    /// The kernel's type information.
    ///
    /// # Errors
    /// [`FactsError::Missing`] when the kernel has none; others when it cannot be read.
    pub fn btf(&self) -> Result<&Btf, FactsError> {
        self.btf_ref().map(|btf| &**btf)
    }

    /// [`KernelFacts::btf`], to keep.
    ///
    /// # Errors
    /// As [`KernelFacts::btf`].
    pub fn btf_shared(&self) -> Result<Arc<Btf>, FactsError> {
        self.btf_ref().cloned()
    }

    fn btf_ref(&self) -> Result<&Arc<Btf>, FactsError> {
        lazily(&self.btf, || {
            let bytes = read_btf(&self.btf_path)?;
            Ok(Arc::new(Btf::parse(bytes, None)?))
        })
    }

    /// The type information of a module, on top of the kernel's. `vmlinux` is the kernel's own.
    ///
    /// # Errors
    /// [`FactsError::Missing`] when there is no such module or it has none.
    pub fn module_btf(&self, module: &str) -> Result<Arc<Btf>, FactsError> {
        if module == "vmlinux" {
            return self.btf_shared();
        }
        if let Some(known) = locked(&self.module_btf).get(module) {
            return known.clone();
        }
        let read = || {
            let path = under(&self.root, "/sys/kernel/btf").join(module);
            if !tracefs::is_plain_name(module) {
                return Err(FactsError::Missing {
                    what: "module BTF",
                    path,
                    remedy: "check the module's name",
                });
            }
            Ok(Arc::new(Btf::parse(read_btf(&path)?, Some(self.btf_shared()?))?))
        };
        let btf = read();
        locked(&self.module_btf).insert(module.to_owned(), btf.clone());
        btf
    }

    /// Modules that have type information, sorted; without `vmlinux`.
    #[must_use]
    pub fn btf_modules(&self) -> Vec<String> {
        let mut names = paths::names_in(&under(&self.root, "/sys/kernel/btf"));
        names.retain(|n| n != "vmlinux");
        names
    }

    /// All tracepoints that tracefs lists, sorted.
    ///
    /// # Errors
    /// When tracefs is not mounted or may not be read.
    pub fn tracepoints(&self) -> Result<&[TracepointName], FactsError> {
        lazily(&self.tracepoints, || {
            let text = tracefs::read(&self.tracefs()?.join("available_events"))?;
            let mut names: Vec<TracepointName> = text
                .lines()
                .filter_map(|line| {
                    let (category, event) = line.trim().split_once(':')?;
                    Some(TracepointName { category: category.to_owned(), event: event.to_owned() })
                })
                .collect();
            names.sort();
            names.dedup();
            Ok(names)
        })
        .map(Vec::as_slice)
    }

    /// The record of a tracepoint; `None` when there is no such tracepoint.
    ///
    /// # Errors
    /// When tracefs is not mounted or may not be read, or the format makes no sense.
    pub fn tracepoint(
        &self,
        category: &str,
        event: &str,
    ) -> Result<Option<Arc<TracepointFormat>>, FactsError> {
        if !tracefs::is_plain_name(category) || !tracefs::is_plain_name(event) {
            return Ok(None);
        }
        let key = TracepointName { category: category.to_owned(), event: event.to_owned() };
        if let Some(known) = locked(&self.formats).get(&key) {
            return Ok(known.clone());
        }
        let path = self.tracefs()?.join("events").join(category).join(event).join("format");
        let format = match tracefs::read(&path) {
            Ok(text) => Some(Arc::new(TracepointFormat::parse(&text)?)),
            Err(e) if e.is_missing() => None,
            Err(e) => return Err(e),
        };
        locked(&self.formats).insert(key, format.clone());
        Ok(format)
    }

    /// Names of raw tracepoints of the kernel itself, sorted: those with a `btf_trace_NAME` typedef.
    ///
    /// # Errors
    /// When there is no type information.
    pub fn raw_tracepoints(&self) -> Result<&[String], FactsError> {
        lazily(&self.raw_tracepoints, || Ok(raw_tracepoints_of(self.btf()?))).map(Vec::as_slice)
    }

    /// Names of raw tracepoints of a module, sorted.
    ///
    /// # Errors
    /// As [`KernelFacts::module_btf`].
    pub fn module_raw_tracepoints(&self, module: &str) -> Result<Vec<String>, FactsError> {
        Ok(raw_tracepoints_of(&*self.module_btf(module)?))
    }

    /// Functions that can be traced, sorted: what the function tracer lists, or, where it is not there or tracefs
    /// cannot be read, the text symbols of kallsyms without those that take no probe.
    ///
    /// # Errors
    /// When neither can be read.
    pub fn kernel_functions(&self) -> Result<&[KernelFunction], FactsError> {
        lazily(&self.functions, || self.kernel_functions_like(&Glob::new("*"))).map(Vec::as_slice)
    }

    /// Those of [`KernelFacts::kernel_functions`] whose name matches, sorted. Much cheaper than to make the whole list.
    ///
    /// # Errors
    /// As [`KernelFacts::kernel_functions`].
    pub fn kernel_functions_like(&self, pattern: &Glob) -> Result<Vec<KernelFunction>, FactsError> {
        let mut found = Vec::new();
        let mut add = |name: &str, module: Option<&str>| {
            if pattern.is_match(name) && !kallsyms::is_untraceable(name) {
                found.push(KernelFunction { name: name.to_owned(), module: module.map(str::to_owned) });
            }
        };
        match self.filter_functions() {
            Some(text) => {
                for line in text.lines() {
                    let (name, module) = line.split_once(' ').map_or((line, None), |(n, m)| (n, Some(m)));
                    add(name, module.and_then(|m| m.trim().strip_prefix('[')?.strip_suffix(']')));
                }
            }
            None => {
                let text = self.kallsyms()?;
                let ranges = self.no_probe_ranges.get_or_init(|| {
                    let mut ranges = kallsyms::untraceable_ranges(text);
                    ranges.extend(self.kprobe_blacklist());
                    ranges
                });
                for symbol in kallsyms::symbols(text).filter(kallsyms::Symbol::is_text) {
                    if !ranges.iter().any(|(from, to)| (*from..*to).contains(&symbol.address)) {
                        add(symbol.name, symbol.module);
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found.shrink_to_fit();
        Ok(found)
    }

    /// Whether there is a traceable function of this name, in any module. Type information is asked first, as its index
    /// is at hand and the lists are long.
    ///
    /// # Errors
    /// As [`KernelFacts::kernel_functions`].
    pub fn has_kernel_function(&self, name: &str) -> Result<bool, FactsError> {
        if self.btf().is_ok_and(|btf| btf.find(BtfKind::Func, name).is_some()) {
            return Ok(true);
        }
        match self.filter_functions() {
            Some(text) => Ok(text.lines().any(|line| line.split(' ').next() == Some(name))),
            None => Ok(kallsyms::find(self.kallsyms()?, name).is_some_and(|s| s.is_text())),
        }
    }

    /// The function tracer's list of `name` or `name [module]`; `None` if there is none that we may read.
    fn filter_functions(&self) -> Option<&str> {
        let read = || {
            let text = tracefs::read(&self.tracefs().ok()?.join("available_filter_functions")).ok()?;
            (!text.trim_start().is_empty()).then_some(text)
        };
        self.filter_functions.get_or_init(read).as_deref()
    }

    /// Ranges in which the kernel refuses kprobes; none if it does not say.
    fn kprobe_blacklist(&self) -> Vec<(u64, u64)> {
        let path = under(&self.root, "/sys/kernel/debug/kprobes/blacklist");
        let text = fs::read_to_string(path).unwrap_or_default();
        let address = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        text.lines()
            .filter_map(|line| {
                let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
                Some((address(from)?, address(to)?))
            })
            .filter(|(from, to)| *from != 0 && from < to)
            .collect()
    }

    /// The address of a kernel symbol; `None` when there is none of the name.
    ///
    /// # Errors
    /// [`FactsError::Restricted`] when the kernel hides addresses.
    pub fn kernel_symbol(&self, name: &str) -> Result<Option<u64>, FactsError> {
        let text = self.kallsyms()?;
        match kallsyms::find(text, name) {
            None => Ok(None),
            Some(symbol) if symbol.address == 0 && kallsyms::is_hidden(text) => Err(FactsError::Restricted {
                what: "addresses in /proc/kallsyms",
                by: "kernel.kptr_restrict",
                remedy: "run with CAP_SYSLOG and `sysctl kernel.kptr_restrict=1`, or without it, `sysctl \
                         kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`",
            }),
            Some(symbol) => Ok(Some(symbol.address)),
        }
    }

    pub(crate) fn kallsyms(&self) -> Result<&str, FactsError> {
        lazily(&self.kallsyms, || {
            let path = under(&self.root, "/proc/kallsyms");
            let bytes = fs::read(&path).map_err(|e| {
                FactsError::io(&path, "kernel symbols", "this kernel is built without CONFIG_KALLSYMS", e)
            })?;
            Ok(paths::text(bytes))
        })
        .map(String::as_str)
    }

    /// The number of a system call.
    #[must_use]
    pub fn syscall_number(&self, name: &str) -> Option<u32> {
        syscalls::number(self.arch, name)
    }

    /// The name of a system call.
    #[must_use]
    pub fn syscall_name(&self, nr: u32) -> Option<&'static str> {
        syscalls::name(self.arch, nr)
    }

    /// The number of the call that the tracepoint `sys_enter_NAME` or `sys_exit_NAME` is about. Some of those have
    /// another name than the call (`sys_enter_newfstat`).
    #[must_use]
    pub fn syscall_event_number(&self, event: &str) -> Option<u32> {
        syscalls::event_number(self.arch, event)
    }

    /// What the kernel can do.
    pub fn features(&self) -> &Features {
        self.features.get_or_init(|| Features::of(self))
    }

    /// A value of the kernel's build configuration, `y`, `m` or what else is set; `None` when it is not set or
    /// the configuration is nowhere to be read (see [`KernelFacts::has_config`]).
    #[must_use]
    pub fn config(&self, name: &str) -> Option<&str> {
        kconfig::value(self.config_text()?, name)
    }

    /// Whether the build configuration could be read.
    #[must_use]
    pub fn has_config(&self) -> bool {
        self.config_text().is_some()
    }

    fn config_text(&self) -> Option<&str> {
        let read = || {
            let packed = fs::read(under(&self.root, "/proc/config.gz")).ok();
            let bytes = packed.and_then(|bytes| kconfig::gunzip(&bytes)).or_else(|| {
                let release = self.release()?;
                fs::read(under(&self.root, format!("/boot/config-{release}"))).ok()
            })?;
            Some(paths::text(bytes))
        };
        self.config.get_or_init(read).as_deref()
    }

    /// The kernel's release, `6.12.1-amd64`. To be shown and to find files by, never to conclude from.
    #[must_use]
    pub fn release(&self) -> Option<String> {
        let text = fs::read_to_string(under(&self.root, "/proc/sys/kernel/osrelease")).ok()?;
        Some(text.trim().to_owned()).filter(|r| tracefs::is_plain_name(r))
    }

    /// Names of the perf devices in sysfs, sorted.
    pub fn perf_devices(&self) -> &[String] {
        self.devices.get_or_init(|| paths::names_in(&under(&self.root, PERF_DEVICES)))
    }

    pub(crate) fn has_perf_device_file(&self, path: &str) -> bool {
        under(&self.root, PERF_DEVICES).join(path).exists()
    }

    /// A user binary. Read once; a later change of the file is not seen.
    ///
    /// # Errors
    /// When it cannot be read or is no ELF file.
    pub fn binary(&self, path: &Path) -> Result<Arc<Binary>, FactsError> {
        if let Some(known) = locked(&self.binaries).get(path) {
            return Ok(known.clone());
        }
        let binary = Arc::new(Binary::open(&self.root, path)?);
        locked(&self.binaries).insert(path.to_owned(), binary.clone());
        Ok(binary)
    }

    /// The files that a script's name for a program or library stands for, best first: a path as it is (with its
    /// wildcards expanded), a program through `PATH`, a library (`libc`, `libssl.so.3`) as the dynamic linker finds it.
    #[must_use]
    pub fn resolve_path(&self, name: &str) -> Vec<PathBuf> {
        let cache = self.ld_cache.get_or_init(|| {
            let bytes = fs::read(under(&self.root, "/etc/ld.so.cache")).unwrap_or_default();
            // A cache of another C library is as good as none: the default directories follow.
            LdCache::parse(&bytes).unwrap_or_default()
        });
        let search = if self.live { std::env::var_os("PATH") } else { None };
        paths::resolve(&self.root, search.as_deref(), cache, self.arch, name)
    }
}

impl fmt::Debug for KernelFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelFacts")
            .field("root", &self.root)
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}

const PERF_DEVICES: &str = "/sys/bus/event_source/devices";

/// The value, made at the first call; a failure is kept like a success.
fn lazily<T>(cell: &Lazy<T>, make: impl FnOnce() -> Result<T, FactsError>) -> Result<&T, FactsError> {
    cell.get_or_init(make).as_ref().map_err(Clone::clone)
}

/// The maps are only added to, so what a panicking thread left is whole.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_btf(path: &Path) -> Result<Vec<u8>, FactsError> {
    fs::read(path).map_err(|e| {
        let remedy = "boot a kernel with CONFIG_DEBUG_INFO_BTF, or name a BTF file by BPFTRACE_BTF";
        FactsError::io(path, "BTF", remedy, e)
    })
}

fn raw_tracepoints_of(btf: &Btf) -> Vec<String> {
    let typedefs = btf.own_ids().filter(|&id| btf.kind(id) == Some(BtfKind::Typedef));
    let mut names: Vec<String> =
        typedefs.filter_map(|id| btf.name(id).strip_prefix("btf_trace_").map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}
