//! The BTF reader against hand-made bytes.

use std::sync::Arc;

use proptest::prelude::*;

use super::subset::Subset;
use super::testing::Maker;
use super::{Btf, BtfKind, BtfType, TypeId};
use crate::Glob;

const SIGNED: u32 = 1;
const STRUCT: u32 = 4 << 24;
const FLAG: u32 = 1 << 31;

/// int, char, `struct pair { int a; int :3 b; union { int x; char y[4]; }; struct pair *next; }`, `typedef`,
/// `int fn(struct pair *p, ...)`, an enum of each size.
fn sample() -> Maker {
    let mut m = Maker::new();
    let int = m.int("int", 4, SIGNED);
    let char = m.int("char", 1, SIGNED);
    let array = m.add("", 3 << 24, 0, &[char, int, 4]);
    let (x, y) = (m.name("x"), m.name("y"));
    let union = m.add("", (5 << 24) | 2, 4, &[x, int, 0, y, array, 0]);
    let names = ["a", "b", "next"].map(|n| m.name(n));
    let pointer = 7;
    let members =
        [[names[0], int, 0], [names[1], int, (3 << 24) | 32], [0, union, 64], [names[2], pointer, 128]];
    let pair = m.add("pair", STRUCT | FLAG | 4, 24, members.as_flattened());
    let konst = m.add("", 10 << 24, pair, &[]);
    assert_eq!(m.add("", 2 << 24, konst, &[]), pointer);
    let typedef = m.add("pair_t", 8 << 24, pair, &[]);
    let p = m.name("p");
    let proto = m.add("", (13 << 24) | 2, int, &[p, pointer, 0, 0]);
    m.add("fn", (12 << 24) | 1, proto, &[]);
    let (red, blue) = (m.name("RED"), m.name("BLUE"));
    m.add("color", (6 << 24) | FLAG | 2, 4, &[red, 7, blue, u32::MAX]);
    let big = m.name("BIG");
    m.add("wide", (19 << 24) | 1, 8, &[big, 5, 1]);
    m.add("gone", 7 << 24, 0, &[]);
    let tag = m.add("user", 18 << 24, typedef, &[]);
    m.add("", 2 << 24, tag, &[]);
    m
}

fn parse(m: &Maker) -> Btf {
    Btf::parse(m.bytes(), None).expect("parses")
}

#[test]
fn finds_by_kind_and_name() {
    let btf = parse(&sample());
    let pair = btf.find(BtfKind::Struct, "pair").expect("there");
    assert_eq!(btf.name(pair), "pair");
    assert_eq!(btf.find(BtfKind::Union, "pair"), None);
    assert_eq!(btf.find(BtfKind::Struct, "pai"), None);
    assert_eq!(btf.find(BtfKind::Struct, ""), None);
    assert_eq!(btf.find(BtfKind::Struct, "user"), None);
    assert!(btf.find(BtfKind::Fwd, "gone").is_some());
    let typedef = btf.find(BtfKind::Typedef, "pair_t").expect("there");
    assert_eq!(btf.resolve(typedef), pair);
    assert_eq!(btf.size_of(typedef), Some(24));
    assert_eq!(btf.size_of(TypeId::VOID), None);
    assert!(btf.get(TypeId(999)).is_none());
    let all = Glob::new("pair*");
    assert_eq!(btf.names_like(BtfKind::Struct, &all).collect::<Vec<_>>(), [("pair", pair)]);
}

#[test]
fn members_with_bitfields_and_inside_anonymous_ones() {
    let btf = parse(&sample());
    let pair = btf.find(BtfKind::Struct, "pair").expect("there");
    let Some(BtfType::Struct { size: 24, members, .. }) = btf.get(pair) else { panic!("no struct") };
    assert_eq!(members.len(), 4);
    let list: Vec<_> = members.map(|m| (m.name, m.bit_offset, m.bitfield_bits)).collect();
    assert_eq!(list, [("a", 0, 0), ("b", 32, 3), ("", 64, 0), ("next", 128, 0)]);
    let y = btf.member(pair, "y").expect("in the union");
    assert_eq!((y.bit_offset, btf.type_name(y.ty).as_str()), (64, "char[4]"));
    let next = btf.member(pair, "next").expect("there");
    assert_eq!(btf.type_name(next.ty), "const struct pair *");
    assert_eq!(btf.declaration(next.ty, "next"), "const struct pair *next");
    assert_eq!(btf.member(pair, "z"), None);
    assert_eq!(btf.member(pair, ""), None);
}

#[test]
fn functions_and_enumerators() {
    let btf = parse(&sample());
    let function = btf.function("fn").expect("there");
    assert_eq!(function.params.len(), 1);
    assert_eq!(function.params[0].name, "p");
    assert!(function.variadic);
    assert_eq!(btf.name(function.id), "fn");
    assert_eq!(btf.declaration(function.id, "fn"), "int fn(const struct pair *, ...)");
    let color = btf.find(BtfKind::Enum, "color").expect("there");
    assert_eq!(btf.find_enumerator("RED"), Some((color, 7)));
    assert_eq!(btf.find_enumerator("BLUE"), Some((color, -1)));
    assert_eq!(btf.find_enumerator("BIG").map(|(_, v)| v), Some(0x1_0000_0005));
    assert_eq!(btf.find_enumerator("GREEN"), None);
    assert_eq!(btf.find_enumerator(""), None);
}

#[test]
fn old_enums_and_bitfields() {
    let mut m = Maker::new();
    // An integer of 5 bits that start at bit 3, as compilers before 2018 wrote bitfields.
    let narrow = m.add("int", 1 << 24, 4, &[(3 << 16) | 5]);
    let n = m.name("n");
    let s = m.add("s", STRUCT | 1, 4, &[n, narrow, 32]);
    let minus = m.name("MINUS");
    m.add("e", (6 << 24) | 1, 4, &[minus, (-5_i32) as u32]);
    let btf = parse(&m);
    let member = btf.member(TypeId(s), "n").expect("there");
    assert_eq!((member.bit_offset, member.bitfield_bits), (35, 5));
    assert_eq!(btf.find_enumerator("MINUS").map(|(_, v)| v), Some(-5));
}

#[test]
fn split_on_top_of_base() {
    let m = sample();
    let base = Arc::new(parse(&m));
    let types = base.own_ids().count() as u32;
    let mut module = Maker::split(types, m.strings_len());
    let pair = base.find(BtfKind::Struct, "pair").expect("there");
    let ptr = module.add("", 2 << 24, pair.0, &[]);
    let q = module.name("q");
    let proto = module.add("", (13 << 24) | 1, 0, &[q, ptr]);
    module.add("mod_fn", 12 << 24, proto, &[]);
    let split = Btf::parse(module.bytes(), Some(base)).expect("parses");
    assert_eq!(split.first_id(), TypeId(types + 1));
    assert_eq!(split.find(BtfKind::Struct, "pair"), Some(pair));
    assert_eq!(split.find_enumerator("RED").map(|(_, v)| v), Some(7));
    let function = split.function("mod_fn").expect("there");
    assert_eq!(split.type_name(function.params[0].ty), "struct pair *");
    assert!(function.id > split.first_id());
    assert_eq!(split.own_ids().count(), 3);
}

#[test]
fn kinds_of_a_later_kernel_are_stepped_over() {
    let mut m = Maker::new();
    // Kind 20, unknown to us: one word once and two for each of two elements.
    m.add("future", (20 << 24) | 2, 0, &[1, 2, 3, 4, 5]);
    let int = m.int("int", 4, SIGNED);
    assert!(Btf::parse(m.bytes(), None).is_err());
    let mut layout = [(0, 0); 21];
    layout[20] = (4, 8);
    let btf = Btf::parse(m.bytes_with_layout(&layout), None).expect("parses");
    assert_eq!(btf.find(BtfKind::Int, "int"), Some(TypeId(int)));
    assert!(btf.get(TypeId(1)).is_none());
    assert_eq!(btf.kind(TypeId(1)), None);
}

#[test]
fn rings_of_types_end() {
    let mut m = Maker::new();
    let a = m.add("a", 8 << 24, 2, &[]);
    m.add("b", 8 << 24, 1, &[]);
    let array = m.add("", 3 << 24, 0, &[3, 3, u32::MAX]);
    let inner = m.add("", STRUCT | 1, 4, &[0, 4, 0]);
    let ring = m.add("", 2 << 24, 5, &[]);
    let btf = parse(&m);
    assert_eq!(btf.resolve(TypeId(a)), TypeId::VOID);
    assert_eq!(btf.size_of(TypeId(a)), None);
    assert_eq!(btf.size_of(TypeId(array)), None);
    assert_eq!(btf.member(TypeId(inner), "x"), None);
    assert!(btf.prototype(TypeId(ring)).is_none());
    assert!(btf.type_name(TypeId(ring)).len() < 200);
    assert!(btf.type_name(TypeId(array)).contains('?'));
}

#[test]
fn every_cut_is_an_error() {
    let bytes = sample().bytes();
    for len in 0..bytes.len() {
        assert!(Btf::parse(bytes[..len].to_vec(), None).is_err(), "cut at {len}");
    }
    assert!(Btf::parse(vec![0xeb, 0x9f, 1, 0, 0, 0, 0, 24], None).is_err());
}

#[test]
fn spelling() {
    let mut m = Maker::new();
    let int = m.int("int", 4, SIGNED);
    let array = m.add("", 3 << 24, 0, &[int, int, 3]);
    let to_array = m.add("", 2 << 24, array, &[]);
    let proto = m.add("", (13 << 24) | 1, 0, &[0, int]);
    let to_fn = m.add("", 2 << 24, proto, &[]);
    let const_ptr = m.add("", 10 << 24, to_array, &[]);
    let ptr = m.add("", 2 << 24, int, &[]);
    let const_int_ptr = m.add("", 10 << 24, ptr, &[]);
    let anonymous = m.add("", STRUCT, 0, &[]);
    let btf = parse(&m);
    let name = |id| btf.type_name(TypeId(id));
    assert_eq!(name(0), "void");
    assert_eq!(name(to_array), "int (*)[3]");
    assert_eq!(name(to_fn), "void (*)(int)");
    assert_eq!(btf.declaration(TypeId(to_fn), "f"), "void (*f)(int)");
    assert_eq!(name(const_ptr), "int (*const)[3]");
    assert_eq!(btf.declaration(TypeId(const_int_ptr), "p"), "int *const p");
    assert_eq!(name(anonymous), "struct (anonymous)");
    assert_eq!(name(99), "?");
}

#[test]
fn a_subset_keeps_layout_and_cuts_at_pointers() {
    let mut m = sample();
    // far -> pair is one pointer away.
    let ptr = m.add("", 2 << 24, 6, &[]);
    let f = m.name("f");
    m.add("far", STRUCT | 1, 8, &[f, ptr, 0]);
    let btf = parse(&m);
    let roots = vec![btf.find(BtfKind::Struct, "far").expect("there")];
    let cut = |depth, whole: &[&'static str]| {
        let subset = Subset { roots: roots.clone(), whole: whole.iter().copied().collect(), depth };
        Btf::parse(subset.write(&btf).expect("written"), None).expect("parses")
    };
    let near = cut(0, &[]);
    assert!(near.find(BtfKind::Struct, "pair").is_none());
    assert!(near.find(BtfKind::Fwd, "pair").is_some());
    for small in [cut(1, &[]), cut(0, &["pair"])] {
        let pair = small.find(BtfKind::Struct, "pair").expect("kept");
        let y = small.member(pair, "y").expect("kept");
        assert_eq!((y.bit_offset, small.type_name(y.ty).as_str()), (64, "char[4]"));
        let next = small.member(pair, "next").expect("kept");
        assert_eq!(small.type_name(next.ty), "const struct pair *");
        assert_eq!(small.member(pair, "b").map(|b| b.bitfield_bits), Some(3));
        assert!(small.find(BtfKind::Enum, "color").is_none());
    }
}

/// Asks everything of every type.
fn exercise(btf: &Btf) {
    for id in btf.own_ids().chain([TypeId::VOID, TypeId(u32::MAX)]) {
        let (name, kind) = (btf.name(id).to_owned(), btf.kind(id));
        let _ = (format!("{:?}", btf.get(id)), btf.size_of(id), btf.type_name(id), btf.prototype(id));
        let _ = (btf.member(id, "y"), kind.and_then(|k| btf.find(k, &name)), btf.find_enumerator(&name));
    }
    let subset = Subset { roots: btf.own_ids().collect(), whole: ["pair"].into(), depth: 1 };
    let _ = subset.write(btf).map(|bytes| Btf::parse(bytes, None));
}

proptest! {
    #[test]
    fn changed_words_never_panic(changes in proptest::collection::vec((0usize..600, any::<u8>()), 1..8)) {
        let mut bytes = sample().bytes();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok(btf) = Btf::parse(bytes, None) {
            exercise(&btf);
        }
    }

    #[test]
    fn random_types_never_panic(words in proptest::collection::vec(any::<u32>(), 0..60)) {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let len = words.len() as u32 * 4;
        for word in [24, 0, len, 0, len].into_iter().chain(words) {
            bytes.extend(word.to_le_bytes());
        }
        if let Ok(btf) = Btf::parse(bytes, None) {
            exercise(&btf);
        }
    }
}
