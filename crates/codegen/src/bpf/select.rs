//! From the IR to machine operations with virtual registers.
//!
//! Addresses of stack slots, maps and functions are not kept in registers: they are folded into memory operands or made
//! where they are used.

use strix_model::Span;

use super::legalize::is_unsigned;
use super::mir::{Base, MBlock, MFunction, MInst, MOp, Reg, Src, Wide};
use super::order::order;
use crate::bitset::BitSet;
use crate::ir::flow::{Defs, Flow, LiveOut, step_back};
use crate::ir::{Addr, BinOp, Function, Op, Operand, Size, SlotId, Terminator, Vreg};
use crate::opt::known_bits;

/// A value that is made where it is used.
#[derive(Clone, Copy)]
enum Remat {
    Slot(SlotId, i32),
    Wide(Wide),
    /// A pointer and a distance, read once, by a call in the same block: it is made right in the argument's register.
    Sum(Vreg, i32),
}

/// Selects machine operations. Registers in `apart` are not to be joined with others.
pub(super) fn select(function: &Function, apart: &[Vreg]) -> MFunction {
    let flow = Flow::new(function);
    let order = order(function, &flow);
    let mut place = vec![0; function.blocks.len()];
    order.blocks.iter().enumerate().for_each(|(index, block)| place[block.0 as usize] = index);
    let defs = Defs::new(function);
    let live_out = LiveOut::new(function, &flow);
    let mut live = BitSet::new(function.vregs as usize);
    let mut remat: Vec<Option<Remat>> = (0..function.vregs).map(|v| remat(Vreg(v), &defs, 8)).collect();
    defer_sums(function, &defs, &mut remat);
    let mut select = Select {
        function,
        remat,
        defs,
        place,
        out: Vec::new(),
        regs: Reg::virt(function.vregs).0,
        span: Span::default(),
    };
    let mut blocks = Vec::with_capacity(order.blocks.len());
    for &id in &order.blocks {
        let index = id.0 as usize;
        if index == 0 {
            select.params();
        }
        live_out.load(index, &mut live);
        select.block(index, &mut live);
        let rare = if order.cold[index] { 0.01 } else { 1.0 };
        let weight = 10f32.powi(flow.depth[index].min(6) as i32) * rare;
        blocks.push(MBlock { insts: std::mem::take(&mut select.out), weight });
    }
    let apart = apart.iter().map(|reg| Reg::virt(reg.0)).collect();
    MFunction { blocks, regs: select.regs, spills: 0, apart }
}

fn remat(reg: Vreg, defs: &Defs, depth: u32) -> Option<Remat> {
    match *defs.single(reg)? {
        Op::SlotAddr { slot, .. } => Some(Remat::Slot(slot, 0)),
        Op::MapPtr { map, .. } => Some(Remat::Wide(Wide::Map(map))),
        Op::FuncPtr { func, .. } => Some(Remat::Wide(Wide::Func(func))),
        Op::Bin { op: BinOp::Add, lhs: Operand::Reg(base), rhs: Operand::Imm(imm), .. } if depth > 0 => {
            match remat(base, defs, depth - 1)? {
                Remat::Slot(slot, off) => Some(Remat::Slot(slot, off.checked_add(i32::try_from(imm).ok()?)?)),
                Remat::Wide(_) | Remat::Sum(..) => None,
            }
        }
        _ => None,
    }
}

/// Finds sums that are better made where a call wants them.
fn defer_sums(function: &Function, defs: &Defs, remat: &mut [Option<Remat>]) {
    let mut reads = vec![0u32; function.vregs as usize];
    for block in &function.blocks {
        let mut see = |reg: Vreg| reads[reg.0 as usize] += 1;
        block.insts.iter().for_each(|inst| inst.op.for_each_use(&mut see));
        block.term.for_each_use(&mut see);
    }
    for block in &function.blocks {
        // Sums of this block that no call has taken yet.
        let mut sums: Vec<(Vreg, Remat)> = Vec::new();
        for inst in &block.insts {
            match inst.op {
                Op::Bin { dst, op: BinOp::Add, lhs: Operand::Reg(base), rhs: Operand::Imm(imm) }
                    if reads[dst.0 as usize] == 1
                        && remat[dst.0 as usize].is_none()
                        && defs.is_single(dst)
                        && defs.is_single(base) =>
                {
                    // Of sums of sums only the last is put off: its base must be in a register.
                    let taken = sums.iter().any(|(reg, _)| *reg == base);
                    if let (Ok(imm), false) = (i32::try_from(imm), taken) {
                        sums.push((dst, Remat::Sum(base, imm)));
                    }
                }
                ref op if op.is_call() => op.for_each_use(|reg| {
                    if let Some(at) = sums.iter().position(|(sum, _)| *sum == reg) {
                        let (reg, sum) = sums.swap_remove(at);
                        remat[reg.0 as usize] = Some(sum);
                    }
                }),
                _ => {}
            }
        }
    }
}

struct Select<'a> {
    function: &'a Function,
    defs: Defs,
    remat: Vec<Option<Remat>>,
    /// Where each block stands.
    place: Vec<usize>,
    out: Vec<MInst>,
    regs: u32,
    span: Span,
}

impl Select<'_> {
    fn emit(&mut self, op: MOp) {
        self.out.push(MInst { op, span: self.span });
    }

    fn temp(&mut self) -> Reg {
        self.regs += 1;
        Reg(self.regs - 1)
    }

    fn params(&mut self) {
        for (index, param) in self.function.params.iter().enumerate() {
            self.emit(MOp::Mov { dst: Reg::virt(param.0), src: Src::Reg(Reg::arg(index)) });
        }
    }

    fn block(&mut self, index: usize, live: &mut BitSet) {
        let block = &self.function.blocks[index];
        block.term.for_each_use(|reg| live.insert(reg.0 as usize));
        // Which operations are the last to read the register on their right: it may then serve as the result's.
        let mut right_dies = vec![false; block.insts.len()];
        for (at, inst) in block.insts.iter().enumerate().rev() {
            if let Op::Bin { lhs: Operand::Reg(l), rhs: Operand::Reg(r), .. } = inst.op {
                right_dies[at] = !live.contains(r.0 as usize) && live.contains(l.0 as usize);
            }
            step_back(&inst.op, live);
        }
        for (inst, dies) in block.insts.iter().zip(right_dies) {
            self.span = inst.span;
            self.op(&inst.op, dies);
        }
        self.span = block.term_span;
        self.terminator(&block.term);
    }

    /// Puts a constant into a register.
    fn set(&mut self, dst: Reg, imm: i64) {
        let op = if let Ok(imm) = i32::try_from(imm) {
            MOp::Mov { dst, src: Src::Imm(imm) }
        } else if let Ok(imm) = u32::try_from(imm) {
            MOp::Mov32 { dst, src: Src::Imm(imm as i32) }
        } else {
            MOp::Wide { dst, what: Wide::Imm(imm) }
        };
        self.emit(op);
    }

    /// Puts a value into a register.
    fn set_operand(&mut self, dst: Reg, value: Operand) {
        match value {
            Operand::Imm(imm) => self.set(dst, imm),
            Operand::Reg(reg) => match self.remat[reg.0 as usize] {
                Some(Remat::Slot(slot, off)) => self.emit(MOp::SlotAddr { dst, slot, off }),
                Some(Remat::Wide(what)) => self.emit(MOp::Wide { dst, what }),
                Some(Remat::Sum(base, imm)) => {
                    self.set_operand(dst, base.into());
                    self.emit(MOp::Alu { op: BinOp::Add, dst, src: Src::Imm(imm) });
                }
                None if Reg::virt(reg.0) == dst => {}
                None => self.emit(MOp::Mov { dst, src: Src::Reg(Reg::virt(reg.0)) }),
            },
        }
    }

    /// The register a value is in.
    fn reg(&mut self, value: Operand) -> Reg {
        match value {
            Operand::Reg(reg) if self.remat[reg.0 as usize].is_none() => Reg::virt(reg.0),
            _ => {
                let temp = self.temp();
                self.set_operand(temp, value);
                temp
            }
        }
    }

    /// A value as the right side of an instruction.
    fn src(&mut self, value: Operand) -> Src {
        match value.imm().map(i32::try_from) {
            Some(Ok(imm)) => Src::Imm(imm),
            _ => Src::Reg(self.reg(value)),
        }
    }

    /// A memory operand in reach of `span` bytes.
    fn place_of(&mut self, addr: Addr, span: u32) -> (Base, i32) {
        let fits = |off: i64| off >= i64::from(i16::MIN) && off + i64::from(span) <= i64::from(i16::MAX) + 1;
        if let Some(Remat::Slot(slot, at)) = self.remat[addr.base.0 as usize]
            && fits(i64::from(at) + i64::from(addr.off))
        {
            return (Base::Slot(slot), at + addr.off);
        }
        let base = self.reg(addr.base.into());
        if fits(i64::from(addr.off)) {
            return (Base::Reg(base), addr.off);
        }
        let temp = self.temp();
        self.emit(MOp::Mov { dst: temp, src: Src::Reg(base) });
        self.emit(MOp::Alu { op: BinOp::Add, dst: temp, src: Src::Imm(addr.off) });
        (Base::Reg(temp), 0)
    }

    fn op(&mut self, op: &Op, right_dies: bool) {
        if let Some(dst) = op.dst()
            && self.remat[dst.0 as usize].is_some()
        {
            return;
        }
        match *op {
            Op::Copy { dst, src } => self.set_operand(Reg::virt(dst.0), src),
            Op::Bin { dst, op, lhs, rhs } => self.bin(Reg::virt(dst.0), op, lhs, rhs, right_dies),
            Op::Neg { dst, src } => {
                let dst = Reg::virt(dst.0);
                self.set_operand(dst, src);
                self.emit(MOp::Neg { dst });
            }
            Op::Extend { dst, src, from, signed } => self.extend(Reg::virt(dst.0), src, from, signed),
            Op::Bswap { dst, src, size } => {
                let dst = Reg::virt(dst.0);
                self.set_operand(dst, src.into());
                self.emit(MOp::Swap { dst, size });
            }
            Op::Load { dst, addr, size, .. } => {
                let (base, off) = self.place_of(addr, size.bytes());
                self.emit(MOp::Load { dst: Reg::virt(dst.0), base, off: off as i16, size });
            }
            Op::Store { addr, size, src } => {
                let src = match src {
                    // Only the low bytes are stored, so that any constant of up to four bytes fits.
                    Operand::Imm(imm) => Operand::Imm(crate::ir::eval::extend(imm, size, true)),
                    reg => reg,
                };
                let src = self.src(src);
                let (base, off) = self.place_of(addr, size.bytes());
                self.emit(MOp::Store { base, off: off as i16, size, src });
            }
            Op::Atomic { op, fetch, addr, size, src } => {
                let (base, off) = self.place_of(addr, size.bytes());
                let off = off as i16;
                match fetch {
                    Some(dst) => {
                        let temp = self.temp();
                        self.set_operand(temp, src);
                        self.emit(MOp::Atomic { op, fetch: true, base, off, size, src: temp });
                        self.emit(MOp::Mov { dst: Reg::virt(dst.0), src: Src::Reg(temp) });
                    }
                    None => {
                        let src = self.reg(src);
                        self.emit(MOp::Atomic { op, fetch: false, base, off, size, src });
                    }
                }
            }
            Op::CopyMem { dst, src, len, align } => self.copy_mem(dst, src, len, align),
            Op::ZeroMem { dst, len, align } => {
                let (base, off) = self.place_of(dst, len);
                for (at, size) in chunks(len, align) {
                    let off = (off + at as i32) as i16;
                    self.emit(MOp::Store { base, off, size, src: Src::Imm(0) });
                }
            }
            Op::MapValuePtr { dst, map, off } => {
                self.emit(MOp::Wide { dst: Reg::virt(dst.0), what: Wide::MapValue(map, off) });
            }
            Op::SlotAddr { dst, slot } => self.emit(MOp::SlotAddr { dst: Reg::virt(dst.0), slot, off: 0 }),
            Op::MapPtr { dst, map } => self.emit(MOp::Wide { dst: Reg::virt(dst.0), what: Wide::Map(map) }),
            Op::FuncPtr { dst, func } => {
                self.emit(MOp::Wide { dst: Reg::virt(dst.0), what: Wide::Func(func) })
            }
            Op::Call { dst, helper, ref args, .. } => {
                self.call(dst, args, MOp::Call { helper, args: args.len() as u8 });
            }
            Op::CallKfunc { dst, btf_id, ref args } => {
                self.call(dst, args, MOp::Kfunc { btf_id, args: args.len() as u8 });
            }
            // Legalisation left none.
            Op::Cmp { .. } => {}
        }
    }

    fn bin(&mut self, dst: Reg, op: BinOp, lhs: Operand, rhs: Operand, right_dies: bool) {
        let is_dst = |operand: Operand| operand.reg().is_some_and(|reg| Reg::virt(reg.0) == dst);
        let swap =
            op.is_commutative() && lhs.reg().is_some() && (is_dst(rhs) || (right_dies && !is_dst(lhs)));
        let (lhs, rhs) = if swap && rhs.reg().is_some() { (rhs, lhs) } else { (lhs, rhs) };
        if is_dst(rhs) && lhs != rhs {
            let temp = self.temp();
            self.set_operand(temp, lhs);
            self.emit(MOp::Alu { op, dst: temp, src: Src::Reg(dst) });
            self.emit(MOp::Mov { dst, src: Src::Reg(temp) });
            return;
        }
        let src = self.src(rhs);
        self.set_operand(dst, lhs);
        self.emit(MOp::Alu { op, dst, src });
    }

    fn extend(&mut self, dst: Reg, src: Operand, from: Size, signed: bool) {
        match (from, signed) {
            (Size::B8, _) => self.set_operand(dst, src),
            (Size::B4, false) => {
                let src = Src::Reg(self.reg(src));
                self.emit(MOp::Mov32 { dst, src });
            }
            (_, false) => {
                self.set_operand(dst, src);
                let mask = (1 << (from.bytes() * 8)) - 1;
                self.emit(MOp::Alu { op: BinOp::And, dst, src: Src::Imm(mask) });
            }
            (_, true) => {
                self.set_operand(dst, src);
                let shift = Src::Imm(64 - from.bytes() as i32 * 8);
                self.emit(MOp::Alu { op: BinOp::Shl, dst, src: shift });
                self.emit(MOp::Alu { op: BinOp::Ashr, dst, src: shift });
            }
        }
    }

    fn copy_mem(&mut self, dst: Addr, src: Addr, len: u32, align: u8) {
        let (from, from_off) = self.place_of(src, len);
        let (to, to_off) = self.place_of(dst, len);
        for (at, size) in chunks(len, align) {
            let temp = self.temp();
            self.emit(MOp::Load { dst: temp, base: from, off: (from_off + at as i32) as i16, size });
            self.emit(MOp::Store { base: to, off: (to_off + at as i32) as i16, size, src: Src::Reg(temp) });
        }
    }

    fn call(&mut self, dst: Option<Vreg>, args: &[Operand], call: MOp) {
        // Registers first: the machine registers of the others are then taken for a shorter time.
        let kept =
            |select: &Self, arg: Operand| arg.reg().is_some_and(|reg| select.remat[reg.0 as usize].is_none());
        for pass in [true, false] {
            for (index, &arg) in args.iter().enumerate() {
                if kept(self, arg) == pass {
                    self.set_operand(Reg::arg(index), arg);
                }
            }
        }
        self.emit(call);
        if let Some(dst) = dst {
            self.emit(MOp::Mov { dst: Reg::virt(dst.0), src: Src::Reg(Reg::R0) });
        }
    }

    fn terminator(&mut self, term: &Terminator) {
        match *term {
            Terminator::Jump(to) => {
                let to = self.place[to.0 as usize];
                self.emit(MOp::Jump(to));
            }
            Terminator::Return(value) => {
                self.set_operand(Reg::R0, value);
                self.emit(MOp::Exit);
            }
            Terminator::Branch { cond, lhs, rhs, then, els, .. } => {
                let (cond, lhs, rhs) = match lhs {
                    Operand::Imm(_) => (cond.swapped(), rhs, lhs),
                    Operand::Reg(_) => (cond, lhs, rhs),
                };
                let bits = lhs.reg().map_or(64, |reg| known_bits(reg, &self.defs, 6));
                let left = self.reg(lhs);
                let (narrow, right) = match rhs {
                    Operand::Imm(imm)
                        if i32::try_from(imm).is_err()
                            && bits <= 32
                            && is_unsigned(cond)
                            && u32::try_from(imm).is_ok() =>
                    {
                        (true, Src::Imm(imm as u32 as i32))
                    }
                    _ => (false, self.src(rhs)),
                };
                let (then, els) = (self.place[then.0 as usize], self.place[els.0 as usize]);
                self.emit(MOp::Branch { cond, narrow, lhs: left, rhs: right, then, els });
            }
        }
    }
}

/// Pieces of a run of `len` bytes, none bigger than the alignment.
fn chunks(len: u32, align: u8) -> impl Iterator<Item = (u32, Size)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let size = [Size::B8, Size::B4, Size::B2, Size::B1]
            .into_iter()
            .find(|size| size.bytes() <= u32::from(align).max(1) && size.bytes() <= len - at)?;
        at += size.bytes();
        Some((at - size.bytes(), size))
    })
}
