//! Copy and constant propagation, and its reverse: a value computed only to be copied to a variable is computed there.

use std::collections::HashMap;

use crate::ir::flow::Defs;
use crate::ir::{Block, Function, Op, Operand, Vreg};

pub(crate) fn run(function: &mut Function) {
    forward_results(function);
    propagate(function);
}

/// How often each register is read, and whether all its reads and writes are in one block.
struct Uses {
    reads: Vec<u32>,
    home: Vec<Option<usize>>,
    spread: Vec<bool>,
}

impl Uses {
    fn new(function: &Function) -> Self {
        let vregs = function.vregs as usize;
        let mut uses = Self { reads: vec![0; vregs], home: vec![None; vregs], spread: vec![false; vregs] };
        function.params.iter().for_each(|reg| uses.spread[reg.0 as usize] = true);
        for (index, block) in function.blocks.iter().enumerate() {
            let mut see = |reg: Vreg, read: u32| {
                let home = *uses.home[reg.0 as usize].get_or_insert(index);
                uses.spread[reg.0 as usize] |= home != index;
                uses.reads[reg.0 as usize] += read;
            };
            for inst in &block.insts {
                inst.op.for_each_use(|reg| see(reg, 1));
                inst.op.dst().into_iter().for_each(|reg| see(reg, 0));
            }
            block.term.for_each_use(|reg| see(reg, 1));
        }
        uses
    }
}

/// `t = …; x = copy t` becomes `x = …` when `t` lives only here and `x` is not touched in between, nor changed while
/// `t` is still read.
fn forward_results(function: &mut Function) {
    let defs = Defs::new(function);
    let mut uses = Uses::new(function);
    for block in &mut function.blocks {
        for at in 0..block.insts.len() {
            if let Op::Copy { dst: to, src: Operand::Reg(from) } = block.insts[at].op
                && from != to
                && defs.is_single(from)
                // Plain renamings are left to propagation.
                && !defs.is_single(to)
                && !uses.spread[from.0 as usize]
                && let Some((start, end)) = scope(block, at, from, to, uses.reads[from.0 as usize])
            {
                for inst in &mut block.insts[start..end] {
                    rename(&mut inst.op, from, to);
                }
                uses.reads[to.0 as usize] += uses.reads[from.0 as usize];
                for operand in block.term.operands_mut() {
                    if *operand == Operand::Reg(from) {
                        *operand = Operand::Reg(to);
                    }
                }
            }
        }
        block.insts.retain(|inst| !is_idle(&inst.op));
    }
}

/// Whether a register is copied to itself, as the copies are that forwarding made needless.
fn is_idle(op: &Op) -> bool {
    matches!(*op, Op::Copy { dst, src: Operand::Reg(src) } if dst == src)
}

/// From where `from` is written to behind its last read in the block, if `to` can stand for it all the way.
fn scope(block: &Block, at: usize, from: Vreg, to: Vreg, reads: u32) -> Option<(usize, usize)> {
    let start = block.insts[..at].iter().rposition(|i| i.op.dst() == Some(from) && !is_idle(&i.op))?;
    let mut left = reads;
    for (index, inst) in block.insts.iter().enumerate().skip(start + 1) {
        let (mut reads_to, mut reads_from) = (false, 0);
        inst.op.for_each_use(|reg| {
            reads_to |= reg == to;
            reads_from += u32::from(reg == from);
        });
        left -= reads_from;
        let writes_to = inst.op.dst() == Some(to);
        if index < at && (reads_to || writes_to) {
            return None;
        }
        if index >= at && left == 0 {
            return Some((start, index + 1));
        }
        // An operation that changes `to` may itself read `from`; it reads before it writes.
        if index > at && writes_to {
            return None;
        }
    }
    Some((start, block.insts.len()))
}

fn rename(op: &mut Op, from: Vreg, to: Vreg) {
    for operand in op.operands_mut() {
        if *operand == Operand::Reg(from) {
            *operand = Operand::Reg(to);
        }
    }
    for addr in op.addrs_mut() {
        if addr.base == from {
            addr.base = to;
        }
    }
    if let Op::Bswap { src, .. } = op
        && *src == from
    {
        *src = to;
    }
    if let Some(dst) = op.dst_mut()
        && *dst == from
    {
        *dst = to;
    }
}

fn propagate(function: &mut Function) {
    let defs = Defs::new(function);
    let global = |reg: Vreg| match defs.single(reg) {
        Some(&Op::Copy { src: Operand::Imm(imm), .. }) => Some(Operand::Imm(imm)),
        Some(&Op::Copy { src: Operand::Reg(src), .. }) if defs.is_single(src) => Some(Operand::Reg(src)),
        _ => None,
    };
    for block in &mut function.blocks {
        // Copies in this block whose source was not changed since.
        let mut local: HashMap<Vreg, Operand> = HashMap::new();
        for inst in &mut block.insts {
            let find = |reg: Vreg| local.get(&reg).copied().or_else(|| global(reg));
            for operand in inst.op.operands_mut() {
                substitute(operand, &find);
            }
            for addr in inst.op.addrs_mut() {
                if let Some(Operand::Reg(reg)) = find(addr.base) {
                    addr.base = reg;
                }
            }
            if let Op::Bswap { src, .. } = &mut inst.op
                && let Some(Operand::Reg(reg)) = find(*src)
            {
                *src = reg;
            }
            let Some(dst) = inst.op.dst() else { continue };
            local.remove(&dst);
            if !defs.is_single(dst) {
                // What is written once was nothing's source before.
                local.retain(|_, from| *from != Operand::Reg(dst));
            }
            if let Op::Copy { src, .. } = inst.op
                && src != Operand::Reg(dst)
                // A variable keeps its register: reading the source instead would keep both alive.
                && (src.imm().is_some() || defs.is_single(dst))
            {
                local.insert(dst, src);
            }
        }
        let find = |reg: Vreg| local.get(&reg).copied().or_else(|| global(reg));
        for operand in block.term.operands_mut() {
            substitute(operand, &find);
        }
    }
}

fn substitute(operand: &mut Operand, find: &impl Fn(Vreg) -> Option<Operand>) {
    if let Operand::Reg(reg) = *operand
        && let Some(better) = find(reg)
    {
        *operand = better;
    }
}

#[cfg(test)]
mod tests {
    use crate::opt::apply;

    #[test]
    fn constants_and_copies_reach_their_uses() {
        let text = "function f(v0) {\nb0:\n  v1 = copy 7\n  v2 = copy v0\n  v3 = load.u64 [v2 + 8]\n  v4 = add v3, v1\n  jump b1\nb1:\n  v5 = add v4, v1\n  return v5\n}";
        assert_eq!(
            apply(text, super::run),
            "b0:\nv1 = copy 7\nv2 = copy v0\nv3 = load.u64 [v0 + 8]\nv4 = add v3, 7\njump b1\nb1:\nv5 = add v4, 7\nreturn v5"
        );
    }

    #[test]
    fn a_changed_source_ends_the_copy() {
        let text = "function f(v0) {\nb0:\n  v1 = copy v0\n  v0 = copy 5\n  v2 = add v1, v0\n  return v2\n}";
        assert_eq!(apply(text, super::run), "b0:\nv1 = copy v0\nv0 = copy 5\nv2 = add v1, 5\nreturn v2");
    }

    #[test]
    fn results_are_computed_in_the_variable() {
        let text = "function f(v0) {\nb0:\n  v1 = copy 0\n  jump b1\nb1:\n  v2 = add v1, 1\n  v1 = copy v2\n  branch ult v1, 9, b1, b2\nb2:\n  return v1\n}";
        assert_eq!(
            apply(text, super::run),
            "b0:\nv1 = copy 0\njump b1\nb1:\nv1 = add v1, 1\nbranch ult v1, 9, b1, b2\nb2:\nreturn v1"
        );
    }

    #[test]
    fn post_increment_keeps_the_old_value() {
        let text = "function f(v0) {\nb0:\n  v1 = load.u64 [v0]\n  v2 = copy v1\n  v3 = add v1, 1\n  v1 = copy v3\n  v4 = mul v2, v1\n  return v4\n}";
        let out = apply(text, super::run);
        assert_eq!(out, "b0:\nv1 = load.u64 [v0]\nv2 = copy v1\nv1 = add v1, 1\nv4 = mul v2, v1\nreturn v4");
    }
}
