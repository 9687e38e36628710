//! The JSON form: one object a line, for programs.
//!
//! Every line is `{"type": …, "data": …}`. Integers that a double cannot hold exactly are written as strings; enums and
//! pointers are numbers; text is always valid (see [`crate::json_string`]). Map keys are the text form without spaces and without the
//! parentheses of a tuple.

use std::io::{self, Write};

use strix_model::{Aggregate, Severity, Value};

use crate::hist::{Bucket, linear, log2};
use crate::order::{average, total_of};
use crate::text::losses_text;
use crate::value::write_key;
use crate::{MapView, Message, Output, ProbeLosses, arrange, json_string};

/// The JSON form of everything.
pub struct Json<'w> {
    out: Box<dyn Write + 'w>,
    err: Box<dyn Write + 'w>,
    /// Reused from line to line.
    line: Vec<u8>,
}

impl<'w> Json<'w> {
    /// Objects go to `out`; the only thing that goes to `err` is the final warning about losses.
    pub fn new(out: impl Write + 'w, err: impl Write + 'w) -> Self {
        Self { out: Box::new(out), err: Box::new(err), line: Vec::new() }
    }

    /// Writes one object with what `data` appends as its data.
    fn object(&mut self, kind: &str, data: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"type\": \"");
        line.extend_from_slice(kind.as_bytes());
        line.extend_from_slice(b"\", \"data\": ");
        data(line);
        line.extend_from_slice(b"}\n");
        self.out.write_all(line)
    }

    fn text(&mut self, kind: &str, text: &[u8]) -> io::Result<()> {
        self.object(kind, |out| json_string(text, out))
    }

    /// Events that have a count of their own beside the data.
    fn counted(&mut self, kind: &str, what: &str, count: u64) -> io::Result<()> {
        writeln!(self.out, r#"{{"type": "{kind}", "count": {count}, "data": {{"{what}": {count}}}}}"#)
    }
}

impl Output for Json<'_> {
    fn escapes(&self) -> bool {
        false
    }

    fn printf(&mut self, text: &[u8]) -> io::Result<()> {
        self.text("printf", text)
    }

    fn value(&mut self, value: &Aggregate) -> io::Result<()> {
        self.object("value", |out| write_aggregate(value, 1, out))
    }

    fn map(&mut self, map: MapView<'_>) -> io::Result<()> {
        let rows = arrange(map.rows, map.top, map.div);
        let Some((_, first)) = rows.first() else { return Ok(()) };
        let kind = match first {
            Aggregate::Stats { .. } => "stats",
            Aggregate::Hist { .. } | Aggregate::Lhist { .. } => "hist",
            _ => "map",
        };
        self.object(kind, |out| {
            out.push(b'{');
            json_string(map.name.as_bytes(), out);
            out.extend_from_slice(b": ");
            if map.scalar {
                write_aggregate(first, map.div, out);
            } else {
                let members = rows.iter().map(|(key, value)| (key_text(key), value));
                object(members, |value, out| write_aggregate(value, map.div, out), out);
            }
            out.push(b'}');
        })
    }

    fn time(&mut self, text: &str) -> io::Result<()> {
        self.text("time", text.as_bytes())
    }

    fn join(&mut self, text: &[u8]) -> io::Result<()> {
        self.text("join", text)
    }

    fn cat(&mut self, content: &[u8]) -> io::Result<()> {
        self.text("cat", content)
    }

    fn system(&mut self, text: &[u8]) -> io::Result<()> {
        self.text("syscall", text)
    }

    fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        let kind = if message.severity == Severity::Error { "errorf" } else { "warnf" };
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(format!("{{\"type\": \"{kind}\", \"msg\": ").as_bytes());
        json_string(message.text, line);
        line.extend_from_slice(b", \"filename\": ");
        json_string(message.file.as_bytes(), line);
        let place = format!(", \"line\": {}, \"col\": {}}}\n", message.line, message.column);
        line.extend_from_slice(place.as_bytes());
        self.out.write_all(line)
    }

    fn attached(&mut self, count: u64) -> io::Result<()> {
        self.counted("attached_probes", "probes", count)
    }

    fn lost(&mut self, count: u64) -> io::Result<()> {
        self.counted("lost_events", "events", count)
    }

    /// One `probe_losses` object for every probe that lost something; numbers that were not counted are null.
    fn losses(&mut self, total_lost: u64, probes: &[ProbeLosses<'_>], verbose: bool) -> io::Result<()> {
        losses_text(&mut *self.err, false, total_lost, &[], false)?;
        for probe in probes.iter().filter(|p| verbose || !p.is_lossless()) {
            self.object("probe_losses", |out| {
                out.extend_from_slice(b"{\"probe\": ");
                json_string(probe.probe.as_bytes(), out);
                for (name, number) in probe.fields() {
                    let number = number.map_or_else(|| "null".to_owned(), |n| n.to_string());
                    out.extend_from_slice(format!(", \"{name}\": {number}").as_bytes());
                }
                out.push(b'}');
            })?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.err.flush()
    }
}

/// The text form of a key without spaces.
fn key_text(key: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    write_key(key, false, &mut text);
    text.retain(|&b| b != b' ');
    text
}

fn object<V>(
    members: impl Iterator<Item = (Vec<u8>, V)>,
    mut write: impl FnMut(V, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (i, (name, value)) in members.enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        json_string(&name, out);
        out.extend_from_slice(b": ");
        write(value, out);
    }
    out.push(b'}');
}

fn array<V>(values: impl Iterator<Item = V>, mut write: impl FnMut(V, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, value) in values.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// A number, or a string with its digits when a double would change it.
fn write_number(number: i128, out: &mut Vec<u8>) {
    let digits = number.to_string();
    if (number as f64) as i128 == number {
        out.extend_from_slice(digits.as_bytes());
    } else {
        json_string(digits.as_bytes(), out);
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::None => out.extend_from_slice(b"null"),
        Value::Int(n) => write_number(i128::from(*n), out),
        Value::Uint(n) | Value::Pointer(n) => write_number(i128::from(*n), out),
        Value::Enum { value, .. } => write_number(i128::from(*value), out),
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Value::Str(bytes) => json_string(bytes, out),
        Value::Buffer(bytes) => array(bytes.iter(), |&b, out| write_number(i128::from(b), out), out),
        Value::Named { text, .. } => json_string(text.as_bytes(), out),
        Value::Stack(_) => {
            let mut text = Vec::new();
            crate::write_value(value, false, &mut text);
            json_string(&text, out);
        }
        Value::Tuple(values) | Value::Array(values) => array(values.iter(), write_value, out),
        Value::Struct(fields) => {
            object(fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value)), write_value, out);
        }
    }
}

/// Writes a map value; `div` divides only averages, the rest was divided before.
fn write_aggregate(value: &Aggregate, div: u64, out: &mut Vec<u8>) {
    match value {
        Aggregate::Plain(value) => write_value(value, out),
        Aggregate::Unsigned(n) => write_number(i128::from(*n), out),
        Aggregate::Signed(n) => write_number(i128::from(*n), out),
        Aggregate::Stats { count, total, signed, average_only } => {
            let average = average(*count, *total, *signed) / i128::from(div.max(1));
            if *average_only {
                return write_number(average, out);
            }
            let members =
                [("count", i128::from(*count)), ("average", average), ("total", total_of(*total, *signed))];
            object(members.into_iter().map(|(name, n)| (name.into(), n)), write_number, out);
        }
        Aggregate::Hist { bits, buckets } => array(log2(*bits, buckets, 1).iter(), write_bucket, out),
        Aggregate::Lhist { min, max, step, buckets } => {
            array(linear(*min, *max, *step, buckets).iter(), write_bucket, out);
        }
    }
}

/// Borders are inclusive here, unlike in text.
fn write_bucket(bucket: &Bucket, out: &mut Vec<u8>) {
    out.push(b'{');
    if let Some(from) = &bucket.from {
        out.extend_from_slice(b"\"min\": ");
        write_number(from.number, out);
        out.extend_from_slice(b", ");
    }
    if let Some(to) = &bucket.to {
        out.extend_from_slice(b"\"max\": ");
        write_number(to.number - 1, out);
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(format!("\"count\": {}}}", bucket.count).as_bytes());
}

#[cfg(test)]
mod tests;
