//! Lets spilled registers that are not needed at the same time share a place.

use super::live::solve;
use super::mir::{Base, MFunction, MOp};
use crate::bitset::BitSet;

/// Renumbers spill places so that few are used.
pub(super) fn share_places(function: &mut MFunction) {
    let count = function.spills as usize;
    if count == 0 {
        return;
    }
    let conflicts = conflicts(function, count);
    let mut place: Vec<Option<u32>> = vec![None; count];
    let mut places = 0;
    // For whom a place was last found taken.
    let mut taken = vec![usize::MAX; count];
    for index in 0..count {
        for other in conflicts[index].iter() {
            if let Some(other) = place[other] {
                taken[other as usize] = index;
            }
        }
        let free = taken.iter().position(|user| *user != index).unwrap_or(0) as u32;
        place[index] = Some(free);
        places = places.max(free + 1);
    }
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        if let MOp::Load { base: Base::Spill(at), .. } | MOp::Store { base: Base::Spill(at), .. } =
            &mut inst.op
        {
            *at = place[*at as usize].unwrap_or(*at);
        }
    }
    function.spills = places;
}

/// For each place, those that hold something when it is written.
fn conflicts(function: &MFunction, count: usize) -> Vec<BitSet> {
    let empty = BitSet::new(count);
    let mut reads = vec![empty.clone(); function.blocks.len()];
    let mut writes = reads.clone();
    for (index, block) in function.blocks.iter().enumerate() {
        for inst in block.insts.iter().rev() {
            match inst.op {
                MOp::Store { base: Base::Spill(at), .. } => {
                    reads[index].remove(at as usize);
                    writes[index].insert(at as usize);
                }
                MOp::Load { base: Base::Spill(at), .. } => reads[index].insert(at as usize),
                _ => {}
            }
        }
    }
    let live_out = solve(function, reads, &writes);
    let mut conflicts = vec![empty; count];
    for (block, mut live) in function.blocks.iter().zip(live_out) {
        for inst in block.insts.iter().rev() {
            match inst.op {
                MOp::Store { base: Base::Spill(at), .. } => {
                    live.remove(at as usize);
                    for other in live.iter() {
                        conflicts[other].insert(at as usize);
                    }
                    conflicts[at as usize].union(&live);
                }
                MOp::Load { base: Base::Spill(at), .. } => live.insert(at as usize),
                _ => {}
            }
        }
    }
    conflicts
}
