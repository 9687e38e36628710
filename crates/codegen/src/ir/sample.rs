//! Random functions that are well formed, come to an end, and let no address into their result.

use crate::helper;
use crate::ir::builder::FunctionBuilder;
use crate::ir::{Addr, AtomicOp, BinOp, BlockId, Cond, Module, Operand, Size, SlotId, Vreg};

/// Bytes of the context that generated functions read.
pub(crate) const CONTEXT: u32 = 64;

/// A small generator of numbers (xorshift).
#[derive(Clone, Debug)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const BINS: [BinOp; 13] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Udiv,
    BinOp::Umod,
    BinOp::Sdiv,
    BinOp::Smod,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Shl,
    BinOp::Lshr,
    BinOp::Ashr,
];

const CONDS: [Cond; 11] = [
    Cond::Eq,
    Cond::Ne,
    Cond::Ult,
    Cond::Ule,
    Cond::Ugt,
    Cond::Uge,
    Cond::Slt,
    Cond::Sle,
    Cond::Sgt,
    Cond::Sge,
    Cond::Set,
];

const SIZES: [Size; 4] = [Size::B1, Size::B2, Size::B4, Size::B8];

struct Sample {
    numbers: Numbers,
    b: FunctionBuilder,
    /// Variables, all of which count in the result.
    vars: Vec<Vreg>,
    slots: Vec<(SlotId, u32)>,
    budget: u32,
}

/// A module made from a number, with this many variables. Helpers it calls: [`helper::GET_NUMA_NODE_ID`] with three values,
/// and [`helper::PROBE_READ_KERNEL`] of eight bytes into a slot from an address below 4096.
pub(crate) fn module(seed: u64, vars: u32, big_slots: bool) -> Module {
    let mut b = FunctionBuilder::new("sample", 1);
    let vars: Vec<Vreg> = (0..vars).map(|index| b.copy_new(i64::from(index) * 77 - 5)).collect();
    let mut sample = Sample { numbers: Numbers(seed | 1), b, vars, slots: Vec::new(), budget: 60 };
    for index in 0..4 {
        let size = if big_slots { 16 + sample.numbers.below(300) as u32 } else { 16 };
        let slot = sample.b.slot(format!("s{index}"), size, 8);
        sample.slots.push((slot, size));
        let at = sample.b.slot_addr(slot);
        sample.b.zero_mem(at.at(0), size, 8);
    }
    sample.statements(0);
    let mut sum = sample.b.copy_new(1);
    for var in sample.vars.clone() {
        let scaled = sample.b.bin(BinOp::Mul, sum, 31);
        sum = sample.b.bin(BinOp::Add, scaled, var);
    }
    sample.b.ret(sum);
    Module { functions: vec![sample.b.finish()] }
}

impl Sample {
    fn var(&mut self) -> Vreg {
        self.numbers.pick(&self.vars.clone())
    }

    fn operand(&mut self) -> Operand {
        match self.numbers.below(8) {
            0 => Operand::Imm(self.numbers.next() as i64 >> self.numbers.below(64)),
            1 => Operand::Imm(1 << self.numbers.below(64)),
            2 => Operand::Imm(self.numbers.below(9) as i64 - 4),
            _ => Operand::Reg(self.var()),
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..=self.numbers.below(10) {
            if self.budget == 0 || self.b.is_terminated() {
                return;
            }
            self.budget -= 1;
            match self.numbers.below(if depth < 4 { 14 } else { 11 }) {
                0..=3 => self.arithmetic(),
                4 | 5 => self.unary(),
                6..=8 => self.memory(),
                9 | 10 => self.call(),
                11 | 12 => self.choice(depth),
                _ => self.repeat(depth),
            }
        }
    }

    /// Writes a value to a variable, sometimes by way of a fresh register.
    fn assign(&mut self, value: Vreg) {
        let var = self.var();
        self.b.copy(var, value);
    }

    fn arithmetic(&mut self) {
        let (op, lhs, rhs) = (self.numbers.pick(&BINS), self.operand(), self.operand());
        if self.numbers.below(2) == 0 {
            let dst = self.var();
            self.b.bin_to(dst, op, lhs, rhs);
        } else {
            let value = self.b.bin(op, lhs, rhs);
            self.assign(value);
        }
    }

    fn unary(&mut self) {
        let (source, size) = (self.operand(), self.numbers.pick(&SIZES));
        let value = match self.numbers.below(4) {
            0 => self.b.neg(source),
            1 => {
                let signed = self.numbers.below(2) == 0;
                self.b.extend(source, size, signed)
            }
            2 => {
                let (cond, rhs) = (self.numbers.pick(&CONDS), self.operand());
                self.b.cmp(cond, source, rhs)
            }
            _ => {
                let source = self.b.in_reg(source);
                let size = if size == Size::B1 { Size::B2 } else { size };
                self.b.bswap(source, size)
            }
        };
        self.assign(value);
    }

    /// An address in a slot with room for `len` bytes.
    fn place(&mut self, len: u32) -> Addr {
        let (slot, size) = self.numbers.pick(&self.slots.clone());
        let words = (size - len.min(size)) / 8 + 1;
        let off = self.numbers.below(words as usize) as i64 * 8;
        let base = self.b.slot_addr(slot);
        if self.numbers.below(2) == 0 {
            base.at(off as i32)
        } else {
            let base = self.b.bin(BinOp::Add, base, off);
            base.at(0)
        }
    }

    fn memory(&mut self) {
        let size = self.numbers.pick(&SIZES);
        match self.numbers.below(6) {
            0 => {
                let off = self.numbers.below((CONTEXT / 8) as usize) as i32 * 8;
                let signed = self.numbers.below(2) == 0;
                let value = self.b.load(self.b.param(0).at(off), size, signed);
                self.assign(value);
            }
            1 => {
                let (addr, signed) = (self.place(8), self.numbers.below(2) == 0);
                let value = self.b.load(addr, size, signed);
                self.assign(value);
            }
            2 => {
                let (addr, value) = (self.place(8), self.operand());
                self.b.store(addr, size, value);
            }
            3 => {
                let (to, from) = (self.place(16), self.place(16));
                let len = 1 + self.numbers.below(8) as u32;
                if (to.base, to.off) != (from.base, from.off) {
                    self.b.copy_mem(to, from, len, 8);
                }
            }
            4 => {
                let (addr, len) = (self.place(16), 1 + self.numbers.below(8) as u32);
                self.b.zero_mem(addr, len, 8);
            }
            _ => {
                let op = self.numbers.pick(&[AtomicOp::Add, AtomicOp::Or, AtomicOp::And, AtomicOp::Xchg]);
                let (addr, value) = (self.place(8), self.operand());
                let size = if size == Size::B4 { Size::B4 } else { Size::B8 };
                let old = self.b.atomic_fetch(op, addr, size, value);
                if self.numbers.below(2) == 0 {
                    self.assign(old);
                }
            }
        }
    }

    fn call(&mut self) {
        let value = if self.numbers.below(2) == 0 {
            let args: Vec<Operand> = (0..3).map(|_| self.operand()).collect();
            self.b.call(helper::GET_NUMA_NODE_ID, &args)
        } else {
            let (addr, value) = (self.place(8), Operand::Imm(self.numbers.below(4096) as i64));
            let at = self.b.bin(BinOp::Add, addr.base, i64::from(addr.off));
            self.b.call(helper::PROBE_READ_KERNEL, &[at.into(), Operand::Imm(8), value])
        };
        self.assign(value);
    }

    fn choice(&mut self, depth: u32) {
        let (then, els, join) = (self.b.block(), self.b.block(), self.b.block());
        let (cond, lhs, rhs) = (self.numbers.pick(&CONDS), self.operand(), self.operand());
        if self.numbers.below(3) == 0 {
            self.b.branch_unlikely(cond, lhs, rhs, then, els);
        } else {
            self.b.branch(cond, lhs, rhs, then, els);
        }
        for block in [then, els] {
            self.b.switch_to(block);
            self.statements(depth + 1);
            if self.numbers.below(12) == 0 {
                let value = self.operand();
                self.b.ret(value);
            }
            self.b.jump(join);
        }
        self.b.switch_to(join);
    }

    fn repeat(&mut self, depth: u32) {
        let counter = self.b.copy_new(0);
        let limit = self.numbers.below(5) as i64;
        let (head, body, end): (BlockId, BlockId, BlockId) = (self.b.block(), self.b.block(), self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        self.b.branch(Cond::Ult, counter, limit, body, end);
        self.b.switch_to(body);
        self.statements(depth + 1);
        let next = self.b.bin(BinOp::Add, counter, 1);
        self.b.copy(counter, next);
        self.b.jump(head);
        self.b.switch_to(end);
    }
}
