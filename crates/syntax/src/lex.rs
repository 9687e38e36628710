//! Text → tokens.
//!
//! What a character means depends on where it stands: a probe's attach points are not the expression language (paths, wildcards,
//! colons), so the lexer follows the outer shape of a script — C declarations, probe headers, predicates, bodies — and
//! gives an attach point as one token.

use strix_model::{FileId, Span};

use crate::number;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// Kinds of token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word.
    Ident(String),
    /// An integer.
    Int {
        /// Value; durations are nanoseconds.
        value: u64,
        /// C suffix `u`.
        unsigned: bool,
        /// It had a unit of time.
        duration: bool,
    },
    /// A string with its escapes resolved.
    Str(String),
    /// `$name`.
    Var(String),
    /// `@name`, `@`.
    Map(String),
    /// `$1` …
    Positional(u32),
    /// `$#`.
    PositionalCount,
    /// An attach point as written.
    AttachPoint(String),
    /// A preprocessor line without its `#`.
    Directive(String),
    /// Punctuation; see [`PUNCTUATION`].
    Punct(&'static str),
    /// Something that is no token, with what is wrong.
    Unknown(String),
    /// End of the text.
    Eof,
}

/// All punctuation, longer first.
pub const PUNCTUATION: [&str; 52] = [
    "<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "->", "..", "?:", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">",
    "=", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "#", "\\", "`", "'",
];

/// Which part of a script the lexer is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Between items.
    Top,
    /// In a probe's attach points.
    Header,
    /// In a predicate, or between keyword and body of an item that is no probe.
    Predicate,
    /// In a C declaration, `let` or `config`: until `;` or a closing brace at depth 0.
    Item,
    /// In braces of a probe.
    Body,
}

/// Words that start an item that is no probe.
const ITEM_WORDS: [&str; 6] = ["struct", "union", "enum", "typedef", "config", "let"];
/// Words that start an item with parameters and a body.
const FUNCTION_WORDS: [&str; 2] = ["macro", "fn"];

/// Providers whose attach points contain paths.
const PATH_PROVIDERS: [&str; 7] = ["uprobe", "uretprobe", "u", "ur", "usdt", "iter", "it"];

/// Lexes a whole script.
#[must_use]
pub fn lex(file: FileId, text: &str) -> Vec<Token> {
    Lexer {
        file,
        text,
        at: 0,
        mode: Mode::Top,
        depth: 0,
        parens: 0,
        typedef: false,
        ends_at_paren: false,
        tokens: Vec::new(),
    }
    .run()
}

/// Lexes an expression that stands in `text` from byte `from` to `to`.
pub(crate) fn lex_expr(file: FileId, text: &str, from: usize, to: usize) -> Vec<Token> {
    let text = &text[..to];
    Lexer {
        file,
        text,
        at: from,
        mode: Mode::Body,
        depth: 1,
        parens: 0,
        typedef: false,
        ends_at_paren: false,
        tokens: Vec::new(),
    }
    .run()
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    at: usize,
    mode: Mode,
    depth: u32,
    /// Parentheses and brackets that are open outside of a body: braces in them are values.
    parens: u32,
    /// The item at hand is a `typedef`, whose brace is not its end.
    typedef: bool,
    /// The item at hand ends with a parenthesis: a map's declaration, or a record with attributes after it.
    ends_at_paren: bool,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn run(mut self) -> Vec<Token> {
        loop {
            self.skip_blank();
            let start = self.at;
            if self.at >= self.text.len() {
                self.push(TokenKind::Eof, start);
                return self.tokens;
            }
            if self.mode == Mode::Top {
                self.enter_item();
            }
            match self.mode {
                Mode::Header => self.header_token(),
                _ => self.token(),
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = Span::new(self.file, start as u32, self.at as u32);
        self.tokens.push(Token { kind, span });
    }

    /// White space, comments and the `#!` line.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if let Some(line) = trimmed.strip_prefix('\\')
                && line.trim_start_matches([' ', '\t', '\r']).starts_with('\n')
            {
                // A line goes on in the next one.
                self.at += 1;
            } else if self.at == 0 && trimmed.starts_with("#!") || trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => {
                        let start = self.at;
                        self.at += 2;
                        self.push(TokenKind::Unknown("unterminated comment".into()), start);
                        self.at = self.text.len();
                        return;
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Decides what the item that begins here is.
    fn enter_item(&mut self) {
        let rest = self.rest();
        let word_end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..word_end];
        let after = rest[word_end..].trim_start();
        let plain = !after.starts_with(':');
        self.parens = 0;
        self.typedef = word == "typedef";
        self.ends_at_paren = word == "let";
        self.mode = if rest.starts_with('#') || (ITEM_WORDS.contains(&word) && plain) {
            Mode::Item
        } else if (FUNCTION_WORDS.contains(&word) || word == "import") && plain {
            Mode::Predicate
        } else if rest.starts_with([';', '}', ')']) {
            Mode::Top
        } else {
            Mode::Header
        };
    }

    /// Attach points, commas between them, then a predicate or the body.
    fn header_token(&mut self) {
        let start = self.at;
        match self.peek() {
            Some('{') => {
                self.mode = Mode::Predicate;
                self.token();
            }
            Some(',') => {
                self.at += 1;
                self.push(TokenKind::Punct(","), start);
            }
            Some('/') => {
                self.at += 1;
                self.push(TokenKind::Punct("/"), start);
                self.mode = Mode::Predicate;
            }
            _ => self.attach_point(),
        }
    }

    fn attach_point(&mut self) {
        let start = self.at;
        let (mut quoted, mut escaped) = (false, false);
        let mut end = self.text.len();
        // Whether a slash belongs to a path; known once there is a colon.
        let mut path = false;
        let mut colon = false;
        for (at, c) in self.text[start..].char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                '\n' => end = start + at,
                _ if quoted => {}
                '{' | ',' => end = start + at,
                ':' if !colon => {
                    colon = true;
                    path = has_path(&self.text[start..start + at]);
                }
                '/' if at > 0 && !path => end = start + at,
                c if c.is_whitespace() => end = start + at,
                _ => continue,
            }
            if end < self.text.len() {
                break;
            }
        }
        self.at = end;
        self.push(TokenKind::AttachPoint(self.text[start..end].to_owned()), start);
    }

    fn token(&mut self) {
        let start = self.at;
        let Some(c) = self.peek() else { return };
        match c {
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = self.rest().find(|c: char| !is_word(c)).unwrap_or(self.rest().len());
                self.at += end;
                self.push(TokenKind::Ident(self.text[start..self.at].to_owned()), start);
            }
            '0'..='9' => self.number(),
            '"' => self.string(),
            '@' => {
                self.at += 1;
                let name = self.word();
                self.push(TokenKind::Map(name), start);
            }
            '$' => self.dollar(),
            '#' if matches!(self.mode, Mode::Item | Mode::Predicate) => self.directive(),
            _ => self.punctuation(c),
        }
    }

    fn word(&mut self) -> String {
        let end = self.rest().find(|c: char| !is_word(c)).unwrap_or(self.rest().len());
        let word = self.rest()[..end].to_owned();
        self.at += end;
        word
    }

    fn number(&mut self) {
        let start = self.at;
        let text = self.word();
        let kind = match number::parse(&text) {
            Ok(n) => TokenKind::Int { value: n.value, unsigned: n.unsigned, duration: n.duration },
            Err(what) => TokenKind::Unknown(what),
        };
        self.push(kind, start);
    }

    fn dollar(&mut self) {
        let start = self.at;
        self.at += 1;
        if self.rest().starts_with('#') {
            self.at += 1;
            return self.push(TokenKind::PositionalCount, start);
        }
        let word = self.word();
        let kind = if word.is_empty() {
            TokenKind::Unknown("\"$\" without a name".into())
        } else if word.starts_with(|c: char| c.is_ascii_digit()) {
            match word.parse() {
                Ok(n) if n > 0 => TokenKind::Positional(n),
                _ => TokenKind::Unknown(format!("invalid parameter \"${word}\": the first is $1")),
            }
        } else {
            TokenKind::Var(word)
        };
        self.push(kind, start);
    }

    /// A line of the preprocessor, backslash continuations included.
    fn directive(&mut self) {
        let start = self.at;
        let mut end = start;
        for line in self.text[start..].split_inclusive('\n') {
            end += line.len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
        }
        self.at = start + self.text[start..end].trim_end().len();
        let body = self.text[start + 1..self.at].trim().to_owned();
        self.push(TokenKind::Directive(body), start);
        if self.depth == 0 {
            self.mode = Mode::Top;
        }
    }

    fn string(&mut self) {
        let start = self.at;
        let mut value = Vec::new();
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                None | Some(b'\n') => {
                    self.at = at;
                    return self.push(TokenKind::Unknown("unterminated string".into()), start);
                }
                Some(b'"') => {
                    self.at = at + 1;
                    // Escapes may make bytes that are no text; the language's strings are bytes, ours are characters.
                    let text = String::from_utf8(value)
                        .unwrap_or_else(|e| e.into_bytes().iter().map(|b| char::from(*b)).collect());
                    return self.push(TokenKind::Str(text), start);
                }
                Some(b'\\') => at = self.escape(at + 1, &mut value),
                Some(byte) => {
                    value.push(*byte);
                    at += 1;
                }
            }
        }
    }

    /// The escape whose letter is at `at`; gives where it ends.
    fn escape(&mut self, at: usize, value: &mut Vec<u8>) -> usize {
        let bytes = self.text.as_bytes();
        let Some(letter) = bytes.get(at) else { return at };
        let simple = match letter {
            b'n' => Some(b'\n'),
            b't' => Some(b'\t'),
            b'r' => Some(b'\r'),
            b'a' => Some(7),
            b'b' => Some(8),
            b'f' => Some(12),
            b'v' => Some(11),
            b'e' => Some(27),
            b'\\' | b'"' | b'\'' | b'?' => Some(*letter),
            _ => None,
        };
        if let Some(byte) = simple {
            value.push(byte);
            return at + 1;
        }
        let (from, radix, most) = match letter {
            b'x' => (at + 1, 16, 2),
            b'0'..=b'7' => (at, 8, 3),
            _ => {
                let bad = self.text[at..].chars().next().unwrap_or('\\');
                return self.bad_escape(at, at + bad.len_utf8(), "unknown escape");
            }
        };
        let digits: usize =
            bytes[from..].iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
        let end = from + digits;
        let number = u32::from_str_radix(&self.text[from..end], radix).ok();
        match number.map(u8::try_from) {
            Some(Ok(byte)) => value.push(byte),
            Some(Err(_)) => return self.bad_escape(at, end, "no byte is as large as the escape"),
            None => return self.bad_escape(at, end, "hexadecimal digits must follow the escape"),
        }
        end
    }

    /// Reports the escape from the backslash before `at` to `end`; the string goes on there.
    fn bad_escape(&mut self, at: usize, end: usize, what: &str) -> usize {
        self.at = end;
        self.push(TokenKind::Unknown(format!("{what} \"{}\"", &self.text[at - 1..end])), at - 1);
        end
    }

    fn punctuation(&mut self, c: char) {
        let start = self.at;
        let Some(punct) = PUNCTUATION.iter().find(|p| self.rest().starts_with(**p)) else {
            self.at += c.len_utf8();
            return self.push(TokenKind::Unknown(unknown_character(c)), start);
        };
        self.at += punct.len();
        self.push(TokenKind::Punct(punct), start);
        self.follow(punct);
    }

    /// Keeps track of the outer shape.
    fn follow(&mut self, punct: &str) {
        match punct {
            "(" | "[" if self.depth == 0 => self.parens += 1,
            ")" | "]" if self.depth == 0 => {
                self.parens = self.parens.saturating_sub(1);
                let ends = self.ends_at_paren && self.parens == 0 && self.mode == Mode::Item;
                if ends && !self.item_goes_on() {
                    self.mode = Mode::Top;
                }
            }
            "{" => {
                self.depth += 1;
                if self.mode == Mode::Predicate && (self.parens == 0 || self.follows_slash()) {
                    self.mode = Mode::Body;
                }
            }
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                let ends = self.depth == 0 && (self.mode == Mode::Body || self.brace_ends_item());
                if ends {
                    self.mode = Mode::Top;
                }
            }
            ";" if self.depth == 0 => self.mode = Mode::Top,
            _ => {}
        }
    }

    /// Whether the token before the last ends a predicate, be its parentheses closed or not.
    fn follows_slash(&self) -> bool {
        let before = self.tokens.len().checked_sub(2).and_then(|at| self.tokens.get(at));
        before.is_some_and(|t| t.kind == TokenKind::Punct("/"))
    }

    /// `struct x {}` and `config = {}` need no semicolon; `typedef struct {} x;` does not end at its brace, nor does a record with
    /// attributes.
    fn brace_ends_item(&mut self) -> bool {
        if self.mode != Mode::Item || self.parens > 0 || self.typedef {
            return false;
        }
        self.ends_at_paren = true;
        !self.item_goes_on()
    }

    /// Whether what follows belongs to the item that could end here.
    fn item_goes_on(&self) -> bool {
        let next = after_blank(self.rest());
        next.starts_with(';') || next.starts_with("__attribute__")
    }
}

/// The text after white space and comments.
fn after_blank(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            return rest;
        }
    }
}

/// Whether the attach points of a provider have paths, so that a slash does not end them.
fn has_path(provider: &str) -> bool {
    PATH_PROVIDERS.iter().any(|p| p.eq_ignore_ascii_case(provider)) || provider.contains(['*', '='])
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn unknown_character(c: char) -> String {
    match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' => format!("typographic quote {c}: use \""),
        '\u{2018}' | '\u{2019}' => format!("typographic quote {c}: use ' in the shell and \" in the script"),
        '\u{2013}' | '\u{2014}' | '\u{2212}' => format!("typographic dash {c}: use -"),
        '\u{a0}' | '\u{200b}' | '\u{feff}' => format!("invisible character U+{:04X}", u32::from(c)),
        c => format!("unexpected character {c:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        lex(FileId(0), text).into_iter().map(|t| t.kind).collect()
    }

    fn points(text: &str) -> Vec<String> {
        kinds(text)
            .into_iter()
            .filter_map(|k| match k {
                TokenKind::AttachPoint(raw) => Some(raw),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn attach_points_keep_their_paths() {
        assert_eq!(points("uprobe:/bin/bash:readline /pid == 1/ { }"), ["uprobe:/bin/bash:readline"]);
        assert_eq!(points("kprobe:f/pid == 1/{ }"), ["kprobe:f"]);
        assert_eq!(points("BEGIN/1/{ } END { }"), ["BEGIN", "END"]);
        assert_eq!(points("t:a:b,\n t:c:d, { }"), ["t:a:b", "t:c:d"]);
        assert_eq!(points("uprobe:/x:cpp:\"ns::f(int, char)\" { }"), ["uprobe:/x:cpp:\"ns::f(int, char)\""]);
    }

    #[test]
    fn c_declarations_are_not_headers() {
        assert_eq!(points("struct a { int x; };\nkprobe:f { }"), ["kprobe:f"]);
        assert_eq!(points("struct a { int x; }\nkprobe:f { }"), ["kprobe:f"]);
        assert_eq!(points("typedef struct { int x; } a;\nkprobe:f { }"), ["kprobe:f"]);
        assert_eq!(points("config = { a = 1 }\nkprobe:f { }"), ["kprobe:f"]);
        assert_eq!(points("#include <x.h>\n#define A 1\nkprobe:f { }"), ["kprobe:f"]);
    }

    #[test]
    fn tuples_and_ranges() {
        let dots: Vec<_> = kinds("BEGIN { $x.0.1; 0..10 }");
        assert!(dots.contains(&TokenKind::Punct("..")));
        assert_eq!(dots.iter().filter(|k| **k == TokenKind::Punct(".")).count(), 2);
    }

    #[test]
    fn what_is_unterminated_is_said() {
        assert!(
            kinds("BEGIN { \"abc }")
                .iter()
                .any(|k| matches!(k, TokenKind::Unknown(w) if w.contains("string")))
        );
        assert!(
            kinds("BEGIN { /* }").iter().any(|k| matches!(k, TokenKind::Unknown(w) if w.contains("comment")))
        );
    }
}
