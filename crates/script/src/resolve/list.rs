//! What there is to attach to, and what types look like: the answers to `-l` and `-lv`.

use strix_facts::{
    Btf, BtfKind, BtfType, FactsError, FuncParam, FuncProto, Glob, KernelFacts, TracepointField, TypeId,
};
use strix_model::{AttachPoint, Diagnostics, HardwareEvent, MissingProbes, SoftwareEvent};
use strix_syntax::ast::{AttachPart, AttachPointText, Script};

use super::args;
use super::attach::{Concrete, Expander, Problem, Provider};
use crate::Options;

/// Anonymous structs in structs are written out this deep.
const MAX_NESTING: u32 = 8;

/// A definition ends after so many lines; the longest of a kernel has some hundreds.
const MAX_LINES: usize = 20_000;

/// A line of a listing, with what `-lv` shows below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// An attach point, or `struct NAME`; when more was asked for, the type's definition in several lines.
    pub name: String,
    /// Parameters with their types as in C, if they were asked for and are known.
    pub params: Vec<String>,
}

/// Why nothing can be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// What is true of the kernel cannot be read.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The pattern is no attach point.
    #[error("{0}")]
    Pattern(String),
}

/// Lists what a pattern matches: an attach point with wildcards, text to be found in a name of any provider,
/// `struct NAME` or `enum NAME`; everything when it is empty. With `verbose` parameters are looked up as well.
///
/// # Errors
/// When the pattern makes no sense, or the only source of an answer cannot be read. A pattern that matches nothing is
/// an empty list.
pub fn list(
    pattern: &str,
    facts: &KernelFacts,
    pid: Option<u32>,
    verbose: bool,
) -> Result<Vec<Listed>, ListError> {
    let mut all = Vec::new();
    for pattern in pattern.split(',') {
        let pattern = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
        for (keyword, kind) in
            [("struct ", BtfKind::Struct), ("union ", BtfKind::Union), ("enum ", BtfKind::Enum)]
        {
            if let Some(tag) = pattern.strip_prefix(keyword) {
                all.extend(types(facts, keyword.trim_end(), kind, tag, verbose)?);
                return Ok(all);
            }
        }
        let full = match pattern.as_str() {
            "" => "*:*".to_owned(),
            p if p.contains(':') => p.to_owned(),
            // A provider alone lists all of it.
            p if Provider::parse(p).is_some() => format!("{p}:*"),
            p => format!("*:{p}"),
        };
        all.extend(attach_points(&full, facts, pid, verbose)?);
    }
    Ok(all)
}

fn attach_points(
    pattern: &str,
    facts: &KernelFacts,
    pid: Option<u32>,
    verbose: bool,
) -> Result<Vec<Listed>, ListError> {
    let (word, rest) = pattern.split_once(':').unwrap_or((pattern, "*"));
    let glob = Glob::new(&word.to_ascii_lowercase());
    let providers: Vec<Provider> = if glob.is_literal() {
        let provider =
            Provider::parse(word).ok_or_else(|| ListError::Pattern(format!("invalid probe type: {word}")))?;
        vec![provider]
    } else {
        let user = pid.is_some() || rest.starts_with('/');
        let searched = if user { Provider::SEARCHED_USER } else { Provider::SEARCHED_KERNEL };
        searched.iter().copied().filter(|p| glob.is_match(p.name())).collect()
    };
    let several = providers.len() > 1;
    let mut all = Vec::new();
    for provider in providers {
        match of_provider(provider, rest, facts, pid) {
            Ok(found) => all.extend(found.into_iter().map(|(name, concrete)| {
                let params = match (&concrete, verbose) {
                    (Some(concrete), true) => params(facts, concrete),
                    _ => Vec::new(),
                };
                Listed { name, params }
            })),
            // One family that cannot be read does not take the others away.
            Err(_) if several => {}
            Err(Problem::Missing { .. } | Problem::NoMatch { .. }) => {}
            Err(Problem::Wrong { message, .. }) => return Err(ListError::Pattern(message)),
            Err(Problem::Facts(error)) => return Err(error.into()),
        }
    }
    Ok(all)
}

type Found = Vec<(String, Option<Concrete>)>;

fn of_provider(
    provider: Provider,
    rest: &str,
    facts: &KernelFacts,
    pid: Option<u32>,
) -> Result<Found, Problem> {
    let names = |names: Vec<&'static str>| {
        let glob = Glob::new(rest.split(':').next().unwrap_or("*"));
        let kind = provider.name();
        let matching = names.into_iter().filter(|n| glob.is_match(n));
        Ok(matching.map(|n| (format!("{kind}:{n}:"), None)).collect())
    };
    match provider {
        Provider::Software => names(with_aliases(SoftwareEvent::ALL, |e| (e.name(), e.aliases()))),
        Provider::Hardware => names(with_aliases(HardwareEvent::ALL, |e| (e.name(), e.aliases()))),
        Provider::Interval | Provider::Profile => names(vec!["hz", "ms", "s", "us"]),
        // They are there or not; there is nothing to search.
        Provider::Begin | Provider::End => Ok(vec![(provider.name().to_owned(), None)]),
        _ => {
            let options = Options { pid, unsafe_mode: false, ..Options::default() };
            // A name without wildcards is searched all the same: `-l` finds, it does not attach.
            let mut parts = vec![provider.name()];
            parts.extend(rest.split(':'));
            let module = matches!(provider, Provider::Fentry | Provider::Fexit | Provider::RawTracepoint);
            if module && parts.len() == 2 {
                parts.insert(1, "*");
            }
            let mut found = Expander::new(facts, &options, MissingProbes::Ignore, true).search(&parts)?;
            found.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(found.into_iter().map(|c| (c.name.clone(), Some(c))).collect())
        }
    }
}

fn with_aliases<T: Copy>(
    all: &[T],
    names: impl Fn(T) -> (&'static str, &'static [&'static str]),
) -> Vec<&'static str> {
    let mut list: Vec<&'static str> = all
        .iter()
        .flat_map(|e| {
            let (name, aliases) = names(*e);
            std::iter::once(name).chain(aliases.iter().copied())
        })
        .collect();
    list.sort_unstable();
    list
}

/// Parameters of an attach point; none where the kernel does not describe it.
fn params(facts: &KernelFacts, concrete: &Concrete) -> Vec<String> {
    match &concrete.point {
        AttachPoint::Tracepoint { category, event } => {
            let Ok(Some(format)) = facts.tracepoint(category, event) else { return Vec::new() };
            format.fields.iter().filter(|f| !f.common).map(declaration).collect()
        }
        AttachPoint::RawTracepoint { module, event } => {
            let look = |btf: &Btf| args::raw_tracepoint(btf, event);
            of_function(facts, module.as_deref(), look, true, false)
        }
        AttachPoint::Kprobe { module, function, .. } => {
            of_function(facts, module.as_deref(), |btf| btf.function(function), true, false)
        }
        AttachPoint::Fentry { module, function } => {
            of_function(facts, Some(module), |btf| btf.function(function), true, false)
        }
        AttachPoint::Fexit { module, function } => {
            of_function(facts, Some(module), |btf| btf.function(function), true, true)
        }
        AttachPoint::Kretprobe { module, function } => {
            of_function(facts, module.as_deref(), |btf| btf.function(function), false, true)
        }
        _ => Vec::new(),
    }
}

/// `char comm[16]` of the type `char[16]` and the name.
fn declaration(field: &TracepointField) -> String {
    match field.c_type.split_once('[') {
        Some((base, bounds)) if !base.starts_with("__") => {
            format!("{} {}[{bounds}", base.trim_end(), field.name)
        }
        _ => format!("{} {}", field.c_type, field.name),
    }
}

fn of_function(
    facts: &KernelFacts,
    module: Option<&str>,
    look: impl FnOnce(&Btf) -> Option<FuncProto>,
    with_params: bool,
    with_result: bool,
) -> Vec<String> {
    let Ok(btf) = super::btf_types::btf_of(facts, module) else { return Vec::new() };
    let Some(proto) = look(&btf) else { return Vec::new() };
    let mut lines = Vec::new();
    if with_params {
        let line = |p: &FuncParam| format!("{} {}", btf.type_name(p.ty), p.name).trim_end().to_owned();
        lines.extend(proto.params.iter().map(line));
    }
    if with_result {
        lines.push(format!("{} retval", btf.type_name(proto.ret)));
    }
    lines
}

fn types(
    facts: &KernelFacts,
    keyword: &str,
    kind: BtfKind,
    tag: &str,
    verbose: bool,
) -> Result<Vec<Listed>, ListError> {
    let btf = facts.btf()?;
    let glob = Glob::new(tag);
    let mut found: Vec<Listed> = btf
        .names_like(kind, &glob)
        .map(|(name, id)| {
            let name = if verbose {
                let mut lines = Vec::new();
                definition(btf, id, "", 0, &mut lines);
                lines.join("\n") + ";"
            } else {
                format!("{keyword} {name}")
            };
            Listed { name, params: Vec::new() }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Ok(found)
}

/// The lines of a C definition, without the semicolon after the brace.
fn definition(btf: &Btf, id: TypeId, indent: &str, depth: u32, lines: &mut Vec<String>) {
    let tagged = |keyword: &str, name: &str| {
        let space = if name.is_empty() { "" } else { " " };
        format!("{indent}{keyword}{space}{name} {{")
    };
    let members = match btf.get(id) {
        Some(BtfType::Struct { name, members, .. }) => {
            lines.push(tagged("struct", name));
            members
        }
        Some(BtfType::Union { name, members, .. }) => {
            lines.push(tagged("union", name));
            members
        }
        Some(BtfType::Enum { name, values, .. }) => {
            lines.push(tagged("enum", name));
            lines.extend(values.take(MAX_LINES).map(|(name, value)| format!("{indent}\t{name} = {value},")));
            lines.push(format!("{indent}}}"));
            return;
        }
        _ => return,
    };
    let inner = format!("{indent}\t");
    for member in members {
        if lines.len() >= MAX_LINES {
            lines.push(format!("{inner}/* … */"));
            break;
        }
        let bits = match member.bitfield_bits {
            0 => String::new(),
            bits => format!(": {bits}"),
        };
        // A struct without a tag has no other place to be written in.
        let is_nested = depth < MAX_NESTING
            && matches!(
                btf.get(member.ty),
                Some(
                    BtfType::Struct { name: "", .. }
                        | BtfType::Union { name: "", .. }
                        | BtfType::Enum { name: "", .. }
                )
            );
        if is_nested {
            definition(btf, member.ty, &inner, depth + 1, lines);
            let space = if member.name.is_empty() { "" } else { " " };
            if let Some(last) = lines.last_mut() {
                last.push_str(&format!("{space}{}{bits};", member.name));
            }
        } else {
            lines.push(format!("{inner}{}{bits};", btf.declaration(member.ty, member.name)));
        }
    }
    lines.push(format!("{indent}}}"));
}

impl Expander<'_> {
    /// What an attach point made of these parts stands for.
    fn search(&mut self, parts: &[&str]) -> Result<Vec<Concrete>, Problem> {
        let span = strix_model::Span::default();
        let text = parts.join(":");
        let parts = parts.iter().map(|p| AttachPart { text: (*p).to_owned(), quoted: false, span }).collect();
        self.attach_point(&AttachPointText { parts, text, span })
    }
}

/// The attach points of a script's probes, as `-l FILE` lists them; begin and end are left out. What is written wrongly
/// goes to `diags`; what is not there is no error in a listing.
pub fn list_probes(
    script: &Script,
    facts: &KernelFacts,
    options: &Options,
    verbose: bool,
    diags: &mut Diagnostics,
) -> Vec<Listed> {
    let mut expander = Expander::new(facts, options, MissingProbes::Ignore, true);
    let mut all = Vec::new();
    for probe in &script.probes {
        let found = expander.expand(probe, diags);
        let shown = found.into_iter().filter(|c| !matches!(c.provider, Provider::Begin | Provider::End));
        all.extend(shown.map(|c| {
            let params = if verbose { params(facts, &c) } else { Vec::new() };
            Listed { name: c.name, params }
        }));
    }
    all
}
