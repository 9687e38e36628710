//! Keeps the context in the register it came in until the predicate has been looked at.
//!
//! A context that is read after a call has to move to a register that calls leave alone. Programs that filter most events away
//! should not pay for that first, so the move is put off past branches of which only one side reads the context.

use crate::bitset::BitSet;
use crate::ir::flow::{Flow, LiveOut, step_back};
use crate::ir::{BlockId, Function, Inst, Op, Operand, Terminator, Vreg};

/// Gives the context's later life a register of its own, and says which. There is none if nothing is gained.
pub(super) fn context(function: &mut Function) -> Vec<Vreg> {
    let Some(&param) = function.params.first() else { return Vec::new() };
    let written = function.blocks.iter().flat_map(|b| &b.insts).any(|inst| inst.op.dst() == Some(param));
    let flow = Flow::new(function);
    let mut block = BlockId(0);
    let mut early = vec![block];
    while let Some(next) = only_reader(function, &flow, block, param) {
        early.push(next);
        block = next;
    }
    early.pop();
    if written || early.is_empty() || !calls_before_reads(function, &flow, param) {
        return Vec::new();
    }
    function.vregs += 1;
    let late = Vreg(function.vregs - 1);
    for (index, body) in function.blocks.iter_mut().enumerate() {
        if early.contains(&BlockId(index as u32)) {
            continue;
        }
        for inst in &mut body.insts {
            inst.op.operands_mut().into_iter().for_each(|operand| rename(operand, param, late));
            for addr in inst.op.addrs_mut() {
                if addr.base == param {
                    addr.base = late;
                }
            }
            if let Op::Bswap { src, .. } = &mut inst.op
                && *src == param
            {
                *src = late;
            }
        }
        body.term.operands_mut().into_iter().for_each(|operand| rename(operand, param, late));
    }
    let body = &mut function.blocks[block.0 as usize];
    let span = body.insts.first().map_or(body.term_span, |inst| inst.span);
    body.insts.insert(0, Inst { op: Op::Copy { dst: late, src: param.into() }, span });
    vec![late]
}

fn rename(operand: &mut Operand, from: Vreg, to: Vreg) {
    if *operand == Operand::Reg(from) {
        *operand = Operand::Reg(to);
    }
}

/// The successor of a block without calls that alone goes on to read the register, if it follows nothing else.
fn only_reader(function: &Function, flow: &Flow, block: BlockId, reg: Vreg) -> Option<BlockId> {
    let body = &function.blocks[block.0 as usize];
    let branches = matches!(body.term, Terminator::Branch { .. });
    if !branches || body.insts.iter().any(|inst| inst.op.is_call()) {
        return None;
    }
    let readers: Vec<BlockId> =
        body.term.successors().into_iter().filter(|&next| reads_from(function, next, reg)).collect();
    match readers[..] {
        [reader] if flow.preds[reader.0 as usize].len() == 1 && reader != BlockId(0) => Some(reader),
        _ => None,
    }
}

/// Whether the register is read in a block or after it.
fn reads_from(function: &Function, start: BlockId, reg: Vreg) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    let mut work = vec![start];
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut seen[at.0 as usize], true) {
            continue;
        }
        let body = &function.blocks[at.0 as usize];
        if body.insts.iter().any(|inst| inst.op.reads(reg)) || body.term.operands().contains(&reg.into()) {
            return true;
        }
        work.extend(body.term.successors());
    }
    false
}

/// Whether the register must outlive a call at all.
fn calls_before_reads(function: &Function, flow: &Flow, reg: Vreg) -> bool {
    let live_out = LiveOut::new(function, flow);
    let mut live = BitSet::new(function.vregs as usize);
    for (index, block) in function.blocks.iter().enumerate() {
        live_out.load(index, &mut live);
        block.term.for_each_use(|reg| live.insert(reg.0 as usize));
        for inst in block.insts.iter().rev() {
            if inst.op.is_call() && live.contains(reg.0 as usize) {
                return true;
            }
            step_back(&inst.op, &mut live);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::ir::{parse, print};

    const FILTER: &str = "function f(v0) {
b0:
  v1 = load.u64 [v0]
  branch eq v1, 0, b1, b2
b1:
  return 0
b2:
  call 5()
  v2 = load.u64 [v0 + 8]
  return v2
}";

    fn sunk(text: &str) -> String {
        let mut function = parse::function(text).unwrap();
        super::context(&mut function);
        print::function(&function)
    }

    #[test]
    fn the_copy_follows_the_branch() {
        let expected = "b2:\n  v3 = copy v0\n  call ktime_get_ns()\n  v2 = load.u64 [v3 + 8]\n";
        assert!(sunk(FILTER).contains(expected), "{}", sunk(FILTER));
    }

    #[test]
    fn nothing_is_copied_for_nothing() {
        for text in [
            // No call that it must outlive, read on both sides, a way back to the reader, written to.
            FILTER.replace("  call 5()\n", ""),
            FILTER.replace("  return 0", "  v2 = load.u64 [v0]\n  return v2"),
            FILTER.replace("  return v2", "  branch eq v2, 0, b2, b1"),
            FILTER.replace("  return v2", "  v0 = copy 1\n  return v2"),
        ] {
            assert!(!sunk(&text).contains("copy v0"), "{text}");
        }
    }
}
