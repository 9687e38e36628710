//! Functions that stand for other code of the language: what they mean is written in the syntax tree and resolved in their place.

use strix_model::Span;
use strix_syntax::ast::{Block, Expr, ExprKind, Name, Stmt, StmtKind, UnaryOp};

use super::body::Body;
use crate::hir;

/// Fields of a task that functions name: function, fields from the task.
const TASK_FIELDS: [(&str, [&str; 2]); 4] = [
    ("ppid", ["real_parent", "tgid"]),
    ("pcomm", ["real_parent", "comm"]),
    ("leader_tid", ["group_leader", "pid"]),
    ("leader_comm", ["group_leader", "comm"]),
];

impl Body<'_, '_> {
    /// What a call stands for, if it is of such a function; `Some(None)` after an error.
    pub(super) fn sugar(&mut self, word: &str, args: &[Expr], span: Span) -> Option<Option<hir::ExprKind>> {
        match (word, args) {
            ("find", _) => Some(self.find(args, span)),
            ("leader_tid" | "leader_comm", []) => {
                let task = Expr { kind: ExprKind::Ident("curtask".to_owned()), span };
                self.task_field(word, &task, span)
            }
            (_, [task]) => self.task_field(word, task, span),
            _ => None,
        }
    }

    fn task_field(&mut self, word: &str, task: &Expr, span: Span) -> Option<Option<hir::ExprKind>> {
        let (_, fields) = TASK_FIELDS.iter().find(|(name, _)| *name == word)?;
        let field = |base: Expr, name: &str| {
            let name = Name { text: name.to_owned(), span };
            Expr { kind: ExprKind::Field { base: Box::new(base), name, arrow: false }, span }
        };
        let whole = fields.iter().fold(task.clone(), |base, name| field(base, name));
        Some(Some(self.expr(&whole).kind))
    }

    /// `find(@map, key, $value)`: whether the key is there, and then the value in the variable.
    fn find(&mut self, args: &[Expr], span: Span) -> Option<hir::ExprKind> {
        let [map, key, value] = args else {
            self.error(
                span,
                format!("find() requires 3 arguments ({} provided): find(@map, key, $value)", args.len()),
            );
            return None;
        };
        let (ExprKind::Map { name, key: None }, ExprKind::Var(target)) = (&map.kind, &value.kind) else {
            self.error(span, "find() expects a map, a key and a variable: find(@map, key, $value)");
            return None;
        };
        // The variable is the caller's, also where it is new; then it is empty until something is found.
        let new = !self.scopes.knows(target);
        let variable = self.scopes.assign(target, value.span);
        let at = |kind| Expr { kind, span };
        let found = || at(ExprKind::Var(format!("found#{}", span.lo)));
        let has_key = Name { text: "has_key".to_owned(), span };
        let there = at(ExprKind::Call { name: has_key, args: vec![map.clone(), key.clone()] });
        let element = ExprKind::Map { name: name.clone(), key: Some(vec![key.clone()]) };
        let stmt = |kind| Stmt { kind, span };
        let take = stmt(StmtKind::Assign {
            target: value.clone(),
            op: None,
            value: Expr { kind: element, span: map.span },
        });
        let then = Block { stmts: vec![take], span };
        let stmts = vec![
            stmt(StmtKind::Assign { target: found(), op: None, value: there }),
            stmt(StmtKind::If { cond: found(), then, els: None }),
        ];
        let mut whole = self.expr(&at(ExprKind::Block { stmts, value: Box::new(found()) })).kind;
        if let (true, hir::ExprKind::Block { stmts, .. }) = (new, &mut whole) {
            stmts.insert(0, hir::Stmt { kind: hir::StmtKind::Let(variable), span: value.span });
        }
        Some(whole)
    }

    /// `assert(condition, message)`: an error message and the end of the session unless the condition holds.
    pub(super) fn assertion(&mut self, expr: &Expr) -> Option<hir::StmtKind> {
        let ExprKind::Call { name, args } = &expr.kind else { return None };
        let ("assert", [cond, message]) = (name.text.as_str(), args.as_slice()) else { return None };
        let span = expr.span;
        let call = |name: &str, args| {
            let name = Name { text: name.to_owned(), span };
            Stmt { kind: StmtKind::Expr(Expr { kind: ExprKind::Call { name, args }, span }), span }
        };
        let format = Expr { kind: ExprKind::Str("assert failed: %s".to_owned()), span };
        let one = Expr { kind: ExprKind::Int { value: 1, unsigned: false, duration: false }, span };
        let stmts = vec![call("errorf", vec![format, message.clone()]), call("exit", vec![one])];
        let failed = ExprKind::Unary { op: UnaryOp::Not, operand: Box::new(cond.clone()) };
        let kind = StmtKind::If {
            cond: Expr { kind: failed, span: cond.span },
            then: Block { stmts, span },
            els: None,
        };
        self.stmt(&Stmt { kind, span }).map(|s| s.kind)
    }
}
