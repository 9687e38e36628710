//! Types as people read them: `uint64`, `string[16]`, `struct task_struct *`.

use strix_model::{MapValue, StackMode};

use crate::types::{NameTable, Type, Types};

/// The name of a type.
#[must_use]
pub fn type_name(types: &Types, ty: &Type) -> String {
    match ty {
        Type::Void => "void".to_owned(),
        Type::Int { size, signed } => integer(*size, *signed),
        Type::Bool => "bool".to_owned(),
        Type::Enum { id, size, signed } => match types.enumeration(*id).name.as_str() {
            "" => integer(*size, *signed),
            name => format!("enum {name}"),
        },
        Type::Str { cap } => format!("string[{cap}]"),
        Type::Buffer { cap } => format!("buffer[{cap}]"),
        Type::Pointer { to, .. } => match type_name(types, to) {
            name if name.ends_with('*') => format!("{name}*"),
            name => format!("{name} *"),
        },
        Type::Record(id) => types.record(*id).name.clone(),
        Type::Array { element, len } => format!("{}[{len}]", type_name(types, element)),
        Type::Tuple(items) => {
            let names: Vec<String> = items.iter().map(|t| type_name(types, t)).collect();
            format!("({})", names.join(","))
        }
        Type::KernelStack { limit, mode } => stack("kstack", *limit, *mode),
        Type::UserStack { limit, mode } => stack("ustack", *limit, *mode),
        Type::KernelSymbol => "ksym_t".to_owned(),
        Type::UserSymbol => "usym_t".to_owned(),
        Type::Function => "func".to_owned(),
        Type::Inet => "inet".to_owned(),
        Type::Mac => "mac_address".to_owned(),
        Type::Timestamp { .. } => "timestamp".to_owned(),
        Type::Username => "username_t".to_owned(),
        Type::ProbeName => "probe".to_owned(),
        Type::CgroupPath => "cgroup_path".to_owned(),
        Type::Named(NameTable::Error) => "error name".to_owned(),
        Type::Named(NameTable::Signal) => "signal name".to_owned(),
        Type::Named(NameTable::Syscall) => "system call name".to_owned(),
        Type::Aggregate(value) => aggregate_name(value).to_owned(),
    }
}

fn stack(name: &str, limit: u16, mode: StackMode) -> String {
    let mode = match mode {
        StackMode::Bpftrace => "",
        StackMode::Perf => "perf, ",
        StackMode::Raw => "raw, ",
        StackMode::BuildId => "build_id, ",
    };
    format!("{name}({mode}{limit})")
}

fn integer(size: u8, signed: bool) -> String {
    format!("{}int{}", if signed { "" } else { "u" }, u32::from(size) * 8)
}

/// The name of an aggregation's value, `count_t`.
#[must_use]
pub fn aggregate_name(value: &MapValue) -> &'static str {
    match value {
        MapValue::Plain(_) => "value",
        MapValue::Count => "count_t",
        MapValue::Sum { .. } => "sum_t",
        MapValue::Min { .. } => "min_t",
        MapValue::Max { .. } => "max_t",
        MapValue::Avg { .. } => "avg_t",
        MapValue::Stats { .. } => "stats_t",
        MapValue::Hist { .. } => "hist_t",
        MapValue::Lhist { .. } => "lhist_t",
    }
}

#[cfg(test)]
mod tests {
    use super::type_name;
    use crate::types::{Space, Type, Types};

    #[test]
    fn names() {
        let types = Types::default();
        let pointer = |to| Type::Pointer { to: Box::new(to), space: Space::Kernel };
        let cases = [
            (Type::U64, "uint64"),
            (Type::Int { size: 1, signed: true }, "int8"),
            (Type::Tuple(vec![Type::Bool, Type::Str { cap: 16 }]), "(bool,string[16])"),
            (pointer(pointer(Type::Void)), "void **"),
            (Type::Array { element: Box::new(Type::I64), len: 3 }, "int64[3]"),
        ];
        for (ty, name) in cases {
            assert_eq!(type_name(&types, &ty), name);
        }
    }
}
