//! The one that is asked.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use strix_model::Frame;

use crate::cgroup::Cgroups;
use crate::dso::Dso;
use crate::process::Process;
use crate::users::Users;
use crate::{Kallsyms, Mapping};

/// Most processes that are remembered; the ones not asked for longest are forgotten.
const MOST_PROCESSES: usize = 4096;

/// Most files kept open, well below the usual limit of descriptors.
const MOST_DSOS: usize = 256;

/// Most places in files whose functions are remembered.
const MOST_FRAMES: usize = 1 << 15;

/// How names are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Demangle C++ and Rust names.
    pub demangle: bool,
    /// Read debug information: source lines and inlined functions. Costs memory and time for large programs.
    pub debug_info: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { demangle: true, debug_info: false }
    }
}

/// Look-ups until it is tried again to open a file that could not be.
const RETRY_AFTER: u64 = 256;

/// Identity of a mapped file: device and inode. The vDSO is no file; its inode is 0, and width and size stand for the device.
type DsoKey = ((u32, u32), u64);

struct Aged<T> {
    last_used: u64,
    item: T,
}

/// Gives names to addresses and ids. Reads files only when asked, and keeps what it read.
pub struct Symbolizer {
    options: Options,
    proc: PathBuf,
    kernel: Option<Kallsyms>,
    processes: HashMap<u32, Aged<Process>>,
    /// `None`: the file could not be opened.
    dsos: HashMap<DsoKey, Aged<Option<Dso>>>,
    frames: HashMap<(DsoKey, u64), Vec<Frame>>,
    users: Users,
    cgroups: Cgroups,
    clock: u64,
    problems: Vec<String>,
}

impl Symbolizer {
    /// A symbolizer of this machine.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::under(options, "/")
    }

    /// A symbolizer of the machine whose `/proc` and `/etc` are below `root`.
    #[must_use]
    pub fn under(options: Options, root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            options,
            proc: root.join("proc"),
            kernel: None,
            processes: HashMap::new(),
            dsos: HashMap::new(),
            frames: HashMap::new(),
            users: Users::new(root.join("etc/passwd")),
            cgroups: Cgroups::new(root.join("proc/self/mounts")),
            clock: 0,
            problems: Vec::new(),
        }
    }

    /// The kernel function that holds an address.
    pub fn kernel_symbol(&mut self, address: u64) -> Option<Frame> {
        let demangle = self.options.demangle;
        let found = self.kallsyms().lookup(address)?;
        // Only Rust mangles in the kernel.
        let function = match rustc_demangle::try_demangle(found.name) {
            Ok(name) if demangle && found.name.starts_with("_R") => format!("{name:#}"),
            _ => found.name.to_owned(),
        };
        Some(Frame {
            function,
            offset: address - found.address,
            module: found.module.map(str::to_owned),
            ..Frame::default()
        })
    }

    /// The kernel's symbol table, read at the first call.
    pub fn kallsyms(&mut self) -> &Kallsyms {
        let (path, problems) = (self.proc.join("kallsyms"), &mut self.problems);
        self.kernel.get_or_insert_with(|| match File::open(&path).and_then(Kallsyms::read) {
            Ok(table) => {
                if table.is_hidden() {
                    problems.push(
                        "kernel addresses are hidden, so kernel functions have no names: run with CAP_SYSLOG and type \
                         `sysctl kernel.kptr_restrict=1`, or without it, `sysctl kernel.kptr_restrict=0 \
                         kernel.perf_event_paranoid=1`"
                            .into(),
                    );
                }
                table
            }
            Err(error) => {
                problems.push(format!("cannot read {}: {error}; kernel functions have no names", path.display()));
                Kallsyms::default()
            }
        })
    }

    /// Forgets the kernel's symbols, so that those of newly loaded modules and programs are found.
    pub fn refresh_kernel(&mut self) {
        self.kernel = None;
    }

    /// The function that holds an address of a process.
    pub fn user_symbol(&mut self, pid: u32, address: u64) -> Option<Frame> {
        self.user_frames(pid, address).pop()
    }

    /// All functions at an address of a process, inlined ones first; empty when unknown.
    pub fn user_frames(&mut self, pid: u32, address: u64) -> Vec<Frame> {
        let Some(mapping) = self.mapping(pid, address) else { return Vec::new() };
        let Some(key) = key(&mapping) else { return self.generated(pid, address) };
        let place = (key, mapping.file_offset(address));
        if let Some(frames) = self.frames.get(&place) {
            return frames.clone();
        }
        let Some(dso) = self.dso(pid, &mapping) else { return self.generated(pid, address) };
        let frames = dso.frames(place.1);
        if frames.is_empty() {
            return self.generated(pid, address);
        }
        if self.frames.len() >= MOST_FRAMES {
            self.frames.clear();
        }
        self.frames.insert(place, frames.clone());
        frames
    }

    /// Build id of the file mapped at an address of a process, and the address's place in that file.
    pub fn build_id(&mut self, pid: u32, address: u64) -> Option<(String, u64)> {
        let mapping = self.mapping(pid, address)?;
        let id = self.dso(pid, &mapping)?.build_id()?;
        Some((id, mapping.file_offset(address)))
    }

    /// Reads what a process has mapped now and opens its files, so that its addresses can be named after it is gone.
    pub fn note_process(&mut self, pid: u32) {
        let mappings = self.process(pid).mappings().to_vec();
        for mapping in mappings.iter().take(MOST_DSOS / 2) {
            self.dso(pid, mapping);
        }
    }

    /// Login name of a user.
    pub fn user_name(&mut self, uid: u64) -> Option<String> {
        self.users.name(uid)
    }

    /// Hierarchy and path of a cgroup, `unified:/user.slice`.
    pub fn cgroup_path(&mut self, id: u64) -> Option<String> {
        self.cgroups.path(id)
    }

    /// Why names of a whole kind are missing; each reason once.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    fn mapping(&mut self, pid: u32, address: u64) -> Option<Mapping> {
        self.process(pid).mapping(address)
    }

    /// Functions that a just-in-time compiler made.
    fn generated(&mut self, pid: u32, address: u64) -> Vec<Frame> {
        let found = self.process(pid).generated(pid, address);
        let frame = |(function, offset)| Frame {
            function,
            offset,
            module: Some(format!("/tmp/perf-{pid}.map")),
            ..Frame::default()
        };
        found.map(frame).into_iter().collect()
    }

    fn process(&mut self, pid: u32) -> &mut Process {
        self.clock += 1;
        if self.processes.get_mut(&pid).is_some_and(|p| p.item.is_replaced()) {
            self.processes.remove(&pid);
        }
        if !self.processes.contains_key(&pid) {
            forget_oldest(&mut self.processes, MOST_PROCESSES);
        }
        let directory = self.proc.join(pid.to_string());
        let entry = self.processes.entry(pid);
        let process = entry.or_insert_with(|| Aged { last_used: 0, item: Process::new(directory) });
        process.last_used = self.clock;
        &mut process.item
    }

    fn dso(&mut self, pid: u32, mapping: &Mapping) -> Option<&mut Dso> {
        let key = key(mapping)?;
        self.clock += 1;
        let now = self.clock;
        let retry = |dso: &Aged<Option<Dso>>| dso.item.is_none() && now - dso.last_used > RETRY_AFTER;
        if self.dsos.get(&key).is_none_or(retry) {
            if forget_oldest(&mut self.dsos, MOST_DSOS) {
                // Once a file is closed its inode may come to stand for another one.
                self.frames.clear();
            }
            let directory = self.process(pid).directory().to_owned();
            let item = Dso::open(&directory, mapping, self.options);
            self.dsos.insert(key, Aged { last_used: now, item });
        }
        let dso = self.dsos.get_mut(&key)?;
        if dso.item.is_some() {
            dso.last_used = now;
        }
        dso.item.as_mut()
    }
}

/// What file a mapping is of; `None` for memory that is no file's.
fn key(mapping: &Mapping) -> Option<DsoKey> {
    if mapping.path == "[vdso]" {
        let width = if mapping.end > u64::from(u32::MAX) { 64 } else { 32 };
        return Some(((width, (mapping.end - mapping.start) as u32), 0));
    }
    (mapping.inode != 0).then_some((mapping.device, mapping.inode))
}

/// Makes room for one more, if there is none: drops the quarter that was not used for longest. Says whether it did.
fn forget_oldest<K: Copy + Eq + std::hash::Hash, T>(map: &mut HashMap<K, Aged<T>>, most: usize) -> bool {
    if map.len() < most {
        return false;
    }
    let mut ages: Vec<(u64, K)> = map.iter().map(|(key, aged)| (aged.last_used, *key)).collect();
    ages.sort_unstable_by_key(|(age, _)| *age);
    ages.iter().take(most / 4 + 1).for_each(|(_, key)| {
        map.remove(key);
    });
    true
}
