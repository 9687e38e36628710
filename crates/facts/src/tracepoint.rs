//! The `format` file of a tracepoint: which fields its record has and where. `print fmt` is kept as text and never
//! evaluated here.

use crate::FactsError;

const WHAT: &str = "tracepoint format";

/// The record of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Event name.
    pub name: String,
    /// What perf events call it (`perf_event_attr.config`), and `common_type` of its records.
    pub id: u32,
    /// Fields in order of the file, the common ones first.
    pub fields: Vec<TracepointField>,
    /// The kernel's own way to print a record, as it stands.
    pub print_fmt: String,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointField {
    /// Its name.
    pub name: String,
    /// C type with array bounds: `const char *`, `char[16]`, `__data_loc char[]`.
    pub c_type: String,
    /// Bytes from the start of the record.
    pub offset: u32,
    /// Bytes in the record; 4 for what is only located there.
    pub size: u32,
    /// Whether the kernel says it is signed.
    pub signed: bool,
    /// One of the fields that every tracepoint has (`common_pid`).
    pub common: bool,
    /// How the bytes are to be taken.
    pub kind: FieldKind,
}

/// How the bytes of a field are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number, an enum value, or a struct as it is.
    Scalar,
    /// An address.
    Pointer,
    /// Elements one after another.
    Array {
        /// How many.
        len: u32,
        /// Bytes of one.
        elem_size: u32,
    },
    /// `u32`: the low half is where in the record the data is, the high half how many bytes.
    DataLoc,
    /// Like [`FieldKind::DataLoc`], but counted from the end of this field (since v5.17).
    RelLoc,
}

impl TracepointField {
    /// The type of one element of an array or of located data, else the whole type: `char` for
    /// `__data_loc char[]`.
    #[must_use]
    pub fn element_type(&self) -> &str {
        let ty = self.c_type.trim_start_matches("__data_loc ").trim_start_matches("__rel_loc ");
        match ty.find('[') {
            Some(at) => ty[..at].trim_end(),
            None => ty,
        }
    }
}

impl TracepointFormat {
    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&TracepointField> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// Parses the text of a `format` file.
    ///
    /// # Errors
    /// [`FactsError::Malformed`] when name or id are missing, or a field line does not parse.
    pub fn parse(text: &str) -> Result<Self, FactsError> {
        let (mut name, mut id) = (None, None);
        let mut fields = Vec::new();
        let mut print_fmt = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("field:") {
                fields.push(parse_field(rest)?);
            } else if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if let Some(rest) = line.strip_prefix("print fmt:") {
                // The rest of the file, as the text may hold line breaks.
                rest.trim_start().clone_into(&mut print_fmt);
                for line in lines.by_ref() {
                    print_fmt.push('\n');
                    print_fmt.push_str(line);
                }
                print_fmt.truncate(print_fmt.trim_end().len());
            }
        }
        let name = name.ok_or_else(|| FactsError::malformed(WHAT, "no name"))?;
        let id = id.ok_or_else(|| FactsError::malformed(WHAT, format!("no ID in that of {name}")))?;
        Ok(Self { name, id, fields, print_fmt })
    }
}

/// `const char * filename;\toffset:16;\tsize:8;\tsigned:0;`
fn parse_field(text: &str) -> Result<TracepointField, FactsError> {
    let bad = || FactsError::malformed(WHAT, format!("field `{}`", text.escape_debug()));
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next().ok_or_else(bad)?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.trim().parse().ok(),
            Some(("size", n)) => size = n.trim().parse().ok(),
            Some(("signed", n)) => signed = n.trim() == "1",
            _ => {}
        }
    }
    let offset = offset.ok_or_else(bad)?;
    let size = size.ok_or_else(bad)?;
    let (c_type, name) = split_declaration(declaration).ok_or_else(bad)?;
    let kind = kind_of(&c_type, size);
    let common = name.starts_with("common_");
    Ok(TracepointField { name, c_type, offset, size, signed, common, kind })
}

/// Type and name of a C declaration; array bounds go to the type.
fn split_declaration(declaration: &str) -> Option<(String, String)> {
    let declaration = without_attributes(declaration);
    // `bool (*check)(int)`: the name stands inside.
    if let Some(star) = declaration.find("(*")
        && let Some(len) = declaration[star + 2..].find(')')
    {
        let name = declaration[star + 2..star + 2 + len].trim().to_owned();
        let c_type = format!("{}(*{}", &declaration[..star], &declaration[star + 2 + len..]);
        return is_identifier(&name).then_some((c_type, name));
    }
    let (head, bounds) = match declaration.find('[') {
        // `__data_loc char[] name` has the bounds before the name, `char comm[16]` after it.
        Some(open) => {
            let close = open + declaration[open..].rfind(']')?;
            let behind = declaration[close + 1..].trim();
            if behind.is_empty() {
                (declaration[..open].trim(), &declaration[open..=close])
            } else {
                let c_type = normalize(&declaration[..=close]);
                return is_identifier(behind).then(|| (c_type, behind.to_owned()));
            }
        }
        None => (declaration.trim(), ""),
    };
    let start = head.rfind(|c: char| !is_identifier_char(c)).map_or(0, |at| at + 1);
    let (ty, name) = head.split_at_checked(start)?;
    if ty.trim().is_empty() || !is_identifier(name) {
        return None;
    }
    Some((normalize(ty) + bounds, name.to_owned()))
}

/// Without `__attribute__((…))`, which kernels of 2022 to 2024 let through from type tags.
fn without_attributes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("__attribute__") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + "__attribute__".len()..];
        let mut depth = 0_usize;
        let mut end = tail.len();
        for (i, c) in tail.char_indices() {
            match c {
                '(' => depth += 1,
                ')' if depth <= 1 => {
                    end = i + 1;
                    break;
                }
                ')' => depth -= 1,
                c if depth == 0 && !c.is_whitespace() => {
                    end = i;
                    break;
                }
                _ => {}
            }
        }
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

/// One space between words, and before the first star but not between stars: `const char *`, `void **`.
fn normalize(ty: &str) -> String {
    let mut out = String::with_capacity(ty.len());
    for c in ty.trim().chars() {
        match c {
            '*' => {
                let len = out.trim_end().len();
                out.truncate(len);
                if !out.is_empty() && !out.ends_with('*') {
                    out.push(' ');
                }
                out.push('*');
            }
            '[' => {
                let len = out.trim_end().len();
                out.truncate(len);
                out.push('[');
            }
            c if c.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn kind_of(c_type: &str, size: u32) -> FieldKind {
    if c_type.starts_with("__data_loc") {
        return FieldKind::DataLoc;
    }
    if c_type.starts_with("__rel_loc") {
        return FieldKind::RelLoc;
    }
    if let Some((element, bounds)) = c_type.split_once('[') {
        let product = bounds.split('[').try_fold(1_u32, |product, bound| {
            let n = bound.trim_end().strip_suffix(']')?.trim().parse().ok()?;
            product.checked_mul(n)
        });
        let (len, elem_size) = match (product, known_size(element.trim())) {
            (Some(len), _) if len != 0 && size.is_multiple_of(len) => (len, size / len),
            // A bound that is a macro's name; the size is right in any case.
            (_, Some(elem_size)) => (size / elem_size, elem_size),
            _ => (size, 1),
        };
        return FieldKind::Array { len, elem_size };
    }
    if c_type.ends_with('*') || c_type.contains("(*") { FieldKind::Pointer } else { FieldKind::Scalar }
}

/// Bytes of a C type that has the same size everywhere we run.
fn known_size(ty: &str) -> Option<u32> {
    if ty.ends_with('*') {
        return Some(8);
    }
    Some(
        match ty.trim_start_matches("const ").trim_start_matches("unsigned ").trim_start_matches("signed ") {
            "char" | "u8" | "s8" | "__u8" | "__s8" | "uint8_t" | "int8_t" | "bool" => 1,
            "short" | "u16" | "s16" | "__u16" | "__s16" | "__be16" | "__le16" | "uint16_t" | "int16_t" => 2,
            "int" | "u32" | "s32" | "__u32" | "__s32" | "__be32" | "__le32" | "uint32_t" | "int32_t" => 4,
            "long" | "long long" | "u64" | "s64" | "__u64" | "__s64" | "__be64" | "__le64" | "uint64_t"
            | "int64_t" => 8,
            _ => return None,
        },
    )
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(is_identifier_char)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_identifier_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{FieldKind, TracepointField, TracepointFormat};
    use proptest::prelude::*;

    fn field(declaration: &str, size: u32) -> TracepointField {
        super::parse_field(&format!("{declaration};\toffset:8;\tsize:{size};\tsigned:0;")).expect("parses")
    }

    #[track_caller]
    fn check(declaration: &str, size: u32, name: &str, c_type: &str, kind: FieldKind) {
        let f = field(declaration, size);
        assert_eq!((f.name.as_str(), f.c_type.as_str(), f.kind), (name, c_type, kind));
    }

    #[test]
    fn declarations_of_every_shape() {
        use FieldKind::{Array, DataLoc, Pointer, RelLoc, Scalar};
        check("int __syscall_nr", 4, "__syscall_nr", "int", Scalar);
        check("const char * filename", 8, "filename", "const char *", Pointer);
        check("const char *const * argv", 8, "argv", "const char *const *", Pointer);
        check("void **p", 8, "p", "void **", Pointer);
        check("char prev_comm[16]", 16, "prev_comm", "char[16]", Array { len: 16, elem_size: 1 });
        check("char comm[TASK_COMM_LEN]", 16, "comm", "char[TASK_COMM_LEN]", Array { len: 16, elem_size: 1 });
        check("__u8 saddr[4]", 4, "saddr", "__u8[4]", Array { len: 4, elem_size: 1 });
        check("unsigned long args[6]", 48, "args", "unsigned long[6]", Array { len: 6, elem_size: 8 });
        check("u32 grid[2][3]", 24, "grid", "u32[2][3]", Array { len: 6, elem_size: 4 });
        check("struct in6_addr a[N]", 32, "a", "struct in6_addr[N]", Array { len: 32, elem_size: 1 });
        check("__data_loc char[] name", 4, "name", "__data_loc char[]", DataLoc);
        check("__data_loc unsigned long[] mask", 4, "mask", "__data_loc unsigned long[]", DataLoc);
        check("__rel_loc char[] s", 4, "s", "__rel_loc char[]", RelLoc);
        check("enum skb_drop_reason reason", 4, "reason", "enum skb_drop_reason", Scalar);
        check("struct sock *sk", 8, "sk", "struct sock *", Pointer);
        check("bool (*check)(int)", 8, "check", "bool (*)(int)", Pointer);
        check("const char __attribute__((btf_type_tag(\"user\"))) * s", 8, "s", "const char *", Pointer);
    }

    #[test]
    fn elements() {
        assert_eq!(field("__data_loc char[] name", 4).element_type(), "char");
        assert_eq!(field("unsigned long args[6]", 48).element_type(), "unsigned long");
        assert_eq!(field("const char * s", 8).element_type(), "const char *");
    }

    #[test]
    fn a_whole_format() {
        let text = "name: sys_enter_kill\nID: 158\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:pid_t pid;\toffset:16;\tsize:8;\tsigned:0;\n\n\
            print fmt: \"pid: 0x%08lx\nsig\", ((unsigned long)(REC->pid))\n";
        let format = TracepointFormat::parse(text).expect("parses");
        assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("sys_enter_kill", 158, 4));
        assert!(format.field("common_pid").is_some_and(|f| f.common && f.signed));
        assert!(format.field("pid").is_some_and(|f| !f.common && f.offset == 16));
        assert_eq!(format.field("nope"), None);
        assert_eq!(format.print_fmt, "\"pid: 0x%08lx\nsig\", ((unsigned long)(REC->pid))");
    }

    #[test]
    fn what_is_not_a_format_is_refused() {
        for text in [
            "",
            "name: x\n",
            "ID: 1\n",
            "name: x\nID: -1\n",
            "name: x\nID: 1\nfield:int;offset:0;size:4;\n",
            "name: x\nID: 1\nfield:int a;size:4;\n",
            "name: x\nID: 1\nfield:int a;offset:0;size:99999999999;\n",
            "name: x\nID: 1\nfield:int a[;offset:0;size:4;\n",
            "name: x\nID: 1\nfield:]a[;offset:0;size:4;\n",
        ] {
            assert!(TracepointFormat::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_fine(text in ".{0,200}") {
            let _ = TracepointFormat::parse(&text);
        }

        #[test]
        fn any_declaration_is_fine(d in "[a-z \\[\\]()*_0-9;ä]{0,40}", size in any::<u32>()) {
            let _ = TracepointFormat::parse(&format!("name: x\nID: 1\n\tfield:{d};offset:0;size:{size};signed:1;"));
        }
    }
}
