//! Trees that nobody would write: the check must answer, and answer the same twice.

use proptest::prelude::*;
use strix_syntax::ast::{BinaryOp, UnaryOp};

use super::build::*;
use crate::builtins::{self, Variable};
use crate::hir::{Expr, ExprKind, MapId, Place, Stmt, StmtKind, VarId};
use crate::types::{Space, Type};

fn types() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        (prop_oneof![Just(1u8), Just(2), Just(4), Just(8)], any::<bool>())
            .prop_map(|(size, signed)| Type::Int { size, signed }),
        Just(Type::Bool),
        Just(Type::Void),
        (0u32..2000).prop_map(|cap| Type::Str { cap }),
        Just(Type::Username),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|to| Type::Pointer { to: Box::new(to), space: Space::Unknown }),
            (inner.clone(), prop_oneof![0u32..40, any::<u32>()])
                .prop_map(|(e, len)| Type::Array { element: Box::new(e), len }),
            prop::collection::vec(inner, 0..3).prop_map(Type::Tuple),
        ]
    })
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp as B;
    prop::sample::select(vec![
        B::Mul,
        B::Div,
        B::Mod,
        B::Add,
        B::Sub,
        B::Shl,
        B::Shr,
        B::Lt,
        B::Le,
        B::Eq,
        B::Ne,
        B::BitAnd,
        B::BitOr,
        B::BitXor,
        B::And,
        B::Or,
    ])
}

fn unary_op() -> impl Strategy<Value = UnaryOp> {
    prop::sample::select(vec![
        UnaryOp::Neg,
        UnaryOp::Not,
        UnaryOp::BitNot,
        UnaryOp::Deref,
        UnaryOp::AddressOf,
    ])
}

fn variable() -> impl Strategy<Value = Variable> {
    let all: Vec<Variable> = builtins::variables().map(|i| i.variable).collect();
    prop::sample::select(all)
}

fn exprs() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        prop_oneof![any::<u64>(), 0u64..9].prop_map(int),
        "[a-z%d]{0,9}".prop_map(|s| text(&s)),
        any::<bool>().prop_map(boolean),
        (0u32..4).prop_map(var),
        variable().prop_map(builtin),
        (any::<u64>(), types()).prop_map(|(v, t)| typed(v, t)),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let functions: Vec<_> = builtins::functions().map(|i| i.function).collect();
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            (binary_op(), inner.clone(), inner.clone()).prop_map(|(op, l, r)| binary(op, l, r)),
            (unary_op(), inner.clone()).prop_map(|(op, e)| unary(op, e)),
            (types(), inner.clone()).prop_map(|(t, e)| cast(t, e)),
            prop::collection::vec(inner.clone(), 0..4).prop_map(tuple),
            (0u32..4, prop::collection::vec(inner.clone(), 0..3)).prop_map(|(m, k)| map(m, k)),
            (prop::sample::select(functions), prop::collection::vec(inner.clone(), 0..5))
                .prop_map(|(f, args)| call(f, args)),
            (boxed.clone(), boxed.clone()).prop_map(|(base, index)| node(ExprKind::Index { base, index })),
            (boxed.clone(), 0u32..3).prop_map(|(base, index)| node(ExprKind::TupleField { base, index })),
            (boxed.clone(), prop::option::of(boxed.clone()), boxed.clone())
                .prop_map(|(cond, then, els)| node(ExprKind::Ternary { cond, then, els })),
            (any::<bool>(), 0u32..4, prop::collection::vec(inner.clone(), 0..2)).prop_map(
                |(increment, m, key)| {
                    node(ExprKind::IncDec { increment, prefix: false, place: place(m, key) })
                }
            ),
            boxed.prop_map(|e| node(ExprKind::Sizeof(e))),
        ]
    })
}

fn stmts() -> impl Strategy<Value = Stmt> {
    let leaf = prop_oneof![
        exprs().prop_map(eval),
        (0u32..4, exprs()).prop_map(|(v, e)| set_var(v, e)),
        (0u32..4, prop::collection::vec(exprs(), 0..3), exprs())
            .prop_map(|(m, key, value)| set(place(m, key), value)),
        (0u32..4, binary_op(), exprs()).prop_map(|(m, op, value)| {
            stmt(StmtKind::Assign { place: place(m, vec![]), op: Some(op), value })
        }),
        (0u32..4, binary_op(), exprs()).prop_map(|(v, op, value)| {
            stmt(StmtKind::Assign { place: Place::Var(VarId(v)), op: Some(op), value })
        }),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let body = prop::collection::vec(inner, 0..3);
        prop_oneof![
            (exprs(), body.clone(), body.clone()).prop_map(|(cond, then, els)| stmt(StmtKind::If {
                cond,
                then,
                els
            })),
            (0u32..4, exprs(), exprs(), body.clone())
                .prop_map(|(v, lo, hi, body)| { stmt(StmtKind::ForRange { var: VarId(v), lo, hi, body }) }),
            (0u32..4, 0u32..4, body)
                .prop_map(|(v, m, body)| { stmt(StmtKind::ForMap { var: VarId(v), map: MapId(m), body }) }),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_gets_an_answer(bodies in prop::collection::vec(prop::collection::vec(stmts(), 0..6), 1..3)) {
        let hir = script(bodies);
        let first = Checked::of(hir.clone());
        let second = Checked::of(hir);
        prop_assert_eq!(&first.said, &second.said);
        if let Some(typed) = first.typed {
            // Nothing that is read is left without a type, and sizes can be computed.
            for ty in typed.vars.iter().flatten() {
                prop_assert!(*ty != Type::Void);
                prop_assert!(typed.hir.types.size_of(ty) <= typed.hir.types.size_of(&Type::Tuple(vec![ty.clone()])));
            }
        }
    }
}
