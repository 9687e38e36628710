//! Trees such as the parser gives, of every kind of node.

use proptest::prelude::*;
use strix_model::Span;
use strix_syntax::ast::{
    AttachPart, AttachPointText, BinaryOp, Block, CEnum, CItem, CMember, CMemberType, CRecord, ConfigEntry,
    ConfigValue, Expr, ExprKind, Macro, MacroParam, MacroParamKind, MapDecl, Name, OffsetofBase, Probe,
    Script, Stmt, StmtKind, TypeBase, TypeExpr, UnaryOp,
};

const BINARY: [BinaryOp; 18] = [
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Mod,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::Gt,
    BinaryOp::Ge,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::BitAnd,
    BinaryOp::BitXor,
    BinaryOp::BitOr,
    BinaryOp::And,
    BinaryOp::Or,
];

const UNARY: [UnaryOp; 5] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot, UnaryOp::Deref, UnaryOp::AddressOf];

const NAMED: [&str; 8] =
    ["uint64", "int8", "bool", "string", "unsigned long", "unsigned long long int", "char", "size_t"];

const POINTS: [&str; 9] = [
    "BEGIN",
    "kprobe:vfs_*",
    "uprobe:/bin/bash:readline",
    "uretprobe:\"/tmp/a b\":\"ns::f(int, char)\"",
    "usdt:*:x",
    "t:sched:*",
    "interval:1s",
    "kprobe:f+0x10",
    "profile:hz:$1",
];

fn span() -> Span {
    Span::default()
}

fn name(text: &str) -> Name {
    Name { text: text.to_owned(), span: span() }
}

fn names() -> impl Strategy<Value = Name> {
    prop::sample::select(&["a", "b2", "_c", "mm", "count_", "If"][..]).prop_map(name)
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: span() }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

fn block(stmts: Vec<Stmt>) -> Block {
    Block { stmts, span: span() }
}

fn leaves() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (prop_oneof![any::<u64>(), 0u64..9], 0u8..3).prop_map(|(value, suffix)| ExprKind::Int {
            value,
            unsigned: suffix == 1,
            duration: suffix == 2
        }),
        any::<String>().prop_map(ExprKind::Str),
        "[a-z%\\\\\"\n\u{1}-\u{1f}]{0,6}".prop_map(ExprKind::Str),
        any::<bool>().prop_map(ExprKind::Bool),
        names().prop_map(|n| ExprKind::Ident(n.text)),
        names().prop_map(|n| ExprKind::Var(n.text)),
        prop_oneof![Just(String::new()), names().prop_map(|n| n.text)]
            .prop_map(|name| ExprKind::Map { name, key: None }),
        (1u32..20).prop_map(ExprKind::Positional),
        Just(ExprKind::PositionalCount),
        plain_types().prop_map(ExprKind::SizeofType),
    ]
    .prop_map(expr)
}

/// Types with no expression in them.
fn plain_types() -> impl Strategy<Value = TypeExpr> {
    let base = prop_oneof![
        prop::sample::select(&NAMED[..]).prop_map(|n| TypeBase::Named(n.to_owned())),
        names().prop_map(|n| TypeBase::Struct(n.text)),
        names().prop_map(|n| TypeBase::Union(n.text)),
        names().prop_map(|n| TypeBase::Enum(n.text)),
    ];
    let array = prop_oneof![Just(None), any::<u64>().prop_map(Some)];
    (base, 0u32..3, prop::collection::vec(array, 0..3)).prop_map(|(base, pointers, arrays)| TypeExpr {
        base,
        pointers,
        arrays,
        span: span(),
    })
}

fn places(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Expr> {
    prop_oneof![
        names().prop_map(|n| ExprKind::Var(n.text)),
        (names(), prop::option::of(prop::collection::vec(inner, 1..3)))
            .prop_map(|(n, key)| ExprKind::Map { name: n.text, key }),
    ]
    .prop_map(expr)
}

fn accesses(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = ExprKind> {
    let boxed = inner.clone().prop_map(Box::new);
    // `1.0` would be a number with a fraction.
    let base =
        inner.clone().prop_filter("a number", |e| !matches!(e.kind, ExprKind::Int { .. })).prop_map(Box::new);
    prop_oneof![
        (boxed.clone(), names(), any::<bool>()).prop_map(|(base, name, arrow)| ExprKind::Field {
            base,
            name,
            arrow
        }),
        (base, any::<u32>()).prop_map(|(base, index)| ExprKind::TupleField { base, index }),
        (boxed.clone(), boxed.clone()).prop_map(|(base, index)| ExprKind::Index { base, index }),
        (plain_types(), boxed.clone()).prop_map(|(ty, operand)| ExprKind::Cast { ty, operand }),
        boxed.clone().prop_map(ExprKind::SizeofExpr),
        (offset_bases(boxed), prop::collection::vec(names(), 1..3))
            .prop_map(|(of, path)| ExprKind::Offsetof { of, path }),
    ]
}

fn offset_bases(inner: impl Strategy<Value = Box<Expr>> + Clone) -> impl Strategy<Value = OffsetofBase> {
    prop_oneof![plain_types().prop_map(OffsetofBase::Type), inner.prop_map(OffsetofBase::Expr)]
}

fn compounds(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = ExprKind> {
    let boxed = inner.clone().prop_map(Box::new);
    let list = prop::collection::vec(inner.clone(), 0..4);
    prop_oneof![
        (names(), prop::collection::vec(inner.clone(), 1..3))
            .prop_map(|(n, key)| ExprKind::Map { name: n.text, key: Some(key) }),
        (names(), list.clone()).prop_map(|(name, args)| ExprKind::Call { name, args }),
        (prop::sample::select(&UNARY[..]), boxed.clone())
            .prop_map(|(op, operand)| ExprKind::Unary { op, operand }),
        (any::<bool>(), any::<bool>(), places(inner.clone())).prop_map(|(increment, prefix, target)| {
            ExprKind::IncDec { increment, prefix, target: Box::new(target) }
        }),
        (prop::sample::select(&BINARY[..]), boxed.clone(), boxed.clone())
            .prop_map(|(op, lhs, rhs)| ExprKind::Binary { op, lhs, rhs }),
        (boxed.clone(), prop::option::of(boxed.clone()), boxed.clone())
            .prop_map(|(cond, then, els)| ExprKind::Ternary { cond, then, els }),
        list.prop_map(ExprKind::Tuple),
        prop::collection::vec((names(), inner.clone()), 1..3).prop_map(ExprKind::Record),
        (simple_stmts(inner), boxed).prop_map(|(stmts, value)| ExprKind::Block { stmts, value }),
    ]
}

/// Expressions of every kind.
pub fn exprs() -> BoxedStrategy<Expr> {
    leaves()
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![compounds(inner.clone()), accesses(inner)].prop_map(expr)
        })
        .boxed()
}

fn simple_stmts(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Vec<Stmt>> {
    let assignment =
        prop::option::of(prop::sample::select(&BINARY[..]).prop_filter("no such assignment", |op| {
            use BinaryOp as B;
            !matches!(op, B::Lt | B::Le | B::Gt | B::Ge | B::Eq | B::Ne | B::And | B::Or)
        }));
    let one =
        prop_oneof![
            inner.clone().prop_map(StmtKind::Expr),
            (places(inner.clone()), assignment, inner.clone())
                .prop_map(|(target, op, value)| StmtKind::Assign { target, op, value }),
            inner.clone().prop_map(StmtKind::Discard),
            (names(), prop::option::of(types(inner.clone())), prop::option::of(inner.clone()))
                .prop_map(|(var, ty, init)| StmtKind::Let { var, ty, init }),
            Just(StmtKind::Break),
            Just(StmtKind::Continue),
            prop::option::of(inner).prop_map(StmtKind::Return),
            Just(StmtKind::Block(Block::default())),
        ]
        .prop_map(stmt);
    prop::collection::vec(one, 0..3)
}

fn types(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = TypeExpr> {
    let wrap = |base| TypeExpr { base, pointers: 0, arrays: Vec::new(), span: span() };
    prop_oneof![
        4 => plain_types(),
        1 => prop::collection::vec(plain_types(), 0..3).prop_map(move |t| wrap(TypeBase::Tuple(t))),
        1 => inner.prop_map(move |e| wrap(TypeBase::TypeofExpr(Box::new(e)))),
    ]
}

fn blocks() -> impl Strategy<Value = Block> {
    let flat = simple_stmts(exprs()).prop_map(block);
    flat.prop_recursive(3, 12, 3, |inner| {
        let nested = prop_oneof![
            (exprs(), inner.clone(), prop::option::of(inner.clone()))
                .prop_map(|(cond, then, els)| StmtKind::If { cond, then, els }),
            (exprs(), inner.clone()).prop_map(|(cond, body)| StmtKind::While { cond, body }),
            (exprs(), inner.clone()).prop_map(|(count, body)| StmtKind::Unroll { count, body }),
            (names(), exprs(), exprs(), inner.clone())
                .prop_filter("a map", |(_, lo, _, _)| !matches!(lo.kind, ExprKind::Map { key: None, .. }))
                .prop_map(|(var, lo, hi, body)| StmtKind::ForRange { var, lo, hi, body }),
            (names(), names(), inner.clone()).prop_map(|(var, map, body)| StmtKind::ForMap {
                var,
                map,
                body
            }),
            inner.prop_map(StmtKind::Block),
        ];
        prop::collection::vec(nested.prop_map(stmt), 0..3).prop_map(block)
    })
    // A condition that is a record of one field looks like a slip of the pen.
    .prop_filter("conditions", |b| b.stmts.iter().all(fair))
}

/// Whether no condition looks like an assignment.
fn fair(s: &Stmt) -> bool {
    let all = |b: &Block| b.stmts.iter().all(fair);
    match &s.kind {
        StmtKind::If { cond, then, els } => is_condition(cond) && all(then) && els.as_ref().is_none_or(all),
        StmtKind::While { cond, body } => is_condition(cond) && all(body),
        StmtKind::ForRange { body, .. }
        | StmtKind::ForMap { body, .. }
        | StmtKind::Unroll { body, .. }
        | StmtKind::Block(body) => all(body),
        _ => true,
    }
}

fn is_condition(e: &Expr) -> bool {
    !matches!(&e.kind, ExprKind::Record(fields) if fields.len() == 1)
}

fn records() -> impl Strategy<Value = CRecord> {
    let ty = plain_types().prop_map(|mut ty| {
        ty.arrays.retain(Option::is_some);
        ty
    });
    let plain = (names(), ty, prop::option::of(1u32..64)).prop_map(|(name, ty, bits)| CMember {
        name,
        ty: CMemberType::Type(ty),
        bits,
    });
    let members = prop::collection::vec(plain, 0..3);
    let flat = (prop_oneof![Just(name("")), names()], any::<bool>(), members, any::<bool>()).prop_map(
        |(name, is_union, members, packed)| CRecord { name, is_union, members, packed, span: span() },
    );
    flat.prop_recursive(2, 6, 2, |inner| {
        let members = (inner.clone(), 0u32..3, prop::collection::vec(any::<u64>(), 0..2), names()).prop_map(
            |(record, pointers, arrays, name)| CMember {
                name,
                ty: CMemberType::Inline { record: Box::new(record), pointers, arrays },
                bits: None,
            },
        );
        (inner, prop::collection::vec(members, 0..3)).prop_map(|(mut record, mut members)| {
            record.members.append(&mut members);
            record
        })
    })
}

fn c_items() -> impl Strategy<Value = CItem> {
    let named = prop_oneof![Just(name("")), names()];
    prop_oneof![
        records().prop_map(CItem::Record),
        (named, prop::collection::vec((names(), prop::option::of(exprs())), 0..4))
            .prop_map(|(name, variants)| CItem::Enum(CEnum { name, variants, span: span() })),
        (names(), plain_types()).prop_map(|(name, ty)| CItem::Typedef { name, ty }),
        (names(), exprs()).prop_map(|(name, value)| CItem::Define { name, value }),
        "[a-z/.]{1,8}".prop_map(|path| CItem::Include { path, span: span() }),
    ]
}

fn config_entries() -> impl Strategy<Value = ConfigEntry> {
    let value = prop_oneof![
        any::<u64>().prop_map(ConfigValue::Int),
        any::<bool>().prop_map(ConfigValue::Bool),
        names().prop_map(|n| ConfigValue::Word(n.text)),
        any::<String>().prop_map(ConfigValue::Str),
    ];
    (names(), value).prop_map(|(key, value)| ConfigEntry { key, value, value_span: span() })
}

fn point(text: &str) -> AttachPointText {
    // Quotes hold what would divide.
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ':' if !quoted => parts.push(String::new()),
            _ => {}
        }
        if (c != ':' || quoted)
            && let Some(last) = parts.last_mut()
        {
            last.push(c);
        }
    }
    let parts = parts
        .into_iter()
        .map(|p| AttachPart { quoted: p.contains('"'), text: p.replace('"', ""), span: span() })
        .collect();
    AttachPointText { parts, text: text.to_owned(), span: span() }
}

fn probes() -> impl Strategy<Value = Probe> {
    let points = prop::collection::vec(prop::sample::select(&POINTS[..]).prop_map(point), 1..3);
    let predicate = prop::option::of(exprs().prop_filter("conditions", is_condition));
    (points, predicate, blocks()).prop_map(|(attach_points, predicate, body)| Probe {
        attach_points,
        predicate,
        body,
        span: span(),
    })
}

fn macros() -> impl Strategy<Value = Macro> {
    let kind =
        prop::sample::select(&[MacroParamKind::Variable, MacroParamKind::Map, MacroParamKind::Value][..]);
    let params =
        prop::collection::vec((names(), kind).prop_map(|(name, kind)| MacroParam { name, kind }), 0..4);
    (names(), params, blocks()).prop_map(|(name, params, body)| Macro { name, params, body, span: span() })
}

/// Whole scripts.
pub fn scripts() -> impl Strategy<Value = Script> {
    let decl = (names(), names(), exprs()).prop_map(|(map, kind, entries)| MapDecl {
        map,
        kind,
        entries,
        span: span(),
    });
    (
        prop::collection::vec(c_items(), 0..3),
        prop::collection::vec(config_entries(), 0..3),
        prop::collection::vec(decl, 0..2),
        prop::collection::vec(macros(), 0..2),
        prop::collection::vec(probes(), 0..3),
    )
        .prop_map(|(c_items, config, map_decls, macros, probes)| Script {
            c_items,
            config,
            map_decls,
            macros,
            probes,
        })
}
