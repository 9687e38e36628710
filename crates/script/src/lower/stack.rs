//! Stacks: taken into scratch memory, named by a hash of their addresses, kept once in the stack store.
//!
//! A stack in a key or a record is then 8 bytes, whatever its depth. The hash has 64 bits, so that two of a session's few thousand stacks
//! practically never share one; the kernel's own stack map has buckets that a second stack cannot enter, and loses it.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Cond, Operand, Size, Vreg};
use strix_model::Counter;

use super::function::Lower;
use super::value::{Place, Value};
use crate::types::Type;

/// `BPF_F_USER_STACK`.
const USER_STACK: i64 = 1 << 8;

/// Odd multiplier of the hash: 2^64 divided by the golden ratio.
const HASH_MULTIPLIER: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

impl Lower<'_, '_> {
    /// A stack of the type, as a value.
    pub(super) fn stack_value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::KernelStack { limit, .. } => Value::Scalar(self.take_stack(u32::from(*limit), 0).into()),
            Type::UserStack { .. } => {
                let place = self.slot_for("ustack", ty);
                self.user_stack_into(ty, place);
                Value::Memory(place)
            }
            _ => Value::Unit,
        }
    }

    /// Writes id and process of the user stack.
    pub(super) fn user_stack_into(&mut self, ty: &Type, dst: Place) {
        let Type::UserStack { limit, .. } = ty else { return };
        let id = self.take_stack(u32::from(*limit), USER_STACK);
        self.b().store(dst.addr(), Size::B8, id);
        let pid = self.pid();
        self.b().store(dst.at(8).addr(), Size::B8, pid);
    }

    /// Takes the stack and gives its id: 0 or a negative error when there is none.
    fn take_stack(&mut self, limit: u32, flags: i64) -> Vreg {
        let store = self.plan.stacks();
        let size = self.plan.stack_bytes();
        let buffer = self.slot("stack", size);
        let frames = self.address(buffer.at(8));
        let ctx = self.ctx();
        let bytes = self
            .b()
            .call(helper::GET_STACK, &[ctx.into(), frames.into(), i64::from(limit * 8).into(), flags.into()]);
        let id = self.b().copy_new(bytes);
        let (taken, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Sgt, bytes, 0, taken, done);
        self.b().switch_to(taken);
        let count = self.b().bin(BinOp::Lshr, bytes, 3);
        self.b().store(buffer.addr(), Size::B8, count);
        self.hash_frames(id, buffer.at(8), count, limit);
        self.keep_stack(store, id, buffer);
        self.b().jump(done);
        self.b().switch_to(done);
        id
    }

    /// `id = hash(frames)`, never 0 nor negative.
    fn hash_frames(&mut self, id: Vreg, frames: Place, count: Vreg, limit: u32) {
        let index = self.b().copy_new(0);
        self.b().copy(id, count);
        let (head, inside, body, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, index, Operand::Imm(i64::from(limit)), done, inside);
        self.b().switch_to(inside);
        self.b().branch(Cond::Uge, index, count, done, body);
        self.b().switch_to(body);
        let step = self.b().bin(BinOp::Shl, index, 3);
        let at = self.b().bin(BinOp::Add, frames.base, step);
        let frame = self.b().load(Place { base: at, ..frames }.addr(), Size::B8, false);
        let mixed = self.b().bin(BinOp::Xor, id, frame);
        let product = self.b().bin(BinOp::Mul, mixed, HASH_MULTIPLIER);
        let high = self.b().bin(BinOp::Lshr, product, 29);
        self.b().bin_to(id, BinOp::Xor, product, high);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
        self.b().switch_to(done);
        self.b().bin_to(id, BinOp::Lshr, id, 1);
        self.b().bin_to(id, BinOp::Or, id, 1);
    }

    /// Stores the stack under its id unless it is there.
    fn keep_stack(&mut self, store: strix_model::MapIdx, id: Vreg, buffer: Place) {
        let key = self.slot("stack_id", 8);
        self.b().store(key.addr(), Size::B8, id);
        let found = self.lookup_key(store, key);
        let (new, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Eq, found, 0, new, done);
        self.b().switch_to(new);
        let key = self.address(key);
        let value = self.address(buffer);
        let map = self.map_operand(store);
        let result = self.b().call(helper::MAP_UPDATE_ELEM, &[map, key.into(), value.into(), 0.into()]);
        self.bump_if_negative(result, Counter::StackFull);
        self.b().jump(done);
        self.b().switch_to(done);
    }
}
