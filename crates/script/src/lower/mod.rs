//! Typed tree → intermediate representation, and the parts of the plan that the code refers to: maps, record schemas, constants.
//!
//! Runs only on scripts that passed the check, so nothing here reports to the user. What the code will cost is decided here: a helper is
//! called once per event, a map value found once is used again, records are built in the ring, and whatever is unlikely goes out of line.

mod aggregate;
mod arch;
mod calls;
mod context;
mod counters;
mod events;
mod expr;
mod function;
mod lookup;
mod loops;
mod maps;
mod memory;
mod plan;
mod shape;
mod stack;
mod stmt;
mod strings;
mod value;
mod variables;

use strix_codegen::ir;
use strix_facts::KernelFacts;
use strix_model::ProgramKind;

use crate::Options;
use crate::hir::{Context, Typed};

pub(crate) use arch::register_offset;
pub(crate) use lookup::{probed_file, signal_number, user_symbol};
pub use plan::PlanParts;

/// A program before code generation.
#[derive(Clone, Debug)]
pub struct LoweredProgram {
    /// Index into [`crate::hir::Hir::instances`].
    pub instance: usize,
    /// Its code.
    pub module: ir::Module,
    /// Another task may run the same program on the same CPU before it is done (uprobes since v6.0).
    pub preemptible: bool,
}

/// Everything that lowering makes.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Programs, in declaration order.
    pub programs: Vec<LoweredProgram>,
    /// Maps, schemas and constants.
    pub parts: PlanParts,
}

/// Lowers every instance of a checked script.
#[must_use]
pub fn lower(typed: &Typed, facts: &KernelFacts, options: &Options) -> Lowered {
    let mut parts = plan::PlanBuilder::new(typed, facts, options.cpus);
    let mut programs = Vec::with_capacity(typed.hir.instances.len());
    for (index, instance) in typed.hir.instances.iter().enumerate() {
        let preemptible = is_preemptible(&instance.context, &instance.kind);
        let module = function::lower_instance(typed, facts, options, &mut parts, index, preemptible);
        programs.push(LoweredProgram { instance: index, module, preemptible });
    }
    Lowered { programs, parts: parts.finish() }
}

/// Kprobes, tracepoints and perf events run with preemption off. Uprobe programs run under `migrate_disable` only (since v6.0).
fn is_preemptible(context: &Context, kind: &ProgramKind) -> bool {
    matches!(context, Context::Uprobe | Context::Uretprobe)
        || matches!(kind, ProgramKind::Uprobe | ProgramKind::Uretprobe | ProgramKind::UprobeMulti { .. })
}
