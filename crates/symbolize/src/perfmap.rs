//! `/tmp/perf-PID.map`: functions that a just-in-time compiler made.

use std::io::{self, Read};

use crate::kallsyms::hexadecimal;

/// Longest file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Longest name that is kept.
const LONGEST_NAME: usize = 4096;

/// Functions by address.
#[derive(Debug, Default)]
pub struct PerfMap {
    /// Ascending by address, later lines win.
    entries: Vec<Entry>,
    /// The file's text.
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    size: u64,
    name: u32,
    len: u32,
}

impl PerfMap {
    /// Reads a map; what is beyond 64 MiB is left out.
    pub fn read(source: impl Read) -> io::Result<Self> {
        let mut text = Vec::new();
        source.take(MOST_BYTES).read_to_end(&mut text)?;
        let mut entries = Vec::new();
        let mut at = 0;
        for line in text.split(|&b| b == b'\n') {
            entries.extend(entry(line, at));
            at += line.len() + 1;
        }
        // Code is thrown away and its place used again: the last line about an address is the true one.
        entries.reverse();
        entries.sort_by_key(|e| e.start);
        entries.dedup_by_key(|e| e.start);
        Ok(Self { entries, text })
    }

    /// The function that holds an address, and the address's distance from its start.
    #[must_use]
    pub fn lookup(&self, address: u64) -> Option<(String, u64)> {
        let after = self.entries.partition_point(|e| e.start <= address);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        let offset = address - entry.start;
        if offset >= entry.size {
            return None;
        }
        let name = &self.text[entry.name as usize..(entry.name + entry.len) as usize];
        Some((String::from_utf8_lossy(name).into_owned(), offset))
    }
}

/// `START SIZE NAME`, where the name may have spaces; `at` is where the line starts in the text.
fn entry(line: &[u8], at: usize) -> Option<Entry> {
    let mut fields = line.splitn(3, |&b| b == b' ');
    let mut number = || {
        let field = fields.next()?;
        hexadecimal(field.strip_prefix(b"0x").unwrap_or(field))
    };
    let (start, size) = (number()?, number()?);
    let name = fields.next()?;
    if name.is_empty() {
        return None;
    }
    let len = name.len().min(LONGEST_NAME) as u32;
    Some(Entry { start, size, name: (at + line.len() - name.len()) as u32, len })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(text: &[u8]) -> PerfMap {
        PerfMap::read(text).expect("memory")
    }

    #[test]
    fn names_may_have_spaces_and_later_lines_win() {
        let map = map(b"1000 20 old\n2000 10 Builtin:Foo bar\n0x1000 10 new\nbad line\n3000 0 empty\n4000 5\n5000 8 x\xff\n");
        assert_eq!(map.lookup(0x1000), Some(("new".into(), 0)));
        assert_eq!(map.lookup(0x1010), None, "the newer is shorter");
        assert_eq!(map.lookup(0x200f), Some(("Builtin:Foo bar".into(), 15)));
        assert_eq!(map.lookup(0x2010), None);
        assert_eq!(map.lookup(0x3000), None);
        assert_eq!(map.lookup(0x4000), None);
        assert_eq!(map.lookup(0x5001), Some(("x\u{fffd}".into(), 1)));
        assert_eq!(map.lookup(0), None);
    }

    #[test]
    fn overlong_names_are_cut() {
        let text = [b"10 10 ".to_vec(), vec![b'a'; 10_000]].concat();
        assert_eq!(map(&text).lookup(0x10).map(|(name, _)| name.len()), Some(LONGEST_NAME));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), address: u64) {
            let _ = map(&bytes).lookup(address);
        }

        #[test]
        fn nearly_right_lines_are_survived(text in "([0-9a-f]{0,17} [0-9a-f]{0,17} .{0,5}\n){0,5}", address: u64) {
            let _ = map(text.as_bytes()).lookup(address);
        }
    }
}
