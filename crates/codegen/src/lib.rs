//! From the intermediate representation to eBPF bytecode.
//!
//! The front end builds an [`ir::Module`] for each program; this crate verifies it, optimises it, gives every virtual register a
//! machine register or a stack slot, lays out memory, and emits instructions with line information. It knows nothing
//! of the trace language, of maps' meaning or of the running kernel.

mod bitset;
mod bpf;
mod error;
pub mod helper;
pub mod ir;
pub mod opt;

use strix_model::{FunctionInfo, Insn, LineInfo, MapIdx, MapRef};

pub use bpf::disasm;
pub use error::{CodegenError, ErrorKind};

/// What the back end must know besides the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The per-CPU array of one entry that gives local memory which does not fit the stack. It is needed only if
    /// [`Compiled::scratch_size`] is not 0, and belongs to this program alone.
    pub scratch: MapIdx,
    /// Whether the kernel has atomics that give the old value (v5.12).
    pub atomics_fetch: bool,
    /// Whether another task may run the program on the same CPU while it is under way (uprobes since v6.0). Needs
    /// `atomics_fetch`; older kernels do not preempt programs.
    pub preemptible: bool,
    /// Per-CPU array of one entry, and the byte in its value of a `u64` that counts runs given up because all scratch
    /// memory was in use.
    pub scratch_busy: Option<(MapIdx, u32)>,
    /// Instructions the kernel takes: a million, or 4096 without `CAP_BPF`.
    pub max_insns: u32,
}

impl Options {
    /// For programs that nothing can interrupt, with all capabilities.
    #[must_use]
    pub fn new(scratch: MapIdx) -> Self {
        Self { scratch, atomics_fetch: true, preemptible: false, scratch_busy: None, max_insns: 1_000_000 }
    }
}

/// A program's code and what the loader must know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Code.
    pub insns: Vec<Insn>,
    /// Map references to fill in.
    pub map_refs: Vec<MapRef>,
    /// Functions, entry first.
    pub functions: Vec<FunctionInfo>,
    /// Ascending by instruction; every function has one at its first.
    pub line_info: Vec<LineInfo>,
    /// Bytes of the scratch map's value; 0 when there is no need of it.
    pub scratch_size: u32,
    /// Bytes of stack, callbacks included.
    pub stack_used: u32,
}

/// Compiles a module; `name` is what the kernel will call its entry function.
///
/// # Errors
/// When the program does not fit the machine, or, which is a mistake of the front end, is not well formed.
pub fn compile(mut module: ir::Module, name: &str, options: &Options) -> Result<Compiled, CodegenError> {
    check_size(&module)?;
    ir::verify::module(&module)?;
    module.functions[0].name = name.to_owned();
    optimise(&mut module);
    check_size(&module)?;
    bpf::compile(module, options)
}

/// Refuses what would take more than about a second: the passes keep a set of registers for each block.
fn check_size(module: &ir::Module) -> Result<(), CodegenError> {
    const MAX_SETS: usize = 1 << 28;
    for function in &module.functions {
        let members = function.slots.len().max(function.vregs as usize);
        if function.blocks.len().saturating_mul(members) > MAX_SETS {
            return Err(CodegenError { span: function.blocks[0].term_span, kind: ErrorKind::TooMuchCode });
        }
    }
    Ok(())
}

/// The passes that [`compile`] runs before it thinks of the machine, for looking at their result.
pub fn optimise(module: &mut ir::Module) {
    opt::module(module);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_too_long_is_refused() {
        let mut module = ir::parse::module("function f(v0) {\nb0:\n  return 0\n}").unwrap();
        assert!(compile(module.clone(), "f", &Options::new(MapIdx(0))).is_ok());
        module.functions[0].vregs = u32::MAX;
        let error = compile(module, "f", &Options::new(MapIdx(0))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooMuchCode);
    }
}
