//! Stage tests from files: `files/STAGE/NAME.t` holds scripts and what comes of each.
//!
//! A file starts with comment lines; `# facts NAME` among them says which frozen kernel (`tests/facts/NAME`) the scripts run on. Then come
//! cases, divided by lines of `====`: a script, a line of `----`, and the expected text. `BLESS=1` writes what comes instead of
//! comparing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use strix_facts::KernelFacts;
use strix_model::{Diagnostics, Severity, SourceMap};
use strix_script::check::type_name;
use strix_script::hir::Typed;
use strix_script::{Options, check, limits, resolve};

const DEFAULT_FACTS: &str = "6.18-x86_64";

#[test]
fn check_files() {
    run_stage("check", checked);
}

/// Diagnostics, then the types of maps and variables.
fn checked(script: &str, facts: &KernelFacts) -> String {
    let mut sources = SourceMap::default();
    let file = sources.add("script", script);
    let mut diags = Diagnostics::default();
    let options = Options { cpus: 2, own_pid: 1, ..Options::default() };
    let ast = strix_syntax::parse(file, script, &mut diags);
    let hir = resolve::resolve(&ast, facts, &options, &mut diags);
    let typed = check::check(hir, facts, &options, &mut diags);
    if let Some(typed) = &typed {
        limits::check(typed, facts, &options, &mut diags);
    }
    let mut out = describe(&sources, &diags);
    if let Some(typed) = typed.filter(|_| !diags.has_errors()) {
        out.push_str(&types(&typed));
    }
    out
}

fn describe(sources: &SourceMap, diags: &Diagnostics) -> String {
    let at = |span: strix_model::Span| {
        let place = sources.file(span.file).line_col(span.lo);
        format!("{}:{} `{}`", place.line, place.col, sources.snippet(span))
    };
    let mut out = String::new();
    for d in diags.sorted() {
        let severity = if d.severity == Severity::Error { "error" } else { "warning" };
        let _ = writeln!(out, "{severity}: {} at {}", d.message, at(d.primary.span));
        for label in &d.secondary {
            let _ = writeln!(out, "  label: {} at {}", label.text, at(label.span));
        }
        for help in &d.help {
            let _ = writeln!(out, "  help: {help}");
        }
    }
    out
}

fn types(typed: &Typed) -> String {
    let name = |ty| type_name(&typed.hir.types, ty);
    let mut out = String::new();
    for (def, ty) in typed.hir.maps.iter().zip(&typed.maps) {
        let _ = match &ty.key {
            strix_script::types::Type::Void => writeln!(out, "{}: {}", def.name, name(&ty.value)),
            key => writeln!(out, "{}[{}]: {}", def.name, name(key), name(&ty.value)),
        };
    }
    for (instance, vars) in typed.hir.instances.iter().zip(&typed.vars) {
        for (n, ty) in vars.iter().enumerate() {
            let line = format!("{}: {}\n", instance.vars[n].name, name(ty));
            if !out.contains(&line) {
                out.push_str(&line);
            }
        }
    }
    if out.is_empty() { "ok\n".to_owned() } else { out }
}

fn run_stage(stage: &str, run: fn(&str, &KernelFacts) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(stage);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("the folder is there").map(|e| e.expect("readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "t"));
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", folder.display());
    let wrong: Vec<String> = files.iter().filter_map(|file| run_file(file, run)).collect();
    assert!(wrong.is_empty(), "{}\nBLESS=1 accepts what comes", wrong.join("\n"));
}

/// Runs the cases of a file; what is wrong.
fn run_file(file: &Path, run: fn(&str, &KernelFacts) -> String) -> Option<String> {
    let text = fs::read_to_string(file).expect("a test file is text");
    let head: String = text.lines().take_while(|l| l.starts_with("# ")).map(|l| format!("{l}\n")).collect();
    let name = head.lines().find_map(|l| l.strip_prefix("# facts ")).unwrap_or(DEFAULT_FACTS);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/facts").join(name);
    let facts = KernelFacts::at(&root);
    let mut wrong = String::new();
    let mut written = Vec::new();
    for case in text[head.len()..].split("\n====\n") {
        let (script, expected) = case.split_once("\n----\n").unwrap_or((case, ""));
        let script = script.trim();
        let found = run(script, &facts);
        if found.trim() != expected.trim() {
            let _ = writeln!(
                wrong,
                "{}: {script}\n--- expected\n{}\n--- found\n{found}",
                file.display(),
                expected.trim()
            );
        }
        written.push(format!("\n{script}\n----\n{}\n", found.trim()));
    }
    if env::var_os("BLESS").is_some() {
        fs::write(file, format!("{head}{}", written.join("\n===="))).expect("test files can be written");
        return None;
    }
    (!wrong.is_empty()).then_some(wrong)
}
