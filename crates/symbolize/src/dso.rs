//! Files with code. A file is opened when a process that maps it is first seen, and stays open: so its symbols can still be
//! read when the process is gone, the file deleted, or its mount namespace out of reach.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use rustix::fs::{MemfdFlags, OFlags};
use strix_model::Frame;

use crate::demangle::demangle;
use crate::{Mapping, Options, build_id};

/// Most bytes of a vDSO.
const MOST_VDSO_BYTES: u64 = 1 << 20;

/// One open file.
pub(crate) struct Dso {
    /// Path as the process saw it.
    path: String,
    file: File,
    options: Options,
    /// Made at the first look-up: it maps the file.
    symbolizer: Option<Symbolizer>,
    build_id: Option<Option<String>>,
}

impl Dso {
    /// Opens the file of a mapping of a process under `/proc`.
    pub fn open(process: &Path, mapping: &Mapping, options: Options) -> Option<Self> {
        let file = if mapping.path == "[vdso]" {
            copy_vdso(process, mapping)?
        } else {
            candidates(process, mapping).iter().find_map(|path| open_same(path, mapping.inode))?
        };
        Some(Self { path: mapping.path.clone(), file, options, symbolizer: None, build_id: None })
    }

    /// All functions at a place in the file, inlined ones first.
    pub fn frames(&mut self, file_offset: u64) -> Vec<Frame> {
        let options = self.options;
        let symbolizer = self.symbolizer.get_or_insert_with(|| {
            Symbolizer::builder()
                .enable_auto_reload(false)
                .enable_code_info(options.debug_info)
                .enable_inlined_fns(options.debug_info)
                // Done here: it takes names of C for mangled ones.
                .enable_demangling(false)
                .build()
        });
        // The descriptor names the very file that was mapped, wherever it is by now.
        let mut elf = Elf::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        elf.debug_syms = options.debug_info;
        let source = Source::Elf(elf);
        // The file is the traced process's: should it upset the parser, only its names are lost.
        let found = catch_unwind(AssertUnwindSafe(|| {
            symbolizer.symbolize_single(&source, Input::FileOffset(file_offset))
        }));
        match found {
            Ok(Ok(Symbolized::Sym(symbol))) => frames(&symbol, &self.path, options.demangle),
            _ => Vec::new(),
        }
    }

    /// The file's build id.
    pub fn build_id(&mut self) -> Option<String> {
        self.build_id.get_or_insert_with(|| build_id::read(&self.file)).clone()
    }
}

fn frames(symbol: &Sym<'_>, path: &str, demangled: bool) -> Vec<Frame> {
    let name = |symbol: &str| {
        let demangled = demangled.then(|| demangle(symbol)).flatten();
        demangled.unwrap_or_else(|| symbol.to_owned())
    };
    let inlined = symbol.inlined.iter().rev().map(|function| Frame {
        function: name(&function.name),
        source: function.code_info.as_ref().map(source_text),
        inlined: true,
        ..Frame::default()
    });
    let outer = Frame {
        function: name(&symbol.name),
        offset: symbol.offset as u64,
        module: Some(path.to_owned()),
        source: symbol.code_info.as_deref().map(source_text),
        inlined: false,
    };
    inlined.chain([outer]).collect()
}

fn source_text(info: &CodeInfo<'_>) -> String {
    let file = info.dir.as_ref().map_or_else(|| PathBuf::from(&info.file), |dir| dir.join(&info.file));
    match info.line {
        Some(line) => format!("{}:{line}", file.display()),
        None => file.display().to_string(),
    }
}

/// Where the mapped file can be had, best first: the mapping itself (needs a capability, survives deletion), the path in the
/// process's root, the path in ours.
fn candidates(process: &Path, mapping: &Mapping) -> Vec<PathBuf> {
    if !mapping.path.starts_with('/') {
        return Vec::new();
    }
    let range = format!("map_files/{:x}-{:x}", mapping.start, mapping.end);
    let in_root = process.join("root").join(mapping.path.trim_start_matches('/'));
    vec![process.join(range), in_root, PathBuf::from(&mapping.path)]
}

/// Opens a regular file with this inode. Devices differ between views of overlay mounts, so they are not compared.
fn open_same(path: &Path, inode: u64) -> Option<File> {
    // Never wait: what stands at the path now may be a pipe.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    (meta.is_file() && meta.ino() == inode).then_some(file)
}

/// The vDSO is no file: its bytes are copied out of the process, or out of our own, which has the same.
fn copy_vdso(process: &Path, mapping: &Mapping) -> Option<File> {
    let size = mapping.end.checked_sub(mapping.start).filter(|&size| size <= MOST_VDSO_BYTES)?;
    let mut bytes = vec![0; size as usize];
    File::open(process.join("mem")).ok()?.read_exact_at(&mut bytes, mapping.start).ok()?;
    let mut file = File::from(rustix::fs::memfd_create("vdso", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(&bytes).ok()?;
    Some(file)
}
