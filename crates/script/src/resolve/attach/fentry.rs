//! Kernel functions that have type information: fentry and fexit.

use std::collections::BTreeSet;

use strix_facts::{BtfKind, Glob, KernelFacts, KernelFunction};
use strix_model::AttachPoint;

use super::{Concrete, Found, Part, Problem, Provider, argument_count, escape};

/// `fentry:[MODULE:]FUNCTION`.
pub(super) fn fentry(facts: &KernelFacts, provider: Provider, parts: &[Part]) -> Found {
    if parts.first().is_some_and(|p| p.text == "bpf") {
        return Err(Problem::wrong(format!("{}:bpf probes are not supported yet", provider.name())));
    }
    let (module, function) = match parts {
        [function] => (None, function),
        [module, function] => (Some(module), function),
        _ => return Err(argument_count(provider, "1 or 2", parts.len())),
    };
    if function.text.is_empty() {
        return Err(Problem::wrong("fentry/fexit should specify a function"));
    }
    let kernel = facts.btf()?;
    let name = function.text.as_str();
    let found = match module {
        None if function.literal => {
            let modules = modules_of(facts, name);
            match modules.len() {
                0 => Vec::new(),
                1 => modules,
                _ => {
                    let message = format!(
                        "ambiguous attach point, please specify module containing the function '{name}'"
                    );
                    let help = format!("it is in {}", modules.join(", "));
                    return Err(Problem::wrong(message).with_help(help));
                }
            }
            .into_iter()
            .map(|m| concrete(provider, &m, name))
            .collect()
        }
        Some(module) if module.literal && function.literal => {
            let btf = match facts.module_btf(&module.text) {
                Ok(btf) => btf,
                Err(reason) if reason.is_missing() => {
                    let message = format!("no matches for {} {}:{name}", provider.name(), module.text);
                    let help = format!("module {} is not loaded, or has no type information", module.text);
                    return Err(Problem::Missing { message, help: vec![help] });
                }
                Err(reason) => return Err(reason.into()),
            };
            let own = btf.find(BtfKind::Func, name).filter(|id| *id >= btf.first_id());
            own.map(|_| concrete(provider, &module.text, name)).into_iter().collect()
        }
        _ => search(facts, provider, module, function)?,
    };
    if found.is_empty() {
        let prefix = module.map(|m| format!("{}:", m.text)).unwrap_or_default();
        let message = format!("no matches for {} {prefix}{name}", provider.name());
        if !function.literal {
            return Err(Problem::NoMatch { message });
        }
        let any = Glob::new("*");
        let all = kernel.names_like(BtfKind::Func, &any).map(|(name, _)| name);
        return Err(Problem::missing(message, name, all));
    }
    Ok(found)
}

/// The modules whose type information has a function of this name: the kernel itself (`vmlinux`), else those that list it.
fn modules_of(facts: &KernelFacts, name: &str) -> Vec<String> {
    if facts.btf().is_ok_and(|btf| btf.find(BtfKind::Func, name).is_some()) {
        return vec!["vmlinux".to_owned()];
    }
    let mut modules = BTreeSet::new();
    for f in facts.kernel_functions_like(&Glob::new(&escape(name))).unwrap_or_default() {
        if let Some(module) = f.module
            && let Ok(btf) = facts.module_btf(&module)
            && btf.find(BtfKind::Func, name).is_some_and(|id| id >= btf.first_id())
        {
            modules.insert(module);
        }
    }
    modules.into_iter().collect()
}

/// Functions that have a description and can be traced.
fn search(facts: &KernelFacts, provider: Provider, module: Option<&Part>, function: &Part) -> Found {
    let pattern = match function.literal {
        true => Glob::new(&escape(&function.text)),
        false => Glob::new(&function.text),
    };
    let wanted = module.map_or_else(super::Matcher::any, Part::matcher);
    let traceable = facts.kernel_functions_like(&pattern).unwrap_or_default();
    let mut all = Vec::new();
    let modules = std::iter::once("vmlinux".to_owned()).chain(facts.btf_modules());
    for module in modules.filter(|m| wanted.is_match(m)) {
        // One module that cannot be read is no reason to give up the others.
        let Ok(btf) = facts.module_btf(&module) else { continue };
        let owner = (module != "vmlinux").then_some(module.as_str());
        let can_be_traced = |name: &str| {
            traceable.is_empty() || range_of(&traceable, name).iter().any(|f| f.module.as_deref() == owner)
        };
        let mut names: Vec<&str> = btf
            .names_like(BtfKind::Func, &pattern)
            .filter(|(name, id)| {
                can_be_traced(name) && btf.prototype(*id).is_some_and(|p| !p.variadic && p.params.len() <= 12)
            })
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        all.extend(names.into_iter().map(|name| concrete(provider, &module, name)));
    }
    Ok(all)
}

/// The functions of this name: the list is sorted by it.
fn range_of<'f>(functions: &'f [KernelFunction], name: &str) -> &'f [KernelFunction] {
    let start = functions.partition_point(|f| f.name.as_str() < name);
    let len = functions[start..].partition_point(|f| f.name == name);
    &functions[start..start + len]
}

fn concrete(provider: Provider, module: &str, function: &str) -> Concrete {
    let (module, function) = (module.to_owned(), function.to_owned());
    let point = match provider {
        Provider::Fexit => AttachPoint::Fexit { module, function },
        _ => AttachPoint::Fentry { module, function },
    };
    Concrete { provider, name: point.to_string(), point }
}
