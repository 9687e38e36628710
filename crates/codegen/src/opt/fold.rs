//! Constant folding, algebraic identities, strength reduction and canonical forms: constants stand right, `sub` of a
//! constant is an `add`, multiplication and unsigned division by a power of two are shifts.

use crate::ir::flow::Defs;
use crate::ir::{BinOp, Cond, Function, Op, Operand, Size, Terminator, Vreg, eval};

/// How far definitions are followed when looking for what is known of a value.
const DEPTH: u32 = 6;

pub(crate) fn run(function: &mut Function) {
    let mut defs = Defs::new(function);
    for block in &mut function.blocks {
        for inst in &mut block.insts {
            while let Some(better) = simplify(&inst.op, &defs) {
                inst.op = better;
                defs.replace(&inst.op);
            }
        }
        if let Terminator::Branch { cond, lhs, rhs, .. } = &mut block.term {
            let (c, l, r) = canonical(*cond, *lhs, *rhs);
            (*cond, *lhs, *rhs) = (c, l, r);
        }
    }
}

/// A better operation with the same result, if there is one.
fn simplify(op: &Op, defs: &Defs) -> Option<Op> {
    match *op {
        Op::Bin { dst, op, lhs, rhs } => bin(dst, op, lhs, rhs, defs),
        Op::Cmp { dst, cond, lhs, rhs } => cmp(dst, cond, lhs, rhs, defs),
        Op::Neg { dst, src: Operand::Imm(imm) } => Some(copy(dst, imm.wrapping_neg())),
        Op::Extend { dst, src, from, signed } => extend(dst, src, from, signed, defs),
        _ => None,
    }
}

fn copy(dst: Vreg, src: impl Into<Operand>) -> Op {
    Op::Copy { dst, src: src.into() }
}

fn bin(dst: Vreg, op: BinOp, lhs: Operand, rhs: Operand, defs: &Defs) -> Option<Op> {
    match (lhs, rhs) {
        (Operand::Imm(l), Operand::Imm(r)) => Some(copy(dst, eval::bin(op, l, r))),
        (Operand::Imm(_), Operand::Reg(_)) if op.is_commutative() => {
            Some(Op::Bin { dst, op, lhs: rhs, rhs: lhs })
        }
        (Operand::Imm(0), Operand::Reg(_)) => match op {
            BinOp::Sub => Some(Op::Neg { dst, src: rhs }),
            BinOp::Shl | BinOp::Lshr | BinOp::Ashr => Some(copy(dst, 0)),
            _ => None,
        },
        (Operand::Reg(l), Operand::Reg(r)) if l == r => match op {
            BinOp::Sub | BinOp::Xor => Some(copy(dst, 0)),
            BinOp::And | BinOp::Or => Some(copy(dst, l)),
            _ => None,
        },
        (Operand::Reg(l), Operand::Imm(r)) => bin_imm(dst, op, l, r, defs),
        _ => None,
    }
}

fn bin_imm(dst: Vreg, op: BinOp, lhs: Vreg, imm: i64, defs: &Defs) -> Option<Op> {
    let to = |op: BinOp, imm: i64| Some(Op::Bin { dst, op, lhs: lhs.into(), rhs: Operand::Imm(imm) });
    let same = Some(copy(dst, lhs));
    let power = (imm as u64).is_power_of_two().then(|| i64::from((imm as u64).trailing_zeros()));
    match (op, imm) {
        (BinOp::Sub, _) => return to(BinOp::Add, imm.wrapping_neg()),
        (BinOp::Add | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Lshr | BinOp::Ashr, 0) => return same,
        (BinOp::Mul | BinOp::Udiv | BinOp::Sdiv, 1) | (BinOp::And, -1) => return same,
        (BinOp::Umod | BinOp::Smod, 0) => return same,
        (BinOp::And | BinOp::Mul | BinOp::Udiv | BinOp::Sdiv, 0) => return Some(copy(dst, 0)),
        (BinOp::Umod, 1) | (BinOp::Smod, 1 | -1) => return Some(copy(dst, 0)),
        (BinOp::Or, -1) => return Some(copy(dst, -1)),
        (BinOp::Sdiv, -1) => return Some(Op::Neg { dst, src: lhs.into() }),
        (BinOp::And, 0xffff_ffff) => {
            return Some(Op::Extend { dst, src: lhs.into(), from: Size::B4, signed: false });
        }
        (BinOp::Shl | BinOp::Lshr | BinOp::Ashr, _) if !(0..64).contains(&imm) => return to(op, imm & 63),
        _ => {}
    }
    match (op, power) {
        (BinOp::Mul, Some(shift)) => return to(BinOp::Shl, shift),
        (BinOp::Udiv, Some(shift)) => return to(BinOp::Lshr, shift),
        (BinOp::Umod, Some(_)) => return to(BinOp::And, imm.wrapping_sub(1)),
        _ => {}
    }
    if imm > 0 && matches!(op, BinOp::Sdiv | BinOp::Smod) && known_bits(lhs, defs, DEPTH) < 64 {
        return to(if op == BinOp::Sdiv { BinOp::Udiv } else { BinOp::Umod }, imm);
    }
    if op == BinOp::And
        && imm >= 0
        && imm & imm.wrapping_add(1) == 0
        && known_bits(lhs, defs, DEPTH) <= imm.count_ones()
    {
        return same;
    }
    // (x op a) op b, where x still has the value it had.
    if let Some(&Op::Bin { op: inner, lhs: Operand::Reg(x), rhs: Operand::Imm(first), .. }) = defs.single(lhs)
        && inner == op
        && defs.is_single(x)
    {
        let both = match op {
            BinOp::Add => Some(first.wrapping_add(imm)),
            BinOp::And => Some(first & imm),
            BinOp::Or => Some(first | imm),
            BinOp::Xor => Some(first ^ imm),
            BinOp::Shl | BinOp::Lshr if first + imm < 64 => Some(first + imm),
            _ => None,
        }?;
        return Some(Op::Bin { dst, op, lhs: x.into(), rhs: Operand::Imm(both) });
    }
    None
}

fn cmp(dst: Vreg, cond: Cond, lhs: Operand, rhs: Operand, defs: &Defs) -> Option<Op> {
    if let (Operand::Imm(l), Operand::Imm(r)) = (lhs, rhs) {
        return Some(copy(dst, i64::from(eval::cond(cond, l, r))));
    }
    let better = canonical(cond, lhs, rhs);
    if better != (cond, lhs, rhs) {
        let (cond, lhs, rhs) = better;
        return Some(Op::Cmp { dst, cond, lhs, rhs });
    }
    let (Operand::Reg(reg), Operand::Imm(0)) = (lhs, rhs) else { return None };
    match cond {
        Cond::Ne if known_bits(reg, defs, DEPTH) <= 1 => Some(copy(dst, reg)),
        Cond::Eq => match defs.single(reg) {
            Some(&Op::Cmp { cond, lhs, rhs, .. }) if stable(lhs, defs) && stable(rhs, defs) => {
                Some(Op::Cmp { dst, cond: cond.inverted()?, lhs, rhs })
            }
            _ => None,
        },
        _ => None,
    }
}

fn stable(operand: Operand, defs: &Defs) -> bool {
    operand.reg().is_none_or(|reg| defs.is_single(reg))
}

/// Constants to the right, comparisons with 0 as `eq` and `ne`.
fn canonical(cond: Cond, lhs: Operand, rhs: Operand) -> (Cond, Operand, Operand) {
    let (cond, lhs, rhs) = match (lhs, rhs) {
        (Operand::Imm(_), Operand::Reg(_)) => (cond.swapped(), rhs, lhs),
        _ => (cond, lhs, rhs),
    };
    match (cond, rhs) {
        (Cond::Ult, Operand::Imm(1)) | (Cond::Ule, Operand::Imm(0)) => (Cond::Eq, lhs, Operand::Imm(0)),
        (Cond::Uge, Operand::Imm(1)) | (Cond::Ugt, Operand::Imm(0)) => (Cond::Ne, lhs, Operand::Imm(0)),
        (Cond::Set, Operand::Imm(-1)) => (Cond::Ne, lhs, Operand::Imm(0)),
        _ => (cond, lhs, rhs),
    }
}

fn extend(dst: Vreg, src: Operand, from: Size, signed: bool, defs: &Defs) -> Option<Op> {
    let reg = match src {
        Operand::Imm(imm) => return Some(copy(dst, eval::extend(imm, from, signed))),
        Operand::Reg(reg) => reg,
    };
    let bits = known_bits(reg, defs, DEPTH);
    let width = from.bytes() * 8;
    if from == Size::B8 || bits < width || (!signed && bits == width) {
        return Some(copy(dst, reg));
    }
    match *defs.single(reg)? {
        Op::Load { size, signed: true, .. } if signed && size.bytes() <= from.bytes() => Some(copy(dst, reg)),
        Op::Extend { from: inner, signed: true, .. } if signed && inner.bytes() <= from.bytes() => {
            Some(copy(dst, reg))
        }
        Op::Extend { src: Operand::Reg(x), from: inner, .. }
            if inner.bytes() >= from.bytes() && defs.is_single(x) =>
        {
            Some(Op::Extend { dst, src: x.into(), from, signed })
        }
        _ => None,
    }
}

/// How many low bits of the register can be other than zero. Only what the kernel's verifier works out as well counts, so
/// that dropping a mask never drops a bound that it needs.
pub(crate) fn known_bits(reg: Vreg, defs: &Defs, depth: u32) -> u32 {
    let Some(op) = defs.single(reg).filter(|_| depth > 0) else { return 64 };
    let of = |operand: Operand| match operand {
        Operand::Imm(imm) => 64 - (imm as u64).leading_zeros(),
        Operand::Reg(reg) if defs.is_single(reg) => known_bits(reg, defs, depth - 1),
        Operand::Reg(_) => 64,
    };
    match *op {
        Op::Copy { src, .. } => of(src),
        Op::Load { size, signed: false, .. } => size.bytes() * 8,
        Op::Extend { src, from, signed: false, .. } => of(src).min(from.bytes() * 8),
        Op::Cmp { .. } => 1,
        Op::Bin { op: BinOp::And, lhs, rhs, .. } => of(lhs).min(of(rhs)),
        Op::Bin { op: BinOp::Or | BinOp::Xor, lhs, rhs, .. } => of(lhs).max(of(rhs)),
        Op::Bin { op: BinOp::Lshr, lhs, rhs: Operand::Imm(shift), .. } => {
            of(lhs).saturating_sub((shift & 63) as u32)
        }
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    fn one(line: &str) -> String {
        let out = apply(
            &format!("function f(v0) {{\nb0:\n  v1 = load.u64 [v0]\n  {line}\n  return v2\n}}"),
            super::run,
        );
        out.lines().nth(2).unwrap().to_owned()
    }

    #[test]
    fn strength_reduction() {
        assert_eq!(one("v2 = mul v1, 8"), "v2 = shl v1, 3");
        assert_eq!(one("v2 = mul 8, v1"), "v2 = shl v1, 3");
        assert_eq!(one("v2 = udiv v1, 1024"), "v2 = lshr v1, 10");
        assert_eq!(one("v2 = umod v1, 16"), "v2 = and v1, 15");
        assert_eq!(one("v2 = udiv v1, 1000"), "v2 = udiv v1, 1000");
        assert_eq!(one("v2 = sub v1, 3"), "v2 = add v1, -3");
        assert_eq!(one("v2 = sub 0, v1"), "v2 = neg v1");
        assert_eq!(one("v2 = sdiv v1, -1"), "v2 = neg v1");
    }

    #[test]
    fn identities_and_constants() {
        for line in
            ["v2 = add v1, 0", "v2 = and v1, -1", "v2 = umod v1, 0", "v2 = sdiv v1, 1", "v2 = extend.u64 v1"]
        {
            assert_eq!(one(line), "v2 = copy v1", "{line}");
        }
        assert_eq!(one("v2 = xor v1, v1"), "v2 = copy 0");
        assert_eq!(one("v2 = smod 7, -2"), "v2 = copy 1");
        assert_eq!(one("v2 = cmp.slt -1, 0"), "v2 = copy 1");
        assert_eq!(one("v2 = cmp.ult 5, v1"), "v2 = cmp.ugt v1, 5");
        assert_eq!(one("v2 = and v1, 4294967295"), "v2 = extend.u32 v1");
    }

    #[test]
    fn masks_that_say_nothing_new_go() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u16 [v0]\n  v2 = and v1, 65535\n  v3 = extend.s32 v2\n  v4 = and v1, 255\n  v5 = add v3, v4\n  return v5\n}";
        let out = apply(text, super::run);
        assert!(out.contains("v2 = copy v1\nv3 = copy v2\nv4 = and v1, 255"), "{out}");
    }

    #[test]
    fn a_register_written_twice_is_not_looked_through() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u64 [v0]\n  v2 = add v1, 1\n  v1 = copy 5\n  v3 = add v2, 1\n  v4 = add v1, v3\n  return v4\n}";
        assert!(apply(text, super::run).contains("v3 = add v2, 1"));
    }
}
