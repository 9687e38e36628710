//! Numbers of the eBPF instruction set (linux/bpf.h, linux/bpf_common.h).

use crate::ir::{AtomicOp, BinOp, Cond, Size};

pub(super) const LD: u8 = 0x00;
pub(super) const LDX: u8 = 0x01;
pub(super) const ST: u8 = 0x02;
pub(super) const STX: u8 = 0x03;
pub(super) const ALU: u8 = 0x04;
pub(super) const JMP: u8 = 0x05;
pub(super) const JMP32: u8 = 0x06;
pub(super) const ALU64: u8 = 0x07;

pub(super) const IMM: u8 = 0x00;
pub(super) const MEM: u8 = 0x60;
pub(super) const ATOMIC: u8 = 0xc0;
pub(super) const K: u8 = 0x00;
pub(super) const X: u8 = 0x08;
pub(super) const DW: u8 = 0x18;

pub(super) const MOV: u8 = 0xb0;
pub(super) const NEG: u8 = 0x80;
pub(super) const END: u8 = 0xd0;
pub(super) const JA: u8 = 0x00;
pub(super) const CALL: u8 = 0x80;
pub(super) const EXIT: u8 = 0x90;

/// Source register of a wide load: the immediate is a map's descriptor.
pub(super) const PSEUDO_MAP_FD: u8 = 1;
/// Source register of a wide load: a map's descriptor, and an offset into its value.
pub(super) const PSEUDO_MAP_VALUE: u8 = 2;
/// Source register of a wide load: the distance to a function.
pub(super) const PSEUDO_FUNC: u8 = 4;
/// Source register of a call: the immediate is a BTF id.
pub(super) const PSEUDO_KFUNC_CALL: u8 = 2;

/// Set in an atomic's immediate when the old value is given.
pub(super) const FETCH: i32 = 1;

pub(super) fn size(size: Size) -> u8 {
    match size {
        Size::B1 => 0x10,
        Size::B2 => 0x08,
        Size::B4 => 0x00,
        Size::B8 => DW,
    }
}

/// Arithmetic; signed division does not reach this stage.
pub(super) fn alu(op: BinOp) -> u8 {
    match op {
        BinOp::Add => 0x00,
        BinOp::Sub => 0x10,
        BinOp::Mul => 0x20,
        BinOp::Udiv | BinOp::Sdiv => 0x30,
        BinOp::Or => 0x40,
        BinOp::And => 0x50,
        BinOp::Shl => 0x60,
        BinOp::Lshr => 0x70,
        BinOp::Umod | BinOp::Smod => 0x90,
        BinOp::Xor => 0xa0,
        BinOp::Ashr => 0xc0,
    }
}

pub(super) fn jump(cond: Cond) -> u8 {
    match cond {
        Cond::Eq => 0x10,
        Cond::Ugt => 0x20,
        Cond::Uge => 0x30,
        Cond::Set => 0x40,
        Cond::Ne => 0x50,
        Cond::Sgt => 0x60,
        Cond::Sge => 0x70,
        Cond::Ult => 0xa0,
        Cond::Ule => 0xb0,
        Cond::Slt => 0xc0,
        Cond::Sle => 0xd0,
    }
}

pub(super) fn atomic(op: AtomicOp) -> i32 {
    match op {
        AtomicOp::Add => 0x00,
        AtomicOp::Or => 0x40,
        AtomicOp::And => 0x50,
        AtomicOp::Xor => 0xa0,
        AtomicOp::Xchg => 0xe0,
    }
}
