//! Checks that a module is well formed: a failure is a mistake of a compiler stage, never of the user.
//!
//! It says nothing about what the kernel will think of the program.

use strix_model::Span;
use thiserror::Error;

use super::flow::{self, Flow};
use super::{BlockId, Function, Module, Op, Operand, Size, Vreg, print};
use crate::bitset::{BitSet, Shared};

/// What is wrong with a module, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{function}: {block}: {what}")]
pub struct VerifyError {
    /// Function by name.
    pub function: String,
    /// Block.
    pub block: BlockId,
    /// What, with the text of the operation.
    pub what: String,
    /// Where the operation comes from.
    pub span: Span,
}

/// Checks a module.
///
/// # Errors
/// The first thing that is not well formed.
pub fn module(module: &Module) -> Result<(), VerifyError> {
    for (index, body) in module.functions.iter().enumerate() {
        if index == 0 && body.params.len() > 1 {
            return Err(Checker::new(body, 0).error("the entry takes more than the context"));
        }
        function(body, module.functions.len())?;
    }
    match module.functions.is_empty() {
        true => Err(VerifyError {
            function: String::new(),
            block: BlockId(0),
            what: "no functions".into(),
            span: Span::default(),
        }),
        false => Ok(()),
    }
}

/// Checks a function of a module with this many.
pub(crate) fn function(function: &Function, functions: usize) -> Result<(), VerifyError> {
    Checker::new(function, functions).check()
}

struct Checker<'a> {
    functions: usize,
    function: &'a Function,
    block: BlockId,
    span: Span,
}

impl<'a> Checker<'a> {
    fn new(function: &'a Function, functions: usize) -> Self {
        Self { functions, function, block: BlockId(0), span: Span::default() }
    }

    fn error(&self, what: impl Into<String>) -> VerifyError {
        VerifyError {
            function: self.function.name.clone(),
            block: self.block,
            what: what.into(),
            span: self.span,
        }
    }

    fn ensure(&self, holds: bool, what: impl FnOnce() -> String) -> Result<(), VerifyError> {
        if holds { Ok(()) } else { Err(self.error(what())) }
    }

    fn check(&mut self) -> Result<(), VerifyError> {
        let function = self.function;
        self.ensure(!function.blocks.is_empty(), || "no blocks".into())?;
        self.ensure(function.params.len() <= 5, || "more than five parameters".into())?;
        for &param in &function.params {
            self.ensure(param.0 < function.vregs, || format!("parameter {param} is out of range"))?;
        }
        for (index, slot) in function.slots.iter().enumerate() {
            self.ensure(is_align(slot.align), || format!("slot s{index}: bad alignment"))?;
            self.ensure(slot.size > 0 && slot.size <= 1 << 24, || format!("slot s{index}: bad size"))?;
        }
        for (index, block) in function.blocks.iter().enumerate() {
            self.block = BlockId(index as u32);
            for inst in &block.insts {
                self.span = inst.span;
                let text = || print::op(&inst.op);
                self.op(&inst.op).map_err(|what| self.error(format!("{}: {what}", text())))?;
                inst.op.dst().into_iter().try_for_each(|reg| self.in_range(reg))?;
                let mut used = Ok(());
                inst.op.for_each_use(|reg| used = used.clone().and(self.in_range(reg)));
                used?;
            }
            self.span = block.term_span;
            let count = function.blocks.len();
            for target in block.term.successors() {
                self.ensure((target.0 as usize) < count, || format!("no block {target}"))?;
            }
            for reg in block.term.operands().into_iter().filter_map(Operand::reg) {
                self.in_range(reg)?;
            }
        }
        self.definitions()
    }

    fn in_range(&self, reg: Vreg) -> Result<(), VerifyError> {
        self.ensure(reg.0 < self.function.vregs, || format!("{reg} is out of range"))
    }

    fn op(&self, op: &Op) -> Result<(), &'static str> {
        let holds = |holds: bool, what: &'static str| if holds { Ok(()) } else { Err(what) };
        match op {
            Op::Bswap { size, .. } => holds(*size != Size::B1, "one byte has no order"),
            Op::Atomic { op, fetch, size, .. } => {
                holds(matches!(size, Size::B4 | Size::B8), "atomics have 4 or 8 bytes")?;
                holds(*op != super::AtomicOp::Xchg || fetch.is_some(), "xchg needs a result")
            }
            Op::CopyMem { align, .. } | Op::ZeroMem { align, .. } => holds(is_align(*align), "bad alignment"),
            Op::SlotAddr { slot, .. } => holds((slot.0 as usize) < self.function.slots.len(), "no such slot"),
            Op::FuncPtr { func, .. } => {
                holds(func.0 > 0 && (func.0 as usize) < self.functions, "no such callback")
            }
            Op::Call { args, .. } | Op::CallKfunc { args, .. } => {
                holds(args.len() <= 5, "more than five arguments")
            }
            _ => Ok(()),
        }
    }

    /// Every register is written on each path that leads to a read of it.
    fn definitions(&mut self) -> Result<(), VerifyError> {
        let function = self.function;
        let flow = Flow::new(function);
        let shared = flow::shared(function);
        let on_entry = defined_on_entry(function, &flow, &shared);
        let mut defined = BitSet::new(function.vregs as usize);
        for &block in &flow.rpo {
            let Some(known) = &on_entry[block.0 as usize] else { continue };
            self.block = block;
            defined.clear();
            shared.items(known).for_each(|reg| defined.insert(reg));
            if block == BlockId(0) {
                function.params.iter().for_each(|reg| defined.insert(reg.0 as usize));
            }
            let body = &function.blocks[block.0 as usize];
            for inst in &body.insts {
                self.span = inst.span;
                let mut missing = None;
                inst.op.for_each_use(|reg| {
                    if !defined.contains(reg.0 as usize) {
                        missing = Some(reg);
                    }
                });
                if let Some(reg) = missing {
                    return Err(self.error(format!("{}: {reg} may not be written yet", print::op(&inst.op))));
                }
                inst.op.dst().into_iter().for_each(|reg| defined.insert(reg.0 as usize));
            }
            self.span = body.term_span;
            for reg in body.term.operands().into_iter().filter_map(Operand::reg) {
                let text = || format!("{}: {reg} may not be written yet", print::terminator(&body.term));
                self.ensure(defined.contains(reg.0 as usize), text)?;
            }
        }
        Ok(())
    }
}

/// For each reachable block, which registers that several blocks share are written on all paths to it.
fn defined_on_entry(function: &Function, flow: &Flow, shared: &Shared) -> Vec<Option<BitSet>> {
    let number = |reg: Vreg| shared.number(reg.0 as usize);
    let mut writes = vec![shared.set(); function.blocks.len()];
    for (block, writes) in function.blocks.iter().zip(&mut writes) {
        let written = block.insts.iter().filter_map(|inst| inst.op.dst()).filter_map(number);
        written.for_each(|n| writes.insert(n));
    }
    let mut on_entry: Vec<Option<BitSet>> = vec![None; function.blocks.len()];
    let mut first = shared.set();
    function.params.iter().copied().filter_map(number).for_each(|n| first.insert(n));
    on_entry[0] = Some(first);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &flow.rpo {
            let Some(mut defined) = on_entry[block.0 as usize].clone() else { continue };
            defined.union(&writes[block.0 as usize]);
            for target in function.blocks[block.0 as usize].term.successors() {
                match &mut on_entry[target.0 as usize] {
                    Some(known) => changed |= known.intersect(&defined),
                    unknown => {
                        *unknown = Some(defined.clone());
                        changed = true;
                    }
                }
            }
        }
    }
    on_entry
}

fn is_align(align: u8) -> bool {
    matches!(align, 1 | 2 | 4 | 8)
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn verdict(text: &str) -> String {
        match super::module(&parse::module(text).unwrap()) {
            Ok(()) => "ok".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_register_must_be_written_on_every_path() {
        let text = "function f(v0) {\nb0:\n  branch eq v0, 0, b1, b2\nb1:\n  v1 = copy 1\n  jump b2\nb2:\n  return v1\n}";
        assert_eq!(verdict(text), "f: b2: return v1: v1 may not be written yet");
        assert_eq!(verdict(&text.replace("b0:", "b0:\n  v1 = copy 0")), "ok");
    }

    #[test]
    fn a_loop_keeps_what_was_written_before_it() {
        let text = "function f(v0) {\nb0:\n  v1 = copy 0\n  jump b1\nb1:\n  v1 = add v1, 1\n  branch ult v1, v0, b1, b2\nb2:\n  return v1\n}";
        assert_eq!(verdict(text), "ok");
    }

    #[test]
    fn bad_shapes_are_refused() {
        let one = |line: &str| verdict(&format!("function f(v0) {{\nb0:\n  {line}\n  return 0\n}}"));
        assert_eq!(one("v1 = slot s0"), "f: b0: v1 = slot s0: no such slot");
        assert_eq!(one("v1 = func f0"), "f: b0: v1 = func f0: no such callback");
        assert_eq!(one("atomic.xchg.u64 [v0], 1"), "f: b0: atomic.xchg.u64 [v0], 1: xchg needs a result");
        assert_eq!(one("call 1(1, 2, 3, 4, 5, 6)").split(": ").last(), Some("more than five arguments"));
        assert_eq!(verdict("function f() {\nb0:\n  jump b7\n}"), "f: b0: no block b7");
        assert_eq!(
            verdict("function f(v0, v1) {\nb0:\n  return 0\n}"),
            "f: b0: the entry takes more than the context"
        );
    }
}
