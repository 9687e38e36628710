//! Numbers and names of system calls. The tables are the kernel's published ones; both are always built in, so that a
//! fixture of one machine reads on another.

mod aarch64;
mod x86_64;

use crate::kernel::Arch;

/// Names under which tracefs lists a call whose table name is another: the name of the function that implements it.
const EVENT_NAMES: [(&str, &str); 7] = [
    ("newstat", "stat"),
    ("newlstat", "lstat"),
    ("newfstat", "fstat"),
    ("newuname", "uname"),
    ("sendfile64", "sendfile"),
    ("umount", "umount2"),
    ("fadvise64_64", "fadvise64"),
];

fn table(arch: Arch) -> &'static [(u32, &'static str)] {
    match arch {
        Arch::X86_64 => x86_64::X86_64,
        Arch::Aarch64 => aarch64::AARCH64,
    }
}

pub(crate) fn number(arch: Arch, name: &str) -> Option<u32> {
    table(arch).iter().find(|(_, n)| *n == name).map(|(nr, _)| *nr)
}

pub(crate) fn name(arch: Arch, nr: u32) -> Option<&'static str> {
    let table = table(arch);
    let at = table.binary_search_by_key(&nr, |(nr, _)| *nr).ok()?;
    table.get(at).map(|(_, name)| *name)
}

/// The number of the call that `sys_enter_NAME` and `sys_exit_NAME` are about.
pub(crate) fn event_number(arch: Arch, event: &str) -> Option<u32> {
    let call = event.strip_prefix("sys_enter_").or_else(|| event.strip_prefix("sys_exit_"))?;
    let alias = || EVENT_NAMES.iter().find(|(event, _)| *event == call).map(|(_, name)| *name);
    number(arch, call).or_else(|| number(arch, alias()?))
}

#[cfg(test)]
mod tests {
    use super::{event_number, name, number, table};
    use crate::kernel::Arch;

    #[test]
    fn well_known_numbers() {
        for (arch, call, nr) in [
            (Arch::X86_64, "read", 0),
            (Arch::X86_64, "execve", 59),
            (Arch::X86_64, "openat", 257),
            (Arch::X86_64, "clone3", 435),
            (Arch::X86_64, "uprobe", 336),
            (Arch::X86_64, "file_setattr", 469),
            (Arch::Aarch64, "read", 63),
            (Arch::Aarch64, "execve", 221),
            (Arch::Aarch64, "openat", 56),
            (Arch::Aarch64, "file_setattr", 469),
        ] {
            assert_eq!(number(arch, call), Some(nr), "{call}");
            assert_eq!(name(arch, nr), Some(call));
        }
        assert_eq!(number(Arch::Aarch64, "open"), None);
        assert_eq!(name(Arch::X86_64, 400), None);
    }

    #[test]
    fn tables_ascend_and_names_are_unique() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let table = table(arch);
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
            let mut names: Vec<&str> = table.iter().map(|(_, n)| *n).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|w| w[0] != w[1]));
        }
    }

    #[test]
    fn events_by_the_name_of_their_function() {
        assert_eq!(event_number(Arch::X86_64, "sys_enter_newfstat"), Some(5));
        assert_eq!(event_number(Arch::X86_64, "sys_exit_sendfile64"), Some(40));
        assert_eq!(event_number(Arch::X86_64, "sys_enter_umount"), Some(166));
        assert_eq!(event_number(Arch::Aarch64, "sys_enter_newfstat"), Some(80));
        assert_eq!(event_number(Arch::X86_64, "sys_enter_newfstatat"), Some(262));
        assert_eq!(event_number(Arch::X86_64, "sys_enter"), None);
    }
}
