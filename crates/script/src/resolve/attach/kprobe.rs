//! Kernel functions by name, wildcard or address: kprobe and kretprobe.

use strix_facts::{Glob, KernelFacts, KernelFunction};
use strix_model::AttachPoint;

use super::super::number;
use super::{Concrete, Found, Part, Problem, Provider, argument_count, escape, is_wildcard};

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
    if function.literal && module.is_none_or(|m| m.literal && m.text == "vmlinux") {
        // The usual case, for which the long list of functions is not made.
        return match facts.has_kernel_function(name) {
            Ok(false) if !unsafe_mode => Err(missing(facts, provider, module, name)),
            // Where nobody can say, the kernel can when it is asked to attach.
            _ => Ok(vec![make(module.map(|m| m.text.as_str()), name)]),
        };
    }
    let pattern = if function.literal { Glob::new(&escape(name)) } else { Glob::new(name) };
    let wanted_module = module.map(Part::matcher);
    let in_module = |f: &KernelFunction| match &wanted_module {
        None => true,
        Some(m) => m.is_match(f.module.as_deref().unwrap_or("vmlinux")),
    };
    let mut all: Vec<Concrete> = Vec::new();
    for f in facts.kernel_functions_like(&pattern)?.iter().filter(|f| in_module(f)) {
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
    if !all.is_empty() {
        return Ok(all);
    }
    if let Some(module) = module.filter(|m| m.literal && m.text != "vmlinux")
        && !is_loaded(facts, &module.text)
    {
        let module = &module.text;
        let written = format!("{}:{module}:{name}", provider.name());
        return Err(Problem::wrong(format!("specified module {module} in probe {written} is not loaded")));
    }
    if unsafe_mode && function.literal {
        return Ok(vec![make(module.map(|m| m.text.as_str()), name)]);
    }
    Err(missing(facts, provider, module, name))
}

fn missing(facts: &KernelFacts, provider: Provider, module: Option<&Part>, name: &str) -> Problem {
    let prefix = module.map(|m| format!("{}:", m.text)).unwrap_or_default();
    let message = format!("no matches for {} {prefix}{name}", provider.name());
    if is_wildcard(name) {
        return Problem::NoMatch { message };
    }
    let all = facts.kernel_functions().unwrap_or_default();
    Problem::missing(message, name, all.iter().map(|f| f.name.as_str()))
}

fn is_loaded(facts: &KernelFacts, module: &str) -> bool {
    facts.btf_modules().iter().any(|m| m == module)
        || facts.kernel_functions().unwrap_or_default().iter().any(|f| f.module.as_deref() == Some(module))
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
