//! User-space functions: uprobe and uretprobe.

use std::collections::HashSet;
use std::path::Path;

use strix_facts::{Binary, FunctionSymbol, Glob, KernelFacts};
use strix_model::AttachPoint;

use super::super::number;
use super::kprobe::split_offset;
use super::{Concrete, Matcher, Part, Problem, Provider, argument_count};
use crate::Options;

/// What is to be attached to in a file.
enum Wanted {
    /// Functions, by mangled or plain names.
    Functions(Matcher),
    /// Functions, by demangled names.
    Demangled(Matcher),
    /// An address of the file.
    Address(u64),
}

/// Warnings about what was found: message and help.
type Remarks = Vec<(String, String)>;

/// `uprobe:[PATH:][cpp:]FUNCTION[+OFFSET]`, `uprobe:PATH:ADDRESS`. The path may only be missing with a process.
pub(super) fn uprobe(
    facts: &KernelFacts,
    options: &Options,
    demangle: bool,
    provider: Provider,
    parts: &[Part],
) -> Result<(Vec<Concrete>, Remarks), Problem> {
    let pid = options.pid;
    let is_language = |p: &Part| p.text == "cpp";
    let own_program = || pid.map(|pid| format!("/proc/{pid}/exe"));
    let (target, language, function) = match parts {
        [function] if pid.is_some() => (own_program(), None, function),
        [language, function] if pid.is_some() && is_language(language) => {
            (own_program(), Some(language), function)
        }
        [target, function] => (Some(target.text.clone()), None, function),
        [target, language, function] => (Some(target.text.clone()), Some(language), function),
        [_] => {
            return Err(argument_count(provider, "2 or 3", parts.len())
                .with_help("name the program or library before the function, or a process by -p"));
        }
        _ => return Err(argument_count(provider, "2 or 3", parts.len())),
    };
    let target = target.unwrap_or_default();
    if target.is_empty() {
        return Err(Problem::wrong(format!("{} should have a target", provider.name())));
    }
    if let Some(language) = language.filter(|l| !is_language(l)) {
        return Err(Problem::wrong(format!("unsupported language type: {}", language.text)));
    }
    if target == "*" {
        return Err(
            Problem::wrong("`*` for every running program is not supported yet").with_help("name a path")
        );
    }
    if parts.first().is_some_and(|p| !p.quoted && p.text.contains('@') && p.text == target) {
        return Err(Problem::wrong("attaching by source line is not supported yet"));
    }
    if function.text.is_empty() {
        return Err(Problem::wrong(format!(
            "{} should be attached to a function and/or address",
            provider.name()
        )));
    }
    let (name, offset) = match function.quoted {
        true => quoted_offset(&function.text),
        false => split_offset(&function.text, provider == Provider::Uprobe)?,
    };
    let wanted = wanted(function, name, language.is_some(), demangle);
    let finder = Finder {
        facts,
        provider,
        target: &target,
        language: language.is_some(),
        name,
        offset,
        any_address: options.unsafe_mode,
    };
    finder.search(&wanted, function.literal)
}

/// `"name"+0x10`, where the name itself may have a plus: `operator+`.
fn quoted_offset(text: &str) -> (&str, u64) {
    let split = text.rsplit_once('+').and_then(|(name, n)| Some((name, number::unsigned(n).ok()?)));
    split.unwrap_or((text, 0))
}

fn wanted(function: &Part, name: &str, cpp: bool, demangle: bool) -> Wanted {
    if !function.quoted
        && let Ok(address) = number::unsigned(name)
    {
        return Wanted::Address(address);
    }
    let matcher =
        if function.literal { Matcher::Exactly(name.to_owned()) } else { Matcher::Like(Glob::new(name)) };
    if cpp && demangle { Wanted::Demangled(matcher) } else { Wanted::Functions(matcher) }
}

struct Finder<'a> {
    facts: &'a KernelFacts,
    provider: Provider,
    /// The path as written.
    target: &'a str,
    language: bool,
    name: &'a str,
    offset: u64,
    /// Addresses need not lie in a known function.
    any_address: bool,
}

impl Finder<'_> {
    fn search(&self, wanted: &Wanted, literal: bool) -> Result<(Vec<Concrete>, Remarks), Problem> {
        let paths = self.facts.resolve_path(self.target);
        let several = !Glob::new(self.target).is_literal();
        if several && matches!(wanted, Wanted::Address(_)) {
            return Err(Problem::wrong("cannot use wildcards with absolute address"));
        }
        let mut remarks = Remarks::new();
        let mut all: Vec<Concrete> = Vec::new();
        let mut readable = None;
        for path in &paths {
            let binary = match self.facts.binary(path) {
                Ok(binary) => binary,
                // A wildcard also meets scripts and directories.
                Err(_) if several => continue,
                Err(reason) => {
                    let message =
                        format!("uprobe target file '{}' does not exist or is not executable", self.target);
                    return Err(Problem::wrong(message).with_help(reason.to_string()));
                }
            };
            self.in_file(path, &binary, wanted, &mut all, &mut remarks)?;
            readable.get_or_insert(binary);
        }
        let Some(binary) = readable else {
            let message = format!("uprobe target file '{}' does not exist or is not executable", self.target);
            return Err(Problem::wrong(message));
        };
        if all.is_empty() {
            let message = format!("no matches for {} {}:{}", self.provider.name(), self.target, self.name);
            if binary.functions().is_empty() {
                let help = "the file has no function symbols: it is stripped, and no separate debug file is installed";
                return Err(Problem::Missing { message, help: vec![help.to_owned()] });
            }
            if !literal {
                return Err(Problem::NoMatch { message });
            }
            return Err(Problem::missing(
                message,
                self.name,
                binary.functions().iter().map(|f| f.name.as_str()),
            ));
        }
        Ok((all, remarks))
    }

    fn in_file(
        &self,
        path: &Path,
        binary: &Binary,
        wanted: &Wanted,
        all: &mut Vec<Concrete>,
        remarks: &mut Remarks,
    ) -> Result<(), Problem> {
        let Some(path) = path.to_str() else {
            return Err(Problem::wrong("the path of the target file is no valid text"));
        };
        let found: Vec<&FunctionSymbol> = match wanted {
            Wanted::Address(address) => {
                all.push(self.at_address(path, binary, *address)?);
                return Ok(());
            }
            Wanted::Functions(Matcher::Exactly(name)) => match binary.find(name) {
                Some(f) => vec![f],
                // A name of the source language rather than of the linker.
                None if name.contains("::") || name.contains('(') => {
                    demangled(binary, &Matcher::Exactly(name.clone()))
                }
                None => Vec::new(),
            },
            Wanted::Functions(matcher) => {
                binary.functions().iter().filter(|f| matcher.is_match(&f.name)).collect()
            }
            Wanted::Demangled(matcher) => demangled(binary, matcher),
        };
        let mut places = HashSet::new();
        for f in found.into_iter().filter(|f| !f.name.contains(".part.")) {
            // Names of the same place are one attach point.
            if !places.insert(f.file_offset) {
                continue;
            }
            let concrete = self.at_function(path, f)?;
            if f.is_ifunc && matches!(wanted, Wanted::Functions(Matcher::Exactly(_))) {
                let message = format!("{} is chosen among several at run time", f.name);
                let help = format!(
                    "this probe only sees the choosing; try `{}:{path}:*{}*`",
                    self.provider.name(),
                    f.name
                );
                remarks.push((message, help));
            }
            all.push(concrete);
        }
        Ok(())
    }

    fn at_function(&self, path: &str, f: &FunctionSymbol) -> Result<Concrete, Problem> {
        if f.size != 0 && self.offset >= f.size {
            return Err(Problem::wrong(format!(
                "offset {:#x} is outside of {}, which has {:#x} bytes",
                self.offset, f.name, f.size
            )));
        }
        let (path, symbol) = (path.to_owned(), Some(f.name.clone()));
        let point = match self.provider {
            Provider::Uretprobe => AttachPoint::Uretprobe { path, symbol, file_offset: f.file_offset },
            _ => AttachPoint::Uprobe {
                path,
                symbol,
                offset: self.offset,
                file_offset: f.file_offset.saturating_add(self.offset),
            },
        };
        let name = match (self.language, &point) {
            (true, AttachPoint::Uprobe { path, .. } | AttachPoint::Uretprobe { path, .. }) => {
                format!("{}:{}:cpp:{}", self.provider.name(), self.shown(path), f.name)
            }
            _ => self.name(&point),
        };
        Ok(Concrete { provider: self.provider, point, name })
    }

    fn at_address(&self, path: &str, binary: &Binary, address: u64) -> Result<Concrete, Problem> {
        let Some(file_offset) = binary.file_offset(address).and_then(|o| o.checked_add(self.offset)) else {
            return Err(Problem::wrong(format!("address {address:#x} is not in {}", self.target))
                .with_help("addresses are those of the file, as `nm` prints them"));
        };
        // A breakpoint in the middle of data or of an instruction breaks the program.
        let holds = |f: &FunctionSymbol| (f.address..f.address.saturating_add(f.size)).contains(&address);
        if !self.any_address && !binary.functions().iter().any(holds) {
            return Err(Problem::wrong(format!("could not resolve address: {}:{address:#x}", self.target))
                .with_help("no known function is there; --unsafe attaches all the same"));
        }
        let path = path.to_owned();
        let point = match self.provider {
            Provider::Uretprobe => AttachPoint::Uretprobe { path, symbol: None, file_offset },
            _ => AttachPoint::Uprobe { path, symbol: None, offset: address, file_offset },
        };
        Ok(Concrete { provider: self.provider, name: self.name(&point), point })
    }

    /// The full name of an attach point, with the path as the script has it.
    fn name(&self, point: &AttachPoint) -> String {
        let mut point = point.clone();
        if let AttachPoint::Uprobe { path, .. } | AttachPoint::Uretprobe { path, .. } = &mut point {
            *path = self.shown(path);
        }
        point.to_string()
    }

    /// A path that was found, as the script names it: relative if it is, with wildcards filled in.
    fn shown(&self, path: &str) -> String {
        if !self.target.contains('/') {
            return path.to_owned();
        }
        let written: Vec<&str> = self.target.split('/').collect();
        let found: Vec<&str> = path.split('/').collect();
        let literal = written.iter().take_while(|part| Glob::new(part).is_literal()).count();
        match found.len().checked_sub(written.len() - literal) {
            Some(rest) => [&written[..literal], &found[rest..]].concat().join("/"),
            None => path.to_owned(),
        }
    }
}

/// Functions whose name in the source language matches; parameters count only if they are named.
fn demangled<'b>(binary: &'b Binary, matcher: &Matcher) -> Vec<&'b FunctionSymbol> {
    let with_parameters = match matcher {
        Matcher::Exactly(text) => text.contains('('),
        Matcher::Like(glob) => glob.pattern().contains('('),
    };
    let matches = |f: &&FunctionSymbol| match f.demangled() {
        Some(name) if with_parameters => matcher.is_match(&name),
        Some(name) => matcher.is_match(without_parameters(&name)) || matcher.is_match(&name),
        None => matcher.is_match(&f.name),
    };
    binary.functions().iter().filter(matches).collect()
}

/// `ns::f(int)` as `ns::f`. `operator()` and template arguments keep their parentheses.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0usize;
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0
                && !name[..at].ends_with("operator")
                && !name[at..].starts_with("(anonymous") =>
            {
                return &name[..at];
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{quoted_offset, without_parameters};

    #[test]
    fn offsets_after_quotes() {
        assert_eq!(quoted_offset("echo_builtin+0"), ("echo_builtin", 0));
        assert_eq!(quoted_offset("C::operator+"), ("C::operator+", 0));
        assert_eq!(quoted_offset("C::operator++0x4"), ("C::operator+", 4));
    }

    #[test]
    fn parameter_lists_are_cut() {
        assert_eq!(without_parameters("ns::f(int, char)"), "ns::f");
        assert_eq!(without_parameters("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
        assert_eq!(without_parameters("C::operator()(int)"), "C::operator()");
        assert_eq!(
            without_parameters("std::function<void (int)>::call(int)"),
            "std::function<void (int)>::call"
        );
        assert_eq!(without_parameters("alloc::vec::Vec"), "alloc::vec::Vec");
    }
}
