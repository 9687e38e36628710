//! Reading and writing values in memory: ours directly, others' by the helper that fits the address space.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Operand, Size, Vreg};

use super::function::Lower;
use super::value::{Place, Remote, Value};
use crate::types::{FieldLayout, Space, Type};

impl Lower<'_, '_> {
    /// A scalar of the type at a place of ours.
    pub(super) fn load(&mut self, place: Place, ty: &Type) -> Operand {
        let size = Size::from_bytes(self.size_of(ty)).unwrap_or(Size::B8);
        if u32::from(place.align()) >= size.bytes() || !self.strict_alignment(place) {
            return self.b().load(place.addr(), size, ty.is_signed()).into();
        }
        let copy = self.slot("unaligned", size.bytes());
        self.b().copy_mem(copy.addr(), place.addr(), size.bytes(), place.align());
        self.b().load(copy.addr(), size, ty.is_signed()).into()
    }

    /// The stack and the context must be read aligned; map values and records need not be.
    fn strict_alignment(&self, place: Place) -> bool {
        place.base_align == 8
    }

    /// Stores a scalar.
    pub(super) fn store_scalar(&mut self, value: Operand, ty: &Type, place: Place) {
        let size = Size::from_bytes(self.size_of(ty)).unwrap_or(Size::B8);
        if u32::from(place.align()) >= size.bytes() {
            self.b().store(place.addr(), size, value);
        } else {
            let copy = self.slot("unaligned", size.bytes());
            self.b().store(copy.addr(), size, value);
            self.b().copy_mem(place.addr(), copy.addr(), size.bytes(), place.align());
        }
    }

    /// Address of remote memory.
    pub(super) fn remote_address(&mut self, remote: Remote) -> Operand {
        if remote.off == 0 {
            return remote.base;
        }
        self.b().bin_operand(BinOp::Add, remote.base, remote.off)
    }

    /// Copies `size` bytes of remote memory to `dst`, which is zeroed when they cannot be read; gives the helper's result.
    pub(super) fn read_remote(&mut self, dst: Place, size: Operand, remote: Remote) -> Vreg {
        let reader = self.reader(remote.space);
        let address = self.remote_address(remote);
        let dst = self.address(dst);
        self.b().call(reader, &[dst.into(), size, address])
    }

    /// Copies a string of at most `cap` bytes; gives its length with NUL, or a negative error.
    pub(super) fn read_remote_str(&mut self, dst: Place, cap: u32, remote: Remote) -> Vreg {
        let reader = match (remote.space, self.facts.features().probe_read_kernel) {
            (Space::Kernel, true) => helper::PROBE_READ_KERNEL_STR,
            (Space::User, true) => helper::PROBE_READ_USER_STR,
            _ => helper::PROBE_READ_STR,
        };
        let address = self.remote_address(remote);
        let dst = self.address(dst);
        self.b().call(reader, &[dst.into(), i64::from(cap).into(), address])
    }

    fn reader(&self, space: Space) -> u32 {
        match (space, self.facts.features().probe_read_kernel) {
            (Space::Kernel, true) => helper::PROBE_READ_KERNEL,
            (Space::User, true) => helper::PROBE_READ_USER,
            _ => helper::PROBE_READ,
        }
    }

    /// A scalar of the type in remote memory.
    pub(super) fn load_remote(&mut self, remote: Remote, ty: &Type) -> Operand {
        let size = self.size_of(ty);
        let copy = self.slot("read", size);
        self.read_remote(copy, i64::from(size).into(), remote);
        self.load(copy, ty)
    }

    /// The scalar that a value is.
    pub(super) fn scalar_of(&mut self, value: Value, ty: &Type) -> Operand {
        match value {
            Value::Scalar(operand) => operand,
            Value::Memory(place) => self.load(place, ty),
            Value::Remote(remote) if remote.space == Space::Bpf => {
                let place = self.own_place(remote);
                self.load(place, ty)
            }
            Value::Remote(remote) => self.load_remote(remote, ty),
            Value::Unit | Value::Text(_) => Operand::Imm(0),
        }
    }

    /// A pointer into the program's own memory as a place.
    pub(super) fn own_place(&mut self, remote: Remote) -> Place {
        let base = self.b().in_reg(remote.base);
        Place { base, off: remote.off as i32, base_align: 8, context: false }
    }

    /// A bit-field of a value that starts at `value`.
    pub(super) fn load_bits(&mut self, value: Value, shift: u8, bits: u8, ty: &Type) -> Operand {
        let bytes = (u32::from(shift) + u32::from(bits)).div_ceil(8).next_power_of_two().min(8);
        let word = Type::Int { size: bytes as u8, signed: false };
        let raw = self.scalar_of(value, &word);
        let left = 64 - i64::from(shift) - i64::from(bits);
        let top = self.b().bin(BinOp::Shl, raw, left);
        let op = if ty.is_signed() { BinOp::Ashr } else { BinOp::Lshr };
        self.b().bin(op, top, 64 - i64::from(bits)).into()
    }

    /// `value` of type `from` as a register value of type `to`.
    pub(super) fn convert(&mut self, value: Operand, from: &Type, to: &Type) -> Operand {
        if *to == Type::Bool && *from != Type::Bool {
            return self.b().cmp(strix_codegen::ir::Cond::Ne, value, 0).into();
        }
        let (from_size, to_size) = (self.size_of(from), self.size_of(to));
        // A negative number is not one of a larger type without a sign either.
        let other_sign = from.is_signed() != to.is_signed() && (to_size == from_size || from.is_signed());
        let narrows = to_size < from_size || other_sign;
        match Size::from_bytes(to_size) {
            Some(size) if narrows && to_size < 8 => self.b().extend(value, size, to.is_signed()).into(),
            _ => value,
        }
    }

    /// Stores a value of type `from` as a value of type `to`. With `clean`, every byte that does not matter is zero, which keys need.
    pub(super) fn store(&mut self, value: Value, from: &Type, to: &Type, dst: Place, clean: bool) {
        match to {
            Type::Void | Type::Aggregate(_) => {}
            Type::Str { cap } => self.store_str(value, from, *cap, dst, clean),
            Type::Tuple(items) => self.store_tuple(value, from, items, dst, clean),
            _ if to.is_scalar() => {
                let scalar = self.scalar_of(value, from);
                let scalar = self.convert(scalar, from, to);
                self.store_scalar(scalar, to, dst);
            }
            _ => self.store_bytes(value, self.size_of(from).min(self.size_of(to)), dst),
        }
    }

    /// Copies `size` bytes.
    pub(super) fn store_bytes(&mut self, value: Value, size: u32, dst: Place) {
        match value {
            Value::Memory(src) => {
                let align = src.align().min(dst.align());
                self.b().copy_mem(dst.addr(), src.addr(), size, align);
            }
            Value::Remote(remote) if remote.space == Space::Bpf => {
                let src = self.own_place(remote);
                self.b().copy_mem(dst.addr(), src.addr(), size, src.align().min(dst.align()));
            }
            Value::Remote(remote) => {
                self.read_remote(dst, i64::from(size).into(), remote);
            }
            Value::Text(text) => self.store_str(Value::Text(text), &Type::Str { cap: size }, size, dst, true),
            Value::Unit | Value::Scalar(_) => {
                let align = dst.align();
                self.b().zero_mem(dst.addr(), size, align);
            }
        }
    }

    fn store_tuple(&mut self, value: Value, from: &Type, items: &[Type], dst: Place, clean: bool) {
        let Type::Tuple(from_items) = from else { return };
        let to = Type::Tuple(items.to_vec());
        if from_items == items {
            return self.store_bytes(value, self.size_of(&to), dst);
        }
        let Value::Memory(src) = value else { return };
        self.zero_padding(items, dst);
        let (from_offsets, _) = self.typed.hir.types.tuple_layout(from_items);
        let (offsets, _) = self.typed.hir.types.tuple_layout(items);
        for (i, item) in items.iter().enumerate() {
            let part = Value::Memory(src.at(from_offsets[i]));
            self.store(part, &from_items[i], item, dst.at(offsets[i]), clean);
        }
    }

    /// Zeroes a tuple's memory if its elements leave gaps.
    pub(super) fn zero_padding(&mut self, items: &[Type], dst: Place) {
        let (_, size) = self.typed.hir.types.tuple_layout(items);
        let used: u32 = items.iter().map(|t| self.size_of(t)).sum();
        if used != size {
            let align = dst.align();
            self.b().zero_mem(dst.addr(), size, align);
        }
    }

    /// The value of a field, given the value of its record.
    pub(super) fn field(&mut self, record: Value, ty: &Type, offset: u32, layout: &FieldLayout) -> Value {
        let at = match record {
            Value::Memory(place) => Value::Memory(place.at(offset)),
            Value::Remote(remote) => Value::Remote(Remote { off: remote.off + i64::from(offset), ..remote }),
            other => other,
        };
        match layout {
            FieldLayout::Bits { shift, bits } => Value::Scalar(self.load_bits(at, *shift, *bits, ty)),
            _ => at,
        }
    }

    /// A value as memory of ours that may be given to helpers.
    pub(super) fn in_memory(&mut self, value: Value, ty: &Type, clean: bool) -> Place {
        if let Value::Memory(place) = value
            && !place.context
        {
            return place;
        }
        let slot = self.slot_for("value", ty);
        self.store(value, ty, ty, slot, clean);
        slot
    }
}
