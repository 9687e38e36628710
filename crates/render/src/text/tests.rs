use proptest::prelude::*;
use strix_model::{SourceMap, Span, Value};

use super::*;

/// What a sink wrote to both outputs.
fn written(escapes: bool, colour: bool, act: impl FnOnce(&mut Text<'_>)) -> (String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    act(&mut Text::new(&mut out, &mut err, escapes, colour));
    (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
}

fn output(act: impl FnOnce(&mut Text<'_>)) -> String {
    written(false, false, act).0
}

fn map_text(scalar: bool, rows: Vec<(Value, Aggregate)>, top: u64, div: u64) -> String {
    output(|text| text.map(MapView { name: "@m", scalar, rows, top, div }).expect("memory"))
}

fn scalar(value: Aggregate) -> String {
    map_text(true, vec![(Value::None, value)], 0, 0)
}

fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec())
}

fn hist(values: &[(usize, u64)]) -> Aggregate {
    let mut buckets = vec![0; 65];
    values.iter().for_each(|&(i, n)| buckets[i] = n);
    Aggregate::Hist { bits: 0, buckets }
}

fn stats(count: u64, total: i64, average_only: bool) -> Aggregate {
    Aggregate::Stats { count, total: total as u64, signed: true, average_only }
}

#[test]
fn scalar_maps() {
    assert_eq!(scalar(Aggregate::Unsigned(5)), "@m: 5\n");
    assert_eq!(scalar(Aggregate::Signed(-5)), "@m: -5\n");
    assert_eq!(scalar(Aggregate::Plain(text("a b"))), "@m: a b\n");
    assert_eq!(scalar(stats(2, 12, false)), "@m: { .count = 2, .average = 6, .total = 12 }\n");
    assert_eq!(scalar(stats(2, -13, true)), "@m: -6\n");
    assert_eq!(scalar(stats(0, 0, true)), "@m: 0\n");
    assert_eq!(map_text(true, Vec::new(), 0, 0), "", "nothing was stored");
}

#[test]
fn keyed_maps() {
    let rows = vec![
        (Value::Tuple(vec![text("bash"), Value::Uint(2)]), Aggregate::Unsigned(9)),
        (Value::Tuple(vec![text("zsh"), Value::Uint(1)]), Aggregate::Unsigned(4)),
    ];
    assert_eq!(map_text(false, rows, 0, 0), "@m[zsh, 1]: 4\n@m[bash, 2]: 9\n");
    let stack = Value::Stack(vec!["        a+1".into(), "        b+2".into()]);
    assert_eq!(
        map_text(false, vec![(stack, Aggregate::Unsigned(3))], 0, 0),
        "@m[\n        a+1\n        b+2\n]: 3\n"
    );
    assert_eq!(map_text(false, Vec::new(), 0, 0), "");
}

#[test]
fn top_and_div() {
    let rows = ["a", "b", "c", "d"].into_iter().zip(1..).map(|(key, n)| (text(key), stats(1, n * 10, true)));
    assert_eq!(map_text(false, rows.collect(), 2, 10), "@m[c]: 3\n@m[d]: 4\n");
    let rows = vec![(text("a"), stats(2, 100, false))];
    assert_eq!(map_text(false, rows, 0, 10), "@m[a]: { .count = 2, .average = 5, .total = 100 }\n");
}

#[test]
fn histograms() {
    assert_eq!(
        scalar(hist(&[(0, 1), (3, 2), (4, 1), (6, 1)])),
        "\
@m:
(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[0]                    0 |                                                    |
[1]                    0 |                                                    |
[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[8, 16)                0 |                                                    |
[16, 32)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |

"
    );
    assert_eq!(
        map_text(false, vec![(text("k"), hist(&[(12, 3)]))], 0, 0),
        "\
@m[k]:
[1K, 2K)               3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

"
    );
    let lhist = Aggregate::Lhist { min: 0, max: 10, step: 2, buckets: vec![1, 0, 2, 0, 1, 0, 1] };
    assert_eq!(
        scalar(lhist),
        "\
@m:
(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[0, 2)                 0 |                                                    |
[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 6)                 0 |                                                    |
[6, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[8, 10)                0 |                                                    |
[10, ...)              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |

"
    );
    assert_eq!(scalar(hist(&[])), "@m:\n\n", "zeroed");
    let all_divided_away = map_text(true, vec![(Value::None, hist(&[(1, 3)]))], 0, 10);
    assert_eq!(all_divided_away, "@m:\n\n");
}

#[test]
fn values_and_plain_text() {
    assert_eq!(output(|t| t.value(&Aggregate::Plain(Value::Int(5))).expect("memory")), "5\n");
    assert_eq!(output(|t| t.value(&Aggregate::Unsigned(7)).expect("memory")), "7\n");
    assert_eq!(output(|t| t.printf(b"a\n\xff").expect("memory")), "a\n\u{fffd}");
    assert_eq!(output(|t| t.time("12:00:00\n").expect("memory")), "12:00:00\n");
    assert_eq!(output(|t| t.join(b"ls -l").expect("memory")), "ls -l\n");
    assert_eq!(output(|t| t.cat(b"1.0 2.0\n").expect("memory")), "1.0 2.0\n");
    assert_eq!(output(|t| t.system(b"x\n").expect("memory")), "x\n\n");
    assert_eq!(output(|t| t.end().expect("memory")), "\n\n");
}

#[test]
fn traced_data_is_harmless_on_a_terminal() {
    let hostile = || Aggregate::Plain(Value::Str(b"\x1b]0;x\x07".to_vec()));
    let rows = || vec![(Value::Str(b"k\x1b".to_vec()), hostile())];
    let act = |text: &mut Text<'_>| {
        text.value(&hostile()).expect("memory");
        text.join(b"\x1bc").expect("memory");
        text.map(MapView { name: "@m", scalar: false, rows: rows(), top: 0, div: 0 }).expect("memory");
    };
    assert_eq!(written(true, false, act).0, "\\x1b]0;x\\x07\n\\x1bc\n@m[k\\x1b]: \\x1b]0;x\\x07\n");
    assert_eq!(written(false, false, act).0, "\x1b]0;x\x07\n\x1bc\n@m[k\x1b]: \x1b]0;x\x07\n");
}

#[test]
fn remarks_go_to_the_error_output() {
    let act = |text: &mut Text<'_>| {
        text.attached(1).expect("memory");
        text.attached(2).expect("memory");
        text.lost(7).expect("memory");
        let mut sources = SourceMap::default();
        let file = sources.add("stdin", "begin { errorf(\"bad: %d\", 10); }");
        let span = Span::new(file, 8, 29);
        let message = Message::new(Severity::Error, &sources, span, b"bad: 10\x1b\n");
        text.message(&message).expect("memory");
        text.losses(7, &[], false).expect("memory");
    };
    let expected = "Attached 1 probe\nAttached 2 probes\nLost 7 events\nstdin:1:9-30: ERROR: bad: 10\\x1b\n\
                    WARNING: Total lost event count: 7\n";
    assert_eq!(written(false, false, act), (String::new(), expected.into()));
    let coloured = written(false, true, act).1;
    assert!(coloured.contains("\x1b[31mstdin:1:9-30: ERROR: bad: 10\\x1b\x1b[0m\n"), "{coloured:?}");
    assert!(coloured.ends_with("\x1b[33mWARNING: Total lost event count: 7\x1b[0m\n"), "{coloured:?}");
}

#[test]
fn losses_are_only_shown_when_there_are_any() {
    let losses = |dropped| ProbeLosses {
        probe: "kprobe:a",
        counters: [0, 0, dropped, 0, 0, 0, 0],
        counts_runs: false,
        missed: None,
    };
    let show = |dropped, verbose| {
        written(false, false, |t| t.losses(0, &[losses(dropped)], verbose).expect("memory")).1
    };
    assert_eq!(show(0, false), "");
    let table = "Losses by probe:\n     dropped  probe\n           3  kprobe:a\nHINT: dropped: ";
    assert!(show(3, false).starts_with(table), "{}", show(3, false));
    assert!(show(0, true).contains("kprobe:a"));
}

fn any_aggregate() -> impl Strategy<Value = Aggregate> {
    let counts = || prop::collection::vec(prop_oneof![Just(0u64), any::<u64>()], 0..100);
    prop_oneof![
        any::<u64>().prop_map(Aggregate::Unsigned),
        any::<i64>().prop_map(Aggregate::Signed),
        (any::<u64>(), any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
            |(count, total, signed, average_only)| Aggregate::Stats { count, total, signed, average_only }
        ),
        (any::<u8>(), counts()).prop_map(|(bits, buckets)| Aggregate::Hist { bits, buckets }),
        (any::<i64>(), any::<i64>(), any::<i64>(), counts())
            .prop_map(|(min, max, step, buckets)| Aggregate::Lhist { min, max, step, buckets }),
        any::<i64>().prop_map(|n| Aggregate::Plain(Value::Int(n))),
        ".{0,4}".prop_map(|s| Aggregate::Plain(text(&s))),
    ]
}

fn any_key() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::Uint),
        Just(Value::None),
        ".{0,3}".prop_map(|s| Value::Str(s.into_bytes())),
        (".{0,2}", 0u64..3).prop_map(|(text, number)| Value::Named { text, number }),
        prop::collection::vec("[ab]{0,2}", 0..3).prop_map(Value::Stack),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::Tuple))
}

proptest! {
    #[test]
    fn maps_of_anything_are_printed(
        rows in prop::collection::vec((any_key(), any_aggregate()), 0..8),
        top in 0u64..6,
        div in 0u64..4,
        scalar: bool,
    ) {
        let shown = output(|t| t.map(MapView { name: "@m", scalar, rows: rows.clone(), top, div }).expect("memory"));
        prop_assert_eq!(shown.is_empty(), rows.is_empty());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let view = MapView { name: "@m", scalar, rows, top, div };
        crate::Json::new(&mut out, &mut err).map(view).expect("memory");
        for line in out.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
        }
    }
}
