//! Syntax tree → resolved tree: names become ids, attach points concrete places, parameters literals, and every
//! probe's body stands once for each context that it runs in.
//!
//! No types are computed here but those that are written down; that is `check`'s work.

mod args;
mod attach;
mod body;
pub(crate) mod btf_types;
mod cdecl;
mod config;
mod constants;
mod expr;
mod getopt;
mod instances;
mod list;
mod macros;
mod names;
mod number;
mod place;
mod scope;
mod sugar;
mod syscalls;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod usage;
mod words;

use strix_facts::{KernelFacts, nearest};
use strix_model::{ConfigValues, Diagnostic, Diagnostics, MapKind, ProgramKind, Span};
use strix_syntax::ast;

pub use list::{ListError, Listed, list, list_probes};

use crate::Options;
use crate::hir::{Hir, Instance, MapDef, ProbeDef, Site};
use crate::types::Types;
use attach::{Expander, Provider};
use body::{Body, MAX_NODES, Shared};
use instances::{Group, Grouper};
use place::Surroundings;
use usage::Usage;

/// Kinds of map by name.
const MAP_KINDS: &[(&str, MapKind)] = &[
    ("hash", MapKind::Hash),
    ("lruhash", MapKind::LruHash),
    ("percpuhash", MapKind::PercpuHash),
    ("percpulruhash", MapKind::LruPercpuHash),
];

/// Resolves a script. The tree is complete only if `diags` has no errors afterwards.
pub fn resolve(script: &ast::Script, facts: &KernelFacts, options: &Options, diags: &mut Diagnostics) -> Hir {
    let script = &*macros::expand(script, diags);
    let config = config::resolve(&script.config, &options.config, diags);
    let mut types = Types::default();
    let names = cdecl::declare(&script.c_items, facts, config.max_strlen, &mut types, diags);
    let assigned = usage::assigned_maps(&script.probes);
    let mut shared = Shared {
        names,
        options,
        assigned,
        types,
        maps: Vec::new(),
        expr_count: 0,
        getopts: getopt::Known::new(),
    };
    declare_maps(script, &mut shared, diags);
    let mut hir = Hir { config, ..Hir::default() };
    let mut points = 0usize;
    for probe in &script.probes {
        points += self::probe(probe, &mut shared, &mut hir, diags);
    }
    // A probe that is left out may have asked for more.
    if hir.probes.iter().all(|p| p.attach_points > 0) {
        getopt::check_unknown(options, &shared.getopts, diags);
    }
    check_count(points, &hir.config, script, diags);
    if let (Some(first), true) = (script.probes.first(), points == 0 && !diags.has_errors()) {
        diags.push(Diagnostic::error(first.span, "nothing to attach to: no probe of the script has a match"));
    }
    hir.maps = shared.maps;
    hir.types = shared.types;
    hir.expr_count = shared.expr_count;
    hir
}

/// Resolves a probe; how many attach points it has.
fn probe(probe: &ast::Probe, shared: &mut Shared<'_>, hir: &mut Hir, diags: &mut Diagnostics) -> usize {
    let config = &hir.config;
    let mut expander =
        Expander::new(shared.names.facts, shared.options, config.missing_probes, config.demangle);
    let found = expander.expand(probe, diags);
    let count = found.len();
    // Far more than may be attached: not worth compiling, and `check_count` says so.
    let found = if count > config.max_probes as usize { found.into_iter().take(1).collect() } else { found };
    let usage = Usage::of(probe, &shared.names.script.defines);
    let span = probe.attach_points.first().map_or(probe.span, |first| {
        probe.attach_points.last().map_or(first.span, |last| first.span.to(last.span))
    });
    let groups = Grouper {
        names: &shared.names,
        options: shared.options,
        types: &mut shared.types,
        usage: &usage,
        diags,
        span,
    }
    .group(found);
    let texts: Vec<&str> = probe.attach_points.iter().map(|a| a.text.as_str()).collect();
    let index = hir.probes.len() as u32;
    hir.probes.push(ProbeDef { name: texts.join(","), span, attach_points: count as u32 });
    for group in groups {
        if shared.expr_count > MAX_NODES {
            let message =
                format!("the script's probes come to more than {MAX_NODES} expressions, one copy a context");
            diags.push(
                Diagnostic::error(span, message)
                    .with_help("use narrower wildcards, or fields that all matches share"),
            );
            break;
        }
        instance(probe, index, group, shared, hir, diags);
    }
    count
}

fn instance(
    probe: &ast::Probe,
    index: u32,
    group: Group,
    shared: &mut Shared<'_>,
    hir: &mut Hir,
    diags: &mut Diagnostics,
) {
    let Group { context, kind, sites, params, modules } = group;
    let Some(provider) = sites.first().map(|(c, _)| c.provider) else { return };
    let pid_filter = shared.options.pid.filter(|_| needs_pid_filter(provider, &kind));
    let place = Surroundings { context: &context, provider: provider.name(), params, modules: &modules };
    let resolved = Body::resolve(shared, place, probe, diags);
    let sites = sites
        .into_iter()
        .map(|(concrete, syscall)| {
            hir.probe_names.push(concrete.name);
            Site { point: concrete.point, name: hir.probe_names.len() as u32 - 1, syscall }
        })
        .collect();
    hir.instances.push(Instance {
        probe: index,
        context,
        kind,
        sites,
        pid_filter,
        predicate: resolved.predicate,
        body: resolved.body,
        vars: resolved.vars,
    });
}

/// Whether `-p` has to be checked by the program: user-space probes are attached to the process itself, and timers that
/// print for the script belong to no process.
fn needs_pid_filter(provider: Provider, kind: &ProgramKind) -> bool {
    !matches!(
        provider,
        Provider::Begin | Provider::End | Provider::Interval | Provider::Uprobe | Provider::Uretprobe
    ) && *kind != ProgramKind::TestRun
}

/// `let @name = kind(entries);`
fn declare_maps(script: &ast::Script, shared: &mut Shared<'_>, diags: &mut Diagnostics) {
    for decl in &script.map_decls {
        let name = format!("@{}", decl.map.text);
        let kind = MAP_KINDS.iter().find(|(n, _)| *n == decl.kind.text).map(|(_, kind)| *kind);
        if kind.is_none() {
            let error =
                Diagnostic::error(decl.kind.span, format!("invalid bpf map type: {}", decl.kind.text));
            diags.push(match nearest(&decl.kind.text, MAP_KINDS.iter().map(|(n, _)| *n)) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help("valid map types: hash, lruhash, percpuhash, percpulruhash"),
            });
        }
        let entries = match decl.entries.kind {
            ast::ExprKind::Int { value, .. } => Some(value),
            ast::ExprKind::Positional(n) => {
                let param = (n as usize).checked_sub(1).and_then(|i| shared.options.params.get(i));
                param.and_then(|text| number::unsigned(text).ok())
            }
            _ => None,
        };
        let entries = entries.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        if entries.is_none() {
            let message = format!("max entries of {name} must be a positive number");
            diags.push(Diagnostic::error(decl.entries.span, message));
        }
        if let Some(first) = shared.maps.iter().find(|m| m.name == name) {
            let message = format!("{name} is declared twice");
            diags.push(Diagnostic::error(decl.map.span, message).with_label(first.span, "first here"));
            continue;
        }
        if !shared.assigned.contains(&decl.map.text) {
            let message = format!("unused map: {name}");
            diags.push(Diagnostic::warning(decl.map.span, message));
            // Nothing is ever in it, so it has no type to be created by.
            continue;
        }
        shared.maps.push(MapDef { name, span: decl.map.span, declared: kind.zip(entries) });
    }
}

fn check_count(points: usize, config: &ConfigValues, script: &ast::Script, diags: &mut Diagnostics) {
    if points <= config.max_probes as usize {
        return;
    }
    let span =
        script.probes.first().map_or(Span::default(), |p| p.attach_points.first().map_or(p.span, |a| a.span));
    let message = format!(
        "can't attach to {points} probes because it exceeds the current limit of {} probes",
        config.max_probes
    );
    let help = "the environment variable BPFTRACE_MAX_PROBES or the config variable max_probes raises it; \
                many probes slow the system down";
    diags.push(Diagnostic::error(span, message).with_help(help));
}
