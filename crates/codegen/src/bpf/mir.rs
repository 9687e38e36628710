//! Machine operations: eBPF instructions whose registers may still be virtual and whose jumps name blocks.

use strix_model::{MapIdx, Span};

use crate::ir::{AtomicOp, BinOp, Cond, FuncId, Size, SlotId};

/// A machine register (0 to 10) or a virtual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reg(pub(super) u32);

/// Numbers below this are machine registers.
const FIRST_VIRTUAL: u32 = 16;

impl Reg {
    pub(super) const R0: Self = Self(0);
    pub(super) const R10: Self = Self(10);

    pub(super) fn virt(index: u32) -> Self {
        Self(index + FIRST_VIRTUAL)
    }

    pub(super) fn is_machine(self) -> bool {
        self.0 < FIRST_VIRTUAL
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The register of an argument, from 0.
    pub(super) fn arg(index: usize) -> Self {
        Self(index as u32 + 1)
    }
}

/// A register or an immediate that fits an instruction (sign-extended to 64 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Src {
    Reg(Reg),
    Imm(i32),
}

/// What a memory operand is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Reg(Reg),
    /// Local memory on the stack.
    Slot(SlotId),
    /// A spilled register's place.
    Spill(u32),
}

/// What a two-slot load puts into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    Imm(i64),
    Map(MapIdx),
    MapValue(MapIdx, u32),
    Func(FuncId),
}

/// A machine operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MOp {
    Mov {
        dst: Reg,
        src: Src,
    },
    /// The low 32 bits; the others become zero.
    Mov32 {
        dst: Reg,
        src: Src,
    },
    Alu {
        op: BinOp,
        dst: Reg,
        src: Src,
    },
    Neg {
        dst: Reg,
    },
    Swap {
        dst: Reg,
        size: Size,
    },
    Wide {
        dst: Reg,
        what: Wide,
    },
    SlotAddr {
        dst: Reg,
        slot: SlotId,
        off: i32,
    },
    Load {
        dst: Reg,
        base: Base,
        off: i16,
        size: Size,
    },
    Store {
        base: Base,
        off: i16,
        size: Size,
        src: Src,
    },
    Atomic {
        op: AtomicOp,
        fetch: bool,
        base: Base,
        off: i16,
        size: Size,
        src: Reg,
    },
    Call {
        helper: u32,
        args: u8,
    },
    Kfunc {
        btf_id: u32,
        args: u8,
    },
    Jump(usize),
    Branch {
        cond: Cond,
        narrow: bool,
        lhs: Reg,
        rhs: Src,
        then: usize,
        els: usize,
    },
    Exit,
}

/// How an operation touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Use,
    Def,
    /// Read, then written.
    Both,
}

impl MOp {
    /// Calls `f` with every register named in the operation; those of calls and exits are implied and left out.
    pub(super) fn for_each_reg_mut(&mut self, mut f: impl FnMut(&mut Reg, Role)) {
        fn base_of(base: &mut Base) -> Option<&mut Reg> {
            if let Base::Reg(reg) = base { Some(reg) } else { None }
        }
        fn reg_of(src: &mut Src) -> Option<&mut Reg> {
            if let Src::Reg(reg) = src { Some(reg) } else { None }
        }
        match self {
            Self::Mov { dst, src } | Self::Mov32 { dst, src } => {
                reg_of(src).into_iter().for_each(|reg| f(reg, Role::Use));
                f(dst, Role::Def);
            }
            Self::Alu { dst, src, .. } => {
                reg_of(src).into_iter().for_each(|reg| f(reg, Role::Use));
                f(dst, Role::Both);
            }
            Self::Neg { dst } | Self::Swap { dst, .. } => f(dst, Role::Both),
            Self::Wide { dst, .. } | Self::SlotAddr { dst, .. } => f(dst, Role::Def),
            Self::Load { dst, base, .. } => {
                base_of(base).into_iter().for_each(|reg| f(reg, Role::Use));
                f(dst, Role::Def);
            }
            Self::Store { base, src, .. } => {
                base_of(base).into_iter().for_each(|reg| f(reg, Role::Use));
                reg_of(src).into_iter().for_each(|reg| f(reg, Role::Use));
            }
            Self::Atomic { fetch, base, src, .. } => {
                base_of(base).into_iter().for_each(|reg| f(reg, Role::Use));
                f(src, if *fetch { Role::Both } else { Role::Use });
            }
            Self::Branch { lhs, rhs, .. } => {
                f(lhs, Role::Use);
                reg_of(rhs).into_iter().for_each(|reg| f(reg, Role::Use));
            }
            Self::Call { .. } | Self::Kfunc { .. } | Self::Jump(_) | Self::Exit => {}
        }
    }

    /// Calls `f` with every register the operation touches, implied ones too.
    pub(super) fn for_each_reg(&self, mut f: impl FnMut(Reg, Role)) {
        match self {
            Self::Call { args, .. } | Self::Kfunc { args, .. } => {
                (0..usize::from(*args)).for_each(|index| f(Reg::arg(index), Role::Use));
                (0..6).for_each(|reg| f(Reg(reg), Role::Def));
            }
            Self::Exit => f(Reg::R0, Role::Use),
            _ => self.clone().for_each_reg_mut(|reg, role| f(*reg, role)),
        }
    }

    /// Whether it can be done again anywhere with the same result.
    pub(super) fn is_constant(&self) -> bool {
        matches!(
            self,
            Self::Wide { .. }
                | Self::SlotAddr { .. }
                | Self::Mov { src: Src::Imm(_), .. }
                | Self::Mov32 { src: Src::Imm(_), .. }
        )
    }
}

/// A machine operation and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MInst {
    pub(super) op: MOp,
    pub(super) span: Span,
}

/// A straight run of machine operations; the last one is a jump, branch or exit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MBlock {
    pub(super) insts: Vec<MInst>,
    /// How often it is thought to run, for one run of the function.
    pub(super) weight: f32,
}

impl MBlock {
    pub(super) fn successors(&self) -> Vec<usize> {
        match self.insts.last().map(|inst| &inst.op) {
            Some(MOp::Jump(to)) => vec![*to],
            Some(MOp::Branch { then, els, .. }) => vec![*then, *els],
            _ => Vec::new(),
        }
    }
}

/// A function in the order it will stand in memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MFunction {
    pub(super) blocks: Vec<MBlock>,
    /// One more than the highest register number.
    pub(super) regs: u32,
    /// Number of spill places.
    pub(super) spills: u32,
    /// Registers that are not to be joined with others.
    pub(super) apart: Vec<Reg>,
}

impl MFunction {
    pub(super) fn new_reg(&mut self) -> Reg {
        self.regs += 1;
        Reg(self.regs - 1)
    }
}
