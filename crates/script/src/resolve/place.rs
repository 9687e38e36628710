//! Where a body runs, and which built-ins mean something there.

use crate::builtins::Variable;
use crate::hir::Context;

/// Arguments that x86-64 and arm64 pass in registers, as bpftrace counts them.
const REGISTER_ARGUMENTS: u8 = 6;

/// What is known about where a body runs.
pub(super) struct Surroundings<'a> {
    /// What the program finds.
    pub(super) context: &'a Context,
    /// Provider, by its long name.
    pub(super) provider: &'static str,
    /// Number of arguments, where it is known.
    pub(super) params: Option<u8>,
    /// Kernel modules whose types count.
    pub(super) modules: &'a [String],
}

impl Surroundings<'_> {
    /// Whether the context holds the registers of what was interrupted.
    pub(super) fn has_registers(&self) -> bool {
        matches!(
            self.context,
            Context::Kprobe | Context::Kretprobe | Context::Uprobe | Context::Uretprobe | Context::PerfEvent
        )
    }

    /// Why a variable cannot be used here; `None` when it can. `in_callback` is inside a `for` loop.
    pub(super) fn refuse(&self, variable: Variable, word: &str, in_callback: bool) -> Option<String> {
        let provider = self.provider;
        match variable {
            Variable::Arg(_) | Variable::Retval if in_callback => {
                Some(format!("'{word}' builtin is not allowed in a for-loop"))
            }
            Variable::Arg(n) => self.refuse_argument(n, word),
            Variable::Sarg(_) => (!matches!(self.context, Context::Kprobe | Context::Uprobe))
                .then(|| format!("the {word} builtin can only be used with 'kprobe' and 'uprobe' probes")),
            Variable::Retval => {
                let possible =
                    matches!(self.context, Context::Kretprobe | Context::Uretprobe | Context::Fexit { .. });
                let try_args = if provider == "tracepoint" { " (try to use args.ret instead)" } else { "" };
                (!possible).then(|| {
                    format!(
                        "the retval builtin can only be used with 'kretprobe', 'uretprobe' and 'fexit' probes{try_args}"
                    )
                })
            }
            Variable::Args => self.refuse_args(),
            Variable::Ctx => match self.context {
                Context::Kprobe
                | Context::Kretprobe
                | Context::Uprobe
                | Context::Uretprobe
                | Context::PerfEvent => None,
                Context::Tracepoint { .. } | Context::Syscalls { .. } => {
                    Some("use args instead of ctx in tracepoint".to_owned())
                }
                _ if provider == "tracepoint" => Some("use args instead of ctx in tracepoint".to_owned()),
                _ => Some(format!("the ctx builtin can not be used with '{provider}' probes")),
            },
            Variable::Func => {
                let possible = matches!(
                    self.context,
                    Context::Kprobe
                        | Context::Kretprobe
                        | Context::Uprobe
                        | Context::Uretprobe
                        | Context::Fentry { .. }
                        | Context::Fexit { .. }
                );
                (!possible).then(|| format!("the func builtin can not be used with '{provider}' probes"))
            }
            _ => None,
        }
    }

    fn refuse_argument(&self, n: u8, word: &str) -> Option<String> {
        let max = match self.context {
            Context::Kprobe | Context::Uprobe => REGISTER_ARGUMENTS,
            Context::Fentry { params, .. } | Context::Fexit { params, .. } => *params,
            Context::RawTracepoint { .. } if self.provider == "rawtracepoint" => self.params.unwrap_or(12),
            _ => {
                let hint = if self.provider == "tracepoint" { " (use args.FIELD)" } else { "" };
                return Some(format!(
                    "the {word} builtin can only be used with 'kprobe', 'uprobe' and 'rawtracepoint' probes{hint}"
                ));
            }
        };
        (n >= max).then(|| match self.context {
            Context::Kprobe | Context::Uprobe => {
                format!("the machine doesn't support {word}: {max} arguments are in registers")
            }
            _ => format!("there is no {word}: the probe has {max} arguments"),
        })
    }

    fn refuse_args(&self) -> Option<String> {
        let possible = match self.context {
            Context::Tracepoint { .. } | Context::Fentry { .. } | Context::Fexit { .. } => true,
            Context::RawTracepoint { args, .. } | Context::Syscalls { args, .. } => args.is_some(),
            _ => false,
        };
        if possible {
            return None;
        }
        Some(match self.provider {
            "uprobe" => "args in uprobe probes needs debug information and is not supported yet: use arg0 to arg5".to_owned(),
            "rawtracepoint" => {
                "the arguments of this raw tracepoint are not known: the kernel has no type information for it".to_owned()
            }
            provider => format!(
                "the args builtin can only be used with tracepoint, rawtracepoint and fentry/fexit probes ({provider} used here)"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::Surroundings;
    use crate::builtins::Variable;
    use crate::hir::Context;

    fn said(context: &Context, provider: &'static str, word: &str, in_callback: bool) -> Option<String> {
        let variable = words::variable(word).expect("a known word");
        Surroundings { context, provider, params: None, modules: &[] }.refuse(variable, word, in_callback)
    }

    #[test]
    fn arguments() {
        assert_eq!(said(&Context::Kprobe, "kprobe", "arg5", false), None);
        assert!(said(&Context::Kprobe, "kprobe", "arg6", false).unwrap().contains("doesn't support arg6"));
        assert!(said(&Context::Kretprobe, "kretprobe", "arg0", false).unwrap().contains("can only be used"));
        assert!(
            said(&Context::Kprobe, "kprobe", "arg0", true).unwrap().contains("not allowed in a for-loop")
        );
        let syscalls = Context::Syscalls { enter: true, args: None, filter: false, btf: false };
        assert!(said(&syscalls, "tracepoint", "arg0", false).unwrap().contains("use args.FIELD"));
    }

    #[test]
    fn results_and_contexts() {
        assert_eq!(said(&Context::Kretprobe, "kretprobe", "retval", false), None);
        assert!(said(&Context::Kprobe, "kprobe", "retval", false).is_some());
        assert_eq!(said(&Context::PerfEvent, "profile", "ctx", false), None);
        assert!(said(&Context::Nothing, "begin", "ctx", false).unwrap().contains("'begin' probes"));
        assert!(said(&Context::PerfEvent, "profile", "func", false).is_some());
        assert!(said(&Context::Kprobe, "kprobe", "args", false).unwrap().contains("kprobe used here"));
        assert_eq!(words::variable("retval"), Some(Variable::Retval));
    }
}
