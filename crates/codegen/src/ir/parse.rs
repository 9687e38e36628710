//! Reads the text that [`super::print`] writes. Used by tests and for trying passes by hand.

use strix_model::{FileId, MapIdx, Span};
use thiserror::Error;

use super::print::{ATOMICS, BINS, CONDS, used_vregs};
use super::{
    Addr, Block, BlockId, FuncId, Function, Inst, Module, Op, Operand, Size, Slot, SlotId, Terminator, Vreg,
};
use crate::helper;

/// Text that is not IR.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// What is wrong.
    pub what: String,
}

type Result<T> = std::result::Result<T, ParseError>;

/// Reads a module.
///
/// # Errors
/// When the text is not what the printer writes.
pub fn module(text: &str) -> Result<Module> {
    let mut functions: Vec<Function> = Vec::new();
    let mut open: Option<Open> = None;
    for (index, raw) in text.lines().enumerate() {
        let mut line = Line::new(raw, index as u32 + 1)?;
        if line.at_end() {
            continue;
        }
        match open.take() {
            None => open = Some(Open::start(&mut line)?),
            Some(function) if line.eat("}") => functions.push(function.finish(&line)?),
            Some(mut function) => {
                function.line(&mut line)?;
                open = Some(function);
            }
        }
        line.end()?;
    }
    match open {
        Some(_) => Err(ParseError { line: text.lines().count() as u32, what: "expected }".into() }),
        None => Ok(Module { functions }),
    }
}

/// Reads a single function.
///
/// # Errors
/// When the text is not what the printer writes.
pub fn function(text: &str) -> Result<Function> {
    let mut functions = module(text)?.functions;
    match (functions.pop(), functions.is_empty()) {
        (Some(function), true) => Ok(function),
        _ => Err(ParseError { line: 1, what: "expected one function".into() }),
    }
}

/// A function whose closing brace was not seen yet.
struct Open {
    function: Function,
    vregs: Option<u32>,
    /// Instructions of the block that has no terminator yet.
    insts: Option<Vec<Inst>>,
}

impl Open {
    fn start(line: &mut Line<'_>) -> Result<Self> {
        line.expect("function")?;
        let name = line.string()?;
        line.expect("(")?;
        let mut params = Vec::new();
        while !line.eat(")") {
            params.push(line.vreg()?);
            line.eat(",");
        }
        let vregs = if line.eat("vregs") { Some(line.number()?) } else { None };
        line.expect("{")?;
        let function = Function { name, params, vregs: 0, slots: Vec::new(), blocks: Vec::new() };
        Ok(Self { function, vregs, insts: None })
    }

    fn finish(mut self, line: &Line<'_>) -> Result<Function> {
        if self.insts.is_some() {
            return Err(line.error("the last block has no terminator"));
        }
        self.function.vregs = self.vregs.unwrap_or_else(|| used_vregs(&self.function));
        Ok(self.function)
    }

    fn line(&mut self, line: &mut Line<'_>) -> Result<()> {
        let span = line.span;
        match &mut self.insts {
            None if line.eat("slot") => {
                let slot = line.slot()?;
                self.function.slots.push(slot);
            }
            None => {
                let id: u32 = line.prefixed("b")?;
                line.expect(":")?;
                if id as usize != self.function.blocks.len() {
                    return Err(line.error("blocks must be numbered in order"));
                }
                self.insts = Some(Vec::new());
            }
            Some(insts) => match line.terminator()? {
                Some(term) => {
                    let insts = std::mem::take(insts);
                    self.insts = None;
                    self.function.blocks.push(Block { insts, term, term_span: span });
                }
                None => insts.push(Inst { op: line.op()?, span }),
            },
        }
        Ok(())
    }
}

/// The rest of a line.
struct Line<'a> {
    rest: &'a str,
    number: u32,
    span: Span,
}

impl<'a> Line<'a> {
    fn new(raw: &'a str, number: u32) -> Result<Self> {
        let mut line = Self { rest: raw.trim(), number, span: Span::default() };
        // A name may hold a semicolon, so only lines that cannot have one are cut.
        if !line.rest.starts_with("function")
            && !line.rest.starts_with("slot")
            && let Some((code, comment)) = line.rest.split_once(';')
        {
            line.rest = comment.trim();
            if line.eat("@") {
                let file = line.number()?;
                line.expect(":")?;
                let lo = line.number()?;
                line.expect("..")?;
                let hi = line.number()?;
                line.span = Span::new(FileId(file), lo, hi);
            }
            line.rest = code.trim();
        }
        Ok(line)
    }

    fn error(&self, what: impl Into<String>) -> ParseError {
        ParseError { line: self.number, what: what.into() }
    }

    fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.error(format!("unexpected `{}`", self.rest))) }
    }

    /// Takes a token. A word is taken only whole.
    fn eat(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if token.ends_with(word) && rest.starts_with(word) {
            return false;
        }
        self.rest = rest.trim_start();
        true
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error(format!("expected `{token}` before `{}`", self.rest)))
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let sign = self.rest.len() - digits.len();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()) + sign;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        text.parse().map_err(|_| self.error(format!("expected a number, found `{text}{rest}`")))
    }

    fn prefixed(&mut self, prefix: &str) -> Result<u32> {
        match self.rest.strip_prefix(prefix) {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                self.rest = rest;
                self.number()
            }
            _ => Err(self.error(format!("expected {prefix}N before `{}`", self.rest))),
        }
    }

    fn vreg(&mut self) -> Result<Vreg> {
        self.prefixed("v").map(Vreg)
    }

    fn block(&mut self) -> Result<BlockId> {
        self.prefixed("b").map(BlockId)
    }

    fn operand(&mut self) -> Result<Operand> {
        if self.rest.starts_with('v') {
            self.vreg().map(Operand::Reg)
        } else {
            self.number().map(Operand::Imm)
        }
    }

    fn pair(&mut self) -> Result<(Operand, Operand)> {
        let lhs = self.operand()?;
        self.expect(",")?;
        Ok((lhs, self.operand()?))
    }

    fn addr(&mut self) -> Result<Addr> {
        self.expect("[")?;
        let base = self.vreg()?;
        let off: i64 = if self.eat("+") {
            self.number()?
        } else if self.eat("-") {
            -self.number::<i64>()?
        } else {
            0
        };
        self.expect("]")?;
        let off = i32::try_from(off).map_err(|_| self.error("the offset is out of range"))?;
        Ok(Addr { base, off })
    }

    fn len_align(&mut self) -> Result<(u32, u8)> {
        self.expect(",")?;
        let len = self.number()?;
        self.expect("align")?;
        Ok((len, self.number()?))
    }

    fn args(&mut self) -> Result<Vec<Operand>> {
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.operand()?);
            self.eat(",");
        }
        Ok(args)
    }

    /// A name in quotes, with the escapes of Rust's `Debug`; a bare word will do too.
    fn string(&mut self) -> Result<String> {
        let Some(mut rest) = self.rest.strip_prefix('"') else { return Ok(self.word().to_owned()) };
        let mut out = String::new();
        loop {
            let mut chars = rest.chars();
            match chars.next() {
                Some('"') => break rest = chars.as_str(),
                Some('\\') => {
                    match chars.next() {
                        Some('n') => out.push('\n'),
                        Some('r') => out.push('\r'),
                        Some('t') => out.push('\t'),
                        Some('0') => out.push('\0'),
                        Some('u') => {
                            let hex = chars.as_str().strip_prefix('{').and_then(|r| r.split_once('}'));
                            let (hex, after) = hex.ok_or_else(|| self.error("bad escape"))?;
                            let code = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
                            out.push(code.ok_or_else(|| self.error("bad escape"))?);
                            chars = after.chars();
                        }
                        Some(other) => out.push(other),
                        None => return Err(self.error("unfinished name")),
                    }
                    rest = chars.as_str();
                }
                Some(other) => {
                    out.push(other);
                    rest = chars.as_str();
                }
                None => return Err(self.error("unfinished name")),
            }
        }
        self.rest = rest.trim_start();
        Ok(out)
    }

    fn slot(&mut self) -> Result<Slot> {
        self.prefixed("s")?;
        let name = self.string()?;
        self.expect("size")?;
        let size = self.number()?;
        self.expect("align")?;
        let align = self.number()?;
        Ok(Slot { size, align, stack_only: self.eat("stack"), name })
    }

    fn terminator(&mut self) -> Result<Option<Terminator>> {
        if self.eat("jump") {
            return self.block().map(|to| Some(Terminator::Jump(to)));
        }
        if self.eat("return") {
            return self.operand().map(|value| Some(Terminator::Return(value)));
        }
        let unlikely = self.eat("branch.unlikely");
        if !unlikely && !self.eat("branch") {
            return Ok(None);
        }
        let name = self.word();
        let cond = self.named(&CONDS, name)?;
        let (lhs, rhs) = self.pair()?;
        self.expect(",")?;
        let then = self.block()?;
        self.expect(",")?;
        let els = self.block()?;
        Ok(Some(Terminator::Branch { cond, lhs, rhs, then, els, unlikely }))
    }

    fn named<T: Copy>(&self, table: &[(T, &str)], name: &str) -> Result<T> {
        let found = table.iter().find(|(_, known)| *known == name);
        found.map(|(item, _)| *item).ok_or_else(|| self.error(format!("unknown operation `{name}`")))
    }

    /// `.u8` to `.s64`.
    fn width(&mut self) -> Result<(Size, bool)> {
        self.expect(".")?;
        let name = self.word();
        let signed = name.starts_with('s');
        let bits: Option<u32> = name.get(1..).and_then(|digits| digits.parse().ok());
        let size = bits.filter(|bits| bits % 8 == 0).and_then(|bits| Size::from_bytes(bits / 8));
        size.map(|size| (size, signed)).ok_or_else(|| self.error(format!("unknown type `{name}`")))
    }

    fn op(&mut self) -> Result<Op> {
        let mut result = None;
        if self.rest.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            result = Some(self.vreg()?);
            self.expect("=")?;
        }
        let name = self.word();
        if let Some(op) = self.effect(name, result)? {
            return Ok(op);
        }
        let dst = result.ok_or_else(|| self.error(format!("`{name}` needs a result or is unknown")))?;
        match name {
            "copy" => Ok(Op::Copy { dst, src: self.operand()? }),
            "neg" => Ok(Op::Neg { dst, src: self.operand()? }),
            "cmp" => {
                self.expect(".")?;
                let cond = self.word();
                let cond = self.named(&CONDS, cond)?;
                let (lhs, rhs) = self.pair()?;
                Ok(Op::Cmp { dst, cond, lhs, rhs })
            }
            "extend" => {
                let (from, signed) = self.width()?;
                Ok(Op::Extend { dst, src: self.operand()?, from, signed })
            }
            "bswap" => {
                let (size, _) = self.width()?;
                Ok(Op::Bswap { dst, src: self.vreg()?, size })
            }
            "load" => {
                let (size, signed) = self.width()?;
                Ok(Op::Load { dst, addr: self.addr()?, size, signed })
            }
            "slot" => Ok(Op::SlotAddr { dst, slot: SlotId(self.prefixed("s")?) }),
            "map" => Ok(Op::MapPtr { dst, map: MapIdx(self.prefixed("m")?) }),
            "mapvalue" => {
                let map = MapIdx(self.prefixed("m")?);
                self.expect("+")?;
                Ok(Op::MapValuePtr { dst, map, off: self.number()? })
            }
            "func" => Ok(Op::FuncPtr { dst, func: FuncId(self.prefixed("f")?) }),
            _ => {
                let op = self.named(&BINS, name)?;
                let (lhs, rhs) = self.pair()?;
                Ok(Op::Bin { dst, op, lhs, rhs })
            }
        }
    }

    /// An operation whose result is optional or absent.
    fn effect(&mut self, name: &str, result: Option<Vreg>) -> Result<Option<Op>> {
        let op = match name {
            "store" if result.is_none() => {
                let (size, _) = self.width()?;
                let addr = self.addr()?;
                self.expect(",")?;
                Op::Store { addr, size, src: self.operand()? }
            }
            "copymem" if result.is_none() => {
                let dst = self.addr()?;
                self.expect(",")?;
                let src = self.addr()?;
                let (len, align) = self.len_align()?;
                Op::CopyMem { dst, src, len, align }
            }
            "zeromem" if result.is_none() => {
                let dst = self.addr()?;
                let (len, align) = self.len_align()?;
                Op::ZeroMem { dst, len, align }
            }
            "atomic" => {
                self.expect(".")?;
                let op = self.word();
                let op = self.named(&ATOMICS, op)?;
                let (size, _) = self.width()?;
                let addr = self.addr()?;
                self.expect(",")?;
                Op::Atomic { op, fetch: result, addr, size, src: self.operand()? }
            }
            "call" => {
                let pure = self.eat(".pure");
                let helper = if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
                    self.number()?
                } else {
                    let name = self.word();
                    helper::by_name(name).ok_or_else(|| self.error(format!("unknown helper `{name}`")))?
                };
                Op::Call { dst: result, helper, args: self.args()?, pure }
            }
            "kfunc" => {
                let btf_id = self.number()?;
                Op::CallKfunc { dst: result, btf_id, args: self.args()? }
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }
}

#[cfg(test)]
mod tests {
    use super::super::print;
    use super::*;

    const SAMPLE: &str = r#"function "main"(v0) {
  slot s0 "key" size 16 align 8
  slot s1 "a \"b\"" size 8 align 8 stack
b0:
  v1 = load.s32 [v0 + 16] ; @1:3..14
  v2 = slot s0
  store.u64 [v2 - 8], -5
  zeromem [v2], 16 align 8
  copymem [v2], [v0 + 4], 12 align 4
  v3 = atomic.xchg.u64 [v2], v1
  atomic.add.u32 [v2], 1
  v4 = call map_lookup_elem(v2, v1)
  call.pure 9999()
  v5 = kfunc 77(1)
  v6 = mapvalue m3 + 24
  v7 = map m0
  v8 = func f1
  v9 = bswap.u16 v1
  v10 = extend.s8 v9
  v11 = neg v10
  v12 = cmp.set v11, 3
  v13 = ashr v12, 3
  branch.unlikely eq v4, 0, b1, b2 ; @0:1..2
b1:
  return -1
b2:
  v1 = copy 9223372036854775807
  jump b1
}
"#;

    #[test]
    fn text_survives_reading_and_printing() {
        let parsed = module(SAMPLE).unwrap();
        assert_eq!(print::module(&parsed), SAMPLE);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let error = module("function f() {\nb0:\n  v0 = frob 1\n  return 0\n}").unwrap_err();
        assert_eq!(error.to_string(), "line 3: unknown operation `frob`");
        assert_eq!(module("function f() {\nb0:\n}").unwrap_err().line, 3);
        assert_eq!(module("function f() {").unwrap_err().what, "expected }");
    }
}
