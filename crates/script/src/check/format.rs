//! Format strings: `printf`, `cat`, `system`.

use strix_model::Diagnostic;

use super::{Call, Checker};
use crate::types::Type;

/// A conversion of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Conversion {
    /// From `%` to the last letter.
    text: String,
    /// What comes after flags, width, precision and length: `d`, `s`, `rx` …
    letters: String,
}

/// Conversions that C has and that make no sense here.
const REFUSED: &[char] = &['e', 'E', 'f', 'F', 'g', 'G', 'a', 'A', 'n'];

/// The conversions of a format. What only looks like one is text, as upstream has it.
fn conversions(format: &str) -> Vec<Conversion> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at..];
        match conversion(rest) {
            Some((length, letters)) => {
                if letters != "%" {
                    found.push(Conversion { text: rest[..length].to_owned(), letters: letters.to_owned() });
                }
                rest = &rest[length..];
            }
            None => rest = &rest[1..],
        }
    }
    found
}

/// Length and letters of the conversion at the start of `text`.
fn conversion(text: &str) -> Option<(usize, &str)> {
    let skip = |from: usize, set: &str| {
        text[from..].find(|c: char| !set.contains(c)).map_or(text.len(), |n| from + n)
    };
    let size = |from: usize| match text[from..].starts_with('*') {
        true => from + 1,
        false => skip(from, "0123456789"),
    };
    let mut at = size(skip(1, "-+ #0"));
    if text[at..].starts_with('.') {
        let precision = size(at + 1);
        if precision == at + 1 {
            return None;
        }
        at = precision;
    }
    at = skip(at, "hlLjzt");
    let rest = &text[at..];
    let length =
        ["gr", "rx", "rh"].iter().find(|two| rest.starts_with(**two)).map(|two| two.len()).or_else(|| {
            let first = rest.chars().next()?;
            ("diouXxcspr%".contains(first) || REFUSED.contains(&first)).then(|| first.len_utf8())
        })?;
    Some((at + length, &text[at..at + length]))
}

/// Why a value cannot be converted; `None` when it can.
fn mismatch(conversion: &Conversion, ty: &Type) -> bool {
    let number = matches!(
        ty,
        Type::Int { .. }
            | Type::Enum { .. }
            | Type::Bool
            | Type::Pointer { .. }
            | Type::KernelSymbol
            | Type::UserSymbol
            | Type::Username
            | Type::Timestamp { .. }
            | Type::CgroupPath
            | Type::Function
    );
    match conversion.letters.as_str() {
        "r" | "rx" | "rh" => !matches!(ty, Type::Buffer { .. }),
        "s" => false,
        _ => !number,
    }
}

impl Checker<'_> {
    /// A call whose first argument is a format and the others its values.
    pub(crate) fn formatted(&mut self, call: &Call<'_>) -> Type {
        let Some((first, values)) = call.args.split_first() else { return Type::Void };
        let types: Vec<Type> = values.iter().map(|v| self.value(v)).collect();
        for (ty, value) in types.iter().zip(values) {
            self.printable(ty, value.span);
        }
        let Some(format) = self.literal_arg(call, 0) else { return Type::Void };
        let conversions = conversions(format);
        let (given, wanted) = (values.len(), conversions.len());
        if given != wanted {
            let place = if given > wanted { values[wanted].span } else { first.span };
            let which = if given > wanted { "too many" } else { "not enough" };
            self.error(
                place,
                format!("{which} arguments for format string ({given} supplied, {wanted} expected)"),
            );
            return Type::Void;
        }
        for (index, (conversion, ty)) in conversions.iter().zip(&types).enumerate() {
            let span = values[index].span;
            if conversion.letters.chars().all(|c| REFUSED.contains(&c)) {
                self.error(first.span, format!("unsupported format specifier: {}", conversion.text));
            } else if conversion.text.contains('*') {
                self.error(
                    first.span,
                    format!("width and precision cannot be arguments: {}", conversion.text),
                );
            } else if conversion.letters == "s" && points_to_text(ty) {
                self.push(|_| {
                    Diagnostic::warning(span, "%s of a pointer prints the address")
                        .with_help("`str(…)` reads the text that it points to")
                });
            } else if *ty != Type::Void && mismatch(conversion, ty) {
                let name = self.name(ty);
                let help = advice(ty);
                let text = conversion.text.clone();
                self.push(|_| {
                    let message = format!("unsupported format specifier for type '{name}': {text}");
                    let error = Diagnostic::error(span, message).with_label(first.span, "the format");
                    match help {
                        Some(help) => error.with_help(help),
                        None => error,
                    }
                });
            }
        }
        Type::Void
    }
}

/// `char *`, as most arguments that are names and paths.
fn points_to_text(ty: &Type) -> bool {
    matches!(ty, Type::Pointer { to, .. } if matches!(**to, Type::Int { size: 1, .. }))
}

fn advice(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Buffer { .. } => Some("print buffers with %r, %rx or %rh"),
        Type::Str { .. }
        | Type::KernelStack { .. }
        | Type::UserStack { .. }
        | Type::Inet
        | Type::Mac
        | Type::ProbeName
        | Type::Tuple(_)
        | Type::Record(_)
        | Type::Array { .. } => Some("print it with %s"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::conversions;

    fn letters(format: &str) -> Vec<String> {
        conversions(format).into_iter().map(|c| c.letters).collect()
    }

    #[test]
    fn conversions_of_formats() {
        assert_eq!(letters("%-6d %16s %llx %%\n"), ["d", "s", "x"]);
        assert_eq!(letters("%r %rx %rh %gr %.2s %*d"), ["r", "rx", "rh", "gr", "s", "d"]);
        assert_eq!(letters("100%\n%k %"), [""; 0]);
        assert_eq!(letters("%f"), ["f"]);
        assert_eq!(letters("%é %.%d"), ["d"]);
    }
}
