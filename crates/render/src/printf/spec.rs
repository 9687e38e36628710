//! Splitting a format into text and conversions.
//!
//! A conversion is `%`, flags, width, precision, length and one of the letters C knows, or `r`, `rx`, `rh` (buffers) and
//! `gr` (allocation flags). A `%` that starts nothing like this is text. `*` as width or precision is accepted and means none:
//! it takes no argument.

/// No field is made wider than this: the format is the user's, but a slip should not cost gigabytes.
const MAX_WIDTH: usize = 1 << 16;

/// Length modifier: how much of an integer is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// `hh`.
    Byte,
    /// `h`.
    Short,
    /// None: as C's `int`.
    Int,
    /// `l`, `ll`, `j`, `z`, `t`.
    Long,
}

/// What a conversion does with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `d`, `i`.
    Signed,
    /// `u`.
    Unsigned,
    /// `o`.
    Octal,
    /// `x`, `X`.
    Hex {
        /// Digits.
        upper: bool,
    },
    /// `c`.
    Char,
    /// `s`.
    Text,
    /// `p`.
    Pointer,
    /// `r`: printable ASCII kept, the rest `\xNN`.
    Buffer,
    /// `rx`: every byte `\xNN`.
    BufferHex,
    /// `rh`: every byte `NN`, spaces between.
    BufferPlain,
    /// `gr`: names of page allocation flags.
    AllocationFlags,
    /// Letters of C that make no sense here (floats, `n`).
    Unsupported,
}

/// One conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    /// `-`.
    pub left: bool,
    /// `+`.
    pub sign: bool,
    /// Space.
    pub space: bool,
    /// `#`.
    pub alternate: bool,
    /// `0`.
    pub zeros: bool,
    /// Least width.
    pub width: usize,
    /// Digits, or most bytes of text.
    pub precision: Option<usize>,
    /// Length modifier.
    pub length: Length,
    /// Conversion.
    pub kind: Kind,
}

/// A part of a format string as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, `%%` already reduced.
    Text(String),
    /// A conversion as written, with its `%`.
    Conversion(String),
}

/// Splits a format into its parts. Each [`Piece::Conversion`] takes one argument.
#[must_use]
pub fn split_format(format: &str) -> Vec<Piece> {
    parts(format)
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => Piece::Text(text),
            Part::Conversion(_, written) => Piece::Conversion(written),
        })
        .collect()
}

/// A part of a format string, understood.
pub(super) enum Part {
    /// Text.
    Text(String),
    /// A conversion and how it was written.
    Conversion(Spec, String),
}

/// As [`split_format`], with the meaning of each conversion.
pub(super) fn parts(format: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match conversion(rest) {
            None => {
                text.push('%');
                rest = &rest[1..];
            }
            Some((None, len)) => {
                text.push('%');
                rest = &rest[len..];
            }
            Some((Some(spec), len)) => {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Conversion(spec, rest[..len].to_owned()));
                rest = &rest[len..];
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

/// The conversion at the start of `text`, which starts with `%`, and its length. `None` inside is `%%`.
fn conversion(text: &str) -> Option<(Option<Spec>, usize)> {
    let bytes = text.as_bytes();
    let mut at = 1;
    let mut spec = Spec {
        left: false,
        sign: false,
        space: false,
        alternate: false,
        zeros: false,
        width: 0,
        precision: None,
        length: Length::Int,
        kind: Kind::Unsupported,
    };
    while let Some(&flag) = bytes.get(at) {
        match flag {
            b'-' => spec.left = true,
            b'+' => spec.sign = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zeros = true,
            _ => break,
        }
        at += 1;
    }
    spec.width = size(bytes, &mut at).unwrap_or(0);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let start = at;
        spec.precision = size(bytes, &mut at);
        if at == start {
            return None;
        }
    }
    let start = at;
    while bytes.get(at).is_some_and(|b| b"hlLjzt".contains(b)) {
        at += 1;
    }
    spec.length = match &bytes[start..at] {
        b"" | b"L" => Length::Int,
        b"h" => Length::Short,
        b"hh" => Length::Byte,
        _ => Length::Long,
    };
    let (kind, len) = kind(&bytes[at..])?;
    spec.kind = kind.unwrap_or(Kind::Unsupported);
    Some((kind.map(|_| spec), at + len))
}

/// The letters of a conversion: what they mean (`None`: `%`) and how many they are.
fn kind(bytes: &[u8]) -> Option<(Option<Kind>, usize)> {
    let kind = match bytes.first()? {
        b'd' | b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'o' => Kind::Octal,
        b'x' => Kind::Hex { upper: false },
        b'X' => Kind::Hex { upper: true },
        b'c' => Kind::Char,
        b's' => Kind::Text,
        b'p' => Kind::Pointer,
        b'r' => {
            return Some(match bytes.get(1) {
                Some(b'x') => (Some(Kind::BufferHex), 2),
                Some(b'h') => (Some(Kind::BufferPlain), 2),
                _ => (Some(Kind::Buffer), 1),
            });
        }
        b'g' if bytes.get(1) == Some(&b'r') => return Some((Some(Kind::AllocationFlags), 2)),
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' | b'n' => Kind::Unsupported,
        b'%' => return Some((None, 1)),
        _ => return None,
    };
    Some((Some(kind), 1))
}

/// A number or `*`; the latter is none.
fn size(bytes: &[u8], at: &mut usize) -> Option<usize> {
    if bytes.get(*at) == Some(&b'*') {
        *at += 1;
        return None;
    }
    let start = *at;
    let mut size = 0usize;
    while let Some(digit) = bytes.get(*at).filter(|b| b.is_ascii_digit()) {
        size = (size * 10 + usize::from(digit - b'0')).min(MAX_WIDTH);
        *at += 1;
    }
    (*at > start).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(format: &str) -> String {
        let show = |piece| match piece {
            Piece::Text(text) => format!("{text:?}"),
            Piece::Conversion(written) => format!("<{written}>"),
        };
        split_format(format).into_iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn formats_are_split() {
        for (format, expected) in [
            ("", ""),
            ("plain", "\"plain\""),
            ("%d%s", "<%d> <%s>"),
            ("a %-6d b %016lx\n", "\"a \" <%-6d> \" b \" <%016lx> \"\\n\""),
            ("100%% of %s", "\"100% of \" <%s>"),
            ("%5%", "\"%\""),
            ("50% off", "\"50\" <% o> \"ff\""),
            ("%y %", "\"%y %\""),
            ("%rx%rh%r%gr%g", "<%rx> <%rh> <%r> <%gr> <%g>"),
            ("%rq", "<%r> \"q\""),
            ("%*d %.*s %.d", "<%*d> \" \" <%.*s> \" %.d\""),
            ("%hhx%hx%llx%jx%zu%td", "<%hhx> <%hx> <%llx> <%jx> <%zu> <%td>"),
            ("ü%dü", "\"ü\" <%d> \"ü\""),
        ] {
            assert_eq!(shape(format), expected, "{format}");
        }
    }

    #[test]
    fn widths_are_bounded() {
        let Some((Some(spec), len)) = conversion("%99999999999999999999999d") else { panic!("a conversion") };
        assert_eq!((spec.width, len), (MAX_WIDTH, 25));
    }
}
