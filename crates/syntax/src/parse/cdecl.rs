//! C declarations: struct, union, enum, typedef, and what of the preprocessor makes sense without a C compiler.

use strix_model::{Diagnostic, Span};

use super::{Parsed, Parser};
use crate::ast::{CEnum, CItem, CMember, CMemberType, CRecord, Name, Script, TypeBase, TypeExpr};
use crate::lex::{self, TokenKind};

/// Names that count as defined.
const DEFINED: [&str; 1] = ["BPFTRACE_HAVE_BTF"];

impl Parser<'_> {
    pub(super) fn c_item(&mut self, script: &mut Script) -> Parsed<()> {
        let start = self.span();
        if self.take_word("typedef") {
            let item = self.typedef(script, start)?;
            script.c_items.extend(item);
            return Ok(());
        }
        let item = match self.kind() {
            TokenKind::Ident(word) if word == "enum" => CItem::Enum(self.c_enum()?),
            _ => CItem::Record(self.c_record()?),
        };
        self.take(";");
        script.c_items.push(item);
        Ok(())
    }

    fn typedef(&mut self, script: &mut Script, start: Span) -> Parsed<Option<CItem>> {
        let defines = self.is_at(1, "{") || self.is_at(2, "{");
        if !defines {
            let mut ty = self.type_expr()?;
            let name = self.ident("the new type's name")?;
            ty.arrays.extend(self.array_lengths()?);
            self.take(";");
            return Ok(Some(CItem::Typedef { name, ty }));
        }
        if self.is_word("enum") {
            let mut def = self.c_enum()?;
            let name = self.ident("the new type's name")?;
            self.take(";");
            if def.name.text.is_empty() {
                def.name = name;
                return Ok(Some(CItem::Enum(def)));
            }
            let ty = named(TypeBase::Enum(def.name.text.clone()), start);
            script.c_items.push(CItem::Enum(def));
            return Ok(Some(CItem::Typedef { name, ty }));
        }
        let mut def = self.c_record()?;
        let pointers = self.stars()?;
        let name = self.ident("the new type's name")?;
        self.take(";");
        if def.name.text.is_empty() && pointers == 0 {
            def.name = name;
            return Ok(Some(CItem::Record(def)));
        }
        let tag = def.name.text.clone();
        let base = if def.is_union { TypeBase::Union(tag) } else { TypeBase::Struct(tag) };
        script.c_items.push(CItem::Record(def));
        Ok(Some(CItem::Typedef { name, ty: TypeExpr { pointers, ..named(base, start) } }))
    }

    fn c_record(&mut self) -> Parsed<CRecord> {
        self.nested(|p| {
            let start = p.span();
            let is_union = p.is_word("union");
            p.advance();
            let mut packed = p.attributes()?;
            let name = p.tag();
            p.expect("{")?;
            let mut members = Vec::new();
            while !p.is("}") {
                if p.at_end() {
                    return Err(p.unexpected("`}`"));
                }
                p.member_decl(&mut members)?;
            }
            p.expect("}")?;
            packed |= p.attributes()?;
            Ok(CRecord { name, is_union, members, packed, span: start.to(p.previous()) })
        })
    }

    /// A tag, or an empty name.
    fn tag(&mut self) -> Name {
        let span = self.span();
        if let TokenKind::Ident(text) = self.kind().clone() {
            self.advance();
            return Name { text, span };
        }
        Name { text: String::new(), span }
    }

    /// `__attribute__((…))`; whether one of them is `packed`.
    fn attributes(&mut self) -> Parsed<bool> {
        let mut packed = false;
        while self.take_word("__attribute__") {
            let mut depth = 0u32;
            loop {
                match self.kind() {
                    TokenKind::Punct("(") => depth += 1,
                    TokenKind::Punct(")") => depth = depth.saturating_sub(1),
                    TokenKind::Ident(word) => packed |= word == "packed" || word == "__packed__",
                    TokenKind::Eof => return Err(self.unexpected("`)`")),
                    _ => {}
                }
                self.advance();
                if depth == 0 {
                    break;
                }
            }
        }
        Ok(packed)
    }

    /// `type a, *b[4], c : 3;`
    fn member_decl(&mut self, members: &mut Vec<CMember>) -> Parsed<()> {
        while self.take_word("const") || self.take_word("volatile") {}
        let inline = matches!(self.kind(), TokenKind::Ident(w) if w == "struct" || w == "union")
            && (self.is_at(1, "{") || self.is_at(2, "{"));
        if inline {
            return self.inline_member(members);
        }
        let start = self.span();
        let base = self.type_base()?;
        loop {
            let pointers = self.stars()?;
            if self.take("(") {
                members.push(self.function_pointer(start)?);
            } else {
                let name =
                    if self.is(":") { Name { text: String::new(), span: self.span() } } else { self.tag() };
                let arrays = self.array_lengths()?;
                let bits = self.bits()?;
                let span = start.to(self.previous());
                let ty = CMemberType::Type(TypeExpr { base: base.clone(), pointers, arrays, span });
                members.push(CMember { name, ty, bits });
            }
            self.attributes()?;
            if !self.take(",") {
                break;
            }
        }
        self.end_of_member()
    }

    /// The last member needs no semicolon.
    fn end_of_member(&mut self) -> Parsed<()> {
        if !self.is("}") {
            self.expect(";")?;
        }
        Ok(())
    }

    fn bits(&mut self) -> Parsed<Option<u32>> {
        if !self.take(":") {
            return Ok(None);
        }
        match *self.kind() {
            TokenKind::Int { value, .. } if value <= 64 => {
                self.advance();
                Ok(Some(value as u32))
            }
            _ => Err(self.unexpected("a bit-field's width, at most 64")),
        }
    }

    fn inline_member(&mut self, members: &mut Vec<CMember>) -> Parsed<()> {
        let record = self.c_record()?;
        let pointers = self.stars()?;
        let name = self.tag();
        let arrays = self.array_lengths()?.into_iter().map(|n| n.unwrap_or(0)).collect();
        self.end_of_member()?;
        let ty = CMemberType::Inline { record: Box::new(record), pointers, arrays };
        members.push(CMember { name, ty, bits: None });
        Ok(())
    }

    /// The rest of `ret (*name)(params)`; the parenthesis is taken. Any function pointer is a `void *`.
    fn function_pointer(&mut self, start: Span) -> Parsed<CMember> {
        self.expect("*")?;
        let name = self.ident("the function pointer's name")?;
        self.expect(")")?;
        self.expect("(")?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.kind() {
                TokenKind::Punct("(") => depth += 1,
                TokenKind::Punct(")") => depth -= 1,
                TokenKind::Eof => return Err(self.unexpected("`)`")),
                _ => {}
            }
            self.advance();
        }
        let ty = TypeExpr { pointers: 1, ..named(TypeBase::Named("void".into()), start) };
        Ok(CMember { name, ty: CMemberType::Type(ty), bits: None })
    }

    fn c_enum(&mut self) -> Parsed<CEnum> {
        let start = self.span();
        self.advance();
        let name = self.tag();
        self.expect("{")?;
        let mut variants = Vec::new();
        while !self.is("}") {
            let variant = self.ident("an enumerator")?;
            let value = if self.take("=") { Some(self.expr()?) } else { None };
            variants.push((variant, value));
            if !self.take(",") {
                break;
            }
        }
        let close = self.expect("}")?;
        Ok(CEnum { name, variants, span: start.to(close) })
    }

    pub(super) fn directive(&mut self, text: &str, script: &mut Script) -> Parsed<()> {
        let span = self.span();
        self.advance();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "include" => {
                let path = rest.trim_matches(['<', '>', '"']).to_owned();
                script.c_items.push(CItem::Include { path, span });
            }
            "define" => self.define(rest, span, script),
            "ifdef" if DEFINED.contains(&rest) => {}
            "ifndef" if DEFINED.contains(&rest) => self.skip_branch(),
            "ifdef" | "if" => self.skip_branch(),
            "ifndef" => {}
            // The branch before it was taken.
            "else" | "elif" => self.skip_to_endif(),
            "endif" | "pragma" => {}
            _ => {
                self.report(Diagnostic::warning(span, format!("preprocessor line `#{word}` is ignored")));
            }
        }
        Ok(())
    }

    /// Skips to the `#else` or `#endif` that belongs here, and takes it.
    fn skip_branch(&mut self) {
        self.skip_directives(true);
    }

    fn skip_to_endif(&mut self) {
        self.skip_directives(false);
    }

    fn skip_directives(&mut self, stop_at_else: bool) {
        let mut depth = 0u32;
        while !self.at_end() {
            if let TokenKind::Directive(text) = self.kind() {
                let word = text.split_whitespace().next().unwrap_or("").to_owned();
                match word.as_str() {
                    "if" | "ifdef" | "ifndef" => depth += 1,
                    "endif" if depth == 0 => return self.advance(),
                    "endif" => depth -= 1,
                    "else" if depth == 0 && stop_at_else => return self.advance(),
                    _ => {}
                }
            }
            self.advance();
        }
    }

    /// `#define NAME value`. Macros with parameters, and values that are no expressions, are ignored with a warning.
    fn define(&mut self, rest: &str, span: Span, script: &mut Script) {
        let name_end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, value) = rest.split_at(name_end);
        if value.starts_with('(') {
            let text = format!("`#define {name}(…)` is ignored: strix has no macros with parameters");
            self.report(Diagnostic::warning(span, text));
            return;
        }
        if value.trim().is_empty() {
            return;
        }
        let offset = value.as_ptr() as usize - rest.as_ptr() as usize;
        let directive = &self.text[span.lo as usize..span.hi as usize];
        let rest_at = directive.trim_end().len() - rest.len();
        let from = span.lo as usize + rest_at + offset;
        let tokens = lex::lex_expr(self.file, self.text, from, from + value.len());
        let mut quiet = strix_model::Diagnostics::default();
        let mut inner = Parser::new(self.file, self.text, tokens, &mut quiet);
        let parsed = inner.expr();
        let complete = inner.at_end();
        match parsed {
            Ok(value) if complete => {
                let name = Name { text: name.to_owned(), span };
                script.c_items.push(CItem::Define { name, value });
            }
            _ => {
                let text = format!("`#define {name}` is ignored: its value is not an expression");
                self.report(Diagnostic::warning(span, text));
            }
        }
    }
}

fn named(base: TypeBase, span: Span) -> TypeExpr {
    TypeExpr { base, pointers: 0, arrays: Vec::new(), span }
}
