//! Looking into records.

use strix_facts::{BtfKind, nearest};
use strix_model::{Diagnostic, Span};

use super::Checker;
use crate::resolve::btf_types::{find_field, load_record, type_from_btf};
use crate::types::{FieldLayout, RecordField, RecordId, Space, Type};

/// Names proposed for one that is not there are looked for in this many.
const MAX_CANDIDATES: usize = 4096;

/// Anonymous members in anonymous members.
const MAX_NESTING: u32 = 16;

impl Checker<'_> {
    /// A field by name, or an error that names the nearest.
    pub(super) fn field(&mut self, record: RecordId, name: &str, span: Span) -> Option<RecordField> {
        match find_field(self.facts, &mut self.types, record, name) {
            Ok(Some(field)) => Some(field),
            Ok(None) => {
                self.push(|c| c.no_such_field(record, name, span));
                None
            }
            Err(reason) => {
                let what = self.types.record(record).name.clone();
                self.error(span, format!("cannot look into `{what}`: {reason}"));
                None
            }
        }
    }

    /// Loads every record that a value of the type consists of: whoever prints it must know them all.
    pub(crate) fn load_whole(&mut self, ty: &Type, span: Span) {
        let mut waiting = vec![ty.clone()];
        let mut seen = Vec::new();
        while let Some(ty) = waiting.pop() {
            match ty {
                Type::Tuple(items) => waiting.extend(items),
                Type::Array { element, .. } => waiting.push(*element),
                Type::Record(id) if !seen.contains(&id) => {
                    seen.push(id);
                    if let Err(reason) = load_record(self.facts, &mut self.types, id) {
                        let what = self.types.record(id).name.clone();
                        self.error(span, format!("cannot look into `{what}`: {reason}"));
                        return;
                    }
                    let fields = self.types.record(id).fields.iter().flatten();
                    waiting.extend(fields.map(|f| f.ty.clone()));
                }
                _ => {}
            }
        }
    }

    /// Loads the records that variables and maps hold.
    pub(super) fn load_stored_records(&mut self) {
        let vars = self.vars.iter().flatten().filter_map(|v| v.source.as_ref());
        let maps = self.maps.iter().flat_map(|m| [m.key.as_ref(), m.value.as_ref()]).flatten();
        let stored: Vec<(Type, Span)> = vars.chain(maps).map(|s| (s.typing.ty.clone(), s.span)).collect();
        for (ty, span) in stored {
            self.load_whole(&ty, span);
        }
    }

    /// A value that is to be printed.
    pub(crate) fn printable(&mut self, ty: &Type, span: Span) {
        match ty {
            Type::Record(id) if self.types.record(*id).size == 0 => {
                let name = self.name(ty);
                self.error(span, format!("the size of '{name}' is not known: it cannot be printed"));
            }
            _ => self.load_whole(ty, span),
        }
    }

    /// A struct of the kernel by name; `None` where the kernel has no type information.
    pub(crate) fn kernel_struct(&mut self, name: &str, span: Span) -> Option<RecordId> {
        let found = self.find_kernel_struct(name);
        if found.is_none() {
            let message = format!("this needs the kernel's type information, which has no struct {name}");
            self.push(|_| {
                Diagnostic::error(span, message)
                    .with_help("see /sys/kernel/btf/vmlinux, which CONFIG_DEBUG_INFO_BTF gives")
            });
        }
        found
    }

    /// A pointer to a struct of the kernel, `void *` if the kernel does not describe it.
    pub(crate) fn kernel_pointer(&mut self, name: &str) -> Type {
        let to = self.find_kernel_struct(name).map_or(Type::Void, Type::Record);
        Type::Pointer { to: Box::new(to), space: Space::Kernel }
    }

    /// The script's own definition of a struct goes before the kernel's.
    fn find_kernel_struct(&mut self, name: &str) -> Option<RecordId> {
        let tag = format!("struct {name}");
        let own =
            self.types.records.iter().position(|r| r.btf.is_none() && r.fields.is_some() && r.name == tag);
        if let Some(own) = own {
            return Some(RecordId(own as u32));
        }
        let btf = self.facts.btf().ok()?;
        let id = btf.find(BtfKind::Struct, name)?;
        match type_from_btf(btf, None, &mut self.types, id) {
            Type::Record(id) => Some(id),
            _ => None,
        }
    }

    fn no_such_field(&self, record: RecordId, name: &str, span: Span) -> Diagnostic {
        let def = self.types.record(record);
        let Some(fields) = &def.fields else {
            return Diagnostic::error(span, format!("the fields of `{}` are not known", def.name))
                .with_help("the kernel's type information only declares it: define it in the script");
        };
        let what = if def.name.is_empty() { "the record" } else { &def.name };
        let error = Diagnostic::error(span, format!("{what} has no field named \"{name}\""));
        let mut names = Vec::new();
        self.field_names(record, 0, &mut names);
        match nearest(name, names.iter().copied()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None if fields.len() <= 16 && names.len() <= 24 => {
                error.with_help(format!("its fields are {}", names.join(", ")))
            }
            None => error,
        }
    }

    /// Names of a record's fields and of those in anonymous members.
    fn field_names<'s>(&'s self, record: RecordId, depth: u32, names: &mut Vec<&'s str>) {
        for field in self.types.record(record).fields.iter().flatten() {
            match field.ty {
                Type::Record(inner) if field.name.is_empty() && depth < MAX_NESTING => {
                    self.field_names(inner, depth + 1, names);
                }
                _ if !field.name.is_empty() && names.len() < MAX_CANDIDATES => names.push(&field.name),
                _ => {}
            }
        }
    }

    /// The type of a field's value: arrays of `char` are strings, and so is dynamic data of `char`; other dynamic data is a pointer to its
    /// first element.
    pub(super) fn field_type(&self, field: &RecordField) -> Type {
        let max = self.hir.config.max_strlen;
        let dynamic = matches!(field.layout, FieldLayout::DataLoc | FieldLayout::RelLoc);
        match &field.ty {
            Type::Array { element, .. } if dynamic && is_char(element) => Type::Str { cap: max },
            Type::Array { element, .. } if dynamic => {
                Type::Pointer { to: element.clone(), space: Space::Kernel }
            }
            ty if dynamic && is_char(ty) => Type::Str { cap: max },
            Type::Str { .. } if dynamic => Type::Str { cap: max },
            ty => self.value_type(ty),
        }
    }

    /// The type a value has in an expression: an array of `char` is a string.
    pub(super) fn value_type(&self, ty: &Type) -> Type {
        match ty {
            Type::Array { element, len } if is_char(element) => {
                Type::Str { cap: if *len == 0 { self.hir.config.max_strlen } else { *len } }
            }
            ty => ty.clone(),
        }
    }
}

/// C's `char`.
pub(super) fn is_char(ty: &Type) -> bool {
    matches!(ty, Type::Int { size: 1, signed: true })
}
