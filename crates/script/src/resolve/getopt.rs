//! `getopt(name[, default[, description]])`: named parameters, folded to literals of the default's type.

use std::collections::BTreeMap;

use strix_facts::nearest;
use strix_model::{Diagnostic, Diagnostics, Span};
use strix_syntax::ast::{self, UnaryOp};

use super::body::Body;
use super::number;
use crate::Options;
use crate::hir::ExprKind;
use crate::types::Type;

/// A default, which also says what the values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Default {
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Text(String),
}

/// The options that the script asks for so far, with their defaults.
pub(super) type Known = BTreeMap<String, Default>;

impl Body<'_, '_> {
    pub(super) fn getopt(&mut self, args: &[ast::Expr], span: Span) -> Option<ExprKind> {
        let ([name] | [name, _] | [name, _, _]) = args else {
            self.error(span, format!("getopt() takes one to three arguments ({} provided)", args.len()));
            return None;
        };
        let ast::ExprKind::Str(name) = &name.kind else {
            self.error(name.span, "the first argument of getopt must be a string literal");
            return None;
        };
        let default = match args.get(1) {
            None => Default::Bool(false),
            Some(expr) => match literal(expr) {
                Some(default) => default,
                None => {
                    let message =
                        "the second argument of getopt must be a string, integer or boolean literal";
                    self.error(expr.span, message);
                    return None;
                }
            },
        };
        let known = self.shared.getopts.entry(name.clone()).or_insert_with(|| default.clone());
        if *known != default {
            self.error(span, format!("option '{name}' needs the same default value in all places"));
            return None;
        }
        let given = self.shared.options.named_params.iter().rev().find(|(n, _)| n == name);
        let value = match given {
            None => default,
            Some((_, value)) => match parse(&default, value.as_deref()) {
                Ok(value) => value,
                Err(reason) => {
                    self.error(span, format!("--{name}: {reason}"));
                    return None;
                }
            },
        };
        Some(match value {
            Default::Bool(b) => ExprKind::Bool(b),
            Default::Unsigned(value) => ExprKind::Int { value, ty: Some(Type::U64) },
            Default::Signed(value) => ExprKind::Int { value: value as u64, ty: Some(Type::I64) },
            Default::Text(text) => ExprKind::Str(text),
        })
    }
}

fn literal(expr: &ast::Expr) -> Option<Default> {
    Some(match &expr.kind {
        ast::ExprKind::Bool(b) => Default::Bool(*b),
        ast::ExprKind::Int { value, .. } => Default::Unsigned(*value),
        ast::ExprKind::Str(text) => Default::Text(text.clone()),
        ast::ExprKind::Unary { op: UnaryOp::Neg, operand } => match &operand.kind {
            ast::ExprKind::Int { value, .. } => Default::Signed(0i64.checked_sub_unsigned(*value)?),
            _ => return None,
        },
        _ => return None,
    })
}

/// A value as given, in the form of the default; no value is only right for a truth value.
fn parse(default: &Default, given: Option<&str>) -> Result<Default, String> {
    let needed = || "a value is needed, as in `--name=value`".to_owned();
    Ok(match default {
        Default::Bool(_) => match given.map(str::to_ascii_lowercase).as_deref() {
            None | Some("true" | "1") => Default::Bool(true),
            Some("false" | "0") => Default::Bool(false),
            Some(other) => return Err(format!("invalid value {other}: expected true, false, 1 or 0")),
        },
        Default::Unsigned(_) => Default::Unsigned(number::unsigned(given.ok_or_else(needed)?)?),
        Default::Signed(_) => Default::Signed(number::signed(given.ok_or_else(needed)?)?),
        Default::Text(_) => Default::Text(given.ok_or_else(needed)?.to_owned()),
    })
}

/// Refuses named parameters that the script does not ask for.
pub(super) fn check_unknown(options: &Options, known: &Known, diags: &mut Diagnostics) {
    for (name, _) in options.named_params.iter().filter(|(name, _)| !known.contains_key(name)) {
        let error = Diagnostic::error(Span::default(), format!("the script has no option --{name}"));
        diags.push(match nearest(name, known.keys().map(String::as_str)) {
            Some(near) => error.with_help(format!("did you mean `--{near}`?")),
            None if known.is_empty() => error.with_help("it has none: it calls getopt() nowhere"),
            None => {
                let all: Vec<String> = known.keys().map(|name| format!("--{name}")).collect();
                error.with_help(format!("its options are {}", all.join(", ")))
            }
        });
    }
}
