//! Rules of joining, maps, operators and calls.

use strix_syntax::ast::{BinaryOp, UnaryOp};

use super::build::*;
use crate::builtins::{Function, Variable};
use crate::hir::{Context, ExprKind, Place, StmtKind, VarId};
use crate::types::{Space, Type};

const U32: Type = Type::Int { size: 4, signed: false };

fn nsecs() -> Expr {
    builtin(Variable::Nsecs)
}

use crate::hir::Expr;

#[test]
fn integers_in_maps_are_wide_and_literals_take_the_sign_of_others() {
    let run = Checked::body(vec![
        set(place(0, vec![builtin(Variable::Tid)]), nsecs()),
        set(place(1, vec![]), int(0)),
        set(place(2, vec![]), int(0)),
        set(place(2, vec![]), nsecs()),
        set(place(3, vec![int(1), builtin(Variable::Comm)]), cast(U32, int(7))),
    ]);
    assert_eq!(run.map(0), "uint64 -> uint64");
    assert_eq!(run.map(1), "void -> int64");
    assert_eq!(run.map(2), "void -> uint64");
    assert_eq!(run.map(3), "(int64,string[16]) -> uint64");
    assert!(run.said.is_empty(), "{:?}", run.said);
}

#[test]
fn a_type_may_come_from_a_later_probe() {
    let first = vec![set_var(0, map(0, vec![])), print(map(1, vec![int(1)]))];
    let second = vec![set(place(0, vec![]), text("hello")), set(place(1, vec![int(1)]), map(0, vec![]))];
    let run = Checked::of(script(vec![first, second]));
    assert_eq!(run.var(0), "string[6]");
    assert_eq!(run.map(1), "int64 -> string[6]");
}

#[test]
fn strings_take_the_longest() {
    let run = Checked::body(vec![
        set(place(0, vec![text("ab")]), text("a")),
        set(place(0, vec![builtin(Variable::Comm)]), text("abcdefgh")),
    ]);
    assert_eq!(run.map(0), "string[16] -> string[9]");
    let long = "x".repeat(1024);
    Checked::body(vec![set_var(0, text(&long))]).says("string is too long (over 1024 bytes)");
    assert!(Checked::body(vec![eval(call(Function::Printf, vec![text(&long)]))]).typed.is_some());
}

#[test]
fn kinds_must_agree() {
    let run = Checked::body(vec![set(place(0, vec![]), int(1)), set(place(0, vec![]), text("a"))]);
    run.says(
        "type mismatch for @a: trying to assign value of type 'string[2]' when map already has a type 'int64' | 'int64' here",
    );
    let run = Checked::body(vec![set_var(0, int(1)), set_var(0, builtin(Variable::Comm))]);
    run.says(
        "type mismatch for $a: trying to assign value of type 'string[16]' when variable already has a type 'int64'",
    );
    let run =
        Checked::body(vec![set(place(0, vec![int(1)]), int(1)), set(place(0, vec![int(1), int(2)]), int(1))]);
    run.says(
        "argument mismatch for @a: trying to access with arguments: '(int64,int64)' when map expects arguments: 'int64'",
    );
}

#[test]
fn scalar_and_keyed_maps_do_not_mix() {
    let run = Checked::body(vec![set(place(0, vec![]), int(1)), set(place(0, vec![int(1)]), int(1))]);
    run.says(
        "@a used as a map with an explicit key (non-scalar map), previously used without an explicit key",
    );
    let run = Checked::body(vec![set(place(0, vec![int(1)]), int(1)), set_var(0, map(0, vec![]))]);
    run.says("@a used as a map without an explicit key (scalar map), previously used with an explicit key");
    // As a whole it may be printed.
    let run = Checked::body(vec![set(place(0, vec![int(1)]), int(1)), print(map(0, vec![]))]);
    assert!(run.said.is_empty(), "{:?}", run.said);
}

#[test]
fn aggregations() {
    let count = || call(Function::Count, vec![]);
    let run = Checked::body(vec![
        set(place(0, vec![]), count()),
        set_var(0, map(0, vec![])),
        set(place(1, vec![]), call(Function::Sum, vec![int(5)])),
        set(place(2, vec![]), call(Function::Max, vec![nsecs()])),
        set(place(2, vec![]), call(Function::Max, vec![int(5)])),
    ]);
    assert_eq!((run.map(0), run.var(0)), ("void -> count_t".into(), "uint64".into()));
    assert_eq!(run.right().maps[2].value, Type::Aggregate(strix_model::MapValue::Max { signed: false }));
    assert_eq!(run.right().maps[1].value, Type::Aggregate(strix_model::MapValue::Sum { signed: true }));

    Checked::body(vec![set(place(0, vec![]), count()), set(place(0, vec![]), int(1))]).says(
        "type mismatch for @a: trying to assign value of type 'int64' when map already has a type 'count_t'",
    );
    Checked::body(vec![set_var(0, count())]).says("count() must be assigned directly to a map");
    Checked::body(vec![set(place(0, vec![]), binary(BinaryOp::Add, count(), int(1)))])
        .says("count() must be assigned directly to a map");
    let inc = node(ExprKind::IncDec { increment: true, prefix: false, place: place(0, vec![]) });
    Checked::body(vec![set(place(0, vec![]), count()), eval(inc)])
        .says("the ++ operator can not be used on @a, which is a 'count_t' | 'count_t' here");
    let hist = || call(Function::Hist, vec![int(1)]);
    Checked::body(vec![set(place(0, vec![]), hist()), set_var(0, map(0, vec![]))])
        .says("@a is a 'hist_t' and has no single value to use here");
    let coarse = call(Function::Hist, vec![int(1), int(3)]);
    Checked::body(vec![set(place(0, vec![]), hist()), set(place(0, vec![]), coarse)])
        .says("different bits in a single hist unsupported");
    let run = Checked::body(vec![
        set(place(0, vec![int(1)]), hist()),
        print(map(0, vec![int(1)])),
        eval(call(Function::Zero, vec![map(0, vec![])])),
    ]);
    assert!(run.said.is_empty(), "{:?}", run.said);
}

#[test]
fn increments_make_integers() {
    let inc = |key| eval(node(ExprKind::IncDec { increment: true, prefix: false, place: place(0, key) }));
    assert_eq!(Checked::body(vec![inc(vec![builtin(Variable::Comm)])]).map(0), "string[16] -> int64");
    let add = stmt(StmtKind::Assign { place: place(0, vec![]), op: Some(BinaryOp::Add), value: nsecs() });
    assert_eq!(Checked::body(vec![add]).map(0), "void -> uint64");
    // What another probe assigns counts more.
    let run = Checked::of(script(vec![vec![inc(vec![])], vec![set(place(0, vec![]), nsecs())]]));
    assert_eq!(run.map(0), "void -> uint64");
    let on_text = vec![set(place(0, vec![]), text("a")), inc(vec![])];
    Checked::body(on_text).says("the ++ operator can not be used on expressions of type 'string[2]'");
}

#[test]
fn subtraction_is_signed_and_mixing_warns() {
    let run = Checked::body(vec![
        set(place(0, vec![]), nsecs()),
        set_var(0, binary(BinaryOp::Sub, nsecs(), map(0, vec![]))),
        set_var(1, binary(BinaryOp::Div, var(0), int(1000))),
        set_var(2, binary(BinaryOp::Add, nsecs(), int(1))),
    ]);
    assert_eq!((run.var(0), run.var(1), run.var(2)), ("int64".into(), "int64".into(), "uint64".into()));
    assert!(run.said.is_empty(), "{:?}", run.said);
    let run = Checked::body(vec![
        set_var(0, binary(BinaryOp::Sub, nsecs(), nsecs())),
        print(binary(BinaryOp::Lt, var(0), nsecs())),
    ]);
    run.says("expression of type: uint64 being cast to type: int64. This may cause unexpected results");
    let run = Checked::body(vec![set_var(0, nsecs()), set_var(0, cast(Type::I64, nsecs()))]);
    assert_eq!(run.var(0), "int64");
    assert_eq!(run.said.len(), 1);
}

#[test]
fn operators() {
    Checked::body(vec![print(binary(BinaryOp::Add, text("a"), int(1)))])
        .says("the + operator can not be used on expressions of types string[2], int64");
    Checked::body(vec![print(binary(BinaryOp::Lt, text("a"), builtin(Variable::Comm)))])
        .says("the < operator can not be used on expressions of types string[2], string[16]");
    Checked::body(vec![print(binary(BinaryOp::Eq, text("a"), int(1)))])
        .says("type mismatch for '==': comparing string[2] with int64 | left (string[2]) | right (int64)");
    Checked::body(vec![print(binary(BinaryOp::Div, nsecs(), int(0)))]).says("division by zero");
    Checked::body(vec![print(unary(UnaryOp::Neg, text("a")))])
        .says("the - operator can not be used on expressions of type 'string[2]'");
    let truth = binary(BinaryOp::And, binary(BinaryOp::Eq, builtin(Variable::Comm), text("a")), nsecs());
    assert_eq!(Checked::body(vec![set_var(0, truth)]).var(0), "bool");
    Checked::body(vec![stmt(StmtKind::If { cond: builtin(Variable::Comm), then: vec![], els: vec![] })])
        .says("invalid condition: string[16] | compare it");
}

#[test]
fn pointers() {
    let byte = Type::Int { size: 1, signed: false };
    let pointer = Type::Pointer { to: Box::new(byte), space: Space::Kernel };
    let p = || cast(pointer.clone(), builtin(Variable::Arg(0)));
    let run = Checked::body(vec![
        set_var(0, p()),
        set_var(1, unary(UnaryOp::Deref, binary(BinaryOp::Add, var(0), int(4)))),
        set_var(2, node(ExprKind::Index { base: Box::new(var(0)), index: Box::new(int(3)) })),
        set_var(3, unary(UnaryOp::Deref, builtin(Variable::Arg(0)))),
    ]);
    assert_eq!(run.var(0), "uint8 *");
    assert_eq!((run.var(1), run.var(2), run.var(3)), ("uint8".into(), "uint8".into(), "uint64".into()));
    // An address of which nothing is known is read by the helper that tries both.
    assert!(matches!(run.right().vars[0][0], Type::Pointer { space: Space::Unknown, .. }));
    Checked::body(vec![print(binary(BinaryOp::Mul, p(), int(2)))])
        .says("the * operator can not be used on expressions of types uint8 *, int64");
    let mut user = script(vec![vec![set_var(0, p())]]);
    user.instances[0].context = Context::Uprobe;
    assert!(matches!(Checked::of(user).right().vars[0][0], Type::Pointer { space: Space::User, .. }));
    let marked = call(Function::Uptr, vec![builtin(Variable::Arg(0))]);
    let run = Checked::body(vec![set_var(0, cast(pointer.clone(), marked))]);
    assert!(matches!(run.right().vars[0][0], Type::Pointer { space: Space::User, .. }));
}

#[test]
fn casts() {
    let bytes = |len| Type::Array { element: Box::new(Type::Int { size: 1, signed: true }), len };
    let run = Checked::body(vec![set_var(0, cast(bytes(0), typed(5, U32)))]);
    assert_eq!(run.var(0), "int8[4]");
    Checked::body(vec![set_var(0, cast(Type::I64, text("a")))])
        .says("cannot cast from \"string[2]\" to \"int64\"");
    Checked::body(vec![set_var(0, cast(bytes(3), typed(5, U32)))])
        .says("cannot cast from \"uint32\" to \"int8[3]\"");
    let pton = call(Function::Pton, vec![text("127.0.0.1")]);
    assert_eq!(Checked::body(vec![set_var(0, cast(U32, pton))]).var(0), "uint32");
}

#[test]
fn tuples() {
    let run = Checked::body(vec![
        set_var(0, tuple(vec![int(1), text("a")])),
        set_var(1, node(ExprKind::TupleField { base: Box::new(var(0)), index: 1 })),
        set_var(0, tuple(vec![nsecs(), text("abc")])),
    ]);
    assert_eq!((run.var(0), run.var(1)), ("(uint64,string[4])".into(), "string[4]".into()));
    let outside = node(ExprKind::TupleField { base: Box::new(var(0)), index: 2 });
    Checked::body(vec![set_var(0, tuple(vec![int(1), int(2)])), print(outside)])
        .says("invalid tuple index: 2. Found 2 elements in tuple");
    // A tuple that contains itself has no type.
    let run = Checked::body(vec![set_var(0, tuple(vec![int(1)])), set_var(0, tuple(vec![var(0)]))]);
    assert!(run.typed.is_none() && run.said.len() == 1, "{:?}", run.said);
}

#[test]
fn declared_variables_keep_their_type() {
    let declared = |ty: Type, value: Expr| {
        let mut hir = script(vec![vec![set_var(0, value)]]);
        hir.instances[0].vars[0].declared = Some(ty);
        Checked::of(hir)
    };
    let byte = Type::Int { size: 1, signed: false };
    assert_eq!(declared(byte.clone(), int(255)).var(0), "uint8");
    declared(byte.clone(), int(256)).says("type mismatch for $a");
    declared(byte, nsecs()).says("expression of type: uint64 being cast to type: uint8");
    declared(Type::Str { cap: 3 }, text("abc")).says("type mismatch for $a");
    assert_eq!(declared(Type::Str { cap: 0 }, text("abc")).var(0), "string[4]");
}

#[test]
fn loops() {
    let each = |body| {
        vec![
            set(place(0, vec![int(1), builtin(Variable::Comm)]), call(Function::Count, vec![])),
            stmt(StmtKind::ForMap { var: VarId(0), map: crate::hir::MapId(0), body }),
        ]
    };
    assert_eq!(Checked::body(each(vec![print(var(0))])).var(0), "((int64,string[16]),uint64)");
    let scalar = vec![
        set(place(0, vec![]), int(1)),
        stmt(StmtKind::ForMap { var: VarId(0), map: crate::hir::MapId(0), body: vec![] }),
    ];
    Checked::body(scalar).says("@a has no explicit keys (scalar map), and cannot be used for iteration");
    let range = |hi| vec![stmt(StmtKind::ForRange { var: VarId(0), lo: int(0), hi, body: vec![] })];
    assert_eq!(Checked::body(range(builtin(Variable::Ncpus))).var(0), "uint64");
    Checked::body(range(text("a"))).says("loop range requires an integer for the end value");
}

#[test]
fn calls() {
    Checked::body(vec![eval(call(Function::Strncmp, vec![text("a")]))])
        .says("strncmp() requires 3 arguments (1 provided) | usage: strncmp(a, b, length)");
    Checked::body(vec![print(call(Function::Kstack, vec![int(200)]))])
        .says("kstack([int limit]): limit must be from 1 to 127, 200 given");
    Checked::body(vec![set(
        place(0, vec![]),
        call(Function::Lhist, vec![int(1), int(0), int(5000), int(1)]),
    )])
    .says("lhist() too many buckets, must be <= 1000 (would need 5000)");
    Checked::body(vec![set_var(0, call(Function::Printf, vec![text("x")]))]).says("printf() has no value");
    Checked::body(vec![eval(nsecs())]).says("return value discarded");
    Checked::body(vec![print(call(Function::Pton, vec![text("nope")]))])
        .says("pton() expects a valid IPv4/IPv6 address, got nope");
    let short = call(Function::Str, vec![builtin(Variable::Arg(0)), int(7)]);
    assert_eq!(Checked::body(vec![set_var(0, short)]).var(0), "string[8]");
    let swapped = call(Function::Bswap, vec![int(0x1234)]);
    assert_eq!(Checked::body(vec![set_var(0, swapped)]).var(0), "uint16");
}

#[test]
fn formats() {
    let printf = |format: &str, values: Vec<Expr>| {
        let mut args = vec![text(format)];
        args.extend(values);
        Checked::body(vec![eval(call(Function::Printf, args))])
    };
    printf("%d %s", vec![int(1)]).says("not enough arguments for format string (1 supplied, 2 expected)");
    printf("hi", vec![int(1)]).says("too many arguments for format string (1 supplied, 0 expected)");
    printf("%d", vec![text("a")])
        .says("unsupported format specifier for type 'string[2]': %d | the format | print it with %s");
    printf("%r", vec![int(1)]).says("unsupported format specifier for type 'int64': %r");
    printf("%f", vec![int(1)]).says("unsupported format specifier: %f");
    let fine = printf("%-6d %s %p %c\n", vec![int(1), nsecs(), builtin(Variable::Curtask), boolean(true)]);
    assert!(fine.said.is_empty(), "{:?}", fine.said);
}

#[test]
fn undefined_maps() {
    Checked::body(vec![set_var(0, map(0, vec![]))]).says("undefined map: @a");
    // Maps that are only made of each other have no type.
    let run =
        Checked::body(vec![set(place(0, vec![]), map(1, vec![])), set(place(1, vec![]), map(0, vec![]))]);
    assert!(run.typed.is_none(), "{:?}", run.said);
}

#[test]
fn long_chains_settle() {
    // Every round gives one more variable its type.
    let mut body: Vec<_> = (0..3).map(|n| set_var(n, var(n + 1))).collect();
    body.push(set_var(3, nsecs()));
    assert_eq!(Checked::body(body).var(0), "uint64");
    // Variables that only point at each other have no type.
    let at = |n| unary(UnaryOp::AddressOf, var(n));
    let run = Checked::body(vec![set_var(0, at(1)), set_var(1, at(0))]);
    assert!(run.typed.is_none() && run.said[0].starts_with("type mismatch"), "{:?}", run.said);
    let run = Checked::body(vec![set_var(0, tuple(vec![var(0), int(1)]))]);
    assert!(run.typed.is_none() && run.said[0].starts_with("type mismatch"), "{:?}", run.said);
}

#[test]
fn branches() {
    let choose = |then, els| {
        let kind =
            ExprKind::Ternary { cond: Box::new(nsecs()), then: Some(Box::new(then)), els: Box::new(els) };
        Checked::body(vec![set_var(0, node(kind))])
    };
    assert_eq!(choose(text("a"), text("abc")).var(0), "string[4]");
    assert_eq!(choose(int(0), nsecs()).var(0), "uint64");
    choose(int(0), text("a"))
        .says("branches must return the same type or compatible types: have 'int64' and 'string[2]'");
}

#[test]
fn places_keep_what_is_known() {
    let run = Checked::body(vec![
        set(place(0, vec![]), text("a")),
        set(Place::Var(VarId(0)), unary(UnaryOp::AddressOf, map(0, vec![]))),
    ]);
    assert!(matches!(run.right().vars[0][0], Type::Pointer { space: Space::Bpf, .. }));
}
