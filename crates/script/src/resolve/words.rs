//! The words of the language beside its built-ins: names that are known but not supported, old names, and words that
//! are no values.

use strix_facts::nearest;

use crate::builtins::{self, Variable};

pub(super) use crate::builtins::{function_by_name as function, variable_by_name as variable};

/// Functions and variables of bpftrace that are not here.
const UNSUPPORTED: &[&str] = &[
    "assert",
    "assert_str",
    "config",
    "debugf",
    "dw_ustack",
    "elf_info",
    "elf_is_exe",
    "fail",
    "is_array",
    "is_integer",
    "is_literal",
    "is_ptr",
    "is_scalar",
    "is_str",
    "is_unsigned_integer",
    "kfunc_allowed",
    "kfunc_exist",
    "memcmp",
    "override",
    "path",
    "percpu_kaddr",
    "skboutput",
    "socket_cookie",
    "stack_len",
    "static_assert",
    "tseries",
    "typeinfo",
    "unwatch",
    "write_user",
];

/// Names of long ago, and what they are called now.
const OLD_NAMES: &[(&str, &str)] = &[("stack", "kstack"), ("sym", "ksym"), ("name", "probe")];

/// The variable that a call of this name without arguments means.
pub(super) fn callable_variable(name: &str) -> Option<Variable> {
    variable(name)
        .filter(|v| !matches!(v, Variable::Args | Variable::Ctx | Variable::Arg(_) | Variable::Sarg(_)))
}

/// Whether bpftrace has it and strix does not.
pub(super) fn is_unsupported(name: &str) -> bool {
    UNSUPPORTED.contains(&name)
}

/// The variable that may have been meant.
pub(super) fn near_variable(name: &str) -> Option<&'static str> {
    old_name(name).or_else(|| nearest(name, builtins::variable_names()))
}

/// The function that may have been meant.
pub(super) fn near_function(name: &str) -> Option<&'static str> {
    old_name(name).or_else(|| nearest(name, builtins::function_names()))
}

fn old_name(name: &str) -> Option<&'static str> {
    OLD_NAMES.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// Words that are arguments and no values: the mode of a clock, a stack, an id.
pub(super) fn is_mode_word(function: &str, word: &str) -> bool {
    match function {
        "nsecs" => matches!(word, "monotonic" | "boot" | "tai" | "sw_tai"),
        "kstack" | "ustack" => super::config::stack_mode(word).is_some(),
        "pid" | "tid" => matches!(word, "curr_ns" | "init"),
        "signal" | "signal_thread" => matches!(word, "current_pid" | "current_tid"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{UNSUPPORTED, function, near_function, near_variable, variable};

    #[test]
    fn no_name_is_both_there_and_missing() {
        for name in UNSUPPORTED {
            assert!(function(name).is_none() && variable(name).is_none(), "{name}");
        }
    }

    #[test]
    fn slips() {
        assert_eq!(near_variable("comn"), Some("comm"));
        assert_eq!(near_variable("stack"), Some("kstack"));
        assert_eq!(near_function("pritnf"), Some("printf"));
        assert_eq!(near_function("zebra_crossing"), None);
    }
}
