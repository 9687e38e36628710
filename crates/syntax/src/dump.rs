//! Tree → its shape, one node a line: what belongs to what, where the printed text leaves it to the rules of the language.
//!
//! For people and tests; nothing reads it back.

use crate::ast::{Block, Expr, ExprKind, MacroParamKind, OffsetofBase, Probe, Script, Stmt, StmtKind};
use crate::print::{self, print};

/// The shape of a script.
#[must_use]
pub fn dump(script: &Script) -> String {
    let mut dumper = Dumper::default();
    dumper.script(script);
    dumper.out
}

#[derive(Default)]
struct Dumper {
    out: String,
    depth: usize,
}

impl Dumper {
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A node with what stands below it.
    fn node(&mut self, text: &str, below: impl FnOnce(&mut Self)) {
        self.line(text);
        self.depth += 1;
        below(self);
        self.depth -= 1;
    }

    fn script(&mut self, script: &Script) {
        // Declarations have no grouping to show: their text is their shape.
        let declarations = Script { macros: Vec::new(), probes: Vec::new(), ..script.clone() };
        self.out.push_str(&print(&declarations));
        for item in &script.macros {
            self.node(&format!("macro {}", item.name.text), |d| {
                for param in &item.params {
                    let kind = match param.kind {
                        MacroParamKind::Variable => "variable",
                        MacroParamKind::Map => "map",
                        MacroParamKind::Value => "value",
                    };
                    d.line(&format!("{kind} {}", param.name.text));
                }
                d.block("body", &item.body);
            });
        }
        for probe in &script.probes {
            self.probe(probe);
        }
    }

    fn probe(&mut self, probe: &Probe) {
        self.node("probe", |d| {
            for point in &probe.attach_points {
                let parts: Vec<String> = point
                    .parts
                    .iter()
                    .map(|p| if p.quoted { format!("{:?}", p.text) } else { p.text.clone() })
                    .collect();
                d.line(&format!("at {}", parts.join(" : ")));
            }
            if let Some(predicate) = &probe.predicate {
                d.part("predicate", predicate);
            }
            d.block("body", &probe.body);
        });
    }

    fn part(&mut self, name: &str, expr: &Expr) {
        self.node(name, |d| d.expr(expr));
    }

    fn block(&mut self, name: &str, block: &Block) {
        self.node(name, |d| block.stmts.iter().for_each(|s| d.stmt(s)));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Assign { target, op, value } => {
                self.node(&format!("{}=", op.map_or("", |op| op.text())), |d| {
                    d.expr(target);
                    d.expr(value);
                });
            }
            StmtKind::Discard(value) => self.part("discard", value),
            StmtKind::Let { var, ty, init } => {
                let ty = ty.as_ref().map(|ty| format!(": {}", print::type_text(ty))).unwrap_or_default();
                self.node(&format!("let ${}{ty}", var.text), |d| init.iter().for_each(|e| d.expr(e)));
            }
            StmtKind::If { cond, then, els } => self.node("if", |d| {
                d.expr(cond);
                d.block("then", then);
                els.iter().for_each(|els| d.block("else", els));
            }),
            StmtKind::While { cond, body } => self.node("while", |d| {
                d.expr(cond);
                d.block("body", body);
            }),
            StmtKind::ForRange { var, lo, hi, body } => self.node(&format!("for ${}", var.text), |d| {
                d.part("from", lo);
                d.part("to", hi);
                d.block("body", body);
            }),
            StmtKind::ForMap { var, map, body } => {
                self.node(&format!("for ${} in @{}", var.text, map.text), |d| d.block("body", body));
            }
            StmtKind::Unroll { count, body } => self.node("unroll", |d| {
                d.expr(count);
                d.block("body", body);
            }),
            StmtKind::Break => self.line("break"),
            StmtKind::Continue => self.line("continue"),
            StmtKind::Return(value) => self.node("return", |d| value.iter().for_each(|e| d.expr(e))),
            StmtKind::Block(body) => self.block("block", body),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Map { name, key: Some(key) } => self.list(&format!("@{name}[]"), key),
            ExprKind::Call { name, args } => self.list(&format!("{}()", name.text), args),
            ExprKind::Tuple(items) => self.list("tuple", items),
            ExprKind::Record(fields) => self.node("record", |d| {
                fields.iter().for_each(|(name, value)| d.part(&format!("{} =", name.text), value));
            }),
            ExprKind::Unary { op, operand } => self.part(op.text(), operand),
            ExprKind::IncDec { increment, prefix, target } => {
                let op = if *increment { "++" } else { "--" };
                self.part(&if *prefix { format!("{op} before") } else { format!("{op} after") }, target);
            }
            ExprKind::Binary { op, lhs, rhs } => self.node(op.text(), |d| {
                d.expr(lhs);
                d.expr(rhs);
            }),
            ExprKind::Ternary { cond, then, els } => {
                self.node(if then.is_some() { "? :" } else { "?:" }, |d| {
                    d.expr(cond);
                    then.iter().for_each(|e| d.expr(e));
                    d.expr(els);
                });
            }
            ExprKind::Field { base, name, arrow } => {
                self.part(&format!("{}{}", if *arrow { "->" } else { "." }, name.text), base);
            }
            ExprKind::TupleField { base, index } => self.part(&format!(".{index}"), base),
            ExprKind::Index { base, index } => self.node("[]", |d| {
                d.expr(base);
                d.expr(index);
            }),
            ExprKind::Cast { ty, operand } => {
                self.part(&format!("cast to {}", print::type_text(ty)), operand);
            }
            ExprKind::SizeofType(ty) => self.line(&format!("sizeof type {}", print::type_text(ty))),
            ExprKind::SizeofExpr(of) => self.part("sizeof value", of),
            ExprKind::Offsetof { of, path } => {
                let path: Vec<&str> = path.iter().map(|n| n.text.as_str()).collect();
                let path = path.join(".");
                match of {
                    OffsetofBase::Type(ty) => {
                        self.line(&format!("offsetof {path} in type {}", print::type_text(ty)));
                    }
                    OffsetofBase::Expr(of) => self.part(&format!("offsetof {path} in value"), of),
                }
            }
            ExprKind::Block { stmts, value } => self.node("block value", |d| {
                stmts.iter().for_each(|s| d.stmt(s));
                d.expr(value);
            }),
            ExprKind::Error => self.line("error"),
            // A leaf is its text.
            ExprKind::Int { .. }
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Ident(_)
            | ExprKind::Var(_)
            | ExprKind::Map { key: None, .. }
            | ExprKind::Positional(_)
            | ExprKind::PositionalCount => self.line(&print::print_expr(expr)),
        }
    }

    fn list(&mut self, name: &str, items: &[Expr]) {
        self.node(name, |d| items.iter().for_each(|e| d.expr(e)));
    }
}

#[cfg(test)]
mod tests {
    use strix_model::{Diagnostics, FileId};

    fn shape(text: &str) -> String {
        let mut diags = Diagnostics::default();
        let script = crate::parse(FileId(0), text, &mut diags);
        assert!(diags.is_empty(), "{:?}", diags.sorted());
        super::dump(&script)
    }

    #[test]
    fn grouping_is_shown() {
        let expected = "\
probe
  at kprobe : f
  at uprobe : \"/a b\" : g
  predicate
    ==
      pid
      +
        1
        *
          2
          -
            3
  body
    =
      @x[]
        tid
        \"a\\n\"
      cast to struct s *
        ->b
          .a
            arg0
    ++ after
      $i
    if
      !
        $i
      then
        print()
          @x
      else
        return
";
        let text = "kprobe:f, uprobe:\"/a b\":g /pid == 1 + 2 * -3/ { @x[tid, \"a\\n\"] = (struct s *)arg0.a->b; $i++; \
                    if (!$i) { print(@x); } else { return; } }";
        assert_eq!(shape(text), expected);
    }

    #[test]
    fn declarations_are_their_text() {
        let text = "#define N 4\nstruct s {\n    char a[4];\n};\nlet @m = hash(5);\n";
        assert_eq!(shape(text), text);
        assert_eq!(
            shape("macro m(v, $x, @y) { v }"),
            "macro m\n  value v\n  variable x\n  map y\n  body\n    v\n"
        );
    }
}
