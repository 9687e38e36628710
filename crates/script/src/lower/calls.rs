//! Calls of built-in functions. What each accepts was checked; here is what code it becomes.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Cond, Operand, Size, Vreg};
use strix_model::{Action, Counter};

use super::function::Lower;
use super::value::{Place, Remote, Value};
use super::{arch, lookup};
use crate::builtins::Function;
use crate::hir::{Expr, ExprKind};
use crate::types::{Space, Type};

/// Address families.
const AF_INET: i64 = 2;
const AF_INET6: i64 = 10;

impl Lower<'_, '_> {
    /// Lowers a call. Aggregations are part of assignments and never come here.
    pub(super) fn call(&mut self, expr: &Expr, function: Function, args: &[Expr]) -> Value {
        match function {
            Function::Printf | Function::Cat | Function::System | Function::Errorf | Function::Warnf => {
                self.formatted(function, args)
            }
            Function::Print => self.print(args),
            Function::Clear => self.whole_map(args, |map| Action::Clear { map }),
            Function::Zero => self.whole_map(args, |map| Action::Zero { map }),
            Function::Time => {
                let format = args.first().and_then(Expr::as_str).unwrap_or("%H:%M:%S\n").to_owned();
                self.print_time(format);
            }
            Function::Join => {
                let separator = args.get(1).and_then(Expr::as_str).unwrap_or(" ").to_owned();
                if let Some(array) = args.first() {
                    self.join(array, separator);
                }
            }
            Function::Exit => {
                let code = args.first().map_or(Operand::Imm(0), |a| self.scalar(a));
                self.exit(code);
            }
            Function::Signal => self.signal(args, helper::SEND_SIGNAL),
            Function::SignalThread => self.signal(args, helper::SEND_SIGNAL_THREAD),
            Function::Str
            | Function::StrConcat
            | Function::Buf
            | Function::Ntop
            | Function::Pton
            | Function::Usym
            | Function::Macaddr => return self.in_new_slot(expr),
            Function::Kstack | Function::Ustack => {
                let ty = self.type_of(expr).clone();
                return self.stack_value(&ty);
            }
            Function::Count
            | Function::Sum
            | Function::Avg
            | Function::Min
            | Function::Max
            | Function::Stats
            | Function::Hist
            | Function::Lhist => {}
            _ => return Value::Scalar(self.scalar_call(function, args)),
        }
        Value::Unit
    }

    /// Functions whose result fits a register.
    fn scalar_call(&mut self, function: Function, args: &[Expr]) -> Operand {
        let first = args.first();
        match function {
            Function::Delete | Function::HasKey => match first.map(|e| &e.kind) {
                Some(ExprKind::Map { map, key }) if function == Function::Delete => self.delete(*map, key),
                Some(ExprKind::Map { map, key }) => self.has_key(*map, key),
                _ => 0.into(),
            },
            Function::Len => first.map_or(0.into(), |e| self.length(e)),
            Function::Ksym | Function::Kptr | Function::Uptr | Function::CgroupPath => {
                first.map_or(0.into(), |e| self.address_value(e))
            }
            Function::Strftime => args.get(1).map_or(0.into(), |e| self.scalar(e)),
            Function::Kaddr => {
                let name = first.and_then(Expr::as_str).unwrap_or_default();
                let address = self.facts.kernel_symbol(name).ok().flatten().unwrap_or(0);
                (address as i64).into()
            }
            Function::Uaddr => self.user_address(first.and_then(Expr::as_str).unwrap_or_default()),
            Function::Reg => {
                let offset = first.and_then(Expr::as_str).and_then(arch::register_offset).unwrap_or(0);
                self.register(offset)
            }
            Function::Strncmp => self.strncmp(args),
            Function::Strcontains => self.strcontains(args),
            Function::Strlen => first.map_or(0.into(), |e| self.strlen(e)),
            Function::Strstr => self.strstr(args),
            Function::Strcap => first.map_or(0.into(), |e| self.strcap(e)),
            Function::Strerror | Function::SignalName | Function::SyscallName => {
                first.map_or(0.into(), |e| {
                    let number = self.scalar(e);
                    self.b().extend(number, Size::B4, true).into()
                })
            }
            Function::Cgroupid => {
                let path = first.and_then(Expr::as_str).unwrap_or_default();
                (self.facts.cgroup_id(path).unwrap_or(0) as i64).into()
            }
            Function::Bswap => first.map_or(0.into(), |e| self.bswap(e)),
            Function::Nsecs => self.clock(first.and_then(Expr::as_str).unwrap_or("boot")),
            _ => 0.into(),
        }
    }

    fn print(&mut self, args: &[Expr]) {
        let Some(first) = args.first() else { return };
        let constant = |n: usize| args.get(n).and_then(Expr::as_const).unwrap_or(0) as u64;
        match &first.kind {
            ExprKind::Map { map, key } if key.is_empty() => {
                let (top, div) = (constant(1), constant(2));
                self.map_event(*map, |map| Action::PrintMap { map, top, div });
            }
            ExprKind::Map { map, key } if self.is_aggregate_map(*map) => self.print_entry(*map, key),
            _ => self.print_value(first),
        }
    }

    fn is_aggregate_map(&self, map: crate::hir::MapId) -> bool {
        matches!(self.typed.maps[map.0 as usize].value, Type::Aggregate(_))
    }

    fn whole_map(&mut self, args: &[Expr], action: impl FnOnce(u32) -> Action) {
        if let Some(Expr { kind: ExprKind::Map { map, .. }, .. }) = args.first() {
            self.map_event(*map, action);
            self.forget_map(*map);
        }
    }

    fn signal(&mut self, args: &[Expr], how: u32) {
        let Some(arg) = args.first() else { return };
        let number = match arg.as_str() {
            Some(name) => i64::from(lookup::signal_number(name).unwrap_or(0)).into(),
            None => self.scalar(arg),
        };
        self.b().call_void(how, &[number]);
    }

    /// Calls that write their result to memory.
    pub(super) fn call_into(
        &mut self,
        function: Function,
        args: &[Expr],
        expr: &Expr,
        ty: &Type,
        dst: Place,
        clean: bool,
    ) {
        match (function, args) {
            (Function::Str, _) => {
                let own = self.type_of(expr).clone();
                if own == *ty {
                    self.str_into(args, self.size_of(ty), dst, clean);
                } else {
                    let copy = self.slot_for("str", &own);
                    self.str_into(args, self.size_of(&own), copy, clean);
                    self.store(Value::Memory(copy), &own, ty, dst, clean);
                }
            }
            (Function::StrConcat, [a, b]) => self.concatenate(a, b, self.size_of(ty), dst, clean),
            (Function::Buf, [source, rest @ ..]) => self.buf_into(source, rest.first(), ty, dst, clean),
            (Function::Ntop, [address]) => self.ntop_into(None, address, dst),
            (Function::Ntop, [family, address, ..]) => self.ntop_into(Some(family), address, dst),
            (Function::Pton, [text, ..]) => self.pton_into(text.as_str().unwrap_or_default(), ty, dst),
            (Function::Ustack, _) => self.user_stack_into(ty, dst),
            (Function::Usym, [address, ..]) => {
                let address = self.address_value(address);
                self.b().store(dst.addr(), Size::B8, address);
                let pid = self.pid();
                self.b().store(dst.at(8).addr(), Size::B8, pid);
            }
            (Function::Macaddr, [address, ..]) => {
                let from = self.type_of(address).clone();
                let value = self.dereferenced(address, &from);
                self.b().zero_mem(dst.addr(), 8, dst.align());
                self.store_bytes(value, 6, dst);
            }
            _ => {}
        }
    }

    /// An array or record argument as it is, a pointer as what it points to.
    fn dereferenced(&mut self, arg: &Expr, ty: &Type) -> Value {
        match ty {
            Type::Pointer { space, .. } => {
                let base = self.scalar(arg);
                Value::Remote(Remote { base, off: 0, space: *space })
            }
            ty if ty.is_integral() => {
                let base = self.scalar(arg);
                Value::Remote(Remote { base, off: 0, space: Space::Unknown })
            }
            _ => self.expr(arg),
        }
    }

    /// An address: a pointer or integer as it is, memory by its place.
    fn address_value(&mut self, arg: &Expr) -> Operand {
        let ty = self.type_of(arg).clone();
        if ty.is_scalar() {
            return self.scalar(arg);
        }
        match self.expr(arg) {
            Value::Remote(remote) => self.remote_address(remote),
            value => self.scalar_of(value, &Type::U64),
        }
    }

    /// `str(p[, n])` into `cap` bytes; the helper's result when it was read from foreign memory.
    fn str_into(&mut self, args: &[Expr], cap: u32, dst: Place, clean: bool) -> Option<Vreg> {
        let source = args.first()?;
        let from = self.type_of(source).clone();
        match self.dereferenced(source, &from) {
            Value::Remote(remote) if remote.space != Space::Bpf => {
                let room = match &from {
                    Type::Array { len, .. } if *len > 0 => cap.min(*len),
                    _ => cap,
                };
                let result = match args.get(1).map(Expr::as_const) {
                    Some(None) => return Some(self.str_limited(remote, &args[1], cap, dst, clean)),
                    Some(Some(length)) => {
                        let room = room.min(u32::try_from(length).unwrap_or(u32::MAX)).max(1);
                        let result = self.str_from_remote(dst, room, remote, clean);
                        if clean {
                            self.zero_tail(dst, room, cap, clean);
                        }
                        return Some(result);
                    }
                    None => self.str_from_remote(dst, room, remote, clean),
                };
                self.keep_last_byte(dst, room, remote, result);
                self.zero_tail(dst, room, cap, clean);
                Some(result)
            }
            value => {
                let keep = match args.get(1).map(Expr::as_const) {
                    Some(None) => {
                        let place = self.in_memory(value, &from, false);
                        let remote =
                            Remote { base: self.address(place).into(), off: 0, space: Space::Kernel };
                        return Some(self.str_limited(remote, &args[1], cap, dst, clean));
                    }
                    Some(Some(length)) => cap.min(u32::try_from(length).unwrap_or(u32::MAX).max(1)) - 1,
                    None => cap,
                };
                self.store(value, &from, &Type::Str { cap: keep }, dst, clean);
                self.zero_tail(dst, keep, cap, clean);
                None
            }
        }
    }

    /// `str(p, n)` with a length that is only known when it runs: at most `n` bytes, NUL included.
    fn str_limited(&mut self, remote: Remote, length: &Expr, cap: u32, dst: Place, clean: bool) -> Vreg {
        let length = self.scalar(length);
        let wanted = self.b().copy_new(length);
        let (too_long, fits) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Ugt, wanted, i64::from(cap), too_long, fits);
        self.b().switch_to(too_long);
        self.b().copy(wanted, i64::from(cap));
        self.b().jump(fits);
        self.b().switch_to(fits);
        if clean {
            self.b().zero_mem(dst.addr(), cap, dst.align());
        } else {
            // A length of 0 writes nothing.
            self.b().store(dst.addr(), Size::B1, 0);
        }
        let reader = match remote.space {
            Space::Kernel => helper::PROBE_READ_KERNEL_STR,
            Space::User => helper::PROBE_READ_USER_STR,
            _ => helper::PROBE_READ_STR,
        };
        let address = self.remote_address(remote);
        let to = self.address(dst);
        let result = self.b().call(reader, &[to.into(), wanted.into(), address]);
        let (failed, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Slt, result, 0, failed, done);
        self.b().switch_to(failed);
        self.b().store(dst.addr(), Size::B1, 0);
        self.count_failed_read(remote.base);
        self.b().jump(done);
        self.b().switch_to(done);
        result
    }

    /// Reads a `str()` argument into a record; the number of bytes it took, when known.
    pub(super) fn read_str_arg(&mut self, arg: &Expr, ty: &Type, dst: Place) -> Option<Vreg> {
        let ExprKind::Call { args, .. } = &arg.kind else { return None };
        self.str_into(args, self.size_of(ty), dst, false)
    }

    /// `buf(p[, n])`: length, then bytes.
    fn buf_into(&mut self, source: &Expr, length: Option<&Expr>, ty: &Type, dst: Place, clean: bool) {
        let Type::Buffer { cap } = *ty else { return };
        let from = self.type_of(source).clone();
        let wanted = match length {
            Some(length) => self.scalar(length),
            None => i64::from(cap.min(self.size_of(&from).max(1))).into(),
        };
        let wanted = self.b().copy_new(wanted);
        let (too_long, fits) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Ugt, wanted, i64::from(cap), too_long, fits);
        self.b().switch_to(too_long);
        self.b().copy(wanted, i64::from(cap));
        self.b().jump(fits);
        self.b().switch_to(fits);
        if clean {
            self.b().zero_mem(dst.addr(), cap + 4, 4.min(dst.align()));
        }
        self.b().store(dst.addr(), Size::B4, wanted);
        let data = dst.at(4);
        match self.dereferenced(source, &from) {
            Value::Remote(remote) if remote.space != Space::Bpf => {
                let result = self.read_remote(data, wanted.into(), remote);
                let (failed, done) = (self.b().block(), self.b().block());
                self.b().branch_unlikely(Cond::Slt, result, 0, failed, done);
                self.b().switch_to(failed);
                self.b().store(dst.addr(), Size::B4, 0);
                self.bump(Counter::ReadFailed);
                self.b().jump(done);
                self.b().switch_to(done);
            }
            value => {
                let size = self.size_of(&from).min(cap);
                self.store_bytes(value, size, data);
            }
        }
    }

    /// `ntop`: family, then address bytes.
    fn ntop_into(&mut self, family: Option<&Expr>, address: &Expr, dst: Place) {
        let from = self.type_of(address).clone();
        self.b().zero_mem(dst.addr(), 24, 8);
        let size = match &from {
            ty if ty.is_integral() => 4,
            Type::Array { .. } | Type::Record(_) | Type::Str { .. } => self.size_of(&from).min(16),
            Type::Pointer { to, .. } => self.size_of(to).clamp(4, 16),
            _ => self.size_of(&from).min(16),
        };
        let family = match family {
            Some(family) => self.scalar(family),
            None if size > 4 => AF_INET6.into(),
            None => AF_INET.into(),
        };
        self.b().store(dst.addr(), Size::B8, family);
        if from.is_integral() {
            let value = self.scalar(address);
            self.b().store(dst.at(8).addr(), Size::B4, value);
        } else {
            let value = self.dereferenced(address, &from);
            self.store_bytes(value, size, dst.at(8));
        }
    }

    fn pton_into(&mut self, text: &str, ty: &Type, dst: Place) {
        let bytes = lookup::parse_address(text).unwrap_or_default();
        let size = self.size_of(ty);
        for (at, byte) in bytes.iter().take(size as usize).enumerate() {
            self.b().store(dst.at(at as u32).addr(), Size::B1, i64::from(*byte));
        }
    }

    /// `len`: entries of a map, or frames of a stack.
    fn length(&mut self, arg: &Expr) -> Operand {
        if let ExprKind::Map { map, key } = &arg.kind
            && key.is_empty()
        {
            return self.map_length(*map);
        }
        let ty = self.type_of(arg).clone();
        let id = match ty {
            Type::KernelStack { .. } => self.scalar(arg),
            Type::UserStack { .. } => {
                let value = self.expr(arg);
                let place = self.in_memory(value, &ty, false);
                self.b().load(place.addr(), Size::B8, false).into()
            }
            _ => return self.strlen(arg),
        };
        let key = self.slot("stack_id", 8);
        self.b().store(key.addr(), Size::B8, id);
        let store = self.plan.stacks();
        let found = self.lookup_key(store, key);
        let result = self.b().copy_new(0);
        let (some, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, found, 0, some, done);
        self.b().switch_to(some);
        let frames = self.b().load(Place::new(found).addr(), Size::B8, false);
        self.b().copy(result, frames);
        self.b().jump(done);
        self.b().switch_to(done);
        result.into()
    }

    /// Entries of a map, counted by a callback that does nothing: the helper gives the number of calls.
    fn map_length(&mut self, map: crate::hir::MapId) -> Operand {
        let kernel_map = self.plan.user_map(map).0.map;
        let callback = self.empty_callback();
        let func = self.b().func_ptr(callback);
        let map_arg = self.map_operand(kernel_map);
        self.b().call(helper::FOR_EACH_MAP_ELEM, &[map_arg, func.into(), 0.into(), 0.into()]).into()
    }

    /// An address of a position-independent file is as far from the probed instruction as in the file.
    fn user_address(&mut self, symbol: &str) -> Operand {
        let Some((binary, place)) = lookup::probed_file(self.facts, self.instance) else { return 0.into() };
        let address = lookup::user_symbol(&binary, symbol).map_or(0, |(address, _)| address) as i64;
        match place.filter(|_| binary.position_independent) {
            Some(place) => {
                let ip = self.register(arch::IP);
                self.b().bin_operand(BinOp::Add, ip, address.wrapping_sub(place as i64))
            }
            None => address.into(),
        }
    }

    fn strncmp(&mut self, args: &[Expr]) -> Operand {
        let [a, b, n, ..] = args else { return 0.into() };
        let result = self.b().copy_new(1);
        let (equal, done) = (self.b().block(), self.b().block());
        let limit = n.as_const().unwrap_or(0).max(0) as u32;
        let (a_place, a_cap) = self.string_place(a);
        let (b_place, b_cap) = self.string_place(b);
        let limit = limit.min(a_cap).min(b_cap);
        self.compare_loop(a_place, b_place, i64::from(limit).into(), equal, done);
        self.b().switch_to(equal);
        self.b().copy(result, 0);
        self.b().jump(done);
        self.b().switch_to(done);
        result.into()
    }

    fn strcontains(&mut self, args: &[Expr]) -> Operand {
        if let [text, part, ..] = args
            && let (Type::ProbeName, Some(part)) = (self.type_of(text), part.as_str())
        {
            let name = self.scalar(text);
            let result = self.b().copy_new(0);
            let (yes, done) = (self.b().block(), self.b().block());
            self.branch_on_probe_name(name, |probe| probe.contains(part), yes, done);
            self.b().switch_to(yes);
            self.b().copy(result, 1);
            self.b().jump(done);
            self.b().switch_to(done);
            return result.into();
        }
        match self.strstr(args) {
            Operand::Imm(at) => i64::from(at >= 0).into(),
            at => self.b().cmp(Cond::Sge, at, 0).into(),
        }
    }

    /// Where a string begins in another one, or -1.
    fn strstr(&mut self, args: &[Expr]) -> Operand {
        let [hay, needle, ..] = args else { return 0.into() };
        if let (Some(hay), Some(needle)) = (hay.as_str(), needle.as_str()) {
            return hay.find(needle).map_or(-1, |at| at as i64).into();
        }
        let (place, cap) = self.string_place(hay);
        match needle.as_str() {
            Some(text) => self.find_text(place, cap, text.as_bytes()).into(),
            None => {
                let needle = self.string_place(needle);
                self.find((place, cap), needle).into()
            }
        }
    }

    fn strcap(&mut self, arg: &Expr) -> Operand {
        match self.type_of(arg) {
            ty @ (Type::Str { .. } | Type::Array { .. }) => i64::from(self.size_of(ty)).into(),
            _ => self.strlen(arg),
        }
    }

    /// The helper that copies strings says how long they are, which is where the second one goes.
    fn concatenate(&mut self, a: &Expr, b: &Expr, cap: u32, dst: Place, clean: bool) {
        let (first, first_cap) = self.string_place(a);
        let (second, second_cap) = self.string_place(b);
        let room = first_cap.saturating_add(second_cap).max(cap);
        let both = self.slot("both", room);
        self.b().zero_mem(both.addr(), room, 8);
        let from = self.address(first);
        let to = self.address(both);
        let limit = i64::from(first_cap.saturating_add(1).min(room));
        let length = self.copy_string(to, limit, from);
        let at = self.b().bin(BinOp::Sub, length, 1);
        let to = self.b().bin(BinOp::Add, to, at);
        let from = self.address(second);
        self.copy_string(to, i64::from(second_cap), from);
        self.store(Value::Memory(both), &Type::Str { cap: room }, &Type::Str { cap }, dst, clean);
    }

    /// Copies at most `limit` bytes of a string of ours; gives its length with the NUL, from 1 to the limit.
    fn copy_string(&mut self, to: Vreg, limit: i64, from: Vreg) -> Vreg {
        let result = self.b().call(helper::PROBE_READ_KERNEL_STR, &[to.into(), limit.into(), from.into()]);
        let length = self.b().copy_new(result);
        let (small, large, check, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Slt, length, 1, small, check);
        self.b().switch_to(check);
        self.b().branch_unlikely(Cond::Sgt, length, limit, large, done);
        self.b().switch_to(small);
        self.b().copy(length, 1);
        self.b().jump(done);
        self.b().switch_to(large);
        self.b().copy(length, limit);
        self.b().jump(done);
        self.b().switch_to(done);
        length
    }

    fn strlen(&mut self, arg: &Expr) -> Operand {
        if let Some(text) = arg.as_str() {
            return (text.len() as i64).into();
        }
        let (place, cap) = self.string_place(arg);
        self.string_length(place, cap).into()
    }

    /// A string argument in memory, with its capacity.
    fn string_place(&mut self, arg: &Expr) -> (Place, u32) {
        let ty = match self.type_of(arg).clone() {
            Type::Str { cap } => Type::Str { cap },
            Type::Array { len, .. } => Type::Str { cap: len },
            _ => Type::Str { cap: self.typed.hir.config.max_strlen },
        };
        let from = self.type_of(arg).clone();
        let value = match &from {
            Type::Pointer { .. } => self.dereferenced(arg, &from),
            _ => self.expr(arg),
        };
        match value {
            Value::Memory(place) if !place.context => (place, self.size_of(&ty)),
            value => {
                let slot = self.slot_for("text", &ty);
                self.store(value, &from, &ty, slot, false);
                (slot, self.size_of(&ty))
            }
        }
    }

    fn bswap(&mut self, arg: &Expr) -> Operand {
        let size = self.size_of(self.type_of(arg));
        let value = self.scalar(arg);
        match Size::from_bytes(size) {
            Some(width) if width != Size::B1 => {
                let reg = self.b().in_reg(value);
                self.b().bswap(reg, width).into()
            }
            _ => value,
        }
    }

    fn clock(&mut self, name: &str) -> Operand {
        let number = match name {
            "monotonic" => helper::KTIME_GET_NS,
            "tai" => helper::KTIME_GET_TAI_NS,
            _ => return self.now(),
        };
        self.b().call_pure(number, &[]).into()
    }
}
