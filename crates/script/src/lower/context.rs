//! What a program is given when it runs: fields of `args`, `argN`, `retval`, registers, and which attach point it is.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Cond, Operand, Size, Vreg};

use strix_model::AttachPoint;

use super::arch;
use super::function::{Known, Lower};
use super::value::{Place, Remote, Value};
use crate::hir::Context;
use crate::types::{FieldLayout, RecordField, Space, Type};

/// System call numbers that the filter table covers; x86-64 has fewer than 512.
const SYSCALL_TABLE: usize = 512;

impl Lower<'_, '_> {
    /// The context as a place to read from.
    pub(super) fn context_place(&mut self) -> Place {
        Place { base: self.ctx(), off: 0, base_align: 8, context: true }
    }

    /// Word `n` of a context that is an array of them.
    pub(super) fn context_word(&mut self, n: u32) -> Operand {
        let place = self.context_place().at(n * 8);
        self.b().load(place.addr(), Size::B8, false).into()
    }

    /// A field of `args`.
    pub(super) fn args_field(&mut self, field: &RecordField) -> Value {
        match field.layout {
            FieldLayout::SyscallArg(n) => {
                let reg = arch::SYSCALL_ARGS[usize::from(n) % arch::SYSCALL_ARGS.len()];
                let raw = self.syscall_register(reg);
                Value::Scalar(self.convert(raw, &Type::U64, &field.ty))
            }
            FieldLayout::SyscallRet => {
                let raw = self.context_word(1);
                Value::Scalar(self.convert(raw, &Type::U64, &field.ty))
            }
            FieldLayout::DataLoc | FieldLayout::RelLoc => self.dynamic_field(field),
            FieldLayout::Plain if !matches!(self.instance.context, Context::Tracepoint { .. }) => {
                let raw = self.context_word(field.offset / 8);
                match &field.ty {
                    ty if ty.is_scalar() => Value::Scalar(self.convert(raw, &Type::U64, ty)),
                    _ => Value::Remote(Remote { base: raw, off: 0, space: Space::Kernel }),
                }
            }
            _ => {
                let place = self.context_place();
                self.field(Value::Memory(place), &field.ty, field.offset, &field.layout)
            }
        }
    }

    /// A tracefs dynamic array: its data follow the record, at an offset that the record holds.
    fn dynamic_field(&mut self, field: &RecordField) -> Value {
        let place = self.context_place();
        let word = self.b().load(place.at(field.offset).addr(), Size::B4, false);
        let start = self.b().bin(BinOp::And, word, 0xffff);
        let data = self.b().bin(BinOp::Add, place.base, start);
        let off = if field.layout == FieldLayout::RelLoc { i64::from(field.offset) + 4 } else { 0 };
        let remote = Remote { base: data.into(), off, space: Space::Kernel };
        if matches!(field.ty, Type::Pointer { .. }) {
            return Value::Scalar(self.remote_address(remote));
        }
        Value::Remote(remote)
    }

    /// A word of the user registers saved at a system call's entry.
    fn syscall_register(&mut self, offset: i32) -> Operand {
        let regs = self.context_word(0);
        if matches!(self.instance.context, Context::Syscalls { btf: true, .. }) {
            let base = self.b().in_reg(regs);
            let place = Place { base, off: offset, base_align: 8, context: true };
            return self.b().load(place.addr(), Size::B8, false).into();
        }
        let remote = Remote { base: regs, off: i64::from(offset), space: Space::Kernel };
        self.load_remote(remote, &Type::U64)
    }

    /// A register of the context's `pt_regs`.
    pub(super) fn register(&mut self, offset: i32) -> Operand {
        let place = self.context_place().at(offset as u32);
        self.b().load(place.addr(), Size::B8, false).into()
    }

    /// `argN`.
    pub(super) fn arg(&mut self, n: u8) -> Operand {
        match self.instance.context {
            Context::Fentry { .. } | Context::Fexit { .. } | Context::RawTracepoint { .. } => {
                self.context_word(u32::from(n))
            }
            Context::Syscalls { .. } => {
                self.syscall_register(arch::SYSCALL_ARGS[usize::from(n) % arch::SYSCALL_ARGS.len()])
            }
            _ => match arch::FUNCTION_ARGS.get(usize::from(n)) {
                Some(offset) => self.register(*offset),
                None => self.stack_arg(n - arch::FUNCTION_ARGS.len() as u8),
            },
        }
    }

    /// Word `n` of the arguments on the stack, above the return address.
    pub(super) fn stack_arg(&mut self, n: u8) -> Operand {
        let sp = self.register(arch::SP);
        let space = match self.instance.context {
            Context::Uprobe | Context::Uretprobe => Space::User,
            _ => Space::Kernel,
        };
        self.load_remote(Remote { base: sp, off: (i64::from(n) + 1) * 8, space }, &Type::U64)
    }

    /// `retval`.
    pub(super) fn retval(&mut self) -> Operand {
        match &self.instance.context {
            Context::Fexit { params, ret, .. } => {
                let raw = self.context_word(u32::from(*params));
                self.convert(raw, &Type::U64, ret)
            }
            _ => self.register(arch::RESULT),
        }
    }

    /// Address of the probed function, 0 where it cannot be known.
    pub(super) fn function_address(&mut self) -> Operand {
        let features = self.facts.features();
        let by_helper = match self.instance.context {
            // A uprobe's function is where it stands, as far as symbols go. For its return the helper knows since v6.6, as multi links do.
            Context::Uprobe => false,
            Context::Uretprobe => features.uprobe_multi,
            _ => features.get_func_ip,
        };
        if by_helper {
            let ctx = self.ctx();
            return self.b().call_pure(helper::GET_FUNC_IP, &[ctx.into()]).into();
        }
        match self.instance.context {
            Context::Kprobe | Context::Uprobe => self.register(arch::IP),
            _ => self.only_function(),
        }
    }

    /// The address of the function of the only attach point, from the kernel's symbols.
    fn only_function(&mut self) -> Operand {
        let [site] = self.instance.sites.as_slice() else { return 0.into() };
        let function = match &site.point {
            AttachPoint::Kretprobe { function, .. }
            | AttachPoint::Fentry { function, .. }
            | AttachPoint::Fexit { function, .. } => function,
            _ => return 0.into(),
        };
        (self.facts.kernel_symbol(function).ok().flatten().unwrap_or(0) as i64).into()
    }

    /// In `Context::Syscalls`, leaves unless the call is one of the attach points.
    pub(super) fn filter_syscalls(&mut self) {
        if let Context::Syscalls { filter: true, .. } = self.instance.context {
            self.syscall_name();
        }
    }

    /// Index of the attach point's name in `Context::Syscalls`. The table that gives it also says which calls are meant.
    fn syscall_name(&mut self) -> Vreg {
        for known in &self.f.known {
            if let Known::SyscallName(reg) = known {
                return *reg;
            }
        }
        let mut table = vec![0u8; SYSCALL_TABLE * 4];
        for site in &self.instance.sites {
            if let Some(number) = site.syscall.map(|n| n as usize).filter(|n| *n < SYSCALL_TABLE) {
                table[number * 4..number * 4 + 4].copy_from_slice(&(site.name + 1).to_ne_bytes());
            }
        }
        let number = self.syscall_number();
        let (map, offset) = self.plan.constant(&table);
        let (known, inside) = (self.b().block(), self.b().block());
        let outside = self.b().block();
        self.b().branch_unlikely(Cond::Uge, number, SYSCALL_TABLE as i64, outside, inside);
        self.b().switch_to(outside);
        self.b().ret(0);
        self.b().switch_to(inside);
        let base = self.b().map_value_ptr(map, offset);
        let step = self.b().bin(BinOp::Shl, number, 2);
        let entry = self.b().bin(BinOp::Add, base, step);
        let name = self.b().load(Place::new(entry).addr(), Size::B4, false);
        self.b().branch(Cond::Eq, name, 0, outside, known);
        self.b().switch_to(known);
        let name = self.b().bin(BinOp::Sub, name, 1);
        self.f.known.push(Known::SyscallName(name));
        name
    }

    /// Number of the system call in `Context::Syscalls`.
    pub(super) fn syscall_number(&mut self) -> Operand {
        match self.instance.context {
            Context::Syscalls { enter: true, .. } => self.context_word(1),
            _ => self.syscall_register(arch::SYSCALL_NUMBER),
        }
    }

    /// `probe`: index into the plan's names.
    pub(super) fn probe_name(&mut self) -> Operand {
        match (&self.instance.context, self.instance.sites.as_slice()) {
            (_, [only]) => i64::from(only.name).into(),
            (Context::Syscalls { .. }, _) => self.syscall_name().into(),
            _ => {
                let ctx = self.ctx();
                self.b().call_pure(helper::GET_ATTACH_COOKIE, &[ctx.into()]).into()
            }
        }
    }
}
