//! Kernel functions by name, wildcard or address: kprobe and kretprobe.

use strix_facts::{KernelFacts, KernelFunction};
use strix_model::AttachPoint;

use super::super::number;
use super::{Concrete, Found, Matcher, Part, Problem, Provider, argument_count};

/// `kprobe:[MODULE:]FUNCTION[+OFFSET]`, `kprobe:ADDRESS`.
pub(super) fn kprobe(facts: &KernelFacts, unsafe_mode: bool, provider: Provider, parts: &[Part]) -> Found {
    let (module, function) = match parts {
        [function] => (None, function),
        [module, function] => (Some(module), function),
        _ => return Err(argument_count(provider, "1 or 2", parts.len())),
    };
    if function.text.is_empty() {
        return Err(Problem::wrong("kprobes should be attached to a function or an address"));
    }
    let (name, offset) = split_offset(&function.text, provider == Provider::Kprobe)?;
    if !function.quoted
        && offset == 0
        && let Ok(address) = number::unsigned(name)
    {
        return by_address(provider, unsafe_mode, address);
    }
    let make = |module: Option<&str>, function: &str| concrete(provider, module, function, offset);
    let functions = match facts.kernel_functions() {
        // A list that holds nothing says nothing.
        Ok(list) if !list.is_empty() => list,
        _ if function.literal && module.is_none_or(|m| m.literal) => {
            return Ok(vec![make(module.map(|m| m.text.as_str()), name)]);
        }
        Ok(_) => {
            return Err(Problem::wrong("the kernel lists no functions, so wildcards cannot be expanded"));
        }
        Err(error) => return Err(error.into()),
    };
    let wanted_module = module.map(Part::matcher);
    let in_module = |f: &KernelFunction| match &wanted_module {
        None => true,
        Some(m) => m.is_match(f.module.as_deref().unwrap_or("vmlinux")),
    };
    if let Some(module) = module.filter(|m| m.literal && m.text != "vmlinux")
        && !functions.iter().any(|f| f.module.as_deref() == Some(&module.text))
    {
        let message = format!(
            "specified module {} in probe {}:{}:{name} is not loaded",
            module.text,
            provider.name(),
            module.text
        );
        return Err(Problem::wrong(message));
    }
    let names = if function.literal { Matcher::Exactly(name.to_owned()) } else { function.matcher() };
    let mut all: Vec<Concrete> = Vec::new();
    let candidates = match &names {
        Matcher::Exactly(name) => range_of(functions, name),
        Matcher::Like(_) => functions,
    };
    for f in candidates.iter().filter(|f| names.is_match(&f.name) && in_module(f)) {
        // Parts of functions that the compiler split off take no probe.
        if f.name.contains(".part.") {
            continue;
        }
        let shown = module.map(|_| f.module.as_deref().unwrap_or("vmlinux"));
        let next = make(shown, &f.name);
        // Without a module a name is one attach point, however many functions have it.
        if all.last().is_none_or(|last| last.point != next.point) {
            all.push(next);
        }
    }
    if all.is_empty() {
        if unsafe_mode && function.literal {
            return Ok(vec![make(module.map(|m| m.text.as_str()), name)]);
        }
        let prefix = module.map(|m| format!("{}:", m.text)).unwrap_or_default();
        let message = format!("no matches for {} {prefix}{name}", provider.name());
        return Err(match function.literal {
            true => Problem::missing(message, name, functions.iter().map(|f| f.name.as_str())),
            false => Problem::Missing { message, help: Vec::new() },
        });
    }
    Ok(all)
}

/// The functions of this name: the list is sorted by it.
pub(super) fn range_of<'f>(functions: &'f [KernelFunction], name: &str) -> &'f [KernelFunction] {
    let start = functions.partition_point(|f| f.name.as_str() < name);
    let len = functions[start..].partition_point(|f| f.name == name);
    &functions[start..start + len]
}

/// `name+0x10` as name and offset.
pub(super) fn split_offset(text: &str, allowed: bool) -> Result<(&str, u64), Problem> {
    let Some((name, offset)) = text.split_once('+') else { return Ok((text, 0)) };
    if !allowed {
        return Err(Problem::wrong("offset not allowed: a return has no place of its own"));
    }
    if offset.contains('+') {
        return Err(Problem::wrong("cannot take more than one offset"));
    }
    if name.is_empty() {
        return Err(Problem::wrong("invalid offset: there is no function before it"));
    }
    match number::unsigned(offset) {
        Ok(offset) => Ok((name, offset)),
        Err(reason) => Err(Problem::wrong(format!("invalid offset: {reason}"))),
    }
}

fn by_address(provider: Provider, unsafe_mode: bool, address: u64) -> Found {
    if !unsafe_mode {
        return Err(Problem::wrong("probing by address requires --unsafe"));
    }
    if provider == Provider::Kretprobe {
        return Err(Problem::wrong("kretprobe by address is not supported yet: name the function"));
    }
    let point = AttachPoint::KprobeAddress(address);
    Ok(vec![Concrete { provider, name: point.to_string(), point }])
}

fn concrete(provider: Provider, module: Option<&str>, function: &str, offset: u64) -> Concrete {
    let build = |module: Option<&str>| {
        let module = module.map(str::to_owned);
        let function = function.to_owned();
        match provider {
            Provider::Kretprobe => AttachPoint::Kretprobe { module, function },
            _ => AttachPoint::Kprobe { module, function, offset },
        }
    };
    // The kernel does not know its own functions by `vmlinux:`.
    let point = build(module.filter(|m| *m != "vmlinux"));
    Concrete { provider, name: build(module).to_string(), point }
}
