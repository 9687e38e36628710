//! Builds a [`Function`] block by block.
//!
//! The builder gives out registers, slots and blocks, stamps every instruction with the current span, and leaves correctness
//! to the verifier: it never looks at what was built. What is pushed after a block's terminator is unreachable and dropped,
//! so that a front end may go on emitting after `return`.

use strix_model::{MapIdx, Span};

use super::{
    Addr, AtomicOp, BinOp, Block, BlockId, Cond, FuncId, Function, Inst, Op, Operand, Size, Slot, SlotId,
    Terminator, Vreg, eval,
};

/// A function under construction. It starts in its entry block, [`BlockId`] 0.
#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    function: Function,
    /// Whether the block has its terminator yet.
    terminated: Vec<bool>,
    current: BlockId,
    span: Span,
}

impl FunctionBuilder {
    /// A function with this name whose registers v0, v1, … hold the arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, n_params: u32) -> Self {
        let mut builder = Self {
            function: Function {
                name: name.into(),
                params: (0..n_params).map(Vreg).collect(),
                vregs: n_params,
                slots: Vec::new(),
                blocks: Vec::new(),
            },
            terminated: Vec::new(),
            current: BlockId(0),
            span: Span::default(),
        };
        builder.block();
        builder
    }

    /// The register of an argument.
    ///
    /// # Panics
    /// When the function has fewer arguments.
    #[must_use]
    pub fn param(&self, index: usize) -> Vreg {
        self.function.params[index]
    }

    /// What follows comes from here in the script.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// Where what is pushed now is said to come from.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// A new register.
    pub fn vreg(&mut self) -> Vreg {
        self.function.vregs += 1;
        Vreg(self.function.vregs - 1)
    }

    /// New local memory, on the stack or in the scratch map.
    pub fn slot(&mut self, name: impl Into<String>, size: u32, align: u8) -> SlotId {
        self.new_slot(Slot { size, align, stack_only: false, name: name.into() })
    }

    /// New local memory that must be on the stack.
    pub fn stack_slot(&mut self, name: impl Into<String>, size: u32, align: u8) -> SlotId {
        self.new_slot(Slot { size, align, stack_only: true, name: name.into() })
    }

    fn new_slot(&mut self, slot: Slot) -> SlotId {
        self.function.slots.push(slot);
        SlotId(self.function.slots.len() as u32 - 1)
    }

    /// A new block; it is filled after [`Self::switch_to`].
    pub fn block(&mut self) -> BlockId {
        self.function.blocks.push(Block {
            insts: Vec::new(),
            term: Terminator::Return(Operand::Imm(0)),
            term_span: self.span,
        });
        self.terminated.push(false);
        BlockId(self.function.blocks.len() as u32 - 1)
    }

    /// What follows goes to the end of this block.
    pub fn switch_to(&mut self, block: BlockId) {
        self.current = block;
    }

    /// The block that is being filled.
    #[must_use]
    pub fn current(&self) -> BlockId {
        self.current
    }

    /// Whether the current block has its terminator, so that what is pushed now is dropped.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.terminated[self.current.0 as usize]
    }

    /// Pushes any operation.
    pub fn push(&mut self, op: Op) {
        if !self.is_terminated() {
            let span = self.span;
            self.function.blocks[self.current.0 as usize].insts.push(Inst { op, span });
        }
    }

    /// `dst = src`.
    pub fn copy(&mut self, dst: Vreg, src: impl Into<Operand>) {
        self.push(Op::Copy { dst, src: src.into() });
    }

    /// A new register with this value.
    pub fn copy_new(&mut self, src: impl Into<Operand>) -> Vreg {
        let dst = self.vreg();
        self.copy(dst, src);
        dst
    }

    /// The register of an operand; a constant is given a new one.
    pub fn in_reg(&mut self, value: impl Into<Operand>) -> Vreg {
        match value.into() {
            Operand::Reg(reg) => reg,
            Operand::Imm(imm) => self.copy_new(imm),
        }
    }

    /// `dst = lhs op rhs`.
    pub fn bin_to(&mut self, dst: Vreg, op: BinOp, lhs: impl Into<Operand>, rhs: impl Into<Operand>) {
        match (lhs.into(), rhs.into()) {
            (Operand::Imm(l), Operand::Imm(r)) => self.copy(dst, eval::bin(op, l, r)),
            (lhs, rhs) => self.push(Op::Bin { dst, op, lhs, rhs }),
        }
    }

    /// `lhs op rhs` in a new register.
    pub fn bin(&mut self, op: BinOp, lhs: impl Into<Operand>, rhs: impl Into<Operand>) -> Vreg {
        let dst = self.vreg();
        self.bin_to(dst, op, lhs, rhs);
        dst
    }

    /// `lhs op rhs`, a constant if both are.
    pub fn bin_operand(&mut self, op: BinOp, lhs: impl Into<Operand>, rhs: impl Into<Operand>) -> Operand {
        match (lhs.into(), rhs.into()) {
            (Operand::Imm(l), Operand::Imm(r)) => Operand::Imm(eval::bin(op, l, r)),
            (lhs, rhs) => Operand::Reg(self.bin(op, lhs, rhs)),
        }
    }

    /// 1 in a new register if the comparison holds, else 0.
    pub fn cmp(&mut self, cond: Cond, lhs: impl Into<Operand>, rhs: impl Into<Operand>) -> Vreg {
        let (lhs, rhs) = (lhs.into(), rhs.into());
        let dst = self.vreg();
        match (lhs, rhs) {
            (Operand::Imm(l), Operand::Imm(r)) => self.copy(dst, i64::from(eval::cond(cond, l, r))),
            _ => self.push(Op::Cmp { dst, cond, lhs, rhs }),
        }
        dst
    }

    /// `-src` in a new register.
    pub fn neg(&mut self, src: impl Into<Operand>) -> Vreg {
        let src = src.into();
        let dst = self.vreg();
        match src {
            Operand::Imm(imm) => self.copy(dst, imm.wrapping_neg()),
            Operand::Reg(_) => self.push(Op::Neg { dst, src }),
        }
        dst
    }

    /// The low bytes of `src`, extended, in a new register.
    pub fn extend(&mut self, src: impl Into<Operand>, from: Size, signed: bool) -> Vreg {
        let src = src.into();
        let dst = self.vreg();
        match src {
            Operand::Imm(imm) => self.copy(dst, eval::extend(imm, from, signed)),
            Operand::Reg(_) => self.push(Op::Extend { dst, src, from, signed }),
        }
        dst
    }

    /// The low bytes of `src` in the other byte order, in a new register.
    pub fn bswap(&mut self, src: Vreg, size: Size) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Bswap { dst, src, size });
        dst
    }

    /// What is at `addr`, in a new register.
    pub fn load(&mut self, addr: Addr, size: Size, signed: bool) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Load { dst, addr, size, signed });
        dst
    }

    /// `*addr = src`.
    pub fn store(&mut self, addr: Addr, size: Size, src: impl Into<Operand>) {
        self.push(Op::Store { addr, size, src: src.into() });
    }

    /// `*addr op= src`, atomically.
    pub fn atomic(&mut self, op: AtomicOp, addr: Addr, size: Size, src: impl Into<Operand>) {
        self.push(Op::Atomic { op, fetch: None, addr, size, src: src.into() });
    }

    /// `*addr op= src`, atomically; the old value in a new register.
    pub fn atomic_fetch(&mut self, op: AtomicOp, addr: Addr, size: Size, src: impl Into<Operand>) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Atomic { op, fetch: Some(dst), addr, size, src: src.into() });
        dst
    }

    /// `memcpy`; `align` is what both addresses are known to be aligned to.
    pub fn copy_mem(&mut self, dst: Addr, src: Addr, len: u32, align: u8) {
        self.push(Op::CopyMem { dst, src, len, align });
    }

    /// `memset` to zero.
    pub fn zero_mem(&mut self, dst: Addr, len: u32, align: u8) {
        self.push(Op::ZeroMem { dst, len, align });
    }

    /// The address of local memory.
    pub fn slot_addr(&mut self, slot: SlotId) -> Vreg {
        let dst = self.vreg();
        self.push(Op::SlotAddr { dst, slot });
        dst
    }

    /// A map, for helpers.
    pub fn map_ptr(&mut self, map: MapIdx) -> Vreg {
        let dst = self.vreg();
        self.push(Op::MapPtr { dst, map });
        dst
    }

    /// The address of byte `off` of the only value of an array map.
    pub fn map_value_ptr(&mut self, map: MapIdx, off: u32) -> Vreg {
        let dst = self.vreg();
        self.push(Op::MapValuePtr { dst, map, off });
        dst
    }

    /// A function, for helpers that take a callback.
    pub fn func_ptr(&mut self, func: FuncId) -> Vreg {
        let dst = self.vreg();
        self.push(Op::FuncPtr { dst, func });
        dst
    }

    /// Calls a helper; its result in a new register.
    pub fn call(&mut self, helper: u32, args: &[Operand]) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Call { dst: Some(dst), helper, args: args.to_vec(), pure: false });
        dst
    }

    /// Calls a helper whose result is not wanted.
    pub fn call_void(&mut self, helper: u32, args: &[Operand]) {
        self.push(Op::Call { dst: None, helper, args: args.to_vec(), pure: false });
    }

    /// Calls a helper that does nothing but give a result, so that the call may be dropped.
    pub fn call_pure(&mut self, helper: u32, args: &[Operand]) -> Vreg {
        let dst = self.vreg();
        self.push(Op::Call { dst: Some(dst), helper, args: args.to_vec(), pure: true });
        dst
    }

    /// Calls a kernel function; its result in a new register.
    pub fn call_kfunc(&mut self, btf_id: u32, args: &[Operand]) -> Vreg {
        let dst = self.vreg();
        self.push(Op::CallKfunc { dst: Some(dst), btf_id, args: args.to_vec() });
        dst
    }

    /// Calls a kernel function whose result is not wanted.
    pub fn call_kfunc_void(&mut self, btf_id: u32, args: &[Operand]) {
        self.push(Op::CallKfunc { dst: None, btf_id, args: args.to_vec() });
    }

    /// Ends the block with any terminator, unless it has one.
    pub fn terminate(&mut self, term: Terminator) {
        let at = self.current.0 as usize;
        if !self.terminated[at] {
            self.terminated[at] = true;
            self.function.blocks[at].term = term;
            self.function.blocks[at].term_span = self.span;
        }
    }

    /// Ends the block: go on at `to`.
    pub fn jump(&mut self, to: BlockId) {
        self.terminate(Terminator::Jump(to));
    }

    /// Ends the block: go on at `then` if the comparison holds, else at `els`.
    pub fn branch(
        &mut self,
        cond: Cond,
        lhs: impl Into<Operand>,
        rhs: impl Into<Operand>,
        then: BlockId,
        els: BlockId,
    ) {
        let (lhs, rhs) = (lhs.into(), rhs.into());
        self.terminate(Terminator::Branch { cond, lhs, rhs, then, els, unlikely: false });
    }

    /// Like [`Self::branch`]; `then` is seldom taken and goes out of line.
    pub fn branch_unlikely(
        &mut self,
        cond: Cond,
        lhs: impl Into<Operand>,
        rhs: impl Into<Operand>,
        then: BlockId,
        els: BlockId,
    ) {
        let (lhs, rhs) = (lhs.into(), rhs.into());
        self.terminate(Terminator::Branch { cond, lhs, rhs, then, els, unlikely: true });
    }

    /// Ends the block: leave the function.
    pub fn ret(&mut self, value: impl Into<Operand>) {
        let value = value.into();
        self.terminate(Terminator::Return(value));
    }

    /// The function. A block without a terminator returns 0.
    #[must_use]
    pub fn finish(self) -> Function {
        self.function
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_blocks_in_order_and_drops_what_follows_a_terminator() {
        let mut b = FunctionBuilder::new("f", 1);
        let (yes, no) = (b.block(), b.block());
        let value = b.load(b.param(0).at(8), Size::B8, false);
        b.branch(Cond::Eq, value, 7, yes, no);
        b.ret(5);
        assert!(b.is_terminated());
        b.switch_to(yes);
        b.ret(value);
        b.copy(value, 3);
        let f = b.finish();
        assert_eq!(f.blocks.len(), 3);
        assert!(matches!(f.blocks[0].term, Terminator::Branch { then: BlockId(1), els: BlockId(2), .. }));
        assert!(f.blocks[1].insts.is_empty());
        assert_eq!(f.blocks[2].term, Terminator::Return(Operand::Imm(0)));
    }

    #[test]
    fn folds_constants() {
        let mut b = FunctionBuilder::new("f", 0);
        assert_eq!(b.bin_operand(BinOp::Sdiv, -7, 2), Operand::Imm(-3));
        let v = b.cmp(Cond::Ult, -1, 1);
        assert_eq!(b.finish().blocks[0].insts[0].op, Op::Copy { dst: v, src: Operand::Imm(0) });
    }
}
