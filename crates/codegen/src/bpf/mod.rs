//! The back end: from optimised IR to instructions.
//!
//! `legalize` → `layout` (who leaves the stack) → `scratch` → `sink` → `select` → `regalloc` → `emit`. The stages run again with less stack for
//! slots when spilled registers need some of it.

pub mod disasm;
mod emit;
mod isa;
mod layout;
mod legalize;
mod live;
#[cfg(test)]
mod machine;
mod mir;
mod order;
mod regalloc;
mod scratch;
mod select;
mod sink;
mod spill;
#[cfg(test)]
mod tests;

use strix_model::Span;

use self::emit::{Emitter, Frame};
use self::layout::Lifetimes;
use self::mir::MFunction;
use crate::ir::{Function, Module, Op, SlotId, verify};
use crate::{CodegenError, Compiled, ErrorKind, Options, opt};

/// Bytes of stack that a program and its callbacks have together.
const STACK: u32 = 512;

/// What callbacks may take of the stack, tried in turn until the entry function has enough.
const CALLBACK_STACK: [u32; 3] = [256, 128, 64];

/// Compiles an optimised module.
pub(crate) fn compile(mut module: Module, options: &Options) -> Result<Compiled, CodegenError> {
    for function in &mut module.functions {
        opt::step(function, legalize::run);
        opt::tidy(function);
    }
    let mut last = None;
    let tries = if module.functions.len() == 1 { 1 } else { CALLBACK_STACK.len() };
    for &callback in &CALLBACK_STACK[..tries] {
        match with_limits(&module, options, callback) {
            Err(error @ CodegenError { kind: ErrorKind::StackExhausted { .. }, .. }) => last = Some(error),
            done => return done,
        }
    }
    Err(last.unwrap_or(CodegenError { span: Span::default(), kind: ErrorKind::RegisterAllocation }))
}

/// A function of which only the instructions are missing.
struct Placed {
    machine: MFunction,
    frame: Frame,
    stack: u32,
}

fn with_limits(module: &Module, options: &Options, callback: u32) -> Result<Compiled, CodegenError> {
    let mut limits = vec![callback; module.functions.len()];
    let mut plans = Vec::new();
    // What callbacks need is settled first: the entry has the rest.
    for (index, function) in module.functions.iter().enumerate().skip(1) {
        plans.push(plan(function, limits[index], options)?);
    }
    let below = module.functions.iter().enumerate().skip(1).map(|(index, _)| plans[index - 1].1.stack);
    let below: Vec<u32> = std::iter::once(0).chain(below).collect();
    limits[0] = STACK.saturating_sub(chain(module, &below, 0, 0));
    plans.insert(0, plan(&module.functions[0], limits[0], options)?);
    let areas: Vec<scratch::Area> =
        module.functions.iter().zip(&plans).map(|(f, (moved, _))| scratch::area(f, moved)).collect();
    let users: Vec<usize> = (0..areas.len()).filter(|&index| areas[index].size > 0).collect();
    let sizes: Vec<u32> = users.iter().map(|&index| areas[index].size).collect();
    let preemptible = options.preemptible && options.atomics_fetch;
    let span = module.functions[0].blocks[0].term_span;
    let (value, starts, scratch_size) =
        scratch::Value::new(options.scratch, options.scratch_busy, preemptible, &sizes, span)?;
    let mut emitter = Emitter::default();
    let mut stacks = Vec::new();
    for (index, (function, (_, planned))) in module.functions.iter().zip(plans).enumerate() {
        let placed = match users.iter().position(|&user| user == index) {
            Some(user) => {
                let mut function = function.clone();
                scratch::run(&mut function, &areas[index], value, user as u32, starts[user], preemptible);
                opt::tidy(&mut function);
                place(&function)?
            }
            None => planned,
        };
        if placed.stack > limits[index] {
            let kind = ErrorKind::StackExhausted { needed: placed.stack, limit: limits[index] };
            return Err(CodegenError { span, kind });
        }
        stacks.push(placed.stack);
        emitter.function(&function.name, function.params.len(), &placed.machine, placed.frame)?;
    }
    emitter.finish();
    let count = emitter.insns.len() as u32;
    if count > options.max_insns {
        return Err(CodegenError {
            span,
            kind: ErrorKind::ProgramTooLarge { insns: count, limit: options.max_insns },
        });
    }
    let stack_used = stacks[0] + chain(module, &stacks, 0, 0);
    Ok(Compiled {
        insns: emitter.insns,
        map_refs: emitter.map_refs,
        functions: emitter.functions,
        line_info: emitter.line_info,
        scratch_size,
        stack_used,
    })
}

/// Bytes of stack that the callbacks of a function need at most; each frame counts in steps of 32 bytes.
fn chain(module: &Module, stacks: &[u32], of: usize, depth: usize) -> u32 {
    let insts = module.functions[of].blocks.iter().flat_map(|block| &block.insts);
    let callees = insts.filter_map(|inst| match inst.op {
        Op::FuncPtr { func, .. } => Some(func.0 as usize),
        _ => None,
    });
    // The kernel allows eight frames; a deeper chain, or recursion, it refuses by itself.
    let callees = callees.filter(|_| depth < 8);
    callees
        .map(|callee| stacks[callee].max(1).next_multiple_of(32) + chain(module, stacks, callee, depth + 1))
        .max()
        .unwrap_or(0)
}

/// Finds which slots have to leave the stack so that slots and spilled registers fit into `limit` bytes, and
/// what the function is then like.
fn plan(function: &Function, limit: u32, options: &Options) -> Result<(Vec<SlotId>, Placed), CodegenError> {
    let preemptible = options.preemptible && options.atomics_fetch;
    let mut reserved = 0;
    loop {
        let moved = layout::choose(function, limit.saturating_sub(reserved))?;
        let placed = if moved.is_empty() {
            place(function)?
        } else {
            // Only the shape matters here: the real offsets come when all areas are known.
            let area = scratch::area(function, &moved);
            let mut trial = function.clone();
            let levels = if preemptible { 4 } else { 1 };
            let value = scratch::Value { map: options.scratch, busy: options.scratch_busy, levels };
            scratch::run(&mut trial, &area, value, 0, 64, preemptible);
            opt::tidy(&mut trial);
            place(&trial)?
        };
        if placed.stack <= limit || reserved >= limit {
            return Ok((moved, placed));
        }
        reserved += (placed.stack - limit).next_multiple_of(8);
    }
}

/// Registers and stack memory of a function.
fn place(function: &Function) -> Result<Placed, CodegenError> {
    let mut sunk = function.clone();
    let apart = sink::context(&mut sunk);
    debug_assert_eq!(verify::function(&sunk, usize::MAX), Ok(()));
    let function = &sunk;
    let mut machine = select::select(function, &apart);
    let internal = |_| CodegenError { span: Span::default(), kind: ErrorKind::RegisterAllocation };
    regalloc::allocate(&mut machine).map_err(internal)?;
    let all: Vec<SlotId> = (0..function.slots.len() as u32).map(SlotId).collect();
    let placement = Lifetimes::new(function).place(function, &all);
    let stack = placement.size + machine.spills * 8;
    let offset = |end: u32| i16::try_from(-i64::from(end)).ok();
    let slots = placement.ends.iter().map(|end| end.and_then(offset)).collect();
    let spills = offset(placement.size + 8).unwrap_or(0);
    Ok(Placed { machine, frame: Frame { slots, spills }, stack })
}
