//! Instructions as text, in the style of the kernel verifier's log.

use std::fmt::Write;

use strix_model::{FunctionInfo, Insn, MapRef, MapRefKind};

use super::isa;
use crate::{Compiled, helper};

/// A program's text: a line for each instruction with its number, and a line before each function.
#[must_use]
pub fn program(program: &Compiled) -> String {
    code(&program.insns, &program.functions, &program.map_refs)
}

/// The text of a program's parts.
#[must_use]
pub fn code(insns: &[Insn], functions: &[FunctionInfo], map_refs: &[MapRef]) -> String {
    let mut out = String::new();
    for (index, function) in functions.iter().enumerate() {
        let end = functions.get(index + 1).map_or(insns.len(), |next| next.insn as usize);
        let start = function.insn as usize;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}:", function.name);
        let mut at = start;
        while at < end {
            let next = insns.get(at + 1);
            let map = map_refs.iter().find(|reference| reference.insn as usize == at);
            let _ = writeln!(out, "{at:4}: {}", instruction(insns[at], next.copied(), at, map));
            at += if is_wide(insns[at]) { 2 } else { 1 };
        }
    }
    out
}

fn is_wide(insn: Insn) -> bool {
    insn.code == isa::LD | isa::IMM | isa::DW
}

/// One instruction's text. `next` is the second slot of a wide one, `at` its number, for jump targets.
#[must_use]
pub fn instruction(insn: Insn, next: Option<Insn>, at: usize, map: Option<&MapRef>) -> String {
    let (dst, src) = (insn.regs & 15, insn.regs >> 4);
    let target = |distance: i64| at as i64 + 1 + distance;
    match insn.code & 7 {
        isa::LD if is_wide(insn) => wide(insn, next, dst, src, target(i64::from(insn.imm)), map),
        isa::LDX => format!("r{dst} = {}", memory(insn, src)),
        isa::ST => format!("{} = {}", memory(insn, dst), insn.imm),
        isa::STX if insn.code & 0xe0 == isa::ATOMIC => atomic(insn, dst, src),
        isa::STX => format!("{} = r{src}", memory(insn, dst)),
        isa::ALU => arithmetic(insn, 'w', dst, src),
        isa::ALU64 => arithmetic(insn, 'r', dst, src),
        isa::JMP | isa::JMP32 => match insn.code & 0xf0 {
            isa::EXIT => "exit".into(),
            isa::CALL if src == isa::PSEUDO_KFUNC_CALL => format!("call kfunc#{}", insn.imm),
            isa::CALL => match u32::try_from(insn.imm).ok().and_then(helper::name) {
                Some(name) => format!("call {name}#{}", insn.imm),
                None => format!("call #{}", insn.imm),
            },
            isa::JA => format!("goto {}", target(i64::from(insn.off))),
            op => {
                let class = if insn.code & 7 == isa::JMP { 'r' } else { 'w' };
                let rhs = operand(insn, class, src);
                format!("if {class}{dst} {} {rhs} goto {}", comparison(op), target(i64::from(insn.off)))
            }
        },
        _ => unknown(insn),
    }
}

fn unknown(insn: Insn) -> String {
    format!("(bad) {:02x} {:02x} {:04x} {:08x}", insn.code, insn.regs, insn.off, insn.imm)
}

fn wide(insn: Insn, next: Option<Insn>, dst: u8, src: u8, func: i64, map: Option<&MapRef>) -> String {
    let high = next.map_or(0, |next| next.imm);
    match (src, map) {
        (_, Some(MapRef { map, kind: MapRefKind::Map, .. })) => format!("r{dst} = map[{}]", map.0),
        (_, Some(MapRef { map, kind: MapRefKind::Value { offset }, .. })) => {
            format!("r{dst} = map[{}]+{offset}", map.0)
        }
        (isa::PSEUDO_FUNC, _) => format!("r{dst} = func[{func}]"),
        _ => format!("r{dst} = {:#x} ll", u64::from(insn.imm as u32) | (high as u32 as u64) << 32),
    }
}

fn memory(insn: Insn, base: u8) -> String {
    let bits = match insn.code & 0x18 {
        0x10 => 8,
        0x08 => 16,
        0x18 => 64,
        _ => 32,
    };
    format!("*(u{bits} *)(r{base} {:+})", insn.off)
}

fn atomic(insn: Insn, dst: u8, src: u8) -> String {
    let place = memory(insn, dst);
    let fetch = insn.imm & isa::FETCH != 0;
    let (name, sign) = match insn.imm & !isa::FETCH {
        0x00 => ("add", "+="),
        0x40 => ("or", "|="),
        0x50 => ("and", "&="),
        0xa0 => ("xor", "^="),
        0xe0 => ("xchg", ""),
        _ => return unknown(insn),
    };
    match (fetch, name) {
        (_, "xchg") => format!("r{src} = atomic_xchg({place}, r{src})"),
        (true, _) => format!("r{src} = atomic_fetch_{name}({place}, r{src})"),
        (false, _) => format!("lock {place} {sign} r{src}"),
    }
}

fn operand(insn: Insn, class: char, src: u8) -> String {
    match insn.code & isa::X {
        0 if insn.code & 7 == isa::JMP32 => format!("{:#x}", insn.imm),
        0 => insn.imm.to_string(),
        _ => format!("{class}{src}"),
    }
}

fn arithmetic(insn: Insn, class: char, dst: u8, src: u8) -> String {
    let rhs = operand(insn, class, src);
    let sign = match insn.code & 0xf0 {
        isa::MOV => "=",
        isa::NEG => return format!("{class}{dst} = -{class}{dst}"),
        isa::END => return format!("r{dst} = be{} r{dst}", insn.imm),
        0x00 => "+=",
        0x10 => "-=",
        0x20 => "*=",
        0x30 => "/=",
        0x40 => "|=",
        0x50 => "&=",
        0x60 => "<<=",
        0x70 => ">>=",
        0x90 => "%=",
        0xa0 => "^=",
        0xc0 => "s>>=",
        _ => return unknown(insn),
    };
    format!("{class}{dst} {sign} {rhs}")
}

fn comparison(op: u8) -> &'static str {
    match op {
        0x10 => "==",
        0x20 => ">",
        0x30 => ">=",
        0x40 => "&",
        0x50 => "!=",
        0x60 => "s>",
        0x70 => "s>=",
        0xa0 => "<",
        0xb0 => "<=",
        0xc0 => "s<",
        0xd0 => "s<=",
        _ => "?",
    }
}
