//! From allocated machine operations to instructions: jumps get distances, memory gets frame offsets, maps get references.

use strix_model::{FunctionInfo, Insn, LineInfo, MapRef, MapRefKind, Span};

use super::isa;
use super::mir::{Base, MFunction, MInst, MOp, Reg, Src, Wide};
use crate::ir::{Cond, FuncId, SlotId};
use crate::{CodegenError, ErrorKind};

/// Where a function's stack memory is, as offsets from r10.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// Of each slot; those that are not on the stack have none.
    pub(super) slots: Vec<Option<i16>>,
    /// Of the first spill place; the others follow downwards.
    pub(super) spills: i16,
}

/// Instructions of all functions, with what the loader needs beside them.
#[derive(Default)]
pub(super) struct Emitter {
    pub(super) insns: Vec<Insn>,
    pub(super) map_refs: Vec<MapRef>,
    pub(super) functions: Vec<FunctionInfo>,
    pub(super) line_info: Vec<LineInfo>,
    /// Wide loads of functions, to be filled in once all are placed.
    func_refs: Vec<(usize, FuncId)>,
    frame: Frame,
}

/// A jump to be filled in.
struct Fixup {
    insn: usize,
    to: usize,
    span: Span,
}

impl Emitter {
    pub(super) fn function(
        &mut self,
        name: &str,
        params: usize,
        function: &MFunction,
        frame: Frame,
    ) -> Result<(), CodegenError> {
        self.frame = frame;
        self.functions.push(FunctionInfo {
            insn: self.insns.len() as u32,
            name: name.into(),
            params: params as u8,
        });
        let mut starts = Vec::with_capacity(function.blocks.len());
        let mut fixups = Vec::new();
        let mut span = None;
        let first = self.insns.len();
        for (index, block) in function.blocks.iter().enumerate() {
            if let Some(same) = self.same_exit(function, index, first) {
                starts.push(same);
                continue;
            }
            starts.push(self.insns.len());
            for inst in &block.insts {
                // Every function must have a line at its first instruction.
                if span.is_none() || (inst.span != Span::default() && span != Some(inst.span)) {
                    let at = self.insns.len() as u32;
                    span = Some(inst.span);
                    if self.line_info.last().is_some_and(|last| last.insn == at) {
                        self.line_info.pop();
                    }
                    self.line_info.push(LineInfo { insn: at, span: inst.span });
                }
                self.inst(inst, index, function, &mut fixups);
            }
        }
        // A line that the last operations wrote no instruction for.
        if self.line_info.last().is_some_and(|last| last.insn as usize >= self.insns.len()) {
            self.line_info.pop();
        }
        for fixup in fixups {
            let distance = starts[fixup.to] as i64 - fixup.insn as i64 - 1;
            self.insns[fixup.insn].off = i16::try_from(distance)
                .map_err(|_| CodegenError { span: fixup.span, kind: ErrorKind::JumpTooFar })?;
        }
        Ok(())
    }

    /// Where a block that only returns a constant already stands as the end of another, if nothing falls into it.
    fn same_exit(&self, function: &MFunction, index: usize, first: usize) -> Option<usize> {
        const EXIT: u8 = isa::JMP | isa::EXIT;
        let [MInst { op: MOp::Mov { dst: Reg::R0, src: Src::Imm(imm) }, .. }, MInst { op: MOp::Exit, .. }] =
            &function.blocks[index].insts[..]
        else {
            return None;
        };
        // The block before goes on here without a jump.
        let falls = index > 0 && function.blocks[index - 1].successors().contains(&index);
        let set = Insn { code: isa::ALU64 | isa::MOV, regs: 0, off: 0, imm: *imm };
        let at = self.insns[first..].windows(2).rposition(|pair| pair[0] == set && pair[1].code == EXIT)?;
        (!falls).then_some(first + at)
    }

    /// Fills in what refers to functions, when all are there.
    pub(super) fn finish(&mut self) {
        for (insn, func) in std::mem::take(&mut self.func_refs) {
            let target = self.functions[func.0 as usize].insn as i64;
            self.insns[insn].imm = (target - insn as i64 - 1) as i32;
        }
    }

    fn put(&mut self, code: u8, dst: Reg, src: Reg, off: i16, imm: i32) {
        self.insns.push(Insn { code, regs: (dst.0 | src.0 << 4) as u8, off, imm });
    }

    fn put_src(&mut self, code: u8, dst: Reg, src: Src, off: i16) {
        match src {
            Src::Reg(reg) => self.put(code | isa::X, dst, reg, off, 0),
            Src::Imm(imm) => self.put(code | isa::K, dst, Reg::R0, off, imm),
        }
    }

    fn jump(&mut self, to: usize, span: Span, fixups: &mut Vec<Fixup>) {
        fixups.push(Fixup { insn: self.insns.len(), to, span });
        self.put(isa::JMP | isa::JA, Reg::R0, Reg::R0, 0, 0);
    }

    /// Goes on at a block that does not follow.
    fn go(&mut self, to: usize, inst: &MInst, function: &MFunction, fixups: &mut Vec<Fixup>) {
        // Leaving takes no more than two instructions, which are better here than a jump to them.
        match &function.blocks[to].insts[..] {
            [
                MInst { op: MOp::Mov { dst: Reg::R0, src: src @ Src::Imm(_) }, .. },
                MInst { op: MOp::Exit, .. },
            ] => {
                self.put_src(isa::ALU64 | isa::MOV, Reg::R0, *src, 0);
                self.put(isa::JMP | isa::EXIT, Reg::R0, Reg::R0, 0, 0);
            }
            _ => self.jump(to, inst.span, fixups),
        }
    }

    fn place(&self, base: Base, off: i16) -> (Reg, i16) {
        match base {
            Base::Reg(reg) => (reg, off),
            Base::Slot(slot) => (Reg::R10, self.slot(slot) + off),
            Base::Spill(index) => (Reg::R10, self.frame.spills - 8 * index as i16),
        }
    }

    fn slot(&self, slot: SlotId) -> i16 {
        self.frame.slots.get(slot.0 as usize).copied().flatten().unwrap_or(0)
    }

    fn inst(&mut self, inst: &MInst, index: usize, function: &MFunction, fixups: &mut Vec<Fixup>) {
        match inst.op {
            MOp::Mov { dst, src } => self.put_src(isa::ALU64 | isa::MOV, dst, src, 0),
            MOp::Mov32 { dst, src } => self.put_src(isa::ALU | isa::MOV, dst, src, 0),
            MOp::Alu { op, dst, src } => self.put_src(isa::ALU64 | isa::alu(op), dst, src, 0),
            MOp::Neg { dst } => self.put(isa::ALU64 | isa::NEG, dst, Reg::R0, 0, 0),
            MOp::Swap { dst, size } => {
                self.put(isa::ALU | isa::END | isa::X, dst, Reg::R0, 0, size.bytes() as i32 * 8);
            }
            MOp::Wide { dst, what } => self.wide(dst, what),
            MOp::SlotAddr { dst, slot, off } => {
                self.put(isa::ALU64 | isa::MOV | isa::X, dst, Reg::R10, 0, 0);
                let at = i32::from(self.slot(slot)) + off;
                self.put(isa::ALU64, dst, Reg::R0, 0, at);
            }
            MOp::Load { dst, base, off, size } => {
                let (base, off) = self.place(base, off);
                self.put(isa::LDX | isa::MEM | isa::size(size), dst, base, off, 0);
            }
            MOp::Store { base, off, size, src } => {
                let (base, off) = self.place(base, off);
                match src {
                    Src::Reg(src) => self.put(isa::STX | isa::MEM | isa::size(size), base, src, off, 0),
                    Src::Imm(imm) => self.put(isa::ST | isa::MEM | isa::size(size), base, Reg::R0, off, imm),
                }
            }
            MOp::Atomic { op, fetch, base, off, size, src } => {
                let (base, off) = self.place(base, off);
                let imm = isa::atomic(op) | if fetch { isa::FETCH } else { 0 };
                self.put(isa::STX | isa::ATOMIC | isa::size(size), base, src, off, imm);
            }
            MOp::Call { helper, .. } => self.put(isa::JMP | isa::CALL, Reg::R0, Reg::R0, 0, helper as i32),
            MOp::Kfunc { btf_id, .. } => {
                let pseudo = Reg(u32::from(isa::PSEUDO_KFUNC_CALL));
                self.put(isa::JMP | isa::CALL, Reg::R0, pseudo, 0, btf_id as i32);
            }
            MOp::Jump(to) if to == index + 1 => {}
            MOp::Jump(to) => self.go(to, inst, function, fixups),
            MOp::Branch { .. } => self.branch(inst, index, function, fixups),
            MOp::Exit => self.put(isa::JMP | isa::EXIT, Reg::R0, Reg::R0, 0, 0),
        }
    }

    fn branch(&mut self, inst: &MInst, index: usize, function: &MFunction, fixups: &mut Vec<Fixup>) {
        let MOp::Branch { cond, narrow, lhs, rhs, then, els } = inst.op else { return };
        let class = if narrow { isa::JMP32 } else { isa::JMP };
        let mut test = |emitter: &mut Self, cond: Cond, to: usize| {
            fixups.push(Fixup { insn: emitter.insns.len(), to, span: inst.span });
            emitter.put_src(class | isa::jump(cond), lhs, rhs, 0);
        };
        let next = index + 1;
        match cond.inverted() {
            _ if then == els => {}
            Some(inverted) if then == next => return test(self, inverted, els),
            _ => test(self, cond, then),
        }
        if els != next {
            self.go(els, inst, function, fixups);
        }
    }

    fn wide(&mut self, dst: Reg, what: Wide) {
        let at = self.insns.len();
        let (pseudo, low, high) = match what {
            Wide::Imm(imm) => (0, imm as i32, (imm >> 32) as i32),
            Wide::Map(map) => {
                self.map_refs.push(MapRef { insn: at as u32, map, kind: MapRefKind::Map });
                (isa::PSEUDO_MAP_FD, 0, 0)
            }
            Wide::MapValue(map, offset) => {
                self.map_refs.push(MapRef { insn: at as u32, map, kind: MapRefKind::Value { offset } });
                (isa::PSEUDO_MAP_VALUE, 0, offset as i32)
            }
            Wide::Func(func) => {
                self.func_refs.push((at, func));
                (isa::PSEUDO_FUNC, 0, 0)
            }
        };
        self.put(isa::LD | isa::IMM | isa::DW, dst, Reg(u32::from(pseudo)), 0, low);
        self.put(0, Reg::R0, Reg::R0, 0, high);
    }
}
