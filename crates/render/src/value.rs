//! Values as text.

use std::io::Write as _;

use strix_model::Value;

use crate::escape;
use crate::printf::{write_hex, write_signed, write_unsigned};

/// Appends a value as `print` and `%s` show it. With `harmless` everything that came from a traced process is
/// escaped for a terminal.
pub fn write_value(value: &Value, harmless: bool, out: &mut Vec<u8>) {
    match value {
        Value::None => out.extend_from_slice(b"null"),
        Value::Int(n) => write_signed(*n, out),
        Value::Uint(n) => write_unsigned(*n, out),
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Value::Pointer(n) => {
            out.extend_from_slice(b"0x");
            write_hex(*n, false, out);
        }
        Value::Enum { name: Some(name), .. } => text(name.as_bytes(), harmless, out),
        Value::Enum { value, name: None } => write_signed(*value, out),
        Value::Str(bytes) => text(bytes, harmless, out),
        Value::Buffer(bytes) => escape::buffer(bytes, out),
        Value::Named { text: shown, .. } => text(shown.as_bytes(), harmless, out),
        Value::Stack(lines) => {
            out.push(b'\n');
            for line in lines {
                text(line.as_bytes(), harmless, out);
                out.push(b'\n');
            }
        }
        Value::Tuple(values) => list(values, b"(", b", ", b")", harmless, out),
        // Arrays have no spaces; tuples do.
        Value::Array(values) => list(values, b"[", b",", b"]", harmless, out),
        Value::Struct(fields) => structure(fields, harmless, out),
    }
}

fn text(bytes: &[u8], harmless: bool, out: &mut Vec<u8>) {
    if harmless {
        escape::escape_terminal(bytes, out);
    } else {
        out.extend_from_slice(bytes);
    }
}

fn list(values: &[Value], open: &[u8], between: &[u8], close: &[u8], harmless: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(open);
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(between);
        }
        write_value(value, harmless, out);
    }
    out.extend_from_slice(close);
}

fn structure(fields: &[(String, Value)], harmless: bool, out: &mut Vec<u8>) {
    if fields.is_empty() {
        out.extend_from_slice(b"{}");
        return;
    }
    for (i, (name, value)) in fields.iter().enumerate() {
        // Writing to memory cannot fail.
        let _ = write!(out, "{}.{name} = ", if i == 0 { "{ " } else { ", " });
        write_value(value, harmless, out);
    }
    out.extend_from_slice(b" }");
}

/// Appends a map key: as the value, but a tuple has no parentheses around it.
pub(crate) fn write_key(key: &Value, harmless: bool, out: &mut Vec<u8>) {
    match key {
        Value::Tuple(values) => list(values, b"", b", ", b"", harmless, out),
        other => write_value(other, harmless, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &Value) -> String {
        let mut out = Vec::new();
        write_value(value, true, &mut out);
        String::from_utf8(out).expect("harmless text is UTF-8")
    }

    #[test]
    fn every_kind_of_value() {
        let named = Value::Named { text: "::1".into(), number: 0 };
        let inner = Value::Tuple(vec![Value::Int(-2), Value::Str(b"x\x1b".to_vec())]);
        let fields = vec![
            ("a".into(), Value::Int(1)),
            ("b".into(), Value::Array(vec![Value::Uint(1), Value::Uint(2)])),
        ];
        for (value, expected) in [
            (Value::None, "null"),
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Uint(u64::MAX), "18446744073709551615"),
            (Value::Bool(true), "true"),
            (Value::Bool(false), "false"),
            (Value::Pointer(0), "0x0"),
            (Value::Pointer(0xffff_8880_0000_1234), "0xffff888000001234"),
            (Value::Enum { value: 2, name: Some("RED".into()) }, "RED"),
            (Value::Enum { value: -7, name: None }, "-7"),
            (Value::Buffer(b"a\n".to_vec()), "a\\x0a"),
            (named, "::1"),
            (Value::Stack(vec!["        a+1".into(), "        b+2".into()]), "\n        a+1\n        b+2\n"),
            (Value::Stack(Vec::new()), "\n"),
            (Value::Tuple(vec![Value::Uint(1), inner]), "(1, (-2, x\\x1b))"),
            (Value::Tuple(Vec::new()), "()"),
            (Value::Array(Vec::new()), "[]"),
            (Value::Struct(fields), "{ .a = 1, .b = [1,2] }"),
            (Value::Struct(Vec::new()), "{}"),
        ] {
            assert_eq!(shown(&value), expected);
        }
    }

    #[test]
    fn keys_lose_only_the_outer_parentheses_of_a_tuple() {
        let key = |value: &Value| {
            let mut out = Vec::new();
            write_key(value, false, &mut out);
            String::from_utf8(out).expect("ASCII")
        };
        let inner = Value::Tuple(vec![Value::Uint(2), Value::Uint(3)]);
        assert_eq!(key(&Value::Tuple(vec![Value::Str(b"a".to_vec()), inner])), "a, (2, 3)");
        assert_eq!(key(&Value::Str(b"(sd-pam)".to_vec())), "(sd-pam)");
    }
}
