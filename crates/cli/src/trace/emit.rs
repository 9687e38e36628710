//! `--emit STAGE`: what the compiler has after a stage.

use std::fmt::Write as _;

use strix_facts::KernelFacts;
use strix_model::Diagnostics;
use strix_script::check::type_name;
use strix_script::hir::Typed;
use strix_script::types::Type;
use strix_script::{Options, lower, pipeline};

use super::source::Source;

/// The text of a stage; `None` when there were errors before it.
pub fn emit(
    stage: &str,
    source: &Source,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<String> {
    match stage {
        "tokens" => Some(tokens(source)),
        "ast" => {
            let script = pipeline::parse(&source.sources, source.file, diags);
            Some(strix_syntax::dump(&script))
        }
        "hir" => {
            let script = pipeline::parse(&source.sources, source.file, diags);
            let hir = pipeline::resolve(&script, facts, options, diags)?;
            Some(format!("{:#?}\n", hir.instances))
        }
        "types" => {
            let typed = pipeline::front(&source.sources, source.file, facts, options, diags)?;
            Some(types(&typed))
        }
        "ir" => {
            let typed = pipeline::front(&source.sources, source.file, facts, options, diags)?;
            let mut text = String::new();
            for mut program in lower::lower(&typed, facts, options).programs {
                strix_codegen::optimise(&mut program.module);
                text.push_str(&strix_codegen::ir::print::module(&program.module));
            }
            Some(text)
        }
        _ => {
            let plan = pipeline::compile(&source.sources, source.file, facts, options, diags)?;
            let mut text = String::new();
            for program in &plan.programs {
                let _ = writeln!(
                    text,
                    "{}: {:?}, {} instructions",
                    program.name,
                    program.kind,
                    program.insns.len()
                );
                text.push_str(&strix_codegen::disasm::code(
                    &program.insns,
                    &program.functions,
                    &program.map_refs,
                ));
            }
            Some(text)
        }
    }
}

fn tokens(source: &Source) -> String {
    let file = source.sources.file(source.file);
    let mut text = String::new();
    for token in strix_syntax::lex::lex(source.file, &file.text) {
        let at = file.line_col(token.span.lo);
        let _ = writeln!(text, "{}:{} {:?}", at.line, at.col, token.kind);
    }
    text
}

/// Types of maps and variables.
fn types(typed: &Typed) -> String {
    let name = |ty| type_name(&typed.hir.types, ty);
    let mut text = String::new();
    for (map, ty) in typed.hir.maps.iter().zip(&typed.maps) {
        let _ = match ty.key {
            Type::Void => writeln!(text, "{}: {}", map.name, name(&ty.value)),
            _ => writeln!(text, "{}[{}]: {}", map.name, name(&ty.key), name(&ty.value)),
        };
    }
    for (instance, vars) in typed.hir.instances.iter().zip(&typed.vars) {
        let probe = &typed.hir.probes[instance.probe as usize];
        let _ = writeln!(text, "{}: {:?}", probe.name, instance.kind);
        for (var, ty) in instance.vars.iter().zip(vars) {
            let _ = writeln!(text, "    {}: {}", var.name, name(ty));
        }
    }
    text
}
