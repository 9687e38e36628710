//! Where the processor's registers lie in `struct pt_regs`, and which of them carry arguments.

/// Offset of a register of x86-64 in `struct pt_regs` (arch/x86/include/uapi/asm/ptrace.h), by the names people use.
pub(crate) fn register_offset(name: &str) -> Option<i32> {
    let word = match name {
        "r15" => 0,
        "r14" => 1,
        "r13" => 2,
        "r12" => 3,
        "bp" | "rbp" => 4,
        "bx" | "rbx" => 5,
        "r11" => 6,
        "r10" => 7,
        "r9" => 8,
        "r8" => 9,
        "ax" | "rax" => 10,
        "cx" | "rcx" => 11,
        "dx" | "rdx" => 12,
        "si" | "rsi" => 13,
        "di" | "rdi" => 14,
        "orig_ax" | "orig_rax" => 15,
        "ip" | "rip" => 16,
        "cs" => 17,
        "flags" | "eflags" => 18,
        "sp" | "rsp" => 19,
        "ss" => 20,
        _ => return None,
    };
    Some(word * 8)
}

/// Instruction pointer.
pub(crate) const IP: i32 = 16 * 8;
/// Stack pointer.
pub(crate) const SP: i32 = 19 * 8;
/// Function result.
pub(crate) const RESULT: i32 = 10 * 8;
/// Number of the system call being made.
pub(crate) const SYSCALL_NUMBER: i32 = 15 * 8;

/// Argument registers of functions, in order; further arguments are on the stack, the first one word above the
/// return address.
pub(crate) const FUNCTION_ARGS: [i32; 6] = [14 * 8, 13 * 8, 12 * 8, 11 * 8, 9 * 8, 8 * 8];

/// Argument registers of system calls, in order.
pub(crate) const SYSCALL_ARGS: [i32; 6] = [14 * 8, 13 * 8, 12 * 8, 7 * 8, 9 * 8, 8 * 8];
