//! The record behind `args`: fields of a tracepoint, or parameters of a function.

use strix_facts::{Btf, BtfKind, FieldKind, FuncParam, FuncProto, TracepointField, TracepointFormat, TypeId};

use super::btf_types::type_from_btf;
use super::names::Names;
use crate::types::{FieldLayout, RecordDef, RecordField, RecordId, Space, Type, Types};

/// Enters a record that has no name in C.
pub(super) fn enter(types: &mut Types, name: String, size: u32, fields: Vec<RecordField>) -> RecordId {
    types.records.push(RecordDef { name, size, fields: Some(fields), btf: None, module: None });
    RecordId(types.records.len() as u32 - 1)
}

/// The record of a tracepoint as tracefs describes it.
pub(super) fn tracepoint_record(
    names: &Names<'_>,
    types: &mut Types,
    category: &str,
    format: &TracepointFormat,
) -> RecordId {
    let fields: Vec<RecordField> = format
        .fields
        .iter()
        .map(|f| {
            let ty = field_type(names, types, f, pointee_space(category));
            let layout = match f.kind {
                FieldKind::DataLoc => FieldLayout::DataLoc,
                FieldKind::RelLoc => FieldLayout::RelLoc,
                _ => FieldLayout::Plain,
            };
            RecordField { name: f.name.clone(), ty, offset: f.offset, layout }
        })
        .collect();
    let size = format.fields.iter().map(|f| f.offset.saturating_add(f.size)).max().unwrap_or(0);
    enter(types, format!("args of tracepoint:{category}:{}", format.name), size, fields)
}

/// System calls are given addresses of the caller; the kernel's other tracepoints tell of its own.
pub(super) fn pointee_space(category: &str) -> Space {
    if category == "syscalls" { Space::User } else { Space::Kernel }
}

/// The type of a tracepoint's field.
pub(super) fn field_type(
    names: &Names<'_>,
    types: &mut Types,
    field: &TracepointField,
    space: Space,
) -> Type {
    match field.kind {
        // Whatever the typedef, the kernel says how wide it is and whether it is signed.
        FieldKind::Scalar => match (u8::try_from(field.size), field.c_type.as_str()) {
            (Ok(1), "bool" | "_Bool") => Type::Bool,
            (Ok(size @ (1 | 2 | 4 | 8)), c_type) => match named_enum(names, types, c_type) {
                Some(Type::Enum { id, .. }) => Type::Enum { id, size, signed: field.signed },
                _ => Type::Int { size, signed: field.signed },
            },
            _ => array(Type::Int { size: 1, signed: false }, field.size.min(4096)),
        },
        FieldKind::Pointer => pointer(names, types, &field.c_type, space),
        FieldKind::Array { len, elem_size } => {
            let element = match field.element_type().trim_end() {
                ty if ty.ends_with('*') => pointer(names, types, ty, space),
                // Text, whatever its sign: kernels are built with `-funsigned-char` since v6.2.
                "char" => Type::Int { size: 1, signed: true },
                _ => match u8::try_from(elem_size) {
                    Ok(size @ (1 | 2 | 4 | 8)) => Type::Int { size, signed: field.signed },
                    _ => return array(Type::Int { size: 1, signed: false }, field.size.min(4096)),
                },
            };
            // No record of the trace buffer is larger than a page.
            array(element, len.min(4096))
        }
        FieldKind::DataLoc | FieldKind::RelLoc => {
            let element = match field.element_type().trim_end() {
                "char" => Type::Int { size: 1, signed: true },
                ty => names
                    .named(ty, types, &[])
                    .filter(|t| matches!(t, Type::Int { .. }))
                    .unwrap_or(Type::Int { size: 1, signed: false }),
            };
            array(element, 0)
        }
    }
}

fn array(element: Type, len: u32) -> Type {
    Type::Array { element: Box::new(element), len }
}

fn named_enum(names: &Names<'_>, types: &mut Types, c_type: &str) -> Option<Type> {
    let tag = c_type.strip_prefix("enum ")?.trim();
    let expr = strix_syntax::ast::TypeExpr {
        base: strix_syntax::ast::TypeBase::Enum(tag.to_owned()),
        pointers: 0,
        arrays: Vec::new(),
        span: strix_model::Span::default(),
    };
    names.resolve(&expr, types, &[]).ok()
}

/// `const struct file *` and the like; what is not known is `void *`.
fn pointer(names: &Names<'_>, types: &mut Types, c_type: &str, space: Space) -> Type {
    let stars = c_type.bytes().filter(|b| *b == b'*').count();
    let space = if c_type.contains("__user") { Space::User } else { space };
    let mut words = c_type
        .split(|c: char| c.is_whitespace() || c == '*')
        .filter(|w| !matches!(*w, "" | "const" | "volatile" | "restrict" | "__user" | "__rcu"));
    let first = words.next().unwrap_or("void");
    let rest: Vec<&str> = words.collect();
    let base = match (first, rest.as_slice()) {
        ("struct" | "union", [tag]) => {
            let tag = (*tag).to_owned();
            let base = if first == "struct" {
                strix_syntax::ast::TypeBase::Struct(tag)
            } else {
                strix_syntax::ast::TypeBase::Union(tag)
            };
            let span = strix_model::Span::default();
            let expr = strix_syntax::ast::TypeExpr { base, pointers: 0, arrays: Vec::new(), span };
            names.resolve(&expr, types, &[]).ok()
        }
        (first, rest) => {
            let name = [&[first], rest].concat().join(" ");
            names.named(&name, types, &[])
        }
    };
    let base = base.unwrap_or(Type::Void);
    (0..stars.clamp(1, 4)).fold(base, |to, _| Type::Pointer { to: Box::new(to), space })
}

/// The record of parameters that the program finds as words one after another; and how many words they take.
pub(super) fn parameter_record(
    btf: &Btf,
    module: Option<&str>,
    types: &mut Types,
    name: String,
    params: &[FuncParam],
) -> (RecordId, u8) {
    let mut fields = Vec::with_capacity(params.len());
    let mut words = 0u32;
    for (n, param) in params.iter().enumerate() {
        let ty = type_from_btf(btf, module, types, param.ty);
        let name = if param.name.is_empty() { format!("arg{n}") } else { param.name.clone() };
        fields.push(RecordField { name, ty, offset: words.saturating_mul(8), layout: FieldLayout::Plain });
        // A small struct by value takes as many words as it needs.
        words = words.saturating_add(btf.size_of(param.ty).unwrap_or(8).div_ceil(8).max(1));
    }
    let id = enter(types, name, words.saturating_mul(8), fields);
    (id, u8::try_from(words).unwrap_or(u8::MAX))
}

/// The arguments of a raw tracepoint; [`FuncProto::id`] is its typedef's, by which programs are loaded. The typedef knows
/// no names; the functions that the kernel makes for each tracepoint do (`__probestub_` since v6.4).
pub(super) fn raw_tracepoint(btf: &Btf, event: &str) -> Option<FuncProto> {
    let id = btf.find(BtfKind::Typedef, &format!("btf_trace_{event}"))?;
    let named = ["__probestub_", "__traceiter_"]
        .iter()
        .find_map(|prefix| btf.function(&format!("{prefix}{event}")))
        .filter(|proto| !proto.params.is_empty());
    let mut proto = named.or_else(|| btf.prototype(id))?;
    proto.id = id;
    // The first one is the kernel's own.
    if !proto.params.is_empty() {
        proto.params.remove(0);
    }
    Some(proto)
}

/// The result of a function.
pub(super) fn return_type(btf: &Btf, module: Option<&str>, types: &mut Types, id: TypeId) -> Type {
    type_from_btf(btf, module, types, id)
}
