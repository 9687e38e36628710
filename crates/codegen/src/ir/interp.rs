//! Runs IR, as the measure of what compiled code must do. For tests and for trying programs by hand.

use std::collections::HashMap;

use strix_model::MapIdx;
use thiserror::Error;

use super::{Addr, AtomicOp, BlockId, Function, Module, Op, Operand, Size, Terminator, Vreg, eval};

/// Bytes that pointers may lead to, in regions with gaps between them.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: Vec<(u64, Vec<u8>)>,
}

/// Why a run came to an end before its function returned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trap {
    /// An access outside of every region.
    #[error("access of {len} bytes at {at:#x}")]
    BadAccess {
        /// Address.
        at: u64,
        /// Bytes.
        len: u64,
    },
    /// More steps than allowed.
    #[error("out of steps")]
    OutOfSteps,
    /// A register that was never written is read, or the code is otherwise not fit to run.
    #[error("{0}")]
    Malformed(String),
}

impl Memory {
    /// Adds a region and gives its address.
    pub fn add(&mut self, bytes: Vec<u8>) -> u64 {
        let last = self.regions.last();
        let at = last.map_or(0x10_0000, |(at, old)| (at + old.len() as u64 + 0x1_0000) & !0xfff);
        self.regions.push((at, bytes));
        at
    }

    /// The bytes at an address.
    ///
    /// # Errors
    /// When they are not all in one region.
    pub fn bytes(&mut self, at: u64, len: u64) -> Result<&mut [u8], Trap> {
        for (start, bytes) in &mut self.regions {
            if let Some(off) = at.checked_sub(*start).filter(|off| *off <= bytes.len() as u64) {
                let end = off.checked_add(len).filter(|end| *end <= bytes.len() as u64);
                return match end {
                    Some(end) => Ok(&mut bytes[off as usize..end as usize]),
                    None => Err(Trap::BadAccess { at, len }),
                };
            }
        }
        Err(Trap::BadAccess { at, len })
    }

    /// A number in the machine's order, zero-extended.
    ///
    /// # Errors
    /// When the address is bad.
    pub fn load(&mut self, at: u64, size: Size) -> Result<u64, Trap> {
        let mut word = [0; 8];
        let bytes = self.bytes(at, size.bytes().into())?;
        word[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(word))
    }

    /// Stores the low bytes of a number.
    ///
    /// # Errors
    /// When the address is bad.
    pub fn store(&mut self, at: u64, size: Size, value: u64) -> Result<(), Trap> {
        let len = size.bytes() as usize;
        self.bytes(at, len as u64)?.copy_from_slice(&value.to_le_bytes()[..len]);
        Ok(())
    }

    /// Does an atomic operation and gives the old value.
    ///
    /// # Errors
    /// When the address is bad.
    pub fn atomic(&mut self, op: AtomicOp, at: u64, size: Size, value: u64) -> Result<u64, Trap> {
        let old = self.load(at, size)?;
        let new = match op {
            AtomicOp::Add => old.wrapping_add(value),
            AtomicOp::Or => old | value,
            AtomicOp::And => old & value,
            AtomicOp::Xor => old ^ value,
            AtomicOp::Xchg => value,
        };
        self.store(at, size, new)?;
        Ok(old)
    }
}

/// What helpers do.
pub trait World {
    /// A helper's result.
    ///
    /// # Errors
    /// When it is given bad addresses.
    fn call(&mut self, helper: u32, args: &[u64], memory: &mut Memory) -> Result<u64, Trap>;
}

/// The number that stands for a map.
#[must_use]
pub fn map_handle(map: MapIdx) -> u64 {
    0x7000_0000_0000 + u64::from(map.0)
}

/// Runs a module's entry function. `values` are the addresses of the values of array maps.
///
/// # Errors
/// When the code does something that no program may do.
pub fn run(
    module: &Module,
    args: &[u64],
    memory: &mut Memory,
    values: &HashMap<MapIdx, u64>,
    world: &mut impl World,
    steps: u64,
) -> Result<u64, Trap> {
    let function = module.functions.first().ok_or_else(|| Trap::Malformed("no functions".into()))?;
    let mut frame =
        Frame { regs: vec![None; function.vregs as usize], slots: Vec::new(), memory, values, world };
    for (param, arg) in function.params.iter().zip(args) {
        frame.set(*param, *arg as i64);
    }
    for slot in &function.slots {
        let at = frame.memory.add(vec![0; slot.size as usize]);
        frame.slots.push(at);
    }
    frame.run(function, steps)
}

struct Frame<'a, W> {
    regs: Vec<Option<i64>>,
    slots: Vec<u64>,
    memory: &'a mut Memory,
    values: &'a HashMap<MapIdx, u64>,
    world: &'a mut W,
}

impl<W: World> Frame<'_, W> {
    fn run(&mut self, function: &Function, mut steps: u64) -> Result<u64, Trap> {
        let mut at = BlockId(0);
        loop {
            let block = &function.blocks[at.0 as usize];
            for inst in &block.insts {
                steps = steps.checked_sub(1).ok_or(Trap::OutOfSteps)?;
                self.step(&inst.op)?;
            }
            steps = steps.checked_sub(1).ok_or(Trap::OutOfSteps)?;
            at = match block.term {
                Terminator::Jump(to) => to,
                Terminator::Branch { cond, lhs, rhs, then, els, .. } => {
                    if eval::cond(cond, self.get(lhs)?, self.get(rhs)?) { then } else { els }
                }
                Terminator::Return(value) => return Ok(self.get(value)? as u64),
            };
        }
    }

    fn get(&self, operand: impl Into<Operand>) -> Result<i64, Trap> {
        match operand.into() {
            Operand::Imm(imm) => Ok(imm),
            Operand::Reg(reg) => {
                self.regs[reg.0 as usize].ok_or_else(|| Trap::Malformed(format!("{reg} was never written")))
            }
        }
    }

    fn set(&mut self, reg: Vreg, value: i64) {
        self.regs[reg.0 as usize] = Some(value);
    }

    fn address(&self, addr: Addr) -> Result<u64, Trap> {
        Ok(self.get(addr.base)?.wrapping_add(i64::from(addr.off)) as u64)
    }

    fn step(&mut self, op: &Op) -> Result<(), Trap> {
        let value = match *op {
            Op::Copy { src, .. } => self.get(src)?,
            Op::Bin { op, lhs, rhs, .. } => eval::bin(op, self.get(lhs)?, self.get(rhs)?),
            Op::Cmp { cond, lhs, rhs, .. } => i64::from(eval::cond(cond, self.get(lhs)?, self.get(rhs)?)),
            Op::Neg { src, .. } => self.get(src)?.wrapping_neg(),
            Op::Extend { src, from, signed, .. } => eval::extend(self.get(src)?, from, signed),
            Op::Bswap { src, size, .. } => eval::bswap(self.get(src)?, size),
            Op::Load { addr, size, signed, .. } => {
                let raw = self.memory.load(self.address(addr)?, size)?;
                eval::extend(raw as i64, size, signed)
            }
            Op::Store { addr, size, src } => {
                let value = self.get(src)?;
                return self.memory.store(self.address(addr)?, size, value as u64);
            }
            Op::Atomic { op, addr, size, src, .. } => {
                let value = self.get(src)? as u64;
                self.memory.atomic(op, self.address(addr)?, size, value)? as i64
            }
            Op::CopyMem { dst, src, len, .. } => {
                let bytes = self.memory.bytes(self.address(src)?, len.into())?.to_vec();
                let to = self.memory.bytes(self.address(dst)?, len.into())?;
                to.copy_from_slice(&bytes);
                return Ok(());
            }
            Op::ZeroMem { dst, len, .. } => {
                self.memory.bytes(self.address(dst)?, len.into())?.fill(0);
                return Ok(());
            }
            Op::SlotAddr { slot, .. } => self.slots[slot.0 as usize] as i64,
            Op::MapPtr { map, .. } => map_handle(map) as i64,
            Op::MapValuePtr { map, off, .. } => {
                let at = self.values.get(&map).ok_or_else(|| Trap::Malformed("no such value".into()))?;
                (at + u64::from(off)) as i64
            }
            Op::FuncPtr { .. } | Op::CallKfunc { .. } => {
                return Err(Trap::Malformed("functions cannot be run".into()));
            }
            Op::Call { helper, ref args, .. } => {
                let args: Result<Vec<u64>, Trap> =
                    args.iter().map(|arg| Ok(self.get(*arg)? as u64)).collect();
                self.world.call(helper, &args?, self.memory)? as i64
            }
        };
        if let Some(dst) = op.dst() {
            self.set(dst, value);
        }
        Ok(())
    }
}
