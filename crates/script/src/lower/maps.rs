//! Maps: building keys, reading, writing, deleting.

use strix_codegen::helper;
use strix_codegen::ir::{Cond, Operand, Size, Vreg};
use strix_model::{Counter, MapIdx};

use super::function::{Known, Lower};
use super::value::{Place, Value};
use crate::builtins::{Function, Variable};
use crate::hir::{Expr, ExprKind, MapId};
use crate::types::Type;

/// Update only if the key is not there (`BPF_NOEXIST`).
const NO_EXIST: i64 = 1;

/// The map that an expression deletes from.
pub(super) fn deleted_map(expr: &Expr) -> Option<MapId> {
    match &expr.kind {
        ExprKind::Call { function: Function::Delete, args, .. } => match args.first()?.kind {
            ExprKind::Map { map, .. } => Some(map),
            _ => None,
        },
        _ => None,
    }
}

impl Lower<'_, '_> {
    fn kernel_map(&self, map: MapId) -> MapIdx {
        self.plan.user_map(map).0.map
    }

    fn is_scalar_map(&self, map: MapId) -> bool {
        self.typed.maps[map.0 as usize].key == Type::Void
    }

    /// The value of a scalar map that is not per CPU, and its set flag after it.
    fn scalar_place(&mut self, map: MapId) -> (Place, Place) {
        let kernel_map = self.kernel_map(map);
        let size = self.plan.user_map(map).0.value.size().max(8);
        let base = Place::new(self.b().map_value_ptr(kernel_map, 0));
        (base, base.at(size))
    }

    /// The key in memory, every byte of it defined.
    pub(super) fn key_place(&mut self, map: MapId, key: &[Expr]) -> Place {
        let found = self.f.known.iter().find_map(|k| match k {
            Known::Key(m, exprs, place) if *m == map && same_list(exprs, key) => Some(*place),
            _ => None,
        });
        if let Some(place) = found {
            return place;
        }
        let ty = self.typed.maps[map.0 as usize].key.clone();
        let slot = self.slot_for("key", &ty);
        match (key, &ty) {
            ([single], _) => self.expr_into(single, &ty, slot, true),
            (_, Type::Tuple(types)) => {
                let (offsets, _) = self.typed.hir.types.tuple_layout(types);
                self.zero_padding(types, slot);
                for ((part, part_ty), offset) in key.iter().zip(types).zip(offsets) {
                    self.expr_into(part, part_ty, slot.at(offset), true);
                }
            }
            _ => {}
        }
        if key.iter().all(is_stable) {
            self.f.known.push(Known::Key(map, key.to_vec(), slot));
        }
        slot
    }

    /// The value's address or null. A lookup with the same key is not made twice.
    fn lookup(&mut self, map: MapId, key: &[Expr]) -> Vreg {
        let place = self.key_place(map, key);
        self.lookup_at(map, key, place)
    }

    /// [`Self::lookup`] of a key that stands in memory already: its expressions must not be evaluated a second time.
    fn lookup_at(&mut self, map: MapId, key: &[Expr], place: Place) -> Vreg {
        let found = self.f.known.iter().find_map(|k| match k {
            Known::Lookup(m, exprs, value) if *m == map && same_list(exprs, key) => Some(*value),
            _ => None,
        });
        if let Some(value) = found {
            return value;
        }
        let kernel_map = self.kernel_map(map);
        let value = self.lookup_key(kernel_map, place);
        if key.iter().all(is_stable) {
            self.f.known.push(Known::Lookup(map, key.to_vec(), value));
        }
        value
    }

    /// The value's address or null.
    pub(super) fn lookup_key(&mut self, map: MapIdx, key: Place) -> Vreg {
        let key = self.address(key);
        let map = self.map_operand(map);
        self.b().call(helper::MAP_LOOKUP_ELEM, &[map, key.into()])
    }

    /// What was found in a map no longer holds: entries may have come or gone.
    pub(super) fn forget_map(&mut self, map: MapId) {
        for known in &mut self.f.known {
            if matches!(known, Known::Lookup(m, ..) if *m == map) {
                *known = Known::Forgotten;
            }
        }
    }

    /// Before code that runs more than once.
    pub(super) fn forget_lookups(&mut self) {
        for known in &mut self.f.known {
            if matches!(known, Known::Lookup(..)) {
                *known = Known::Forgotten;
            }
        }
    }

    /// The value of a map for reading: zero or empty when it is not there.
    pub(super) fn read_map(&mut self, map: MapId, key: &[Expr]) -> Value {
        let ty = self.typed.maps[map.0 as usize].value.clone();
        if let Type::Aggregate(aggregate) = &ty {
            let kernel_map = self.kernel_map(map);
            let place = if self.is_scalar_map(map) { self.zero_key() } else { self.key_place(map, key) };
            return Value::Scalar(self.sum_over_cpus(kernel_map, place, aggregate));
        }
        if self.is_scalar_map(map) {
            let (place, _) = self.scalar_place(map);
            return if ty.is_scalar() { Value::Scalar(self.load(place, &ty)) } else { Value::Memory(place) };
        }
        let found = self.lookup(map, key);
        let (some, none, done) = (self.b().block(), self.b().block(), self.b().block());
        if ty.is_scalar() {
            let result = self.b().vreg();
            self.b().branch(Cond::Eq, found, 0, none, some);
            self.b().switch_to(none);
            self.b().copy(result, 0);
            self.b().jump(done);
            self.b().switch_to(some);
            let value = self.load(Place::new(found), &ty);
            self.b().copy(result, value);
            self.b().jump(done);
            self.b().switch_to(done);
            return Value::Scalar(result.into());
        }
        let copy = self.slot_for("entry", &ty);
        let size = self.size_of(&ty);
        self.b().branch(Cond::Eq, found, 0, none, some);
        self.b().switch_to(none);
        self.b().zero_mem(copy.addr(), size, 8);
        self.b().jump(done);
        self.b().switch_to(some);
        self.b().copy_mem(copy.addr(), Place::new(found).addr(), size, 8);
        self.b().jump(done);
        self.b().switch_to(done);
        Value::Memory(copy)
    }

    /// Key 0 of an array map.
    pub(super) fn zero_key(&mut self) -> Place {
        let key = self.slot("zero", 4);
        self.b().store(key.addr(), Size::B4, 0);
        key
    }

    /// `@x = value`, `@x[key] = value`.
    pub(super) fn write_map(&mut self, map: MapId, key: &[Expr], value: &Expr) {
        let ty = self.typed.maps[map.0 as usize].value.clone();
        if self.is_scalar_map(map) {
            return self.write_scalar_map(map, &ty, value);
        }
        let from = self.type_of(value).clone();
        let scalar = ty.is_scalar().then(|| {
            let scalar = self.scalar(value);
            self.convert(scalar, &from, &ty)
        });
        let key_place = self.key_place(map, key);
        let (slow, done) = (self.b().block(), self.b().block());
        if let Some(scalar) = scalar.filter(|_| !self.plan.has_deletes(map)) {
            let found = self.lookup_at(map, key, key_place);
            let fast = self.b().block();
            self.b().branch_unlikely(Cond::Eq, found, 0, slow, fast);
            self.b().switch_to(fast);
            self.store_scalar(scalar, &ty, Place::new(found));
            self.b().jump(done);
            self.b().switch_to(slow);
        }
        let slot = self.slot_for("new", &ty);
        match scalar {
            Some(scalar) => self.store_scalar(scalar, &ty, slot),
            None => self.expr_into(value, &ty, slot, true),
        }
        self.update(map, key_place, slot.base.into(), 0);
        self.b().jump(done);
        self.b().switch_to(done);
        self.forget_map(map);
    }

    fn write_scalar_map(&mut self, map: MapId, ty: &Type, value: &Expr) {
        if ty.is_scalar() {
            let from = self.type_of(value).clone();
            let scalar = self.scalar(value);
            let scalar = self.convert(scalar, &from, ty);
            let (place, _) = self.scalar_place(map);
            self.store_scalar(scalar, ty, place);
        } else {
            let copy = self.slot_for("new", ty);
            self.expr_into(value, ty, copy, true);
            let (place, _) = self.scalar_place(map);
            let size = self.size_of(ty);
            self.b().copy_mem(place.addr(), copy.addr(), size, 8);
        }
        let (_, set) = self.scalar_place(map);
        self.b().store(set.addr(), Size::B8, 1);
    }

    /// Stores an entry; what does not fit is counted.
    fn update(&mut self, map: MapId, key: Place, value: Operand, flags: i64) {
        let kernel_map = self.kernel_map(map);
        let key = self.address(key);
        let map = self.map_operand(kernel_map);
        let result = self.b().call(helper::MAP_UPDATE_ELEM, &[map, key.into(), value, flags.into()]);
        self.bump_if_negative(result, Counter::MapFull);
    }

    /// The place of a value that is about to be changed; made, with zero in it, if it is not there. When the map is full the
    /// failure is counted, and the place is one that nobody looks at.
    pub(super) fn value_place(&mut self, map: MapId, key: &[Expr]) -> Place {
        if self.is_scalar_map(map) {
            let (place, set) = self.scalar_place(map);
            self.b().store(set.addr(), Size::B8, 1);
            return place;
        }
        let ty = self.typed.maps[map.0 as usize].value.clone();
        let size = self.size_of(&ty).max(8);
        let nowhere = self.slot("nowhere", size);
        let result = self.b().copy_new(nowhere.base);
        self.b().zero_mem(nowhere.addr(), size, 8);
        self.with_entry(map, key, |l, place| {
            let address = l.address(place);
            l.b().copy(result, address);
        });
        Place::new(result)
    }

    /// Runs `body` with the place of an entry's value, which is made with zeroes if it is not there; not at all when the map is full,
    /// which is counted.
    pub(super) fn with_entry(&mut self, map: MapId, key: &[Expr], body: impl FnOnce(&mut Self, Place)) {
        let value = self.b().vreg();
        let key_place = self.key_place(map, key);
        let found = self.lookup_at(map, key, key_place);
        let (missing, there, done) = (self.b().block(), self.b().block(), self.b().block());
        self.b().copy(value, found);
        self.b().branch_unlikely(Cond::Eq, value, 0, missing, there);
        self.b().switch_to(missing);
        self.region(|l| {
            let zeroes = l.zeroes(map);
            let kernel_map = l.kernel_map(map);
            let address = l.address(key_place);
            let map_arg = l.map_operand(kernel_map);
            l.b().call_void(
                helper::MAP_UPDATE_ELEM,
                &[map_arg, address.into(), zeroes.into(), NO_EXIST.into()],
            );
            // Another CPU may have been first: whoever made the entry, it is there now, or the map is full.
            let again = l.lookup_key(kernel_map, key_place);
            l.b().copy(value, again);
            let full = l.b().block();
            l.b().branch_unlikely(Cond::Eq, value, 0, full, there);
            l.b().switch_to(full);
            l.bump(Counter::MapFull);
            l.b().jump(done);
        });
        self.b().switch_to(there);
        self.region(|l| body(l, Place::new(value)));
        self.b().jump(done);
        self.b().switch_to(done);
        self.forget_map(map);
    }

    /// A value's worth of zeroes in constant memory.
    fn zeroes(&mut self, map: MapId) -> Vreg {
        let size = self.plan.user_map(map).0.value.size().max(8) as usize;
        let (rodata, offset) = self.plan.constant(&vec![0; size]);
        self.b().map_value_ptr(rodata, offset)
    }

    /// `delete(@x[key])`: whether there was something to delete.
    pub(super) fn delete(&mut self, map: MapId, key: &[Expr]) -> Operand {
        let kernel_map = self.kernel_map(map);
        if self.is_scalar_map(map) {
            return self.delete_scalar(map);
        }
        let key = self.key_place(map, key);
        let address = self.address(key);
        let map_arg = self.map_operand(kernel_map);
        let result = self.b().call(helper::MAP_DELETE_ELEM, &[map_arg, address.into()]);
        self.forget_map(map);
        self.b().cmp(Cond::Eq, result, 0).into()
    }

    fn delete_scalar(&mut self, map: MapId) -> Operand {
        let ty = self.typed.maps[map.0 as usize].value.clone();
        if !matches!(ty, Type::Aggregate(_)) {
            let (place, set) = self.scalar_place(map);
            let old = self.b().load(set.addr(), Size::B8, false);
            let size = self.plan.user_map(map).0.value.size().max(8) + 8;
            self.b().zero_mem(place.addr(), size, 8);
            return old.into();
        }
        // Per-CPU values of an array are emptied by user space, as `clear` does.
        self.map_event(map, |index| strix_model::Action::Clear { map: index });
        1.into()
    }

    /// `has_key(@x, key)`.
    pub(super) fn has_key(&mut self, map: MapId, key: &[Expr]) -> Operand {
        if self.is_scalar_map(map) {
            let (_, set) = self.scalar_place(map);
            return self.b().load(set.addr(), Size::B8, false).into();
        }
        let found = self.lookup(map, key);
        self.b().cmp(Cond::Ne, found, 0).into()
    }
}

/// Whether an expression has the same value whenever the program evaluates it.
fn is_stable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int { .. } | ExprKind::Str(_) | ExprKind::Bool(_) => true,
        ExprKind::Builtin(variable) => !matches!(
            variable,
            Variable::Nsecs
                | Variable::Elapsed
                | Variable::Rand
                | Variable::Jiffies
                | Variable::Kstack
                | Variable::Ustack
                | Variable::Cpu
        ),
        ExprKind::Field { base, .. } => matches!(base.kind, ExprKind::Builtin(Variable::Args)),
        ExprKind::Tuple(items) => items.iter().all(is_stable),
        ExprKind::Cast { operand, .. } => is_stable(operand),
        _ => false,
    }
}

fn same_list(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

/// Whether two stable expressions are written alike.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int { value: x, .. }, ExprKind::Int { value: y, .. }) => x == y,
        (ExprKind::Str(x), ExprKind::Str(y)) => x == y,
        (ExprKind::Bool(x), ExprKind::Bool(y)) => x == y,
        (ExprKind::Builtin(x), ExprKind::Builtin(y)) => x == y,
        (ExprKind::Field { base: x, name: n, .. }, ExprKind::Field { base: y, name: m, .. }) => {
            n == m && same(x, y)
        }
        (ExprKind::Tuple(x), ExprKind::Tuple(y)) => same_list(x, y),
        (ExprKind::Cast { ty: t, operand: x }, ExprKind::Cast { ty: u, operand: y }) => t == u && same(x, y),
        _ => false,
    }
}
