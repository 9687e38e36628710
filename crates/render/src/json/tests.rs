use proptest::prelude::*;

use super::*;

fn written(act: impl FnOnce(&mut Json<'_>)) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    act(&mut Json::new(&mut out, &mut err));
    let out = String::from_utf8(out).expect("JSON is UTF-8");
    for line in out.lines() {
        let parsed: serde_json::Value = serde_json::from_str(line).expect("every line is JSON");
        assert!(parsed["type"].is_string(), "{line}");
    }
    out
}

fn value(value: Value) -> String {
    let line = written(|json| json.value(&Aggregate::Plain(value)).expect("memory"));
    let data = line.strip_prefix("{\"type\": \"value\", \"data\": ").and_then(|l| l.strip_suffix("}\n"));
    data.expect("a value object").to_owned()
}

fn map_line(scalar: bool, rows: Vec<(Value, Aggregate)>) -> String {
    written(|json| json.map(MapView { name: "@x", scalar, rows, top: 0, div: 0 }).expect("memory"))
}

fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec())
}

#[test]
fn values() {
    let inner = Value::Tuple(vec![Value::Int(4), Value::Int(5)]);
    for (given, expected) in [
        (Value::Int(5), "5"),
        (Value::Int(-5), "-5"),
        (Value::Uint(1 << 53), "9007199254740992"),
        (Value::Uint((1 << 53) + 1), "\"9007199254740993\""),
        (Value::Uint(u64::MAX), "\"18446744073709551615\""),
        (Value::Int(i64::MAX), "\"9223372036854775807\""),
        (Value::Int(i64::MIN), "-9223372036854775808"),
        (Value::Bool(true), "true"),
        (Value::None, "null"),
        (Value::Pointer(50), "50"),
        (Value::Enum { value: 333, name: Some("FOO".into()) }, "333"),
        (text("a b \n d \"e\""), r#""a b \n d \"e\"""#),
        (Value::Named { text: "root".into(), number: 0 }, "\"root\""),
        (Value::Buffer(vec![1, 255]), "[1,255]"),
        (Value::Stack(vec!["        a+1".into()]), "\"\\n        a+1\\n\""),
        (Value::Tuple(vec![Value::Int(1), Value::Int(2), text("string"), inner]), r#"[1,2,"string",[4,5]]"#),
        (
            Value::Struct(vec![("m".into(), Value::Int(2)), ("n".into(), Value::None)]),
            r#"{"m": 2, "n": null}"#,
        ),
        (Value::Array(vec![Value::Bool(true), Value::Bool(false)]), "[true,false]"),
        (Value::Struct(Vec::new()), "{}"),
    ] {
        assert_eq!(value(given), expected);
    }
}

#[test]
fn maps() {
    let plain = |n| Aggregate::Plain(Value::Int(n));
    assert_eq!(map_line(true, vec![(Value::None, plain(5))]), "{\"type\": \"map\", \"data\": {\"@x\": 5}}\n");
    let rows = vec![
        (text("key1"), Aggregate::Unsigned(2)),
        (Value::Tuple(vec![text("a b"), Value::Uint(2)]), Aggregate::Unsigned(5)),
    ];
    assert_eq!(
        map_line(false, rows),
        "{\"type\": \"map\", \"data\": {\"@x\": {\"key1\": 2, \"ab,2\": 5}}}\n"
    );
    assert_eq!(map_line(false, Vec::new()), "", "an empty map is not mentioned");
}

#[test]
fn statistics() {
    let stats = |average_only| Aggregate::Stats { count: 2, total: 12, signed: false, average_only };
    assert_eq!(
        map_line(true, vec![(Value::None, stats(false))]),
        "{\"type\": \"stats\", \"data\": {\"@x\": {\"count\": 2, \"average\": 6, \"total\": 12}}}\n"
    );
    assert_eq!(
        map_line(false, vec![(text("c"), stats(true))]),
        "{\"type\": \"stats\", \"data\": {\"@x\": {\"c\": 6}}}\n"
    );
    let rows = vec![(text("c"), stats(true))];
    assert_eq!(
        written(|json| json.map(MapView { name: "@", scalar: false, rows, top: 1, div: 3 }).expect("memory")),
        "{\"type\": \"stats\", \"data\": {\"@\": {\"c\": 2}}}\n"
    );
}

#[test]
fn histograms_have_inclusive_borders() {
    let mut buckets = vec![0; 65];
    buckets[0] = 1;
    buckets[1] = 1;
    buckets[3] = 2;
    let hist = Aggregate::Hist { bits: 0, buckets };
    assert_eq!(
        map_line(false, vec![(text("curl"), hist)]),
        "{\"type\": \"hist\", \"data\": {\"@x\": {\"curl\": [{\"max\": -1, \"count\": 1},\
         {\"min\": 0, \"max\": 0, \"count\": 1},{\"min\": 1, \"max\": 1, \"count\": 0},\
         {\"min\": 2, \"max\": 3, \"count\": 2}]}}}\n"
    );
    let lhist = Aggregate::Lhist { min: 0, max: 20, step: 10, buckets: vec![0, 0, 1, 1] };
    assert_eq!(
        map_line(true, vec![(Value::None, lhist)]),
        "{\"type\": \"hist\", \"data\": {\"@x\": [{\"min\": 10, \"max\": 19, \"count\": 1},{\"min\": 20, \"count\": 1}]}}\n"
    );
    let empty = Aggregate::Hist { bits: 0, buckets: vec![0; 65] };
    assert_eq!(map_line(true, vec![(Value::None, empty)]), "{\"type\": \"hist\", \"data\": {\"@x\": []}}\n");
}

#[test]
fn events() {
    let message = Message {
        severity: Severity::Warning,
        location: "stdin:1:9-62".into(),
        file: "stdin",
        line: 1,
        column: 9,
        text: b"hm",
    };
    let all = written(|json| {
        json.printf(b"test \r \n \t \\ \" bar").expect("memory");
        json.time("12:00:00\n").expect("memory");
        json.join(b"/bin/echo,'A'").expect("memory");
        json.cat(b"1.0\n").expect("memory");
        json.system(b"a b c\n").expect("memory");
        json.attached(1).expect("memory");
        json.lost(12).expect("memory");
        json.message(&message).expect("memory");
        json.end().expect("memory");
    });
    let expected = r#"{"type": "printf", "data": "test \r \n \t \\ \" bar"}
{"type": "time", "data": "12:00:00\n"}
{"type": "join", "data": "/bin/echo,'A'"}
{"type": "cat", "data": "1.0\n"}
{"type": "syscall", "data": "a b c\n"}
{"type": "attached_probes", "count": 1, "data": {"probes": 1}}
{"type": "lost_events", "count": 12, "data": {"events": 12}}
{"type": "warnf", "msg": "hm", "filename": "stdin", "line": 1, "col": 9}
"#;
    assert_eq!(all, expected);
}

#[test]
fn losses_have_stable_fields() {
    let probe = ProbeLosses {
        probe: "kprobe:\"a\"",
        counters: [10, 4, 3, 2, 1, 0, 0],
        counts_runs: false,
        missed: Some(8),
    };
    let line = written(|json| json.losses(3, &[probe], false).expect("memory"));
    assert_eq!(
        line,
        "{\"type\": \"probe_losses\", \"data\": {\"probe\": \"kprobe:\\\"a\\\"\", \"fired\": null, \"filtered\": null, \
         \"dropped\": 3, \"map_full\": 2, \"stack_full\": 1, \"read_failed\": 0, \"scratch_busy\": 0, \"missed\": 8}}\n"
    );
}

proptest! {
    #[test]
    fn whatever_is_traced_gives_valid_lines(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let row = (Value::Str(bytes.clone()), Aggregate::Plain(Value::Str(bytes.clone())));
        let line = map_line(false, vec![row]);
        prop_assert_eq!(line.lines().count(), 1);
        written(|json| json.printf(&bytes).expect("memory"));
    }
}
