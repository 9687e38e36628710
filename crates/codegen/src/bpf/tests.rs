//! Code of small programs, as text.

use std::collections::HashMap;

use proptest::prelude::*;
use strix_model::MapIdx;

use super::machine;
use crate::ir::interp::{self, Memory, Trap, World, map_handle};
use crate::ir::{Module, Size, parse, print, sample, verify};
use crate::{ErrorKind, Options, compile, disasm, helper};

fn code(text: &str) -> String {
    code_with(text, &Options::new(MapIdx(9)))
}

fn code_with(text: &str, options: &Options) -> String {
    disasm::program(&compile(parse::module(text).unwrap(), "main", options).unwrap())
}

#[test]
fn a_false_predicate_costs_a_load_and_a_comparison() {
    assert_eq!(
        code(PREDICATE),
        "main:
   0: r3 = *(u32 *)(r1 +16)
   1: if r3 != 1000 goto 8
   2: r3 = *(u64 *)(r1 +24)
   3: r2 = r1
   4: r1 = map[0]
   6: r4 = 0
   7: call ringbuf_output#130
   8: r0 = 0
   9: exit
"
    );
}

#[test]
fn the_context_moves_only_past_the_predicate() {
    assert_eq!(
        code(FILTERED_RING),
        "main:
   0: r3 = *(u32 *)(r1 +64)
   1: if r3 != 5 goto 15
   2: r6 = r1
   3: r1 = map[0]
   5: r2 = 16
   6: r3 = 0
   7: call ringbuf_reserve#131
   8: if r0 == 0 goto 17
   9: *(u64 *)(r0 +0) = 3
  10: r3 = *(u64 *)(r6 +8)
  11: *(u64 *)(r0 +8) = r3
  12: r1 = r0
  13: r2 = 0
  14: call ringbuf_submit#132
  15: r0 = 0
  16: exit
  17: r4 = map[1]+16
  19: r3 = *(u64 *)(r4 +0)
  20: r3 += 1
  21: *(u64 *)(r4 +0) = r3
  22: r0 = 0
  23: exit
"
    );
}

#[test]
fn a_count_is_a_look_up_and_an_addition() {
    assert_eq!(
        code(COUNT),
        "main:
   0: call get_current_pid_tgid#14
   1: r0 >>= 32
   2: *(u64 *)(r10 -8) = r0
   3: r1 = map[0]
   5: r2 = r10
   6: r2 += -8
   7: call map_lookup_elem#1
   8: if r0 == 0 goto 14
   9: r3 = *(u64 *)(r0 +0)
  10: r3 += 1
  11: *(u64 *)(r0 +0) = r3
  12: r0 = 0
  13: exit
  14: *(u64 *)(r10 -16) = 1
  15: r1 = map[0]
  17: r2 = r10
  18: r2 += -8
  19: r3 = r10
  20: r3 += -16
  21: r4 = 0
  22: call map_update_elem#2
  23: if r0 != 0 goto 26
  24: r0 = 0
  25: exit
  26: r4 = map[1]+24
  28: r3 = *(u64 *)(r4 +0)
  29: r3 += 1
  30: *(u64 *)(r4 +0) = r3
  31: r0 = 0
  32: exit
"
    );
}

#[test]
fn a_record_is_filled_in_place() {
    assert_eq!(
        code(RING),
        "main:
   0: r6 = r1
   1: r1 = map[0]
   3: r2 = 32
   4: r3 = 0
   5: call ringbuf_reserve#131
   6: r7 = r0
   7: if r7 == 0 goto 22
   8: *(u64 *)(r7 +0) = 3
   9: call ktime_get_ns#5
  10: *(u64 *)(r7 +8) = r0
  11: r3 = *(u32 *)(r6 +8)
  12: r3 <<= 32
  13: r3 s>>= 32
  14: *(u64 *)(r7 +16) = r3
  15: r1 = r7
  16: r1 += 16
  17: r2 = 16
  18: call get_current_comm#16
  19: r1 = r7
  20: r2 = 0
  21: call ringbuf_submit#132
  22: r0 = 0
  23: exit
"
    );
}

#[test]
fn scratch_memory_is_looked_up_past_the_predicate() {
    assert_eq!(
        code(SCRATCH),
        "main:
   0: r3 = *(u32 *)(r1 +16)
   1: if r3 != 7 goto 24
   2: r7 = *(u64 *)(r1 +24)
   3: *(u32 *)(r10 -4) = 0
   4: r1 = map[9]
   6: r2 = r10
   7: r2 += -4
   8: call map_lookup_elem#1
   9: r6 = r0
  10: if r6 == 0 goto 24
  11: r1 = r6
  12: r3 = r7
  13: r2 = 1024
  14: call probe_read_kernel_str#115
  15: *(u64 *)(r10 -8) = r0
  16: r1 = map[0]
  18: r2 = r10
  19: r2 += -8
  20: r3 = r6
  21: r3 += 8
  22: r4 = 0
  23: call map_update_elem#2
  24: r0 = 0
  25: exit
"
    );
}

/// The look-up may end the program, which must not happen while a record is open: it comes before the reservation.
#[test]
fn scratch_memory_is_looked_up_outside_of_records() {
    for preemptible in [false, true] {
        let options = Options { preemptible, ..Options::new(MapIdx(9)) };
        let code = code_with(IN_RECORD, &options);
        let at = |what: &str| code.find(what).unwrap_or_else(|| panic!("no {what} in {code}"));
        assert!(at("call map_lookup_elem") < at("call ringbuf_reserve"), "{code}");
    }
}

#[test]
fn levels_of_scratch_memory_are_claimed_and_given_back() {
    let options =
        Options { preemptible: true, scratch_busy: Some((MapIdx(8), 48)), ..Options::new(MapIdx(9)) };
    assert_eq!(
        code_with(SCRATCH, &options),
        "main:
   0: r3 = *(u32 *)(r1 +16)
   1: if r3 != 7 goto 45
   2: r9 = *(u64 *)(r1 +24)
   3: *(u32 *)(r10 -4) = 0
   4: r1 = map[9]
   6: r2 = r10
   7: r2 += -4
   8: call map_lookup_elem#1
   9: r8 = r0
  10: if r8 == 0 goto 45
  11: r7 = *(u64 *)(r8 +0)
  12: r7 ^= -1
  13: r7 &= 15
  14: if r7 == 0 goto 47
  15: r3 = r7
  16: r3 = -r3
  17: r7 &= r3
  18: r3 = r7
  19: r3 = atomic_fetch_or(*(u64 *)(r8 +0), r3)
  20: if r3 & r7 goto 47
  21: r6 = r7
  22: r6 >>= 1
  23: r3 = r7
  24: r3 >>= 3
  25: r6 -= r3
  26: r6 &= 3
  27: r6 <<= 10
  28: r6 += r8
  29: r3 = r9
  30: r1 = r6
  31: r1 += 8
  32: r2 = 1024
  33: call probe_read_kernel_str#115
  34: *(u64 *)(r10 -8) = r0
  35: r1 = map[0]
  37: r2 = r10
  38: r2 += -8
  39: r3 = r6
  40: r3 += 16
  41: r4 = 0
  42: call map_update_elem#2
  43: r7 ^= -1
  44: lock *(u64 *)(r8 +0) &= r7
  45: r0 = 0
  46: exit
  47: *(u32 *)(r10 -4) = 0
  48: r1 = map[8]
  50: r2 = r10
  51: r2 += -4
  52: call map_lookup_elem#1
  53: if r0 == 0 goto 45
  54: r3 = 1
  55: lock *(u64 *)(r0 +48) += r3
  56: r0 = 0
  57: exit
"
    );
}

#[test]
fn callbacks_follow_the_entry() {
    assert_eq!(
        code(CALLBACK),
        "main:
   0: *(u64 *)(r10 -8) = 0
   1: r1 = 10
   2: r2 = func[10]
   4: r3 = r10
   5: r3 += -8
   6: r4 = 0
   7: call loop#181
   8: r0 = *(u64 *)(r10 -8)
   9: exit
cb:
  10: r3 = *(u64 *)(r2 +0)
  11: r3 += r1
  12: *(u64 *)(r2 +0) = r3
  13: r0 = 0
  14: exit
"
    );
}

#[test]
fn lines_follow_the_code() {
    let text = "function f(v0) {
b0:
  v1 = load.u32 [v0 + 64] ; @0:1..2
  v2 = cmp.eq v1, 5 ; @0:1..2
  branch eq v2, 0, b2, b1 ; @0:1..3
b1:
  call 5() ; @0:7..9
  jump b2
b2:
  return 0 ; @0:20..21
}";
    let compiled = compile(parse::module(text).unwrap(), "main", &Options::new(MapIdx(9))).unwrap();
    let lines: Vec<(u32, u32)> = compiled.line_info.iter().map(|line| (line.insn, line.span.lo)).collect();
    assert_eq!(lines, [(0, 1), (1, 1), (2, 7), (3, 20)]);
    let callback = compile(parse::module(CALLBACK).unwrap(), "main", &Options::new(MapIdx(9))).unwrap();
    assert_eq!(callback.line_info.iter().map(|line| line.insn).collect::<Vec<_>>(), [0, 10]);
}

#[test]
fn what_does_not_fit_is_refused_with_a_place_and_a_remedy() {
    let refuse = |text: &str, options: &Options| {
        let error = compile(parse::module(text).unwrap(), "main", options).unwrap_err();
        (error.kind, error.span.lo)
    };
    let options = Options::new(MapIdx(9));
    let stack = CALLBACK
        .replace("size 8 align 8 stack", "size 600 align 8 stack")
        .replace("slot s0\n", "slot s0 ; @0:5..6\n");
    assert_eq!(refuse(&stack, &options), (ErrorKind::StackExhausted { needed: 600, limit: 480 }, 5));
    let scratch = SCRATCH.replace("size 1024", "size 40000");
    assert_eq!(refuse(&scratch, &options).0, ErrorKind::ScratchTooLarge { size: 40000, limit: 32768 });
    let short = Options { max_insns: 4, ..options.clone() };
    assert_eq!(refuse(PREDICATE, &short).0, ErrorKind::ProgramTooLarge { insns: 10, limit: 4 });
    let far = "  call 5(1, 2, 3, 4, 5)\n".repeat(6000);
    let far = format!(
        "function f(v0) {{\nb0:\n  branch eq v0, 0, b1, b2\nb1:\n{far}  jump b2\nb2:\n  call 7()\n  return 0\n}}"
    );
    assert_eq!(refuse(&far, &options).0, ErrorKind::JumpTooFar);
    let malformed = PREDICATE.replace("v1, 1000", "v7, 1000");
    assert!(matches!(refuse(&malformed, &options).0, ErrorKind::Malformed(_)));
}

const PREDICATE: &str = "function f(v0) {
b0:
  v1 = load.u32 [v0 + 16]
  v2 = cmp.eq v1, 1000
  branch eq v2, 0, b2, b1
b1:
  v3 = load.u64 [v0 + 24]
  v4 = map m0
  call 130(v4, v0, v3, 0)
  jump b2
b2:
  return 0
}";

const COUNT: &str = "function f(v0) {
  slot s0 \"key\" size 8 align 8
  slot s1 \"value\" size 8 align 8
b0:
  v1 = call get_current_pid_tgid()
  v2 = lshr v1, 32
  v3 = slot s0
  store.u64 [v3], v2
  v4 = map m0
  v5 = call map_lookup_elem(v4, v3)
  branch.unlikely eq v5, 0, b1, b2
b1:
  v6 = slot s1
  store.u64 [v6], 1
  v7 = slot s0
  v8 = map m0
  v9 = call map_update_elem(v8, v7, v6, 0)
  branch.unlikely ne v9, 0, b3, b4
b2:
  v10 = load.u64 [v5]
  v11 = add v10, 1
  store.u64 [v5], v11
  jump b4
b3:
  v12 = mapvalue m1 + 24
  v13 = load.u64 [v12]
  v14 = add v13, 1
  store.u64 [v12], v14
  jump b4
b4:
  return 0
}";

const RING: &str = "function f(v0) {
b0:
  v1 = map m0
  v2 = call ringbuf_reserve(v1, 32, 0)
  branch.unlikely eq v2, 0, b1, b2
b1:
  return 0
b2:
  store.u64 [v2], 3
  v3 = call ktime_get_ns()
  v4 = add v2, 8
  store.u64 [v4], v3
  v5 = load.s32 [v0 + 8]
  v6 = add v2, 16
  store.u64 [v6], v5
  v7 = call get_current_comm(v6, 16)
  call ringbuf_submit(v2, 0)
  return 0
}";

const FILTERED_RING: &str = "function f(v0) {
b0:
  v1 = load.u32 [v0 + 64]
  v2 = cmp.eq v1, 5
  branch eq v2, 0, b4, b1
b1:
  v3 = map m0
  v4 = call ringbuf_reserve(v3, 16, 0)
  branch.unlikely eq v4, 0, b2, b3
b2:
  v5 = mapvalue m1 + 16
  v6 = load.u64 [v5]
  v7 = add v6, 1
  store.u64 [v5], v7
  jump b4
b3:
  store.u64 [v4], 3
  v8 = load.u64 [v0 + 8]
  store.u64 [v4 + 8], v8
  call ringbuf_submit(v4, 0)
  jump b4
b4:
  return 0
}";

const SCRATCH: &str = "function f(v0) {
  slot s0 \"str\" size 1024 align 8
  slot s1 \"key\" size 8 align 8
b0:
  v1 = slot s0
  v2 = load.u32 [v0 + 16]
  branch eq v2, 7, b1, b2
b1:
  v3 = load.u64 [v0 + 24]
  v4 = call probe_read_kernel_str(v1, 1024, v3)
  v5 = slot s1
  store.u64 [v5], v4
  v6 = map m0
  v7 = add v1, 8
  v8 = call map_update_elem(v6, v5, v7, 0)
  jump b2
b2:
  return 0
}";

const IN_RECORD: &str = "function f(v0) {
  slot s0 \"stack\" size 1024 align 8
b0:
  v1 = map m0
  v2 = call ringbuf_reserve(v1, 16, 0)
  branch eq v2, 0, b2, b1
b1:
  v3 = slot s0
  v4 = call get_stack(v0, v3, 1024, 256)
  store.u64 [v2 + 8], v4
  call ringbuf_submit(v2, 1)
  jump b2
b2:
  return 0
}";

const CALLBACK: &str = "function f(v0) {
  slot s0 \"ctx\" size 8 align 8 stack
b0:
  v1 = slot s0
  store.u64 [v1], 0
  v2 = func f1
  v3 = call loop(10, v2, v1, 0)
  v4 = load.u64 [v1]
  return v4
}
function cb(v0, v1) {
b0:
  v2 = load.u64 [v1]
  v3 = add v2, v0
  store.u64 [v1], v3
  return 0
}";

/// Helpers of generated programs.
struct Helpers {
    scratch: u64,
    count: u64,
}

impl World for Helpers {
    fn call(&mut self, number: u32, args: &[u64], memory: &mut Memory) -> Result<u64, Trap> {
        self.count += 1;
        let mix = |a: u64, b: u64| (a ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        match number {
            helper::GET_NUMA_NODE_ID => Ok(args[..3].iter().fold(self.count, |a, &b| mix(a, b))),
            helper::PROBE_READ_KERNEL => {
                let old = memory.load(args[0], Size::B8)?;
                memory.store(args[0], Size::B8, mix(old, args[2]))?;
                Ok(mix(old, args[1]))
            }
            helper::MAP_LOOKUP_ELEM => {
                self.count -= 1;
                assert_eq!(args[0], map_handle(MapIdx(9)));
                assert_eq!(memory.load(args[1], Size::B4)?, 0);
                Ok(self.scratch)
            }
            other => Err(Trap::Malformed(format!("helper {other}"))),
        }
    }
}

const SCRATCH_BYTES: usize = 32768;

fn check(seed: u64, vars: u32, big: bool, preemptible: bool) {
    let module = sample::module(seed, vars, big);
    verify::module(&module).unwrap();
    assert_eq!(parse::module(&print::module(&module)).unwrap(), module);
    let context = (0..sample::CONTEXT as u8).map(|i| i.wrapping_mul(seed as u8 | 1)).collect();
    agree(module, context, preemptible);
}

/// The IR as it is, optimised, and compiled must give the same and call helpers in the same order.
fn agree(module: Module, context: Vec<u8>, preemptible: bool) {
    let text = print::module(&module);
    let interpret = |module: &Module| {
        let mut memory = Memory::default();
        let at = memory.add(context.clone());
        let mut world = Helpers { scratch: 0, count: 0 };
        (interp::run(module, &[at], &mut memory, &HashMap::new(), &mut world, 100_000), world.count)
    };
    let (expected, calls) = interpret(&module);
    let expected = expected.unwrap();
    let mut optimised = module.clone();
    crate::optimise(&mut optimised);
    assert_eq!(interpret(&optimised), (Ok(expected), calls), "optimised:\n{}", print::module(&optimised));

    let options = Options { preemptible, ..Options::new(MapIdx(9)) };
    let compiled = compile(module, "main", &options).unwrap();
    machine::check_graph(&compiled);
    let mut memory = Memory::default();
    let at = memory.add(context.clone());
    let scratch = memory.add(vec![0xbb; SCRATCH_BYTES]);
    memory.store(scratch, Size::B8, 0b0101).unwrap();
    let mut world = Helpers { scratch, count: 0 };
    let result = machine::run(&compiled, at, &mut memory, &HashMap::new(), &mut world, 1_000_000);
    assert_eq!((result, world.count), (Ok(expected), calls), "{text}\n{}", disasm::program(&compiled));
    if preemptible {
        assert_eq!(memory.load(scratch, Size::B8), Ok(0b0101), "a level was not given back");
    }
}

#[test]
fn variables_changed_in_place_keep_their_register_until_then() {
    let text = "function f(v0) {
b0:
  v1 = load.u64 [v0]
  v2 = load.u64 [v0 + 8]
  v3 = mul v2, v2
  v4 = xor v3, v2
  v1 = add v1, 3
  v1 = mul v1, v4
  return v1
}";
    agree(parse::module(text).unwrap(), (1..65).collect(), false);
}

#[test]
fn a_value_outlives_the_variable_it_was_copied_to() {
    let text = "function f(v0) {
b0:
  v1 = load.u64 [v0]
  v2 = add v1, 1
  v3 = copy v2
  v3 = load.u64 [v0 + 8]
  v4 = mul v2, v3
  v5 = add v4, v1
  v1 = load.u64 [v0 + 16]
  v6 = add v1, 1
  v7 = xor v6, v5
  return v7
}";
    agree(parse::module(text).unwrap(), (1..65).collect(), false);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compiled_code_does_what_the_ir_says(seed: u64, vars in 1u32..12) {
        check(seed, vars, false, false);
    }

    #[test]
    fn it_does_under_register_pressure(seed: u64) {
        check(seed, 40, false, false);
    }

    #[test]
    fn it_does_with_scratch_memory(seed: u64, vars in 1u32..20, preemptible: bool) {
        check(seed, vars, true, preemptible);
    }
}
