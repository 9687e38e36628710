//! Built-in variables.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Operand, Size};

use strix_facts::{BtfKind, BtfType};

use super::function::{Known, Lower};
use super::value::{Place, Remote, Value};
use crate::builtins::Variable;
use crate::hir::Context;
use crate::types::{Space, Type};

/// Bytes of a command name (`TASK_COMM_LEN`).
const COMM_SIZE: u32 = 16;

impl Lower<'_, '_> {
    /// The value of a built-in variable whose type is `ty`.
    pub(super) fn variable(&mut self, variable: Variable, ty: &Type) -> Value {
        let scalar = match variable {
            Variable::Pid => self.pid(),
            Variable::Tid => self.tid(),
            Variable::InitPid => {
                let both = self.helper_once(helper::GET_CURRENT_PID_TGID);
                self.b().bin(BinOp::Lshr, both, 32).into()
            }
            Variable::InitTid => {
                let both = self.helper_once(helper::GET_CURRENT_PID_TGID);
                self.b().extend(both, Size::B4, false).into()
            }
            Variable::Uid | Variable::Username => {
                let both = self.helper_once(helper::GET_CURRENT_UID_GID);
                self.b().extend(both, Size::B4, false).into()
            }
            Variable::Gid => {
                let both = self.helper_once(helper::GET_CURRENT_UID_GID);
                self.b().bin(BinOp::Lshr, both, 32).into()
            }
            Variable::Nsecs => self.now(),
            Variable::Elapsed => {
                let now = self.now();
                let start = self.options.start_ns as i64;
                self.b().bin(BinOp::Sub, now, start).into()
            }
            Variable::Cpu => self.helper_once(helper::GET_SMP_PROCESSOR_ID),
            Variable::Comm => return Value::Memory(self.comm()),
            Variable::Pcomm => return self.parent_field("comm", ty),
            Variable::Ppid => {
                let value = self.parent_field("tgid", &Type::Int { size: 4, signed: true });
                self.scalar_of(value, &Type::Int { size: 4, signed: true })
            }
            Variable::Kstack | Variable::Ustack => return self.stack_value(ty),
            Variable::Arg(n) => self.arg(n),
            Variable::Sarg(n) => self.stack_arg(n),
            Variable::Retval => self.retval(),
            Variable::Func => return self.function_value(),
            Variable::Probe => self.probe_name(),
            Variable::Curtask => self.helper_once(helper::GET_CURRENT_TASK),
            Variable::Cgroup => self.helper_once(helper::GET_CURRENT_CGROUP_ID),
            Variable::Rand => {
                let rand = self.b().call(helper::GET_PRANDOM_U32, &[]);
                self.b().extend(rand, Size::B4, false).into()
            }
            Variable::Args => return Value::Memory(self.context_place()),
            Variable::Ctx => self.ctx().into(),
            Variable::Cpid => i64::from(self.options.child_pid.unwrap_or(0)).into(),
            Variable::Numaid => self.helper_once(helper::GET_NUMA_NODE_ID),
            Variable::Jiffies => self.b().call_pure(helper::JIFFIES64, &[]).into(),
            Variable::Ncpus => i64::from(self.options.cpus).into(),
        };
        Value::Scalar(scalar)
    }

    /// Process id in the upper half, thread id in the lower, as the pid namespace of strix has them.
    fn ids(&mut self) -> Operand {
        let Some((device, inode)) = self.options.pid_namespace else {
            return self.helper_once(helper::GET_CURRENT_PID_TGID);
        };
        let number = helper::GET_NS_CURRENT_PID_TGID;
        let known = self.f.known.iter().find_map(|known| match known {
            Known::Helper(helper, reg) if *helper == number => Some(*reg),
            _ => None,
        });
        if let Some(reg) = known {
            return reg.into();
        }
        // The helper writes the thread's id, then the process's: as one word they are what the other helper gives.
        let ids = self.slot("ids", 8);
        self.b().store(ids.addr(), Size::B8, 0);
        let to = self.address(ids);
        let args = [(device as i64).into(), (inode as i64).into(), to.into(), 8.into()];
        self.b().call(number, &args);
        let both = self.b().load(ids.addr(), Size::B8, false);
        self.f.known.push(Known::Helper(number, both));
        both.into()
    }

    /// Process id.
    pub(super) fn pid(&mut self) -> Operand {
        let both = self.ids();
        self.b().bin(BinOp::Lshr, both, 32).into()
    }

    /// Thread id.
    pub(super) fn tid(&mut self) -> Operand {
        let both = self.ids();
        self.b().extend(both, Size::B4, false).into()
    }

    /// Nanoseconds since boot, sleep included where the kernel has that clock.
    pub(super) fn now(&mut self) -> Operand {
        let clock = if self.facts.features().ktime_get_boot_ns {
            helper::KTIME_GET_BOOT_NS
        } else {
            helper::KTIME_GET_NS
        };
        self.b().call_pure(clock, &[]).into()
    }

    /// The command name, read once.
    fn comm(&mut self) -> Place {
        for known in &self.f.known {
            if let Known::Comm(place) = known {
                return *place;
            }
        }
        let place = match self.task_comm() {
            Some(place) => place,
            None => {
                let place = self.slot("comm", COMM_SIZE);
                self.comm_by_helper(place);
                place
            }
        };
        self.f.known.push(Known::Comm(place));
        place
    }

    /// The command name in the task itself, where it can be read as it stands: two loads take the place of a helper that copies byte by
    /// byte (30 ns). Kernels pad the name with zeroes since v5.17, which also brought `bpf_loop`; before, bytes after the NUL are left from older names.
    fn task_comm(&mut self) -> Option<Place> {
        if !self.facts.features().bpf_loop || !self.facts.features().tp_btf {
            return None;
        }
        let offset = self.kernel_offset("task_struct", "comm")?;
        let task = self.helper_once(helper::GET_CURRENT_TASK_BTF);
        let base = self.b().in_reg(task);
        Some(Place { base, off: offset as i32, base_align: 8, context: true })
    }

    /// Writes the command name, 16 bytes padded with zeroes.
    pub(super) fn comm_into(&mut self, dst: Place) {
        match self.task_comm() {
            Some(task) => {
                let align = task.align().min(dst.align());
                self.b().copy_mem(dst.addr(), task.addr(), COMM_SIZE, align);
            }
            None => self.comm_by_helper(dst),
        }
    }

    /// Zeroes first: between v6.0 and v6.5 the helper leaves what follows the NUL as it was.
    fn comm_by_helper(&mut self, dst: Place) {
        let align = dst.align();
        self.b().zero_mem(dst.addr(), COMM_SIZE, align);
        let address = self.address(dst);
        self.b().call_void(helper::GET_CURRENT_COMM, &[address.into(), i64::from(COMM_SIZE).into()]);
    }

    /// Whether the command name was copied already, so that another copy is cheaper than asking again.
    pub(super) fn comm_is_known(&self) -> bool {
        self.f.known.iter().any(|k| matches!(k, Known::Comm(_)))
    }

    fn parent_field(&mut self, field: &str, ty: &Type) -> Value {
        let parent = self.kernel_offset("task_struct", "real_parent").unwrap_or(0);
        let offset = self.kernel_offset("task_struct", field).unwrap_or(0);
        let task = self.helper_once(helper::GET_CURRENT_TASK);
        let remote = Remote { base: task, off: i64::from(parent), space: Space::Kernel };
        let parent = self.load_remote(remote, &Type::U64);
        let remote = Remote { base: parent, off: i64::from(offset), space: Space::Kernel };
        if ty.is_scalar() {
            return Value::Scalar(self.load_remote(remote, ty));
        }
        let copy = self.slot_for("parent", ty);
        let size = self.size_of(ty);
        self.read_remote(copy, i64::from(size).into(), remote);
        Value::Memory(copy)
    }

    /// `func`: the address, and the process for user addresses.
    fn function_value(&mut self) -> Value {
        let place = self.slot("func", 16);
        let address = self.function_address();
        self.b().store(place.addr(), Size::B8, address);
        let user = matches!(self.instance.context, Context::Uprobe | Context::Uretprobe);
        let pid = if user { self.pid() } else { 0.into() };
        self.b().store(place.at(8).addr(), Size::B8, pid);
        Value::Memory(place)
    }

    /// Byte offset of a direct field of a kernel struct.
    pub(super) fn kernel_offset(&self, record: &str, field: &str) -> Option<u32> {
        let btf = self.facts.btf().ok()?;
        let id = btf.find(BtfKind::Struct, record)?;
        let BtfType::Struct { members, .. } = btf.get(id)? else { return None };
        members.into_iter().find(|m| m.name == field).map(|m| m.bit_offset / 8)
    }
}
