use proptest::prelude::*;
use strix_model::{EnumDef, EnumIdx, Field, StackMode};

use super::*;
use crate::Names;

struct Fake(EnumDef);

impl Names for Fake {
    fn enum_def(&self, _index: EnumIdx) -> Option<&EnumDef> {
        Some(&self.0)
    }
}

const I64: Shape = Shape::Int { size: 8, signed: true };
const U64: Shape = Shape::Int { size: 8, signed: false };
const COLOUR: Shape = Shape::Enum { size: 4, signed: false, names: EnumIdx(0) };

fn arg(offset: u32, shape: Shape) -> FormatArg {
    FormatArg { field: Field { name: String::new(), offset, shape } }
}

fn run(format: &str, args: &[FormatArg], record: &[u8], harmless: bool) -> String {
    let plan = PrintfPlan::new(format, args);
    let colours = EnumDef { name: "colour".into(), variants: vec![(1, "RED".into()), (2, "GREEN".into())] };
    let mut out = Vec::new();
    plan.format(record, &mut Decoder { names: &mut Fake(colours), trailer: ".." }, harmless, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn int(format: &str, number: i64) -> String {
    run(format, &[arg(0, I64)], &number.to_ne_bytes(), false)
}

fn string(format: &str, text: &[u8]) -> String {
    run(format, &[arg(0, Shape::Str { cap: 16 })], text, false)
}

#[test]
fn integers() {
    for (format, number, expected) in [
        ("%d", -5, "-5"),
        ("%i|", 5, "5|"),
        ("%5d|", 42, "   42|"),
        ("%-5d|", 42, "42   |"),
        ("%05d", -42, "-0042"),
        ("%-05d|", 42, "42   |"),
        ("%+d", 5, "+5"),
        ("% d", 5, " 5"),
        ("%+d", -5, "-5"),
        ("%.4d", 7, "0007"),
        ("%6.3d|", -7, "  -007|"),
        ("%u", -1, "4294967295"),
        ("%lu", -1, "18446744073709551615"),
        ("%x", 255, "ff"),
        ("%X", 255, "FF"),
        ("%#x", 255, "0xff"),
        ("%#X", 255, "0XFF"),
        ("%#x", 0, "0"),
        ("%#010x", 255, "0x000000ff"),
        ("%04x", 2, "0002"),
        ("%o", 8, "10"),
        ("%#o", 8, "010"),
        ("%c", 65, "A"),
        ("%3c|", 65, "  A|"),
        ("%s", -3, "-3"),
        ("%8s|", 33, "      33|"),
        ("%p", 0x1234, "0x1234"),
        ("%p", 0, "0"),
        ("%12p|", 0x1234, "      0x1234|"),
        ("%gr", 1, "GFP_DMA"),
        ("%f", 1, "!{unsupported conversion of 1}"),
        ("%*d", 1, "1"),
    ] {
        assert_eq!(int(format, number), expected, "{format} of {number}");
    }
}

#[test]
fn length_modifiers_narrow() {
    let wide = 0x0012_3456_78ab_cdef;
    for (format, expected) in [
        ("%hhx", "ef"),
        ("%hx", "cdef"),
        ("%x", "78abcdef"),
        ("%lx", "12345678abcdef"),
        ("%llx", "12345678abcdef"),
        ("%jx", "12345678abcdef"),
        ("%zx", "12345678abcdef"),
        ("%tx", "12345678abcdef"),
        ("%hhd", "-17"),
        ("%hd", "-12817"),
        ("%d", "2024525295"),
        ("%lld", "5124095577148911"),
        ("%p", "0x12345678abcdef"),
    ] {
        assert_eq!(int(format, wide), expected, "{format}");
    }
    assert_eq!(run("%llu", &[arg(0, U64)], &u64::MAX.to_ne_bytes(), false), u64::MAX.to_string());
    assert_eq!(run("%s", &[arg(0, U64)], &u64::MAX.to_ne_bytes(), false), u64::MAX.to_string());
}

#[test]
fn text() {
    for (format, text, expected) in [
        ("%s", &b"bash\0junk"[..], "bash"),
        ("%-8s|", b"bash\0", "bash    |"),
        ("%8s|", b"bash\0", "    bash|"),
        ("%.2s|", b"bash\0", "ba|"),
        ("%-16s%s", b"bash\0", "bash            %s"),
        ("%s", b"0123456789abcdef", "0123456789abcdef.."),
        ("%.2s", "aé\0".as_bytes(), "a"),
        ("%d", b"bash\0", "!{invalid integer conversion: bash}"),
        ("%gr", b"bash\0", "!{invalid GFP flags conversion: bash}"),
        ("%r", b"bash\0", "bash"),
    ] {
        assert_eq!(string(format, text), expected, "{format} of {text:?}");
    }
}

#[test]
fn hostile_text_is_escaped_only_when_asked_and_the_format_never() {
    let args = [arg(0, Shape::Str { cap: 16 })];
    assert_eq!(run("\x1b[1m%s\n", &args, b"a\x1b[2J\0", true), "\x1b[1ma\\x1b[2J\n");
    assert_eq!(run("\x1b[1m%s\n", &args, b"a\x1b[2J\0", false), "\x1b[1ma\x1b[2J\n");
}

#[test]
fn enums_are_names_as_text_and_numbers_otherwise() {
    let args = [arg(0, COLOUR), arg(0, COLOUR)];
    assert_eq!(run("%d %s", &args, &2u32.to_ne_bytes(), false), "2 GREEN");
    assert_eq!(run("%-6s|%6s|", &args, &1u32.to_ne_bytes(), false), "RED   |   RED|");
    assert_eq!(run("%d %s", &args, &9u32.to_ne_bytes(), false), "9 9");
}

#[test]
fn buffers() {
    let mut record = 4u32.to_ne_bytes().to_vec();
    record.extend_from_slice(b"hi\n\xff");
    let buffer = Shape::Buffer { cap: 8 };
    let args = [arg(0, buffer.clone()), arg(0, buffer.clone()), arg(0, buffer)];
    assert_eq!(run("%r %rx %rh", &args, &record, false), "hi\\x0a\\xff \\x68\\x69\\x0a\\xff 68 69 0a ff");
    assert_eq!(run("%-12r|", &args, &record, false), "hi\\x0a\\xff  |");
}

#[test]
fn other_values() {
    let bytes = [1u64.to_ne_bytes(), 2u64.to_ne_bytes()].concat();
    let field = |offset| Field { name: String::new(), offset, shape: U64 };
    let tuple = Shape::Tuple { fields: vec![field(0), field(8)], size: 16 };
    assert_eq!(run("%s", &[arg(0, tuple.clone())], &bytes, false), "(1, 2)");
    assert_eq!(run("%10s|", &[arg(0, tuple.clone())], &bytes, false), "    (1, 2)|");
    assert_eq!(run("%d", &[arg(0, tuple)], &bytes, false), "!{invalid integer conversion: (1, 2)}");
    assert_eq!(run("%s %d", &[arg(0, Shape::Bool), arg(0, Shape::Bool)], &bytes, false), "true 1");
    assert_eq!(run("%s %p", &[arg(8, Shape::Pointer), arg(8, Shape::Pointer)], &bytes, false), "0x2 0x2");
    let stack = Shape::KernelStack { limit: 1, mode: StackMode::Bpftrace };
    assert_eq!(run("%s|", &[arg(0, stack)], &[0; 8], false), "\n|");
}

#[test]
fn conversions_without_an_argument_print_as_written() {
    assert_eq!(int("%d %s %%", 1), "1 %s %");
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let size = prop_oneof![Just(1u8), Just(2), Just(4), Just(8)];
    let leaf = prop_oneof![
        (size, any::<bool>()).prop_map(|(size, signed)| Shape::Int { size, signed }),
        Just(Shape::Unit),
        Just(Shape::Bool),
        Just(Shape::Pointer),
        Just(Shape::Inet),
        Just(Shape::Mac),
        Just(Shape::Function),
        Just(Shape::UserSymbol),
        Just(Shape::Username),
        Just(Shape::CgroupPath),
        Just(Shape::ProbeName),
        Just(COLOUR),
        Just(Shape::UserStack { limit: 3, mode: StackMode::Perf }),
        "[ -~]{0,8}".prop_map(|format| Shape::Timestamp { format, clock: 7 }),
        (0u32..20).prop_map(|cap| Shape::Str { cap }),
        (0u32..20).prop_map(|cap| Shape::Buffer { cap }),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let field =
            (0u32..40, inner.clone()).prop_map(|(offset, shape)| Field { name: "f".into(), offset, shape });
        let fields = prop::collection::vec(field, 0..3);
        prop_oneof![
            fields.clone().prop_map(|fields| Shape::Tuple { fields, size: 16 }),
            fields.prop_map(|fields| Shape::Struct { fields, size: 16 }),
            (inner, 0u32..4).prop_map(|(e, len)| Shape::Array { element: Box::new(e), len }),
        ]
    })
}

proptest! {
    #[test]
    fn formatting_never_panics(
        format in "([%a-z0-9 .*+#-]|é){0,24}",
        shapes in prop::collection::vec((0u32..80, any_shape()), 0..4),
        record in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let args: Vec<_> = shapes.into_iter().map(|(offset, shape)| arg(offset, shape)).collect();
        let shown = run(&format, &args, &record, true);
        prop_assert!(!shown.bytes().any(|b| b == 0x1b), "no escape reaches a terminal: {shown:?}");
    }

    #[test]
    fn padding_reaches_the_width(number: i64, width in 0usize..40, left: bool) {
        let flag = if left { "-" } else { "" };
        prop_assert_eq!(int(&format!("%{flag}{width}ld"), number), {
            let plain = number.to_string();
            if left { format!("{plain:<width$}") } else { format!("{plain:>width$}") }
        });
    }
}
