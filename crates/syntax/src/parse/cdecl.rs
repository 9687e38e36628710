//! C declarations: struct, union, enum, typedef, and what of the preprocessor makes sense without a C compiler.

use strix_model::{Diagnostic, Span};

use super::{Parsed, Parser};
use crate::ast::{CEnum, CItem, CMember, CMemberType, CRecord, Name, Script, TypeBase, TypeExpr};
use crate::lex::{self, TokenKind};

/// Names that count as defined.
const DEFINED: [&str; 1] = ["BPFTRACE_HAVE_BTF"];

/// Most tokens of an attribute before a definition's brace.
const MAX_ATTRIBUTE: usize = 24;

impl Parser<'_> {
    pub(super) fn c_item(&mut self, script: &mut Script) -> Parsed<()> {
        let start = self.span();
        if self.take_word("typedef") {
            let item = self.typedef(script, start)?;
            script.c_items.extend(item);
            return Ok(());
        }
        if matches!(self.kind_at(1), TokenKind::Ident(_)) && self.is_at(2, ";") {
            // Only says that there is such a type.
            (0..3).for_each(|_| self.advance());
            return Ok(());
        }
        let item = match self.kind() {
            TokenKind::Ident(word) if word == "enum" => CItem::Enum(self.c_enum()?),
            _ => CItem::Record(self.record_with_enums(script)?),
        };
        self.take(";");
        script.c_items.push(item);
        Ok(())
    }

    fn typedef(&mut self, script: &mut Script, start: Span) -> Parsed<Option<CItem>> {
        if !self.defines_type() {
            let mut ty = self.type_expr()?;
            if self.take("(") {
                let CMember { name, ty, .. } = self.function_pointer(start)?;
                self.take(";");
                return Ok(match ty {
                    CMemberType::Type(ty) => Some(CItem::Typedef { name, ty }),
                    CMemberType::Inline { .. } => None,
                });
            }
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
        let mut def = self.record_with_enums(script)?;
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

    /// Whether the `struct`, `union` or `enum` at hand is defined here.
    fn defines_type(&self) -> bool {
        if !matches!(self.kind(), TokenKind::Ident(w) if w == "struct" || w == "union" || w == "enum") {
            return false;
        }
        let mut ahead = 1;
        while matches!(self.kind_at(ahead), TokenKind::Ident(w) if w == "__attribute__")
            && self.is_at(ahead + 1, "(")
        {
            // As many as a person writes: `((aligned(8), packed))`.
            let close = (ahead..ahead + MAX_ATTRIBUTE)
                .find(|&at| self.is_at(at, ")") && !self.is_at(at + 1, ")") && !self.is_at(at + 1, ","));
            let Some(close) = close else { return false };
            ahead = close + 1;
        }
        if matches!(self.kind_at(ahead), TokenKind::Ident(_)) {
            ahead += 1;
        }
        self.is_at(ahead, "{")
            || (ahead > 1 && matches!(self.kind_at(ahead), TokenKind::Ident(w) if w == "__attribute__"))
    }

    /// A record after the enums that are defined in it: for C they are names of the whole file.
    fn record_with_enums(&mut self, script: &mut Script) -> Parsed<CRecord> {
        let record = self.c_record();
        script.c_items.extend(self.inner_enums.drain(..).map(CItem::Enum));
        record
    }

    fn c_record(&mut self) -> Parsed<CRecord> {
        self.nested(|p| {
            let start = p.span();
            let is_union = p.is_word("union");
            p.advance();
            let mut packed = p.attributes()?;
            let name = p.tag();
            packed |= p.attributes()?;
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
            let open = self.span();
            if !self.is("(") {
                return Err(self.unexpected("`((`"));
            }
            let mut depth = 0u32;
            loop {
                match self.kind() {
                    TokenKind::Punct("(") => depth += 1,
                    TokenKind::Punct(")") => depth = depth.saturating_sub(1),
                    TokenKind::Ident(word) if word == "aligned" || word == "__aligned__" => {
                        let text = "`aligned` is ignored: members stand where C puts them without it";
                        let span = self.span();
                        self.report(Diagnostic::warning(span, text));
                    }
                    TokenKind::Ident(word) => packed |= word == "packed" || word == "__packed__",
                    TokenKind::Punct("{" | "}" | ";") | TokenKind::Eof | TokenKind::AttachPoint(_) => {
                        return Err(self.unclosed("`)`", open));
                    }
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
        let start = self.span();
        let base = match self.defines_type() {
            true if self.is_word("enum") => self.inline_enum()?,
            true => return self.inline_member(members),
            false => self.type_base()?,
        };
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
        let start = self.span();
        match self.constant("a bit-field's width")? {
            width @ 0..=64 => Ok(Some(width as u32)),
            _ => {
                let span = start.to(self.previous());
                Err(self.error(span, "a bit-field has 64 bits at most"))
            }
        }
    }

    /// The value of a constant expression.
    pub(super) fn constant(&mut self, what: &str) -> Parsed<i64> {
        if matches!(self.kind(), TokenKind::Punct(p) if !["(", "-", "+", "~", "!"].contains(p)) {
            return Err(self.unexpected(what));
        }
        let expr = self.beside(Self::expr)?;
        let Some(value) = self.constants.value(&expr) else {
            let problem =
                Diagnostic::error(expr.span, format!("{what} must be a constant that the script defines"));
            return Err(self
                .report(problem.with_help("headers are not read: write the number, or `#define` the name")));
        };
        Ok(value)
    }

    /// An enum defined where a member's type stands.
    fn inline_enum(&mut self) -> Parsed<TypeBase> {
        let def = self.c_enum()?;
        let base = match def.name.text.as_str() {
            "" => TypeBase::Named("unsigned int".into()),
            tag => TypeBase::Enum(tag.to_owned()),
        };
        self.inner_enums.push(def);
        Ok(base)
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
        self.stars()?;
        let name = self.ident("the pointer's name")?;
        let arrays = self.array_lengths()?;
        self.expect(")")?;
        if self.is("[") {
            // A pointer to an array.
            self.array_lengths()?;
            let ty = TypeExpr { pointers: 1, arrays, ..named(TypeBase::Named("void".into()), start) };
            return Ok(CMember { name, ty: CMemberType::Type(ty), bits: None });
        }
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
        let ty = TypeExpr { pointers: 1, arrays, ..named(TypeBase::Named("void".into()), start) };
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
        self.attributes()?;
        let def = CEnum { name, variants, span: start.to(close) };
        self.constants.define_enum(&def);
        Ok(def)
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
                self.constants.define(name, &value);
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
