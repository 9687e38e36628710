//! The resolved tree: names are ids, attach points are concrete, parameters are literals. `check` adds the types in side tables.
//!
//! A probe's body stands here once for every *context* it is attached in, because `args.x` means another offset in another tracepoint.
//! Attach points that look alike to the body share one instance, and become one program.

use strix_model::{AttachPoint, ConfigValues, MapKind, ProgramKind, Span};
use strix_syntax::ast::{BinaryOp, UnaryOp};

use crate::builtins::{Function, Variable};
use crate::types::{RecordId, Type, Types};

/// An expression: index into [`Typed::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub u32);

/// A scratch variable of an instance: index into [`Instance::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VarId(pub u32);

/// A map: index into [`Hir::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MapId(pub u32);

/// A resolved script.
#[derive(Clone, Debug, Default)]
pub struct Hir {
    /// Settings from the environment, the config block and the defaults.
    pub config: ConfigValues,
    /// Maps in order of first use.
    pub maps: Vec<MapDef>,
    /// Records and enums met so far.
    pub types: Types,
    /// Probes as written.
    pub probes: Vec<ProbeDef>,
    /// Bodies per context, in declaration order.
    pub instances: Vec<Instance>,
    /// Full names of attach points; [`Site::name`] and `probe` index it.
    pub probe_names: Vec<String>,
    /// How many [`ExprId`]s were given out.
    pub expr_count: u32,
}

/// A map of the script.
#[derive(Clone, Debug)]
pub struct MapDef {
    /// Name with the `@`.
    pub name: String,
    /// First use.
    pub span: Span,
    /// Kind and entries, when declared by `let`.
    pub declared: Option<(MapKind, u32)>,
}

/// A probe as written.
#[derive(Clone, Debug)]
pub struct ProbeDef {
    /// Attach points as written, comma separated.
    pub name: String,
    /// The attach points' span.
    pub span: Span,
    /// Concrete attach points it stands for.
    pub attach_points: u32,
}

/// A concrete attach point of an instance.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where the kernel attaches. Several sites of [`Context::Syscalls`] have the same.
    pub point: AttachPoint,
    /// Index into [`Hir::probe_names`].
    pub name: u32,
    /// System call number, in [`Context::Syscalls`].
    pub syscall: Option<u32>,
}

/// What a program finds when it runs: what `ctx` points to, and where `args`, `argN` and `retval` are.
#[derive(Clone, Debug, PartialEq)]
pub enum Context {
    /// Begin and end: nothing.
    Nothing,
    /// `struct bpf_perf_event_data`: profile, interval, software, hardware.
    PerfEvent,
    /// A tracefs record; `args` has its fields.
    Tracepoint {
        /// Type of `args`.
        args: RecordId,
    },
    /// A tracepoint whose record is not looked at, or `rawtracepoint`: `u64` arguments. With `btf`, pointers among them may be followed directly.
    RawTracepoint {
        /// Type of `args`, where BTF knows it.
        args: Option<RecordId>,
        /// Program is a BTF tracepoint.
        btf: bool,
    },
    /// Many `syscalls:sys_enter_*` or `sys_exit_*` through one program on `raw_syscalls`: the arguments are `struct pt_regs *`
    /// and the system call number (enter) or the result (exit). Which calls are meant is in [`Site::syscall`]; when
    /// all calls are, `filter` is false.
    Syscalls {
        /// On entry, else on exit.
        enter: bool,
        /// Type of `args`, when all sites agree on what the body reads.
        args: Option<RecordId>,
        /// Not every call that exists is meant.
        filter: bool,
        /// Program is a BTF tracepoint, whose `pt_regs` may be read directly.
        btf: bool,
    },
    /// `struct pt_regs` at a kernel instruction.
    Kprobe,
    /// `struct pt_regs` at a kernel function's return.
    Kretprobe,
    /// `struct pt_regs` at a user instruction.
    Uprobe,
    /// `struct pt_regs` at a user function's return.
    Uretprobe,
    /// `u64` arguments of a kernel function.
    Fentry {
        /// Type of `args`.
        args: RecordId,
        /// Number of parameters.
        params: u8,
    },
    /// `u64` arguments of a kernel function, then its result.
    Fexit {
        /// Type of `args`.
        args: RecordId,
        /// Number of parameters.
        params: u8,
        /// Type of `retval`.
        ret: Type,
    },
}

/// A probe's body in one context.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Index into [`Hir::probes`].
    pub probe: u32,
    /// What it runs in.
    pub context: Context,
    /// How it is loaded and attached.
    pub kind: ProgramKind,
    /// Where. The attach cookie of a site is its `name`.
    pub sites: Vec<Site>,
    /// Let it pass only in the process of `-p`: the provider cannot filter by process itself.
    pub pid_filter: Option<u32>,
    /// Predicate.
    pub predicate: Option<Expr>,
    /// Statements.
    pub body: Vec<Stmt>,
    /// Scratch variables.
    pub vars: Vec<VarDef>,
}

/// A scratch variable; same names in different scopes are different variables.
#[derive(Clone, Debug)]
pub struct VarDef {
    /// Name with the `$`.
    pub name: String,
    /// Where it was introduced.
    pub span: Span,
    /// Type given by `let`.
    pub declared: Option<Type>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// What can be assigned to.
#[derive(Clone, Debug)]
pub enum Place {
    /// A variable.
    Var(VarId),
    /// A map's value.
    Map {
        /// Which.
        map: MapId,
        /// Key expressions; none for a scalar map.
        key: Vec<Expr>,
        /// Where.
        span: Span,
    },
}

/// Kinds of statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// For its effect.
    Expr(Expr),
    /// `place = value`, `place op= value`.
    Assign {
        /// Target.
        place: Place,
        /// Operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Value; a call of an aggregation when the target is an aggregation's map.
        value: Expr,
    },
    /// `let $x;` without a value: zero.
    Let(VarId),
    /// Conditional.
    If {
        /// Condition.
        cond: Expr,
        /// When true.
        then: Vec<Stmt>,
        /// When false.
        els: Vec<Stmt>,
    },
    /// Loop on a condition.
    While {
        /// Condition.
        cond: Expr,
        /// Body.
        body: Vec<Stmt>,
    },
    /// Loop over `lo..hi`.
    ForRange {
        /// Counter.
        var: VarId,
        /// First.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// Body.
        body: Vec<Stmt>,
    },
    /// Loop over a map; the variable is a tuple of key and value.
    ForMap {
        /// Entry.
        var: VarId,
        /// Which.
        map: MapId,
        /// Body.
        body: Vec<Stmt>,
    },
    /// Body `count` times.
    Unroll {
        /// How often: 1 to 100.
        count: u32,
        /// Body.
        body: Vec<Stmt>,
    },
    /// Leave the loop.
    Break,
    /// Next round.
    Continue,
    /// Leave the probe.
    Return(Option<Expr>),
    /// Statements of their own scope.
    Block(Vec<Stmt>),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Identity, for the side tables.
    pub id: ExprId,
    /// What.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Integer; `ty` when it is not a plain literal (enum constant, unsigned suffix).
    Int {
        /// Bits.
        value: u64,
        /// Known type.
        ty: Option<Type>,
    },
    /// String.
    Str(String),
    /// Truth value.
    Bool(bool),
    /// Scratch variable.
    Var(VarId),
    /// Map value. For an aggregation's map it is the sum over the CPUs.
    Map {
        /// Which.
        map: MapId,
        /// Key expressions; empty both for a scalar map and for the map as a whole (`print(@x)`).
        key: Vec<Expr>,
    },
    /// Built-in variable.
    Builtin(Variable),
    /// Function call. A map as a whole is a [`ExprKind::Map`] without keys (`print`, `clear`, `zero`, `len`). `delete` and `has_key` have one
    /// argument, the map with the key in it; a key that is a tuple literal is several keys, as in brackets. Words that are no values
    /// (`nsecs(boot)`, `kstack(perf, 3)`, `pid(init)`) are strings.
    Call {
        /// Which.
        function: Function,
        /// Arguments.
        args: Vec<Expr>,
        /// Where the name stands.
        name_span: Span,
    },
    /// Prefix operator.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `++`, `--`.
    IncDec {
        /// `++`.
        increment: bool,
        /// The value is the new one.
        prefix: bool,
        /// Target.
        place: Place,
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
    /// Choice; without `then` the condition's own value.
    Ternary {
        /// Condition.
        cond: Box<Expr>,
        /// When true.
        then: Option<Box<Expr>>,
        /// When false.
        els: Box<Expr>,
    },
    /// Field of a record, or of the record a pointer points to. `args` is a base of type record.
    Field {
        /// Left side.
        base: Box<Expr>,
        /// Field.
        name: String,
        /// Where the name stands.
        name_span: Span,
    },
    /// Element of a tuple.
    TupleField {
        /// Left side.
        base: Box<Expr>,
        /// From 0.
        index: u32,
    },
    /// Element of an array, of what a pointer points to, or character of a string.
    Index {
        /// Left side.
        base: Box<Expr>,
        /// Subscript.
        index: Box<Expr>,
    },
    /// Conversion.
    Cast {
        /// Target.
        ty: Type,
        /// Operand.
        operand: Box<Expr>,
    },
    /// Tuple.
    Tuple(Vec<Expr>),
    /// Record: names and values.
    Record(Vec<(String, Expr)>),
    /// `sizeof` an expression; `sizeof` a type and `offsetof` are integers already.
    Sizeof(Box<Expr>),
    /// `offsetof` in an expression's type.
    Offsetof {
        /// Expression whose type counts.
        of: Box<Expr>,
        /// Fields.
        path: Vec<String>,
    },
    /// Statements, then a value.
    Block {
        /// Statements.
        stmts: Vec<Stmt>,
        /// Value.
        value: Box<Expr>,
    },
    /// An error was reported.
    Error,
}

impl Expr {
    /// The value of a constant integer expression, signed or not as 64 bits.
    #[must_use]
    pub fn as_const(&self) -> Option<i64> {
        match &self.kind {
            ExprKind::Int { value, .. } => Some(*value as i64),
            ExprKind::Bool(b) => Some(i64::from(*b)),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => operand.as_const().map(i64::wrapping_neg),
            ExprKind::Unary { op: UnaryOp::BitNot, operand } => operand.as_const().map(|v| !v),
            ExprKind::Cast { ty: Type::Int { size: 8, .. }, operand } => operand.as_const(),
            ExprKind::Binary { op, lhs, rhs } => {
                let (l, r) = (lhs.as_const()?, rhs.as_const()?);
                match op {
                    BinaryOp::Add => Some(l.wrapping_add(r)),
                    BinaryOp::Sub => Some(l.wrapping_sub(r)),
                    BinaryOp::Mul => Some(l.wrapping_mul(r)),
                    BinaryOp::Div => l.checked_div(r),
                    BinaryOp::Mod => l.checked_rem(r),
                    BinaryOp::Shl => Some(l.wrapping_shl(r as u32)),
                    BinaryOp::BitAnd => Some(l & r),
                    BinaryOp::BitOr => Some(l | r),
                    BinaryOp::BitXor => Some(l ^ r),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The text of a string literal.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Str(text) => Some(text),
            _ => None,
        }
    }
}

/// The type of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapType {
    /// [`Type::Void`] for a scalar map; a tuple for several keys. Integers in keys are widened to 8 bytes.
    pub key: Type,
    /// A plain type (integers widened to 8 bytes), or [`Type::Aggregate`].
    pub value: Type,
}

/// A checked script: the tree untouched, and a type for everything in it.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The tree; `hir.types` has every record loaded that an expression looks into.
    pub hir: Hir,
    /// By [`ExprId`].
    pub exprs: Vec<Type>,
    /// By instance, then [`VarId`].
    pub vars: Vec<Vec<Type>>,
    /// By [`MapId`].
    pub maps: Vec<MapType>,
}

impl Typed {
    /// The type of an expression.
    #[must_use]
    pub fn type_of(&self, expr: &Expr) -> &Type {
        &self.exprs[expr.id.0 as usize]
    }
}
