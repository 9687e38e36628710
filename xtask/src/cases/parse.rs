//! Text of a case file → cases. Directives are words in capitals at the start of a line; lines indented by two blanks
//! continue the one above; a blank line at the margin ends a case.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::check::{Check, Stream};
use super::{Agree, Body, Case, Stop};
use crate::Result;

/// Seconds a case may take unless it says otherwise.
const TIMEOUT: u64 = 30;

/// A directive with its continuation lines.
struct Directive {
    line: usize,
    name: String,
    /// Text on the same line.
    head: String,
    /// Indented lines below, without their indentation.
    below: Vec<String>,
}

impl Directive {
    /// Same line and the lines below as one text.
    fn text(&self) -> String {
        let head = (!self.head.is_empty()).then(|| self.head.clone());
        head.into_iter().chain(self.below.iter().cloned()).collect::<Vec<_>>().join("\n")
    }

    /// Each line by itself.
    fn lines(&self) -> Vec<String> {
        let text = self.text();
        text.lines().map(str::to_owned).collect()
    }

    fn words(&self) -> Vec<String> {
        self.text().split([' ', ',', '\n']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    }
}

/// Reads all cases of a file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for group in groups(file, text)? {
        cases.push(case(file, &group)?);
    }
    Ok(cases)
}

fn groups(file: &str, text: &str) -> Result<Vec<Vec<Directive>>> {
    let mut groups: Vec<Vec<Directive>> = Vec::new();
    let mut group: Vec<Directive> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        if let Some(more) = line.strip_prefix("  ") {
            let last = group.last_mut().ok_or_else(|| format!("{file}:{}: nothing to continue", at + 1))?;
            last.below.push(more.to_owned());
        } else if line.trim().is_empty() {
            // A blank line inside an indented block belongs to it.
            let inside = lines.get(at + 1).is_some_and(|next| next.starts_with("  "));
            match group.last_mut() {
                Some(last) if inside => last.below.push(String::new()),
                Some(_) => groups.push(std::mem::take(&mut group)),
                None => {}
            }
        } else {
            let (name, head) = line.split_once(' ').unwrap_or((line, ""));
            let (name, head) = (name.to_owned(), head.trim().to_owned());
            group.push(Directive { line: at + 1, name, head, below: Vec::new() });
        }
    }
    if !group.is_empty() {
        groups.push(group);
    }
    Ok(groups)
}

fn case(file: &str, group: &[Directive]) -> Result<Case> {
    let Some((first, rest)) = group.split_first() else {
        return Err(format!("{file}: empty case").into());
    };
    let place = format!("{file}:{}", first.line);
    if first.name != "NAME" || first.head.is_empty() {
        return Err(format!("{place}: a case starts with NAME").into());
    }
    let mut case = Case {
        name: first.head.clone(),
        place: place.clone(),
        body: Body::Call(String::new()),
        args: String::new(),
        params: String::new(),
        before: None,
        workload: None,
        stop: Stop::Itself,
        checks: Vec::new(),
        exit: 0,
        needs: Vec::new(),
        kernels: Vec::new(),
        timeout: Duration::from_secs(TIMEOUT),
        slow: false,
        agree: Agree::Nothing,
        env: Vec::new(),
        stdin: None,
        files: Vec::new(),
    };
    let mut stop = None;
    let mut bodies = 0;
    for directive in rest {
        match directive.name.as_str() {
            "STOP" => {
                stop = Some(stop_by(&directive.head).map_err(|e| format!("{file}:{}: {e}", directive.line))?)
            }
            "PROG" | "CALL" | "RUN" => {
                bodies += 1;
                case.body = body(directive);
            }
            _ => apply(&mut case, directive).map_err(|e| format!("{file}:{}: {e}", directive.line))?,
        }
    }
    if bodies != 1 {
        return Err(format!("{place}: a case has one of PROG, CALL and RUN").into());
    }
    let default = if case.workload.is_some() { Stop::By(Signal::SIGINT) } else { Stop::Itself };
    case.stop = stop.unwrap_or(default);
    if case.checks.is_empty() && case.exit == 0 {
        return Err(format!("{place}: `{}` checks nothing", case.name).into());
    }
    Ok(case)
}

fn body(directive: &Directive) -> Body {
    match directive.name.as_str() {
        "PROG" => Body::Prog(directive.text()),
        "CALL" => Body::Call(directive.text()),
        _ => Body::Run(directive.text()),
    }
}

fn apply(case: &mut Case, d: &Directive) -> Result {
    match d.name.as_str() {
        "ARGS" => case.args = d.text(),
        "PARAMS" => case.params = d.text(),
        "BEFORE" => case.before = Some(d.text()),
        "WORKLOAD" => case.workload = Some(d.text()),
        "STDIN" => case.stdin = Some(d.text() + "\n"),
        "FILE" => case.files.push((d.head.clone(), d.below.join("\n") + "\n")),
        "ENV" => {
            let (key, value) = d.head.split_once('=').ok_or("ENV wants NAME=VALUE")?;
            case.env.push((key.to_owned(), value.to_owned()));
        }
        "EXIT" => case.exit = d.head.parse().map_err(|_| format!("`{}` is no exit code", d.head))?,
        "NEEDS" => case.needs = d.words(),
        "KERNELS" => case.kernels = d.words(),
        "TIMEOUT" => {
            case.timeout =
                Duration::from_secs(d.head.parse().map_err(|_| format!("`{}`: no seconds", d.head))?);
        }
        "SLOW" => case.slow = true,
        "DIFF" => {
            case.agree = match d.head.as_str() {
                "maps" => Agree::Maps,
                "keys" => Agree::Keys,
                "text" => Agree::Text,
                other => return Err(format!("DIFF is maps, keys or text, not `{other}`").into()),
            }
        }
        _ => case.checks.extend(checks(d)?),
    }
    Ok(())
}

fn checks(d: &Directive) -> Result<Vec<Check>> {
    Ok(match d.name.as_str() {
        "EXPECT" => vec![Check::exact(Stream::Out, d.lines())],
        "EXPECT_ALL" => vec![Check::All(d.text())],
        "EXPECT_REGEX" => vec![Check::regex(Stream::Out, &d.lines())?],
        "EXPECT_NONE" => vec![Check::none(Stream::Out, &d.lines())?],
        "STDERR" => vec![Check::exact(Stream::Err, d.lines())],
        "STDERR_REGEX" => vec![Check::regex(Stream::Err, &d.lines())?],
        "STDERR_NONE" => vec![Check::none(Stream::Err, &d.lines())?],
        "CHECK" => d.lines().iter().map(|line| Check::value(line)).collect::<Result<_>>()?,
        other => return Err(format!("no directive `{other}`").into()),
    })
}

fn stop_by(name: &str) -> Result<Stop> {
    Ok(match name {
        "self" => Stop::Itself,
        "int" => Stop::By(Signal::SIGINT),
        "term" => Stop::By(Signal::SIGTERM),
        "kill" => Stop::By(Signal::SIGKILL),
        other => return Err(format!("STOP is self, int, term or kill, not `{other}`").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read() {
        let text = "# about\nNAME one\nPROG BEGIN {\n  exit();\n  }\nEXPECT\n  a\n\n  b\nEXIT 3\n\nNAME two\nCALL -l x\nWORKLOAD w\nCHECK @x == 1\n";
        let cases = parse("f.t", text).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].body, Body::Prog("BEGIN {\nexit();\n}".into()));
        assert_eq!(cases[0].exit, 3);
        assert_eq!(cases[0].stop, Stop::Itself);
        assert_eq!(cases[1].stop, Stop::By(Signal::SIGINT));
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "PROG x\n",
            "NAME a\nPROG x\n",
            "NAME a\nEXPECT x\n",
            "NAME a\nPROG x\nWRONG y\n",
            "NAME a\nPROG x\nCHECK @x ~ 1\n",
            "  x\n",
        ] {
            assert!(parse("f.t", text).is_err(), "{text}");
        }
    }
}
