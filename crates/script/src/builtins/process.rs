//! Who runs.

use super::{Variable, VariableInfo};
use crate::types::Type;

const U32: Type = Type::Int { size: 4, signed: false };

pub(super) static VARIABLES: &[VariableInfo] = &[
    VariableInfo {
        variable: Variable::Pid,
        name: "pid",
        ty: "uint32",
        doc: "Process id, as the pid namespace of strix has it; 0 for processes that are not in it.",
        check: |_, _, _| U32,
    },
    VariableInfo {
        variable: Variable::Tid,
        name: "tid",
        ty: "uint32",
        doc: "Thread id, as the pid namespace of strix has it.",
        check: |_, _, _| U32,
    },
    VariableInfo {
        variable: Variable::InitPid,
        name: "pid(init)",
        ty: "uint32",
        doc: "Process id outside of all pid namespaces.",
        check: |_, _, _| U32,
    },
    VariableInfo {
        variable: Variable::InitTid,
        name: "tid(init)",
        ty: "uint32",
        doc: "Thread id outside of all pid namespaces.",
        check: |_, _, _| U32,
    },
    VariableInfo {
        variable: Variable::Uid,
        name: "uid",
        ty: "uint64",
        doc: "User id.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Gid,
        name: "gid",
        ty: "uint64",
        doc: "Group id.",
        check: |_, _, _| Type::U64,
    },
    VariableInfo {
        variable: Variable::Username,
        name: "username",
        ty: "username",
        doc: "The user's name, looked up when it is printed. `%d` shows the id.",
        check: |_, _, _| Type::Username,
    },
    VariableInfo {
        variable: Variable::Comm,
        name: "comm",
        ty: "string[16]",
        doc: "Name of the thread, at most 15 bytes.",
        check: |_, _, _| Type::Str { cap: 16 },
    },
    VariableInfo {
        variable: Variable::Ppid,
        name: "ppid",
        ty: "int32",
        doc: "Id of the parent process.",
        check: |c, _, span| {
            c.kernel_struct("task_struct", span);
            Type::Int { size: 4, signed: true }
        },
    },
    VariableInfo {
        variable: Variable::Pcomm,
        name: "pcomm",
        ty: "string[16]",
        doc: "Name of the parent process.",
        check: |c, _, span| {
            c.kernel_struct("task_struct", span);
            Type::Str { cap: 16 }
        },
    },
    VariableInfo {
        variable: Variable::Cpid,
        name: "cpid",
        ty: "uint64",
        doc: "Process id of the command given with `-c`; 0 without one.",
        check: |c, _, span| {
            if c.options.child_pid.is_none() {
                c.warn(span, "no child command (`-c`): cpid is zero");
            }
            Type::U64
        },
    },
    VariableInfo {
        variable: Variable::Curtask,
        name: "curtask",
        ty: "struct task_struct *",
        doc: "The current task; its fields may be read: `curtask.real_parent.pid`.",
        check: |c, _, _| c.kernel_pointer("task_struct"),
    },
    VariableInfo {
        variable: Variable::Cgroup,
        name: "cgroup",
        ty: "uint64",
        doc: "Id of the process's cgroup (version 2). See `cgroup_path` and `cgroupid`.",
        check: |c, _, span| {
            if !c.facts.features().cgroup_id {
                c.missing_feature(span, "cgroup_id", "cgroup");
            }
            Type::U64
        },
    },
];
