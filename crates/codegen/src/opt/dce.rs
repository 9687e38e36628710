//! Dead code: results nobody reads, and stores to slots nobody reads.

use crate::bitset::BitSet;
use crate::ir::flow::{Defs, Flow, LiveOut, step_back};
use crate::ir::{AtomicOp, Function, Op, Operand, SlotId, Vreg};

pub(crate) fn run(function: &mut Function) {
    drop_unread_slots(function);
    let flow = Flow::new(function);
    let live_out = LiveOut::new(function, &flow);
    let mut live = BitSet::new(function.vregs as usize);
    for (index, block) in function.blocks.iter_mut().enumerate() {
        live_out.load(index, &mut live);
        block.term.for_each_use(|reg| live.insert(reg.0 as usize));
        let mut kept = Vec::with_capacity(block.insts.len());
        for mut inst in std::mem::take(&mut block.insts).into_iter().rev() {
            let unread = inst.op.dst().is_some_and(|dst| !live.contains(dst.0 as usize));
            let idle = matches!(inst.op, Op::Copy { dst, src: Operand::Reg(src) } if dst == src)
                || matches!(inst.op, Op::CopyMem { len: 0, .. } | Op::ZeroMem { len: 0, .. })
                || matches!(inst.op, Op::Call { dst: None, pure: true, .. });
            if idle || (unread && inst.op.is_removable()) {
                continue;
            }
            if unread {
                drop_result(&mut inst.op);
            }
            step_back(&inst.op, &mut live);
            kept.push(inst);
        }
        kept.reverse();
        block.insts = kept;
    }
}

fn drop_result(op: &mut Op) {
    match op {
        Op::Call { dst, .. } | Op::CallKfunc { dst, .. } => *dst = None,
        Op::Atomic { op, fetch, .. } if *op != AtomicOp::Xchg => *fetch = None,
        _ => {}
    }
}

/// Drops what writes to slots whose address goes nowhere but into such writes.
fn drop_unread_slots(function: &mut Function) {
    let defs = Defs::new(function);
    let slot_of = |reg: Vreg| match defs.single(reg) {
        Some(&Op::SlotAddr { slot, .. }) => Some(slot),
        _ => None,
    };
    let mut read = vec![false; function.slots.len()];
    let mut mark = |slot: Option<SlotId>| {
        if let Some(slot) = slot {
            read[slot.0 as usize] = true;
        }
    };
    for block in &function.blocks {
        for inst in &block.insts {
            if let Op::SlotAddr { dst, slot } = inst.op
                && !defs.is_single(dst)
            {
                mark(Some(slot));
            }
            let written = written_through(&inst.op);
            let mut skipped = false;
            inst.op.for_each_use(|reg| {
                if Some(reg) == written && !skipped {
                    skipped = true;
                } else {
                    mark(slot_of(reg));
                }
            });
        }
        block.term.for_each_use(|reg| mark(slot_of(reg)));
    }
    for block in &mut function.blocks {
        block.insts.retain(|inst| {
            let slot = written_through(&inst.op).and_then(slot_of);
            slot.is_none_or(|slot| read[slot.0 as usize])
        });
    }
}

/// The pointer an operation only writes through.
fn written_through(op: &Op) -> Option<Vreg> {
    match op {
        Op::Store { addr, .. } => Some(addr.base),
        Op::CopyMem { dst, .. } | Op::ZeroMem { dst, .. } => Some(dst.base),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    #[test]
    fn unread_results_go_and_effects_stay() {
        let text = "function f(v0) {\n  slot s0 \"x\" size 8 align 8\nb0:\n  v1 = load.u64 [v0]\n  v2 = add v1, 1\n  v3 = call.pure 5()\n  v4 = call 7()\n  v5 = atomic.add.u64 [v0], 1\n  return 0\n}";
        assert_eq!(
            apply(text, super::run),
            "slot s0 \"x\" size 8 align 8\nb0:\ncall get_prandom_u32()\natomic.add.u64 [v0], 1\nreturn 0"
        );
    }

    #[test]
    fn stores_to_unread_slots_go() {
        let text = "function f(v0) {\n  slot s0 \"x\" size 8 align 8\n  slot s1 \"y\" size 8 align 8\nb0:\n  v1 = slot s0\n  store.u64 [v1], 3\n  zeromem [v1], 8 align 8\n  v2 = slot s1\n  store.u64 [v2], v2\n  call 5(v2)\n  return 0\n}";
        let out = apply(text, super::run);
        assert!(!out.contains("v1") && out.contains("store.u64 [v2], v2"), "{out}");
    }

    #[test]
    fn a_slot_that_points_to_itself_is_kept() {
        let text = "function f(v0) {\n  slot s0 \"x\" size 8 align 8\nb0:\n  v1 = slot s0\n  store.u64 [v1], v1\n  return 0\n}";
        assert!(apply(text, super::run).contains("store.u64 [v1], v1"));
    }
}
