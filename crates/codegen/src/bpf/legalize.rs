//! Rewrites what the machine lacks into what it has: signed division, sign-extending loads, comparisons as values, long copies.

use crate::helper;
use crate::ir::{
    Addr, BinOp, Block, BlockId, Cond, Function, Inst, Op, Operand, Size, Terminator, Vreg, flow::Defs,
};

/// Copies longer than this are left to a helper; shorter ones are unrolled.
const UNROLLED_COPY: u32 = 512;

/// What a run of stores with 16-bit offsets can cover.
const ZEROED_AT_ONCE: u32 = 16384;

pub(super) fn run(function: &mut Function) {
    let defs = Defs::new(function);
    for index in 0..function.blocks.len() {
        let insts = std::mem::take(&mut function.blocks[index].insts);
        let mut lower = Lower { vregs: &mut function.vregs, out: Vec::with_capacity(insts.len()) };
        for inst in insts {
            lower.inst(inst, &defs);
        }
        function.blocks[index].insts = lower.out;
    }
    split_comparisons(function);
}

struct Lower<'a> {
    vregs: &'a mut u32,
    out: Vec<Inst>,
}

impl Lower<'_> {
    fn inst(&mut self, inst: Inst, defs: &Defs) {
        let span = inst.span;
        let start = self.out.len();
        match inst.op {
            Op::Load { dst, addr, size, signed: true } => {
                let wide = size == Size::B8;
                let raw = if wide { dst } else { self.vreg() };
                self.push(Op::Load { dst: raw, addr, size, signed: false });
                if !wide {
                    self.push(Op::Extend { dst, src: raw.into(), from: size, signed: true });
                }
            }
            Op::Bin { dst, op: op @ (BinOp::Sdiv | BinOp::Smod), lhs, rhs } => self.divide(dst, op, lhs, rhs),
            Op::CopyMem { dst, src, len, .. } if len > UNROLLED_COPY => {
                let dst = self.address(dst, defs);
                let src = self.address(src, defs);
                let args = vec![dst.into(), Operand::Imm(i64::from(len)), src.into()];
                self.push(Op::Call { dst: None, helper: helper::PROBE_READ_KERNEL, args, pure: false });
            }
            Op::ZeroMem { dst, len, align } if len > ZEROED_AT_ONCE => {
                for at in (0..len).step_by(ZEROED_AT_ONCE as usize) {
                    let dst = Addr { base: dst.base, off: dst.off.wrapping_add_unsigned(at) };
                    self.push(Op::ZeroMem { dst, len: ZEROED_AT_ONCE.min(len - at), align });
                }
            }
            op => self.push(op),
        }
        self.out[start..].iter_mut().for_each(|new| new.span = span);
    }

    fn push(&mut self, op: Op) {
        self.out.push(Inst { op, span: strix_model::Span::default() });
    }

    fn vreg(&mut self) -> Vreg {
        *self.vregs += 1;
        Vreg(*self.vregs - 1)
    }

    fn bin(&mut self, op: BinOp, lhs: impl Into<Operand>, rhs: impl Into<Operand>) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Bin { dst, op, lhs: lhs.into(), rhs: rhs.into() });
        dst
    }

    fn address(&mut self, addr: Addr, defs: &Defs) -> Vreg {
        let mut base = addr.base;
        // A slot's address is made where it is used instead of being kept.
        if let Some(&Op::SlotAddr { slot, .. }) = (base.0 < *self.vregs).then(|| defs.single(base)).flatten()
        {
            base = self.vreg();
            self.push(Op::SlotAddr { dst: base, slot });
        }
        match addr.off {
            0 => base,
            off => self.bin(BinOp::Add, base, i64::from(off)),
        }
    }

    /// Signed division by unsigned: magnitudes are divided, then the sign is put back.
    fn divide(&mut self, dst: Vreg, op: BinOp, lhs: Operand, rhs: Operand) {
        if let Operand::Imm(imm) = rhs
            && imm > 1
            && (imm as u64).is_power_of_two()
        {
            let shift = i64::from(imm.trailing_zeros());
            // Rounding is towards zero, so negative dividends are raised by the divisor less one first.
            let sign = self.bin(BinOp::Ashr, lhs, 63);
            let bias = self.bin(BinOp::Lshr, sign, 64 - shift);
            let biased = self.bin(BinOp::Add, bias, lhs);
            if op == BinOp::Sdiv {
                self.push(Op::Bin { dst, op: BinOp::Ashr, lhs: biased.into(), rhs: Operand::Imm(shift) });
            } else {
                let whole = self.bin(BinOp::And, biased, -imm);
                self.push(Op::Bin { dst, op: BinOp::Sub, lhs, rhs: whole.into() });
            }
            return;
        }
        let (sign_l, size_l) = self.magnitude(lhs);
        let (sign_r, size_r) = match rhs {
            Operand::Imm(imm) => (Operand::Imm(imm >> 63), Operand::Imm(imm.unsigned_abs() as i64)),
            Operand::Reg(_) => self.magnitude(rhs),
        };
        let unsigned = if op == BinOp::Sdiv { BinOp::Udiv } else { BinOp::Umod };
        let result = self.bin(unsigned, size_l, size_r);
        let sign = match (op, sign_r) {
            (BinOp::Smod, _) | (_, Operand::Imm(0)) => sign_l,
            _ => self.bin(BinOp::Xor, sign_l, sign_r).into(),
        };
        let flipped = self.bin(BinOp::Xor, result, sign);
        self.push(Op::Bin { dst, op: BinOp::Sub, lhs: flipped.into(), rhs: sign });
    }

    /// Sign (0 or -1) and absolute value.
    fn magnitude(&mut self, value: Operand) -> (Operand, Operand) {
        let sign = self.bin(BinOp::Ashr, value, 63);
        let flipped = self.bin(BinOp::Xor, value, sign);
        (sign.into(), self.bin(BinOp::Sub, flipped, sign).into())
    }
}

/// `d = cmp l, r` becomes `d = 1; if l cond r skip; d = 0`.
fn split_comparisons(function: &mut Function) {
    let mut index = 0;
    while index < function.blocks.len() {
        let block = &function.blocks[index];
        let at = block.insts.iter().position(|inst| matches!(inst.op, Op::Cmp { .. }));
        if let Some(at) = at {
            split_at(function, index, at);
        }
        index += 1;
    }
}

fn split_at(function: &mut Function, index: usize, at: usize) {
    let (zero, rest) = (BlockId(function.blocks.len() as u32), BlockId(function.blocks.len() as u32 + 1));
    let block = &mut function.blocks[index];
    let mut tail = block.insts.split_off(at);
    let inst = tail.remove(0);
    let Op::Cmp { dst, cond, lhs, rhs } = inst.op else { return };
    let span = inst.span;
    let (cond, lhs, rhs) = match (lhs, rhs) {
        (Operand::Imm(_), Operand::Reg(_)) => (cond.swapped(), rhs, lhs),
        _ => (cond, lhs, rhs),
    };
    // The result is written before the sides are compared, so it cannot share their register.
    let shared = Operand::Reg(dst) == lhs || Operand::Reg(dst) == rhs;
    let result = if shared {
        function.vregs += 1;
        Vreg(function.vregs - 1)
    } else {
        dst
    };
    let set = |value: i64| Inst { op: Op::Copy { dst: result, src: Operand::Imm(value) }, span };
    block.insts.push(set(1));
    let then_rest = Terminator::Branch { cond, lhs, rhs, then: rest, els: zero, unlikely: false };
    let term = std::mem::replace(&mut block.term, then_rest);
    let term_span = std::mem::replace(&mut block.term_span, span);
    if shared {
        tail.insert(0, Inst { op: Op::Copy { dst, src: result.into() }, span });
    }
    function.blocks.push(Block { insts: vec![set(0)], term: Terminator::Jump(rest), term_span: span });
    function.blocks.push(Block { insts: tail, term, term_span });
}

/// Comparisons whose right side may be cut to 32 bits when the left side has no more.
pub(super) fn is_unsigned(cond: Cond) -> bool {
    !matches!(cond, Cond::Slt | Cond::Sle | Cond::Sgt | Cond::Sge)
}
