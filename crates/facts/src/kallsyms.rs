//! `/proc/kallsyms`: the kernel's symbols. The text is kept as it is and searched; an index would cost more than the
//! few names a script asks for.

/// One line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    pub(crate) address: u64,
    /// The letter `nm` uses.
    pub(crate) kind: char,
    pub(crate) name: &'a str,
    pub(crate) module: Option<&'a str>,
}

impl<'a> Symbol<'a> {
    /// `ffffffff81000000 T _stext` or `ffffffffc0000000 t f\t[module]`
    fn parse(line: &'a str) -> Option<Self> {
        let (address, rest) = line.split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let mut letters = rest.chars();
        let kind = letters.next()?;
        let name = letters.as_str().strip_prefix(' ')?;
        let (name, module) = match name.split_once('\t') {
            Some((name, module)) => (name, module.trim_end().strip_prefix('[')?.strip_suffix(']')),
            None => (name.trim_end(), None),
        };
        (!name.is_empty()).then_some(Self { address, kind, name, module })
    }

    /// Whether it is code.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.kind, 't' | 'T' | 'w' | 'W')
    }
}

/// All symbols, in order of the file.
pub(crate) fn symbols(text: &str) -> impl Iterator<Item = Symbol<'_>> {
    text.lines().filter_map(Symbol::parse)
}

/// The first symbol of this name.
pub(crate) fn find<'a>(text: &'a str, name: &str) -> Option<Symbol<'a>> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let needle = format!(" {name}");
    text.match_indices(&needle).find_map(|(at, _)| {
        let end = text.as_bytes().get(at + needle.len());
        if !matches!(end, None | Some(b'\n' | b'\t' | b' ' | b'\r')) {
            return None;
        }
        let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let line = text[start..].lines().next()?;
        Symbol::parse(line).filter(|s| s.name == name)
    })
}

/// Whether every address reads as zero: `kernel.kptr_restrict` or a missing capability.
pub(crate) fn is_hidden(text: &str) -> bool {
    // Per-CPU symbols start at zero on x86-64, so the first alone proves nothing.
    let mut some = false;
    for symbol in symbols(text).take(10_000) {
        if symbol.address != 0 {
            return false;
        }
        some = true;
    }
    some
}

/// Text symbols that cannot be traced by name: what the compiler added, and what runs where a probe must not.
pub(crate) fn is_untraceable(name: &str) -> bool {
    const PREFIXES: [&str; 8] = [
        "__pfx_",
        "__cfi_",
        "__initstub__",
        "__SCT__",
        "__SCK__",
        "__ftrace_invalid_address__",
        "__kstrtab",
        "__export_symbol_",
    ];
    const SUFFIXES: [&str; 2] = [".cold", "__pfx"];
    PREFIXES.iter().any(|p| name.starts_with(p))
        || SUFFIXES.iter().any(|s| name.ends_with(s))
        || name.contains(".cold.")
        || matches!(name, "_stext" | "_text" | "_etext" | "_sinittext" | "_einittext")
        || ((name.starts_with("__") || name.starts_with("_"))
            && (name.ends_with("_start") || name.ends_with("_end"))
            && name.contains("text"))
}

/// Address ranges of code that takes no probes, by the symbols that the linker script puts around them.
pub(crate) fn untraceable_ranges(text: &str) -> Vec<(u64, u64)> {
    const BORDERS: [(&str, &str); 5] = [
        ("__noinstr_text_start", "__noinstr_text_end"),
        ("__entry_text_start", "__entry_text_end"),
        ("__kprobes_text_start", "__kprobes_text_end"),
        ("_sinittext", "_einittext"),
        ("__cpuidle_text_start", "__cpuidle_text_end"),
    ];
    // One walk for all: the text is megabytes.
    let mut found = [(None, None); BORDERS.len()];
    for symbol in symbols(text).filter(|s| s.name.starts_with('_')) {
        for (range, (from, to)) in found.iter_mut().zip(BORDERS) {
            if symbol.name == from {
                range.0 = range.0.or(Some(symbol.address));
            } else if symbol.name == to {
                range.1 = range.1.or(Some(symbol.address));
            }
        }
    }
    found.into_iter().filter_map(|(from, to)| Some((from?, to?))).filter(|(from, to)| from < to).collect()
}

#[cfg(test)]
mod tests {
    use super::{Symbol, find, is_hidden, is_untraceable, symbols, untraceable_ranges};
    use proptest::prelude::*;

    const TEXT: &str = "0000000000000000 A fixed_percpu_data\n\
        ffffffff81000000 T _stext\n\
        ffffffff81000010 t do_one_initcall\n\
        ffffffff81000020 T vfs_read\n\
        ffffffff81000030 T vfs_readv\n\
        ffffffff81000040 T __noinstr_text_start\n\
        ffffffff81000080 T __noinstr_text_end\n\
        ffffffffc0000000 t ext4_read\t[ext4]\n";

    #[test]
    fn finds_whole_names_only() {
        assert_eq!(find(TEXT, "vfs_read").map(|s| s.address), Some(0xffff_ffff_8100_0020));
        assert_eq!(find(TEXT, "vfs_rea"), None);
        assert_eq!(find(TEXT, "T"), None);
        assert_eq!(find("f00 T spaced \r\nf10 T other\n", "spaced").map(|s| s.address), Some(0xf00));
        assert_eq!(find(TEXT, ""), None);
        assert_eq!(find(TEXT, "[ext4]"), None);
        let module =
            Symbol { address: 0xffff_ffff_c000_0000, kind: 't', name: "ext4_read", module: Some("ext4") };
        assert_eq!(find(TEXT, "ext4_read"), Some(module));
    }

    #[test]
    fn hidden_addresses_are_told_from_a_zero_symbol() {
        assert!(!is_hidden(TEXT));
        assert!(is_hidden("0000000000000000 T a\n0000000000000000 T b\n"));
        assert!(!is_hidden(""));
    }

    #[test]
    fn ranges_and_names_that_take_no_probe() {
        assert_eq!(untraceable_ranges(TEXT), [(0xffff_ffff_8100_0040, 0xffff_ffff_8100_0080)]);
        assert!(is_untraceable("__pfx_vfs_read"));
        assert!(is_untraceable("vfs_read.cold"));
        assert!(!is_untraceable("vfs_read"));
        assert!(!is_untraceable("__start_isoc_dma"));
    }

    proptest! {
        #[test]
        fn any_text_is_fine(text in "[0-9a-f tT\\[\\]\\n\\täx_]{0,200}", name in "[a-fx_ \\n]{0,5}") {
            let _ = symbols(&text).count();
            let _ = find(&text, &name);
            let _ = is_hidden(&text);
        }
    }
}
