//! The list of stages, in order. What each does is in its own module.

use strix_codegen::CodegenError;
use strix_facts::KernelFacts;
use strix_model::{
    Attachment, COUNTERS, Counter, Diagnostic, Diagnostics, FileId, MapIdx, MapKind, MapRole, MapSpec, Plan,
    ProbeInfo, Program, SourceMap, Span,
};
use strix_syntax::ast;

use crate::hir::{Hir, Instance, Typed};
use crate::lower::{Lowered, LoweredProgram};
use crate::{Options, check, limits, lower, resolve};

/// Compiles a script to a plan. `None` exactly when `diags` has errors.
pub fn compile(
    sources: &SourceMap,
    file: FileId,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<Plan> {
    let typed = front(sources, file, facts, options, diags)?;
    let lowered = lower::lower(&typed, facts, options);
    back(sources, &typed, lowered, facts, options, diags)
}

/// Text → typed tree.
pub fn front(
    sources: &SourceMap,
    file: FileId,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<Typed> {
    let script = parse(sources, file, diags);
    let typed = typed(&script, facts, options, diags)?;
    let Some(options) = shorter_strings(&script, &typed, facts, options) else { return Some(typed) };
    let what = "strings are cut after 199 bytes: this kernel takes map keys of at most 512 bytes";
    let span = typed.hir.maps.first().map_or(Span::default(), |map| map.span);
    diags.push(Diagnostic::warning(span, what).with_help("set max_strlen to choose the length yourself"));
    self::typed(&script, facts, &options, diags)
}

/// Tree → typed tree within the limits.
fn typed(
    script: &ast::Script,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<Typed> {
    // What is wrong with names and what is wrong with types is told in one go.
    let hir = resolve::resolve(script, facts, options, diags);
    let typed = check::check(hir, facts, options, diags)?;
    limits::check(&typed, facts, options, diags);
    (!diags.has_errors()).then_some(typed)
}

/// Most bytes of a map's key on kernels before v5.17 or so (`MAX_BPF_STACK`); `bpf_loop`, which came then, tells them apart.
const OLD_KEY_LIMIT: u32 = 512;
/// A capacity that lets two strings be in a key there.
const OLD_STRLEN: &str = "200";

/// Options with shorter strings, if a key is too long for this kernel and nobody has said how long strings shall be.
fn shorter_strings(
    script: &ast::Script,
    typed: &Typed,
    facts: &KernelFacts,
    options: &Options,
) -> Option<Options> {
    let too_long = typed.maps.iter().any(|map| typed.hir.types.size_of(&map.key) > OLD_KEY_LIMIT);
    let chosen = options.config.iter().any(|(key, _)| key == "max_strlen")
        || script.config.iter().any(|entry| entry.key.text == "max_strlen");
    if !too_long || chosen || facts.features().bpf_loop {
        return None;
    }
    let mut options = options.clone();
    options.config.push(("max_strlen".into(), OLD_STRLEN.into()));
    Some(options)
}

/// Text → tree.
pub fn parse(sources: &SourceMap, file: FileId, diags: &mut Diagnostics) -> ast::Script {
    strix_syntax::parse(file, &sources.file(file).text, diags)
}

/// Tree → resolved tree; `None` when something in the text or its names is wrong.
pub fn resolve(
    script: &ast::Script,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<Hir> {
    let hir = resolve::resolve(script, facts, options, diags);
    (!diags.has_errors()).then_some(hir)
}

/// Intermediate code → bytecode, and the plan around it.
fn back(
    sources: &SourceMap,
    typed: &Typed,
    lowered: Lowered,
    facts: &KernelFacts,
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<Plan> {
    let mut maps = lowered.parts.maps;
    let mut programs = Vec::with_capacity(lowered.programs.len());
    for program in lowered.programs {
        match generate(typed, program, &mut maps, facts) {
            Ok(program) => programs.push(program),
            Err(error) => diags.push(Diagnostic::error(error.span, error.to_string())),
        }
    }
    if diags.has_errors() {
        return None;
    }
    Some(Plan {
        sources: sources.clone(),
        config: typed.hir.config.clone(),
        probes: probe_infos(&typed.hir),
        probe_names: typed.hir.probe_names.clone(),
        maps,
        user_maps: lowered.parts.user_maps,
        programs,
        events: lowered.parts.events,
        enums: lowered.parts.enums,
        counts_runs: options.count_runs,
    })
}

fn probe_infos(hir: &Hir) -> Vec<ProbeInfo> {
    hir.probes
        .iter()
        .map(|p| ProbeInfo { name: p.name.clone(), span: p.span, attach_points: p.attach_points })
        .collect()
}

/// Code generation of one program; adds its scratch map, if it needs one.
fn generate(
    typed: &Typed,
    lowered: LoweredProgram,
    maps: &mut Vec<(MapSpec, MapRole)>,
    facts: &KernelFacts,
) -> Result<Program, CodegenError> {
    let instance = &typed.hir.instances[lowered.instance];
    let name = program_name(typed, instance);
    let scratch = MapIdx(maps.len() as u32);
    let counters = maps.iter().position(|(_, role)| *role == MapRole::Counters);
    let options = strix_codegen::Options {
        // Asked only where it matters: the answer needs the kernel's type information.
        atomics_fetch: lowered.preemptible && facts.features().atomics_fetch,
        preemptible: lowered.preemptible,
        scratch_busy: counters
            .map(|at| (MapIdx(at as u32), (instance.probe * COUNTERS + Counter::ScratchBusy as u32) * 8)),
        ..strix_codegen::Options::new(scratch)
    };
    let compiled = strix_codegen::compile(lowered.module, &name, &options)?;
    if compiled.scratch_size > 0 {
        maps.push((scratch_map(compiled.scratch_size), MapRole::Scratch));
    }
    Ok(Program {
        name,
        kind: instance.kind.clone(),
        insns: compiled.insns,
        map_refs: compiled.map_refs,
        functions: compiled.functions,
        line_info: compiled.line_info,
        probe: instance.probe,
        attachments: attachments(instance),
    })
}

fn scratch_map(size: u32) -> MapSpec {
    MapSpec {
        name: "strix_scratch".into(),
        kind: MapKind::PercpuArray,
        key_size: 4,
        value_size: size,
        max_entries: 1,
        no_prealloc: false,
        mmapable: false,
        init: Vec::new(),
        read_only: false,
    }
}

/// Sites that the kernel sees as one place are attached once.
fn attachments(instance: &Instance) -> Vec<Attachment> {
    let mut list: Vec<Attachment> = Vec::with_capacity(instance.sites.len());
    for site in &instance.sites {
        if site.syscall.is_some() && list.iter().any(|a| a.point == site.point) {
            continue;
        }
        list.push(Attachment { point: site.point.clone(), cookie: u64::from(site.name) });
    }
    list
}

/// At most 15 bytes that the kernel takes, from the last part of the attach point.
fn program_name(typed: &Typed, instance: &Instance) -> String {
    let full = instance.sites.first().map_or("", |site| &typed.hir.probe_names[site.name as usize]);
    let last = full.rsplit(':').next().unwrap_or(full);
    let mut name: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(15).collect();
    if name.is_empty() {
        name.push_str("probe");
    }
    name
}
