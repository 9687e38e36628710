//! The control-flow graph of a function: predecessors, order, dominators, loops, liveness.

use std::collections::BTreeMap;

use super::{BlockId, Function, Op, Vreg};
use crate::bitset::{BitSet, Shared};

/// Facts about a function's blocks. They hold until the function changes.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Predecessors of each block, only reachable ones.
    pub(crate) preds: Vec<Vec<BlockId>>,
    /// Reachable blocks in reverse postorder, the entry first.
    pub(crate) rpo: Vec<BlockId>,
    /// Immediate dominator of each reachable block; the entry's is itself.
    pub(crate) idom: Vec<Option<BlockId>>,
    /// How many loops each block is in.
    pub(crate) depth: Vec<u32>,
    /// Blocks of each loop, by its header.
    pub(crate) loops: BTreeMap<BlockId, BitSet>,
    /// Whether each loop is entered at its header only.
    pub(crate) reducible: bool,
}

impl Flow {
    pub(crate) fn new(function: &Function) -> Self {
        let succs: Vec<Vec<BlockId>> = function.blocks.iter().map(|b| b.term.successors()).collect();
        let rpo = reverse_postorder(&succs);
        let mut preds = vec![Vec::new(); succs.len()];
        for &block in &rpo {
            for target in &succs[block.0 as usize] {
                preds[target.0 as usize].push(block);
            }
        }
        let idom = dominators(&rpo, &preds);
        let mut flow =
            Self { depth: vec![0; succs.len()], preds, rpo, idom, loops: BTreeMap::new(), reducible: true };
        flow.find_loops(&succs);
        flow
    }

    pub(crate) fn is_reachable(&self, block: BlockId) -> bool {
        self.idom[block.0 as usize].is_some()
    }

    /// Whether every path to `block` leads through `by`.
    pub(crate) fn dominates(&self, by: BlockId, block: BlockId) -> bool {
        let mut at = block;
        loop {
            if at == by {
                return true;
            }
            match self.idom[at.0 as usize] {
                Some(up) if up != at => at = up,
                _ => return false,
            }
        }
    }

    fn find_loops(&mut self, succs: &[Vec<BlockId>]) {
        let mut bodies: BTreeMap<BlockId, BitSet> = BTreeMap::new();
        let mut number = vec![0; succs.len()];
        self.rpo.iter().enumerate().for_each(|(index, block)| number[block.0 as usize] = index);
        for &tail in &self.rpo {
            for &head in &succs[tail.0 as usize] {
                if number[head.0 as usize] > number[tail.0 as usize] {
                    continue;
                }
                if !self.dominates(head, tail) {
                    self.reducible = false;
                    continue;
                }
                let body = bodies.entry(head).or_insert_with(|| BitSet::new(succs.len()));
                body.insert(head.0 as usize);
                let mut work = vec![tail];
                while let Some(block) = work.pop() {
                    if !body.contains(block.0 as usize) {
                        body.insert(block.0 as usize);
                        work.extend(&self.preds[block.0 as usize]);
                    }
                }
            }
        }
        for body in bodies.values() {
            body.iter().for_each(|block| self.depth[block] += 1);
        }
        self.loops = bodies;
    }
}

fn reverse_postorder(succs: &[Vec<BlockId>]) -> Vec<BlockId> {
    let mut seen = BitSet::new(succs.len());
    let mut order = Vec::new();
    let mut work = vec![(BlockId(0), 0)];
    seen.insert(0);
    while let Some((block, next)) = work.pop() {
        match succs[block.0 as usize].get(next) {
            Some(&target) => {
                work.push((block, next + 1));
                if !seen.contains(target.0 as usize) {
                    seen.insert(target.0 as usize);
                    work.push((target, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

/// By Cooper, Harvey and Kennedy's iteration over the reverse postorder.
fn dominators(rpo: &[BlockId], preds: &[Vec<BlockId>]) -> Vec<Option<BlockId>> {
    let mut number = vec![usize::MAX; preds.len()];
    rpo.iter().enumerate().for_each(|(index, block)| number[block.0 as usize] = index);
    let mut idom: Vec<Option<BlockId>> = vec![None; preds.len()];
    idom[0] = Some(BlockId(0));
    let mut changed = true;
    while changed {
        changed = false;
        for &block in rpo.iter().skip(1) {
            let mut known = preds[block.0 as usize].iter().copied().filter(|p| idom[p.0 as usize].is_some());
            let Some(first) = known.next() else { continue };
            let new = known.fold(first, |a, b| common(a, b, &idom, &number));
            if idom[block.0 as usize] != Some(new) {
                idom[block.0 as usize] = Some(new);
                changed = true;
            }
        }
    }
    idom
}

fn common(mut a: BlockId, mut b: BlockId, idom: &[Option<BlockId>], number: &[usize]) -> BlockId {
    while a != b {
        while number[a.0 as usize] > number[b.0 as usize] {
            a = idom[a.0 as usize].unwrap_or(BlockId(0));
        }
        while number[b.0 as usize] > number[a.0 as usize] {
            b = idom[b.0 as usize].unwrap_or(BlockId(0));
        }
    }
    a
}

/// Registers live at the end of each block.
#[derive(Clone, Debug)]
pub(crate) struct LiveOut {
    shared: Shared,
    sets: Vec<BitSet>,
}

impl LiveOut {
    pub(crate) fn new(function: &Function, flow: &Flow) -> Self {
        let shared = shared(function);
        let count = function.blocks.len();
        let mut live_in = vec![shared.set(); count];
        let mut writes = live_in.clone();
        for (index, block) in function.blocks.iter().enumerate() {
            let (read, written) = (&mut live_in[index], &mut writes[index]);
            let number = |reg: Vreg| shared.number(reg.0 as usize);
            block.term.for_each_use(|reg| number(reg).into_iter().for_each(|n| read.insert(n)));
            for inst in block.insts.iter().rev() {
                if let Some(dst) = inst.op.dst().and_then(number) {
                    read.remove(dst);
                    written.insert(dst);
                }
                inst.op.for_each_use(|reg| number(reg).into_iter().for_each(|n| read.insert(n)));
            }
        }
        let mut sets = vec![shared.set(); count];
        let mut changed = true;
        while changed {
            changed = false;
            for &id in flow.rpo.iter().rev() {
                let index = id.0 as usize;
                let mut live = shared.set();
                for target in function.blocks[index].term.successors() {
                    live.union(&live_in[target.0 as usize]);
                }
                sets[index].union(&live);
                live.subtract(&writes[index]);
                changed |= live_in[index].union(&live);
            }
        }
        Self { shared, sets }
    }

    /// Makes `live` the set of a block.
    pub(crate) fn load(&self, block: usize, live: &mut BitSet) {
        live.clear();
        self.shared.items(&self.sets[block]).for_each(|reg| live.insert(reg));
    }
}

/// Which registers occur in more than one block. Parameters count as seen in the entry.
pub(crate) fn shared(function: &Function) -> Shared {
    let mut shared = Shared::new(function.vregs as usize);
    function.params.iter().for_each(|reg| shared.see(reg.0 as usize, 0));
    for (index, block) in function.blocks.iter().enumerate() {
        let mut see = |reg: Vreg| shared.see(reg.0 as usize, index);
        for inst in &block.insts {
            inst.op.for_each_use(&mut see);
            inst.op.dst().into_iter().for_each(&mut see);
        }
        block.term.for_each_use(&mut see);
    }
    shared
}

/// From the registers live after an operation to those live before it.
pub(crate) fn step_back(op: &Op, live: &mut BitSet) {
    op.dst().into_iter().for_each(|reg| live.remove(reg.0 as usize));
    op.for_each_use(|reg| live.insert(reg.0 as usize));
}

/// Where registers are written, for reasoning as in SSA about those that are written once.
#[derive(Clone, Debug)]
pub(crate) struct Defs {
    /// How often each register is written; a parameter counts as once.
    count: Vec<u32>,
    /// The operation that writes a register written once.
    op: Vec<Option<Op>>,
}

impl Defs {
    pub(crate) fn new(function: &Function) -> Self {
        let mut defs =
            Self { count: vec![0; function.vregs as usize], op: vec![None; function.vregs as usize] };
        function.params.iter().for_each(|reg| defs.count[reg.0 as usize] += 1);
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if let Some(dst) = inst.op.dst() {
                defs.count[dst.0 as usize] += 1;
                defs.op[dst.0 as usize] = Some(inst.op.clone());
            }
        }
        for (count, op) in defs.count.iter().zip(&mut defs.op) {
            if *count > 1 {
                *op = None;
            }
        }
        defs
    }

    /// Whether the register has one value in each run of its scope.
    pub(crate) fn is_single(&self, reg: Vreg) -> bool {
        self.count[reg.0 as usize] == 1
    }

    /// The only operation that writes the register.
    pub(crate) fn single(&self, reg: Vreg) -> Option<&Op> {
        self.op[reg.0 as usize].as_ref()
    }

    /// Notes a better operation for a register.
    pub(crate) fn replace(&mut self, op: &Op) {
        if let Some(dst) = op.dst().filter(|&dst| self.is_single(dst)) {
            self.op[dst.0 as usize] = Some(op.clone());
        }
    }
}
