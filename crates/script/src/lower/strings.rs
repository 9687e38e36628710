//! Strings: storing, comparing, searching.

use strix_codegen::ir::{Addr, BinOp, BlockId, Cond, Operand, Size, Vreg};
use strix_model::Counter;

use super::function::Lower;
use super::value::{Place, Remote, Value};
use crate::types::{Space, Type};

/// Literals up to this many bytes are written by immediate stores, longer ones copied from constants.
const IMMEDIATE_LIMIT: u32 = 64;

impl Lower<'_, '_> {
    /// Stores a string in `cap` bytes.
    pub(super) fn store_str(&mut self, value: Value, from: &Type, cap: u32, dst: Place, clean: bool) {
        match value {
            Value::Text(text) => self.store_text(text.as_bytes(), cap, dst, clean),
            Value::Remote(remote) if remote.space != Space::Bpf => {
                let read = self.remote_cap(from).map_or(cap, |size| size.min(cap));
                let result = self.str_from_remote(dst, read, remote, clean);
                self.keep_last_byte(dst, read, remote, result);
                self.zero_tail(dst, read, cap, clean);
            }
            Value::Memory(_) | Value::Remote(_) => {
                let size = self.size_of(from).min(cap);
                self.store_bytes(value, size, dst);
                self.zero_tail(dst, size, cap, clean);
            }
            Value::Scalar(_) | Value::Unit => self.zero_tail(dst, 0, cap, clean),
        }
    }

    /// A char array in foreign memory ends where it ends, NUL or not.
    fn remote_cap(&self, from: &Type) -> Option<u32> {
        match from {
            Type::Str { cap } => Some(*cap),
            Type::Array { len, .. } if *len > 0 => Some(*len),
            _ => None,
        }
    }

    /// Reads a string; what cannot be read is the empty string and is counted. Gives the helper's result.
    pub(super) fn str_from_remote(&mut self, dst: Place, cap: u32, remote: Remote, clean: bool) -> Vreg {
        if clean {
            let align = dst.align();
            self.b().zero_mem(dst.addr(), cap, align);
        }
        let result = self.read_remote_str(dst, cap, remote);
        let (failed, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Slt, result, 0, failed, done);
        self.b().switch_to(failed);
        self.b().store(dst.addr(), Size::B1, 0);
        self.count_failed_read(remote.base);
        self.b().jump(done);
        self.b().switch_to(done);
        result
    }

    /// A read that failed is told to the user, unless the pointer was null.
    pub(super) fn count_failed_read(&mut self, address: Operand) {
        let (count, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Eq, address, 0, done, count);
        self.b().switch_to(count);
        self.bump(Counter::ReadFailed);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    /// The helper ends what it cuts with a NUL. The byte in its place is read again: it says that the string was cut, and an array of
    /// characters may be full.
    pub(super) fn keep_last_byte(&mut self, dst: Place, cap: u32, remote: Remote, result: Vreg) {
        let (full, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Eq, result, i64::from(cap), full, done);
        self.b().switch_to(full);
        let last = Remote { off: remote.off + i64::from(cap) - 1, ..remote };
        self.read_remote(dst.at(cap - 1), 1.into(), last);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    pub(super) fn zero_tail(&mut self, dst: Place, from: u32, cap: u32, clean: bool) {
        if from >= cap {
            return;
        }
        let tail = dst.at(from);
        if clean {
            let align = tail.align();
            self.b().zero_mem(tail.addr(), cap - from, align);
        } else {
            self.b().store(tail.addr(), Size::B1, 0);
        }
    }

    fn store_text(&mut self, text: &[u8], cap: u32, dst: Place, clean: bool) {
        let mut bytes = text.to_vec();
        bytes.truncate(cap as usize);
        let used = bytes.len() as u32;
        if used > IMMEDIATE_LIMIT {
            let (map, offset) = self.plan.constant(&bytes);
            let base = self.b().map_value_ptr(map, offset);
            let align = dst.align();
            self.b().copy_mem(dst.addr(), Place::new(base).addr(), used, align);
            return self.zero_tail(dst, used, cap, clean);
        }
        // The last store of text may reach into the zeroes after it.
        let end = if clean { cap } else { (used + 1).min(cap) };
        bytes.resize(end.min(used.next_multiple_of(8)).max(used) as usize, 0);
        let mut at = 0u32;
        while (at as usize) < bytes.len() {
            let place = dst.at(at);
            let left = bytes.len() as u32 - at;
            let mut size = u32::from(place.align());
            while size > left {
                size /= 2;
            }
            let mut word = [0u8; 8];
            word[..size as usize].copy_from_slice(&bytes[at as usize..(at + size) as usize]);
            let size_kind = Size::from_bytes(size).unwrap_or(Size::B1);
            self.b().store(place.addr(), size_kind, i64::from_le_bytes(word));
            at += size;
        }
        if clean || at == used {
            self.zero_tail(dst, at, cap, clean);
        }
    }

    /// Goes to `equal` if both strings are the same, else to `different`.
    pub(super) fn branch_on_strings(
        &mut self,
        lhs: (Value, Type),
        rhs: (Value, Type),
        equal: BlockId,
        different: BlockId,
    ) {
        match (lhs, rhs) {
            ((Value::Text(a), _), (Value::Text(b), _)) => {
                self.b().jump(if a == b { equal } else { different });
            }
            ((Value::Text(text), _), (other, ty)) | ((other, ty), (Value::Text(text), _)) => {
                let cap = self.size_of(&ty);
                let place = self.in_memory(other, &ty, false);
                self.branch_on_literal(place, cap, text.as_bytes(), equal, different);
            }
            ((a, a_ty), (b, b_ty)) => {
                let (a_cap, b_cap) = (self.size_of(&a_ty), self.size_of(&b_ty));
                let a = self.in_memory(a, &a_ty, false);
                let b = self.in_memory(b, &b_ty, false);
                let limit = Operand::Imm(i64::from(a_cap.min(b_cap)));
                self.compare_loop(a, b, limit, equal, different);
            }
        }
    }

    fn branch_on_literal(&mut self, place: Place, cap: u32, text: &[u8], equal: BlockId, different: BlockId) {
        let mut bytes = text.to_vec();
        if (bytes.len() as u32) < cap {
            bytes.push(0);
        } else if bytes.len() as u32 > cap {
            return self.b().jump(different);
        }
        let mut at = 0u32;
        while (at as usize) < bytes.len() {
            let here = place.at(at);
            let left = bytes.len() as u32 - at;
            let mut size = u32::from(here.align());
            while size > left {
                size /= 2;
            }
            let mut word = [0u8; 8];
            word[..size as usize].copy_from_slice(&bytes[at as usize..(at + size) as usize]);
            let loaded = self.b().load(here.addr(), Size::from_bytes(size).unwrap_or(Size::B1), false);
            let next = self.b().block();
            let expected = self.literal_operand(i64::from_le_bytes(word));
            self.b().branch(Cond::Ne, loaded, expected, different, next);
            self.b().switch_to(next);
            at += size;
        }
        self.b().jump(equal);
    }

    /// Comparisons take 32-bit immediates; larger constants go to a register.
    fn literal_operand(&mut self, value: i64) -> Operand {
        if i32::try_from(value).is_ok() { value.into() } else { self.b().copy_new(value).into() }
    }

    /// Compares byte by byte up to a NUL in both, or `limit` bytes.
    pub(super) fn compare_loop(
        &mut self,
        a: Place,
        b: Place,
        limit: Operand,
        equal: BlockId,
        different: BlockId,
    ) {
        let index = self.b().copy_new(0);
        let (head, body, same, next) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, index, limit, equal, body);
        self.b().switch_to(body);
        let left = self.byte_at(a, index);
        let right = self.byte_at(b, index);
        self.b().branch(Cond::Ne, left, right, different, same);
        self.b().switch_to(same);
        self.b().branch(Cond::Eq, left, 0, equal, next);
        self.b().switch_to(next);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
    }

    /// The byte `index` bytes from `place`.
    pub(super) fn byte_at(&mut self, place: Place, index: Vreg) -> Vreg {
        let pointer = self.b().bin(BinOp::Add, place.base, index);
        self.b().load(Addr { base: pointer, off: place.off }, Size::B1, false)
    }

    /// Length of a string up to its NUL, at most `cap`.
    pub(super) fn string_length(&mut self, place: Place, cap: u32) -> Vreg {
        let index = self.b().copy_new(0);
        let (head, body, next, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, index, i64::from(cap), done, body);
        self.b().switch_to(body);
        let byte = self.byte_at(place, index);
        self.b().branch(Cond::Eq, byte, 0, done, next);
        self.b().switch_to(next);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
        self.b().switch_to(done);
        index
    }

    /// Where `needle` stands in the string for the first time, or -1.
    pub(super) fn find_text(&mut self, place: Place, cap: u32, needle: &[u8]) -> Vreg {
        let result = self.b().copy_new(-1);
        let done = self.b().block();
        let found = self.b().block();
        if needle.is_empty() {
            self.b().copy(result, 0);
            return result;
        }
        if needle.len() as u32 > cap {
            return result;
        }
        let index = self.b().copy_new(0);
        let last = cap - needle.len() as u32;
        let (head, body, next) = (self.b().block(), self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Ugt, index, i64::from(last), done, body);
        self.b().switch_to(body);
        let pointer = self.b().bin(BinOp::Add, place.base, index);
        for (k, expected) in needle.iter().enumerate() {
            let byte = self.b().load(Addr { base: pointer, off: place.off + k as i32 }, Size::B1, false);
            if k == 0 {
                let some = self.b().block();
                self.b().branch(Cond::Eq, byte, 0, done, some);
                self.b().switch_to(some);
            }
            let matched = self.b().block();
            self.b().branch(Cond::Ne, byte, i64::from(*expected), next, matched);
            self.b().switch_to(matched);
        }
        self.b().jump(found);
        self.b().switch_to(next);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
        self.b().switch_to(found);
        self.b().copy(result, index);
        self.b().jump(done);
        self.b().switch_to(done);
        result
    }

    /// Where the string in `needle` stands in that of `hay` for the first time, or -1.
    pub(super) fn find(&mut self, hay: (Place, u32), needle: (Place, u32)) -> Vreg {
        let result = self.b().copy_new(-1);
        let index = self.b().copy_new(0);
        let (head, body, next) = (self.b().block(), self.b().block(), self.b().block());
        let (found, done) = (self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, index, i64::from(hay.1), done, body);
        self.b().switch_to(body);
        let inner = self.b().copy_new(0);
        let (inner_head, inner_body) = (self.b().block(), self.b().block());
        self.b().jump(inner_head);
        self.b().switch_to(inner_head);
        self.b().branch(Cond::Uge, inner, i64::from(needle.1), found, inner_body);
        self.b().switch_to(inner_body);
        let wanted = self.byte_at(needle.0, inner);
        let (more, inside) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Eq, wanted, 0, found, more);
        self.b().switch_to(more);
        let at = self.b().bin(BinOp::Add, index, inner);
        self.b().branch(Cond::Uge, at, i64::from(hay.1), next, inside);
        self.b().switch_to(inside);
        let byte = self.byte_at(hay.0, at);
        let (same, advance) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, byte, wanted, next, same);
        self.b().switch_to(same);
        self.b().branch(Cond::Eq, byte, 0, next, advance);
        self.b().switch_to(advance);
        self.b().bin_to(inner, BinOp::Add, inner, 1);
        self.b().jump(inner_head);
        self.b().switch_to(next);
        let first = self.byte_at(hay.0, index);
        let step = self.b().block();
        self.b().branch(Cond::Eq, first, 0, done, step);
        self.b().switch_to(step);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
        self.b().switch_to(found);
        self.b().copy(result, index);
        self.b().jump(done);
        self.b().switch_to(done);
        result
    }
}
