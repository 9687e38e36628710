//! Bytes from the kernel → values, by the shape the compiler gave them.
//!
//! Short records are no error: numbers that are cut read as if zeroes followed, strings end where the record ends. Only a
//! string that fills its whole capacity without a NUL is marked as cut.

use std::net::{Ipv4Addr, Ipv6Addr};

use strix_model::{EnumIdx, Field, JoinRecord, Shape, StackMode, Value};

use crate::{Names, clock, stack};

/// Turns bytes into values.
pub struct Decoder<'n> {
    /// Whom to ask what numbers stand for.
    pub names: &'n mut dyn Names,
    /// Put after strings that were cut (`str_trunc_trailer`).
    pub trailer: &'n str,
}

impl Decoder<'_> {
    /// The value of a field of a record or of an enclosing value.
    pub fn field(&mut self, enclosing: &[u8], field: &Field) -> Value {
        self.value(tail(enclosing, field.offset), &field.shape)
    }

    /// The value at the start of `bytes`.
    pub fn value(&mut self, bytes: &[u8], shape: &Shape) -> Value {
        match shape {
            Shape::Unit => Value::None,
            Shape::Bool => Value::Bool(bytes.first().is_some_and(|&b| b != 0)),
            Shape::Int { size, signed: true } => Value::Int(signed(bytes, *size)),
            Shape::Int { size, signed: false } => Value::Uint(unsigned(bytes, *size)),
            Shape::Bits { size, shift, bits: width, signed } => {
                let word = unsigned(bytes, *size).checked_shr(u32::from(*shift)).unwrap_or(0);
                let unused = 64 - u32::from((*width).clamp(1, 64));
                match signed {
                    true => Value::Int(((word << unused) as i64) >> unused),
                    false => Value::Uint((word << unused) >> unused),
                }
            }
            Shape::Enum { size, signed, names } => self.enumerator(number(bytes, *size, *signed), *names),
            Shape::Pointer => Value::Pointer(unsigned(bytes, 8)),
            Shape::Str { cap } => Value::Str(self.string(bytes, *cap)),
            Shape::Buffer { cap } => Value::Buffer(buffer(bytes, *cap).to_vec()),
            Shape::KernelStack { limit, mode } => self.stack(bytes, *limit, *mode, None),
            Shape::UserStack { limit, mode } => {
                self.stack(bytes, *limit, *mode, Some(unsigned(tail(bytes, 8), 4) as u32))
            }
            Shape::KernelSymbol | Shape::UserSymbol | Shape::Function => self.symbol(bytes, shape),
            Shape::Inet => inet(bytes),
            Shape::Mac => mac(bytes),
            Shape::Timestamp { format, clock } => self.timestamp(unsigned(bytes, 8), format, *clock),
            Shape::Username => {
                let uid = unsigned(bytes, 8);
                let text = self.names.user_name(uid).unwrap_or_else(|| uid.to_string());
                Value::Named { text, number: uid }
            }
            Shape::ProbeName => {
                let index = unsigned(bytes, 8);
                let text = self.names.probe_name(index).unwrap_or_default().to_owned();
                Value::Named { text, number: index }
            }
            Shape::CgroupPath => {
                let id = unsigned(bytes, 8);
                Value::Named { text: self.names.cgroup_path(id).unwrap_or_default(), number: id }
            }
            Shape::Named { names } => {
                let number = signed(bytes, 8);
                let text = match self.enumerator(number, *names) {
                    Value::Enum { name: Some(name), .. } => name,
                    _ => format!("unknown ({number})"),
                };
                Value::Named { text, number: number as u64 }
            }
            Shape::Tuple { fields, .. } => {
                Value::Tuple(fields.iter().map(|field| self.field(bytes, field)).collect())
            }
            Shape::Struct { fields, .. } => Value::Struct(
                fields.iter().map(|field| (field.name.clone(), self.field(bytes, field))).collect(),
            ),
            Shape::Array { element, len } => {
                let size = element.size();
                let at = |i: u32| tail(bytes, i.saturating_mul(size));
                Value::Array((0..*len).map(|i| self.value(at(i), element)).collect())
            }
        }
    }

    fn enumerator(&self, value: i64, names: EnumIdx) -> Value {
        let variants = self.names.enum_def(names).map_or(&[][..], |def| &def.variants);
        let name = variants.iter().find(|(v, _)| *v == value).map(|(_, name)| name.clone());
        Value::Enum { value, name }
    }

    fn string(&self, bytes: &[u8], cap: u32) -> Vec<u8> {
        let (text, cut) = string(bytes, cap);
        let mut text = text.to_vec();
        if cut {
            text.extend_from_slice(self.trailer.as_bytes());
        }
        text
    }

    fn stack(&mut self, bytes: &[u8], limit: u16, mode: StackMode, pid: Option<u32>) -> Value {
        let id = signed(bytes, 8);
        // Zero and negative ids say that no stack was taken.
        let addresses = if id == 0 || (-4095..0).contains(&id) { None } else { self.names.stack(id as u64) };
        let addresses = addresses.unwrap_or_default();
        Value::Stack(stack::frame_lines(&addresses, limit, mode, pid, self.names))
    }

    fn symbol(&mut self, bytes: &[u8], shape: &Shape) -> Value {
        let address = unsigned(bytes, 8);
        let pid = if *shape == Shape::KernelSymbol { 0 } else { unsigned(tail(bytes, 8), 4) as u32 };
        let kernel = *shape == Shape::KernelSymbol || (*shape == Shape::Function && pid == 0);
        let frame =
            if kernel { self.names.kernel_symbol(address) } else { self.names.user_symbol(pid, address) };
        Value::Named { text: stack::symbol(frame.as_ref(), address), number: address }
    }

    fn timestamp(&self, reading: u64, format: &str, clock: u8) -> Value {
        let text = match self.names.clock_offset(clock) {
            Some(offset) => clock::format_timestamp(i128::from(reading) + i128::from(offset), format),
            None => "(?)".into(),
        };
        Value::Named { text, number: reading }
    }
}

/// What follows `offset`; nothing when that is past the end.
pub(crate) fn tail(bytes: &[u8], offset: u32) -> &[u8] {
    bytes.get(offset as usize..).unwrap_or_default()
}

/// An unsigned integer of `size` bytes; what is missing reads as zeroes.
pub(crate) fn unsigned(bytes: &[u8], size: u8) -> u64 {
    if size == 8
        && let Some(whole) = bytes.first_chunk()
    {
        return u64::from_ne_bytes(*whole);
    }
    let size = usize::from(size.min(8));
    let mut whole = [0; 8];
    let have = size.min(bytes.len());
    let start = if cfg!(target_endian = "big") { 8 - size } else { 0 };
    whole[start..start + have].copy_from_slice(&bytes[..have]);
    u64::from_ne_bytes(whole)
}

/// A two's complement integer of `size` bytes.
pub(crate) fn signed(bytes: &[u8], size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size.clamp(1, 8));
    ((unsigned(bytes, size) << unused) as i64) >> unused
}

/// Either kind of integer, as bits.
fn number(bytes: &[u8], size: u8, is_signed: bool) -> i64 {
    if is_signed { signed(bytes, size) } else { unsigned(bytes, size) as i64 }
}

/// The text before the first NUL, and whether the string filled its capacity.
pub(crate) fn string(bytes: &[u8], cap: u32) -> (&[u8], bool) {
    let cap = cap as usize;
    let within = &bytes[..bytes.len().min(cap)];
    match within.iter().position(|&b| b == 0) {
        Some(end) => (&within[..end], false),
        None => (within, within.len() == cap && cap > 0),
    }
}

/// The bytes of a buffer without its length.
pub(crate) fn buffer(bytes: &[u8], cap: u32) -> &[u8] {
    let len = unsigned(bytes, 4).min(u64::from(cap)) as usize;
    let data = tail(bytes, 4);
    &data[..len.min(data.len())]
}

fn inet(bytes: &[u8]) -> Value {
    let family = unsigned(bytes, 8);
    let address = tail(bytes, 8);
    let text = match family {
        2 => Ipv4Addr::from(padded::<4>(address)).to_string(),
        10 => ipv6(padded(address)),
        _ => String::new(),
    };
    let number = if family == 2 { u64::from(u32::from_be_bytes(padded(address))) } else { 0 };
    Value::Named { text, number }
}

/// As inet_ntop(3) writes it: addresses that only embed an IPv4 one (`::/96`) end in dotted decimals.
fn ipv6(octets: [u8; 16]) -> String {
    let (prefix, last) = octets.split_at(12);
    if prefix.iter().all(|&b| b == 0) && last[..2] != [0, 0] {
        return format!("::{}", Ipv4Addr::from(padded::<4>(last)));
    }
    Ipv6Addr::from(octets).to_string()
}

fn mac(bytes: &[u8]) -> Value {
    let [a, b, c, d, e, f] = padded::<6>(bytes);
    let text = format!("{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{f:02X}");
    Value::Named { text, number: u64::from_be_bytes([0, 0, a, b, c, d, e, f]) }
}

fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut whole = [0; N];
    let have = N.min(bytes.len());
    whole[..have].copy_from_slice(&bytes[..have]);
    whole
}

/// The text of a `join` record; `body` is what follows the header. Ends at the first empty string.
#[must_use]
pub fn join_strings(body: &[u8], record: JoinRecord, separator: &str) -> Vec<u8> {
    let count = unsigned(body, 8).min(u64::from(record.max)) as usize;
    let mut joined = Vec::new();
    let strings = tail(body, 8).chunks(record.cap.max(1) as usize).take(count);
    for (i, chunk) in strings.enumerate() {
        let (text, _) = string(chunk, record.cap);
        if text.is_empty() {
            break;
        }
        if i > 0 {
            joined.extend_from_slice(separator.as_bytes());
        }
        joined.extend_from_slice(text);
    }
    joined
}

#[cfg(test)]
mod tests {
    use strix_model::{EnumDef, Frame};

    use super::*;

    struct Fake {
        colours: EnumDef,
    }

    impl Names for Fake {
        fn kernel_symbol(&mut self, _address: u64) -> Option<Frame> {
            Some(Frame { function: "vfs_read".into(), ..Frame::default() })
        }

        fn stack(&mut self, id: u64) -> Option<Vec<u64>> {
            (id == 9).then(|| vec![0x10, 0x20])
        }

        fn user_name(&mut self, uid: u64) -> Option<String> {
            (uid == 0).then(|| "root".into())
        }

        fn probe_name(&self, index: u64) -> Option<&str> {
            (index == 1).then_some("kprobe:vfs_read")
        }

        fn enum_def(&self, _index: EnumIdx) -> Option<&EnumDef> {
            Some(&self.colours)
        }
    }

    fn decode(bytes: &[u8], shape: &Shape) -> Value {
        let colours =
            EnumDef { name: "colour".into(), variants: vec![(-1, "NONE".into()), (2, "RED".into())] };
        Decoder { names: &mut Fake { colours }, trailer: ".." }.value(bytes, shape)
    }

    fn named(text: &str, number: u64) -> Value {
        Value::Named { text: text.into(), number }
    }

    #[test]
    fn bit_fields() {
        let bits = |size, shift, bits, signed| Shape::Bits { size, shift, bits, signed };
        let word = 0b1011_0110u32.to_ne_bytes();
        assert_eq!(decode(&word, &bits(4, 1, 3, false)), Value::Uint(0b011));
        assert_eq!(decode(&word, &bits(4, 4, 4, true)), Value::Int(0b1011 - 16));
        assert_eq!(decode(&u64::MAX.to_ne_bytes(), &bits(8, 0, 64, false)), Value::Uint(u64::MAX));
        assert_eq!(decode(&[], &bits(8, 60, 4, true)), Value::Int(0));
    }

    #[test]
    fn integers_of_every_size() {
        let int = |size, signed| Shape::Int { size, signed };
        assert_eq!(decode(&[0xfe], &int(1, true)), Value::Int(-2));
        assert_eq!(decode(&[0xfe], &int(1, false)), Value::Uint(254));
        assert_eq!(decode(&(-3i32).to_ne_bytes(), &int(4, true)), Value::Int(-3));
        assert_eq!(decode(&u64::MAX.to_ne_bytes(), &int(8, false)), Value::Uint(u64::MAX));
        assert_eq!(decode(&0xabcdu16.to_ne_bytes(), &int(2, false)), Value::Uint(0xabcd));
        assert_eq!(decode(&[], &int(8, true)), Value::Int(0), "nothing there");
        assert_eq!(decode(&[7, 0], &int(8, false)), Value::Uint(7), "cut");
    }

    #[test]
    fn strings_know_whether_they_were_cut() {
        let shape = Shape::Str { cap: 4 };
        assert_eq!(decode(b"ab\0d", &shape), Value::Str(b"ab".to_vec()));
        assert_eq!(decode(b"abcd", &shape), Value::Str(b"abcd..".to_vec()));
        assert_eq!(decode(b"abcdefgh", &shape), Value::Str(b"abcd..".to_vec()));
        assert_eq!(decode(b"ab", &shape), Value::Str(b"ab".to_vec()), "ended by the record");
        assert_eq!(decode(b"", &Shape::Str { cap: 0 }), Value::Str(Vec::new()));
    }

    #[test]
    fn buffers_never_exceed_what_is_there() {
        let shape = Shape::Buffer { cap: 4 };
        let with_length = |len: u32, data: &[u8]| [&len.to_ne_bytes(), data].concat();
        assert_eq!(decode(&with_length(2, b"abcd"), &shape), Value::Buffer(b"ab".to_vec()));
        assert_eq!(decode(&with_length(99, b"abcdefgh"), &shape), Value::Buffer(b"abcd".to_vec()));
        assert_eq!(decode(&with_length(4, b"a"), &shape), Value::Buffer(b"a".to_vec()));
    }

    #[test]
    fn names_are_asked_for() {
        let id = |n: u64| n.to_ne_bytes().to_vec();
        assert_eq!(decode(&id(0), &Shape::Username), named("root", 0));
        assert_eq!(decode(&id(12), &Shape::Username), named("12", 12));
        assert_eq!(decode(&id(1), &Shape::ProbeName), named("kprobe:vfs_read", 1));
        assert_eq!(decode(&id(1 << 40), &Shape::ProbeName), named("", 1 << 40));
        assert_eq!(decode(&id(5), &Shape::KernelSymbol), named("vfs_read", 5));
        assert_eq!(decode(&id(5), &Shape::Function), named("vfs_read", 5), "no pid: kernel");
        let user = [id(5), 77u32.to_ne_bytes().to_vec(), vec![0; 4]].concat();
        assert_eq!(decode(&user, &Shape::Function), named("0x5", 5));
        assert_eq!(decode(&user, &Shape::UserSymbol), named("0x5", 5));
        assert_eq!(decode(&id(5), &Shape::Timestamp { format: "%s".into(), clock: 7 }), named("(?)", 5));
        let colour = Shape::Enum { size: 4, signed: true, names: EnumIdx(0) };
        assert_eq!(
            decode(&(-1i32).to_ne_bytes(), &colour),
            Value::Enum { value: -1, name: Some("NONE".into()) }
        );
        assert_eq!(decode(&3i32.to_ne_bytes(), &colour), Value::Enum { value: 3, name: None });
    }

    #[test]
    fn stacks_that_were_not_taken_are_empty() {
        let shape = Shape::KernelStack { limit: 127, mode: StackMode::Raw };
        assert_eq!(decode(&9u64.to_ne_bytes(), &shape), Value::Stack(vec!["10".into(), "20".into()]));
        for id in [0i64, -14, 10] {
            assert_eq!(decode(&id.to_ne_bytes(), &shape), Value::Stack(Vec::new()), "{id}");
        }
    }

    #[test]
    fn network_addresses() {
        let inet = |family: u64, octets: &[u8]| {
            let mut bytes = family.to_ne_bytes().to_vec();
            bytes.extend_from_slice(octets);
            match decode(&bytes, &Shape::Inet) {
                Value::Named { text, .. } => text,
                other => format!("{other:?}"),
            }
        };
        assert_eq!(inet(2, &[127, 0, 0, 1]), "127.0.0.1");
        let mut octets = [0; 16];
        octets[15] = 1;
        assert_eq!(inet(10, &octets), "::1");
        octets[12] = 1;
        assert_eq!(inet(10, &octets), "::1.0.0.1");
        octets[10..12].fill(0xff);
        assert_eq!(inet(10, &octets), "::ffff:1.0.0.1");
        octets[0] = 0xfe;
        octets[1] = 0x80;
        assert_eq!(inet(10, &octets), "fe80::ffff:100:1");
        assert_eq!(inet(1, &octets), "");
        assert_eq!(
            decode(&[5, 4, 0xf3, 2, 1, 2, 0, 0], &Shape::Mac),
            named("05:04:F3:02:01:02", 0x0504_f302_0102)
        );
    }

    #[test]
    fn nested_values() {
        let int = |offset| Field { name: "n".into(), offset, shape: Shape::Int { size: 4, signed: true } };
        let bytes = [1i32.to_ne_bytes(), 2i32.to_ne_bytes()].concat();
        let tuple = Shape::Tuple { fields: vec![int(0), int(4)], size: 8 };
        assert_eq!(decode(&bytes, &tuple), Value::Tuple(vec![Value::Int(1), Value::Int(2)]));
        let shape = Shape::Struct { fields: vec![int(4), int(90)], size: 8 };
        assert_eq!(
            decode(&bytes, &shape),
            Value::Struct(vec![("n".into(), Value::Int(2)), ("n".into(), Value::Int(0))])
        );
        let array = Shape::Array { element: Box::new(Shape::Int { size: 4, signed: true }), len: 3 };
        assert_eq!(decode(&bytes, &array), Value::Array(vec![Value::Int(1), Value::Int(2), Value::Int(0)]));
    }

    #[test]
    fn join_stops_at_the_first_empty_string() {
        let record = JoinRecord { cap: 4, max: 16 };
        let body = |count: u64, strings: &[u8]| [&count.to_ne_bytes(), strings].concat();
        assert_eq!(join_strings(&body(2, b"ls\0\0-l\0\0"), record, " "), b"ls -l");
        assert_eq!(join_strings(&body(16, b"ls\0\0-l\0\0\0\0\0\0x\0\0\0"), record, ","), b"ls,-l");
        assert_eq!(join_strings(&body(1, b"ls\0\0-l\0\0"), record, " "), b"ls");
        assert_eq!(join_strings(b"", record, " "), b"");
        assert_eq!(join_strings(&body(3, b"ab"), JoinRecord { cap: 0, max: 0 }, " "), b"");
    }
}
