//! The order of blocks in memory: likely code first and in one piece, loops together, unlikely code last.

use crate::ir::flow::Flow;
use crate::ir::{BlockId, Function, Terminator};

/// Blocks in memory order, and which of them are seldom run.
pub(super) struct Order {
    pub(super) blocks: Vec<BlockId>,
    pub(super) cold: Vec<bool>,
}

pub(super) fn order(function: &Function, flow: &Flow) -> Order {
    let count = function.blocks.len();
    let mut seen = vec![false; count];
    let mut blocks = walk(function, flow, &mut seen, BlockId(0), false);
    let mut cold: Vec<bool> = seen.iter().map(|seen| !seen).collect();
    // Unlikely code in the order of the branches that lead to it.
    let mut next = 0;
    while next < blocks.len() {
        for target in function.blocks[blocks[next].0 as usize].term.successors() {
            if !seen[target.0 as usize] {
                blocks.extend(walk(function, flow, &mut seen, target, true));
            }
        }
        next += 1;
    }
    for (index, cold) in cold.iter_mut().enumerate() {
        *cold &= flow.is_reachable(BlockId(index as u32));
    }
    Order { blocks, cold }
}

/// Reverse postorder from `start`, without unlikely edges unless `all`.
fn walk(function: &Function, flow: &Flow, seen: &mut [bool], start: BlockId, all: bool) -> Vec<BlockId> {
    let mut order = Vec::new();
    let mut work = vec![(start, successors(function, flow, start, all))];
    seen[start.0 as usize] = true;
    while let Some((block, mut next)) = work.pop() {
        match next.pop() {
            Some(target) => {
                work.push((block, next));
                if !seen[target.0 as usize] {
                    seen[target.0 as usize] = true;
                    work.push((target, successors(function, flow, target, all)));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

/// Successors, the one that should come right after the block first: it is visited last.
fn successors(function: &Function, flow: &Flow, block: BlockId, all: bool) -> Vec<BlockId> {
    match function.blocks[block.0 as usize].term {
        Terminator::Branch { els, unlikely: true, .. } if !all => vec![els],
        Terminator::Branch { then, els, unlikely, .. } => {
            let depth = |id: BlockId| flow.depth[id.0 as usize];
            let leaves = |id: BlockId| {
                let target = &function.blocks[id.0 as usize];
                target.insts.is_empty() && matches!(target.term, Terminator::Return(_))
            };
            let els_first = unlikely || depth(els) > depth(then) || (leaves(then) && !leaves(els));
            if els_first { vec![els, then] } else { vec![then, els] }
        }
        ref term => term.successors(),
    }
}
