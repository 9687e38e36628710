//! Types as C spells them, for listings and messages.

use super::{Btf, BtfType, MAX_DEPTH, TypeId};

impl Btf {
    /// The type as C spells it without a declared name: `struct file *`, `const char *`, `char[16]`,
    /// `int (*)(void *, int)`. Type tags are left out.
    #[must_use]
    pub fn type_name(&self, id: TypeId) -> String {
        self.declaration(id, "")
    }

    /// A declaration of `name` with this type: `char comm[16]`, `struct file *file`.
    #[must_use]
    pub fn declaration(&self, id: TypeId, name: &str) -> String {
        self.declare(id, name.to_owned(), MAX_DEPTH)
    }

    /// Wraps `inner`, which is what stands where the name would, in the type.
    fn declare(&self, id: TypeId, inner: String, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return join("?", &inner) };
        let tagged = |keyword: &str, name: &str| {
            let name = if name.is_empty() { "(anonymous)" } else { name };
            join(&format!("{keyword} {name}"), &inner)
        };
        match self.get(id) {
            Some(BtfType::Void) => join("void", &inner),
            Some(BtfType::Int { name, .. } | BtfType::Float { name, .. } | BtfType::Typedef { name, .. }) => {
                join(name, &inner)
            }
            Some(BtfType::Struct { name, .. }) => tagged("struct", name),
            Some(BtfType::Union { name, .. }) => tagged("union", name),
            Some(BtfType::Enum { name, .. }) => tagged("enum", name),
            Some(BtfType::Fwd { name, is_union }) => tagged(if is_union { "union" } else { "struct" }, name),
            Some(BtfType::Ptr(to)) => {
                let to = self.untagged(to);
                match self.get(to) {
                    Some(BtfType::Array { .. } | BtfType::FuncProto { .. }) => {
                        self.declare(to, format!("(*{inner})"), depth)
                    }
                    _ => self.declare(to, format!("*{inner}"), depth),
                }
            }
            Some(BtfType::Array { element, len, .. }) => {
                self.declare(element, format!("{inner}[{len}]"), depth)
            }
            Some(BtfType::Const(to)) => self.qualify("const", to, inner, depth),
            Some(BtfType::Volatile(to)) => self.qualify("volatile", to, inner, depth),
            Some(BtfType::Restrict(to)) => self.qualify("restrict", to, inner, depth),
            Some(BtfType::TypeTag { to, .. }) => self.declare(to, inner, depth),
            Some(BtfType::Func { proto, .. }) => self.declare(proto, inner, depth),
            Some(BtfType::FuncProto { params, ret }) => {
                // Function pointers in parameters nest; a listing is not the place for more than a few.
                let list: Vec<String> = params
                    .take(32)
                    .map(|p| match (p.name, p.ty) {
                        ("", TypeId::VOID) => "...".to_owned(),
                        (_, ty) => self.declare(ty, String::new(), depth.min(4)),
                    })
                    .collect();
                let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
                self.declare(ret, format!("{inner}({list})"), depth)
            }
            Some(BtfType::Var { ty, .. }) => self.declare(ty, inner, depth),
            Some(BtfType::Datasec { .. } | BtfType::DeclTag { .. }) | None => join("?", &inner),
        }
    }

    /// A qualifier stands before the type it qualifies, but after the star of a pointer.
    fn qualify(&self, word: &str, to: TypeId, inner: String, depth: usize) -> String {
        match self.get(self.untagged(to)) {
            Some(BtfType::Ptr(_)) => {
                let space = if inner.is_empty() { "" } else { " " };
                self.declare(to, format!("{word}{space}{inner}"), depth)
            }
            _ => format!("{word} {}", self.declare(to, inner, depth)),
        }
    }

    fn untagged(&self, mut id: TypeId) -> TypeId {
        for _ in 0..MAX_DEPTH {
            match self.get(id) {
                Some(BtfType::TypeTag { to, .. }) => id = to,
                _ => break,
            }
        }
        id
    }
}

/// `int x`, `int *x`, `char[16]`.
fn join(base: &str, inner: &str) -> String {
    match inner.as_bytes().first() {
        None => base.to_owned(),
        Some(b'[') => format!("{base}{inner}"),
        Some(_) => format!("{base} {inner}"),
    }
}
