//! Fields, elements, pointees and addresses.

use super::Checker;
use crate::builtins::{Function, Variable};
use crate::hir::{Expr, ExprKind, Place};
use crate::types::{RecordId, Space, Type};

impl Checker<'_> {
    /// Field of a record, or of the record that a pointer points to.
    pub(super) fn field_access(&mut self, base: &Expr, name: &str, span: strix_model::Span) -> Type {
        let ty = self.expr(base);
        let record = match &ty {
            Type::Void => return Type::Void,
            Type::Record(id) => Some(*id),
            Type::Pointer { to, .. } => match **to {
                Type::Record(id) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let Some(record) = record else {
            let ty = self.name(&ty);
            return self.error(span, format!("can not access field '{name}' on expression of type '{ty}'"));
        };
        let Some(field) = self.field(record, name, span) else { return Type::Void };
        let found = self.field_type(&field);
        let home = match &ty {
            Type::Pointer { space, .. } => Some(*space),
            _ => self.home_of(base),
        };
        self.found_in(found, home)
    }

    pub(super) fn offset_of(&mut self, expr: &Expr, of: &Expr, path: &[String]) -> Type {
        let mut ty = self.expr(of);
        for name in path {
            let record: RecordId = match ty {
                Type::Void => return Type::Void,
                Type::Record(id) => id,
                Type::Pointer { to, .. } if matches!(*to, Type::Record(_)) => match *to {
                    Type::Record(id) => id,
                    _ => return Type::Void,
                },
                other => {
                    let other = self.name(&other);
                    return self
                        .error(expr.span, format!("'{other}' is not a struct or union: it has no '{name}'"));
                }
            };
            let Some(field) = self.field(record, name, expr.span) else { return Type::Void };
            ty = field.ty;
        }
        Type::U64
    }

    pub(super) fn tuple_field(&mut self, expr: &Expr, base: &Expr, index: u32) -> Type {
        match self.value(base) {
            Type::Void => Type::Void,
            Type::Tuple(items) => match items.get(index as usize) {
                Some(ty) => ty.clone(),
                None => self.error(
                    expr.span,
                    format!("invalid tuple index: {index}. Found {} elements in tuple", items.len()),
                ),
            },
            other => {
                let other = self.name(&other);
                self.error(
                    expr.span,
                    format!("can not access index '{index}' on expression of type '{other}'"),
                )
            }
        }
    }

    pub(super) fn index(&mut self, expr: &Expr, base: &Expr, index: &Expr) -> Type {
        let ty = self.value(base);
        let at = self.value(index);
        let constant = index.as_const();
        let (element, len) = match &ty {
            Type::Void => return Type::Void,
            Type::Array { element, len } => ((**element).clone(), *len),
            Type::Pointer { to, .. } => {
                if self.size_of_pointee(to) == 0 {
                    let message =
                        "the array index operator [] cannot be used on a pointer to an unsized type";
                    return self.error(expr.span, message);
                }
                ((**to).clone(), 0)
            }
            Type::Str { cap } => (Type::Int { size: 1, signed: true }, *cap),
            Type::Tuple(items) => return self.tuple_element(expr, items, constant),
            other => {
                let other = self.name(other);
                return self.error(
                    expr.span,
                    format!("the array index operator [] can only be used on arrays, pointers, and tuples, found {other}"),
                );
            }
        };
        match constant {
            Some(n) if n < 0 && !matches!(ty, Type::Pointer { .. }) => {
                self.error(
                    index.span,
                    "the array index operator [] only accepts non-negative integer indices",
                );
            }
            Some(n) if len > 0 && n >= i64::from(len) => {
                self.error(index.span, format!("the index {n} is out of bounds for array of size {len}"));
            }
            Some(_) => {}
            None if matches!(at, Type::Void | Type::Int { .. } | Type::Enum { .. } | Type::Bool) => {}
            None => {
                let at = self.name(&at);
                self.error(
                    index.span,
                    format!(
                        "the array index operator [] only accepts non-negative integer indices. Got: {at}"
                    ),
                );
            }
        }
        let home = match &ty {
            Type::Pointer { space, .. } => Some(*space),
            _ => self.home_of(base),
        };
        let element = self.value_type(&element);
        self.found_in(element, home)
    }

    fn tuple_element(&mut self, expr: &Expr, items: &[Type], constant: Option<i64>) -> Type {
        let Some(index) = constant else {
            return self.error(expr.span, "array-style access for tuples only valid for integer literals");
        };
        match usize::try_from(index).ok().and_then(|i| items.get(i)) {
            Some(ty) => ty.clone(),
            None => self.error(
                expr.span,
                format!("invalid tuple index: {index}. Found {} elements in tuple", items.len()),
            ),
        }
    }

    /// Bytes of what a pointer points to; a record's size is known without its fields.
    pub(super) fn size_of_pointee(&self, to: &Type) -> u32 {
        self.types.size_of(to)
    }

    /// `*operand`.
    pub(super) fn deref(&mut self, expr: &Expr, operand: &Expr, ty: &Type) -> Type {
        match ty {
            Type::Pointer { to, space } => match &**to {
                // An address that was only given its memory: a 64-bit word is read, as from an integer.
                Type::Void
                    if matches!(
                        operand.kind,
                        ExprKind::Call { function: Function::Kptr | Function::Uptr, .. }
                    ) =>
                {
                    Type::U64
                }
                Type::Void => {
                    self.push(|_| {
                        strix_model::Diagnostic::error(expr.span, "can not dereference a 'void *'")
                            .with_help("cast it to a pointer to what is there: `*(uint64 *)…`")
                    });
                    Type::Void
                }
                to => {
                    let to = self.value_type(to);
                    self.found_in(to, Some(*space))
                }
            },
            // An address without a type: a 64-bit word is read.
            Type::Int { .. } => Type::U64,
            Type::Record(_) if matches!(operand.kind, ExprKind::Builtin(Variable::Args)) => ty.clone(),
            other => {
                let other = self.name(other);
                self.error(expr.span, format!("can not dereference type '{other}'. It is not a pointer"))
            }
        }
    }

    /// `&operand`: of a variable or a map's value.
    pub(super) fn address_of(&mut self, expr: &Expr, operand: &Expr) -> Type {
        let ty = match &operand.kind {
            ExprKind::Var(_) => self.value(operand),
            ExprKind::Map { map, key } => {
                self.access_key(*map, key, operand.span);
                match self.maps[map.0 as usize].stored() {
                    Type::Aggregate(_) => {
                        let place = Place::Map { map: *map, key: Vec::new(), span: operand.span };
                        return self.not_plain(&place, "&", expr.span);
                    }
                    ty => ty,
                }
            }
            ExprKind::Field { .. } | ExprKind::Index { .. } => {
                let ty = self.expr(operand);
                return match self.home_of(operand) {
                    Some(space) => Type::Pointer { to: Box::new(ty), space },
                    None => self.error(expr.span, "this has no address: it is not in memory"),
                };
            }
            _ => {
                let message = "address-of operator (&) can only be used on a map or variable";
                return self.error(expr.span, message);
            }
        };
        if ty == Type::Void {
            return Type::Void;
        }
        self.note(operand, ty.clone());
        Type::Pointer { to: Box::new(ty), space: Space::Bpf }
    }
}
