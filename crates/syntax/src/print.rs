//! Tree → text. Parsing the text gives the same tree again, spans aside.

use std::fmt::Write as _;

use crate::ast::{
    Block, CEnum, CItem, CMember, CMemberType, CRecord, ConfigValue, Expr, ExprKind, MacroParam,
    MacroParamKind, OffsetofBase, Script, Stmt, StmtKind, TypeBase, TypeExpr, UnaryOp,
};

/// Prints a script.
#[must_use]
pub fn print(script: &Script) -> String {
    let mut printer = Printer::default();
    printer.script(script);
    printer.out
}

/// Prints an expression.
#[must_use]
pub fn print_expr(expr: &Expr) -> String {
    let mut printer = Printer::default();
    printer.expr(expr);
    printer.out
}

/// Prints a type.
pub(crate) fn type_text(ty: &TypeExpr) -> String {
    let mut printer = Printer::default();
    printer.ty(ty);
    printer.out
}

#[derive(Default)]
struct Printer {
    out: String,
    indent: usize,
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($p:expr, $($arg:tt)*) => {{ let _ = write!($p.out, $($arg)*); }};
}

fn param(param: &MacroParam) -> String {
    let sigil = match param.kind {
        MacroParamKind::Variable => "$",
        MacroParamKind::Map => "@",
        MacroParamKind::Value => "",
    };
    format!("{sigil}{}", param.name.text)
}

impl Printer {
    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    fn script(&mut self, script: &Script) {
        for item in &script.c_items {
            self.c_item(item);
            self.out.push('\n');
        }
        if !script.config.is_empty() {
            self.out.push_str("config = {\n");
            for entry in &script.config {
                put!(self, "    {} = ", entry.key.text);
                match &entry.value {
                    ConfigValue::Int(value) => put!(self, "{value}"),
                    ConfigValue::Bool(value) => put!(self, "{value}"),
                    ConfigValue::Word(word) => self.out.push_str(word),
                    ConfigValue::Str(text) => self.string(text),
                }
                self.out.push_str(";\n");
            }
            self.out.push_str("}\n");
        }
        for decl in &script.map_decls {
            put!(self, "let @{} = {}(", decl.map.text, decl.kind.text);
            self.expr(&decl.entries);
            self.out.push_str(");\n");
        }
        for item in &script.macros {
            let params: Vec<String> = item.params.iter().map(param).collect();
            put!(self, "macro {}({}) ", item.name.text, params.join(", "));
            self.block(&item.body);
            self.out.push('\n');
        }
        for probe in &script.probes {
            let points: Vec<&str> = probe.attach_points.iter().map(|p| p.text.as_str()).collect();
            self.out.push_str(&points.join(",\n"));
            if let Some(predicate) = &probe.predicate {
                self.out.push_str(" /");
                let start = self.out.len();
                self.no_block(predicate);
                if self.out[start..].starts_with('*') {
                    // Not a comment.
                    self.out.insert(start, ' ');
                }
                self.out.push('/');
            }
            self.out.push(' ');
            self.block(&probe.body);
            self.out.push('\n');
        }
    }

    fn c_item(&mut self, item: &CItem) {
        match item {
            CItem::Record(record) => {
                self.c_record(record);
                self.out.push(';');
            }
            CItem::Enum(def) => self.c_enum(def),
            CItem::Typedef { name, ty } => {
                self.out.push_str("typedef ");
                self.type_prefix(ty);
                put!(self, "{}", name.text);
                self.arrays(ty);
                self.out.push(';');
            }
            CItem::Define { name, value } => {
                put!(self, "#define {} ", name.text);
                let start = self.out.len();
                self.expr(value);
                let value = self.out.split_off(start).replace('\n', "\\\n");
                self.out.push_str(&value);
            }
            CItem::Include { path, .. } => put!(self, "#include <{path}>"),
        }
    }

    fn c_record(&mut self, record: &CRecord) {
        self.out.push_str(if record.is_union { "union " } else { "struct " });
        if !record.name.text.is_empty() {
            put!(self, "{} ", record.name.text);
        }
        self.out.push('{');
        self.indent += 1;
        for member in &record.members {
            self.line();
            self.c_member(member);
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
        if record.packed {
            self.out.push_str(" __attribute__((packed))");
        }
    }

    fn c_member(&mut self, member: &CMember) {
        match &member.ty {
            CMemberType::Type(ty) => {
                self.type_prefix(ty);
                put!(self, "{}", member.name.text);
                self.arrays(ty);
            }
            CMemberType::Inline { record, pointers, arrays } => {
                self.c_record(record);
                put!(self, " {}{}", "*".repeat(*pointers as usize), member.name.text);
                for len in arrays {
                    put!(self, "[{len}]");
                }
            }
        }
        if let Some(bits) = member.bits {
            put!(self, " : {bits}");
        }
        self.out.push(';');
    }

    fn c_enum(&mut self, def: &CEnum) {
        let tag = def.name.text.as_str();
        put!(self, "enum {tag}{}{{ ", if tag.is_empty() { "" } else { " " });
        for (name, value) in &def.variants {
            put!(self, "{}", name.text);
            if let Some(value) = value {
                self.out.push_str(" = ");
                self.expr(value);
            }
            self.out.push_str(", ");
        }
        self.out.push_str("};");
    }

    fn block(&mut self, block: &Block) {
        self.out.push('{');
        self.indent += 1;
        for stmt in &block.stmts {
            self.line();
            self.stmt(stmt);
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.no_block(expr),
            StmtKind::Assign { target, op, value } => {
                self.expr(target);
                put!(self, " {}= ", op.map_or("", |op| op.text()));
                self.expr(value);
            }
            StmtKind::Discard(value) => {
                self.out.push_str("_ = ");
                self.expr(value);
            }
            StmtKind::Let { var, ty, init } => {
                put!(self, "let ${}", var.text);
                if let Some(ty) = ty {
                    self.out.push_str(": ");
                    self.ty(ty);
                }
                if let Some(init) = init {
                    self.out.push_str(" = ");
                    self.expr(init);
                }
            }
            StmtKind::If { cond, then, els } => return self.if_else(cond, then, els.as_ref()),
            StmtKind::While { cond, body } => return self.headed("while ", cond, body),
            StmtKind::Unroll { count, body } => return self.headed("unroll ", count, body),
            StmtKind::ForRange { var, lo, hi, body } => {
                put!(self, "for (${} : ", var.text);
                self.expr(lo);
                self.out.push_str("..");
                self.expr(hi);
                self.out.push_str(") ");
                return self.block(body);
            }
            StmtKind::ForMap { var, map, body } => {
                put!(self, "for (${} : @{}) ", var.text, map.text);
                return self.block(body);
            }
            StmtKind::Break => self.out.push_str("break"),
            StmtKind::Continue => self.out.push_str("continue"),
            StmtKind::Return(None) => self.out.push_str("return"),
            StmtKind::Return(Some(value)) => {
                self.out.push_str("return ");
                self.expr(value);
            }
            StmtKind::Block(body) => return self.block(body),
        }
        self.out.push(';');
    }

    fn headed(&mut self, word: &str, cond: &Expr, body: &Block) {
        self.out.push_str(word);
        self.out.push('(');
        self.expr(cond);
        self.out.push_str(") ");
        self.block(body);
    }

    fn if_else(&mut self, cond: &Expr, then: &Block, els: Option<&Block>) {
        self.headed("if ", cond, then);
        let Some(els) = els else { return };
        self.out.push_str(" else ");
        match els.stmts.as_slice() {
            // What the parser made of `else if` is a block with the span of its only statement.
            [Stmt { kind: StmtKind::If { cond, then, els: inner }, span }] if *span == els.span => {
                self.if_else(cond, then, inner.as_ref());
            }
            _ => self.block(els),
        }
    }

    fn list(&mut self, list: &[Expr]) {
        for (i, expr) in list.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.expr(expr);
        }
    }

    /// An operand: parenthesised unless it is a word, a literal or an access.
    fn operand(&mut self, expr: &Expr) {
        let simple = !matches!(
            expr.kind,
            ExprKind::Unary { .. }
                | ExprKind::Binary { .. }
                | ExprKind::Ternary { .. }
                | ExprKind::Cast { .. }
                | ExprKind::IncDec { .. }
                // A slash before a brace ends a predicate.
                | ExprKind::Block { .. }
        );
        if simple {
            return self.expr(expr);
        }
        self.out.push('(');
        self.expr(expr);
        self.out.push(')');
    }

    /// An expression in a place where braces would be statements.
    fn no_block(&mut self, expr: &Expr) {
        match expr.kind {
            ExprKind::Block { .. } => self.operand(expr),
            _ => self.expr(expr),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int { value, unsigned, duration } => {
                let suffix = if *duration {
                    "ns"
                } else if *unsigned && *value > u64::from(u32::MAX) {
                    "ul"
                } else if *unsigned {
                    "u"
                } else {
                    ""
                };
                put!(self, "{value}{suffix}");
            }
            ExprKind::Str(text) => self.string(text),
            ExprKind::Bool(value) => put!(self, "{value}"),
            ExprKind::Ident(word) => self.out.push_str(word),
            ExprKind::Var(name) => put!(self, "${name}"),
            ExprKind::Map { name, key } => {
                put!(self, "@{name}");
                if let Some(key) = key {
                    self.out.push('[');
                    self.list(key);
                    self.out.push(']');
                }
            }
            ExprKind::Positional(n) => put!(self, "${n}"),
            ExprKind::PositionalCount => self.out.push_str("$#"),
            ExprKind::Call { name, args } => {
                put!(self, "{}(", name.text);
                self.list(args);
                self.out.push(')');
            }
            ExprKind::Unary { op, operand } => {
                self.out.push_str(op.text());
                // `--x` and `&&x` would be something else.
                match &operand.kind {
                    ExprKind::Unary { op: inner, .. }
                        if inner != op || !matches!(op, UnaryOp::Neg | UnaryOp::AddressOf) =>
                    {
                        self.expr(operand);
                    }
                    _ => self.operand(operand),
                }
            }
            ExprKind::IncDec { increment, prefix, target } => {
                let op = if *increment { "++" } else { "--" };
                if *prefix {
                    self.out.push_str(op);
                }
                self.expr(target);
                if !prefix {
                    self.out.push_str(op);
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                // A chain reads as it was written; parentheses for all of it would nest as deep as it is long.
                match &lhs.kind {
                    ExprKind::Binary { op: inner, .. } if inner.level() == op.level() => self.expr(lhs),
                    _ => self.operand(lhs),
                }
                put!(self, " {} ", op.text());
                self.operand(rhs);
            }
            ExprKind::Ternary { cond, then, els } => {
                self.operand(cond);
                match then {
                    Some(then) => {
                        self.out.push_str(" ? ");
                        self.operand(then);
                        self.out.push_str(" : ");
                    }
                    None => self.out.push_str(" ?: "),
                }
                match &els.kind {
                    ExprKind::Ternary { .. } => self.expr(els),
                    _ => self.operand(els),
                }
            }
            _ => self.access(expr),
        }
    }

    /// Accesses, casts and compound values.
    fn access(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field { base, name, arrow } => {
                self.operand(base);
                put!(self, "{}{}", if *arrow { "->" } else { "." }, name.text);
            }
            ExprKind::TupleField { base, index } => {
                self.operand(base);
                put!(self, ".{index}");
            }
            ExprKind::Index { base, index } => {
                // `@x[1]` would be a map's key.
                let keyless = matches!(base.kind, ExprKind::Map { key: None, .. });
                if keyless {
                    self.out.push('(');
                }
                self.operand(base);
                if keyless {
                    self.out.push(')');
                }
                self.out.push('[');
                self.expr(index);
                self.out.push(']');
            }
            ExprKind::Cast { ty, operand } => {
                self.out.push('(');
                self.ty(ty);
                self.out.push(')');
                match &operand.kind {
                    ExprKind::Cast { .. } => self.expr(operand),
                    _ => self.operand(operand),
                }
            }
            ExprKind::Tuple(items) => {
                self.out.push('(');
                self.list(items);
                self.out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            ExprKind::Record(fields) => {
                self.out.push('(');
                for (i, (name, value)) in fields.iter().enumerate() {
                    put!(self, "{}{} = ", if i > 0 { ", " } else { "" }, name.text);
                    self.expr(value);
                }
                self.out.push(')');
            }
            ExprKind::SizeofType(ty) => {
                self.out.push_str("sizeof(");
                self.ty(ty);
                self.out.push(')');
            }
            ExprKind::SizeofExpr(of) => {
                self.out.push_str("sizeof(");
                self.expr(of);
                self.out.push(')');
            }
            ExprKind::Offsetof { of, path } => {
                self.out.push_str("offsetof(");
                match of {
                    OffsetofBase::Type(ty) => self.ty(ty),
                    OffsetofBase::Expr(of) => self.expr(of),
                }
                let path: Vec<&str> = path.iter().map(|n| n.text.as_str()).collect();
                put!(self, ", {})", path.join("."));
            }
            ExprKind::Block { stmts, value } => {
                self.out.push_str("{ ");
                for stmt in stmts {
                    self.stmt(stmt);
                    self.out.push(' ');
                }
                self.no_block(value);
                self.out.push_str(" }");
            }
            _ => {}
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        self.type_prefix(ty);
        if self.out.ends_with(' ') {
            self.out.pop();
        }
        self.arrays(ty);
    }

    fn arrays(&mut self, ty: &TypeExpr) {
        for len in &ty.arrays {
            match len {
                Some(len) => put!(self, "[{len}]"),
                None => self.out.push_str("[]"),
            }
        }
    }

    /// The type without its arrays, ready for a name.
    fn type_prefix(&mut self, ty: &TypeExpr) {
        match &ty.base {
            TypeBase::Named(name) => self.out.push_str(name),
            TypeBase::Struct(name) => put!(self, "struct {name}"),
            TypeBase::Union(name) => put!(self, "union {name}"),
            TypeBase::Enum(name) => put!(self, "enum {name}"),
            TypeBase::TypeofExpr(of) => {
                self.out.push_str("typeof(");
                self.expr(of);
                self.out.push(')');
            }
            TypeBase::Tuple(items) => {
                self.out.push('(');
                for (i, item) in items.iter().enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.ty(item);
                }
                self.out.push(')');
            }
        }
        self.out.push(' ');
        self.out.push_str(&"*".repeat(ty.pointers as usize));
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                c if u32::from(c) < 32 || c == '\u{7f}' => put!(self, "\\x{:02x}", u32::from(c)),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
