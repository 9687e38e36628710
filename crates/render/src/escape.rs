//! Making bytes from traced processes harmless for terminals and valid for JSON.

/// Appends `bytes` with everything that a terminal could act on written as `\xNN`: C0 controls but newline and tab, DEL,
/// C1 controls and bytes that are not UTF-8. Everything else passes.
pub fn escape_terminal(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.iter().all(|&b| (0x20..0x7f).contains(&b) || b == b'\n' || b == b'\t') {
        out.extend_from_slice(bytes);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let encoded = c.encode_utf8(&mut buffer).as_bytes();
            if c.is_control() && c != '\n' && c != '\t' {
                encoded.iter().for_each(|&b| hex_escape(b, out));
            } else {
                out.extend_from_slice(encoded);
            }
        }
        chunk.invalid().iter().for_each(|&b| hex_escape(b, out));
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `\xNN`.
pub(crate) fn hex_escape(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\x");
    hex_byte(byte, out);
}

/// Appends two hexadecimal digits.
pub(crate) fn hex_byte(byte: u8, out: &mut Vec<u8>) {
    out.push(HEX[usize::from(byte >> 4)]);
    out.push(HEX[usize::from(byte & 15)]);
}

/// Appends `bytes` as a JSON string with its quotes. Bytes that are not UTF-8 become `\u00NN`, the character with the
/// byte's number, so that the string is valid and the byte can still be told.
pub fn json_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        if valid.bytes().any(|b| b == C1_LEAD) {
            valid.chars().for_each(|c| json_char(c, out));
        } else {
            valid.bytes().for_each(|b| json_byte(b, out));
        }
        chunk.invalid().iter().for_each(|&b| unicode_escape(b, out));
    }
    out.push(b'"');
}

/// First byte of C1 controls in UTF-8, and of some others.
const C1_LEAD: u8 = 0xc2;

/// JSON goes to terminals too, and some of them act on C1 controls.
fn json_char(c: char, out: &mut Vec<u8>) {
    if matches!(c, '\u{80}'..='\u{9f}') {
        return unicode_escape(c as u8, out);
    }
    c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| json_byte(b, out));
}

fn json_byte(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0..0x20 | 0x7f => unicode_escape(byte, out),
        _ => out.push(byte),
    }
}

fn unicode_escape(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u00");
    hex_byte(byte, out);
}

/// Appends a buffer as `%r` shows it: printable ASCII as it is, everything else as `\xNN`.
pub(crate) fn buffer(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) {
            out.push(byte);
        } else {
            hex_escape(byte, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        escape_terminal(bytes, &mut out);
        out
    }

    fn json(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        json_string(bytes, &mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn terminals_get_no_controls() {
        assert_eq!(terminal(b"plain\n\ttext"), b"plain\n\ttext");
        assert_eq!(terminal("grün 日本".as_bytes()), "grün 日本".as_bytes());
        assert_eq!(terminal(b"\x1b[2J\r\x07\x7f\0"), b"\\x1b[2J\\x0d\\x07\\x7f\\x00");
        assert_eq!(terminal("\u{9b}1m".as_bytes()), b"\\xc2\\x9b1m", "C1 as UTF-8");
        assert_eq!(terminal(b"\x9b1m\xff"), b"\\x9b1m\\xff", "C1 as a byte");
    }

    #[test]
    fn json_strings_are_valid_whatever_comes() {
        assert_eq!(json(b"a\"b\\c\n\r\t"), r#""a\"b\\c\n\r\t""#);
        assert_eq!(json(b"\x1b\x00\x7f"), r#""\u001b\u0000\u007f""#);
        assert_eq!(json("ü£\u{9b}2J".as_bytes()), "\"ü£\\u009b2J\"");
        assert_eq!(json(b"\xff\xc3"), r#""\u00ff\u00c3""#);
        let back: String = serde_json::from_str(&json(b"x\x01\xfe\"")).expect("parses");
        assert_eq!(back, "x\u{1}\u{fe}\"");
    }

    #[test]
    fn buffers_show_printable_bytes() {
        let mut out = Vec::new();
        buffer(b"GET\r\n\xff~ ", &mut out);
        assert_eq!(out, b"GET\\x0d\\x0a\\xff~ ");
    }
}
