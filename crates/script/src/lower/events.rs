//! Records for user space: reserved in the ring, filled in place, submitted without waking anybody unless the reader sleeps.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Cond, Operand, Size, Vreg};
use strix_model::{Action, Counter, Field, FormatArg, JoinRecord};

use super::function::Lower;
use super::shape;
use super::value::{Place, Remote, Value};
use crate::builtins::Function;
use crate::hir::{Expr, ExprKind, MapId};
use crate::types::{Space, Type};

/// Bytes of the header.
const HEADER: u32 = 8;
/// `BPF_RB_NO_WAKEUP`; with the reader's asleep flag (0 or 1) added it becomes `BPF_RB_FORCE_WAKEUP`.
const NO_WAKEUP: i64 = 1;
/// Records longer than this that end with a string are built aside, and sent only as long as they are.
const TRIM_ABOVE: u32 = 128;
/// Most strings that `join` prints.
const JOIN_MAX: u32 = 16;

/// Where the parts of a record lie.
struct Layout {
    fields: Vec<(u32, Type)>,
    size: u32,
}

impl Lower<'_, '_> {
    /// Sends a record: `fill` writes what follows the header.
    fn send(&mut self, action: Action, size: u32, fill: impl FnOnce(&mut Self, Place)) {
        let size = size.next_multiple_of(8);
        let id = self.schema(action, size);
        let ring = self.plan.ring();
        let ring_arg = self.map_operand(ring);
        let record = self.b().call(helper::RINGBUF_RESERVE, &[ring_arg, i64::from(size).into(), 0.into()]);
        let (full, room, done) = (self.b().block(), self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Eq, record, 0, full, room);
        self.b().switch_to(full);
        self.bump(Counter::Dropped);
        self.b().jump(done);
        self.b().switch_to(room);
        let place = Place::new(record);
        self.b().store(place.addr(), Size::B8, i64::from(id));
        self.region(|l| fill(l, place));
        let flags = self.wake_flags();
        self.b().call_void(helper::RINGBUF_SUBMIT, &[record.into(), flags.into()]);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    fn schema(&mut self, action: Action, size: u32) -> u32 {
        let span = self.b().span();
        self.plan.event(action, size, span, self.instance.probe)
    }

    fn wake_flags(&mut self) -> Vreg {
        let control = self.plan.control();
        let flag = self.b().map_value_ptr(control, 0);
        let asleep = self.b().load(Place::new(flag).addr(), Size::B8, false);
        self.b().bin(BinOp::Add, asleep, NO_WAKEUP)
    }

    /// A record that is only a header.
    fn send_bare(&mut self, action: Action) {
        self.send(action, HEADER, |_, _| {});
    }

    /// A record about a map; the action is given the map's number in the plan.
    pub(super) fn map_event(&mut self, map: MapId, action: impl FnOnce(u32) -> Action) {
        let index = self.plan.user_map(map).1;
        self.send_bare(action(index));
    }

    /// `printf`, `cat`, `system`.
    pub(super) fn formatted(&mut self, function: Function, args: &[Expr]) {
        let Some((format, rest)) = args.split_first() else { return };
        let format = format.as_str().unwrap_or_default().to_owned();
        let layout = self.layout(rest);
        let args = self.format_args(&layout);
        let action = match function {
            Function::Cat => Action::Cat { format, args },
            Function::System => Action::System { format, args },
            Function::Errorf => Action::Message { error: true, format, args },
            Function::Warnf => Action::Message { error: false, format, args },
            _ => Action::Printf { format, args },
        };
        if layout.size > TRIM_ABOVE && self.ends_with_read(rest) {
            return self.send_trimmed(action, &layout, rest);
        }
        let early = self.evaluate_early(rest);
        self.send(action, layout.size, |l, record| {
            for ((arg, (offset, ty)), early) in rest.iter().zip(&layout.fields).zip(early) {
                match early {
                    Some(value) => l.store(value, ty, ty, record.at(*offset), false),
                    None => l.expr_into(arg, ty, record.at(*offset), false),
                }
            }
        });
    }

    /// Arguments with statements in them are evaluated before the record is reserved: a `return` in them must not leave it open.
    fn evaluate_early(&mut self, args: &[Expr]) -> Vec<Option<Value>> {
        args.iter()
            .map(|arg| {
                let mut has_block = false;
                super::function::walk_expr(arg, &mut |_| {}, &mut |e| {
                    has_block |= matches!(e.kind, ExprKind::Block { .. });
                });
                has_block.then(|| {
                    let ty = self.type_of(arg).clone();
                    let value = self.expr(arg);
                    match value {
                        Value::Scalar(_) => value,
                        other => Value::Memory(self.in_memory(other, &ty, false)),
                    }
                })
            })
            .collect()
    }

    fn layout(&self, args: &[Expr]) -> Layout {
        let mut end = HEADER;
        let mut fields = Vec::with_capacity(args.len());
        for arg in args {
            let ty = self.type_of(arg).clone();
            end = end.next_multiple_of(self.typed.hir.types.align_of(&ty).max(1));
            // Strings and other memory are easier on the verifier when aligned.
            if !ty.is_scalar() {
                end = end.next_multiple_of(8);
            }
            fields.push((end, ty.clone()));
            end += self.size_of(&ty);
        }
        Layout { fields, size: end }
    }

    fn format_args(&mut self, layout: &Layout) -> Vec<FormatArg> {
        layout.fields.iter().map(|(offset, ty)| self.format_arg(*offset, ty)).collect()
    }

    fn format_arg(&mut self, offset: u32, ty: &Type) -> FormatArg {
        let shape = shape::shape_of(&self.typed.hir.types, &mut self.plan.enums, ty);
        FormatArg { field: Field { name: String::new(), offset, shape } }
    }

    /// Whether the last argument is a string read from memory, whose length is then known.
    fn ends_with_read(&self, args: &[Expr]) -> bool {
        let Some(last) = args.last() else { return false };
        matches!(last.kind, ExprKind::Call { function: Function::Str, .. })
            && matches!(self.type_of(last), Type::Str { cap } if *cap > 64)
    }

    /// Builds the record in scratch memory and copies as much of it to the ring as its last string needs.
    fn send_trimmed(&mut self, action: Action, layout: &Layout, args: &[Expr]) {
        let size = layout.size.next_multiple_of(8);
        let id = self.schema(action, size);
        let record = self.slot("record", size);
        self.b().store(record.addr(), Size::B8, i64::from(id));
        let last = args.len() - 1;
        for (arg, (offset, ty)) in args[..last].iter().zip(&layout.fields) {
            self.expr_into(arg, ty, record.at(*offset), false);
        }
        let (offset, ty) = &layout.fields[last];
        let length = self.b().copy_new(1);
        let read = self.read_str_arg(&args[last], ty, record.at(*offset));
        if let Some(read) = read {
            let (good, bad, done) = (self.b().block(), self.b().block(), self.b().block());
            let cap = i64::from(self.size_of(ty));
            self.b().branch(Cond::Sle, read, 0, bad, good);
            self.b().switch_to(bad);
            self.b().jump(done);
            self.b().switch_to(good);
            let fits = self.b().block();
            self.b().branch_unlikely(Cond::Sgt, read, cap, bad, fits);
            self.b().switch_to(fits);
            self.b().copy(length, read);
            self.b().jump(done);
            self.b().switch_to(done);
        } else {
            let cap = i64::from(self.size_of(ty));
            self.b().copy(length, cap);
        }
        let total = self.b().bin(BinOp::Add, length, i64::from(*offset));
        self.output(record, total);
    }

    fn output(&mut self, record: Place, size: Vreg) {
        let ring = self.plan.ring();
        let flags = self.wake_flags();
        let data = self.address(record);
        let ring_arg = self.map_operand(ring);
        let result =
            self.b().call(helper::RINGBUF_OUTPUT, &[ring_arg, data.into(), size.into(), flags.into()]);
        self.bump_if_negative(result, Counter::Dropped);
    }

    /// `print` of anything but a whole map.
    pub(super) fn print_value(&mut self, arg: &Expr) {
        let ty = self.type_of(arg).clone();
        let offset = HEADER;
        let format_arg = self.format_arg(offset, &ty);
        let size = offset + self.size_of(&ty);
        let early = self.evaluate_early(std::slice::from_ref(arg)).pop().flatten();
        self.send(Action::PrintValue(format_arg), size, |l, record| match early {
            Some(value) => l.store(value, &ty, &ty, record.at(offset), false),
            None => l.expr_into(arg, &ty, record.at(offset), false),
        });
    }

    /// `print(@x[key])` of an aggregation: user space looks the entry up.
    pub(super) fn print_entry(&mut self, map: MapId, key: &[Expr]) {
        let key_ty = self.typed.maps[map.0 as usize].key.clone();
        let key_arg = self.format_arg(HEADER, &key_ty);
        let index = self.plan.user_map(map).1;
        let size = self.size_of(&key_ty);
        let place = (!key.is_empty()).then(|| self.key_place(map, key));
        self.send(Action::PrintMapEntry { map: index, key: key_arg }, HEADER + size, |l, record| {
            if let Some(place) = place {
                l.store_bytes(Value::Memory(place), size, record.at(HEADER));
            }
        });
    }

    /// `time`.
    pub(super) fn print_time(&mut self, format: String) {
        self.send_bare(Action::Time { format });
    }

    /// `exit`, which also ends the probe.
    pub(super) fn exit(&mut self, code: Operand) {
        self.send(Action::Exit, HEADER + 8, |l, record| {
            l.b().store(record.at(HEADER).addr(), Size::B8, code);
        });
        self.return_from_probe(None);
    }

    /// `join`: an array of string pointers, ended by a null pointer.
    pub(super) fn join(&mut self, array: &Expr, separator: String) {
        let ty = self.type_of(array).clone();
        let cap = self.typed.hir.config.max_strlen;
        let strings = HEADER + 8;
        let space = match &ty {
            Type::Pointer { space, .. } => *space,
            _ => Space::Unknown,
        };
        let base = match self.expr(array) {
            Value::Scalar(base) => base,
            Value::Remote(remote) => self.remote_address(remote),
            other => self.scalar_of(other, &Type::U64),
        };
        let action = Action::Join { record: JoinRecord { cap, max: JOIN_MAX }, separator };
        self.send(action, strings + cap * JOIN_MAX, |l, record| {
            let done = l.b().block();
            l.b().store(record.at(HEADER).addr(), Size::B8, 0);
            for n in 0..JOIN_MAX {
                let pointer = l.load_remote(Remote { base, off: i64::from(n) * 8, space }, &Type::U64);
                let some = l.b().block();
                l.b().branch(Cond::Eq, pointer, 0, done, some);
                l.b().switch_to(some);
                let text = Remote { base: pointer, off: 0, space };
                l.str_from_remote(record.at(strings + n * cap), cap, text, false);
                l.b().store(record.at(HEADER).addr(), Size::B8, i64::from(n) + 1);
            }
            l.b().jump(done);
            l.b().switch_to(done);
        });
    }
}
