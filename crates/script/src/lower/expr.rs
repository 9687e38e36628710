//! Expressions.

use strix_codegen::ir::{BinOp, BlockId, Cond, Operand, Size, Vreg};
use strix_syntax::ast::{BinaryOp, UnaryOp};

use super::function::{Lower, Storage};
use super::value::{Place, Remote, Value};
use crate::builtins::{Function, Variable};
use crate::hir::{Expr, ExprKind, Place as HirPlace};
use crate::types::{Space, Type};

impl Lower<'_, '_> {
    /// Lowers an expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> Value {
        let outer = self.b().span();
        self.b().set_span(expr.span);
        let value = self.expr_kind(expr);
        self.b().set_span(outer);
        value
    }

    /// Lowers an expression whose type is scalar.
    pub(super) fn scalar(&mut self, expr: &Expr) -> Operand {
        let value = self.expr(expr);
        let ty = self.type_of(expr).clone();
        self.scalar_of(value, &ty)
    }

    fn expr_kind(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Int { value, .. } => Value::Scalar((*value as i64).into()),
            ExprKind::Bool(value) => Value::Scalar(i64::from(*value).into()),
            ExprKind::Str(text) => Value::Text(text.clone()),
            ExprKind::Var(var) => match self.storage(*var) {
                Storage::Register(reg) => Value::Scalar(reg.into()),
                Storage::Memory(place) => {
                    let ty = self.var_type(*var).clone();
                    if ty.is_scalar() { Value::Scalar(self.load(place, &ty)) } else { Value::Memory(place) }
                }
            },
            ExprKind::Map { map, key } => self.read_map(*map, key),
            ExprKind::Builtin(variable) => {
                let ty = self.type_of(expr).clone();
                self.variable(*variable, &ty)
            }
            ExprKind::Call { function, args, .. } => self.call(expr, *function, args),
            ExprKind::Unary { op, operand } => self.unary(expr, *op, operand),
            ExprKind::IncDec { increment, prefix, place } => self.inc_dec(*increment, *prefix, place, true),
            ExprKind::Binary { op, lhs, rhs } => self.binary(expr, *op, lhs, rhs),
            ExprKind::Ternary { cond, then, els } => self.ternary(expr, cond, then.as_deref(), els),
            ExprKind::Field { base, name, .. } => self.field_access(base, name),
            ExprKind::TupleField { base, index } => self.tuple_field(base, *index),
            ExprKind::Index { base, index } => self.index(expr, base, index),
            // The check filled in what the written type leaves open.
            ExprKind::Cast { operand, .. } => {
                let ty = self.type_of(expr).clone();
                self.cast(&ty, operand)
            }
            ExprKind::Tuple(_) | ExprKind::Record(_) => self.in_new_slot(expr),
            ExprKind::Sizeof(of) => {
                let size = self.size_of(self.type_of(of));
                Value::Scalar(i64::from(size).into())
            }
            ExprKind::Offsetof { of, path } => Value::Scalar(self.offset_of(of, path).into()),
            ExprKind::Block { stmts, value } => {
                self.stmts(stmts);
                self.expr(value)
            }
            ExprKind::Error => Value::Unit,
        }
    }

    /// Builds a value that has no place yet in a new slot.
    pub(super) fn in_new_slot(&mut self, expr: &Expr) -> Value {
        let ty = self.type_of(expr).clone();
        let slot = self.slot_for("value", &ty);
        self.expr_into(expr, &ty, slot, false);
        Value::Memory(slot)
    }

    /// Lowers an expression straight into memory as a value of type `ty`. With `clean`, bytes that do not matter are zero.
    pub(super) fn expr_into(&mut self, expr: &Expr, ty: &Type, dst: Place, clean: bool) {
        let outer = self.b().span();
        self.b().set_span(expr.span);
        match (&expr.kind, ty) {
            (ExprKind::Record(values), Type::Record(id)) if self.type_of(expr) == ty => {
                let fields = self.typed.hir.types.record(*id).fields.clone().unwrap_or_default();
                let items: Vec<Type> = fields.iter().map(|f| f.ty.clone()).collect();
                self.zero_padding(&items, dst);
                for ((_, value), field) in values.iter().zip(&fields) {
                    self.expr_into(value, &field.ty, dst.at(field.offset), clean);
                }
            }
            (ExprKind::Tuple(items), Type::Tuple(types)) if items.len() == types.len() => {
                let (offsets, _) = self.typed.hir.types.tuple_layout(types);
                self.zero_padding(types, dst);
                for ((item, item_ty), offset) in items.iter().zip(types).zip(offsets) {
                    self.expr_into(item, item_ty, dst.at(offset), clean);
                }
            }
            (ExprKind::Builtin(Variable::Comm), Type::Str { cap })
                if *cap >= 16 && !dst.context && !self.comm_is_known() =>
            {
                self.comm_into(dst);
                if *cap > 16 {
                    let tail = dst.at(16);
                    self.b().zero_mem(tail.addr(), cap - 16, tail.align());
                }
            }
            (ExprKind::Call { function, args, .. }, _) if self.builds_in_place(*function) => {
                self.call_into(*function, args, expr, ty, dst, clean);
            }
            (ExprKind::Builtin(Variable::Ustack), Type::UserStack { .. }) => self.user_stack_into(ty, dst),
            (ExprKind::Ternary { cond, then: Some(then), els }, _) if !ty.is_scalar() => {
                self.choose(
                    cond,
                    |l| l.expr_into(then, ty, dst, clean),
                    |l| l.expr_into(els, ty, dst, clean),
                );
            }
            _ => {
                let from = self.type_of(expr).clone();
                let value = self.expr(expr);
                self.store(value, &from, ty, dst, clean);
            }
        }
        self.b().set_span(outer);
    }

    fn choose(&mut self, cond: &Expr, then: impl FnOnce(&mut Self), els: impl FnOnce(&mut Self)) {
        let (yes, no, done) = (self.b().block(), self.b().block(), self.b().block());
        self.branch_on(cond, yes, no);
        self.b().switch_to(yes);
        self.region(then);
        self.b().jump(done);
        self.b().switch_to(no);
        self.region(els);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    fn ternary(&mut self, expr: &Expr, cond: &Expr, then: Option<&Expr>, els: &Expr) -> Value {
        let ty = self.type_of(expr).clone();
        if !ty.is_scalar() && ty != Type::Void {
            return match then {
                Some(_) => self.in_new_slot(expr),
                None => Value::Unit,
            };
        }
        let Some(then) = then else { return self.elvis(&ty, cond, els) };
        let result = self.b().copy_new(0);
        let assign = |l: &mut Self, e: &Expr| {
            let from = l.type_of(e).clone();
            let value = l.expr(e);
            if l.type_of(e) != &Type::Void {
                let scalar = l.scalar_of(value, &from);
                let scalar = l.convert(scalar, &from, &ty);
                l.b().copy(result, scalar);
            }
        };
        self.choose(cond, |l| assign(l, then), |l| assign(l, els));
        if ty == Type::Void { Value::Unit } else { Value::Scalar(result.into()) }
    }

    /// `cond ?: els`.
    fn elvis(&mut self, ty: &Type, cond: &Expr, els: &Expr) -> Value {
        let value = self.scalar(cond);
        let result = self.b().copy_new(value);
        let (missing, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Eq, result, 0, missing, done);
        self.b().switch_to(missing);
        self.region(|l| {
            let from = l.type_of(els).clone();
            let other = l.scalar(els);
            let other = l.convert(other, &from, ty);
            l.b().copy(result, other);
        });
        self.b().jump(done);
        self.b().switch_to(done);
        Value::Scalar(result.into())
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, operand: &Expr) -> Value {
        match op {
            UnaryOp::Neg => {
                let value = self.scalar(operand);
                Value::Scalar(self.b().neg(value).into())
            }
            UnaryOp::BitNot => {
                let value = self.scalar(operand);
                let raw: Operand = self.b().bin(BinOp::Xor, value, -1).into();
                let ty = self.type_of(expr).clone();
                Value::Scalar(self.convert(raw, &Type::U64, &ty))
            }
            UnaryOp::Not => self.truth(expr),
            UnaryOp::Deref => {
                let pointer_ty = self.type_of(operand).clone();
                let pointer = self.scalar(operand);
                let ty = self.type_of(expr).clone();
                self.pointee(pointer, &pointer_ty, &ty)
            }
            UnaryOp::AddressOf => self.address_of(operand),
        }
    }

    /// What a pointer points to: scalars are read, larger values stay where they are.
    fn pointee(&mut self, pointer: Operand, pointer_ty: &Type, ty: &Type) -> Value {
        let space = match pointer_ty {
            Type::Pointer { space, .. } => *space,
            _ => Space::Unknown,
        };
        let remote = Value::Remote(Remote { base: pointer, off: 0, space });
        if ty.is_scalar() { Value::Scalar(self.scalar_of(remote, ty)) } else { remote }
    }

    fn address_of(&mut self, operand: &Expr) -> Value {
        let place = match &operand.kind {
            ExprKind::Var(var) => match self.storage(*var) {
                Storage::Memory(place) => Some(place),
                Storage::Register(_) => None,
            },
            ExprKind::Map { map, key } => Some(self.value_place(*map, key)),
            _ => match self.expr(operand) {
                Value::Memory(place) => Some(place),
                Value::Remote(remote) => return Value::Scalar(self.remote_address(remote)),
                _ => None,
            },
        };
        match place {
            Some(place) => Value::Scalar(self.address(place).into()),
            None => Value::Scalar(0.into()),
        }
    }

    fn binary(&mut self, expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Value {
        let (l_ty, r_ty) = (self.type_of(lhs).clone(), self.type_of(rhs).clone());
        let bin = match op {
            BinaryOp::And | BinaryOp::Or => return self.truth(expr),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
                return self.comparison(expr, op, lhs, rhs);
            }
            _ => arithmetic(op, self.signed_pair(lhs, rhs), l_ty.is_signed()),
        };
        let left = self.scalar(lhs);
        let right = self.scalar(rhs);
        let (left, right) = self.scale_pointers(op, (left, &l_ty), (right, &r_ty));
        let raw = self.b().bin_operand(bin, left, right);
        let ty = self.type_of(expr).clone();
        Value::Scalar(self.convert(raw, &Type::I64, &ty))
    }

    /// Pointer arithmetic counts in elements.
    fn scale_pointers(
        &mut self,
        op: BinaryOp,
        left: (Operand, &Type),
        right: (Operand, &Type),
    ) -> (Operand, Operand) {
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            return (left.0, right.0);
        }
        match (left.1, right.1) {
            (Type::Pointer { to, .. }, r) if r.is_integral() => {
                let size = i64::from(self.size_of(to).max(1));
                (left.0, self.b().bin_operand(BinOp::Mul, right.0, size))
            }
            (l, Type::Pointer { to, .. }) if l.is_integral() => {
                let size = i64::from(self.size_of(to).max(1));
                (self.b().bin_operand(BinOp::Mul, left.0, size), right.0)
            }
            _ => (left.0, right.0),
        }
    }

    fn comparison(&mut self, expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Value {
        let (l, r) = (self.type_of(lhs).clone(), self.type_of(rhs).clone());
        if !l.is_scalar() || !r.is_scalar() {
            return self.truth(expr);
        }
        let cond = comparison(op, self.signed_pair(lhs, rhs));
        let left = self.scalar(lhs);
        let right = self.scalar(rhs);
        Value::Scalar(self.b().cmp(cond, left, right).into())
    }

    /// Whether an operation on two integers is signed: one of them is, and a literal that is not negative goes with the other.
    fn signed_pair(&self, lhs: &Expr, rhs: &Expr) -> bool {
        let neutral = |e: &Expr| e.as_const().is_some_and(|v| v >= 0);
        let (l, r) = (self.type_of(lhs).is_signed(), self.type_of(rhs).is_signed());
        match (neutral(lhs), neutral(rhs)) {
            (true, false) => r,
            (false, true) => l,
            _ => l || r,
        }
    }

    /// A condition as 0 or 1.
    fn truth(&mut self, expr: &Expr) -> Value {
        let result = self.b().copy_new(0);
        let (yes, done) = (self.b().block(), self.b().block());
        self.branch_on(expr, yes, done);
        self.b().switch_to(yes);
        self.b().copy(result, 1);
        self.b().jump(done);
        self.b().switch_to(done);
        Value::Scalar(result.into())
    }

    /// Goes to `yes` if the expression is true, else to `no`.
    pub(super) fn branch_on(&mut self, expr: &Expr, yes: BlockId, no: BlockId) {
        let outer = self.b().span();
        self.b().set_span(expr.span);
        match &expr.kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.branch_on(operand, no, yes),
            ExprKind::Binary { op: BinaryOp::And, lhs, rhs } => {
                let more = self.b().block();
                self.branch_on(lhs, more, no);
                self.b().switch_to(more);
                self.region(|l| l.branch_on(rhs, yes, no));
            }
            ExprKind::Binary { op: BinaryOp::Or, lhs, rhs } => {
                let more = self.b().block();
                self.branch_on(lhs, yes, more);
                self.b().switch_to(more);
                self.region(|l| l.branch_on(rhs, yes, no));
            }
            ExprKind::Binary { op, lhs, rhs } if is_comparison(*op) => {
                self.branch_on_comparison(*op, lhs, rhs, yes, no)
            }
            _ => {
                let ty = self.type_of(expr).clone();
                let value = self.expr(expr);
                match value {
                    Value::Text(text) => self.b().jump(if text.is_empty() { no } else { yes }),
                    value if matches!(ty, Type::Str { .. }) => {
                        let place = self.in_memory(value, &ty, false);
                        let first = self.b().load(place.addr(), Size::B1, false);
                        self.b().branch(Cond::Ne, first, 0, yes, no);
                    }
                    value => {
                        let scalar = self.scalar_of(value, &ty);
                        self.b().branch(Cond::Ne, scalar, 0, yes, no);
                    }
                }
            }
        }
        self.b().set_span(outer);
    }

    fn branch_on_comparison(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr, yes: BlockId, no: BlockId) {
        let (l, r) = (self.type_of(lhs).clone(), self.type_of(rhs).clone());
        if l.is_scalar() && r.is_scalar() {
            let cond = comparison(op, self.signed_pair(lhs, rhs));
            let left = self.scalar(lhs);
            let right = self.scalar(rhs);
            return self.b().branch(cond, left, right, yes, no);
        }
        let (equal, different) = if op == BinaryOp::Eq { (yes, no) } else { (no, yes) };
        let named = match (&l, &r) {
            (Type::ProbeName, _) => rhs.as_str().map(|text| (lhs, text)),
            (_, Type::ProbeName) => lhs.as_str().map(|text| (rhs, text)),
            _ => None,
        };
        if let Some((name, text)) = named {
            let name = self.scalar(name);
            return self.branch_on_probe_name(name, |probe| probe == text, equal, different);
        }
        let left = self.expr(lhs);
        let right = self.expr(rhs);
        if matches!(l, Type::Str { .. }) || matches!(r, Type::Str { .. }) {
            return self.branch_on_strings((left, l), (right, r), equal, different);
        }
        if let (Type::Buffer { cap }, Type::Buffer { cap: other }) = (&l, &r) {
            let left = self.in_memory(left, &l, false);
            let right = self.in_memory(right, &r, false);
            return self.branch_on_buffers(left, right, *cap.min(other), equal, different);
        }
        let types = &self.typed.hir.types;
        if let (Some(a), Some(b)) = (types.parts(&l), types.parts(&r)) {
            let left = self.in_memory(left, &l, false);
            let right = self.in_memory(right, &r, false);
            return self.branch_on_parts((left, &a), (right, &b), equal, different);
        }
        let size = self.size_of(&l).min(self.size_of(&r));
        let left = self.in_memory(left, &l, true);
        let right = self.in_memory(right, &r, true);
        self.branch_on_bytes(left, right, size, equal, different);
    }

    /// Goes to `yes` if the attach point with this number has a name that passes the test.
    pub(super) fn branch_on_probe_name(
        &mut self,
        name: Operand,
        test: impl Fn(&str) -> bool,
        yes: BlockId,
        no: BlockId,
    ) {
        let names = &self.typed.hir.probe_names;
        for (number, _) in names.iter().enumerate().filter(|(_, name)| test(name)) {
            let next = self.b().block();
            self.b().branch(Cond::Eq, name, number as i64, yes, next);
            self.b().switch_to(next);
        }
        self.b().jump(no);
    }

    /// Goes to `equal` if all parts are: strings up to their ends, numbers whatever their sizes.
    fn branch_on_parts(
        &mut self,
        (a, a_parts): (Place, &[(u32, Type)]),
        (b, b_parts): (Place, &[(u32, Type)]),
        equal: BlockId,
        different: BlockId,
    ) {
        for ((a_at, a_ty), (b_at, b_ty)) in a_parts.iter().zip(b_parts) {
            let (x, y) = (a.at(*a_at), b.at(*b_at));
            let next = self.b().block();
            let types = &self.typed.hir.types;
            if let (Some(p), Some(q)) = (types.parts(a_ty), types.parts(b_ty)) {
                self.branch_on_parts((x, &p), (y, &q), next, different);
            } else if matches!(a_ty, Type::Str { .. }) {
                let (x, y) = ((Value::Memory(x), a_ty.clone()), (Value::Memory(y), b_ty.clone()));
                self.branch_on_strings(x, y, next, different);
            } else if let (Type::Buffer { cap }, Type::Buffer { cap: other }) = (a_ty, b_ty) {
                self.branch_on_buffers(x, y, *cap.min(other), next, different);
            } else if a_ty.is_scalar() && b_ty.is_scalar() {
                let (x, y) = (self.load(x, a_ty), self.load(y, b_ty));
                self.b().branch(Cond::Eq, x, y, next, different);
            } else {
                let size = self.size_of(a_ty).min(self.size_of(b_ty));
                self.branch_on_bytes(x, y, size, next, different);
            }
            self.b().switch_to(next);
        }
        self.b().jump(equal);
    }

    /// Goes to `equal` if two buffers have the same length and bytes; no more than `cap` are looked at.
    fn branch_on_buffers(&mut self, a: Place, b: Place, cap: u32, equal: BlockId, different: BlockId) {
        let length = self.b().load(a.addr(), Size::B4, false);
        let other = self.b().load(b.addr(), Size::B4, false);
        let index = self.b().copy_new(0);
        let (head, inside, body, next) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, length, other, different, head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, index, i64::from(cap), equal, inside);
        self.b().switch_to(inside);
        self.b().branch(Cond::Uge, index, length, equal, body);
        self.b().switch_to(body);
        let left = self.byte_at(a.at(4), index);
        let right = self.byte_at(b.at(4), index);
        self.b().branch(Cond::Ne, left, right, different, next);
        self.b().switch_to(next);
        self.b().bin_to(index, BinOp::Add, index, 1);
        self.b().jump(head);
    }

    /// Goes to `equal` if `size` bytes are the same.
    fn branch_on_bytes(&mut self, a: Place, b: Place, size: u32, equal: BlockId, different: BlockId) {
        let mut at = 0;
        while at < size {
            let mut step = u32::from(a.at(at).align().min(b.at(at).align()));
            while step > size - at {
                step /= 2;
            }
            let width = Size::from_bytes(step).unwrap_or(Size::B1);
            let left = self.b().load(a.at(at).addr(), width, false);
            let right = self.b().load(b.at(at).addr(), width, false);
            let next = self.b().block();
            self.b().branch(Cond::Ne, left, right, different, next);
            self.b().switch_to(next);
            at += step;
        }
        self.b().jump(equal);
    }

    fn cast(&mut self, ty: &Type, operand: &Expr) -> Value {
        let from = self.type_of(operand).clone();
        let value = self.expr(operand);
        match (ty, &from) {
            (to, from) if to.is_scalar() && from.is_scalar() => {
                let scalar = self.scalar_of(value, from);
                Value::Scalar(self.convert(scalar, from, to))
            }
            // Bytes taken as a number, or a number as bytes.
            (to, from) if to.is_scalar() => {
                let place = self.in_memory(value, from, true);
                Value::Scalar(self.load(place, to))
            }
            (to, from) if from.is_scalar() => {
                let slot = self.slot_for("cast", to);
                let scalar = self.scalar_of(value, from);
                let size = self.size_of(to).min(8);
                let word = Type::Int { size: size as u8, signed: false };
                self.store_scalar(scalar, &word, slot);
                Value::Memory(slot)
            }
            (to, from) if to == from => value,
            (to, from) => {
                let slot = self.slot_for("cast", to);
                self.store(value, from, to, slot, true);
                Value::Memory(slot)
            }
        }
    }

    fn field_access(&mut self, base: &Expr, name: &str) -> Value {
        let base_ty = self.type_of(base).clone();
        let (record, value) = match &base_ty {
            Type::Record(id) => (*id, self.expr(base)),
            Type::Pointer { to, space } => {
                let Type::Record(id) = **to else { return Value::Unit };
                let pointer = self.scalar(base);
                (id, Value::Remote(Remote { base: pointer, off: 0, space: *space }))
            }
            _ => return Value::Unit,
        };
        let Some(field) = self.typed.hir.types.field(record, name) else {
            return Value::Unit;
        };
        if matches!(base.kind, ExprKind::Builtin(Variable::Args)) {
            return self.args_field(&field);
        }
        let found = self.field(value, &field.ty, field.offset, &field.layout);
        if field.ty.is_scalar() { Value::Scalar(self.scalar_of(found, &field.ty)) } else { found }
    }

    fn offset_of(&self, of: &Expr, path: &[String]) -> i64 {
        let mut ty = self.type_of(of).clone();
        let mut offset = 0;
        for name in path {
            let record = match ty {
                Type::Record(id) => id,
                Type::Pointer { to, .. } => match *to {
                    Type::Record(id) => id,
                    _ => break,
                },
                _ => break,
            };
            let Some(field) = self.typed.hir.types.field(record, name) else { break };
            offset += i64::from(field.offset);
            ty = field.ty;
        }
        offset
    }

    fn tuple_field(&mut self, base: &Expr, index: u32) -> Value {
        let Type::Tuple(items) = self.type_of(base).clone() else { return Value::Unit };
        let (offsets, _) = self.typed.hir.types.tuple_layout(&items);
        let (Some(ty), Some(offset)) = (items.get(index as usize), offsets.get(index as usize)) else {
            return Value::Unit;
        };
        let Value::Memory(place) = self.expr(base) else { return Value::Unit };
        let place = place.at(*offset);
        if ty.is_scalar() { Value::Scalar(self.load(place, ty)) } else { Value::Memory(place) }
    }

    fn index(&mut self, expr: &Expr, base: &Expr, index: &Expr) -> Value {
        let ty = self.type_of(expr).clone();
        let base_ty = self.type_of(base).clone();
        let (element, len) = match &base_ty {
            Type::Array { element, len } => ((**element).clone(), *len),
            Type::Pointer { to, .. } => ((**to).clone(), 0),
            Type::Str { cap } => (Type::Int { size: 1, signed: true }, *cap),
            Type::Tuple(_) => {
                let at = index.as_const().unwrap_or(0) as u32;
                return self.tuple_field(base, at);
            }
            _ => return Value::Unit,
        };
        let size = self.size_of(&element);
        if let Type::Pointer { space, .. } = base_ty {
            let pointer = self.scalar(base);
            let at = self.scalar(index);
            let step = self.b().bin_operand(BinOp::Mul, at, i64::from(size));
            let address = self.b().bin_operand(BinOp::Add, pointer, step);
            let remote = Value::Remote(Remote { base: address, off: 0, space });
            return if ty.is_scalar() { Value::Scalar(self.scalar_of(remote, &ty)) } else { remote };
        }
        let value = match self.expr(base) {
            Value::Text(text) => Value::Memory(self.in_memory(Value::Text(text), &base_ty, false)),
            value => value,
        };
        let found = match (value, index.as_const()) {
            (Value::Memory(place), Some(at)) => Value::Memory(place.at(at as u32 * size)),
            (Value::Remote(remote), Some(at)) => {
                Value::Remote(Remote { off: remote.off + at * i64::from(size), ..remote })
            }
            (Value::Remote(remote), None) if remote.space != Space::Bpf => {
                let at = self.scalar(index);
                let step = self.b().bin_operand(BinOp::Mul, at, i64::from(size));
                let base = self.b().bin_operand(BinOp::Add, remote.base, step);
                Value::Remote(Remote { base, ..remote })
            }
            (value, None) => {
                let place = self.in_memory(value, &base_ty, false);
                self.dynamic_element(place, index, size, len)
            }
            (value, Some(_)) => value,
        };
        if ty.is_scalar() { Value::Scalar(self.scalar_of(found, &ty)) } else { found }
    }

    /// Element of an array of ours at a subscript that is only known when it runs; past the end it is the last element.
    fn dynamic_element(&mut self, place: Place, index: &Expr, size: u32, len: u32) -> Value {
        let at = self.scalar(index);
        let at = self.b().copy_new(at);
        let last = i64::from(len.max(1)) - 1;
        let (clamp, inside) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Ugt, at, last, clamp, inside);
        self.b().switch_to(clamp);
        self.b().copy(at, last);
        self.b().jump(inside);
        self.b().switch_to(inside);
        let step = self.b().bin(BinOp::Mul, at, i64::from(size));
        let base = self.b().bin(BinOp::Add, place.base, step);
        Value::Memory(Place { base, ..place })
    }

    /// `++` and `--`. Without `wanted` no value is computed, and maps are changed atomically without reading.
    pub(super) fn inc_dec(&mut self, increment: bool, prefix: bool, place: &HirPlace, wanted: bool) -> Value {
        let delta: i64 = if increment { 1 } else { -1 };
        match place {
            HirPlace::Var(var) => {
                let ty = self.var_type(*var).clone();
                let step = match &ty {
                    Type::Pointer { to, .. } => delta * i64::from(self.size_of(to).max(1)),
                    _ => delta,
                };
                let old = self.read_var(*var);
                let old: Vreg = self.b().copy_new(old);
                let new = self.b().bin_operand(BinOp::Add, old, step);
                let new = self.convert(new, &Type::I64, &ty);
                self.write_var(*var, new);
                Value::Scalar(if prefix { new } else { old.into() })
            }
            HirPlace::Map { map, key, .. } => {
                let delta = match &self.typed.maps[map.0 as usize].value {
                    Type::Pointer { to, .. } => delta * i64::from(self.size_of(to).max(1)),
                    _ => delta,
                };
                let place = self.value_place(*map, key);
                let old = if wanted { Some(self.b().load(place.addr(), Size::B8, false)) } else { None };
                self.b().atomic(strix_codegen::ir::AtomicOp::Add, place.addr(), Size::B8, delta);
                match old {
                    Some(old) if prefix => Value::Scalar(self.b().bin(BinOp::Add, old, delta).into()),
                    Some(old) => Value::Scalar(old.into()),
                    None => Value::Unit,
                }
            }
        }
    }

    /// Calls that write their result straight to where it is wanted.
    fn builds_in_place(&self, function: Function) -> bool {
        matches!(
            function,
            Function::Str
                | Function::StrConcat
                | Function::Buf
                | Function::Ntop
                | Function::Pton
                | Function::Ustack
                | Function::Usym
                | Function::Macaddr
        )
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne)
}

fn comparison(op: BinaryOp, signed: bool) -> Cond {
    match (op, signed) {
        (BinaryOp::Lt, true) => Cond::Slt,
        (BinaryOp::Lt, false) => Cond::Ult,
        (BinaryOp::Le, true) => Cond::Sle,
        (BinaryOp::Le, false) => Cond::Ule,
        (BinaryOp::Gt, true) => Cond::Sgt,
        (BinaryOp::Gt, false) => Cond::Ugt,
        (BinaryOp::Ge, true) => Cond::Sge,
        (BinaryOp::Ge, false) => Cond::Uge,
        (BinaryOp::Eq, _) => Cond::Eq,
        _ => Cond::Ne,
    }
}

/// The operation for an arithmetic operator. Shifts right look at the left side's sign only.
pub(super) fn arithmetic(op: BinaryOp, signed: bool, left_signed: bool) -> BinOp {
    match op {
        BinaryOp::Mul => BinOp::Mul,
        BinaryOp::Div if signed => BinOp::Sdiv,
        BinaryOp::Div => BinOp::Udiv,
        BinaryOp::Mod if signed => BinOp::Smod,
        BinaryOp::Mod => BinOp::Umod,
        BinaryOp::Sub => BinOp::Sub,
        BinaryOp::Shl => BinOp::Shl,
        BinaryOp::Shr if left_signed => BinOp::Ashr,
        BinaryOp::Shr => BinOp::Lshr,
        BinaryOp::BitAnd => BinOp::And,
        BinaryOp::BitXor => BinOp::Xor,
        BinaryOp::BitOr => BinOp::Or,
        _ => BinOp::Add,
    }
}
