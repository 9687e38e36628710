//! Types as written, and telling a cast from a parenthesis.

use super::{MAX_DERIVATIONS, Parsed, Parser};
use crate::ast::{TypeBase, TypeExpr};
use crate::lex::TokenKind;

/// Words that make up C's integer types.
const C_WORDS: [&str; 9] =
    ["unsigned", "signed", "long", "short", "int", "char", "void", "const", "volatile"];

/// The language's own type names.
const TYPE_NAMES: [&str; 38] = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int8_t", "int16_t",
    "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "ssize_t", "u8", "u16",
    "u32", "u64", "s8", "s16", "s32", "s64", "string", "buffer", "inet", "float", "double", "min_t", "max_t",
    "sum_t", "avg_t", "count_t", "stats_t",
];

/// Built-in variables: in parentheses they are values.
const VARIABLES: [&str; 24] = [
    "args", "cgroup", "comm", "cpid", "cpu", "ctx", "curtask", "elapsed", "func", "gid", "jiffies", "kstack",
    "ncpus", "nsecs", "numaid", "pid", "ppid", "probe", "rand", "retval", "tid", "uid", "username", "ustack",
];

impl Parser<'_> {
    /// Whether the token `ahead` can only be the start of a type.
    pub(super) fn starts_type(&self, ahead: usize) -> bool {
        let TokenKind::Ident(word) = self.kind_at(ahead) else { return false };
        match word.as_str() {
            "struct" | "union" | "enum" => matches!(self.kind_at(ahead + 1), TokenKind::Ident(_)),
            "typeof" => self.is_at(ahead + 1, "("),
            word => C_WORDS.contains(&word) || TYPE_NAMES.contains(&word),
        }
    }

    /// Whether a name, stars and then `end` stand here: a type that is not known by its words.
    pub(super) fn pointer_to_name(&self, end: &str) -> bool {
        let mut ahead = 1;
        while self.is_at(ahead, "*") {
            ahead += 1;
        }
        ahead > 1 && matches!(self.kind(), TokenKind::Ident(_)) && self.is_at(ahead, end)
    }

    /// Takes `(type)` if that is what stands here: a type by its words, any name followed by `*` and the parenthesis, or any name
    /// in parentheses with an operand after it.
    pub(super) fn cast_type(&mut self) -> Parsed<Option<TypeExpr>> {
        if !self.is_cast() {
            return Ok(None);
        }
        self.advance();
        let ty = self.type_expr()?;
        self.expect(")")?;
        Ok(Some(ty))
    }

    /// Whether the parenthesis at hand holds a type.
    fn is_cast(&self) -> bool {
        let known = self.starts_type(1);
        if known && matches!(self.kind_at(1), TokenKind::Ident(word) if word == "typeof") {
            return true;
        }
        let mut end = 1;
        while matches!(self.kind_at(end), TokenKind::Ident(_)) {
            end += 1;
        }
        if !known && end != 2 {
            return false;
        }
        let after_name = end;
        loop {
            if self.is_at(end, "*") {
                end += 1;
            } else if self.is_at(end, "[") {
                let inside = usize::from(!self.is_at(end + 1, "]"));
                if !self.is_at(end + 1 + inside, "]") {
                    return false;
                }
                end += 2 + inside;
            } else {
                break;
            }
        }
        if !self.is_at(end, ")") {
            return false;
        }
        // A name alone may be a value as well.
        known
            || self.is_at(after_name, "*")
            || (end == after_name && self.is_operand(end + 1) && !self.is_variable(1))
    }

    /// Whether the token `ahead` begins an operand and cannot go on with the expression before it.
    fn is_operand(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::Punct(punct) => ["(", "!", "~"].contains(punct),
            TokenKind::Ident(_)
            | TokenKind::Int { .. }
            | TokenKind::Str(_)
            | TokenKind::Var(_)
            | TokenKind::Map(_)
            | TokenKind::Positional(_)
            | TokenKind::PositionalCount => true,
            _ => false,
        }
    }

    /// Whether the word `ahead` is a built-in variable, which is no type's name.
    fn is_variable(&self, ahead: usize) -> bool {
        let TokenKind::Ident(word) = self.kind_at(ahead) else { return false };
        let number = word.strip_prefix('s').unwrap_or(word).strip_prefix("arg");
        VARIABLES.contains(&word.as_str())
            || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    }

    /// A type.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        if self.is_word("typeof") && self.is_at(1, "(") {
            return self.typeof_expr();
        }
        let base = self.type_base()?;
        let pointers = self.stars()?;
        let arrays = self.array_lengths()?;
        if self.is("*") {
            let span = self.span();
            return Err(self.error(span, "pointers to arrays are not supported yet"));
        }
        Ok(TypeExpr { base, pointers, arrays, span: start.to(self.previous()) })
    }

    /// `typeof(type)` is the type; `typeof(value)` the value's type.
    fn typeof_expr(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        self.advance();
        self.advance();
        let inner = if self.starts_type(0) || self.pointer_to_name(")") {
            self.nested(Self::type_expr)?
        } else {
            let base = TypeBase::TypeofExpr(Box::new(self.expr()?));
            TypeExpr { base, pointers: 0, arrays: Vec::new(), span: start }
        };
        self.expect(")")?;
        let pointers = self.stars()?;
        let mut arrays = self.array_lengths()?;
        if pointers > 0 && !inner.arrays.is_empty() {
            return Err(self.error(start, "pointers to arrays are not supported yet"));
        }
        arrays.extend(inner.arrays);
        let pointers = inner.pointers + pointers;
        Ok(TypeExpr { base: inner.base, pointers, arrays, span: start.to(self.previous()) })
    }

    /// Stars, with qualifiers among them.
    pub(super) fn stars(&mut self) -> Parsed<u32> {
        let mut pointers = 0;
        loop {
            if self.take("*") {
                pointers += 1;
            } else if !(self.take_word("const") || self.take_word("volatile") || self.take_word("restrict")) {
                break;
            }
        }
        if pointers > MAX_DERIVATIONS {
            let span = self.previous();
            return Err(self.error(span, format!("a type with more than {MAX_DERIVATIONS} `*`")));
        }
        Ok(pointers as u32)
    }

    pub(super) fn array_lengths(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut arrays = Vec::new();
        while self.take("[") {
            match *self.kind() {
                TokenKind::Punct("]") => arrays.push(None),
                TokenKind::Int { value, .. } if self.is_at(1, "]") => {
                    self.advance();
                    arrays.push(Some(value));
                }
                _ => {
                    let start = self.span();
                    let length = self.constant("an array's length")?;
                    let Ok(length) = u64::try_from(length) else {
                        return Err(self.error(start, "an array's length cannot be negative"));
                    };
                    arrays.push(Some(length));
                }
            }
            self.expect("]")?;
            if arrays.len() > MAX_DERIVATIONS {
                let span = self.previous();
                let message = format!("an array with more than {MAX_DERIVATIONS} dimensions");
                return Err(self.error(span, message));
            }
        }
        Ok(arrays)
    }

    pub(super) fn type_base(&mut self) -> Parsed<TypeBase> {
        if self.is("(") {
            return self.tuple_type();
        }
        while self.take_word("const") || self.take_word("volatile") {}
        let first = self.ident("a type")?;
        match first.text.as_str() {
            "struct" => Ok(TypeBase::Struct(self.ident("a struct's name")?.text)),
            "union" => Ok(TypeBase::Union(self.ident("a union's name")?.text)),
            "enum" => Ok(TypeBase::Enum(self.ident("an enum's name")?.text)),
            word if C_WORDS.contains(&word) => Ok(TypeBase::Named(self.c_words(word.to_owned()))),
            _ => Ok(TypeBase::Named(first.text)),
        }
    }

    /// `unsigned long int`, joined by single spaces, without qualifiers.
    fn c_words(&mut self, first: String) -> String {
        let mut words = first;
        while let TokenKind::Ident(word) = self.kind() {
            if !C_WORDS.contains(&word.as_str()) {
                break;
            }
            if word != "const" && word != "volatile" {
                words.push(' ');
                words.push_str(word);
            }
            self.advance();
        }
        words
    }

    fn tuple_type(&mut self) -> Parsed<TypeBase> {
        self.nested(|p| {
            p.advance();
            let mut items = Vec::new();
            while !p.is(")") {
                items.push(p.type_expr()?);
                if !p.take(",") {
                    break;
                }
            }
            p.expect(")")?;
            Ok(TypeBase::Tuple(items))
        })
    }
}
