//! The outer shape: C items, config blocks, map declarations, probes.

use strix_model::{Diagnostic, Span};

use super::{Parsed, Parser, Reported};
use crate::ast::{
    AttachPart, AttachPointText, ConfigEntry, ConfigValue, Macro, MacroParam, MacroParamKind, MapDecl, Name,
    Probe, Script,
};
use crate::lex::TokenKind;

impl Parser<'_> {
    pub(super) fn script(mut self) -> Script {
        let mut script = Script::default();
        while !self.at_end() {
            let before = self.at;
            (self.braces, self.unclosed_known) = (0, false);
            if self.item(&mut script).is_err() {
                self.recover_item();
            }
            if self.at == before {
                self.advance();
            }
        }
        script
    }

    fn item(&mut self, script: &mut Script) -> Parsed<()> {
        match self.kind().clone() {
            TokenKind::Directive(text) => self.directive(&text, script),
            TokenKind::Punct(";") => {
                self.advance();
                Ok(())
            }
            TokenKind::Ident(word) => match word.as_str() {
                "struct" | "union" | "enum" | "typedef" => self.c_item(script),
                "config" => self.config(script),
                "let" => self.map_decl(script),
                "macro" => self.macro_item(script),
                "fn" | "import" => self.refuse_item(&word),
                _ => Err(self.unexpected("a probe")),
            },
            TokenKind::AttachPoint(_) => {
                let probe = self.probe()?;
                script.probes.push(probe);
                Ok(())
            }
            TokenKind::Punct("{") => {
                Err(self
                    .refuse_shape("a block without a probe", "put an attach point before it, such as BEGIN"))
            }
            TokenKind::Punct("/") => {
                Err(self.refuse_shape("a predicate without a probe", "put an attach point before it"))
            }
            TokenKind::Punct("}") => Err(self.refuse_shape("unexpected `}`", "no brace is open here")),
            _ => Err(self.unexpected("a probe")),
        }
    }

    fn refuse_shape(&mut self, what: &str, help: &str) -> Reported {
        let problem = Diagnostic::error(self.span(), format!("syntax error, {what}"));
        self.report(problem.with_help(help))
    }

    /// Skips to where an item can begin: an attach point or a word of the outer level.
    fn recover_item(&mut self) {
        while !self.at_end() && !matches!(self.kind(), TokenKind::AttachPoint(_)) {
            let ends = self.is("}") || self.is(";");
            self.advance();
            if ends && self.braces == 0 {
                return;
            }
        }
    }

    fn refuse_item(&mut self, word: &str) -> Parsed<()> {
        let start = self.span();
        self.advance();
        let (name, what) = match word {
            "fn" => ("fn", "functions of a script (fn)"),
            _ => ("import", "imports"),
        };
        self.report(
            Diagnostic::error(start, format!("`{name}` is not supported: strix has no {what} yet"))
                .with_help("write the code out where it is used"),
        );
        while !self.at_end()
            && !self.is("{")
            && !self.is(";")
            && !matches!(self.kind(), TokenKind::AttachPoint(_))
        {
            self.advance();
        }
        if self.take("{") {
            self.skip_block();
        }
        Ok(())
    }

    fn macro_item(&mut self, script: &mut Script) -> Parsed<()> {
        let start = self.span();
        self.advance();
        let name = self.ident("the macro's name")?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            let span = self.span();
            let (text, kind) = match self.kind().clone() {
                TokenKind::Var(text) => (text, MacroParamKind::Variable),
                TokenKind::Map(text) => (text, MacroParamKind::Map),
                TokenKind::Ident(text) => (text, MacroParamKind::Value),
                _ => return Err(self.unexpected("a parameter: a name, $name or @name")),
            };
            self.advance();
            params.push(MacroParam { name: Name { text, span }, kind });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = self.block()?;
        let span = start.to(body.span);
        script.macros.push(Macro { name, params, body, span });
        Ok(())
    }

    fn config(&mut self, script: &mut Script) -> Parsed<()> {
        self.advance();
        self.expect("=")?;
        self.expect("{")?;
        while !self.is("}") && !self.at_end() {
            let key = self.ident("a setting's name")?;
            self.expect("=")?;
            let value_span = self.span();
            let value = match self.kind().clone() {
                TokenKind::Int { value, .. } => ConfigValue::Int(value),
                TokenKind::Str(text) => ConfigValue::Str(text),
                TokenKind::Ident(word) => match word.as_str() {
                    "true" => ConfigValue::Bool(true),
                    "false" => ConfigValue::Bool(false),
                    _ => ConfigValue::Word(word),
                },
                _ => return Err(self.unexpected("a number, a word or a string")),
            };
            self.advance();
            script.config.push(ConfigEntry { key, value, value_span });
            if !self.take(";") && !self.take(",") && !self.is("}") {
                return Err(self.unexpected("`;` or `}`"));
            }
        }
        self.expect("}")?;
        self.take(";");
        Ok(())
    }

    fn map_decl(&mut self, script: &mut Script) -> Parsed<()> {
        let start = self.span();
        self.advance();
        let map = self.map_name()?;
        self.expect("=")?;
        let kind = self.ident("a kind of map: hash, lruhash, percpuhash or percpulruhash")?;
        self.expect("(")?;
        let entries = self.expr()?;
        self.expect(")")?;
        self.take(";");
        let span = start.to(self.previous());
        script.map_decls.push(MapDecl { map, kind, entries, span });
        Ok(())
    }

    fn probe(&mut self) -> Parsed<Probe> {
        let start = self.span();
        let mut attach_points = Vec::new();
        loop {
            let span = self.span();
            let TokenKind::AttachPoint(text) = self.kind().clone() else {
                if attach_points.is_empty() {
                    return Err(self.unexpected("an attach point"));
                }
                break;
            };
            self.advance();
            attach_points.push(self.split(text, span)?);
            if !self.take(",") {
                break;
            }
        }
        if let TokenKind::AttachPoint(text) = self.kind().clone() {
            let span = self.span();
            let message = format!("syntax error, unexpected `{text}`, expected `,`, a predicate or `{{`");
            let problem = Diagnostic::error(span, message);
            let next = match self.kind_at(1) {
                TokenKind::AttachPoint(next) => next.clone(),
                _ => String::new(),
            };
            self.report(match attach_points.last() {
                Some(last) if last.text == "probe" => {
                    problem.with_help("a probe begins with its attach point: leave out the word `probe`")
                }
                _ if [&text, &next].iter().any(|t| t.starts_with(['=', '!', '<', '>', '&', '|'])) => {
                    problem.with_help("a condition stands between slashes: kprobe:f /pid == 1/ { }")
                }
                _ => problem,
            });
            while matches!(self.kind(), TokenKind::AttachPoint(_)) {
                self.advance();
            }
        }
        let predicate = if self.take("/") { Some(self.predicate()?) } else { None };
        let body = self.block()?;
        Ok(Probe { attach_points, predicate, span: start.to(body.span), body })
    }

    fn predicate(&mut self) -> Parsed<crate::ast::Expr> {
        self.in_predicate = true;
        let result = self.expr();
        self.in_predicate = false;
        let found = result.and_then(|expr| {
            self.check_condition(&expr);
            self.expect("/")?;
            Ok(expr)
        });
        // The body is worth looking at even when the predicate is not.
        found.or_else(|reported| {
            while !self.at_end() && !self.is("{") && !matches!(self.kind(), TokenKind::AttachPoint(_)) {
                self.advance();
            }
            if self.is("{") {
                return self.block().and(Err(reported));
            }
            Err(reported)
        })
    }

    /// Splits an attach point at the colons outside quotes.
    fn split(&mut self, text: String, span: Span) -> Parsed<AttachPointText> {
        let named = text.split(':').next().is_some_and(|first| first.contains('='));
        if named {
            let problem = Diagnostic::error(span, "named probes (`name=probe`) are not supported yet");
            self.report(problem.with_help("leave out the name and the `=`"));
        }
        let mut parts = Vec::new();
        let (mut from, mut quoted, mut had_quotes, mut escaped) = (0usize, false, false, false);
        for (at, c) in text.char_indices().chain([(text.len(), ':')]) {
            match c {
                _ if escaped && at < text.len() => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => {
                    quoted = !quoted;
                    had_quotes = true;
                }
                ':' if !quoted || at == text.len() => {
                    let part = &text[from..at];
                    let lo = span.lo + from as u32;
                    parts.push(AttachPart {
                        text: if had_quotes { unquoted(part) } else { part.to_owned() },
                        quoted: had_quotes,
                        span: Span::new(self.file, lo, lo + part.len() as u32),
                    });
                    (from, had_quotes) = (at + 1, false);
                }
                _ => {}
            }
        }
        if quoted {
            return Err(self.error(span, "unterminated quote in attach point"));
        }
        Ok(AttachPointText { parts, text, span })
    }
}

/// The text without its quotes and with what stands after a backslash in them.
fn unquoted(part: &str) -> String {
    let (mut text, mut quoted) = (String::with_capacity(part.len()), false);
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    text
}
