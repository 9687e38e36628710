//! Records, contexts and features: what depends on the kernel.

use std::path::PathBuf;

use strix_facts::{Features, KernelFacts};
use strix_model::{Diagnostics, MapKind, MapValue};
use strix_syntax::ast::{BinaryOp, UnaryOp};

use super::build::*;
use crate::Options;
use crate::builtins::{Function, Variable};
use crate::check::type_name;
use crate::hir::{Context, Expr, ExprKind, Hir, MapId, Stmt, StmtKind, Typed, VarId};
use crate::types::{FieldLayout, RecordDef, RecordField, RecordId, Space, Type};

fn frozen() -> KernelFacts {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/facts/6.18-x86_64"));
    KernelFacts::at(&root)
}

fn field(base: Expr, name: &str) -> Expr {
    let name_span = base.span;
    node(ExprKind::Field { base: Box::new(base), name: name.into(), name_span })
}

fn path(base: Expr, names: &str) -> Expr {
    names.split('.').fold(base, field)
}

/// The types of the values, or what was said.
fn types_of(context: Context, extra: Vec<RecordDef>, values: Vec<Expr>) -> Result<Vec<String>, Vec<String>> {
    let body = values.into_iter().enumerate().map(|(n, v)| set_var(n as u32, v)).collect();
    let mut hir = script(vec![body]);
    hir.types.records = extra;
    hir.instances[0].context = context;
    let typed = checked(hir, &frozen())?;
    Ok(typed.vars[0].iter().map(|ty| type_name(&typed.hir.types, ty)).collect())
}

fn checked(hir: Hir, facts: &KernelFacts) -> Result<Typed, Vec<String>> {
    let mut diags = Diagnostics::default();
    let typed = crate::check::check(hir, facts, &Options::default(), &mut diags);
    if let Some(typed) = &typed {
        crate::limits::check(typed, facts, &Options::default(), &mut diags);
    }
    let said = diags
        .sorted()
        .iter()
        .map(|d| [std::slice::from_ref(&d.message), &d.help].concat().join(" | "))
        .collect();
    typed.filter(|_| !diags.has_errors()).ok_or(said)
}

fn curtask() -> Expr {
    builtin(Variable::Curtask)
}

#[test]
fn fields_of_kernel_structs() {
    let types = types_of(
        Context::Kprobe,
        vec![],
        vec![
            field(curtask(), "pid"),
            path(curtask(), "real_parent.comm"),
            path(curtask(), "mm.exe_file.f_path.dentry.d_name.name"),
            unary(UnaryOp::Deref, field(curtask(), "real_parent")),
        ],
    );
    assert_eq!(types.unwrap(), ["int32", "string[16]", "uint8 *", "struct task_struct"]);
    let said = types_of(Context::Kprobe, vec![], vec![field(curtask(), "real_parnet")]).unwrap_err();
    assert_eq!(said, ["struct task_struct has no field named \"real_parnet\" | did you mean `real_parent`?"]);
    let said = types_of(Context::Kprobe, vec![], vec![path(curtask(), "pid.x")]).unwrap_err();
    assert_eq!(said, ["can not access field 'x' on expression of type 'int32'"]);
}

#[test]
fn pointers_found_in_foreign_memory_point_into_the_same() {
    let hir = |base: Expr| {
        let mut hir = script(vec![vec![set_var(0, path(base, "next.name"))]]);
        let pointer = |to| Type::Pointer { to: Box::new(to), space: Space::Kernel };
        let field = |name: &str, ty, offset| RecordField {
            name: name.into(),
            ty,
            offset,
            layout: FieldLayout::Plain,
        };
        let fields = vec![
            field("next", pointer(Type::Record(RecordId(0))), 0),
            field("name", pointer(Type::Int { size: 1, signed: true }), 8),
        ];
        let def =
            RecordDef { name: "struct foo".into(), size: 16, fields: Some(fields), btf: None, module: None };
        hir.types.records = vec![def];
        hir
    };
    let foo = || Type::Pointer { to: Box::new(Type::Record(RecordId(0))), space: Space::Unknown };
    let space_in = |context: Context, base: Expr| {
        let mut hir = hir(base);
        hir.instances[0].context = context;
        match checked(hir, &frozen()).unwrap().vars[0][0] {
            Type::Pointer { space, .. } => space,
            ref other => panic!("{other:?}"),
        }
    };
    let arg = || builtin(Variable::Arg(0));
    assert_eq!(space_in(Context::Uprobe, cast(foo(), arg())), Space::User);
    assert_eq!(space_in(Context::Kprobe, cast(foo(), arg())), Space::Unknown);
    let kernel = cast(foo(), call(Function::Kptr, vec![arg()]));
    assert_eq!(space_in(Context::Kprobe, kernel), Space::Kernel);
    let kernel = cast(foo(), curtask());
    assert_eq!(space_in(Context::Uprobe, kernel), Space::Kernel);
}

#[test]
fn arguments_of_tracepoints() {
    let array = |signed, len| Type::Array { element: Box::new(Type::Int { size: 1, signed }), len };
    let field = |name: &str, ty, layout| RecordField { name: name.into(), ty, offset: 8, layout };
    let fields = vec![
        field("comm", array(true, 16), FieldLayout::Plain),
        field("name", array(true, 0), FieldLayout::DataLoc),
        field("data", array(false, 0), FieldLayout::DataLoc),
        field("mac", array(false, 6), FieldLayout::Plain),
    ];
    let def = RecordDef { name: "args".into(), size: 64, fields: Some(fields), btf: None, module: None };
    let args = || builtin(Variable::Args);
    let values = ["comm", "name", "data", "mac"].map(|n| self::field(args(), n)).into();
    let context = Context::Tracepoint { args: RecordId(0) };
    let types = types_of(context.clone(), vec![def.clone()], values).unwrap();
    assert_eq!(types, ["string[16]", "string[1024]", "uint8 *", "uint8[6]"]);
    let said = types_of(context.clone(), vec![def.clone()], vec![args()]).unwrap_err();
    assert_eq!(said, ["args is not a value: name one of its fields"]);
    let said = types_of(context, vec![def], vec![self::field(args(), "com")]).unwrap_err();
    assert_eq!(said, ["args has no field named \"com\" | did you mean `comm`?"]);
}

#[test]
fn contexts() {
    let result = Type::Int { size: 4, signed: true };
    let exit = Context::Fexit { args: RecordId(0), params: 1, ret: result };
    assert_eq!(types_of(exit, vec![], vec![builtin(Variable::Retval)]).unwrap()[0], "int32");
    let retval = vec![builtin(Variable::Retval)];
    assert_eq!(types_of(Context::Kretprobe, vec![], retval).unwrap()[0], "uint64");
    let ctx = vec![field(builtin(Variable::Ctx), "ip")];
    assert_eq!(types_of(Context::Kprobe, vec![], ctx).unwrap()[0], "uint64");
}

#[test]
fn symbols_of_the_kernel() {
    let kaddr = |name: &str| vec![call(Function::Kaddr, vec![text(name)])];
    assert_eq!(types_of(Context::Kprobe, vec![], kaddr("vfs_read")).unwrap()[0], "uint64");
    let said = types_of(Context::Kprobe, vec![], kaddr("vfs_raed")).unwrap_err();
    assert_eq!(said, ["failed to resolve kernel symbol: vfs_raed"]);
}

/// A kernel with only these features.
fn old(features: &[&str]) -> KernelFacts {
    let mut have = Features::default();
    for feature in features {
        assert!(have.set(feature, true), "{feature}");
    }
    frozen().with_features(have)
}

fn said(facts: &KernelFacts, body: Vec<Stmt>) -> Vec<String> {
    checked(script(vec![body]), facts).err().unwrap_or_default()
}

#[test]
fn what_old_kernels_lack() {
    let each = || {
        vec![
            set(place(0, vec![int(1)]), int(1)),
            stmt(StmtKind::ForMap { var: VarId(0), map: MapId(0), body: vec![] }),
        ]
    };
    assert_eq!(
        said(&old(&["ringbuf"]), each()),
        [
            "missing required kernel feature: for_each_map_elem (a loop over a map) | kernels have it since v5.13"
        ]
    );
    assert!(said(&old(&["for_each_map_elem"]), each()).is_empty());
    let range = |hi| vec![stmt(StmtKind::ForRange { var: VarId(0), lo: int(0), hi, body: vec![] })];
    assert!(said(&old(&["bounded_loops"]), range(int(1000))).is_empty());
    let found = said(&old(&["bounded_loops"]), range(builtin(Variable::Ncpus)));
    assert!(found[0].starts_with("missing required kernel feature: bpf_loop"), "{found:?}");
    assert!(said(&old(&["bpf_loop"]), range(builtin(Variable::Ncpus))).is_empty());
    let printf = vec![eval(call(Function::Printf, vec![text("x")]))];
    assert_eq!(
        said(&old(&[]), printf),
        ["missing required kernel feature: ringbuf (printf()) | kernels have it since v5.8"]
    );
    let sum = || vec![set(place(0, vec![]), call(Function::Count, vec![])), set_var(0, map(0, vec![]))];
    let found = said(&old(&[]), sum());
    assert!(found[0].contains("map_lookup_percpu_elem (reading an aggregation)"), "{found:?}");
}

#[test]
fn sizes() {
    let everything = facts();
    let strings = |n: usize| {
        let str = || call(Function::Str, vec![builtin(Variable::Arg(0))]);
        let format = "%s".repeat(n);
        let mut args = vec![text(&format)];
        args.extend((0..n).map(|_| str()));
        vec![eval(call(Function::Printf, args))]
    };
    assert!(said(&everything, strings(20)).is_empty());
    let found = said(&everything, strings(40));
    assert!(found[0].starts_with("printf() sends 40968 bytes at once"), "{found:?}");
    let mut hir = script(vec![strings(3)]);
    hir.config.ring_pages = 1;
    let found = checked(hir, &everything).unwrap_err();
    assert!(found[0].starts_with("printf() sends 3080 bytes at once: more than 2048"), "{found:?}");
    let str = || call(Function::Str, vec![builtin(Variable::Arg(0))]);
    let keys = |n: usize| vec![set(place(0, (0..n).map(|_| str()).collect()), int(1))];
    assert!(said(&everything, keys(3)).is_empty());
    assert!(said(&everything, keys(5))[0].starts_with("the key of @a has 5120 bytes"));
    let nested = (0..10).fold(int(1), |inner, _| tuple(vec![inner]));
    assert!(said(&everything, vec![set_var(0, nested)])[0].contains("nested more than 8 deep"));
}

#[test]
fn declared_maps_must_suit() {
    let declared = |kind, key: Vec<Expr>, value: Expr| {
        let mut hir = script(vec![vec![set(place(0, key), value)]]);
        hir.maps[0].declared = Some((kind, 10));
        checked(hir, &facts())
    };
    let count = || call(Function::Count, vec![]);
    let typed = declared(MapKind::PercpuHash, vec![int(1)], count()).unwrap();
    assert_eq!(typed.maps[0].value, Type::Aggregate(MapValue::Count));
    let said = declared(MapKind::Hash, vec![int(1)], count()).unwrap_err();
    assert_eq!(
        said,
        ["incompatible map types for @a: declared as hash, its values need percpuhash or percpulruhash"]
    );
    assert!(declared(MapKind::LruHash, vec![int(1)], int(1)).is_ok());
    // Without keys there is nothing to hash.
    assert_eq!(declared(MapKind::LruHash, vec![], int(1)).unwrap().hir.maps[0].declared, None);
}

#[test]
fn enums_keep_their_names() {
    let mut hir = script(vec![vec![]]);
    hir.types.enums = vec![crate::types::EnumDef {
        name: "state".into(),
        size: 4,
        signed: false,
        variants: vec![(0, "IDLE".into()), (1, "BUSY".into())],
    }];
    let ty = || Type::Enum { id: crate::types::EnumId(0), size: 4, signed: false };
    hir.instances[0].body = vec![
        set(place(0, vec![typed(1, ty())]), typed(0, ty())),
        set_var(0, binary(BinaryOp::Add, typed(1, ty()), int(1))),
        set_var(1, cast(ty(), builtin(Variable::Arg(0)))),
    ];
    hir.expr_count += 20;
    let run = Checked::of(hir);
    assert_eq!(run.map(0), "enum state -> enum state");
    assert_eq!((run.var(0), run.var(1)), ("uint64".into(), "enum state".into()));
    let mut hir = script(vec![vec![set_var(0, cast(ty(), int(7)))]]);
    hir.types.enums = run.right().hir.types.enums.clone();
    Checked::of(hir).says("enum: state doesn't contain a variant value of 7");
}
