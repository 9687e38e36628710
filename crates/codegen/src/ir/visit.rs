//! What operations read and write, so that passes need not match on every operation.

use super::{Addr, BlockId, Op, Operand, Terminator, Vreg};

impl Operand {
    /// The register, if it is one.
    #[must_use]
    pub fn reg(self) -> Option<Vreg> {
        match self {
            Self::Reg(reg) => Some(reg),
            Self::Imm(_) => None,
        }
    }

    /// The constant, if it is one.
    #[must_use]
    pub fn imm(self) -> Option<i64> {
        match self {
            Self::Imm(imm) => Some(imm),
            Self::Reg(_) => None,
        }
    }
}

impl Op {
    /// The register that is written.
    #[must_use]
    pub fn dst(&self) -> Option<Vreg> {
        match *self {
            Self::Copy { dst, .. }
            | Self::Bin { dst, .. }
            | Self::Cmp { dst, .. }
            | Self::Neg { dst, .. }
            | Self::Extend { dst, .. }
            | Self::Bswap { dst, .. }
            | Self::Load { dst, .. }
            | Self::SlotAddr { dst, .. }
            | Self::MapPtr { dst, .. }
            | Self::MapValuePtr { dst, .. }
            | Self::FuncPtr { dst, .. } => Some(dst),
            Self::Atomic { fetch: dst, .. } | Self::Call { dst, .. } | Self::CallKfunc { dst, .. } => dst,
            Self::Store { .. } | Self::CopyMem { .. } | Self::ZeroMem { .. } => None,
        }
    }

    /// The register that is written, for changing it.
    pub fn dst_mut(&mut self) -> Option<&mut Vreg> {
        match self {
            Self::Copy { dst, .. }
            | Self::Bin { dst, .. }
            | Self::Cmp { dst, .. }
            | Self::Neg { dst, .. }
            | Self::Extend { dst, .. }
            | Self::Bswap { dst, .. }
            | Self::Load { dst, .. }
            | Self::SlotAddr { dst, .. }
            | Self::MapPtr { dst, .. }
            | Self::MapValuePtr { dst, .. }
            | Self::FuncPtr { dst, .. } => Some(dst),
            Self::Atomic { fetch: dst, .. } | Self::Call { dst, .. } | Self::CallKfunc { dst, .. } => {
                dst.as_mut()
            }
            Self::Store { .. } | Self::CopyMem { .. } | Self::ZeroMem { .. } => None,
        }
    }

    /// The operands that may be a register or a constant.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Self::Copy { src, .. }
            | Self::Neg { src, .. }
            | Self::Extend { src, .. }
            | Self::Store { src, .. }
            | Self::Atomic { src, .. } => vec![src],
            Self::Bin { lhs, rhs, .. } | Self::Cmp { lhs, rhs, .. } => vec![lhs, rhs],
            Self::Call { args, .. } | Self::CallKfunc { args, .. } => args.iter_mut().collect(),
            Self::Bswap { .. }
            | Self::Load { .. }
            | Self::CopyMem { .. }
            | Self::ZeroMem { .. }
            | Self::SlotAddr { .. }
            | Self::MapPtr { .. }
            | Self::MapValuePtr { .. }
            | Self::FuncPtr { .. } => Vec::new(),
        }
    }

    /// The operands that may be a register or a constant.
    #[must_use]
    pub fn operands(&self) -> Vec<Operand> {
        match self {
            Self::Copy { src, .. }
            | Self::Neg { src, .. }
            | Self::Extend { src, .. }
            | Self::Store { src, .. }
            | Self::Atomic { src, .. } => vec![*src],
            Self::Bin { lhs, rhs, .. } | Self::Cmp { lhs, rhs, .. } => vec![*lhs, *rhs],
            Self::Call { args, .. } | Self::CallKfunc { args, .. } => args.clone(),
            _ => Vec::new(),
        }
    }

    /// The places that are accessed.
    pub fn addrs_mut(&mut self) -> Vec<&mut Addr> {
        match self {
            Self::Load { addr, .. } | Self::Store { addr, .. } | Self::Atomic { addr, .. } => vec![addr],
            Self::CopyMem { dst, src, .. } => vec![dst, src],
            Self::ZeroMem { dst, .. } => vec![dst],
            _ => Vec::new(),
        }
    }

    /// The places that are accessed.
    #[must_use]
    pub fn addrs(&self) -> Vec<Addr> {
        match *self {
            Self::Load { addr, .. } | Self::Store { addr, .. } | Self::Atomic { addr, .. } => vec![addr],
            Self::CopyMem { dst, src, .. } => vec![dst, src],
            Self::ZeroMem { dst, .. } => vec![dst],
            _ => Vec::new(),
        }
    }

    /// Calls `f` with every register that is read.
    pub fn for_each_use(&self, mut f: impl FnMut(Vreg)) {
        let mut operand = |operand: &Operand| operand.reg().into_iter().for_each(&mut f);
        match self {
            Self::Copy { src, .. } | Self::Neg { src, .. } | Self::Extend { src, .. } => operand(src),
            Self::Bin { lhs, rhs, .. } | Self::Cmp { lhs, rhs, .. } => {
                operand(lhs);
                operand(rhs);
            }
            Self::Call { args, .. } | Self::CallKfunc { args, .. } => args.iter().for_each(operand),
            Self::Store { addr, src, .. } | Self::Atomic { addr, src, .. } => {
                operand(src);
                f(addr.base);
            }
            Self::Load { addr, .. } | Self::ZeroMem { dst: addr, .. } => f(addr.base),
            Self::CopyMem { dst, src, .. } => {
                f(dst.base);
                f(src.base);
            }
            Self::Bswap { src, .. } => f(*src),
            Self::SlotAddr { .. } | Self::MapPtr { .. } | Self::MapValuePtr { .. } | Self::FuncPtr { .. } => {
            }
        }
    }

    /// Whether the operation reads this register.
    #[must_use]
    pub fn reads(&self, reg: Vreg) -> bool {
        let mut found = false;
        self.for_each_use(|used| found |= used == reg);
        found
    }

    /// Whether nothing but the result is lost when the operation is dropped.
    #[must_use]
    pub fn is_removable(&self) -> bool {
        match self {
            Self::Store { .. }
            | Self::Atomic { .. }
            | Self::CopyMem { .. }
            | Self::ZeroMem { .. }
            | Self::CallKfunc { .. } => false,
            Self::Call { pure, .. } => *pure,
            _ => true,
        }
    }

    /// Whether it calls out, so that caller-saved registers are lost.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::CallKfunc { .. })
    }
}

impl Terminator {
    /// The blocks that may follow.
    #[must_use]
    pub fn successors(&self) -> Vec<BlockId> {
        match *self {
            Self::Jump(to) => vec![to],
            Self::Branch { then, els, .. } if then == els => vec![then],
            Self::Branch { then, els, .. } => vec![then, els],
            Self::Return(_) => Vec::new(),
        }
    }

    /// The targets, for changing them.
    pub fn targets_mut(&mut self) -> Vec<&mut BlockId> {
        match self {
            Self::Jump(to) => vec![to],
            Self::Branch { then, els, .. } => vec![then, els],
            Self::Return(_) => Vec::new(),
        }
    }

    /// The operands.
    #[must_use]
    pub fn operands(&self) -> Vec<Operand> {
        match *self {
            Self::Jump(_) => Vec::new(),
            Self::Branch { lhs, rhs, .. } => vec![lhs, rhs],
            Self::Return(value) => vec![value],
        }
    }

    /// The operands, for changing them.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Self::Jump(_) => Vec::new(),
            Self::Branch { lhs, rhs, .. } => vec![lhs, rhs],
            Self::Return(value) => vec![value],
        }
    }

    /// Calls `f` with every register that is read.
    pub fn for_each_use(&self, f: impl FnMut(Vreg)) {
        self.operands().into_iter().filter_map(Operand::reg).for_each(f);
    }
}

impl super::Cond {
    /// The comparison with its sides swapped.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Slt => Self::Sgt,
            Self::Sle => Self::Sge,
            Self::Sgt => Self::Slt,
            Self::Sge => Self::Sle,
            Self::Eq | Self::Ne | Self::Set => self,
        }
    }

    /// The comparison that holds when this one does not; `Set` has none.
    #[must_use]
    pub fn inverted(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Ult => Self::Uge,
            Self::Ule => Self::Ugt,
            Self::Ugt => Self::Ule,
            Self::Uge => Self::Ult,
            Self::Slt => Self::Sge,
            Self::Sle => Self::Sgt,
            Self::Sgt => Self::Sle,
            Self::Sge => Self::Slt,
            Self::Set => return None,
        })
    }
}

impl super::BinOp {
    /// Whether the sides may be swapped.
    #[must_use]
    pub fn is_commutative(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::And | Self::Or | Self::Xor)
    }
}
