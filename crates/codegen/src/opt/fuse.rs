//! Joins a comparison, or a mask, with the branch that tests its result.

use crate::ir::flow::Defs;
use crate::ir::{BinOp, Block, Cond, Function, Op, Operand, Terminator, Vreg};

pub(crate) fn run(function: &mut Function) {
    let defs = Defs::new(function);
    let mut reads = vec![0u32; function.vregs as usize];
    for block in &function.blocks {
        let mut see = |reg: Vreg| reads[reg.0 as usize] += 1;
        block.insts.iter().for_each(|inst| inst.op.for_each_use(&mut see));
        block.term.for_each_use(&mut see);
    }
    for block in &mut function.blocks {
        while fuse(block, &defs, &reads) {}
    }
}

fn fuse(block: &mut Block, defs: &Defs, reads: &[u32]) -> bool {
    let Terminator::Branch { cond, lhs: Operand::Reg(tested), rhs: Operand::Imm(0), then, els, unlikely } =
        block.term
    else {
        return false;
    };
    let (cond, lhs, rhs, swap) = match (cond, definition(block, tested, defs)) {
        (Cond::Ne, Some(Op::Cmp { cond, lhs, rhs, .. })) => (cond, lhs, rhs, false),
        (Cond::Eq, Some(Op::Cmp { cond, lhs, rhs, .. })) => match cond.inverted() {
            Some(inverted) => (inverted, lhs, rhs, false),
            None if !unlikely => (cond, lhs, rhs, true),
            None => return false,
        },
        (Cond::Ne, Some(Op::Bin { op: BinOp::And, lhs, rhs, .. })) if reads[tested.0 as usize] == 1 => {
            (Cond::Set, lhs, rhs, false)
        }
        (Cond::Eq, Some(Op::Bin { op: BinOp::And, lhs, rhs, .. }))
            if reads[tested.0 as usize] == 1 && !unlikely =>
        {
            (Cond::Set, lhs, rhs, true)
        }
        _ => return false,
    };
    let (then, els) = if swap { (els, then) } else { (then, els) };
    block.term = Terminator::Branch { cond, lhs, rhs, then, els, unlikely };
    true
}

/// The operation that gives `reg` its value at the block's end, if its operands still have theirs.
fn definition(block: &Block, reg: Vreg, defs: &Defs) -> Option<Op> {
    let stable = |op: &Op, changed: &dyn Fn(Vreg) -> bool| {
        let mut stable = true;
        op.for_each_use(|used| stable &= !changed(used));
        stable
    };
    if let Some(at) = block.insts.iter().rposition(|inst| inst.op.dst() == Some(reg)) {
        let op = &block.insts[at].op;
        let changed = |used: Vreg| block.insts[at..].iter().any(|inst| inst.op.dst() == Some(used));
        return stable(op, &changed).then(|| op.clone());
    }
    let op = defs.single(reg)?;
    stable(op, &|used| !defs.is_single(used)).then(|| op.clone())
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    fn term(body: &str, term: &str) -> String {
        let text = format!(
            "function f(v0) {{\nb0:\n  v1 = load.u64 [v0]\n  {body}\n  {term}\nb1:\n  return 1\nb2:\n  return 2\n}}"
        );
        let out = apply(&text, super::run);
        out.lines().find(|line| line.starts_with("branch")).unwrap().to_owned()
    }

    #[test]
    fn comparisons_and_masks_join_their_branch() {
        assert_eq!(term("v2 = cmp.slt v1, 3", "branch ne v2, 0, b1, b2"), "branch slt v1, 3, b1, b2");
        assert_eq!(term("v2 = cmp.slt v1, 3", "branch eq v2, 0, b1, b2"), "branch sge v1, 3, b1, b2");
        assert_eq!(term("v2 = cmp.set v1, 3", "branch eq v2, 0, b1, b2"), "branch set v1, 3, b2, b1");
        assert_eq!(term("v2 = and v1, 4", "branch ne v2, 0, b1, b2"), "branch set v1, 4, b1, b2");
    }

    #[test]
    fn operands_that_changed_since_are_not_used() {
        assert_eq!(
            term("v2 = cmp.slt v1, 3\n  v1 = copy 9", "branch ne v2, 0, b1, b2"),
            "branch ne v2, 0, b1, b2"
        );
    }
}
