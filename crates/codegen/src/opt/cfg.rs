//! The shape of the graph: constant branches, jumps to jumps, decisions already taken, chains of blocks, unreachable blocks.

use crate::ir::flow::Flow;
use crate::ir::{Block, BlockId, Cond, Function, Op, Operand, Terminator, eval};

/// How many empty blocks in a row a jump is followed through.
const HOPS: u32 = 16;

pub(crate) fn run(function: &mut Function) {
    for index in 0..function.blocks.len() {
        fold_branch(&mut function.blocks[index].term);
    }
    share_returns(function);
    thread_all(function);
    drop_unreachable(function);
    merge_chains(function);
    drop_unreachable(function);
}

/// Threads jumps, unless that would give a loop a second entrance: older kernels refuse a loop that is closed by falling
/// into it, and the layout can only rule that out where loops have one header.
fn thread_all(function: &mut Function) {
    let flow = Flow::new(function);
    if !flow.reducible {
        return;
    }
    let before = function.clone();
    for index in 0..function.blocks.len() {
        thread(function, BlockId(index as u32), &flow);
    }
    if !Flow::new(function).reducible {
        *function = before;
    }
}

fn fold_branch(term: &mut Terminator) {
    if let Terminator::Branch { cond, lhs, rhs, then, els, .. } = *term {
        let taken = match (lhs, rhs) {
            (Operand::Imm(l), Operand::Imm(r)) => Some(eval::cond(cond, l, r)),
            _ if then == els => Some(true),
            (Operand::Reg(l), Operand::Reg(r)) if l == r => match cond {
                Cond::Eq | Cond::Ule | Cond::Uge | Cond::Sle | Cond::Sge => Some(true),
                Cond::Ne | Cond::Ult | Cond::Ugt | Cond::Slt | Cond::Sgt => Some(false),
                Cond::Set => None,
            },
            (_, Operand::Imm(0)) => match cond {
                Cond::Uge => Some(true),
                Cond::Ult | Cond::Set => Some(false),
                _ => None,
            },
            _ => None,
        };
        if let Some(taken) = taken {
            *term = Terminator::Jump(if taken { then } else { els });
        }
    }
}

/// Blocks that only return the same constant become one.
fn share_returns(function: &mut Function) {
    let mut known: Vec<(Operand, BlockId)> = Vec::new();
    let mut instead: Vec<BlockId> = (0..function.blocks.len() as u32).map(BlockId).collect();
    for (index, block) in function.blocks.iter().enumerate().skip(1) {
        if let (true, Terminator::Return(value @ Operand::Imm(_))) = (block.insts.is_empty(), &block.term) {
            match known.iter().find(|(other, _)| other == value) {
                Some((_, first)) => instead[index] = *first,
                None => known.push((*value, BlockId(index as u32))),
            }
        }
    }
    for block in &mut function.blocks {
        for target in block.term.targets_mut() {
            *target = instead[target.0 as usize];
        }
    }
}

/// Moves the edges out of a block past empty blocks.
fn thread(function: &mut Function, id: BlockId, flow: &Flow) {
    for _ in 0..HOPS {
        let block = &function.blocks[id.0 as usize];
        let mut span = block.term_span;
        let better = match block.term {
            Terminator::Jump(to) if to != id => match &function.blocks[to.0 as usize] {
                // A copy of the decision is no dearer than the jump to it, and here it may be known.
                next @ Block { term: Terminator::Branch { .. } | Terminator::Return(_), .. }
                    if next.insts.is_empty() && may_pass(function, to, flow) =>
                {
                    span = next.term_span;
                    Some(next.term.clone())
                }
                _ => skip(function, flow, block, to, None).map(Terminator::Jump),
            },
            Terminator::Branch { cond, lhs, rhs, then, els, unlikely } => {
                let edge = |taken: bool| Some((cond, lhs, rhs, taken));
                match (
                    skip(function, flow, block, then, edge(true)),
                    skip(function, flow, block, els, edge(false)),
                ) {
                    (None, None) => None,
                    (new_then, new_els) => Some(Terminator::Branch {
                        cond,
                        lhs,
                        rhs,
                        then: new_then.unwrap_or(then),
                        els: new_els.unwrap_or(els),
                        unlikely,
                    }),
                }
            }
            _ => None,
        };
        let Some(mut better) = better else { break };
        substitute_constants(block, &mut better);
        fold_branch(&mut better);
        let block = &mut function.blocks[id.0 as usize];
        (block.term, block.term_span) = (better, span);
    }
}

/// Whether a block may be gone around. The header of a loop may if it decides about leaving the loop: the other side is the header then.
fn may_pass(function: &Function, block: BlockId, flow: &Flow) -> bool {
    let Some(body) = flow.loops.get(&block) else { return true };
    let inside = function.blocks[block.0 as usize].term.successors();
    inside.into_iter().filter(|target| body.contains(target.0 as usize)).count() == 1
}

/// A branch, and whether it was taken.
type Edge = (Cond, Operand, Operand, bool);

/// Where control goes on after an empty block reached from `block`, if that is certain.
fn skip(function: &Function, flow: &Flow, block: &Block, to: BlockId, edge: Option<Edge>) -> Option<BlockId> {
    let next = &function.blocks[to.0 as usize];
    if !next.insts.is_empty() || !may_pass(function, to, flow) {
        return None;
    }
    match next.term {
        Terminator::Jump(on) if on != to => Some(on),
        Terminator::Branch { cond, lhs, rhs, then, els, .. } => {
            let constant = |operand: Operand| operand.imm().or_else(|| constant_at_end(block, operand));
            let known = match (constant(lhs), constant(rhs)) {
                (Some(l), Some(r)) => Some(eval::cond(cond, l, r)),
                _ => edge.and_then(|edge| implied(edge, (cond, lhs, rhs))),
            }?;
            let on = if known { then } else { els };
            (on != to).then_some(on)
        }
        _ => None,
    }
}

/// What an edge says about another comparison.
fn implied((cond, lhs, rhs, taken): Edge, (asked, l, r): (Cond, Operand, Operand)) -> Option<bool> {
    if (lhs, rhs) == (l, r) {
        if cond == asked {
            return Some(taken);
        }
        if cond.inverted() == Some(asked) {
            return Some(!taken);
        }
    }
    let equal = (cond == Cond::Eq && taken) || (cond == Cond::Ne && !taken);
    match (rhs, r) {
        (Operand::Imm(value), Operand::Imm(with)) if equal && lhs == l => {
            Some(eval::cond(asked, value, with))
        }
        _ => None,
    }
}

/// The constant a register holds at the end of a block.
fn constant_at_end(block: &Block, operand: Operand) -> Option<i64> {
    let last = block.insts.iter().rev().find(|inst| inst.op.dst() == operand.reg())?;
    match last.op {
        Op::Copy { src: Operand::Imm(imm), .. } if operand.reg().is_some() => Some(imm),
        _ => None,
    }
}

fn substitute_constants(block: &Block, term: &mut Terminator) {
    for operand in term.operands_mut() {
        if let (Operand::Reg(_), Some(imm)) = (*operand, constant_at_end(block, *operand)) {
            *operand = Operand::Imm(imm);
        }
    }
}

/// Appends a block to its only predecessor when that jumps to it.
fn merge_chains(function: &mut Function) {
    let flow = Flow::new(function);
    let mut preds: Vec<usize> = flow.preds.iter().map(Vec::len).collect();
    preds[0] += 1;
    for index in 0..function.blocks.len() {
        while let Terminator::Jump(to) = function.blocks[index].term
            && preds[to.0 as usize] == 1
            && to.0 as usize != index
        {
            let next = &mut function.blocks[to.0 as usize];
            let insts = std::mem::take(&mut next.insts);
            let (term, span) = (next.term.clone(), next.term_span);
            // The emptied block is unreachable now; it must not count as a predecessor of what follows.
            next.term = Terminator::Return(Operand::Imm(0));
            preds[to.0 as usize] = 0;
            let block = &mut function.blocks[index];
            block.insts.extend(insts);
            (block.term, block.term_span) = (term, span);
        }
    }
}

fn drop_unreachable(function: &mut Function) {
    let flow = Flow::new(function);
    if flow.rpo.len() == function.blocks.len() {
        return;
    }
    let mut renumbered = vec![BlockId(0); function.blocks.len()];
    let mut kept = Vec::with_capacity(flow.rpo.len());
    for (index, block) in std::mem::take(&mut function.blocks).into_iter().enumerate() {
        if flow.is_reachable(BlockId(index as u32)) {
            renumbered[index] = BlockId(kept.len() as u32);
            kept.push(block);
        }
    }
    for block in &mut kept {
        for target in block.term.targets_mut() {
            *target = renumbered[target.0 as usize];
        }
    }
    function.blocks = kept;
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    #[test]
    fn constant_branches_and_chains_disappear() {
        let text = "function f(v0) {\nb0:\n  branch ult 1, 2, b1, b2\nb1:\n  v1 = load.u64 [v0]\n  jump b3\nb2:\n  v1 = copy 9\n  jump b3\nb3:\n  return v1\n}";
        assert_eq!(apply(text, super::run), "b0:\nv1 = load.u64 [v0]\nreturn v1");
    }

    #[test]
    fn an_implied_decision_is_not_taken_again() {
        let text = "function f(v0) {\nb0:\n  branch eq v0, 3, b1, b2\nb1:\n  branch ult v0, 9, b3, b4\nb2:\n  branch eq v0, 3, b3, b4\nb3:\n  call 5()\n  return 1\nb4:\n  call 7()\n  return 2\n}";
        assert_eq!(
            apply(text, super::run),
            "b0:\nbranch eq v0, 3, b1, b2\nb1:\ncall ktime_get_ns()\nreturn 1\nb2:\ncall get_prandom_u32()\nreturn 2"
        );
    }

    #[test]
    fn a_loop_keeps_one_entrance() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u64 [v0]\n  jump b1\nb1:\n  branch eq v1, 3, b2, b3\nb2:\n  v1 = call 5()\n  jump b4\nb3:\n  v1 = call 7()\n  jump b4\nb4:\n  branch eq v1, 0, b5, b1\nb5:\n  return 0\n}";
        assert!(
            apply(text, super::run).contains("v1 = load.u64 [v0]\njump b1\nb1:\nbranch eq v1, 3, b2, b3")
        );
    }

    #[test]
    fn a_loop_that_tests_first_is_turned() {
        let text = "function f(v0) {\nb0:\n  v1 = copy 0\n  jump b1\nb1:\n  branch ult v1, v0, b2, b3\nb2:\n  v1 = add v1, 1\n  jump b1\nb3:\n  return v1\n}";
        assert_eq!(
            apply(text, super::run),
            "b0:\nv1 = copy 0\nbranch ult 0, v0, b1, b2\nb1:\nv1 = add v1, 1\nbranch ult v1, v0, b1, b2\nb2:\nreturn v1"
        );
    }

    #[test]
    fn endless_loops_stay() {
        let text = "function f(v0) {\nb0:\n  jump b1\nb1:\n  jump b1\n}";
        assert_eq!(apply(text, super::run), "b0:\njump b1\nb1:\njump b1");
    }
}
