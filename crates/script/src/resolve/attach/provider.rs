//! The providers by name.

/// A family of attach points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Provider {
    Begin,
    End,
    Interval,
    Profile,
    Software,
    Hardware,
    Tracepoint,
    RawTracepoint,
    Kprobe,
    Kretprobe,
    Fentry,
    Fexit,
    Uprobe,
    Uretprobe,
    Usdt,
    Watchpoint,
    Iter,
    SelfSignal,
    Test,
    Bench,
}

/// Long name and other names.
const NAMES: &[(Provider, &str, &[&str])] = &[
    (Provider::Begin, "begin", &[]),
    (Provider::End, "end", &[]),
    (Provider::Interval, "interval", &["i"]),
    (Provider::Profile, "profile", &["p"]),
    (Provider::Software, "software", &["s"]),
    (Provider::Hardware, "hardware", &["h"]),
    (Provider::Tracepoint, "tracepoint", &["t"]),
    (Provider::RawTracepoint, "rawtracepoint", &["rt"]),
    (Provider::Kprobe, "kprobe", &["k"]),
    (Provider::Kretprobe, "kretprobe", &["kr"]),
    (Provider::Fentry, "fentry", &["f", "kfunc"]),
    (Provider::Fexit, "fexit", &["fr", "kretfunc"]),
    (Provider::Uprobe, "uprobe", &["u"]),
    (Provider::Uretprobe, "uretprobe", &["ur"]),
    (Provider::Usdt, "usdt", &[]),
    (Provider::Watchpoint, "watchpoint", &["w"]),
    (Provider::Iter, "iter", &["it"]),
    (Provider::SelfSignal, "self", &[]),
    (Provider::Test, "test", &[]),
    (Provider::Bench, "bench", &[]),
];

impl Provider {
    /// Those a wildcard searches in the kernel, in the order of listings.
    pub(in super::super) const SEARCHED_KERNEL: &'static [Self] =
        &[Self::Fentry, Self::Hardware, Self::Kprobe, Self::RawTracepoint, Self::Software, Self::Tracepoint];

    /// Those a wildcard searches in user programs.
    pub(in super::super) const SEARCHED_USER: &'static [Self] = &[Self::Uprobe];

    /// By long or short name, in any case; but `U` is usdt where `u` is uprobe.
    pub(in super::super) fn parse(word: &str) -> Option<Self> {
        if word == "U" {
            return Some(Self::Usdt);
        }
        let lower = word.to_ascii_lowercase();
        let known =
            |(_, name, others): &&(Self, &str, &[&str])| *name == lower || others.contains(&lower.as_str());
        NAMES.iter().find(known).map(|(provider, ..)| *provider)
    }

    /// The long name.
    pub(in super::super) fn name(self) -> &'static str {
        NAMES.iter().find(|(p, ..)| *p == self).map_or("", |(_, name, _)| name)
    }

    /// All long names.
    pub(in super::super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::Provider;

    #[test]
    fn names_and_short_names() {
        assert_eq!(Provider::parse("BEGIN"), Some(Provider::Begin));
        assert_eq!(Provider::parse("kretfunc"), Some(Provider::Fexit));
        assert_eq!(Provider::parse("U"), Some(Provider::Usdt));
        assert_eq!(Provider::parse("u"), Some(Provider::Uprobe));
        assert_eq!(Provider::parse("rt"), Some(Provider::RawTracepoint));
        assert_eq!(Provider::parse("kprobes"), None);
        for name in Provider::names() {
            assert_eq!(Provider::parse(name).map(Provider::name), Some(name));
        }
    }
}
