//! `printf` as the trace language has it: C's conversions, buffers, and names for enums.
//!
//! Integers are narrowed as C would: without a length modifier to 32 bits, with `hh` and `h` to 8 and 16, with any other
//! not at all. Where C's rules and a stream library's differ (zeros and signs, a precision for text), C's hold. A value that
//! a conversion cannot show is replaced by `!{reason}`.
//!
//! A [`PrintfPlan`] is made once for each call in a script. Formatting then goes from the record's bytes straight to text for
//! everything that is common; only values that need a name are decoded first.

mod number;
mod spec;

use strix_model::{FormatArg, Shape, Value};

pub(crate) use number::{write_hex, write_signed, write_unsigned};
pub use spec::{Piece, split_format};

use self::number::{decimal, power_of_two};
use self::spec::{Kind, Length, Part, Spec};
use crate::decode::{self, tail};
use crate::value::write_value;
use crate::{Decoder, escape, gfp};

/// A format string with the layout of its arguments, taken apart.
#[derive(Debug)]
pub struct PrintfPlan {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Text(Vec<u8>),
    Convert { spec: Spec, arg: FormatArg },
}

impl PrintfPlan {
    /// Takes a format apart. A conversion for which there is no argument prints as it is written.
    #[must_use]
    pub fn new(format: &str, args: &[FormatArg]) -> Self {
        let mut args = args.iter();
        let step = |part| match part {
            Part::Text(text) => Step::Text(text.into_bytes()),
            Part::Conversion(spec, written) => match args.next() {
                Some(arg) => Step::Convert { spec, arg: arg.clone() },
                None => Step::Text(written.into_bytes()),
            },
        };
        Self { steps: spec::parts(format).into_iter().map(step).collect() }
    }

    /// Appends the text of one record. With `harmless`, what came from a traced process is escaped for a terminal; the
    /// script's own text never is.
    pub fn format(&self, record: &[u8], decoder: &mut Decoder<'_>, harmless: bool, out: &mut Vec<u8>) {
        for step in &self.steps {
            match step {
                Step::Text(text) => out.extend_from_slice(text),
                Step::Convert { spec, arg } => {
                    let bytes = tail(record, arg.field.offset);
                    convert(spec, bytes, &arg.field.shape, decoder, harmless, out);
                }
            }
        }
    }
}

/// One conversion, straight from bytes where that is possible.
fn convert(
    spec: &Spec,
    bytes: &[u8],
    shape: &Shape,
    decoder: &mut Decoder<'_>,
    harmless: bool,
    out: &mut Vec<u8>,
) {
    match shape {
        Shape::Int { size, signed: true } => integer(spec, decode::signed(bytes, *size), true, harmless, out),
        Shape::Int { size, signed: false } => {
            integer(spec, decode::unsigned(bytes, *size) as i64, false, harmless, out)
        }
        Shape::Str { cap } if spec.kind == Kind::Text => {
            let (text, cut) = decode::string(bytes, *cap);
            padded(spec, out, |out| {
                let start = out.len();
                if harmless {
                    escape::escape_terminal(text, out)
                } else {
                    out.extend_from_slice(text)
                }
                if cut {
                    out.extend_from_slice(decoder.trailer.as_bytes());
                }
                truncate(spec, start, out);
            });
        }
        _ => value(spec, &decoder.value(bytes, shape), harmless, out),
    }
}

/// One conversion of a decoded value.
fn value(spec: &Spec, value: &Value, harmless: bool, out: &mut Vec<u8>) {
    match spec.kind {
        Kind::Signed | Kind::Unsigned | Kind::Octal | Kind::Hex { .. } | Kind::Char | Kind::Pointer => {
            match number_of(value) {
                Some((bits, signed)) => integer(spec, bits, signed, harmless, out),
                None => refuse("invalid integer conversion: ", value, harmless, out),
            }
        }
        Kind::AllocationFlags => match number_of(value) {
            Some((bits, _)) => padded(spec, out, |out| {
                out.extend_from_slice(gfp::allocation_flags(bits as u64).as_bytes());
            }),
            None => refuse("invalid GFP flags conversion: ", value, harmless, out),
        },
        Kind::Buffer | Kind::BufferHex | Kind::BufferPlain => match value {
            Value::Buffer(bytes) => padded(spec, out, |out| buffer(spec.kind, bytes, out)),
            other => text(spec, other, harmless, out),
        },
        Kind::Text => text(spec, value, harmless, out),
        Kind::Unsupported => refuse("unsupported conversion of ", value, harmless, out),
    }
}

/// The number a value stands for, as bits, and whether they are signed.
fn number_of(value: &Value) -> Option<(i64, bool)> {
    match *value {
        Value::Int(n) => Some((n, true)),
        Value::Enum { value, .. } => Some((value, true)),
        Value::Uint(n) | Value::Pointer(n) | Value::Named { number: n, .. } => Some((n as i64, false)),
        Value::Bool(b) => Some((i64::from(b), false)),
        _ => None,
    }
}

fn refuse(reason: &str, value: &Value, harmless: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"!{");
    out.extend_from_slice(reason.as_bytes());
    write_value(value, harmless, out);
    out.push(b'}');
}

fn text(spec: &Spec, value: &Value, harmless: bool, out: &mut Vec<u8>) {
    padded(spec, out, |out| {
        let start = out.len();
        write_value(value, harmless, out);
        truncate(spec, start, out);
    });
}

/// Cuts what was written since `start` to the precision, but not through a character.
fn truncate(spec: &Spec, start: usize, out: &mut Vec<u8>) {
    let Some(precision) = spec.precision else { return };
    let mut end = start.saturating_add(precision);
    if end < out.len() {
        while end > start && out[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        out.truncate(end);
    }
}

fn buffer(kind: Kind, bytes: &[u8], out: &mut Vec<u8>) {
    match kind {
        Kind::BufferHex => bytes.iter().for_each(|&b| escape::hex_escape(b, out)),
        Kind::BufferPlain => {
            for (i, &byte) in bytes.iter().enumerate() {
                if i > 0 {
                    out.push(b' ');
                }
                escape::hex_byte(byte, out);
            }
        }
        _ => escape::buffer(bytes, out),
    }
}

/// Writes something and fills it up to the width with spaces.
fn padded(spec: &Spec, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    let len = out.len() - start;
    if len < spec.width {
        out.resize(start + spec.width, b' ');
        if !spec.left {
            out[start..].rotate_right(spec.width - len);
        }
    }
}

/// One conversion of an integer; `bits` are the value's, sign- or zero-extended as `signed` says.
fn integer(spec: &Spec, bits: i64, signed: bool, harmless: bool, out: &mut Vec<u8>) {
    match spec.kind {
        Kind::Signed => {
            let number = match spec.length {
                Length::Byte => i64::from(bits as i8),
                Length::Short => i64::from(bits as i16),
                Length::Int => i64::from(bits as i32),
                Length::Long => bits,
            };
            let sign: &[u8] = match (number < 0, spec.sign, spec.space) {
                (true, ..) => b"-",
                (false, true, _) => b"+",
                (false, false, true) => b" ",
                (false, false, false) => b"",
            };
            digits(spec, sign, decimal(number.unsigned_abs(), &mut [0; 20]), out);
        }
        Kind::Unsigned => digits(spec, b"", decimal(narrow(spec, bits), &mut [0; 20]), out),
        Kind::Octal => {
            let number = narrow(spec, bits);
            let prefix: &[u8] = if spec.alternate && number != 0 { b"0" } else { b"" };
            digits(spec, prefix, power_of_two(number, 3, false, &mut [0; 22]), out);
        }
        Kind::Hex { upper } => {
            let number = narrow(spec, bits);
            let prefix: &[u8] = match (spec.alternate && number != 0, upper) {
                (false, _) => b"",
                (true, false) => b"0x",
                (true, true) => b"0X",
            };
            digits(spec, prefix, power_of_two(number, 4, upper, &mut [0; 22]), out);
        }
        Kind::Pointer => {
            let prefix: &[u8] = if bits == 0 { b"" } else { b"0x" };
            digits(spec, prefix, power_of_two(bits as u64, 4, false, &mut [0; 22]), out);
        }
        Kind::Char => padded(spec, out, |out| {
            let byte = bits as u8;
            if harmless { escape::escape_terminal(&[byte], out) } else { out.push(byte) }
        }),
        Kind::Text | Kind::Buffer | Kind::BufferHex | Kind::BufferPlain => {
            padded(
                spec,
                out,
                |out| {
                    if signed { write_signed(bits, out) } else { write_unsigned(bits as u64, out) }
                },
            )
        }
        Kind::AllocationFlags | Kind::Unsupported => {
            let number = if signed { Value::Int(bits) } else { Value::Uint(bits as u64) };
            value(spec, &number, false, out);
        }
    }
}

fn narrow(spec: &Spec, bits: i64) -> u64 {
    match spec.length {
        Length::Byte => u64::from(bits as u8),
        Length::Short => u64::from(bits as u16),
        Length::Int => u64::from(bits as u32),
        Length::Long => bits as u64,
    }
}

/// Writes sign or prefix and digits at the width and precision asked for.
fn digits(spec: &Spec, prefix: &[u8], digits: &[u8], out: &mut Vec<u8>) {
    // Zeros fill the width only where C lets them: neither on the left side nor beside a precision.
    let filled = spec.width.saturating_sub(prefix.len());
    let least = match spec.precision {
        Some(precision) => precision,
        None if spec.zeros && !spec.left => filled,
        None => 0,
    };
    padded(spec, out, |out| {
        out.extend_from_slice(prefix);
        out.resize(out.len() + least.saturating_sub(digits.len()), b'0');
        out.extend_from_slice(digits);
    });
}

#[cfg(test)]
mod tests;
