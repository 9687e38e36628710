//! `/etc/ld.so.cache`: which file the dynamic linker takes for `libssl.so.3`. Both layouts glibc writes: the new one
//! alone, and the new one behind an old one.

use crate::FactsError;
use crate::kernel::Arch;

const WHAT: &str = "ld.so.cache";
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";

/// Libraries the dynamic linker knows, in its order of preference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdCache {
    entries: Vec<LdCacheEntry>,
}

/// A library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdCacheEntry {
    /// Its name, `libc.so.6`.
    pub name: String,
    /// The file.
    pub path: String,
    /// What it is built for (glibc's `ldconfig.h`).
    pub flags: u32,
}

impl LdCache {
    /// Parses the file.
    ///
    /// # Errors
    /// [`FactsError::Malformed`] when it is neither layout or is cut short. Single entries that point outside are left out.
    pub fn parse(bytes: &[u8]) -> Result<Self, FactsError> {
        let new = find_new(bytes)?;
        let cut = || FactsError::malformed(WHAT, "cut short");
        let count = word(new, NEW_MAGIC.len()).ok_or_else(cut)? as usize;
        // 20 bytes of magic, count, length of the strings, flags, extension offset, 12 unused.
        let records = new.get(48..).ok_or_else(cut)?.chunks_exact(24);
        if records.len() < count {
            return Err(cut());
        }
        let entries = records
            .take(count)
            .filter_map(|record| {
                Some(LdCacheEntry {
                    flags: word(record, 0)?,
                    name: text(new, word(record, 4)?)?,
                    path: text(new, word(record, 8)?)?,
                })
            })
            .collect();
        Ok(Self { entries })
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &[LdCacheEntry] {
        &self.entries
    }

    /// The files for a library's full name (`libssl.so.3`), or for its stem (`libssl`, any version), of this
    /// architecture, best first and each once.
    #[must_use]
    pub fn find(&self, name: &str, arch: Arch) -> Vec<&str> {
        let stem = format!("{name}.so");
        let mut paths: Vec<&str> = Vec::new();
        for exact in [true, false] {
            for entry in self.entries.iter().filter(|e| e.flags & 0xffff == arch.ld_flags()) {
                let hit = if exact {
                    entry.name == name
                } else {
                    entry
                        .name
                        .strip_prefix(&stem)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                if hit && !paths.contains(&entry.path.as_str()) {
                    paths.push(&entry.path);
                }
            }
        }
        paths
    }
}

/// The part in the new layout. String offsets count from its start.
fn find_new(bytes: &[u8]) -> Result<&[u8], FactsError> {
    if bytes.starts_with(NEW_MAGIC) {
        return Ok(bytes);
    }
    let none = || FactsError::malformed(WHAT, "not a cache that glibc writes");
    if !bytes.starts_with(OLD_MAGIC) {
        return Err(none());
    }
    let count = word(bytes, 12).ok_or_else(none)? as usize;
    let end = count.checked_mul(12).and_then(|n| n.checked_add(16)).ok_or_else(none)?;
    let new = bytes.get(end.next_multiple_of(8)..).ok_or_else(none)?;
    if new.starts_with(NEW_MAGIC) { Ok(new) } else { Err(none()) }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

fn text(bytes: &[u8], at: u32) -> Option<String> {
    // A path has at most 4096 bytes; many entries that share one huge text must not multiply it.
    let bytes = bytes.get(at as usize..)?;
    let len = bytes.iter().take(4096).position(|b| *b == 0)?;
    String::from_utf8(bytes[..len].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::{LdCache, NEW_MAGIC, OLD_MAGIC};
    use crate::kernel::Arch;
    use proptest::prelude::*;

    const X86_64: u32 = 0x0303;
    const I386: u32 = 0x0003;

    fn cache(entries: &[(&str, &str, u32)]) -> Vec<u8> {
        let mut out = NEW_MAGIC.to_vec();
        out.extend((entries.len() as u32).to_le_bytes());
        out.resize(48, 0);
        let mut strings = Vec::new();
        let start = 48 + 24 * entries.len();
        let mut add = |s: &str| {
            let at = (start + strings.len()) as u32;
            strings.extend(s.as_bytes());
            strings.push(0);
            at
        };
        for (name, path, flags) in entries {
            out.extend(flags.to_le_bytes());
            out.extend(add(name).to_le_bytes());
            out.extend(add(path).to_le_bytes());
            out.extend([0; 12]);
        }
        out.extend(strings);
        out
    }

    const LIBS: [(&str, &str, u32); 5] = [
        ("libc.so.6", "/lib32/libc.so.6", I386),
        ("libcurl.so.4", "/lib/libcurl.so.4", X86_64),
        ("libc.so.6", "/lib/libc.so.6", X86_64),
        ("libssl.so.3", "/lib/libssl.so.3", X86_64),
        ("libssl.so", "/lib/libssl.so", X86_64),
    ];

    #[test]
    fn names_and_stems() {
        let cache = LdCache::parse(&cache(&LIBS)).expect("parses");
        assert_eq!(cache.entries().len(), 5);
        assert_eq!(cache.find("libc", Arch::X86_64), ["/lib/libc.so.6"]);
        assert_eq!(cache.find("libssl.so.3", Arch::X86_64), ["/lib/libssl.so.3"]);
        assert_eq!(cache.find("libssl.so", Arch::X86_64), ["/lib/libssl.so"]);
        assert_eq!(cache.find("libssl", Arch::X86_64), ["/lib/libssl.so.3", "/lib/libssl.so"]);
        assert!(cache.find("libnope", Arch::X86_64).is_empty());
        assert!(cache.find("libc", Arch::Aarch64).is_empty());
    }

    #[test]
    fn the_old_layout_in_front() {
        let mut bytes = OLD_MAGIC.to_vec();
        bytes.push(0);
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend([0; 12]);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(cache(&LIBS));
        let cache = LdCache::parse(&bytes).expect("parses");
        assert_eq!(cache.find("libc", Arch::X86_64), ["/lib/libc.so.6"]);
    }

    #[test]
    fn every_cut_is_an_error_or_a_smaller_cache() {
        let bytes = cache(&LIBS);
        for len in 0..bytes.len() {
            if let Ok(c) = LdCache::parse(&bytes[..len]) {
                assert!(c.entries().len() < LIBS.len(), "cut at {len}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_fine(at in 20usize..200, value in any::<[u8; 4]>()) {
            let mut bytes = cache(&LIBS);
            let at = at.min(bytes.len() - 4);
            bytes[at..at + 4].copy_from_slice(&value);
            let _ = LdCache::parse(&bytes);
        }
    }
}
