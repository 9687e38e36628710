//! Adds constants into the offsets of memory accesses: `p = add q, 8; load [p + 4]` becomes `load [q + 12]`.

use crate::ir::flow::Defs;
use crate::ir::{Addr, BinOp, Function, Op, Operand};

pub(crate) fn run(function: &mut Function) {
    let defs = Defs::new(function);
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        // The far end of a copied range must be in reach of an instruction's offset too.
        let span = match inst.op {
            Op::CopyMem { len, .. } | Op::ZeroMem { len, .. } => i64::from(len),
            _ => 8,
        };
        for addr in inst.op.addrs_mut() {
            while let Some(better) = fold(*addr, &defs, span) {
                *addr = better;
            }
        }
    }
}

fn fold(addr: Addr, defs: &Defs, span: i64) -> Option<Addr> {
    let Op::Bin { op: BinOp::Add, lhs: Operand::Reg(base), rhs: Operand::Imm(imm), .. } =
        *defs.single(addr.base)?
    else {
        return None;
    };
    let off = i64::from(addr.off).checked_add(imm)?;
    let fits = off >= i64::from(i16::MIN) && off.checked_add(span)? <= i64::from(i16::MAX);
    (fits && defs.is_single(base)).then_some(Addr { base, off: off as i32 })
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    #[test]
    fn offsets_are_folded_in() {
        let text = "function f(v0) {\nb0:\n  v1 = add v0, 8\n  v2 = add v1, 8\n  v3 = load.u64 [v2 - 4]\n  v4 = add v0, 40000\n  v5 = load.u64 [v4]\n  v6 = add v3, v5\n  return v6\n}";
        let out = apply(text, super::run);
        assert!(out.contains("load.u64 [v0 + 12]") && out.contains("load.u64 [v4]"), "{out}");
    }
}
