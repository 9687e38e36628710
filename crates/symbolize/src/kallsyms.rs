//! The kernel's symbol table, `/proc/kallsyms`, in a form that is small and quick to search: one arena of names and sixteen
//! bytes an entry.

use std::collections::HashMap;
use std::io::{self, Read};

/// Names longer than this are not names.
const LONGEST_NAME: usize = 1024;

/// More entries than any kernel has.
const MOST_ENTRIES: usize = 4_000_000;

/// Further than this behind a symbol, an address does not belong to it: it lies in a gap between modules.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// Functions by address.
#[derive(Debug, Default)]
pub struct Kallsyms {
    /// Ascending by address; one an address.
    entries: Vec<Entry>,
    /// All names, one after the other.
    names: Vec<u8>,
    /// Module names; index 0 is the kernel itself.
    modules: Vec<String>,
    /// Addresses were there, but all zero.
    hidden: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    name: u32,
    len: u16,
    module: u16,
}

/// A function found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KallsymsEntry<'a> {
    /// Name as the kernel has it.
    pub name: &'a str,
    /// Where the function starts.
    pub address: u64,
    /// Module; `None` is the kernel itself.
    pub module: Option<&'a str>,
}

impl Kallsyms {
    /// Reads the whole table piece by piece. Lines that are not of its form are skipped.
    pub fn read(mut source: impl Read) -> io::Result<Self> {
        let mut builder = Builder::default();
        let mut buffer = vec![0; 256 * 1024];
        let mut kept = 0;
        loop {
            let read = source.read(&mut buffer[kept..])?;
            let filled = kept + read;
            let end = match buffer[..filled].iter().rposition(|&b| b == b'\n') {
                Some(newline) => newline + 1,
                None if read == 0 || filled == buffer.len() => filled,
                None => 0,
            };
            buffer[..end].split(|&b| b == b'\n').for_each(|line| builder.line(line));
            buffer.copy_within(end..filled, 0);
            kept = filled - end;
            if read == 0 {
                return Ok(builder.finish());
            }
        }
    }

    /// The function that holds an address.
    #[must_use]
    pub fn lookup(&self, address: u64) -> Option<KallsymsEntry<'_>> {
        let after = self.entries.partition_point(|e| e.address <= address);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        if address - entry.address >= LONGEST_FUNCTION {
            return None;
        }
        let name = self.names.get(entry.name as usize..entry.name as usize + usize::from(entry.len))?;
        let module = entry.module.checked_sub(1).and_then(|i| self.modules.get(usize::from(i)));
        Some(KallsymsEntry {
            name: std::str::from_utf8(name).ok()?,
            address: entry.address,
            module: module.map(String::as_str),
        })
    }

    /// How many functions are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no function is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the kernel hides addresses from this process (`kernel.kptr_restrict`, missing CAP_SYSLOG).
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Bytes the table takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.names.capacity()
    }
}

#[derive(Default)]
struct Builder {
    table: Kallsyms,
    module_numbers: HashMap<String, u16>,
    zeroes: usize,
}

impl Builder {
    /// `ADDRESS TYPE NAME`, then for modules a tab and `[MODULE]`.
    fn line(&mut self, line: &[u8]) {
        let Some((address, kind, name, module)) = fields(line) else { return };
        if !matches!(kind, b't' | b'T' | b'w' | b'W') || self.table.entries.len() >= MOST_ENTRIES {
            return;
        }
        if address == 0 {
            self.zeroes += 1;
            return;
        }
        let Ok(start) = u32::try_from(self.table.names.len()) else { return };
        let module = self.module(module);
        self.table.names.extend_from_slice(name);
        self.table.entries.push(Entry { address, name: start, len: name.len() as u16, module });
    }

    fn module(&mut self, name: Option<&str>) -> u16 {
        let Some(name) = name else { return 0 };
        if let Some(&number) = self.module_numbers.get(name) {
            return number;
        }
        let Ok(number) = u16::try_from(self.table.modules.len() + 1) else { return 0 };
        self.table.modules.push(name.to_owned());
        self.module_numbers.insert(name.to_owned(), number);
        number
    }

    fn finish(mut self) -> Kallsyms {
        let table = &mut self.table;
        table.hidden = table.entries.is_empty() && self.zeroes > 0;
        let names = std::mem::take(&mut table.names);
        let rank =
            |e: &Entry| (e.address, underscores(&names[e.name as usize..][..usize::from(e.len)]), e.name);
        table.entries.sort_unstable_by_key(rank);
        // Of the names of one place the one with the fewest underscores in front is what people call it.
        table.entries.dedup_by_key(|e| e.address);
        table.names = names;
        table.entries.shrink_to_fit();
        table.names.shrink_to_fit();
        self.table
    }
}

fn underscores(name: &[u8]) -> usize {
    name.iter().take_while(|&&b| b == b'_').count()
}

fn fields(line: &[u8]) -> Option<(u64, u8, &[u8], Option<&str>)> {
    let (address, rest) = line.split_at_checked(line.iter().position(|&b| b == b' ')?)?;
    let [b' ', kind, b' ', rest @ ..] = rest else { return None };
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    if name.is_empty() || name.len() > LONGEST_NAME || std::str::from_utf8(name).is_err() {
        return None;
    }
    let module = rest.trim_ascii().strip_prefix(b"[").and_then(|m| m.strip_suffix(b"]"));
    Some((hexadecimal(address)?, *kind, name, module.and_then(|m| std::str::from_utf8(m).ok())))
}

/// A hexadecimal number without prefix.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000100 t __pfx_vfs_read
ffffffff81000110 T vfs_read
ffffffff81000400 D jiffies
ffffffff81000500 W weak_one
ffffffffc0002000 t helper\t[ext4]
ffffffffc0001000 t ext4_open\t[ext4]
ffffffffc0003000 t bpf_prog_6deef7357e7b4530_x\t[bpf]
garbage
zzzz T x
ffffffff81000600 T
";

    fn table(text: &str) -> Kallsyms {
        Kallsyms::read(text.as_bytes()).expect("memory")
    }

    fn name(table: &Kallsyms, address: u64) -> Option<(String, u64, Option<String>)> {
        let found = table.lookup(address)?;
        Some((found.name.into(), address - found.address, found.module.map(Into::into)))
    }

    #[test]
    fn functions_are_found_by_any_address_inside() {
        let table = table(TABLE);
        let core = |name: &str, offset| Some((name.to_owned(), offset, None));
        let ext4 = |name: &str, offset| Some((name.to_owned(), offset, Some("ext4".to_owned())));
        assert_eq!(name(&table, 0xffff_ffff_8100_0110), core("vfs_read", 0));
        assert_eq!(name(&table, 0xffff_ffff_8100_0123), core("vfs_read", 0x13));
        assert_eq!(name(&table, 0xffff_ffff_8100_0450), core("vfs_read", 0x340), "data is not looked at");
        assert_eq!(name(&table, 0xffff_ffff_8100_0500), core("weak_one", 0));
        assert_eq!(name(&table, 0xffff_ffff_8100_0000), core("startup_64", 0), "fewest underscores");
        assert_eq!(name(&table, 0xffff_ffff_c000_1fff), ext4("ext4_open", 0xfff), "modules come unsorted");
        assert_eq!(name(&table, 0xffff_ffff_c000_2001), ext4("helper", 1));
        assert!(!table.is_hidden());
    }

    #[test]
    fn addresses_outside_have_no_name() {
        let table = table(TABLE);
        for address in [0, 1, 0x40_1000, 0xffff_ffff_80ff_ffff, 0xffff_ffff_8200_0000, u64::MAX] {
            assert_eq!(name(&table, address), None, "{address:#x}");
        }
        assert_eq!(name(&Kallsyms::default(), 5), None);
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let hidden = table("0000000000000000 T vfs_read\n0000000000000000 t x\t[m]\n");
        assert!(hidden.is_hidden() && hidden.is_empty());
        assert!(!table("").is_hidden());
    }

    #[test]
    fn tables_longer_than_the_buffer_are_read_whole() {
        let text: String = (0..40_000u64).map(|i| format!("{:016x} t f{i}\n", (i + 1) << 8)).collect();
        let table = table(&text);
        assert_eq!(table.len(), 40_000);
        assert_eq!(name(&table, (20_000 << 8) + 5), Some(("f19999".into(), 5, None)));
        let endless = vec![b'x'; 1 << 20];
        assert!(Kallsyms::read(&endless[..]).expect("memory").is_empty());
    }

    #[test]
    fn this_kernels_table_is_small_and_quick() {
        let Ok(file) = std::fs::File::open("/proc/kallsyms") else { return };
        let table = Kallsyms::read(file).expect("procfs reads");
        assert!(table.is_hidden() || table.len() > 1000, "{} functions", table.len());
        assert!(table.memory() < 8 << 20, "{} bytes", table.memory());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), address: u64) {
            let table = Kallsyms::read(&bytes[..]).expect("memory");
            let _ = table.lookup(address);
        }
    }
}
