//! `/proc/PID/maps`: which file is where in a process.

use crate::kallsyms::hexadecimal;

/// More mappings than `vm.max_map_count` lets a process have, unless somebody raised it a lot.
const MOST_MAPPINGS: usize = 1 << 18;

/// An executable range of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Where in the file the range starts.
    pub offset: u64,
    /// Device, major and minor.
    pub device: (u32, u32),
    /// Inode; 0 for memory that is no file's.
    pub inode: u64,
    /// Path as the process sees it, `[vdso]`, or empty. A mark of a deleted file is not part of it.
    pub path: String,
}

impl Mapping {
    /// Whether an address lies in the range.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The address's place in the file.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> u64 {
        address.wrapping_sub(self.start).wrapping_add(self.offset)
    }
}

/// The executable mappings in the text of a maps file, ascending by address. Lines that are not of its form are skipped.
#[must_use]
pub fn parse_maps(text: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> =
        text.split(|&b| b == b'\n').filter_map(line).take(MOST_MAPPINGS).collect();
    mappings.sort_by_key(|m| m.start);
    mappings
}

/// `START-END PERMS OFFSET MAJOR:MINOR INODE   PATH`.
fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let (start, end) = pair(fields.next()?, b'-')?;
    if fields.next()?.get(2) != Some(&b'x') || start >= end {
        return None;
    }
    let offset = hexadecimal(fields.next()?)?;
    let (major, minor) = pair(fields.next()?, b':')?;
    let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    Some(Mapping { start, end, offset, device: (major as u32, minor as u32), inode, path: unescape(path) })
}

fn pair(text: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = text.iter().position(|&b| b == between)?;
    Some((hexadecimal(&text[..at])?, hexadecimal(&text[at + 1..])?))
}

/// The kernel writes a newline in a path as `\012` and nothing else in that way.
fn unescape(path: &[u8]) -> String {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    String::from_utf8_lossy(path).replace("\\012", "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] = b"\
7f0000001000-7f0000003000 r-xp 00002000 fe:1f 247282                     /usr/lib/lib c.so
559939db5000-559939db7000 r--p 00000000 fe:00 247282                     /usr/bin/head
559939db7000-559939dbd000 r-xp 00002000 fe:00 247282                     /usr/bin/head
7f0000004000-7f0000005000 r-xp 00000000 fe:00 99 /tmp/gone (deleted)
7f0000005000-7f0000006000 rwxp 00000000 00:00 0\x20
7f0000006000-7f0000007000 r-xp 00000000 00:01 7                          /a\\012b
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
nonsense
5-4 r-xp 0 0:0 0
zz-11 r-xp 0 0:0 0
";

    #[test]
    fn executable_ranges_are_kept_in_order() {
        let maps = parse_maps(TEXT);
        let paths: Vec<&str> = maps.iter().map(|m| m.path.as_str()).collect();
        let expected =
            ["/usr/bin/head", "/usr/lib/lib c.so", "/tmp/gone", "", "/a\nb", "[vdso]", "[vsyscall]"];
        assert_eq!(paths, expected);
        let libc = &maps[1];
        assert_eq!((libc.device, libc.inode, libc.offset), ((0xfe, 0x1f), 247_282, 0x2000));
        assert!(libc.contains(0x7f00_0000_1000) && !libc.contains(0x7f00_0000_3000));
        assert_eq!(libc.file_offset(0x7f00_0000_1010), 0x2010);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(parse_maps(&bytes).iter().all(|m| m.start < m.end));
        }

        #[test]
        fn nearly_right_lines_are_survived(text in "[0-9a-f]{0,18}-[0-9a-f]{0,17} r[w-]xp [0-9a-f]{0,4} [0-9:]{0,5} [0-9]{0,21} .{0,9}") {
            for mapping in parse_maps(text.as_bytes()) {
                prop_assert!(mapping.start < mapping.end);
            }
        }
    }
}
