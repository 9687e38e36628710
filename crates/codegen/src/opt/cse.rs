//! Common subexpressions within chains of blocks that have one predecessor each.
//!
//! Calls of helpers that give the same all through a run (who and where we are) count too, and are looked for in every block that
//! dominates: a call is dearer than a register kept.
//!
//! Only registers written once take part, so nothing has to be invalidated. A load counts only when it is from the context,
//! and only up to the next call: reading the context again is cheaper than keeping a register across a call.

use std::collections::HashMap;

use crate::helper;
use crate::ir::flow::{Defs, Flow};
use crate::ir::{Function, Op, Operand, Vreg};

/// How many blocks of a chain are searched.
const CHAIN: usize = 8;

/// How many dominating blocks are searched for a call.
const DOMINATORS: usize = 64;

/// Helpers whose result does not change while a program runs.
const STEADY: [u32; 9] = [
    helper::GET_SMP_PROCESSOR_ID,
    helper::GET_CURRENT_PID_TGID,
    helper::GET_CURRENT_UID_GID,
    helper::GET_CURRENT_TASK,
    helper::GET_NUMA_NODE_ID,
    helper::GET_CURRENT_CGROUP_ID,
    helper::GET_CURRENT_TASK_BTF,
    helper::GET_FUNC_IP,
    helper::GET_ATTACH_COOKIE,
];

/// Operations already done in a block (their result register replaced by v0) with the number of calls before them.
type Table = HashMap<(Op, u32), Vreg>;

pub(crate) fn run(function: &mut Function, entry: bool) {
    let flow = Flow::new(function);
    let defs = Defs::new(function);
    let context = function.params.first().copied().filter(|&reg| entry && defs.is_single(reg));
    let mut tables: Vec<Table> = vec![Table::new(); function.blocks.len()];
    let mut calls: Vec<u32> = vec![0; function.blocks.len()];
    let mut total = 0;
    for &id in &flow.rpo {
        let index = id.0 as usize;
        let mut chain = Vec::new();
        let mut at = index;
        while let [pred] = flow.preds[at][..]
            && chain.len() < CHAIN
            && at != 0
        {
            at = pred.0 as usize;
            chain.push(at);
        }
        // Calls are numbered apart for blocks that are not one chain.
        let mut call = match chain.first() {
            Some(&pred) => calls[pred],
            None => total + 1,
        };
        let mut table = Table::new();
        for inst in &mut function.blocks[index].insts {
            let is_call = inst.op.is_call();
            if is_call {
                total = total.max(call) + 1;
                call = total;
            }
            let Some(dst) = inst.op.dst().filter(|&dst| defs.is_single(dst)) else { continue };
            let Some(key) = key(&inst.op, &defs, context) else { continue };
            let key = (key, if matches!(inst.op, Op::Load { .. }) { call } else { 0 });
            let before = if is_call { &dominators(&flow, index) } else { &chain };
            let tables = std::iter::once(&table).chain(before.iter().map(|&b| &tables[b]));
            match tables.into_iter().find_map(|t| t.get(&key)) {
                Some(&known) => inst.op = Op::Copy { dst, src: Operand::Reg(known) },
                None => {
                    table.insert(key, dst);
                }
            }
        }
        total = total.max(call);
        calls[index] = call;
        tables[index] = table;
    }
}

/// Blocks that every path to a block leads through, nearest first.
fn dominators(flow: &Flow, block: usize) -> Vec<usize> {
    let up = |&at: &usize| flow.idom[at].map(|up| up.0 as usize).filter(|&up| up != at);
    std::iter::successors(up(&block), up).take(DOMINATORS).collect()
}

/// The operation without its result, if doing it again gives the same.
fn key(op: &Op, defs: &Defs, context: Option<Vreg>) -> Option<Op> {
    let pure = match op {
        Op::Bin { .. }
        | Op::Cmp { .. }
        | Op::Neg { .. }
        | Op::Extend { .. }
        | Op::Bswap { .. }
        | Op::SlotAddr { .. }
        | Op::MapPtr { .. }
        | Op::MapValuePtr { .. }
        | Op::FuncPtr { .. } => true,
        Op::Load { addr, .. } => context == Some(addr.base),
        Op::Call { helper, pure, .. } => *pure && STEADY.contains(helper),
        _ => false,
    };
    let mut stable = pure;
    op.for_each_use(|reg| stable &= defs.is_single(reg));
    stable.then(|| {
        let mut key = op.clone();
        if let Some(dst) = key.dst_mut() {
            *dst = Vreg(0);
        }
        key
    })
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    #[test]
    fn pure_operations_and_context_loads_are_shared() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u64 [v0 + 8]\n  v2 = add v1, 3\n  v3 = load.u64 [v0 + 8]\n  v4 = add v1, 3\n  branch eq v3, v4, b1, b2\nb1:\n  v5 = add v1, 3\n  return v5\nb2:\n  call 5()\n  v6 = load.u64 [v0 + 8]\n  return v6\n}";
        let out = apply(text, |f| super::run(f, true));
        assert_eq!(
            out,
            "b0:\nv1 = load.u64 [v0 + 8]\nv2 = add v1, 3\nv3 = copy v1\nv4 = copy v2\nbranch eq v3, v4, b1, b2\nb1:\nv5 = copy v2\nreturn v5\nb2:\ncall ktime_get_ns()\nv6 = load.u64 [v0 + 8]\nreturn v6"
        );
    }

    #[test]
    fn who_runs_is_asked_once() {
        let text = "function f(v0) {\nb0:\n  v1 = call.pure get_current_pid_tgid()\n  v2 = call.pure ktime_get_ns()\n  branch eq v1, v2, b1, b2\nb1:\n  call 7()\n  jump b2\nb2:\n  v3 = call.pure get_current_pid_tgid()\n  v4 = call.pure ktime_get_ns()\n  v5 = add v3, v4\n  return v5\n}";
        let out = apply(text, |f| super::run(f, true));
        assert!(out.contains("v3 = copy v1\nv4 = call.pure ktime_get_ns()"), "{out}");
    }

    #[test]
    fn other_loads_stay() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u64 [v0]\n  v2 = load.u64 [v1]\n  v3 = load.u64 [v1]\n  v4 = add v2, v3\n  return v4\n}";
        assert!(apply(text, |f| super::run(f, true)).contains("v3 = load.u64 [v1]"));
        let params = text.replace("[v1]", "[v0]");
        assert!(apply(&params, |f| super::run(f, false)).contains("v3 = load.u64 [v0]"));
    }
}
