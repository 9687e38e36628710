//! Runs instructions, as strictly as a test can: registers that calls clobber and memory outside of regions are refused.

use std::collections::HashMap;

use strix_model::{MapIdx, MapRefKind};

use super::isa;
use crate::Compiled;
use crate::ir::interp::{Memory, Trap, World, map_handle};
use crate::ir::{AtomicOp, BinOp, Cond, Size, eval};

const BINS: [BinOp; 11] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Udiv,
    BinOp::Or,
    BinOp::And,
    BinOp::Shl,
    BinOp::Lshr,
    BinOp::Umod,
    BinOp::Xor,
    BinOp::Ashr,
];

const CONDS: [Cond; 11] = [
    Cond::Eq,
    Cond::Ne,
    Cond::Ult,
    Cond::Ule,
    Cond::Ugt,
    Cond::Uge,
    Cond::Slt,
    Cond::Sle,
    Cond::Sgt,
    Cond::Sge,
    Cond::Set,
];

const ATOMICS: [AtomicOp; 5] = [AtomicOp::Add, AtomicOp::Or, AtomicOp::And, AtomicOp::Xor, AtomicOp::Xchg];

/// What kernels up to 6.1 ask of the graph: every instruction can be reached, and a loop is closed by a jump.
pub(super) fn check_graph(program: &Compiled) {
    let count = program.insns.len();
    let mut state = vec![0u8; count];
    // An instruction and which of its successors come next.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let enter = |at: usize, path: &mut Vec<(usize, usize)>, state: &mut Vec<u8>, by_jump: bool| {
        assert!(at < count, "a jump out of the program");
        match state[at] {
            0 => {
                state[at] = 1;
                path.push((at, 0));
            }
            1 => assert!(by_jump, "{at}: a loop is closed by falling into it"),
            _ => {}
        }
    };
    for function in &program.functions {
        enter(function.insn as usize, &mut path, &mut state, false);
        while let Some(&(at, step)) = path.last() {
            let insn = program.insns[at];
            let class = insn.code & 7;
            let jumps = matches!(class, isa::JMP | isa::JMP32);
            let op = insn.code & 0xf0;
            let target = (at + 1).wrapping_add_signed(insn.off as isize);
            let next: &[(usize, bool)] = match op {
                isa::EXIT if jumps => &[],
                isa::JA if jumps => &[(target, true)],
                isa::CALL if jumps => &[(at + 1, false)],
                _ if jumps => &[(at + 1, true), (target, true)],
                _ if class == isa::LD => &[(at + 2, false)],
                _ => &[(at + 1, false)],
            };
            match next.get(step) {
                Some(&(to, by_jump)) => {
                    if let Some(last) = path.last_mut() {
                        last.1 += 1;
                    }
                    enter(to, &mut path, &mut state, by_jump);
                }
                None => {
                    state[at] = 2;
                    path.pop();
                }
            }
        }
    }
    let mut at = 0;
    while at < count {
        assert!(state[at] == 2, "{at}: cannot be reached");
        at += if program.insns[at].code & 7 == isa::LD { 2 } else { 1 };
    }
}

pub(super) fn run(
    program: &Compiled,
    context: u64,
    memory: &mut Memory,
    values: &HashMap<MapIdx, u64>,
    world: &mut impl World,
    steps: u64,
) -> Result<u64, Trap> {
    let stack = memory.add(vec![0xaa; 512]);
    let mut regs: [Option<u64>; 11] = [None; 11];
    regs[1] = Some(context);
    regs[10] = Some(stack + 512);
    let malformed = |what: String| Trap::Malformed(what);
    let mut at = 0usize;
    for _ in 0..steps {
        let insn = *program.insns.get(at).ok_or_else(|| malformed("ran off the end".into()))?;
        let (dst, src) = (usize::from(insn.regs & 15), usize::from(insn.regs >> 4));
        let get = |reg: usize| regs[reg].ok_or_else(|| malformed(format!("{at}: r{reg} is not set")));
        let offset = i64::from(insn.off);
        let size = match insn.code & 0x18 {
            0x10 => Size::B1,
            0x08 => Size::B2,
            0x00 => Size::B4,
            _ => Size::B8,
        };
        let operand = |narrow: bool| {
            let wide = if insn.code & isa::X == 0 { insn.imm as i64 as u64 } else { get(src)? };
            Ok::<u64, Trap>(if narrow { wide & 0xffff_ffff } else { wide })
        };
        let op = insn.code & 0xf0;
        let mut next = at + 1;
        match insn.code & 7 {
            isa::LD => {
                let high = program.insns[at + 1].imm;
                let value = match program.map_refs.iter().find(|r| r.insn as usize == at) {
                    Some(r) => match r.kind {
                        MapRefKind::Map => map_handle(r.map),
                        MapRefKind::Value { offset } => values[&r.map] + u64::from(offset),
                    },
                    None => u64::from(insn.imm as u32) | u64::from(high as u32) << 32,
                };
                regs[dst] = Some(value);
                next += 1;
            }
            isa::LDX => regs[dst] = Some(memory.load(get(src)?.wrapping_add_signed(offset), size)?),
            isa::ST => memory.store(get(dst)?.wrapping_add_signed(offset), size, insn.imm as i64 as u64)?,
            isa::STX if insn.code & 0xe0 == isa::ATOMIC => {
                let known = ATOMICS.into_iter().find(|op| isa::atomic(*op) == insn.imm & !isa::FETCH);
                let op = known.ok_or_else(|| malformed("atomic".into()))?;
                let old = memory.atomic(op, get(dst)?.wrapping_add_signed(offset), size, get(src)?)?;
                if insn.imm & isa::FETCH != 0 || op == AtomicOp::Xchg {
                    regs[src] = Some(old);
                }
            }
            isa::STX => memory.store(get(dst)?.wrapping_add_signed(offset), size, get(src)?)?,
            class @ (isa::ALU | isa::ALU64) => {
                let narrow = class == isa::ALU;
                let value = match op {
                    isa::MOV => operand(narrow)?,
                    isa::NEG => get(dst)?.wrapping_neg(),
                    isa::END => {
                        let size = Size::from_bytes(insn.imm as u32 / 8);
                        eval::bswap(get(dst)? as i64, size.ok_or_else(|| malformed("end".into()))?) as u64
                    }
                    _ => {
                        let bin = BINS.into_iter().find(|bin| isa::alu(*bin) == op);
                        let bin = bin.ok_or_else(|| malformed("alu".into()))?;
                        eval::bin(bin, get(dst)? as i64, operand(narrow)? as i64) as u64
                    }
                };
                regs[dst] = Some(if narrow && op != isa::END { value & 0xffff_ffff } else { value });
            }
            class => match op {
                isa::EXIT => return get(0),
                isa::CALL => {
                    let args: Vec<u64> = (1..6).map_while(|reg| regs[reg]).collect();
                    regs[0] = Some(world.call(insn.imm as u32, &args, memory)?);
                    regs[1..6].fill(None);
                }
                isa::JA => next = next.wrapping_add_signed(offset as isize),
                _ => {
                    let cond = CONDS.into_iter().find(|cond| isa::jump(*cond) == op);
                    let cond = cond.ok_or_else(|| malformed("jump".into()))?;
                    let narrow = class == isa::JMP32;
                    let left = if narrow { get(dst)? & 0xffff_ffff } else { get(dst)? };
                    if eval::cond(cond, left as i64, operand(narrow)? as i64) {
                        next = next.wrapping_add_signed(offset as isize);
                    }
                }
            },
        }
        at = next;
    }
    Err(Trap::OutOfSteps)
}
