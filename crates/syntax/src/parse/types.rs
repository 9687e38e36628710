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

impl Parser<'_> {
    /// Whether the token `ahead` can only be the start of a type.
    pub(super) fn starts_type(&self, ahead: usize) -> bool {
        let TokenKind::Ident(word) = self.kind_at(ahead) else { return false };
        match word.as_str() {
            "struct" | "union" | "enum" => matches!(self.kind_at(ahead + 1), TokenKind::Ident(_)),
            word => C_WORDS.contains(&word) || TYPE_NAMES.contains(&word),
        }
    }

    /// Takes `(type)` if that is what stands here: a type by its words, or any name followed by `*` and the parenthesis.
    pub(super) fn cast_type(&mut self) -> Option<TypeExpr> {
        let before = (self.at, self.braces);
        let mut end = 1;
        while matches!(self.kind_at(end), TokenKind::Ident(_)) {
            end += 1;
        }
        if end == 1 {
            return None;
        }
        let named = end == 2 && !self.starts_type(1);
        let mut stars = 0;
        while self.is_at(end, "*") {
            stars += 1;
            end += 1;
        }
        while self.is_at(end, "[") {
            let inside = usize::from(!self.is_at(end + 1, "]"));
            if !self.is_at(end + 1 + inside, "]") {
                return None;
            }
            end += 2 + inside;
        }
        if !self.is_at(end, ")") || (named && stars == 0) || !(named || self.starts_type(1)) {
            return None;
        }
        self.advance();
        let ty = self.type_expr();
        match ty {
            Ok(ty) if self.take(")") => Some(ty),
            _ => {
                (self.at, self.braces) = before;
                None
            }
        }
    }

    /// A type.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        let base = self.type_base()?;
        let pointers = self.stars()?;
        let arrays = self.array_lengths()?;
        Ok(TypeExpr { base, pointers, arrays, span: start.to(self.previous()) })
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
                TokenKind::Int { value, .. } => {
                    self.advance();
                    arrays.push(Some(value));
                }
                TokenKind::Punct("]") => arrays.push(None),
                _ => return Err(self.unexpected("an array's length")),
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
            "typeof" => {
                self.expect("(")?;
                let of = self.expr()?;
                self.expect(")")?;
                Ok(TypeBase::TypeofExpr(Box::new(of)))
            }
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
