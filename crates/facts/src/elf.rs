//! Function symbols of user binaries: where a uprobe goes. No DWARF, no symbolising of addresses.

use std::ffi::CStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::elf::{
    ET_DYN, FileHeader32, FileHeader64, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT,
};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, Object, ReadCache, ReadRef};

use crate::FactsError;
use crate::paths::under;

const WHAT: &str = "ELF file";

/// An executable or library. Its symbols are read when they are first asked for.
#[derive(Debug)]
pub struct Binary {
    /// The file.
    pub path: PathBuf,
    /// The build id that the linker gave it.
    pub build_id: Option<Vec<u8>>,
    /// The file that has the symbols which were stripped from this one, if it is installed.
    pub debug_file: Option<PathBuf>,
    /// It is mapped wherever there is room: addresses of the file are not those of processes.
    pub position_independent: bool,
    segments: Vec<Segment>,
    functions: OnceLock<Vec<FunctionSymbol>>,
}

/// A part of the file that is mapped.
#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

/// A function of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Its name as the linker knows it (mangled), without a version.
    pub name: String,
    /// Its address as the file states it.
    pub address: u64,
    /// Bytes; 0 if the assembler did not say.
    pub size: u64,
    /// Where in the file it starts; what a uprobe is given.
    pub file_offset: u64,
    /// An indirect function: what is here only chooses the implementation, once.
    pub is_ifunc: bool,
    /// A version that new programs do not link to (`memcpy@GLIBC_2.2.5`).
    pub is_old_version: bool,
}

impl FunctionSymbol {
    /// The name as the source has it, if it is a mangled C++ or Rust one.
    #[must_use]
    pub fn demangled(&self) -> Option<String> {
        demangle(&self.name)
    }
}

impl Binary {
    /// Opens a file and reads its headers. `root` is where separate debug files are looked for.
    pub(crate) fn open(root: &Path, path: &Path) -> Result<Self, FactsError> {
        let mut head = with_elf(path, Headers)?;
        let debug_file =
            head.build_id.as_deref().and_then(|id| debug_file_by_id(root, id)).or_else(|| {
                debug_file_by_link(root, path, head.debug_link.take()?, head.build_id.as_deref())
            });
        Ok(Self {
            path: path.to_owned(),
            build_id: head.build_id,
            debug_file,
            position_independent: head.position_independent,
            segments: head.segments,
            functions: OnceLock::new(),
        })
    }

    /// All functions, by name; several of a name with the one new programs link to first.
    #[must_use]
    pub fn functions(&self) -> &[FunctionSymbol] {
        self.functions.get_or_init(|| self.read_functions())
    }

    /// The function of this (mangled) name.
    #[must_use]
    pub fn find(&self, symbol: &str) -> Option<&FunctionSymbol> {
        let all = self.functions();
        let at = all.partition_point(|f| f.name.as_str() < symbol);
        all.get(at).filter(|f| f.name == symbol)
    }

    /// Address and size of the variable of this (mangled) name.
    #[must_use]
    pub fn find_data(&self, symbol: &str) -> Option<(u64, u64)> {
        let files = std::iter::once(&self.path).chain(&self.debug_file);
        files.filter_map(|file| with_elf(file, Data(symbol)).ok().flatten()).next()
    }

    /// Where in the file an address of the file is; `None` if the file does not back it.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        file_offset(&self.segments, address)
    }

    /// The address of a byte of the file; `None` if it is not mapped.
    #[must_use]
    pub fn address(&self, file_offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|s| {
            let into = file_offset.checked_sub(s.offset).filter(|into| *into < s.size)?;
            s.address.checked_add(into)
        })
    }

    fn read_functions(&self) -> Vec<FunctionSymbol> {
        // A file that became unreadable since it was opened has no symbols, like one that never had any.
        let mut found = with_elf(&self.path, Symbols).unwrap_or_default();
        if let Some(debug) = &self.debug_file {
            found.extend(with_elf(debug, Symbols).unwrap_or_default());
        }
        found.retain_mut(|f| match self.file_offset(f.address) {
            Some(offset) => {
                f.file_offset = offset;
                true
            }
            None => false,
        });
        found.sort_by(|a, b| {
            (&a.name, a.is_old_version, a.address).cmp(&(&b.name, b.is_old_version, b.address))
        });
        // `.symtab` repeats `.dynsym`, and does not know versions.
        found.dedup_by(|later, first| later.name == first.name && later.address == first.address);
        found.shrink_to_fit();
        found
    }
}

fn file_offset(segments: &[Segment], address: u64) -> Option<u64> {
    segments.iter().find_map(|s| {
        let into = address.checked_sub(s.address).filter(|into| *into < s.size)?;
        s.offset.checked_add(into)
    })
}

/// What is read of a file of either word size.
trait Reader {
    type Out;
    fn read<'d, Elf, R>(self, file: &ElfFile<'d, Elf, R>, data: R) -> object::read::Result<Self::Out>
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'d>;
}

fn with_elf<T: Reader>(path: &Path, reader: T) -> Result<T::Out, FactsError> {
    let missing = "check the path";
    let io = |e| FactsError::io(path, "binary", missing, e);
    // Opening a FIFO would wait for a writer.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(FactsError::malformed(WHAT, format!("{} is not a regular file", path.display())));
    }
    let cache = ReadCache::new(fs::File::open(path).map_err(io)?);
    read_elf(&cache, reader).map_err(|e| {
        let detail = match ReadRef::read_bytes_at(&cache, 0, 2) {
            Ok(b"#!") => "a script; name the program that runs it".to_owned(),
            _ => e.to_string(),
        };
        FactsError::malformed(WHAT, format!("{}: {detail}", path.display()))
    })
}

fn read_elf<'d, R: ReadRef<'d>, T: Reader>(data: R, reader: T) -> object::read::Result<T::Out> {
    match object::FileKind::parse(data)? {
        object::FileKind::Elf64 => reader.read(&ElfFile::<FileHeader64<Endianness>, R>::parse(data)?, data),
        _ => reader.read(&ElfFile::<FileHeader32<Endianness>, R>::parse(data)?, data),
    }
}

/// Reads what [`Binary::open`] needs.
struct Headers;

#[derive(Debug)]
struct Head {
    build_id: Option<Vec<u8>>,
    debug_link: Option<(Vec<u8>, u32)>,
    position_independent: bool,
    segments: Vec<Segment>,
}

impl Reader for Headers {
    type Out = Head;

    fn read<'d, Elf, R>(self, file: &ElfFile<'d, Elf, R>, _: R) -> object::read::Result<Head>
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'d>,
    {
        let endian = file.endian();
        let segments = file
            .elf_program_headers()
            .iter()
            .filter(|p| p.p_type(endian) == PT_LOAD)
            .map(|p| Segment {
                address: p.p_vaddr(endian).into(),
                offset: p.p_offset(endian).into(),
                size: p.p_filesz(endian).into(),
            })
            .collect();
        Ok(Head {
            build_id: file.build_id().ok().flatten().map(<[u8]>::to_vec),
            debug_link: file.gnu_debuglink().ok().flatten().map(|(name, crc)| (name.to_vec(), crc)),
            position_independent: file.elf_header().e_type(endian) == ET_DYN,
            segments,
        })
    }
}

/// Reads the functions of both symbol tables; offsets are left for the caller.
struct Symbols;

impl Reader for Symbols {
    type Out = Vec<FunctionSymbol>;

    fn read<'d, Elf, R>(self, file: &ElfFile<'d, Elf, R>, data: R) -> object::read::Result<Self::Out>
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'d>,
    {
        let endian = file.endian();
        let sections = file.elf_section_table();
        let versions = sections.versions(endian, data).ok().flatten();
        let mut found = Vec::new();
        for (kind, table) in [SHT_DYNSYM, SHT_SYMTAB].map(|k| (k, sections.symbols(endian, data, k))) {
            // One broken table does not take the other along.
            let Ok(table) = table else { continue };
            // All names at once: one by one they would be read from the file one by one.
            let strings = sections.section(table.string_section()).and_then(|s| s.data(endian, data));
            let Ok(strings) = strings else { continue };
            for (index, symbol) in table.enumerate() {
                let st_type = symbol.st_type();
                if !matches!(st_type, STT_FUNC | STT_GNU_IFUNC) || symbol.is_undefined(endian) {
                    continue;
                }
                let Some(name) = text_at(strings, symbol.st_name(endian)).filter(|n| !n.is_empty()) else {
                    continue;
                };
                let (name, version) = name.split_once('@').map_or((name, None), |(n, v)| (n, Some(v)));
                let hidden = kind == SHT_DYNSYM
                    && versions.as_ref().is_some_and(|v| v.version_index(endian, index).is_hidden());
                found.push(FunctionSymbol {
                    name: name.to_owned(),
                    address: symbol.st_value(endian).into(),
                    size: symbol.st_size(endian).into(),
                    file_offset: 0,
                    is_ifunc: st_type == STT_GNU_IFUNC,
                    is_old_version: hidden || version.is_some_and(|v| !v.starts_with('@')),
                });
            }
        }
        Ok(found)
    }
}

/// Looks for a variable: address and size.
struct Data<'s>(&'s str);

impl Reader for Data<'_> {
    type Out = Option<(u64, u64)>;

    fn read<'d, Elf, R>(self, file: &ElfFile<'d, Elf, R>, data: R) -> object::read::Result<Self::Out>
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'d>,
    {
        let endian = file.endian();
        let sections = file.elf_section_table();
        for table in [SHT_SYMTAB, SHT_DYNSYM].map(|k| sections.symbols(endian, data, k)) {
            let Ok(table) = table else { continue };
            let strings = sections.section(table.string_section()).and_then(|s| s.data(endian, data));
            let Ok(strings) = strings else { continue };
            let found = table.iter().find(|symbol| {
                symbol.st_type() == STT_OBJECT
                    && !symbol.is_undefined(endian)
                    && text_at(strings, symbol.st_name(endian)) == Some(self.0)
            });
            if let Some(symbol) = found {
                return Ok(Some((symbol.st_value(endian).into(), symbol.st_size(endian).into())));
            }
        }
        Ok(None)
    }
}

fn text_at(strings: &[u8], at: u32) -> Option<&str> {
    CStr::from_bytes_until_nul(strings.get(at as usize..)?).ok()?.to_str().ok()
}

fn debug_file_by_id(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|b| format!("{b:02x}")).collect();
    let path = under(root, format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug"));
    path.is_file().then_some(path)
}

/// A debug file by the name in `.gnu_debuglink`, in the places where debuggers look.
fn debug_file_by_link(
    root: &Path,
    path: &Path,
    (name, crc): (Vec<u8>, u32),
    build_id: Option<&[u8]>,
) -> Option<PathBuf> {
    let name = String::from_utf8(name).ok().filter(|n| crate::tracefs::is_plain_name(n))?;
    let dir = path.parent()?;
    let stated = dir.strip_prefix(root).unwrap_or(dir);
    let places = [
        dir.join(&name),
        dir.join(".debug").join(&name),
        under(root, "/usr/lib/debug").join(stated).join(&name),
    ];
    places.into_iter().filter(|p| p.is_file() && p != path).find(|p| {
        // Equal build ids settle it without reading a gigabyte of DWARF.
        let other = with_elf(p, Headers).ok().and_then(|h| h.build_id);
        match (build_id, other) {
            (Some(a), Some(b)) => a == b,
            _ => fs::read(p).is_ok_and(|bytes| crc32(&bytes) == crc),
        }
    })
}

/// The checksum of `.gnu_debuglink`: CRC-32 as zip has it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (n, entry) in (0_u32..).zip(&mut table) {
        *entry = (0..8).fold(n, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 });
    }
    !bytes.iter().fold(!0, |crc, b| table[usize::from(crc as u8 ^ b)] ^ (crc >> 8))
}

/// A made-up symbol can demangle to gigabytes; no function of a person's has a name this long.
const MAX_DEMANGLED: usize = 8 << 10;

fn demangle(name: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut out = Bounded(String::new());
        // The alternate form leaves the hash out.
        std::fmt::write(&mut out, format_args!("{rust:#}")).ok()?;
        return Some(out.0);
    }
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let mut out = Bounded(String::new());
    symbol.structured_demangle(&mut out, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(out.0)
}

struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The functions of an ELF file that is in memory, in the order of its tables; none if it is none.
#[must_use]
pub fn functions_in(bytes: &[u8]) -> Vec<FunctionSymbol> {
    let Ok(head) = read_elf(bytes, Headers) else { return Vec::new() };
    let mut functions = read_elf(bytes, Symbols).unwrap_or_default();
    functions.retain_mut(|f| match file_offset(&head.segments, f.address) {
        Some(offset) => {
            f.file_offset = offset;
            true
        }
        None => false,
    });
    functions
}

#[cfg(test)]
mod tests {
    use super::{Binary, crc32, demangle, functions_in};
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;

    fn this_test() -> Vec<u8> {
        fs::read(std::env::current_exe().expect("known")).expect("readable")
    }

    #[test]
    fn finds_functions_of_this_very_program() {
        let path = std::env::current_exe().expect("known");
        let binary = Binary::open(Path::new("/"), &path).expect("opens");
        let main = binary.find("main").expect("a program has a main");
        assert_eq!(binary.file_offset(main.address), Some(main.file_offset));
        assert_eq!(binary.address(main.file_offset), Some(main.address));
        assert!(main.demangled().is_none());
        assert!(
            binary.functions().iter().any(|f| f.demangled().is_some_and(|d| d.contains("strix_facts::elf"))),
            "no demangled function of this module"
        );
        assert!(binary.find("no such function").is_none());
        assert_eq!(binary.file_offset(u64::MAX), None);
    }

    #[test]
    fn what_is_no_binary() {
        for path in ["/", "/dev/null", "/no/such/file", "/etc/hostname"] {
            assert!(Binary::open(Path::new("/"), Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn names_of_both_languages() {
        assert_eq!(demangle("_ZN3foo3barEi").as_deref(), Some("foo::bar(int)"));
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo").as_deref(), Some("mycrate::foo"));
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE").as_deref(),
            Some("core::fmt::Write::write_fmt")
        );
        assert_eq!(demangle("malloc"), None);
    }

    #[test]
    fn checksum() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn cut_files_give_fewer_symbols_or_none() {
        let bytes = this_test();
        let all = functions_in(&bytes).len();
        assert!(all > 100);
        for len in [0, 4, 63, 64, 200, bytes.len() / 3, bytes.len() / 2] {
            assert!(functions_in(&bytes[..len]).len() <= all);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn changed_headers_are_fine(at in 0usize..256, value in any::<u64>()) {
            let mut bytes = this_test();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let _ = functions_in(&bytes);
        }

        #[test]
        fn any_name_is_fine(name in "_(Z|R)[A-Za-z0-9_]{0,60}") {
            let _ = demangle(&name);
        }
    }
}
