//! Code of small programs, as text.

use std::collections::HashMap;

use proptest::prelude::*;
use strix_model::MapIdx;

use super::machine;
use crate::ir::interp::{self, Memory, Trap, World, map_handle};
use crate::ir::{Module, Size, parse, print, sample, verify};
use crate::{Options, compile, disasm, helper};

fn code(text: &str) -> String {
    let compiled = compile(parse::module(text).unwrap(), "main", &Options::new(MapIdx(9))).unwrap();
    disasm::program(&compiled)
}

#[test]
fn show() {
    for text in [PREDICATE, COUNT, RING] {
        println!("{}", code(text));
    }
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
    let context: Vec<u8> = (0..sample::CONTEXT as u8).map(|i| i.wrapping_mul(seed as u8 | 1)).collect();
    let text = print::module(&module);
    assert_eq!(parse::module(&text).unwrap(), module);

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
