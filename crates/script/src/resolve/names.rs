//! Names of types and constants: the language's own, then the script's, then the kernel's.

use std::collections::HashMap;

use strix_facts::{Btf, BtfKind, Glob, KernelFacts, nearest};
use strix_model::{Diagnostic, Span};
use strix_syntax::ast::{Expr, ExprKind, TypeBase, TypeExpr};

use super::btf_types::{btf_of, type_from_btf};
use crate::types::{EnumId, RecordId, Space, Type, Types};

/// The longest string a type may ask for.
const MAX_CAPACITY: u64 = 1 << 16;

/// Integer types by name, C's words joined by one space.
const INTEGERS: &[(&str, u8, bool)] = &[
    ("int8", 1, true),
    ("int16", 2, true),
    ("int32", 4, true),
    ("int64", 8, true),
    ("uint8", 1, false),
    ("uint16", 2, false),
    ("uint32", 4, false),
    ("uint64", 8, false),
    ("char", 1, true),
    ("signed char", 1, true),
    ("unsigned char", 1, false),
    ("short", 2, true),
    ("short int", 2, true),
    ("signed short", 2, true),
    ("unsigned short", 2, false),
    ("unsigned short int", 2, false),
    ("short unsigned int", 2, false),
    ("int", 4, true),
    ("signed", 4, true),
    ("signed int", 4, true),
    ("unsigned", 4, false),
    ("unsigned int", 4, false),
    ("long", 8, true),
    ("long int", 8, true),
    ("signed long", 8, true),
    ("unsigned long", 8, false),
    ("unsigned long int", 8, false),
    ("long unsigned int", 8, false),
    ("long long", 8, true),
    ("long long int", 8, true),
    ("unsigned long long", 8, false),
    ("unsigned long long int", 8, false),
    ("long long unsigned int", 8, false),
];

/// Typedefs that scripts use without asking the kernel; in effect where it does not tell (no BTF).
const TYPEDEFS: &[(&str, u8, bool)] = &[
    ("int8_t", 1, true),
    ("int16_t", 2, true),
    ("int32_t", 4, true),
    ("int64_t", 8, true),
    ("uint8_t", 1, false),
    ("uint16_t", 2, false),
    ("uint32_t", 4, false),
    ("uint64_t", 8, false),
    ("s8", 1, true),
    ("s16", 2, true),
    ("s32", 4, true),
    ("s64", 8, true),
    ("u8", 1, false),
    ("u16", 2, false),
    ("u32", 4, false),
    ("u64", 8, false),
    ("__s8", 1, true),
    ("__s16", 2, true),
    ("__s32", 4, true),
    ("__s64", 8, true),
    ("__u8", 1, false),
    ("__u16", 2, false),
    ("__u32", 4, false),
    ("__u64", 8, false),
    ("__be16", 2, false),
    ("__be32", 4, false),
    ("__be64", 8, false),
    ("size_t", 8, false),
    ("ssize_t", 8, true),
    ("off_t", 8, true),
    ("loff_t", 8, true),
    ("pid_t", 4, true),
    ("uid_t", 4, false),
    ("gid_t", 4, false),
    ("mode_t", 4, false),
    ("umode_t", 2, false),
    ("dev_t", 4, false),
    ("gfp_t", 4, false),
    ("sector_t", 8, false),
    ("uintptr_t", 8, false),
    ("intptr_t", 8, true),
];

/// What the script itself defines in C.
#[derive(Default)]
pub(super) struct ScriptTypes {
    /// `struct NAME` or `union NAME`.
    pub(super) records: HashMap<String, RecordId>,
    /// Alignment of those.
    pub(super) aligns: HashMap<RecordId, u32>,
    /// By tag.
    pub(super) enums: HashMap<String, EnumId>,
    /// By name.
    pub(super) typedefs: HashMap<String, Type>,
    /// Enumerators.
    pub(super) enumerators: HashMap<String, (i64, EnumId)>,
    /// `#define`s, unexpanded.
    pub(super) defines: HashMap<String, Expr>,
}

/// Where names are looked up.
pub(super) struct Names<'a> {
    pub(super) facts: &'a KernelFacts,
    pub(super) script: ScriptTypes,
    /// Capacity of `string` without a length.
    pub(super) max_strlen: u32,
}

/// What an identifier stands for as a constant.
pub(super) enum Constant {
    /// An enumerator.
    Enumerator(i64, Type),
    /// A plain number.
    Number(u64),
    /// A `#define`'s expression.
    Define(Expr),
}

impl Names<'_> {
    /// A type as written. `modules` are kernel modules whose types count as well, after the kernel's.
    pub(super) fn resolve(
        &self,
        ty: &TypeExpr,
        types: &mut Types,
        modules: &[String],
    ) -> Result<Type, Diagnostic> {
        let mut arrays = ty.arrays.as_slice();
        let mut resolved = match &ty.base {
            TypeBase::Named(name) if ty.pointers == 0 && is_sized_name(name) => {
                let len = arrays.split_first().map(|(len, rest)| {
                    arrays = rest;
                    *len
                });
                self.sized(name, len.flatten(), ty.span)?
            }
            base => self.base(base, ty.span, types, modules)?,
        };
        for _ in 0..ty.pointers {
            resolved = Type::Pointer { to: Box::new(resolved), space: Space::Unknown };
        }
        for len in arrays.iter().rev() {
            let element = u64::from(types.size_of(&resolved));
            let len = len.unwrap_or(0);
            if element.saturating_mul(len) > MAX_CAPACITY {
                let message = format!("an array of {len} elements of {element} bytes is too large");
                return Err(Diagnostic::error(ty.span, message));
            }
            resolved = Type::Array { element: Box::new(resolved), len: len as u32 };
        }
        Ok(resolved)
    }

    /// `string[N]`, `buffer[N]`, `inet`.
    fn sized(&self, name: &str, len: Option<u64>, span: Span) -> Result<Type, Diagnostic> {
        let cap = match len {
            Some(n) if n == 0 || n > MAX_CAPACITY => {
                let message = format!("{name}[{n}]: the length must be 1 to {MAX_CAPACITY}");
                return Err(Diagnostic::error(span, message));
            }
            Some(n) => n as u32,
            None => self.max_strlen,
        };
        Ok(match name {
            "string" => Type::Str { cap },
            "buffer" => Type::Buffer { cap },
            _ => Type::Inet,
        })
    }

    fn base(
        &self,
        base: &TypeBase,
        span: Span,
        types: &mut Types,
        modules: &[String],
    ) -> Result<Type, Diagnostic> {
        match base {
            TypeBase::Named(name) => {
                self.named(name, types, modules).ok_or_else(|| self.unknown(name, "", span))
            }
            TypeBase::Struct(tag) => self.record(tag, false, types, modules, span),
            TypeBase::Union(tag) => self.record(tag, true, types, modules, span),
            TypeBase::Enum(tag) => self.enumeration(tag, span, types, modules),
            TypeBase::TypeofExpr(expr) => match &expr.kind {
                ExprKind::Cast { ty, .. } => self.resolve(ty, types, modules),
                ExprKind::Ident(name) => self
                    .named(name, types, modules)
                    .ok_or_else(|| Diagnostic::error(span, "typeof of an expression is not supported yet")),
                _ => Err(Diagnostic::error(span, "typeof of an expression is not supported yet")
                    .with_help("write the type out")),
            },
            TypeBase::Tuple(items) => {
                let items = items.iter().map(|t| self.resolve(t, types, modules));
                Ok(Type::Tuple(items.collect::<Result<_, _>>()?))
            }
        }
    }

    /// A type that has a name without `struct`, `union` or `enum` before it.
    pub(super) fn named(&self, name: &str, types: &mut Types, modules: &[String]) -> Option<Type> {
        match name {
            "void" => return Some(Type::Void),
            "bool" | "_Bool" => return Some(Type::Bool),
            "string" => return Some(Type::Str { cap: self.max_strlen }),
            "buffer" => return Some(Type::Buffer { cap: self.max_strlen }),
            "inet" | "inet_t" => return Some(Type::Inet),
            "ksym_t" => return Some(Type::KernelSymbol),
            "usym_t" => return Some(Type::UserSymbol),
            "macaddr_t" => return Some(Type::Mac),
            "username_t" => return Some(Type::Username),
            "cgroup_path_t" => return Some(Type::CgroupPath),
            _ => {}
        }
        let integer = |table: &[(&str, u8, bool)]| {
            let &(_, size, signed) = table.iter().find(|(n, ..)| *n == name)?;
            Some(Type::Int { size, signed })
        };
        integer(INTEGERS)
            .or_else(|| self.script.typedefs.get(name).cloned())
            .or_else(|| self.in_btf(&[BtfKind::Typedef, BtfKind::Int], name, types, modules))
            .or_else(|| integer(TYPEDEFS))
            // As bpftrace has it: the tag alone, if the script defined such a struct.
            .or_else(|| {
                let script = &self.script.records;
                let id =
                    script.get(&format!("struct {name}")).or_else(|| script.get(&format!("union {name}")))?;
                Some(Type::Record(*id))
            })
    }

    fn record(
        &self,
        tag: &str,
        is_union: bool,
        types: &mut Types,
        modules: &[String],
        span: Span,
    ) -> Result<Type, Diagnostic> {
        let (keyword, kind) = if is_union { ("union", BtfKind::Union) } else { ("struct", BtfKind::Struct) };
        if let Some(id) = self.script.records.get(&format!("{keyword} {tag}")) {
            return Ok(Type::Record(*id));
        }
        self.in_btf(&[kind], tag, types, modules).ok_or_else(|| self.unknown(tag, keyword, span))
    }

    fn enumeration(
        &self,
        tag: &str,
        span: Span,
        types: &mut Types,
        modules: &[String],
    ) -> Result<Type, Diagnostic> {
        if let Some(&id) = self.script.enums.get(tag) {
            return Ok(enum_type(types, id));
        }
        self.in_btf(&[BtfKind::Enum], tag, types, modules).ok_or_else(|| self.unknown(tag, "enum", span))
    }

    fn in_btf(&self, kinds: &[BtfKind], name: &str, types: &mut Types, modules: &[String]) -> Option<Type> {
        self.each_btf(modules, |btf, module| {
            let id = kinds.iter().find_map(|kind| btf.find(*kind, name))?;
            Some(type_from_btf(btf, module, types, id))
        })
    }

    /// The kernel's BTF, then the modules'.
    fn each_btf<T>(
        &self,
        modules: &[String],
        mut look: impl FnMut(&Btf, Option<&str>) -> Option<T>,
    ) -> Option<T> {
        let all = std::iter::once(None).chain(modules.iter().map(|m| Some(m.as_str())));
        for module in all {
            if let Ok(btf) = btf_of(self.facts, module)
                && let Some(found) = look(&btf, module)
            {
                return Some(found);
            }
        }
        None
    }

    /// A constant by name.
    pub(super) fn constant(&self, name: &str, types: &mut Types, modules: &[String]) -> Option<Constant> {
        if let Some(expr) = self.script.defines.get(name) {
            return Some(Constant::Define(expr.clone()));
        }
        if let Some(&(value, id)) = self.script.enumerators.get(name) {
            return Some(Constant::Enumerator(value, enum_type(types, id)));
        }
        let found = self.each_btf(modules, |btf, module| {
            let (id, value) = btf.find_enumerator(name)?;
            Some(Constant::Enumerator(value, type_from_btf(btf, module, types, id)))
        });
        found.or_else(|| {
            let value = super::constants::header_constant(name, self.facts)?;
            Some(Constant::Number(value))
        })
    }

    fn unknown(&self, name: &str, keyword: &str, span: Span) -> Diagnostic {
        let space = if keyword.is_empty() { "" } else { " " };
        let written = format!("{keyword}{space}{name}");
        let error = Diagnostic::error(span, format!("cannot resolve unknown type \"{written}\""));
        let btf = match self.facts.btf() {
            Ok(btf) => btf,
            Err(reason) => {
                return error.with_help(format!("the kernel's type information cannot be used: {reason}"));
            }
        };
        let kind = match keyword {
            "struct" => BtfKind::Struct,
            "union" => BtfKind::Union,
            "enum" => BtfKind::Enum,
            _ => BtfKind::Typedef,
        };
        if keyword.is_empty() && btf.find(BtfKind::Struct, name).is_some() {
            return error.with_help(format!("did you mean `struct {name}`?"));
        }
        let prefix = format!("{keyword}{space}");
        let own = self.script.records.keys().filter_map(|k| k.strip_prefix(&prefix));
        let any = Glob::new("*");
        let kernel = btf.names_like(kind, &any).map(|(name, _)| name);
        match nearest(name, own.chain(kernel)) {
            Some(near) => error.with_help(format!("did you mean `{prefix}{near}`?")),
            None => error,
        }
    }
}

fn is_sized_name(name: &str) -> bool {
    matches!(name, "string" | "buffer" | "inet")
}

/// A value of this enum.
pub(super) fn enum_type(types: &Types, id: EnumId) -> Type {
    let def = types.enumeration(id);
    Type::Enum { id, size: def.size, signed: def.signed }
}
