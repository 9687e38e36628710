//! Tracepoints by their tracefs names, and raw tracepoints by their own.

use strix_facts::KernelFacts;
use strix_model::AttachPoint;

use super::{Concrete, Found, Matcher, Part, Problem, Provider, argument_count};

/// `tracepoint:CATEGORY:EVENT`, with wildcards in both; one part with a wildcard is an event of any category.
pub(super) fn tracepoint(facts: &KernelFacts, parts: &[Part]) -> Found {
    let (category, event, exact) = match parts {
        [event] if !event.literal => (Matcher::any(), event.matcher(), false),
        [category, event] if category.text.is_empty() || event.text.is_empty() => {
            return Err(Problem::wrong("tracepoint probe must have a target"));
        }
        [category, event] => (category.matcher(), event.matcher(), category.literal && event.literal),
        _ => {
            return Err(argument_count(Provider::Tracepoint, "2", parts.len())
                .with_help("write `tracepoint:CATEGORY:EVENT`"));
        }
    };
    let found = |category: &str, event: &str| {
        let point = AttachPoint::Tracepoint { category: category.to_owned(), event: event.to_owned() };
        Concrete { provider: Provider::Tracepoint, name: point.to_string(), point }
    };
    if let (true, [category, event]) = (exact, parts) {
        // One format file rather than the list of all.
        if facts.tracepoint(&category.text, &event.text)?.is_some() {
            return Ok(vec![found(&category.text, &event.text)]);
        }
        return Err(not_found(facts, &category.text, &event.text));
    }
    let all: Vec<Concrete> = facts
        .tracepoints()?
        .iter()
        .filter(|t| category.is_match(&t.category) && event.is_match(&t.event))
        .map(|t| found(&t.category, &t.event))
        .collect();
    if all.is_empty() {
        let written: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
        let message = format!("no matches for tracepoint {}", written.join(":"));
        return Err(Problem::NoMatch { message });
    }
    Ok(all)
}

fn not_found(facts: &KernelFacts, category: &str, event: &str) -> Problem {
    let written = format!("{category}:{event}");
    let message = format!("tracepoint not found: {written}");
    let Ok(all) = facts.tracepoints() else {
        return Problem::Missing { message, help: Vec::new() };
    };
    // The event itself may be right and the category wrong.
    if let Some(elsewhere) = all.iter().find(|t| t.event == event) {
        return Problem::Missing { message, help: vec![format!("did you mean `{elsewhere}`?")] };
    }
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    Problem::missing(message, &written, names.iter().map(String::as_str))
}

/// `rawtracepoint:[MODULE:]NAME`.
pub(super) fn raw_tracepoint(facts: &KernelFacts, parts: &[Part]) -> Found {
    let (module, event) = match parts {
        [event] => (None, event),
        [module, event] => (Some(module), event),
        _ => return Err(argument_count(Provider::RawTracepoint, "1 or 2", parts.len())),
    };
    if event.text.is_empty() {
        return Err(Problem::wrong("rawtracepoint should be attached to a function"));
    }
    let kernel = match facts.raw_tracepoints() {
        Ok(names) => names,
        // Nobody can say which there are; the kernel knows when it is asked to attach.
        Err(_) if event.literal && module.is_none() => {
            return Ok(vec![found(None, &event.text)]);
        }
        Err(error) => return Err(error.into()),
    };
    let names = event.matcher();
    let mut all = Vec::new();
    let in_kernel = module.is_none_or(|m| m.matcher().is_match("vmlinux"));
    if in_kernel {
        let shown = module.map(|_| "vmlinux");
        all.extend(kernel.iter().filter(|n| names.is_match(n)).map(|n| found(shown, n)));
    }
    // Module BTF is only read when it can matter.
    if !names.is_exact() || all.is_empty() {
        let wanted = module.map_or_else(Matcher::any, Part::matcher);
        for module in facts.btf_modules().iter().filter(|m| wanted.is_match(m)) {
            let events = facts.module_raw_tracepoints(module).unwrap_or_default();
            all.extend(events.iter().filter(|n| names.is_match(n)).map(|n| found(Some(module), n)));
        }
    }
    if all.is_empty() {
        let prefix = module.map(|m| format!("{}:", m.text)).unwrap_or_default();
        let message = format!("no matches for rawtracepoint {prefix}{}", event.text);
        return Err(Problem::missing(message, &event.text, kernel.iter().map(String::as_str)));
    }
    Ok(all)
}

fn found(module: Option<&str>, event: &str) -> Concrete {
    let named = AttachPoint::RawTracepoint { module: module.map(str::to_owned), event: event.to_owned() };
    let name = named.to_string();
    let module = module.filter(|m| *m != "vmlinux").map(str::to_owned);
    let point = AttachPoint::RawTracepoint { module, event: event.to_owned() };
    Concrete { provider: Provider::RawTracepoint, point, name }
}
