//! Where local memory goes: which slots share bytes, and which leave the stack for the scratch map.

use strix_model::Span;

use crate::bitset::BitSet;
use crate::ir::flow::Flow;
use crate::ir::{BlockId, Function, Op, Operand, SlotId};
use crate::{CodegenError, ErrorKind};

/// Slots bigger than this go to the scratch map even if the stack had room.
const BIG: u32 = 128;

/// Which slots are in use at the same time.
pub(super) struct Lifetimes {
    conflicts: Vec<BitSet>,
    /// Whether a slot is used at all.
    used: Vec<bool>,
}

/// Where slots are within an area, as distances from its start to their end.
pub(super) struct Placement {
    pub(super) ends: Vec<Option<u32>>,
    /// Bytes of the area.
    pub(super) size: u32,
}

/// Slots that leave the stack, so that what stays needs at most `limit` bytes.
pub(super) fn choose(function: &Function, limit: u32) -> Result<Vec<SlotId>, CodegenError> {
    let lifetimes = Lifetimes::new(function);
    let ids = (0..function.slots.len() as u32).map(SlotId).filter(|slot| lifetimes.used[slot.0 as usize]);
    let (mut moved, mut kept): (Vec<SlotId>, Vec<SlotId>) = ids.partition(|slot| {
        let slot = &function.slots[slot.0 as usize];
        slot.size > BIG && !slot.stack_only
    });
    loop {
        // The key of the scratch map's look-up needs a place too.
        let key = if moved.is_empty() { 0 } else { 8 };
        let size = lifetimes.place(function, &kept).size + key;
        if size <= limit {
            return Ok(moved);
        }
        let size_of = |slot: &SlotId| function.slots[slot.0 as usize].size;
        let movable = kept.iter().enumerate().filter(|(_, slot)| !function.slots[slot.0 as usize].stack_only);
        match movable.max_by_key(|(_, slot)| size_of(slot)) {
            Some((index, _)) => moved.push(kept.remove(index)),
            None => {
                let biggest = kept.iter().max_by_key(|slot| size_of(slot));
                let span = biggest.map_or(Span::default(), |slot| span_of(function, *slot));
                return Err(CodegenError { span, kind: ErrorKind::StackExhausted { needed: size, limit } });
            }
        }
    }
}

/// Where the address of a slot is first taken.
fn span_of(function: &Function, wanted: SlotId) -> Span {
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts
        .find(|inst| matches!(inst.op, Op::SlotAddr { slot, .. } if slot == wanted))
        .map_or(Span::default(), |i| i.span)
}

impl Lifetimes {
    pub(super) fn new(function: &Function) -> Self {
        let count = function.slots.len();
        let pointers = Pointers::new(function);
        let flow = Flow::new(function);
        let accesses: Vec<Vec<Vec<usize>>> = function
            .blocks
            .iter()
            .map(|block| block.insts.iter().map(|inst| pointers.accessed(&inst.op)).collect())
            .collect();
        let (touched, needed) = reach(function, &flow, &accesses, count);
        let mut lifetimes = Self { conflicts: vec![BitSet::new(count); count], used: vec![false; count] };
        for slot in pointers.escaped.iter() {
            lifetimes.used[slot] = true;
            (0..count).for_each(|other| lifetimes.conflict(slot, other));
        }
        for &BlockId(index) in &flow.rpo {
            let index = index as usize;
            let mut live = touched[index].clone();
            live.intersect(&needed[index].0);
            let at_entry: Vec<usize> = live.iter().collect();
            for &a in &at_entry {
                at_entry.iter().for_each(|&b| lifetimes.conflict(a, b));
            }
            lifetimes.block(&accesses[index], touched[index].clone(), &needed[index].1);
        }
        lifetimes
    }

    /// Notes the conflicts at each access of a block.
    fn block(&mut self, accesses: &[Vec<usize>], mut touched: BitSet, needed_after: &BitSet) {
        // How many accesses of a slot are still to come in the block.
        let mut ahead = vec![0u32; self.used.len()];
        accesses.iter().flatten().for_each(|&slot| ahead[slot] += 1);
        for slots in accesses {
            for &slot in slots {
                self.used[slot] = true;
                touched.insert(slot);
            }
            for &slot in slots {
                for other in touched.iter() {
                    if ahead[other] > 0 || needed_after.contains(other) {
                        self.conflicts[slot].insert(other);
                        self.conflicts[other].insert(slot);
                    }
                }
            }
            slots.iter().for_each(|&slot| ahead[slot] -= 1);
        }
    }

    fn conflict(&mut self, a: usize, b: usize) {
        self.conflicts[a].insert(b);
        self.conflicts[b].insert(a);
    }

    /// Gives each of these slots a place; those not used at the same time may overlap.
    pub(super) fn place(&self, function: &Function, slots: &[SlotId]) -> Placement {
        let mut order: Vec<SlotId> = slots.iter().copied().filter(|s| self.used[s.0 as usize]).collect();
        order.sort_by_key(|slot| std::cmp::Reverse(function.slots[slot.0 as usize].size));
        let mut placement = Placement { ends: vec![None; function.slots.len()], size: 0 };
        for &slot in &order {
            let (size, align) = {
                let slot = &function.slots[slot.0 as usize];
                (slot.size, u32::from(slot.align))
            };
            let mut taken: Vec<(u32, u32)> = order
                .iter()
                .filter(|other| self.conflicts[slot.0 as usize].contains(other.0 as usize))
                .filter_map(|other| {
                    let end = placement.ends[other.0 as usize]?;
                    Some((end - function.slots[other.0 as usize].size, end))
                })
                .collect();
            taken.sort_unstable();
            let mut end = size.next_multiple_of(align);
            for (start, taken_end) in taken {
                if start < end && end - size < taken_end {
                    end = (taken_end + size).next_multiple_of(align);
                }
            }
            placement.ends[slot.0 as usize] = Some(end);
            placement.size = placement.size.max(end);
        }
        placement.size = placement.size.next_multiple_of(8);
        placement
    }
}

/// For each block, slots that may have been accessed before it; and those that may be accessed from its start on and after
/// its end.
fn reach(
    function: &Function,
    flow: &Flow,
    accesses: &[Vec<Vec<usize>>],
    count: usize,
) -> (Vec<BitSet>, Vec<(BitSet, BitSet)>) {
    let empty = BitSet::new(count);
    let mut own = vec![empty.clone(); function.blocks.len()];
    for (own, accesses) in own.iter_mut().zip(accesses) {
        accesses.iter().flatten().for_each(|&slot| own.insert(slot));
    }
    let mut touched = vec![empty.clone(); function.blocks.len()];
    let mut needed: Vec<(BitSet, BitSet)> = own.iter().map(|own| (own.clone(), empty.clone())).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in &flow.rpo {
            let mut after = touched[block.0 as usize].clone();
            after.union(&own[block.0 as usize]);
            for target in function.blocks[block.0 as usize].term.successors() {
                changed |= touched[target.0 as usize].union(&after);
            }
        }
        for block in flow.rpo.iter().rev() {
            for target in function.blocks[block.0 as usize].term.successors() {
                let next = needed[target.0 as usize].0.clone();
                let (before, after) = &mut needed[block.0 as usize];
                changed |= after.union(&next);
                changed |= before.union(&next);
            }
        }
    }
    (touched, needed)
}

/// Which registers may point into which slots.
struct Pointers {
    of: Vec<Vec<usize>>,
    /// Slots whose address is kept in memory, so that their uses cannot be seen.
    escaped: BitSet,
}

impl Pointers {
    fn new(function: &Function) -> Self {
        let mut pointers = Self {
            of: vec![Vec::new(); function.vregs as usize],
            escaped: BitSet::new(function.slots.len()),
        };
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let mut changed = true;
        while changed {
            changed = false;
            for inst in insts() {
                let Some(dst) = inst.op.dst() else { continue };
                let mut new = Vec::new();
                match &inst.op {
                    Op::SlotAddr { slot, .. } => new.push(slot.0 as usize),
                    Op::Load { .. } | Op::Call { .. } | Op::CallKfunc { .. } | Op::Atomic { .. } => {}
                    op => op.for_each_use(|reg| new.extend(&pointers.of[reg.0 as usize])),
                }
                for slot in new {
                    if !pointers.of[dst.0 as usize].contains(&slot) {
                        pointers.of[dst.0 as usize].push(slot);
                        changed = true;
                    }
                }
            }
        }
        for inst in insts() {
            if let Op::Store { src: Operand::Reg(reg), .. } | Op::Atomic { src: Operand::Reg(reg), .. } =
                inst.op
            {
                pointers.of[reg.0 as usize].iter().for_each(|&slot| pointers.escaped.insert(slot));
            }
        }
        pointers
    }

    /// Slots that an operation may read or write.
    fn accessed(&self, op: &Op) -> Vec<usize> {
        let mut slots = Vec::new();
        op.addrs().iter().for_each(|addr| slots.extend(&self.of[addr.base.0 as usize]));
        if op.is_call() {
            for reg in op.operands().into_iter().filter_map(Operand::reg) {
                slots.extend(&self.of[reg.0 as usize]);
            }
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    fn place(text: &str) -> (Vec<Option<u32>>, u32) {
        let function = parse::function(text).unwrap();
        let all: Vec<SlotId> = (0..function.slots.len() as u32).map(SlotId).collect();
        let placement = Lifetimes::new(&function).place(&function, &all);
        (placement.ends, placement.size)
    }

    const TWO: &str = "function f(v0) {
  slot s0 \"a\" size 16 align 8
  slot s1 \"b\" size 8 align 8
b0:
  v1 = slot s0
  v2 = slot s1
  store.u64 [v1], 1
  call 5(v1)
  store.u64 [v2], 2
  call 5(v2)
  return 0
}";

    #[test]
    fn slots_used_one_after_the_other_share() {
        assert_eq!(place(TWO), (vec![Some(16), Some(8)], 16));
    }

    #[test]
    fn slots_used_at_the_same_time_do_not() {
        let both = TWO.replace("  call 5(v2)", "  call 5(v2, v1)");
        assert_eq!(place(&both), (vec![Some(16), Some(24)], 24));
        let looped = TWO.replace("  return 0", "  branch eq v0, 0, b0, b1\nb1:\n  return 0");
        assert_eq!(place(&looped).1, 24);
        let escaped = TWO.replace("  return 0", "  store.u64 [v0], v1\n  return 0");
        assert_eq!(place(&escaped).1, 24);
    }

    #[test]
    fn big_slots_leave_the_stack_unless_they_must_stay() {
        let big = TWO.replace("size 16", "size 200");
        assert_eq!(choose(&parse::function(&big).unwrap(), 512).unwrap(), [SlotId(0)]);
        let stack = big.replace("size 200 align 8", "size 200 align 8 stack");
        assert_eq!(choose(&parse::function(&stack).unwrap(), 512).unwrap(), []);
        let error = choose(&parse::function(&stack).unwrap(), 100).unwrap_err();
        // With the key of the look-up that the other slot would then need.
        assert_eq!(error.kind, ErrorKind::StackExhausted { needed: 208, limit: 100 });
    }
}
