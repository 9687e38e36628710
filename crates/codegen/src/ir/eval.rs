//! What the operations of the IR mean for constants, exactly as the kernel executes them.

use super::{BinOp, Cond, Size};

/// `lhs op rhs`.
#[must_use]
pub fn bin(op: BinOp, lhs: i64, rhs: i64) -> i64 {
    let (ul, ur) = (lhs as u64, rhs as u64);
    match op {
        BinOp::Add => lhs.wrapping_add(rhs),
        BinOp::Sub => lhs.wrapping_sub(rhs),
        BinOp::Mul => lhs.wrapping_mul(rhs),
        BinOp::Udiv => ul.checked_div(ur).unwrap_or(0) as i64,
        BinOp::Umod => ul.checked_rem(ur).unwrap_or(ul) as i64,
        BinOp::Sdiv => {
            if rhs == 0 {
                0
            } else {
                lhs.wrapping_div(rhs)
            }
        }
        BinOp::Smod => {
            if rhs == 0 {
                lhs
            } else {
                lhs.wrapping_rem(rhs)
            }
        }
        BinOp::And => lhs & rhs,
        BinOp::Or => lhs | rhs,
        BinOp::Xor => lhs ^ rhs,
        BinOp::Shl => lhs.wrapping_shl(rhs as u32),
        BinOp::Lshr => ul.wrapping_shr(rhs as u32) as i64,
        BinOp::Ashr => lhs.wrapping_shr(rhs as u32),
    }
}

/// Whether the comparison holds.
#[must_use]
pub fn cond(cond: Cond, lhs: i64, rhs: i64) -> bool {
    let (ul, ur) = (lhs as u64, rhs as u64);
    match cond {
        Cond::Eq => lhs == rhs,
        Cond::Ne => lhs != rhs,
        Cond::Ult => ul < ur,
        Cond::Ule => ul <= ur,
        Cond::Ugt => ul > ur,
        Cond::Uge => ul >= ur,
        Cond::Slt => lhs < rhs,
        Cond::Sle => lhs <= rhs,
        Cond::Sgt => lhs > rhs,
        Cond::Sge => lhs >= rhs,
        Cond::Set => lhs & rhs != 0,
    }
}

/// The low bytes, extended.
#[must_use]
pub fn extend(value: i64, from: Size, signed: bool) -> i64 {
    match (from, signed) {
        (Size::B1, true) => i64::from(value as i8),
        (Size::B2, true) => i64::from(value as i16),
        (Size::B4, true) => i64::from(value as i32),
        (Size::B1, false) => i64::from(value as u8),
        (Size::B2, false) => i64::from(value as u16),
        (Size::B4, false) => i64::from(value as u32),
        (Size::B8, _) => value,
    }
}

/// The low bytes in the other order, zero-extended.
#[must_use]
pub fn bswap(value: i64, size: Size) -> i64 {
    match size {
        Size::B1 => i64::from(value as u8),
        Size::B2 => i64::from((value as u16).swap_bytes()),
        Size::B4 => i64::from((value as u32).swap_bytes()),
        Size::B8 => value.swap_bytes(),
    }
}
