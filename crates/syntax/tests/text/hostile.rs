//! Text that nobody would write: there is an answer, soon, and every place in it is a place in the text.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use strix_model::{Diagnostics, FileId};

/// Parses, prints and parses again; the findings must lie in the text.
fn survive(text: &str) -> Diagnostics {
    let mut diags = Diagnostics::default();
    let tree = strix_syntax::parse(FileId(0), text, &mut diags);
    for d in diags.sorted() {
        for span in d.secondary.iter().map(|l| l.span).chain([d.primary.span]) {
            assert!(text.get(span.lo as usize..span.hi as usize).is_some(), "{d:?} in {text:?}");
        }
    }
    drop(strix_syntax::print(&tree));
    diags
}

/// Parts of scripts, in any order.
const PIECES: [&str; 96] = [
    "BEGIN",
    "END",
    "kprobe:f",
    "uprobe:/bin/x:g",
    "t:a:b",
    "/",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "..",
    ".",
    "->",
    "?",
    "?:",
    "=",
    "==",
    "+=",
    "<<=",
    "++",
    "--",
    "-",
    "*",
    "&",
    "!",
    "~",
    "<<",
    "&&",
    "||",
    "%",
    "$x",
    "$1",
    "$#",
    "$",
    "@",
    "@m",
    "@m[",
    "1",
    "0x1f",
    "1e6",
    "10ms",
    "07",
    "5u",
    "0x",
    "99999999999999999999",
    "\"s\"",
    "\"",
    "\"\\x4",
    "\\",
    "'",
    "`",
    "#",
    "#define A ",
    "#define A(x) x\n",
    "#ifdef X\n",
    "#else\n",
    "#endif\n",
    "#include <x>\n",
    "struct",
    "union",
    "enum",
    "typedef",
    "S",
    "int",
    "unsigned",
    "const",
    "__attribute__",
    "((packed))",
    "if",
    "else",
    "while",
    "for",
    "unroll",
    "let",
    "return",
    "break",
    "continue",
    "sizeof",
    "offsetof",
    "typeof",
    "comptime",
    "config",
    "macro",
    "fn",
    "import",
    "true",
    "// c\n",
    "/* c */",
    "/*",
    "\n",
    "\u{201c}",
];

const SCRIPT: &str = r#"#!/usr/bin/env bpftrace
#include <linux/fs.h>
#define N (1 << 4)
struct a { int x; char name[16]; struct { u8 lo : 4; } bits; void (*fn)(int); };
enum e { A, B = 5 };
config = { max_strlen = 64; missing_probes = warn }
let @m = hash(100);
kprobe:vfs_read, uprobe:/bin/bash:readline /pid == 1 && @x[tid] / 2 > 3/ {
    $a = (struct task_struct *)curtask; @s[comm, $a->pid] = count();
    if ($a.mm == 0) { return; } else if (arg0) { @y = hist((uint64)arg1); } else { @z++; }
    for ($i : 0..10) { print(($i, "x\n\x41")); break; }
    for ($kv : @s) { printf("%s %d", str($kv.0), $kv.1[2]); }
    while (--$b > 0) { continue; } unroll (3) { $c <<= 1; }
    let $d: uint64[4] = { $q = 1; $q ?: 2 }; _ = sizeof(struct a) + offsetof(struct a, bits.lo);
}
END { clear(@s); }
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn any_pieces_have_an_answer(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        survive(&pieces.join(" "));
        survive(&pieces.concat());
        survive(&format!("BEGIN {{ {} }}", pieces.join(" ")));
    }

    #[test]
    fn damaged_scripts_have_an_answer(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, prop::sample::select(&PIECES[..])), 1..5)
    ) {
        let mut text: Vec<char> = SCRIPT.chars().collect();
        for (at, drop, piece) in damage {
            let at = at.index(text.len());
            let end = (at + drop).min(text.len());
            text.splice(at..end, piece.chars());
        }
        survive(&text.into_iter().collect::<String>());
    }
}

#[test]
fn every_beginning_of_a_script_has_an_answer() {
    assert!(survive(SCRIPT).is_empty());
    for end in (0..SCRIPT.len()).filter(|end| SCRIPT.is_char_boundary(*end)) {
        survive(&SCRIPT[..end]);
    }
}

/// However much there is of one thing, it is answered about as fast as it is read: what grows with the square would take minutes.
#[test]
fn large_texts_have_an_answer_soon() {
    let nested = [
        "(",
        "{",
        "[",
        "-",
        "!",
        "(uint64)",
        "((uint64)",
        "if (1) {",
        "if 1 {} else ",
        "1 ? 2 : ",
        "@a[",
        "f(",
        "$x[",
        "{ $a = ",
        "sizeof(",
        "sizeof(typeof(",
        "(typeof(",
        "for ($i : 0..1) {",
        "while (1) {",
        "unroll (1) {",
    ];
    let flat = [
        "1 + ",
        "$x.a",
        ".b",
        "->b",
        "[1]",
        "*",
        "a ",
        "\"s\" ",
        "1, ",
        "(a ",
        "(a * ",
        "(int ",
        "(int [",
        "; ",
        "} ",
        "$x = ;",
        "= ",
        "++ ",
        "? ",
        "@ ",
        "\\ ",
        "\\\n",
        "\\",
        "' ",
        "\u{201c}",
        "\u{a0}",
        "//",
        "// x\n",
        "/**/",
        "/*",
        "\"",
        "\"\\",
        "\n",
        "\r\n",
        "# ",
        "#if\n",
        "#else\n",
        "#endif\n",
        "#define e e\n",
        "#define A(",
        "0x",
        "1e",
        "é",
    ];
    let outer = [
        ",",
        "a,",
        "a:",
        "a*:",
        "/",
        "a*:/",
        "\"",
        "kprobe:f ",
        "struct a { ",
        "struct a {} ",
        "struct a { struct { ",
        "struct { int ",
        "enum { A, ",
        "enum e { A = ",
        "typedef ",
        "typedef int ",
        "} ",
        ") ",
        ";",
        "config = { ",
        "config = { a = 1; ",
        "let @a ",
        "let @a = hash(1);",
        "macro f { ",
        "import ",
        "fn ",
        "BEGIN ",
        "BEGIN { } ",
        "BEGIN / ",
        "BEGIN { } } ",
        "int *",
        "__attribute__((",
    ];
    let inside = |piece: &str| format!("BEGIN {{ $x = {}", piece.repeat(100_000 / piece.len()));
    let outside = |piece: &str| piece.repeat(100_000 / piece.len());
    let member = |piece: &str| format!("struct s {{ int {}", piece.repeat(100_000 / piece.len()));
    let predicate = |piece: &str| format!("kprobe:f / {}", piece.repeat(100_000 / piece.len()));
    let mut texts: Vec<String> = nested.iter().chain(&flat).map(|p| inside(p)).collect();
    texts.extend(nested.iter().chain(&flat).chain(&outer).map(|p| outside(p)));
    texts.extend(nested.iter().chain(&flat).map(|p| predicate(p)));
    texts.extend(flat.iter().map(|p| member(p)));
    texts.push(format!("{}:{}", "a*".repeat(50_000), "/x".repeat(50_000)));
    texts.push(format!("BEGIN {{ {} }}", "if (1) { $x = 1 } ".repeat(50_000)));
    texts.push(format!("BEGIN {{ print({}1) }}", "(1 + 2), ".repeat(100_000)));
    for text in &texts {
        let start = Instant::now();
        survive(text);
        let took = start.elapsed();
        assert!(
            // A busy machine is slow, but what grows faster than the text is far slower.
            took < Duration::from_secs(10),
            "{took:?} for {:?}…",
            text.chars().take(40).collect::<String>()
        );
    }
}

/// Trees are never so deep that dropping or walking them needs more stack than a thread has.
#[test]
fn long_expressions_are_refused_with_a_place() {
    let operators = |n: usize| format!("BEGIN {{ $x = {}1; }}", "1 + ".repeat(n));
    assert!(survive(&operators(300)).is_empty());
    let found = survive(&operators(301));
    assert!(found.sorted()[0].message.contains("more than 300 operators"), "{found:?}");
    // Parts that stand beside others have a bound of their own.
    let beside = format!("BEGIN {{ print(({0}1, {0}1, {0}1)); $x = {0}1; }}", "1 + ".repeat(280));
    assert!(survive(&beside).is_empty());
    let stars = survive(&format!("BEGIN {{ $x = (int {})1; }}", "*".repeat(17)));
    assert!(stars.has_errors());
}

#[test]
fn there_is_an_end_to_findings() {
    let found = survive(&"} ".repeat(1000));
    assert_eq!(found.sorted().len(), 50);
    assert!(found.sorted()[49].message.contains("too many errors"));
    let long = survive(&" ".repeat((1 << 20) + 1));
    assert!(long.sorted()[0].message.contains("1048577 bytes"));
}
