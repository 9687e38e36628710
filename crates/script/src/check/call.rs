//! Calls of built-in functions: what they have in common. The rules of each are beside its documentation in `builtins`.

use strix_model::{Diagnostic, Span};

use super::Checker;
use super::join::Typing;
use crate::builtins::{self, Function, FunctionInfo};
use crate::hir::{Expr, ExprKind, MapId};
use crate::types::Type;

/// A call being checked.
#[derive(Clone, Copy)]
pub(crate) struct Call<'h> {
    pub(crate) info: &'static FunctionInfo,
    pub(crate) args: &'h [Expr],
    /// All of it.
    pub(crate) span: Span,
}

impl Checker<'_> {
    /// The type of a call.
    pub(super) fn call(&mut self, expr: &Expr, function: Function, args: &[Expr], name_span: Span) -> Type {
        let info = builtins::function(function);
        if info.is_aggregation() {
            let help = format!("write `@x = {};`", info.usage);
            self.push(|_| {
                let message = format!("{}() must be assigned directly to a map", info.name);
                Diagnostic::error(expr.span, message).with_help(help)
            });
            return Type::Void;
        }
        let call = Call { info, args, span: expr.span };
        if !self.count_args(&call, name_span) {
            self.look_at(args);
            return Type::Void;
        }
        self.needs(&call);
        (info.check)(self, &call)
    }

    /// The type of an aggregation's call on the right side of a map's assignment.
    pub(super) fn aggregation(
        &mut self,
        expr: &Expr,
        function: Function,
        args: &[Expr],
        name_span: Span,
    ) -> Typing {
        let info = builtins::function(function);
        let call = Call { info, args, span: expr.span };
        if !self.count_args(&call, name_span) {
            self.look_at(args);
            return Typing::fixed(Type::Void);
        }
        let ty = (info.check)(self, &call);
        // The sign of what is added up is as open as that of the value.
        let flex = args.first().map_or(super::join::Flex::No, |a| self.flex(a));
        Typing { ty, flex }
    }

    /// Checks arguments of which nothing else is known.
    pub(crate) fn look_at(&mut self, args: &[Expr]) {
        for arg in args {
            if !matches!(&arg.kind, ExprKind::Map { key, .. } if key.is_empty()) && arg.as_str().is_none() {
                self.expr(arg);
            }
        }
    }

    fn count_args(&mut self, call: &Call<'_>, name_span: Span) -> bool {
        let (min, max) = (usize::from(call.info.args.0), usize::from(call.info.args.1));
        let found = call.args.len();
        if (min..=max).contains(&found) {
            return true;
        }
        let some = |n: usize| match n {
            0 => "no arguments".to_owned(),
            1 => "one argument".to_owned(),
            n => format!("{n} arguments"),
        };
        let rule = match (min == max, found < min) {
            (true, _) => format!("requires {}", some(min)),
            (false, true) => format!("requires at least {}", some(min)),
            (false, false) => format!("takes up to {}", some(max)),
        };
        let (name, usage) = (call.info.name, call.info.usage);
        self.push(|_| {
            Diagnostic::error(name_span, format!("{name}() {rule} ({found} provided)"))
                .with_help(format!("usage: {usage}"))
        });
        false
    }

    fn needs(&mut self, call: &Call<'_>) {
        for feature in call.info.needs {
            if self.facts.features().by_name(feature) == Some(false) {
                self.missing_feature(call.span, feature, &format!("{}()", call.info.name));
            }
        }
    }

    /// An argument that must be an integer.
    pub(crate) fn integer_arg(&mut self, call: &Call<'_>, index: usize) -> Type {
        let Some(arg) = call.args.get(index) else { return Type::Void };
        match self.value(arg) {
            ty @ (Type::Void | Type::Int { .. } | Type::Enum { .. } | Type::Bool) => ty,
            other => {
                let (name, other) = (call.info.name, self.name(&other));
                self.error(arg.span, format!("{name}() only supports integer arguments ({other} provided)"))
            }
        }
    }

    /// An argument that must be a constant integer.
    pub(crate) fn constant_arg(&mut self, call: &Call<'_>, index: usize) -> Option<i64> {
        let arg = call.args.get(index)?;
        match arg.as_const() {
            Some(value) => {
                self.value(arg);
                Some(value)
            }
            None => {
                let ty = self.value(arg);
                let (name, ty) = (call.info.name, self.name(&ty));
                self.error(arg.span, format!("{name}() expects an integer literal ({ty} provided)"));
                None
            }
        }
    }

    /// An argument that must be a string literal.
    pub(crate) fn literal_arg<'h>(&mut self, call: &Call<'h>, index: usize) -> Option<&'h str> {
        let arg = call.args.get(index)?;
        match &arg.kind {
            ExprKind::Str(text) => {
                self.note(arg, Type::Str { cap: text.len() as u32 + 1 });
                Some(text)
            }
            ExprKind::Error => None,
            _ => {
                let ty = self.value(arg);
                let (name, ty) = (call.info.name, self.name(&ty));
                self.error(arg.span, format!("{name}() expects a string literal ({ty} provided)"));
                None
            }
        }
    }

    /// An argument that must be a map as a whole; for one without keys that is the map with its value.
    pub(crate) fn map_arg(&mut self, call: &Call<'_>, index: usize) -> Option<MapId> {
        let arg = call.args.get(index)?;
        match &arg.kind {
            ExprKind::Map { map, key } if key.is_empty() => {
                self.note(arg, Type::Void);
                Some(*map)
            }
            ExprKind::Error => None,
            _ => {
                self.expr(arg);
                let name = call.info.name;
                self.error(arg.span, format!("{name}() expects a map argument"));
                None
            }
        }
    }

    /// An argument that must be a map with its key in brackets.
    pub(crate) fn entry_arg(&mut self, call: &Call<'_>) -> Option<(MapId, bool)> {
        let arg = call.args.first()?;
        match &arg.kind {
            ExprKind::Map { map, key } if !key.is_empty() => {
                self.access_key(*map, key, arg.span);
                Some((*map, true))
            }
            ExprKind::Map { map, .. } => Some((*map, false)),
            ExprKind::Error => None,
            _ => {
                self.expr(arg);
                let name = call.info.name;
                self.error(arg.span, format!("{name}() expects a map argument"));
                None
            }
        }
    }

    /// An argument refused for its type.
    pub(crate) fn refuse_arg(&mut self, call: &Call<'_>, arg: &Expr, wanted: &str, ty: &Type) -> Type {
        let (name, ty) = (call.info.name, self.name(ty));
        self.error(arg.span, format!("{name}() {wanted} ({ty} provided)"))
    }
}
