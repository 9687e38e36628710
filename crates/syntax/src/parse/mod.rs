//! Tokens → tree, by recursive descent.
//!
//! Every error is reported and parsing goes on at the next statement or probe, so that one run shows all of them.

mod cdecl;
mod constant;
mod expr;
mod items;
mod stmt;
mod types;

use strix_model::{Diagnostic, Diagnostics, FileId, Severity, Span};

use crate::ast::{CEnum, Expr, ExprKind, Name, Script};
use crate::lex::{self, Token, TokenKind};
use constant::Constants;

/// Deeper nesting of expressions and blocks is refused: the stages after this one recurse.
const MAX_DEPTH: u32 = 100;

/// Most operators and accesses in one expression: `a + b + c` is a tree as deep as it is long.
const MAX_LINKS: u32 = 300;

/// Most `*` of a type, and most of its dimensions.
const MAX_DERIVATIONS: usize = 16;

/// Longer texts are refused unread.
const MAX_TEXT: usize = 1 << 20;

/// After so many findings the rest of the text is not looked at.
const MAX_FINDINGS: u32 = 50;

/// Parses a script. What cannot be parsed is left out of the tree and reported.
pub fn parse(file: FileId, text: &str, diags: &mut Diagnostics) -> Script {
    if text.len() > MAX_TEXT {
        let message = format!("the script has {} bytes: more than {MAX_TEXT} are not supported", text.len());
        diags.push(Diagnostic::error(Span::new(file, 0, 0), message));
        return Script::default();
    }
    let tokens = lex::lex(file, text);
    Parser::new(file, text, tokens, diags).script()
}

/// The parser found something wrong, and said so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

pub(crate) type Parsed<T> = Result<T, Reported>;

pub(crate) struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Operators and accesses on the way from the statement's root, at most.
    links: u32,
    findings: u32,
    /// Braces that are open, and the last of them.
    braces: u32,
    open: Span,
    /// Why a closing brace is missing was said.
    unclosed_known: bool,
    /// A `/` before `{` ends the predicate.
    in_predicate: bool,
    /// What the script defines with a constant value.
    constants: Constants,
    /// Enums defined inside of the record at hand.
    inner_enums: Vec<CEnum>,
    diags: &'a mut Diagnostics,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str, tokens: Vec<Token>, diags: &'a mut Diagnostics) -> Self {
        Self {
            file,
            text,
            tokens,
            at: 0,
            depth: 0,
            links: 0,
            findings: 0,
            braces: 0,
            open: Span::new(file, 0, 0),
            unclosed_known: false,
            in_predicate: false,
            constants: Constants::default(),
            inner_enums: Vec::new(),
            diags,
        }
    }

    fn kind(&self) -> &TokenKind {
        &self.tokens[self.at.min(self.tokens.len() - 1)].kind
    }

    fn kind_at(&self, ahead: usize) -> &TokenKind {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at.min(self.tokens.len() - 1)].span
    }

    /// Where the last taken token ended.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    fn advance(&mut self) {
        match self.kind() {
            TokenKind::Punct("{") => self.braces += 1,
            TokenKind::Punct("}") => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
    }

    fn at_end(&self) -> bool {
        *self.kind() == TokenKind::Eof
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.kind(), TokenKind::Punct(p) if *p == punct)
    }

    fn is_at(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.kind_at(ahead), TokenKind::Punct(p) if *p == punct)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Ident(w) if w == word)
    }

    fn take(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: &str) -> Parsed<Span> {
        let span = self.span();
        if self.take(punct) { Ok(span) } else { Err(self.unexpected(&format!("`{punct}`"))) }
    }

    fn ident(&mut self, what: &str) -> Parsed<Name> {
        let span = self.span();
        if let TokenKind::Ident(text) = self.kind().clone() {
            self.advance();
            return Ok(Name { text, span });
        }
        Err(self.unexpected(what))
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if diagnostic.severity == Severity::Warning {
            self.diags.push(diagnostic);
            return Reported;
        }
        self.findings += 1;
        match self.findings {
            0..MAX_FINDINGS => self.diags.push(diagnostic),
            MAX_FINDINGS => {
                let message = "too many errors: the rest of the script was not looked at";
                self.diags.push(Diagnostic::error(diagnostic.primary.span, message));
                self.at = self.tokens.len() - 1;
            }
            // The end of the text is no surprise any more.
            _ => {}
        }
        Reported
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> Reported {
        self.report(Diagnostic::error(span, message))
    }

    /// Reports the token at hand as not being what was expected.
    fn unexpected(&mut self, expected: &str) -> Reported {
        let problem = self.surprise(expected);
        // The rest of the line is lost, and with it perhaps a brace.
        self.unclosed_known |=
            matches!(self.kind(), TokenKind::Unknown(what) if what.starts_with("unterminated"));
        self.report(problem)
    }

    /// Reports the token at hand inside of something that began at `open`.
    fn unclosed(&mut self, expected: &str, open: Span) -> Reported {
        let problem = self.surprise(expected);
        // What is no token says enough; else the reader wants to know what is still open.
        let known = matches!(self.kind(), TokenKind::Unknown(_));
        self.report(if known { problem } else { problem.with_label(open, "this is not closed") })
    }

    fn surprise(&self, expected: &str) -> Diagnostic {
        let span = self.span();
        let problem = match self.kind() {
            TokenKind::Unknown(what) => return Diagnostic::error(span, format!("syntax error, {what}")),
            kind => {
                let found = describe(kind);
                Diagnostic::error(span, format!("syntax error, unexpected {found}, expected {expected}"))
            }
        };
        match self.kind() {
            TokenKind::Punct("=") => problem.with_help("compare with `==`"),
            TokenKind::Punct("'" | "`") => problem.with_help("strings stand in double quotes: \"text\""),
            _ => problem,
        }
    }

    /// A condition that would be an assignment in C.
    fn check_condition(&mut self, cond: &Expr) {
        if let ExprKind::Record(fields) = &cond.kind
            && let [(name, value)] = fields.as_slice()
        {
            let equals = Span::new(self.file, name.span.hi, value.span.lo);
            let problem = Diagnostic::error(equals, "syntax error, unexpected `=` in a condition");
            self.report(problem.with_help("compare with `==`"));
        }
    }

    /// Runs `body` one level deeper.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return Err(self.error(span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// One more operator or access in the expression at hand.
    fn link(&mut self) -> Parsed<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            let span = self.span();
            return Err(self.error(span, format!("more than {MAX_LINKS} operators in one expression")));
        }
        Ok(())
    }

    /// Runs `body` for a part that stands beside others: what is long in one does not make the others deeper.
    fn beside<T>(&mut self, body: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = self.links;
        self.links = 0;
        let result = body(self);
        self.links = before.max(self.links);
        result
    }

    /// Skips to the closing brace that belongs to the opening one just taken.
    fn skip_block(&mut self) {
        let mut depth = 1u32;
        while !self.at_end() {
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                depth -= 1;
                if depth == 0 {
                    self.advance();
                    return;
                }
            }
            self.advance();
        }
    }
}

/// A token for people.
fn describe(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Ident(word) => format!("`{word}`"),
        TokenKind::Int { .. } => "number".into(),
        TokenKind::Str(_) => "string".into(),
        TokenKind::Var(name) => format!("`${name}`"),
        TokenKind::Map(name) => format!("`@{name}`"),
        TokenKind::Positional(n) => format!("`${n}`"),
        TokenKind::PositionalCount => "`$#`".into(),
        TokenKind::AttachPoint(text) => format!("`{text}`"),
        TokenKind::Directive(_) => "preprocessor line".into(),
        TokenKind::Punct(punct) => format!("`{punct}`"),
        TokenKind::Unknown(what) => what.clone(),
        TokenKind::Eof => "end of file".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::StmtKind;

    fn errors(text: &str) -> Vec<String> {
        let mut diags = Diagnostics::default();
        parse(FileId(0), text, &mut diags);
        diags.sorted().iter().map(|d| d.message.clone()).collect()
    }

    fn ok(text: &str) -> Script {
        let mut diags = Diagnostics::default();
        let script = parse(FileId(0), text, &mut diags);
        assert!(diags.is_empty(), "{text}: {:?}", diags.sorted());
        script
    }

    #[test]
    fn probes_with_predicates() {
        let script = ok("kprobe:f,kprobe:g /pid == 1 && @a / 2 > 3/ { @x = count(); } END { clear(@x) }");
        assert_eq!(script.probes.len(), 2);
        assert_eq!(script.probes[0].attach_points.len(), 2);
        assert!(script.probes[0].predicate.is_some());
        assert_eq!(script.probes[0].attach_points[1].parts[1].text, "g");
    }

    #[test]
    fn every_error_is_reported() {
        let found = errors("kprobe:f { $x = ; } kprobe:g { if } kprobe:h { @a = count(); foo( }");
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn deep_nesting_is_an_error_not_an_overflow() {
        for open in ["(", "{", "-", "!", "[", "((uint64)", "if (1) {"] {
            let text = format!("BEGIN {{ $x = {}", open.repeat(100_000));
            assert!(!errors(&text).is_empty());
        }
    }

    #[test]
    fn unsupported_items_are_refused_by_name() {
        assert!(errors("macro f($x) { $x } BEGIN { }").is_empty());
        assert!(errors("fn f($x: int64): int64 { return $x; } BEGIN { }")[0].contains("fn"));
        assert!(errors("import \"x.bt\"; BEGIN { }")[0].contains("import"));
        assert!(errors("name=kprobe:f { }")[0].contains("named probes"));
    }

    #[test]
    fn statements() {
        let script =
            ok("BEGIN { let $a: uint64 = 1; if $a > 1 { $a++ } else if ($a) { } else { --@x[1, $a]; } \
             while ($a < 5) { $a += 1; break; continue; } for ($i : 0..10) { print($i); } \
             for $kv : @x { print($kv.0); } unroll(3) { $a <<= 1; } unroll 2 { } return; }");
        assert_eq!(script.probes[0].body.stmts.len(), 8);
        assert!(matches!(script.probes[0].body.stmts[3].kind, StmtKind::ForRange { .. }));
        assert!(matches!(script.probes[0].body.stmts[4].kind, StmtKind::ForMap { .. }));
    }

    #[test]
    fn casts_and_parentheses() {
        let script = ok(
            "BEGIN { $a = (uint64)1; $b = (struct task_struct *)curtask; $c = ((struct foo *)arg0)->bar.baz; \
             $d = (1, \"x\"); $e = (pid) + 1; $f = (int32 *)arg1; $g = (1,); $h = (uint8[4])pid; $i = (char *)arg0; $j = (foo_t *)arg1; }",
        );
        let kinds: Vec<bool> = script.probes[0]
            .body
            .stmts
            .iter()
            .map(|s| matches!(&s.kind, StmtKind::Assign { value, .. } if matches!(value.kind, ExprKind::Cast { .. })))
            .collect();
        assert_eq!(kinds, [true, true, false, false, false, true, false, true, true, true]);
    }

    #[test]
    fn c_definitions() {
        let script = ok(
            "#include <linux/fs.h>\n#define N (1 << 4)\nstruct a { int x; char name[16]; struct { u8 lo : 4; u8 hi : 4; } bits; \
             void (*fn)(int, char *); struct b *next; unsigned long long y, *z; } __attribute__((packed));\n\
             enum e { A, B = 5, C };\ntypedef unsigned int u;\n\
             #ifdef BPFTRACE_HAVE_BTF\n#else\nstruct never { int x; };\n#endif\nBEGIN { }",
        );
        assert_eq!(script.c_items.len(), 5);
    }
}
