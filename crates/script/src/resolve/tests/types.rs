//! Types by name, from the kernel and from the script.

use strix_syntax::ast::{CItem, Expr, Script};

use super::super::btf_types::{find_field, load_record};
use super::super::testing::*;
use crate::Options;
use crate::hir::{ExprKind, StmtKind};
use crate::types::{FieldLayout, Space, Type};

fn with_c(c_items: Vec<CItem>, value: Expr) -> Run {
    let probes = vec![probe("begin", vec![assign(map("x"), value)])];
    Run::of(&Script { c_items, probes, ..Script::default() }, &facts(), &Options::default())
}

fn value(run: &Run) -> &ExprKind {
    let StmtKind::Assign { value, .. } = &run.instance().body[0].kind else { panic!() };
    &value.kind
}

fn number(run: &Run) -> u64 {
    let ExprKind::Int { value, .. } = value(run) else { panic!("{:?}", value(run)) };
    *value
}

#[test]
fn kernel_records_are_loaded_when_asked() {
    let run = with_c(Vec::new(), cast(struct_type("task_struct", 1), ident("curtask")));
    let ExprKind::Cast { ty: Type::Pointer { to, space: Space::Unknown }, .. } = value(&run) else {
        panic!()
    };
    let Type::Record(task) = **to else { panic!() };
    let mut types = run.hir.types.clone();
    assert_eq!(types.record(task).fields, None);
    let facts = facts();
    load_record(&facts, &mut types, task).unwrap();
    assert!(types.record(task).fields.as_ref().unwrap().len() > 50);
    let pid = find_field(&facts, &mut types, task, "pid").unwrap().unwrap();
    assert_eq!((pid.ty, pid.layout), (Type::Int { size: 4, signed: true }, FieldLayout::Plain));
    let comm = find_field(&facts, &mut types, task, "comm").unwrap().unwrap();
    assert!(matches!(comm.ty, Type::Array { len: 16, .. }));
    let bits = find_field(&facts, &mut types, task, "sched_reset_on_fork").unwrap().unwrap();
    assert!(matches!(bits.layout, FieldLayout::Bits { bits: 1, .. }), "{bits:?}");
    assert!(find_field(&facts, &mut types, task, "no_such_field").unwrap().is_none());
    // Through an anonymous union: `d_name` stands in one in newer kernels, `len` and `hash` of it always.
    let btf = facts.btf().unwrap();
    let qstr = btf.find(strix_facts::BtfKind::Struct, "qstr").unwrap();
    let Type::Record(qstr) = super::super::btf_types::type_from_btf(btf, None, &mut types, qstr) else {
        panic!()
    };
    let len = find_field(&facts, &mut types, qstr, "len").unwrap().unwrap();
    assert_eq!((len.offset, len.ty), (4, Type::Int { size: 4, signed: false }));
}

#[test]
fn sizes_and_offsets_are_numbers() {
    assert_eq!(number(&with_c(Vec::new(), sizeof(struct_type("qstr", 0)))), 16);
    assert_eq!(number(&with_c(Vec::new(), sizeof(named_type("unsigned long", Vec::new())))), 8);
    assert_eq!(number(&with_c(Vec::new(), sizeof(named_type("uint16", vec![Some(4)])))), 8);
    assert_eq!(number(&with_c(Vec::new(), offsetof(struct_type("qstr", 0), &["name"]))), 8);
    let run = with_c(Vec::new(), offsetof(struct_type("qstr", 0), &["nmae"]));
    assert!(run.has("'struct qstr' has no field named 'nmae'"), "{:?}", run.said);
}

#[test]
fn unknown_types() {
    let run = with_c(Vec::new(), cast(struct_type("task_strcut", 1), int(0)));
    assert!(
        run.has("cannot resolve unknown type \"struct task_strcut\" | did you mean `struct task_struct`?"),
        "{:?}",
        run.said
    );
    let run = with_c(Vec::new(), sizeof(named_type("task_struct", Vec::new())));
    assert!(
        run.has("cannot resolve unknown type \"task_struct\" | did you mean `struct task_struct`?"),
        "{:?}",
        run.said
    );
    let run = with_c(Vec::new(), sizeof(named_type("string", vec![Some(1 << 40)])));
    assert!(run.has("string[1099511627776]: the length must be 1 to 65536"), "{:?}", run.said);
    let run = with_c(Vec::new(), sizeof(named_type("int", vec![Some(1 << 40), Some(1 << 40)])));
    assert!(run.has("an array of 1099511627776 elements"), "{:?}", run.said);
}

#[test]
fn definitions_of_the_script() {
    let items = vec![
        c_struct(
            "pair",
            vec![c_member("a", named_type("char", Vec::new())), c_member("next", struct_type("pair", 1))],
        ),
        c_enum("colour", &[("RED", None), ("GREEN", Some(5)), ("BLUE", None)]),
        c_define("TWICE", add(ident("GREEN"), ident("GREEN"))),
        c_define("LOOP", ident("LOOP")),
    ];
    assert_eq!(number(&with_c(items.clone(), sizeof(struct_type("pair", 0)))), 16);
    assert_eq!(number(&with_c(items.clone(), offsetof(struct_type("pair", 0), &["next"]))), 8);
    assert_eq!(number(&with_c(items.clone(), ident("BLUE"))), 6);
    assert!(matches!(
        value(&with_c(items.clone(), ident("BLUE"))),
        ExprKind::Int { ty: Some(Type::Enum { .. }), .. }
    ));
    assert!(matches!(value(&with_c(items.clone(), ident("TWICE"))), ExprKind::Binary { .. }));
    let run = with_c(items, ident("LOOP"));
    assert!(run.has("`#define LOOP` expands to itself"), "{:?}", run.said);
    let twice = vec![c_struct("pair", Vec::new()), c_struct("pair", Vec::new())];
    assert!(with_c(twice, int(0)).has("struct pair is defined twice"));
    let inside = vec![c_struct("me", vec![c_member("again", struct_type("me", 0))])];
    let run = with_c(inside, int(0));
    assert!(run.has("field `again` has incomplete type `struct me`"), "{:?}", run.said);
}

#[test]
fn constants_of_the_kernel() {
    let run = with_c(Vec::new(), ident("BPF_MAP_TYPE_RINGBUF"));
    assert_eq!(number(&run), 27);
    assert_eq!(number(&with_c(Vec::new(), ident("AF_INET6"))), 10);
}
