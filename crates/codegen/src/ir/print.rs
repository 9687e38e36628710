//! The IR as text: one operation a line, spans as trailing comments. [`super::parse`] reads it back.

use std::fmt::{self, Write};

use strix_model::Span;

use super::{Addr, AtomicOp, BinOp, Block, Cond, Function, Module, Op, Size, Terminator, Vreg};
use crate::helper;

/// A module's text.
#[must_use]
pub fn module(module: &Module) -> String {
    module.functions.iter().map(function).collect::<Vec<_>>().join("\n")
}

/// A function's text.
#[must_use]
pub fn function(function: &Function) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_function(&mut out, function);
    out
}

/// An operation's text, without its span.
#[must_use]
pub fn op(op: &Op) -> String {
    let mut out = String::new();
    let _ = write_op(&mut out, op);
    out
}

/// A terminator's text, without its span.
#[must_use]
pub fn terminator(term: &Terminator) -> String {
    match term {
        Terminator::Jump(to) => format!("jump {to}"),
        Terminator::Branch { cond, lhs, rhs, then, els, unlikely } => {
            let hint = if *unlikely { ".unlikely" } else { "" };
            format!("branch{hint} {} {lhs}, {rhs}, {then}, {els}", cond_name(*cond))
        }
        Terminator::Return(value) => format!("return {value}"),
    }
}

fn write_function(out: &mut String, function: &Function) -> fmt::Result {
    write!(out, "function {}({})", quoted(&function.name), list(function.params.iter()))?;
    if function.vregs != used_vregs(function) {
        write!(out, " vregs {}", function.vregs)?;
    }
    out.push_str(" {\n");
    for (index, slot) in function.slots.iter().enumerate() {
        write!(out, "  slot s{index} {} size {} align {}", quoted(&slot.name), slot.size, slot.align)?;
        out.push_str(if slot.stack_only { " stack\n" } else { "\n" });
    }
    for (index, block) in function.blocks.iter().enumerate() {
        writeln!(out, "b{index}:")?;
        write_block(out, block)?;
    }
    out.push_str("}\n");
    Ok(())
}

fn write_block(out: &mut String, block: &Block) -> fmt::Result {
    for inst in &block.insts {
        out.push_str("  ");
        write_op(out, &inst.op)?;
        write_span(out, inst.span)?;
    }
    write!(out, "  {}", terminator(&block.term))?;
    write_span(out, block.term_span)
}

fn write_span(out: &mut String, span: Span) -> fmt::Result {
    if span == Span::default() {
        writeln!(out)
    } else {
        writeln!(out, " ; @{}:{}..{}", span.file.0, span.lo, span.hi)
    }
}

fn write_op(out: &mut String, op: &Op) -> fmt::Result {
    if let Some(dst) = op.dst() {
        write!(out, "{dst} = ")?;
    }
    match op {
        Op::Copy { src, .. } => write!(out, "copy {src}"),
        Op::Bin { op, lhs, rhs, .. } => write!(out, "{} {lhs}, {rhs}", bin_name(*op)),
        Op::Cmp { cond, lhs, rhs, .. } => write!(out, "cmp.{} {lhs}, {rhs}", cond_name(*cond)),
        Op::Neg { src, .. } => write!(out, "neg {src}"),
        Op::Extend { src, from, signed, .. } => write!(out, "extend.{} {src}", type_name(*from, *signed)),
        Op::Bswap { src, size, .. } => write!(out, "bswap.{} {src}", type_name(*size, false)),
        Op::Load { addr, size, signed, .. } => write!(out, "load.{} {addr}", type_name(*size, *signed)),
        Op::Store { addr, size, src } => write!(out, "store.{} {addr}, {src}", type_name(*size, false)),
        Op::Atomic { op, addr, size, src, .. } => {
            write!(out, "atomic.{}.{} {addr}, {src}", atomic_name(*op), type_name(*size, false))
        }
        Op::CopyMem { dst, src, len, align } => write!(out, "copymem {dst}, {src}, {len} align {align}"),
        Op::ZeroMem { dst, len, align } => write!(out, "zeromem {dst}, {len} align {align}"),
        Op::SlotAddr { slot, .. } => write!(out, "slot s{}", slot.0),
        Op::MapPtr { map, .. } => write!(out, "map m{}", map.0),
        Op::MapValuePtr { map, off, .. } => write!(out, "mapvalue m{} + {off}", map.0),
        Op::FuncPtr { func, .. } => write!(out, "func f{}", func.0),
        Op::Call { helper, args, pure, .. } => {
            let kind = if *pure { "call.pure" } else { "call" };
            match helper::name(*helper) {
                Some(name) => write!(out, "{kind} {name}({})", list(args.iter())),
                None => write!(out, "{kind} {helper}({})", list(args.iter())),
            }
        }
        Op::CallKfunc { btf_id, args, .. } => write!(out, "kfunc {btf_id}({})", list(args.iter())),
    }
}

fn list<T: fmt::Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// A name in double quotes; only quotes, backslashes and control characters are escaped.
fn quoted(name: &str) -> String {
    format!("{name:?}")
}

/// One more than the highest register that occurs.
pub(super) fn used_vregs(function: &Function) -> u32 {
    let mut highest = function.params.iter().map(|reg| reg.0 + 1).max().unwrap_or(0);
    let mut see = |reg: Vreg| highest = highest.max(reg.0.saturating_add(1));
    for block in &function.blocks {
        for inst in &block.insts {
            inst.op.for_each_use(&mut see);
            inst.op.dst().into_iter().for_each(&mut see);
        }
        block.term.for_each_use(&mut see);
    }
    highest
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.off {
            0 => write!(f, "[{}]", self.base),
            off if off < 0 => write!(f, "[{} - {}]", self.base, off.unsigned_abs()),
            off => write!(f, "[{} + {off}]", self.base),
        }
    }
}

fn type_name(size: Size, signed: bool) -> &'static str {
    match (size, signed) {
        (Size::B1, false) => "u8",
        (Size::B2, false) => "u16",
        (Size::B4, false) => "u32",
        (Size::B8, false) => "u64",
        (Size::B1, true) => "s8",
        (Size::B2, true) => "s16",
        (Size::B4, true) => "s32",
        (Size::B8, true) => "s64",
    }
}

/// Every comparison with its name in text.
pub(super) const CONDS: [(Cond, &str); 11] = [
    (Cond::Eq, "eq"),
    (Cond::Ne, "ne"),
    (Cond::Ult, "ult"),
    (Cond::Ule, "ule"),
    (Cond::Ugt, "ugt"),
    (Cond::Uge, "uge"),
    (Cond::Slt, "slt"),
    (Cond::Sle, "sle"),
    (Cond::Sgt, "sgt"),
    (Cond::Sge, "sge"),
    (Cond::Set, "set"),
];

/// Every two-operand operation with its name in text.
pub(super) const BINS: [(BinOp, &str); 13] = [
    (BinOp::Add, "add"),
    (BinOp::Sub, "sub"),
    (BinOp::Mul, "mul"),
    (BinOp::Udiv, "udiv"),
    (BinOp::Umod, "umod"),
    (BinOp::Sdiv, "sdiv"),
    (BinOp::Smod, "smod"),
    (BinOp::And, "and"),
    (BinOp::Or, "or"),
    (BinOp::Xor, "xor"),
    (BinOp::Shl, "shl"),
    (BinOp::Lshr, "lshr"),
    (BinOp::Ashr, "ashr"),
];

/// Every atomic operation with its name in text.
pub(super) const ATOMICS: [(AtomicOp, &str); 5] = [
    (AtomicOp::Add, "add"),
    (AtomicOp::Or, "or"),
    (AtomicOp::And, "and"),
    (AtomicOp::Xor, "xor"),
    (AtomicOp::Xchg, "xchg"),
];

fn name_of<T: PartialEq>(table: &[(T, &'static str)], item: &T) -> &'static str {
    table.iter().find(|(known, _)| known == item).map_or("?", |(_, name)| name)
}

fn cond_name(cond: Cond) -> &'static str {
    name_of(&CONDS, &cond)
}

fn bin_name(op: BinOp) -> &'static str {
    name_of(&BINS, &op)
}

fn atomic_name(op: AtomicOp) -> &'static str {
    name_of(&ATOMICS, &op)
}
