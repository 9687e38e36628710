//! Settings: the `config` block, then what the environment says over it.
//!
//! Every key of the language is known here, also those that mean nothing to strix: a script that sets them runs.

use strix_facts::nearest;
use strix_model::{ConfigValues, Diagnostic, Diagnostics, MissingProbes, Span, StackMode};
use strix_syntax::ast::{ConfigEntry, ConfigValue};

use super::number;

/// Strings longer than this do not fit the scratch maps that hold them.
const MAX_STRLEN: u64 = 64 * 1024;

/// Keys that change something.
const KEYS: &[&str] = &[
    "cpp_demangle",
    "license",
    "log_size",
    "max_cat_bytes",
    "max_map_keys",
    "max_probes",
    "max_strlen",
    "missing_probes",
    "perf_rb_pages",
    "print_maps_on_exit",
    "stack_mode",
    "str_trunc_trailer",
];

/// Keys that are checked and then change nothing here: what they tune does not exist in strix.
const WITHOUT_EFFECT: &[(&str, Kind)] = &[
    ("cache_user_symbols", Kind::SymbolCache),
    ("lazy_symbolication", Kind::Bool),
    ("max_bpf_progs", Kind::Number),
    ("on_stack_limit", Kind::Number),
    ("show_debug_info", Kind::Bool),
    ("use_blazesym", Kind::Bool),
    ("unstable_dw_ustack", Kind::Unstable),
    ("unstable_import_statement", Kind::Unstable),
    ("unstable_tseries", Kind::Unstable),
    ("unstable_typeinfo", Kind::Unstable),
];

/// Keys of older releases that bpftrace itself ignores with a warning.
const DEPRECATED: &[&str] = &[
    "symbol_source",
    "max_type_res_iterations",
    "unstable_addr",
    "unstable_import",
    "unstable_macro",
    "unstable_map_decl",
];

/// Old and new names.
const RENAMED: &[(&str, &str)] = &[
    ("strlen", "max_strlen"),
    ("no_cpp_demangle", "cpp_demangle"),
    ("cat_bytes_max", "max_cat_bytes"),
    ("map_keys_max", "max_map_keys"),
];

/// Keys that only the environment can set.
const ENVIRONMENT_ONLY: &[&str] = &["btf", "kernel_build", "kernel_source", "vmlinux"];

const LICENSES: &[&str] =
    &["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// What a key without effect takes.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Number,
    SymbolCache,
    Unstable,
}

/// The settings in effect. `environment` has lower-case keys without the prefix and wins over `entries`.
pub(super) fn resolve(
    entries: &[ConfigEntry],
    environment: &[(String, String)],
    diags: &mut Diagnostics,
) -> ConfigValues {
    let mut config = ConfigValues::default();
    for entry in entries {
        let span = entry.key.span.to(entry.value_span);
        let written = entry.key.text.as_str();
        let lower = written.to_ascii_lowercase();
        let key = lower.strip_prefix("bpftrace_").unwrap_or(&lower);
        if DEPRECATED.contains(&key) {
            diags.push(Diagnostic::warning(span, format!("{written} is deprecated and has no effect")));
            continue;
        }
        let key = match RENAMED.iter().find(|(old, _)| *old == key) {
            Some((_, new)) => {
                let message = format!("{written} has been renamed, please use {new}");
                diags.push(Diagnostic::warning(span, message));
                new
            }
            None => key,
        };
        match set(&mut config, key, &entry.value) {
            Ok(true) => {}
            Ok(false) => diags.push(unknown(written, key, entry.key.span)),
            Err(reason) => diags.push(Diagnostic::error(span, format!("{written}: {reason}"))),
        }
    }
    for (key, value) in environment {
        // Other tools' variables may share the prefix; what is no key is none of our business.
        if let Err(reason) = set(&mut config, key, &ConfigValue::Str(value.clone())) {
            let name = format!("BPFTRACE_{}", key.to_ascii_uppercase());
            let message = format!("{name}: {reason}");
            let help = format!("the environment variable {name} wins over the script");
            diags.push(Diagnostic::error(Span::default(), message).with_help(help));
        }
    }
    config
}

fn unknown(written: &str, key: &str, span: Span) -> Diagnostic {
    if ENVIRONMENT_ONLY.contains(&key) {
        return Diagnostic::error(span, format!("{written}: can only be set as an environment variable"));
    }
    let error = Diagnostic::error(span, format!("{written}: not a known configuration option"));
    let known = KEYS.iter().copied().chain(WITHOUT_EFFECT.iter().map(|(k, _)| *k));
    match nearest(key, known) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// Sets a key; `false` when there is no such key.
fn set(config: &mut ConfigValues, key: &str, value: &ConfigValue) -> Result<bool, String> {
    match key {
        "cpp_demangle" => config.demangle = boolean(value)?,
        "license" => {
            let text = word(value);
            if !LICENSES.contains(&text.as_str()) {
                let known = LICENSES.join(", ");
                return Err(format!("invalid value for license, found {text}, valid values: {known}"));
            }
            config.license = text;
        }
        "log_size" => config.log_size = number(value, u64::from(u32::MAX))?,
        "max_cat_bytes" => config.max_cat_bytes = number(value, u64::from(u32::MAX))?,
        "max_map_keys" => config.max_map_keys = number(value, u64::from(u32::MAX))?,
        "max_probes" => config.max_probes = number(value, u64::from(u32::MAX))?,
        "max_strlen" => config.max_strlen = number(value, MAX_STRLEN)?,
        "missing_probes" => {
            config.missing_probes = match word(value).to_ascii_lowercase().as_str() {
                "ignore" => MissingProbes::Ignore,
                "warn" => MissingProbes::Warn,
                "error" => MissingProbes::Error,
                _ => {
                    return Err(
                        "invalid value for missing_probes: valid values are ignore, warn, and error".into()
                    );
                }
            }
        }
        "perf_rb_pages" => config.ring_pages = number(value, 1 << 20)?,
        "print_maps_on_exit" => config.print_maps_on_exit = boolean(value)?,
        "stack_mode" => {
            config.stack_mode = stack_mode(&word(value))
                .ok_or("invalid value for stack_mode: valid values are bpftrace, perf, raw, and build_id")?;
        }
        "str_trunc_trailer" => config.str_trunc_trailer = word(value),
        _ => match WITHOUT_EFFECT.iter().find(|(k, _)| *k == key) {
            Some((_, kind)) => check(*kind, value)?,
            None => return Ok(false),
        },
    }
    Ok(true)
}

/// A stack mode by its name in scripts.
pub(super) fn stack_mode(name: &str) -> Option<StackMode> {
    Some(match name {
        "bpftrace" => StackMode::Bpftrace,
        "perf" => StackMode::Perf,
        "raw" => StackMode::Raw,
        "build_id" => StackMode::BuildId,
        _ => return None,
    })
}

/// Checks the value of a key without effect.
fn check(kind: Kind, value: &ConfigValue) -> Result<(), String> {
    match kind {
        Kind::Bool => boolean(value).map(drop),
        Kind::Number => number(value, u64::from(u32::MAX)).map(drop),
        Kind::SymbolCache => match word(value).to_ascii_lowercase().as_str() {
            "0" | "1" | "per_pid" | "per_program" | "none" => Ok(()),
            _ => Err("invalid value for cache_user_symbols: valid values are PER_PID, PER_PROGRAM, and NONE"
                .into()),
        },
        Kind::Unstable => match word(value).to_ascii_lowercase().as_str() {
            "enable" | "warn" | "error" | "true" | "false" | "0" | "1" => Ok(()),
            _ => Err("invalid value for unstable config: valid values are enable, warn, and error".into()),
        },
    }
}

/// A value as text.
fn word(value: &ConfigValue) -> String {
    match value {
        ConfigValue::Int(n) => n.to_string(),
        ConfigValue::Bool(b) => b.to_string(),
        ConfigValue::Word(text) | ConfigValue::Str(text) => text.clone(),
    }
}

fn boolean(value: &ConfigValue) -> Result<bool, String> {
    match value {
        ConfigValue::Bool(b) => Ok(*b),
        ConfigValue::Int(n) => Ok(*n != 0),
        ConfigValue::Word(text) | ConfigValue::Str(text) => match text.as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("invalid bool value: valid values are true, false, 1 or 0".into()),
        },
    }
}

fn number(value: &ConfigValue, max: u64) -> Result<u32, String> {
    let n = match value {
        ConfigValue::Int(n) => *n,
        other => {
            let text = word(other);
            number::unsigned(&text).map_err(|_| format!("expecting a number, got {text}"))?
        }
    };
    u32::try_from(n).ok().filter(|_| n <= max).ok_or_else(|| format!("{n} is more than the {max} possible"))
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use strix_model::{ConfigValues, Diagnostics, MissingProbes, Span, StackMode};
    use strix_syntax::ast::{ConfigEntry, ConfigValue, Name};

    fn entry(key: &str, value: ConfigValue) -> ConfigEntry {
        let span = Span::default();
        ConfigEntry { key: Name { text: key.into(), span }, value, value_span: span }
    }

    fn run(entries: &[(&str, ConfigValue)], env: &[(&str, &str)]) -> (ConfigValues, Vec<String>) {
        let entries: Vec<_> = entries.iter().map(|(k, v)| entry(k, v.clone())).collect();
        let env: Vec<_> = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut diags = Diagnostics::default();
        let config = resolve(&entries, &env, &mut diags);
        let texts = diags
            .sorted()
            .iter()
            .map(|d| [std::slice::from_ref(&d.message), &d.help].concat().join(" | "))
            .collect();
        (config, texts)
    }

    #[test]
    fn values_of_each_kind() {
        let (config, said) = run(
            &[
                ("max_strlen", ConfigValue::Int(200)),
                ("missing_probes", ConfigValue::Word("warn".into())),
                ("stack_mode", ConfigValue::Str("perf".into())),
                ("print_maps_on_exit", ConfigValue::Bool(false)),
                ("BPFTRACE_MAX_MAP_KEYS", ConfigValue::Int(7)),
                ("on_stack_limit", ConfigValue::Int(64)),
                ("cache_user_symbols", ConfigValue::Word("PER_PID".into())),
            ],
            &[],
        );
        assert_eq!(said, Vec::<String>::new());
        assert_eq!((config.max_strlen, config.max_map_keys), (200, 7));
        assert_eq!(config.missing_probes, MissingProbes::Warn);
        assert_eq!(config.stack_mode, StackMode::Perf);
        assert!(!config.print_maps_on_exit);
    }

    #[test]
    fn the_environment_wins() {
        let (config, said) =
            run(&[("max_strlen", ConfigValue::Int(200))], &[("max_strlen", "64"), ("color", "auto")]);
        assert_eq!((config.max_strlen, said.len()), (64, 0));
        let (_, said) = run(&[], &[("max_strlen", "long")]);
        assert!(said[0].starts_with("BPFTRACE_MAX_STRLEN: expecting a number, got long"), "{said:?}");
    }

    #[test]
    fn old_and_unknown_keys() {
        let (config, said) = run(
            &[
                ("strlen", ConfigValue::Int(80)),
                ("symbol_source", ConfigValue::Word("dwarf".into())),
                ("max_strlne", ConfigValue::Int(80)),
                ("btf", ConfigValue::Int(1)),
            ],
            &[],
        );
        assert_eq!(config.max_strlen, 80);
        assert!(said.contains(&"strlen has been renamed, please use max_strlen".to_owned()), "{said:?}");
        assert!(said.contains(&"symbol_source is deprecated and has no effect".to_owned()), "{said:?}");
        let unknown = "max_strlne: not a known configuration option | did you mean `max_strlen`?".to_owned();
        assert!(said.contains(&unknown), "{said:?}");
        assert!(said.contains(&"btf: can only be set as an environment variable".to_owned()), "{said:?}");
    }

    #[test]
    fn values_that_do_not_fit() {
        for (key, value, start) in [
            ("missing_probes", "loud", "missing_probes: invalid value"),
            ("license", "MIT", "license: invalid value for license, found MIT"),
            ("print_maps_on_exit", "yes", "print_maps_on_exit: invalid bool value"),
            ("max_strlen", "99999999", "max_strlen: 99999999 is more than the 65536 possible"),
            ("unstable_tseries", "maybe", "unstable_tseries: invalid value for unstable config"),
        ] {
            let (_, said) = run(&[(key, ConfigValue::Str(value.into()))], &[]);
            assert!(said[0].starts_with(start), "{said:?}");
        }
    }
}
