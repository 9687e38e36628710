//! Names in bodies.

use strix_model::MapKind;
use strix_syntax::ast::{self, Script};

use super::super::testing::*;
use crate::Options;
use crate::builtins::{Function, Variable};
use crate::hir::{ExprKind, Place, StmtKind};
use crate::types::Type;

fn print(value: ast::Expr) -> ast::Stmt {
    eval(call("print", vec![value]))
}

fn with_params(params: &[&str], stmts: Vec<ast::Stmt>) -> Run {
    let script = Script { probes: vec![probe("begin", stmts)], ..Script::default() };
    let params = params.iter().map(|p| (*p).to_owned()).collect();
    Run::of(&script, &facts(), &Options { params, ..Options::default() })
}

/// The argument of the only statement, a call.
fn argument(run: &Run) -> &ExprKind {
    let StmtKind::Expr(expr) = &run.instance().body[0].kind else { panic!() };
    let ExprKind::Call { args, .. } = &expr.kind else { panic!("{expr:?}") };
    &args[0].kind
}

#[test]
fn variables_live_in_their_blocks() {
    let run = Run::one("begin", vec![block(vec![assign(var("a"), int(1))]), print(var("a"))]);
    assert!(run.has("undefined or undeclared variable: $a"), "{:?}", run.said);
    let run = Run::one("begin", vec![assign(var("start"), int(1)), print(var("strat"))]);
    assert!(run.has("undefined or undeclared variable: $strat | did you mean `$start`?"), "{:?}", run.said);
    // An inner assignment is to the outer variable.
    let run = Run::one(
        "begin",
        vec![assign(var("a"), int(1)), block(vec![assign(var("a"), int(2))]), print(var("a"))],
    );
    assert_eq!(run.instance().vars.len(), 1);
    // The same name in two blocks is two variables.
    let inner = || block(vec![assign(var("a"), int(1)), print(var("a"))]);
    let run = Run::one("begin", vec![inner(), inner()]);
    assert_eq!(run.instance().vars.len(), 2);
}

#[test]
fn declarations() {
    let run =
        Run::one("begin", vec![declare("a", None, Some(int(1))), block(vec![declare("a", None, None)])]);
    assert!(run.has("variable $a was already declared: variable shadowing is not allowed"), "{:?}", run.said);
    let run = Run::one("begin", vec![declare("a", None, None), print(var("a"))]);
    assert!(run.has("variable used before it was assigned: $a"), "{:?}", run.said);
    assert!(run.has("variable $a was never assigned to"), "{:?}", run.said);
    let ty = named_type("string", vec![Some(32)]);
    let run = Run::one("begin", vec![declare("a", Some(ty), Some(text("x")))]);
    assert_eq!(run.instance().vars[0].declared, Some(Type::Str { cap: 32 }));
    let run = Run::one("begin", vec![assign(var("i"), int(1)), for_range("i", Vec::new())]);
    assert!(run.has("loop declaration shadows existing variable: $i"), "{:?}", run.said);
}

#[test]
fn maps_must_be_assigned_somewhere() {
    let run = Run::one("begin", vec![assign(map("start"), int(1)), print(map("strat"))]);
    assert!(run.has("undefined map: @strat | did you mean `@start`?"), "{:?}", run.said);
    let run = Run::probes(vec![
        probe("begin", vec![print(map("x"))]),
        probe("end", vec![assign(map("x"), int(1))]),
    ]);
    assert!(!run.failed, "{:?}", run.said);
    assert_eq!(run.hir.maps[0].name, "@x");
}

#[test]
fn declared_maps() {
    let name = |text: &str| ast::Name { text: text.into(), span: SPAN };
    let go = |kind: &str, entries: ast::Expr| {
        let decl = ast::MapDecl { map: name("x"), kind: name(kind), entries, span: SPAN };
        let probes = vec![probe("begin", vec![assign(map("x"), int(1))])];
        Run::of(&Script { map_decls: vec![decl], probes, ..Script::default() }, &facts(), &Options::default())
    };
    assert_eq!(go("lruhash", int(10)).hir.maps[0].declared, Some((MapKind::LruHash, 10)));
    assert!(go("lruhsah", int(10)).has("invalid bpf map type: lruhsah | did you mean `lruhash`?"));
    assert!(go("hash", int(0)).has("max entries of @x must be a positive number"));
}

#[test]
fn keys() {
    let pair = || tuple(vec![int(1), int(2)]);
    let run = Run::one("begin", vec![assign(entry("m", vec![pair()]), int(1))]);
    let StmtKind::Assign { place: Place::Map { key, .. }, .. } = &run.instance().body[0].kind else {
        panic!()
    };
    assert_eq!(key.len(), 2);
    for stmt in
        [call("delete", vec![map("m"), pair()]), call("delete", vec![entry("m", vec![int(1), int(2)])])]
    {
        let run = Run::one("begin", vec![eval(stmt), assign(entry("m", vec![int(1), int(2)]), int(1))]);
        let StmtKind::Expr(expr) = &run.instance().body[0].kind else { panic!() };
        let ExprKind::Call { function: Function::Delete, args, .. } = &expr.kind else { panic!() };
        assert!(matches!(&args[..], [e] if matches!(&e.kind, ExprKind::Map { key, .. } if key.len() == 2)));
    }
}

#[test]
fn parameters() {
    let run = with_params(&["42", "-3", "abc", "100ms"], vec![print(param(1))]);
    assert!(matches!(argument(&run), ExprKind::Int { value: 42, ty: None }));
    let run = with_params(&["42", "-3"], vec![print(param(2))]);
    assert!(matches!(argument(&run), ExprKind::Unary { .. }));
    let run = with_params(&["abc"], vec![print(param(1))]);
    assert!(matches!(argument(&run), ExprKind::Str(s) if s == "abc"));
    let run = with_params(&["12"], vec![print(call("str", vec![param(1)]))]);
    assert!(matches!(argument(&run), ExprKind::Str(s) if s == "12"));
    let run = with_params(&["hello"], vec![print(call("str", vec![add(param(1), int(2))]))]);
    assert!(matches!(argument(&run), ExprKind::Str(s) if s == "llo"));
    let run = with_params(&["hello"], vec![print(call("str", vec![param(1), int(3)]))]);
    assert!(matches!(argument(&run), ExprKind::Str(s) if s == "hel"));
    let run = with_params(&[], vec![print(param(1))]);
    assert!(matches!(argument(&run), ExprKind::Int { value: 0, .. }));
    assert!(run.has("positional parameter $1 is empty or not provided"), "{:?}", run.said);
    let run = with_params(&[], vec![print(call("str", vec![param(1)]))]);
    assert!(run.said.is_empty() && matches!(argument(&run), ExprKind::Str(s) if s.is_empty()));
}

#[test]
fn named_parameters() {
    let go = |named: &[(&str, Option<&str>)], args: Vec<ast::Expr>| {
        let named_params = named.iter().map(|(n, v)| ((*n).to_owned(), v.map(str::to_owned))).collect();
        let script =
            Script { probes: vec![probe("begin", vec![print(call("getopt", args))])], ..Script::default() };
        Run::of(&script, &facts(), &Options { named_params, ..Options::default() })
    };
    let run = go(&[], vec![text("depth"), int(35)]);
    assert!(matches!(argument(&run), ExprKind::Int { value: 35, .. }));
    let run = go(&[("depth", Some("7"))], vec![text("depth"), int(35)]);
    assert!(matches!(argument(&run), ExprKind::Int { value: 7, .. }));
    let run = go(&[("v", None)], vec![text("v")]);
    assert!(matches!(argument(&run), ExprKind::Bool(true)));
    let run = go(&[("dpeth", Some("7"))], vec![text("depth"), int(35)]);
    assert!(run.has("the script has no option --dpeth | did you mean `--depth`?"), "{:?}", run.said);
    let run = go(&[("depth", Some("x"))], vec![text("depth"), int(35)]);
    assert!(run.has("--depth: invalid integer: x"), "{:?}", run.said);
    let run = go(&[("depth", None)], vec![text("depth"), int(35)]);
    assert!(run.has("--depth: a value is needed"), "{:?}", run.said);
}

#[test]
fn words_that_mean_something() {
    let run = Run::one("begin", vec![print(call("pid", vec![ident("init")]))]);
    assert!(matches!(argument(&run), ExprKind::Builtin(Variable::InitPid)));
    let run = Run::one("begin", vec![print(call("comm", Vec::new()))]);
    assert!(matches!(argument(&run), ExprKind::Builtin(Variable::Comm)));
    let run = Run::one("begin", vec![eval(call("nsecs", vec![ident("boot")]))]);
    assert!(matches!(argument(&run), ExprKind::Str(mode) if mode == "boot"));
    let run = Run::one("begin", vec![print(ident("probetype"))]);
    assert!(matches!(argument(&run), ExprKind::Str(t) if t == "special"));
    let run = Run::one("profile:hz:99", vec![print(ident("usermode"))]);
    assert!(matches!(argument(&run), ExprKind::Ternary { .. }));
    let run = Run::one("t:sched:sched_switch", vec![print(ident("usermode"))]);
    assert!(matches!(argument(&run), ExprKind::Int { value: 0, .. }));
    let run = Run::one("begin", vec![print(call("is_err", vec![int(1)]))]);
    assert!(matches!(argument(&run), ExprKind::Binary { op: ast::BinaryOp::Ge, .. }));
}

#[test]
fn words_that_mean_nothing() {
    let said = |stmt: ast::Stmt| Run::one("begin", vec![stmt]).said.join(" / ");
    assert_eq!(said(print(ident("comn"))), "unknown identifier: 'comn' | did you mean `comm`?");
    assert_eq!(said(eval(call("pritn", vec![int(1)]))), "unknown function: 'pritn' | did you mean `print`?");
    assert_eq!(said(eval(call("tseries", vec![int(1)]))), "`tseries` is not supported yet");
    assert_eq!(said(print(ident("debugf"))), "`debugf` is not supported yet");
    assert_eq!(said(eval(call("uid", vec![int(1)]))), "uid() takes no arguments (1 provided)");
    assert_eq!(
        said(eval(call("pid", vec![ident("container")]))),
        "pid() only supports curr_ns and init as the argument"
    );
    assert!(said(eval(call("system", vec![text("ls")]))).starts_with("system() is an unsafe function"));
    assert!(said(leave()).starts_with("'break' statement is not allowed in a probe"));
    assert_eq!(said(unroll(int(101), Vec::new())), "unroll maximum value is 100");
    assert_eq!(said(unroll(ident("pid"), Vec::new())), "invalid unroll value: it must be a constant");
    assert!(said(print(ident("args"))).starts_with("the args builtin can only be used with"));
}

#[test]
fn words_in_the_wrong_place() {
    let said = |attach: &str, value: ast::Expr| Run::one(attach, vec![print(value)]).said.join(" / ");
    assert!(said("kprobe:vfs_read", ident("retval")).starts_with("the retval builtin can only be used with"));
    assert!(said("t:sched:sched_switch", ident("retval")).ends_with("(try to use args.ret instead)"));
    assert!(said("t:sched:sched_switch", ident("arg0")).contains("use args.FIELD"));
    assert_eq!(said("t:sched:sched_switch", ident("ctx")), "use args instead of ctx in tracepoint");
    assert_eq!(
        said("t:sched:sched_switch", call("reg", vec![text("ip")])),
        "reg can not be used with \"tracepoint\" probes"
    );
    let run = Run::one("kprobe:vfs_read", vec![for_range("i", vec![print(ident("arg0"))])]);
    assert!(run.has("'arg0' builtin is not allowed in a for-loop"), "{:?}", run.said);
}

#[test]
fn every_expression_has_an_identity_of_its_own() {
    let run = Run::one("k:vfs_read,t:sched:sched_switch", vec![assign(map("x"), add(ident("pid"), int(1)))]);
    assert_eq!(run.hir.instances.len(), 2);
    let mut ids = Vec::new();
    for instance in &run.hir.instances {
        let StmtKind::Assign { value, .. } = &instance.body[0].kind else { panic!() };
        let ExprKind::Binary { lhs, rhs, .. } = &value.kind else { panic!() };
        ids.extend([value.id.0, lhs.id.0, rhs.id.0]);
    }
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    assert_eq!(run.hir.expr_count, 6);
}
