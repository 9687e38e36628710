//! The script's own C definitions: structs and unions laid out as a C compiler would for x86-64, enums, typedefs
//! and constants.

use std::cell::Cell;

use strix_facts::KernelFacts;
use strix_model::{Diagnostic, Diagnostics};
use strix_syntax::ast::{
    BinaryOp, CEnum, CItem, CMember, CMemberType, CRecord, Expr, ExprKind, TypeBase, TypeExpr, UnaryOp,
};

use super::btf_types::{btf_align, btf_of};
use super::names::{Names, ScriptTypes};
use crate::types::{EnumDef, EnumId, FieldLayout, RecordDef, RecordField, RecordId, Space, Type, Types};

/// Definitions nest this deep.
const MAX_NESTING: u32 = 16;

/// A record of a script is at most this large: it has to fit a map value.
const MAX_SIZE: u64 = 1 << 16;

/// Enters everything that the script defines.
pub(super) fn declare<'a>(
    items: &[CItem],
    facts: &'a KernelFacts,
    max_strlen: u32,
    types: &mut Types,
    diags: &mut Diagnostics,
) -> Names<'a> {
    let names = Names { facts, script: ScriptTypes::default(), max_strlen };
    let mut decl = Declarer { names, types, diags };
    for item in items {
        match item {
            CItem::Record(record) => {
                decl.record(record, 0);
            }
            CItem::Enum(def) => decl.enumeration(def),
            CItem::Typedef { name, ty } => {
                if let Some(ty) = decl.c_type(ty) {
                    decl.names.script.typedefs.insert(name.text.clone(), ty);
                }
            }
            CItem::Define { name, value } => {
                decl.names.script.defines.insert(name.text.clone(), value.clone());
            }
            CItem::Include { path, span } => {
                // The kernel's headers say what BTF says; a header of the user's own says something that is missing now.
                if path.starts_with('.') || path.starts_with('/') || !path.contains('/') {
                    let message = format!("#include of {path} has no effect");
                    let help = "kernel types come from the running kernel; copy definitions of your own into the script";
                    decl.diags.push(Diagnostic::warning(*span, message).with_help(help));
                }
            }
        }
    }
    decl.names
}

struct Declarer<'a, 't> {
    names: Names<'a>,
    types: &'t mut Types,
    diags: &'t mut Diagnostics,
}

impl Declarer<'_, '_> {
    fn record(&mut self, record: &CRecord, depth: u32) -> Option<(RecordId, u32)> {
        if depth > MAX_NESTING {
            self.diags.push(Diagnostic::error(record.span, "structs are nested too deeply"));
            return None;
        }
        let keyword = if record.is_union { "union" } else { "struct" };
        let name = match record.name.text.as_str() {
            "" => format!("{keyword} (anonymous)"),
            tag => format!("{keyword} {tag}"),
        };
        // Entered before its members: they may point to it.
        let known = self.names.script.records.get(&name).copied();
        if let Some(id) = known.filter(|id| self.types.record(*id).fields.is_some()) {
            self.diags.push(Diagnostic::error(record.name.span, format!("{name} is defined twice")));
            return Some((id, self.names.script.aligns.get(&id).copied().unwrap_or(1)));
        }
        let id = known.unwrap_or_else(|| self.enter(name.clone()));
        if !record.name.text.is_empty() {
            self.names.script.records.insert(name, id);
        }
        let mut layout = Layout { is_union: record.is_union, packed: record.packed, ..Layout::default() };
        let mut fields = Vec::with_capacity(record.members.len());
        for member in &record.members {
            let Some((ty, align)) = self.member_type(member, depth) else { continue };
            let size = self.types.size_of(&ty);
            let Some((offset, bits)) = layout.add(size, align, member.bits) else {
                let message = format!("field `{}` does not fit", member.name.text);
                self.diags.push(Diagnostic::error(member.name.span, message));
                continue;
            };
            if member.bits.is_some() && member.name.text.is_empty() {
                continue;
            }
            fields.push(RecordField { name: member.name.text.clone(), ty, offset, layout: bits });
        }
        let (size, align) = layout.finish();
        let def = &mut self.types.records[id.0 as usize];
        def.size = size;
        def.fields = Some(fields);
        self.names.script.aligns.insert(id, align);
        Some((id, align))
    }

    fn enter(&mut self, name: String) -> RecordId {
        self.types.records.push(RecordDef { name, size: 0, fields: None, btf: None, module: None });
        RecordId(self.types.records.len() as u32 - 1)
    }

    /// A member's type and alignment.
    fn member_type(&mut self, member: &CMember, depth: u32) -> Option<(Type, u32)> {
        match &member.ty {
            CMemberType::Type(ty) => {
                let span = ty.span;
                let ty = self.c_type(ty)?;
                if let Type::Record(id) = element_of(&ty)
                    && self.is_incomplete(*id)
                {
                    let name = self.types.record(*id).name.clone();
                    let message = format!("field `{}` has incomplete type `{name}`", member.name.text);
                    self.diags.push(Diagnostic::error(span, message));
                    return None;
                }
                let align = self.align(&ty);
                Some((ty, align))
            }
            CMemberType::Inline { record, pointers, arrays } => {
                let (id, mut align) = self.record(record, depth + 1)?;
                let mut ty = Type::Record(id);
                for _ in 0..*pointers {
                    ty = Type::Pointer { to: Box::new(ty), space: Space::Unknown };
                    align = 8;
                }
                for len in arrays.iter().rev() {
                    let size = u64::from(self.types.size_of(&ty)).saturating_mul(*len);
                    if size > MAX_SIZE {
                        self.diags.push(Diagnostic::error(record.span, "the array is too large"));
                        return None;
                    }
                    ty = Type::Array { element: Box::new(ty), len: *len as u32 };
                }
                Some((ty, align))
            }
        }
    }

    fn is_incomplete(&self, id: RecordId) -> bool {
        let def = self.types.record(id);
        def.btf.is_none() && def.fields.is_none()
    }

    /// A type of the C part; a struct that is nowhere defined may be pointed to.
    fn c_type(&mut self, ty: &TypeExpr) -> Option<Type> {
        match self.names.resolve(ty, self.types, &[]) {
            Ok(ty) => Some(ty),
            Err(error) => {
                if ty.pointers > 0
                    && let Some(name) = tag_of(&ty.base)
                {
                    let id = self.enter(name.clone());
                    self.names.script.records.insert(name, id);
                    return self.c_type(ty);
                }
                self.diags.push(error);
                None
            }
        }
    }

    fn align(&self, ty: &Type) -> u32 {
        match ty {
            Type::Array { element, .. } => self.align(element),
            Type::Record(id) => {
                let def = self.types.record(*id);
                match (self.names.script.aligns.get(id), def.btf) {
                    (Some(align), _) => *align,
                    (None, Some(btf_id)) => btf_of(self.names.facts, def.module.as_deref())
                        .map_or(1, |btf| btf_align(&btf, strix_facts::TypeId(btf_id))),
                    (None, None) => 1,
                }
            }
            other => self.types.align_of(other),
        }
    }

    fn enumeration(&mut self, def: &CEnum) {
        let mut next = 0i64;
        let mut variants: Vec<(i64, String)> = Vec::with_capacity(def.variants.len());
        let id = EnumId(self.types.enums.len() as u32);
        for (name, value) in &def.variants {
            if let Some(expr) = value {
                let known = |n: &str| {
                    let own = variants.iter().find(|(_, v)| v == n).map(|(value, _)| *value);
                    own.or_else(|| self.names.script.enumerators.get(n).map(|(value, _)| *value))
                };
                match eval(expr, &self.names.script, &known, 0, &Cell::new(MAX_STEPS)) {
                    Some(value) => next = value,
                    None => {
                        let message = format!("the value of `{}` is no constant", name.text);
                        self.diags.push(Diagnostic::error(expr.span, message));
                    }
                }
            }
            variants.push((next, name.text.clone()));
            next = next.wrapping_add(1);
        }
        let signed = variants.iter().any(|(v, _)| *v < 0);
        let wide = variants.iter().any(|(v, _)| i32::try_from(*v).is_err() && u32::try_from(*v).is_err());
        let size = if wide { 8 } else { 4 };
        for (value, name) in &variants {
            self.names.script.enumerators.insert(name.clone(), (*value, id));
        }
        if !def.name.text.is_empty() {
            self.names.script.enums.insert(def.name.text.clone(), id);
        }
        self.types.enums.push(EnumDef { name: def.name.text.clone(), size, signed, variants });
    }
}

fn element_of(ty: &Type) -> &Type {
    match ty {
        Type::Array { element, .. } => element_of(element),
        other => other,
    }
}

fn tag_of(base: &TypeBase) -> Option<String> {
    match base {
        TypeBase::Struct(tag) => Some(format!("struct {tag}")),
        TypeBase::Union(tag) => Some(format!("union {tag}")),
        _ => None,
    }
}

/// Where the next member goes, by the rules of the System V ABI. Positions are bits.
#[derive(Default)]
struct Layout {
    is_union: bool,
    packed: bool,
    at: u64,
    end: u64,
    align: u32,
}

impl Layout {
    /// Places a member; `None` when the record grows out of bounds or a bit-field is wider than its type.
    fn add(&mut self, size: u32, align: u32, bits: Option<u32>) -> Option<(u32, FieldLayout)> {
        let align = if self.packed { 1 } else { align.max(1) };
        let unit = u64::from(size) * 8;
        if self.is_union {
            self.at = 0;
        }
        let placed = match bits {
            None => {
                self.align = self.align.max(align);
                self.at = self.at.next_multiple_of(u64::from(align) * 8);
                let offset = self.at / 8;
                self.at += unit;
                (offset as u32, FieldLayout::Plain)
            }
            Some(width) if u64::from(width) > unit || !matches!(size, 1 | 2 | 4 | 8) => return None,
            Some(0) => {
                self.at = self.at.next_multiple_of(unit);
                ((self.at / 8) as u32, FieldLayout::Plain)
            }
            Some(width) => {
                self.align = self.align.max(align);
                let width = u64::from(width);
                if !self.packed && self.at % unit + width > unit {
                    self.at = self.at.next_multiple_of(unit);
                }
                let start =
                    if self.at % unit + width <= unit { self.at / unit * unit } else { self.at / 8 * 8 };
                let shift = (self.at - start) as u8;
                self.at += width;
                ((start / 8) as u32, FieldLayout::Bits { shift, bits: width as u8 })
            }
        };
        self.end = self.end.max(self.at);
        (self.end / 8 <= MAX_SIZE).then_some(placed)
    }

    /// Size and alignment of the whole.
    fn finish(&self) -> (u32, u32) {
        let align = self.align.max(1);
        (self.end.div_ceil(8).next_multiple_of(u64::from(align)) as u32, align)
    }
}

/// Most steps to the value of one enumerator.
const MAX_STEPS: u32 = 10_000;

/// The value of a constant C expression.
fn eval(
    expr: &Expr,
    script: &ScriptTypes,
    known: &dyn Fn(&str) -> Option<i64>,
    depth: u32,
    steps: &Cell<u32>,
) -> Option<i64> {
    // Definitions may refer to themselves in a ring, and each to another twice.
    if depth > 64 {
        return None;
    }
    steps.set(steps.get().checked_sub(1)?);
    let sub = |e: &Expr| eval(e, script, known, depth + 1, steps);
    Some(match &expr.kind {
        ExprKind::Int { value, .. } => *value as i64,
        ExprKind::Bool(b) => i64::from(*b),
        ExprKind::Ident(name) => match known(name) {
            Some(value) => value,
            None => sub(script.defines.get(name)?)?,
        },
        ExprKind::Unary { op: UnaryOp::Neg, operand } => sub(operand)?.wrapping_neg(),
        ExprKind::Unary { op: UnaryOp::BitNot, operand } => !sub(operand)?,
        ExprKind::Unary { op: UnaryOp::Not, operand } => i64::from(sub(operand)? == 0),
        ExprKind::Cast { operand, .. } => sub(operand)?,
        ExprKind::Binary { op, lhs, rhs } => {
            let (l, r) = (sub(lhs)?, sub(rhs)?);
            match op {
                BinaryOp::Add => l.wrapping_add(r),
                BinaryOp::Sub => l.wrapping_sub(r),
                BinaryOp::Mul => l.wrapping_mul(r),
                BinaryOp::Div => l.checked_div(r)?,
                BinaryOp::Mod => l.checked_rem(r)?,
                BinaryOp::Shl => l.checked_shl(u32::try_from(r).ok()?)?,
                BinaryOp::Shr => l.checked_shr(u32::try_from(r).ok()?)?,
                BinaryOp::BitAnd => l & r,
                BinaryOp::BitOr => l | r,
                BinaryOp::BitXor => l ^ r,
                _ => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Layout;
    use crate::types::FieldLayout::{Bits, Plain};

    fn layout(
        packed: bool,
        is_union: bool,
        members: &[(u32, Option<u32>)],
    ) -> (Vec<(u32, crate::types::FieldLayout)>, (u32, u32)) {
        let mut l = Layout { packed, is_union, ..Layout::default() };
        let placed = members.iter().map(|(size, bits)| l.add(*size, *size, *bits).unwrap()).collect();
        (placed, l.finish())
    }

    #[test]
    fn members_are_aligned_and_the_end_padded() {
        let (at, whole) = layout(false, false, &[(1, None), (4, None), (2, None), (8, None), (1, None)]);
        assert_eq!(at, [(0, Plain), (4, Plain), (8, Plain), (16, Plain), (24, Plain)]);
        assert_eq!(whole, (32, 8));
        let (at, whole) = layout(true, false, &[(1, None), (4, None), (2, None)]);
        assert_eq!((at[1].0, at[2].0, whole), (1, 5, (7, 1)));
        assert_eq!(layout(false, true, &[(1, None), (8, None)]).1, (8, 8));
    }

    #[test]
    fn bit_fields_share_units() {
        let (at, whole) = layout(false, false, &[(4, Some(3)), (4, Some(30)), (4, Some(2)), (1, None)]);
        assert_eq!(at[0], (0, Bits { shift: 0, bits: 3 }));
        assert_eq!(at[1], (4, Bits { shift: 0, bits: 30 }));
        assert_eq!(at[2], (4, Bits { shift: 30, bits: 2 }));
        assert_eq!((at[3].clone(), whole), ((8, Plain), (12, 4)));
        let (at, _) = layout(false, false, &[(4, Some(3)), (4, Some(0)), (4, Some(2))]);
        assert_eq!(at[2], (4, Bits { shift: 0, bits: 2 }));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut l = Layout::default();
        assert!(l.add(1, 1, Some(9)).is_none());
        assert!(l.add(70_000, 1, None).is_none());
    }
}
