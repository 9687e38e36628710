//! Where registers of machine code are live, as ranges of positions.
//!
//! Operation `n` in memory order reads at position `2n` and writes at `2n + 1`; a range is half open. A register that is last
//! read by an operation and one that is written by it do not overlap, so they can share a machine register.

use super::mir::{MFunction, Reg, Role};
use crate::bitset::{BitSet, Shared};

/// Ranges in ascending order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(pub(super) Vec<(u32, u32)>);

impl Ranges {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.1 <= y.0 {
                a.next();
            } else if y.1 <= x.0 {
                b.next();
            } else {
                return true;
            }
        }
        false
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let mut all: Vec<_> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        self.0.clear();
        for (start, end) in all {
            match self.0.last_mut() {
                Some(last) if last.1 >= start => last.1 = last.1.max(end),
                _ => self.0.push((start, end)),
            }
        }
    }

    /// Total length.
    pub(super) fn size(&self) -> u32 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// Adds a range that starts no later than any before it, while building from the end.
    fn prepend(&mut self, start: u32, end: u32) {
        match self.0.last_mut() {
            Some(lowest) if lowest.0 <= end => {
                lowest.0 = lowest.0.min(start);
                lowest.1 = lowest.1.max(end);
            }
            _ => self.0.push((start, end)),
        }
    }
}

/// Ranges of every register, machine registers first.
pub(super) fn ranges(function: &MFunction) -> Vec<Ranges> {
    let (shared, live_out) = live_out(function);
    let mut ranges = vec![Ranges::default(); function.regs as usize];
    let mut end: u32 = function.blocks.iter().map(|block| block.insts.len() as u32).sum::<u32>() * 2;
    for (block, live) in function.blocks.iter().zip(&live_out).rev() {
        let start = end - block.insts.len() as u32 * 2;
        shared.items(live).for_each(|reg| ranges[reg].prepend(start, end));
        for (index, inst) in block.insts.iter().enumerate().rev() {
            let at = start + index as u32 * 2;
            inst.op.for_each_reg(|reg, role| {
                if role == Role::Def {
                    let ranges = &mut ranges[reg.index()];
                    match ranges.0.last_mut() {
                        Some(lowest) if lowest.0 <= at + 1 && at + 1 < lowest.1 => lowest.0 = at + 1,
                        _ => ranges.prepend(at + 1, at + 2),
                    }
                }
            });
            inst.op.for_each_reg(|reg, role| match role {
                Role::Use => ranges[reg.index()].prepend(start, at + 1),
                Role::Both => ranges[reg.index()].prepend(start, at + 2),
                Role::Def => {}
            });
        }
        end = start;
    }
    ranges.iter_mut().for_each(|ranges| ranges.0.reverse());
    ranges
}

/// Registers live at the end of each block.
fn live_out(function: &MFunction) -> (Shared, Vec<BitSet>) {
    let mut shared = Shared::new(function.regs as usize);
    for (index, block) in function.blocks.iter().enumerate() {
        // Machine registers carry nothing from block to block.
        let mut see = |reg: Reg, _| {
            if !reg.is_machine() {
                shared.see(reg.index(), index);
            }
        };
        block.insts.iter().for_each(|inst| inst.op.for_each_reg(&mut see));
    }
    // What a block reads before writing it, and what it writes.
    let mut reads = vec![shared.set(); function.blocks.len()];
    let mut writes = reads.clone();
    for (index, block) in function.blocks.iter().enumerate() {
        for inst in block.insts.iter().rev() {
            inst.op.for_each_reg(|reg, role| {
                if let (Role::Def, Some(number)) = (role, shared.number(reg.index())) {
                    reads[index].remove(number);
                    writes[index].insert(number);
                }
            });
            inst.op.for_each_reg(|reg, role| {
                if let (Role::Use | Role::Both, Some(number)) = (role, shared.number(reg.index())) {
                    reads[index].insert(number);
                }
            });
        }
    }
    let live_out = solve(function, reads, &writes);
    (shared, live_out)
}

/// Backward liveness of any numbered things.
pub(super) fn solve(function: &MFunction, mut live_in: Vec<BitSet>, kills: &[BitSet]) -> Vec<BitSet> {
    let bound = live_in.first().cloned();
    let mut live_out: Vec<BitSet> = live_in.clone();
    if let Some(mut empty) = bound {
        let copy = empty.clone();
        empty.subtract(&copy);
        live_out.fill(empty);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..function.blocks.len()).rev() {
            let mut live = live_out[index].clone();
            for target in function.blocks[index].successors() {
                live.union(&live_in[target]);
            }
            live_out[index].union(&live);
            live.subtract(&kills[index]);
            changed |= live_in[index].union(&live);
        }
    }
    live_out
}

#[cfg(test)]
mod tests {
    use super::super::mir::{MBlock, MInst, MOp, Src};
    use super::*;
    use crate::ir::BinOp;

    #[test]
    fn a_register_changed_in_place_lives_on() {
        let (a, b) = (Reg::virt(0), Reg::virt(1));
        let ops = [
            MOp::Mov { dst: a, src: Src::Imm(1) },
            MOp::Mov { dst: b, src: Src::Imm(2) },
            MOp::Neg { dst: b },
            MOp::Alu { op: BinOp::Add, dst: a, src: Src::Reg(b) },
            MOp::Mov { dst: Reg::R0, src: Src::Reg(a) },
            MOp::Exit,
        ];
        let insts = ops.map(|op| MInst { op, span: strix_model::Span::default() }).to_vec();
        let blocks = vec![MBlock { insts, weight: 1.0 }];
        let function = MFunction { blocks, regs: Reg::virt(2).0, spills: 0, apart: Vec::new() };
        let ranges = ranges(&function);
        assert_eq!(ranges[a.index()].0, [(1, 9)]);
        assert_eq!(ranges[b.index()].0, [(3, 7)]);
        assert_eq!(ranges[0].0, [(9, 11)]);
    }

    #[test]
    fn ranges_touch_without_overlap() {
        let a = Ranges(vec![(1, 5), (9, 12)]);
        let b = Ranges(vec![(5, 9), (12, 13)]);
        assert!(!a.overlaps(&b) && a.overlaps(&Ranges(vec![(11, 20)])));
        let mut joined = a;
        joined.merge(&b);
        assert_eq!(joined.0, [(1, 13)]);
    }
}
