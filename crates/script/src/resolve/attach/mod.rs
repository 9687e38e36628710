//! Attach points: what is written becomes concrete places. One file a family of providers.
//!
//! This module splits and names, and says what is missing; how each place is found is in the families' files.

mod event;
mod fentry;
mod kprobe;
mod provider;
mod tracepoint;
mod uprobe;

use std::collections::HashSet;

use strix_facts::{FactsError, Glob, KernelFacts, nearest};
use strix_model::{AttachPoint, Diagnostic, Diagnostics, MissingProbes, Span};
use strix_syntax::ast::{self, AttachPointText};

pub(super) use provider::Provider;

use crate::Options;

/// A concrete attach point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Concrete {
    pub(super) provider: Provider,
    pub(super) point: AttachPoint,
    /// What `probe` gives.
    pub(super) name: String,
}

/// A part between colons, parameters filled in.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    /// It has no wildcard.
    pub(super) literal: bool,
    /// Some of it stood in quotes.
    pub(super) quoted: bool,
}

impl Part {
    fn matcher(&self) -> Matcher {
        if self.literal { Matcher::Exactly(self.text.clone()) } else { Matcher::Like(Glob::new(&self.text)) }
    }
}

/// A name or a wildcard.
pub(super) enum Matcher {
    Exactly(String),
    Like(Glob),
}

impl Matcher {
    fn any() -> Self {
        Self::Like(Glob::new("*"))
    }

    fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Exactly(name) => name == text,
            Self::Like(glob) => glob.is_match(text),
        }
    }

    fn is_exact(&self) -> bool {
        matches!(self, Self::Exactly(_))
    }
}

/// Why an attach point cannot be had.
#[derive(Debug)]
pub(super) enum Problem {
    /// It is written wrongly, or asks for what is not allowed or not supported.
    Wrong { message: String, help: Vec<String> },
    /// There is nothing there: the policy for missing probes decides.
    Missing { message: String, help: Vec<String> },
    /// A wildcard matches nothing, which matters only if the probe has nothing else.
    NoMatch { message: String },
    /// The facts to find out cannot be read.
    Facts(FactsError),
}

impl Problem {
    fn wrong(message: impl Into<String>) -> Self {
        Self::Wrong { message: message.into(), help: Vec::new() }
    }

    fn with_help(mut self, text: impl Into<String>) -> Self {
        if let Self::Wrong { help, .. } | Self::Missing { help, .. } = &mut self {
            help.push(text.into());
        }
        self
    }

    /// Nothing of this name; `candidates` are searched for a near one.
    fn missing<'a>(message: String, name: &str, candidates: impl Iterator<Item = &'a str>) -> Self {
        let help = nearest(name, candidates).map(|near| format!("did you mean `{near}`?"));
        Self::Missing { message, help: help.into_iter().collect() }
    }
}

impl From<FactsError> for Problem {
    fn from(error: FactsError) -> Self {
        Self::Facts(error)
    }
}

type Found = Result<Vec<Concrete>, Problem>;

/// What expansion depends on.
pub(super) struct Expander<'a> {
    pub(super) facts: &'a KernelFacts,
    pub(super) options: &'a Options,
    pub(super) missing: MissingProbes,
    pub(super) demangle: bool,
    /// Remarks of the families about what they found.
    remarks: Vec<(String, String)>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(
        facts: &'a KernelFacts,
        options: &'a Options,
        missing: MissingProbes,
        demangle: bool,
    ) -> Self {
        Self { facts, options, missing, demangle, remarks: Vec::new() }
    }

    /// All places of a probe, each once, in the order written.
    pub(super) fn expand(&mut self, probe: &ast::Probe, diags: &mut Diagnostics) -> Vec<Concrete> {
        let mut all: Vec<Concrete> = Vec::new();
        let mut known: HashSet<AttachPoint> = HashSet::new();
        let mut failed = false;
        let mut no_match = Vec::new();
        for text in &probe.attach_points {
            match self.attach_point(text) {
                Ok(found) => {
                    for concrete in found {
                        let once = !matches!(concrete.provider, Provider::Begin | Provider::End);
                        if once && !known.insert(concrete.point.clone()) {
                            let message = format!("{} is named twice and attached once", concrete.name);
                            diags.push(Diagnostic::warning(text.span, message));
                        } else {
                            all.push(concrete);
                        }
                    }
                }
                Err(Problem::NoMatch { message }) => no_match.push((message, text.span)),
                Err(problem) => failed |= self.report(problem, text.span, diags),
            }
            for (message, help) in self.remarks.drain(..) {
                diags.push(Diagnostic::warning(text.span, message).with_help(help));
            }
        }
        if all.is_empty() {
            for (message, span) in no_match {
                failed |= self.report(Problem::Missing { message, help: Vec::new() }, span, diags);
            }
        }
        if all.is_empty() && !failed && !probe.attach_points.is_empty() {
            let span = probe.attach_points[0].span;
            match self.missing {
                MissingProbes::Error => diags.push(
                    Diagnostic::error(span, "probe has no valid attach points")
                        .with_help("if this is expected, set the config variable missing_probes to warn"),
                ),
                MissingProbes::Warn => {
                    diags.push(Diagnostic::warning(span, "probe has no valid attach points and is removed"));
                }
                MissingProbes::Ignore => {}
            }
        }
        all
    }

    /// Tells of a problem; whether it was an error.
    fn report(&self, problem: Problem, span: Span, diags: &mut Diagnostics) -> bool {
        let (mut diagnostic, help) = match problem {
            Problem::Wrong { message, help } => (Diagnostic::error(span, message), help),
            Problem::Facts(error) => (Diagnostic::error(span, error.to_string()), Vec::new()),
            Problem::NoMatch { message } => {
                return self.report(Problem::Missing { message, help: Vec::new() }, span, diags);
            }
            Problem::Missing { message, mut help } => match self.missing {
                MissingProbes::Ignore => return false,
                MissingProbes::Warn => (Diagnostic::warning(span, format!("{message}, skipping")), help),
                MissingProbes::Error => {
                    if help.is_empty() {
                        help.push(
                            "if this is expected, set the config variable missing_probes to warn".into(),
                        );
                    }
                    (Diagnostic::error(span, message), help)
                }
            },
        };
        diagnostic.help.extend(help);
        let failed = diagnostic.severity == strix_model::Severity::Error;
        diags.push(diagnostic);
        failed
    }

    pub(super) fn attach_point(&mut self, text: &AttachPointText) -> Found {
        let mut parts = self.parts(text)?;
        let Some(first) = parts.first_mut() else { return Err(Problem::wrong("invalid attach point")) };
        // After the last comma there may be nothing.
        if first.text.is_empty() && text.parts.len() == 1 {
            return Ok(Vec::new());
        }
        // `name=provider:…` gives the probe a name of its own.
        let own_name = match first.text.split_once('=') {
            Some((name, rest)) if !rest.is_empty() => {
                let name = name.to_owned();
                first.text = rest.to_owned();
                Some(name)
            }
            _ => None,
        };
        let word = first.text.clone();
        let mut found = if is_wildcard(&word) {
            self.every_provider(&word, &parts)?
        } else {
            let provider = Provider::parse(&word).ok_or_else(|| {
                let problem = Problem::wrong(format!("invalid probe type: {word}"));
                match nearest(&word, Provider::names()) {
                    Some(near) => problem.with_help(format!("did you mean `{near}`?")),
                    None => match meant(&parts) {
                        Some(help) => problem.with_help(help),
                        None => problem,
                    },
                }
            })?;
            self.family(provider, parts)?
        };
        if let Some(name) = own_name {
            found.iter_mut().for_each(|c| c.name.clone_from(&name));
        }
        Ok(found)
    }

    /// A wildcard for the provider: those that can be found by a search, where the parts make sense to them.
    fn every_provider(&mut self, word: &str, parts: &[Part]) -> Found {
        let glob = Glob::new(&word.to_ascii_lowercase());
        let user = self.options.pid.is_some() || parts.get(1).is_some_and(|p| p.text.contains('/'));
        let searched: &[Provider] = if user { Provider::SEARCHED_USER } else { Provider::SEARCHED_KERNEL };
        let providers: Vec<Provider> = searched.iter().copied().filter(|p| glob.is_match(p.name())).collect();
        if providers.is_empty() {
            return Err(Problem::wrong(format!("no probe type matched for {word}")));
        }
        let mut all = Vec::new();
        for provider in providers {
            if let Ok(found) = self.family(provider, parts.to_vec()) {
                all.extend(found);
            }
        }
        if all.is_empty() {
            let rest: Vec<&str> = parts.iter().skip(1).map(|p| p.text.as_str()).collect();
            let message = format!("no matches for {word} {}", rest.join(":"));
            return Err(Problem::NoMatch { message });
        }
        Ok(all)
    }

    fn family(&mut self, provider: Provider, parts: Vec<Part>) -> Found {
        let rest = &parts[1..];
        match provider {
            Provider::Begin | Provider::End => event::special(provider, rest),
            Provider::Interval | Provider::Profile => event::timer(provider, rest),
            Provider::Software | Provider::Hardware => event::counter(provider, rest),
            Provider::Tracepoint => tracepoint::tracepoint(self.facts, rest),
            Provider::RawTracepoint => tracepoint::raw_tracepoint(self.facts, rest),
            Provider::Kprobe | Provider::Kretprobe => {
                kprobe::kprobe(self.facts, self.options.unsafe_mode, provider, rest)
            }
            Provider::Fentry | Provider::Fexit => fentry::fentry(self.facts, provider, rest),
            Provider::Uprobe | Provider::Uretprobe => {
                let (found, remarks) =
                    uprobe::uprobe(self.facts, self.options, self.demangle, provider, rest)?;
                self.remarks.extend(remarks);
                Ok(found)
            }
            Provider::Usdt
            | Provider::Watchpoint
            | Provider::Iter
            | Provider::SelfSignal
            | Provider::Test
            | Provider::Bench => {
                Err(Problem::wrong(format!("{} probes are not supported yet", provider.name())))
            }
        }
    }

    /// The parts with positional parameters filled in. A colon in a parameter divides as one in the script does.
    fn parts(&self, text: &AttachPointText) -> Result<Vec<Part>, Problem> {
        let mut parts = Vec::with_capacity(text.parts.len());
        for part in &text.parts {
            if part.quoted {
                // Quotes protect colons and `$`; a wildcard in them is one all the same.
                let literal = !is_wildcard(&part.text);
                parts.push(Part { text: part.text.clone(), literal, quoted: true });
                continue;
            }
            let filled = self.fill(&part.text)?;
            // A drive of colons can only come from a parameter: the parser divided at those in the text.
            for piece in filled.split(':') {
                let literal = !is_wildcard(piece);
                parts.push(Part { text: piece.to_owned(), literal, quoted: false });
            }
        }
        Ok(parts)
    }

    fn fill(&self, text: &str) -> Result<String, Problem> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let digits = &rest[at + 1..];
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if end == 0 || digits.starts_with('0') {
                let next: String = digits.chars().take(1).collect();
                return Err(Problem::wrong(format!(
                    "invalid trailing character for positional param: {next}"
                ))
                .with_help("quote the part if the `$` is meant as such"));
            }
            let index = digits[..end].parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let value = index.and_then(|i| self.options.params.get(i));
            out.push_str(value.map_or("", String::as_str));
            rest = &digits[end..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Whether a text has wildcard characters.
pub(super) fn is_wildcard(text: &str) -> bool {
    !Glob::new(text).is_literal()
}

/// A pattern that matches the text alone.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '*' | '?' | '[' => {
                out.push('[');
                out.push(c);
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}

/// What a place without a provider may be meant as: perf leaves `tracepoint:` out, DTrace has four parts.
fn meant(parts: &[Part]) -> Option<String> {
    let texts: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
    match texts.as_slice() {
        [function] => Some(format!("functions of the kernel are written `kprobe:{function}`")),
        [category, event] => {
            Some(format!("events of the kernel are written `tracepoint:{category}:{event}`"))
        }
        ["syscall", _, name, "entry"] => Some(format!("write `tracepoint:syscalls:sys_enter_{name}`")),
        ["syscall", _, name, "return"] => Some(format!("write `tracepoint:syscalls:sys_exit_{name}`")),
        ["fbt", _, name, "entry"] => Some(format!("write `kprobe:{name}`")),
        ["fbt", _, name, "return"] => Some(format!("write `kretprobe:{name}`")),
        _ => None,
    }
}

/// `kprobe probe type requires 1 or 2 arguments, found 0`.
fn argument_count(provider: Provider, expected: &str, found: usize) -> Problem {
    Problem::wrong(format!("{} probe type requires {expected} arguments, found {found}", provider.name()))
}

#[cfg(test)]
mod tests {
    use super::{Expander, Part};
    use crate::Options;
    use strix_facts::KernelFacts;
    use strix_model::{FileId, MissingProbes, Span};
    use strix_syntax::ast::{AttachPart, AttachPointText};

    fn parts(text: &[(&str, bool)], params: &[&str]) -> Result<Vec<Part>, super::Problem> {
        let facts = KernelFacts::at(std::path::Path::new("/nonexistent"));
        let params = params.iter().map(|p| (*p).to_owned()).collect();
        let options = Options { params, ..Options::default() };
        let span = Span::new(FileId(0), 0, 0);
        let parts = text
            .iter()
            .map(|(t, quoted)| AttachPart { text: (*t).to_owned(), quoted: *quoted, span })
            .collect();
        let text = AttachPointText { parts, text: String::new(), span };
        Expander::new(&facts, &options, MissingProbes::Error, true).parts(&text)
    }

    #[test]
    fn parameters_fill_parts_and_may_divide_them() {
        let got = parts(&[("uprobe", false), ("$1", false), ("f$2", false)], &["/bin/a:b", "x"]).unwrap();
        let texts: Vec<_> = got.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(texts, ["uprobe", "/bin/a", "b", "fx"]);
        let got = parts(&[("uprobe", false), ("a$1*", true)], &["x"]).unwrap();
        assert_eq!((got[1].text.as_str(), got[1].literal), ("a$1*", false));
        let got = parts(&[("k", false), ("vfs_$3", false)], &[]).unwrap();
        assert_eq!(got[1].text, "vfs_");
        assert!(parts(&[("k", false), ("a$b", false)], &[]).is_err());
    }
}
