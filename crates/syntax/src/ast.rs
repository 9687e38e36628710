//! The syntax tree: what was written, with a span on everything and nothing resolved.

use strix_model::Span;

/// A name as written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Text, without sigils.
    pub text: String,
    /// Where, sigil included.
    pub span: Span,
}

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// C declarations, in order.
    pub c_items: Vec<CItem>,
    /// Entries of all `config = { … }` blocks, in order.
    pub config: Vec<ConfigEntry>,
    /// `let @name = kind(entries);`
    pub map_decls: Vec<MapDecl>,
    /// `macro name(…) { … }`
    pub macros: Vec<Macro>,
    /// Probes, in order.
    pub probes: Vec<Probe>,
}

/// `macro name($x, value, @map) { … }`: statements that stand where the name is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Macro {
    /// Name.
    pub name: Name,
    /// Parameters in order.
    pub params: Vec<MacroParam>,
    /// What a call stands for; its value is that of its last statement, if that is an expression.
    pub body: Block,
    /// All of it.
    pub span: Span,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroParam {
    /// Name without sigil.
    pub name: Name,
    /// What may be given for it.
    pub kind: MacroParamKind,
}

/// What stands for a macro's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacroParamKind {
    /// A variable of the caller, which the macro can change.
    Variable,
    /// A map.
    Map,
    /// Any expression, put in where the name stands.
    Value,
}

/// `key = value` of a config block.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    /// Key.
    pub key: Name,
    /// Value.
    pub value: ConfigValue,
    /// Where the value stands.
    pub value_span: Span,
}

/// A config value.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigValue {
    /// Number.
    Int(u64),
    /// `true` or `false`.
    Bool(bool),
    /// A bare word, such as `warn`.
    Word(String),
    /// A quoted string.
    Str(String),
}

/// `let @name = kind(entries);`
#[derive(Clone, Debug, PartialEq)]
pub struct MapDecl {
    /// Map, without `@`.
    pub map: Name,
    /// `hash`, `lruhash`, `percpuhash`, `percpulruhash`.
    pub kind: Name,
    /// Entries.
    pub entries: Expr,
    /// All of it.
    pub span: Span,
}

/// One probe: attach points, predicate, body.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// At least one unless there was an error.
    pub attach_points: Vec<AttachPointText>,
    /// Between slashes.
    pub predicate: Option<Expr>,
    /// Statements.
    pub body: Block,
    /// From the first attach point to the closing brace.
    pub span: Span,
}

/// An attach point as written, split at its colons.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachPointText {
    /// Parts between colons, quotes removed and positional parameters still in place (`$1`). The provider is the first.
    pub parts: Vec<AttachPart>,
    /// The text as written.
    pub text: String,
    /// All of it.
    pub span: Span,
}

/// One part of an attach point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachPart {
    /// Text, without quotes.
    pub text: String,
    /// It stood in quotes, so that nothing in it is a parameter or divides it. Wildcards still are wildcards.
    pub quoted: bool,
    /// Where.
    pub span: Span,
}

/// Statements in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// Braces included.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// Kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// An expression for its effect.
    Expr(Expr),
    /// `target = value` or `target op= value`.
    Assign {
        /// `$x`, `@x`, `@x[k]`.
        target: Expr,
        /// The operator before `=`, if any.
        op: Option<BinaryOp>,
        /// Right side.
        value: Expr,
    },
    /// `_ = value`.
    Discard(Expr),
    /// `let $x[: type] [= value]`.
    Let {
        /// Variable without `$`.
        var: Name,
        /// Declared type.
        ty: Option<TypeExpr>,
        /// Initial value.
        init: Option<Expr>,
    },
    /// `if … else …`; `else if` is an `els` block of one statement.
    If {
        /// Condition.
        cond: Expr,
        /// Taken when it is true.
        then: Block,
        /// Taken when not.
        els: Option<Block>,
    },
    /// `while (cond) { … }`.
    While {
        /// Condition.
        cond: Expr,
        /// Body.
        body: Block,
    },
    /// `for ($i : lo..hi) { … }`.
    ForRange {
        /// Variable without `$`.
        var: Name,
        /// First value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// Body.
        body: Block,
    },
    /// `for ($kv : @map) { … }`.
    ForMap {
        /// Variable without `$`.
        var: Name,
        /// Map without `@`.
        map: Name,
        /// Body.
        body: Block,
    },
    /// `unroll (n) { … }`.
    Unroll {
        /// How often.
        count: Expr,
        /// Body.
        body: Block,
    },
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `return [value]`.
    Return(Option<Expr>),
    /// A block of its own.
    Block(Block),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Integer literal; durations are nanoseconds.
    Int {
        /// Value.
        value: u64,
        /// C suffix `u`.
        unsigned: bool,
        /// It was a duration (`10ms`).
        duration: bool,
    },
    /// String literal, escapes resolved.
    Str(String),
    /// `true`, `false`.
    Bool(bool),
    /// A word: built-in variable, enum constant, `args`, `ctx` …
    Ident(String),
    /// `$x`.
    Var(String),
    /// `@x` or `@x[k, …]`; the name without `@` (empty for `@`).
    Map {
        /// Name.
        name: String,
        /// Key expressions; `None` without brackets.
        key: Option<Vec<Expr>>,
    },
    /// `$1` …; from 1.
    Positional(u32),
    /// `$#`.
    PositionalCount,
    /// `name(args…)`.
    Call {
        /// Function.
        name: Name,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// Prefix operator.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `++` or `--` before or after a variable or map.
    IncDec {
        /// `++`, else `--`.
        increment: bool,
        /// Written before the target, so that the value is the new one.
        prefix: bool,
        /// `$x`, `@x`, `@x[k]`.
        target: Box<Expr>,
    },
    /// Infix operator.
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left.
        lhs: Box<Expr>,
        /// Right.
        rhs: Box<Expr>,
    },
    /// `cond ? then : els`; `cond ?: els` has no `then`.
    Ternary {
        /// Condition.
        cond: Box<Expr>,
        /// Value when true.
        then: Option<Box<Expr>>,
        /// Value when false.
        els: Box<Expr>,
    },
    /// `base.name` or `base->name`.
    Field {
        /// Left side.
        base: Box<Expr>,
        /// Field.
        name: Name,
        /// Written `->`.
        arrow: bool,
    },
    /// `base.N`.
    TupleField {
        /// Left side.
        base: Box<Expr>,
        /// From 0.
        index: u32,
    },
    /// `base[index]`.
    Index {
        /// Left side.
        base: Box<Expr>,
        /// Subscript.
        index: Box<Expr>,
    },
    /// `(type)operand`.
    Cast {
        /// Target type.
        ty: TypeExpr,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `(a, b)`, `(a,)`, `()`.
    Tuple(Vec<Expr>),
    /// `(name = value, …)`.
    Record(Vec<(Name, Expr)>),
    /// `sizeof(type)`.
    SizeofType(TypeExpr),
    /// `sizeof(expr)`.
    SizeofExpr(Box<Expr>),
    /// `offsetof(type, a.b)`; with an expression in place of the type its type counts.
    Offsetof {
        /// Struct type.
        of: OffsetofBase,
        /// Path of fields.
        path: Vec<Name>,
    },
    /// `{ …; value }`.
    Block {
        /// Statements before the value.
        stmts: Vec<Stmt>,
        /// Value.
        value: Box<Expr>,
    },
    /// Something that could not be parsed; an error was reported.
    Error,
}

/// What `offsetof` looks into.
#[derive(Clone, Debug, PartialEq)]
pub enum OffsetofBase {
    /// A type.
    Type(TypeExpr),
    /// An expression's type.
    Expr(Box<Expr>),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
    /// `~`
    BitNot,
    /// `*`
    Deref,
    /// `&`
    AddressOf,
}

impl UnaryOp {
    /// As written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Neg => "-",
            Self::Not => "!",
            Self::BitNot => "~",
            Self::Deref => "*",
            Self::AddressOf => "&",
        }
    }
}

/// Infix operators, from the tightest to the loosest level of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `&&`
    And,
    /// `||`
    Or,
}

impl BinaryOp {
    /// How tight it binds: C's levels, from 1 for `||` to 10 for `*`. Operators of one level group from the left.
    #[must_use]
    pub fn level(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::BitOr => 3,
            Self::BitXor => 4,
            Self::BitAnd => 5,
            Self::Eq | Self::Ne => 6,
            Self::Lt | Self::Le | Self::Gt | Self::Ge => 7,
            Self::Shl | Self::Shr => 8,
            Self::Add | Self::Sub => 9,
            Self::Mul | Self::Div | Self::Mod => 10,
        }
    }

    /// As written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::BitAnd => "&",
            Self::BitXor => "^",
            Self::BitOr => "|",
            Self::And => "&&",
            Self::Or => "||",
        }
    }
}

/// A type as written in a cast, declaration or C definition: `struct foo *`, `uint8[16]`, `string[64]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// The innermost type.
    pub base: TypeBase,
    /// Number of `*`.
    pub pointers: u32,
    /// Array lengths after it, outermost first; `None` is `[]`.
    pub arrays: Vec<Option<u64>>,
    /// Where.
    pub span: Span,
}

/// The innermost part of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeBase {
    /// A name: `uint64`, `bool`, `string`, a C integer type (words joined by one space, `unsigned long`), a typedef.
    Named(String),
    /// `struct NAME`.
    Struct(String),
    /// `union NAME`.
    Union(String),
    /// `enum NAME`.
    Enum(String),
    /// `typeof(expr)`.
    TypeofExpr(Box<Expr>),
    /// `(a, b)`: a tuple type.
    Tuple(Vec<TypeExpr>),
}

/// A C declaration in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum CItem {
    /// `struct NAME { … };` or `union NAME { … };`, also what `typedef struct { … } NAME;` declares.
    Record(CRecord),
    /// `enum NAME { … };`
    Enum(CEnum),
    /// `typedef type NAME;`
    Typedef {
        /// New name.
        name: Name,
        /// What it stands for.
        ty: TypeExpr,
    },
    /// `#define NAME tokens` with a constant expression.
    Define {
        /// Name.
        name: Name,
        /// Value.
        value: Expr,
    },
    /// `#include <…>`: the kernel's types are known without it.
    Include {
        /// Between the brackets or quotes.
        path: String,
        /// Where.
        span: Span,
    },
}

/// A struct or union definition.
#[derive(Clone, Debug, PartialEq)]
pub struct CRecord {
    /// Tag; empty when anonymous.
    pub name: Name,
    /// `union`.
    pub is_union: bool,
    /// Members in order.
    pub members: Vec<CMember>,
    /// `__attribute__((packed))`.
    pub packed: bool,
    /// All of it.
    pub span: Span,
}

/// A member of a C record.
#[derive(Clone, Debug, PartialEq)]
pub struct CMember {
    /// Name; empty for an anonymous struct or union.
    pub name: Name,
    /// Type.
    pub ty: CMemberType,
    /// Width of a bit-field.
    pub bits: Option<u32>,
}

/// Type of a member: named elsewhere or defined in place.
#[derive(Clone, Debug, PartialEq)]
pub enum CMemberType {
    /// A type by name.
    Type(TypeExpr),
    /// `struct { … } name;`, with pointers and arrays after it.
    Inline {
        /// Definition.
        record: Box<CRecord>,
        /// Number of `*`.
        pointers: u32,
        /// Array lengths, outermost first.
        arrays: Vec<u64>,
    },
}

/// An enum definition.
#[derive(Clone, Debug, PartialEq)]
pub struct CEnum {
    /// Tag; empty when anonymous.
    pub name: Name,
    /// Names with their values, where given.
    pub variants: Vec<(Name, Option<Expr>)>,
    /// All of it.
    pub span: Span,
}
