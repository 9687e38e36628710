//! What the running kernel thinks of compiled programs: its verifier takes them, and they do what the IR says.
//!
//! Without the right to load programs these tests say so and pass; `STRIX_LIVE=require` makes that a failure.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use strix_codegen::ir::interp::{self, Memory, Trap, World};
use strix_codegen::ir::{Module, Size, parse, print};
use strix_codegen::{Compiled, Options, compile, disasm, helper, ir};
use strix_model::{MapIdx, MapKind, MapSpec, Program, ProgramKind, SourceMap};
use strix_sys::{Kernel, LiveKernel, LoadError, LogRequest, Map, ProgramLoad};

#[path = "../src/ir/sample.rs"]
mod sample;

const SCRATCH: MapIdx = MapIdx(9);

fn spec(kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> MapSpec {
    MapSpec {
        name: "codegen_test".into(),
        kind,
        key_size,
        value_size,
        max_entries,
        no_prealloc: false,
        mmapable: false,
        init: Vec::new(),
        read_only: false,
    }
}

/// The running kernel, or none if it lets nobody in.
fn kernel() -> Option<LiveKernel> {
    match LiveKernel.map_create(&spec(MapKind::Array, 4, 8, 1)) {
        Ok(_) => Some(LiveKernel),
        Err(error) if std::env::var_os("STRIX_LIVE").is_some_and(|v| v == "require") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Programs and their maps, until the test ends.
struct Bench {
    kernel: LiveKernel,
    maps: HashMap<MapIdx, Map>,
}

impl Bench {
    fn new(kernel: LiveKernel) -> Self {
        Self { kernel, maps: HashMap::new() }
    }

    fn map(&mut self, index: u32, spec: &MapSpec) {
        self.maps.insert(MapIdx(index), self.kernel.map_create(spec).unwrap());
    }

    fn load(&mut self, compiled: &Compiled) -> OwnedFd {
        match self.try_load(compiled) {
            Ok(program) => program,
            Err(error) => panic!("{error:?}\n{}", disasm::program(compiled)),
        }
    }

    fn try_load(&mut self, compiled: &Compiled) -> Result<OwnedFd, LoadError> {
        if compiled.scratch_size > 0 {
            self.map(SCRATCH.0, &spec(MapKind::PercpuArray, 4, compiled.scratch_size, 1));
        }
        let mut sources = SourceMap::default();
        sources.add("test", "");
        let program = Program {
            name: "codegen_test".into(),
            kind: ProgramKind::TestRun,
            insns: compiled.insns.clone(),
            map_refs: compiled.map_refs.clone(),
            functions: compiled.functions.clone(),
            line_info: compiled.line_info.clone(),
            probe: 0,
            attachments: Vec::new(),
        };
        let load = ProgramLoad {
            program: &program,
            maps: &|index| self.maps.get(&index).map(AsFd::as_fd),
            license: "GPL",
            sources: &sources,
            log: LogRequest::OnRefusal,
            log_size: 1 << 20,
        };
        self.kernel.program_load(&load).map(|loaded| loaded.fd)
    }

    fn run(&mut self, text: &str, options: &Options) -> u32 {
        let compiled = compile(parse::module(text).unwrap(), "main", options).unwrap();
        let program = self.load(&compiled);
        self.kernel.program_run(program.as_fd()).unwrap()
    }
}

/// Whether the kernel takes a program at all, as the measure of a feature.
fn takes(kernel: LiveKernel, feature: &str, text: &str) -> bool {
    let compiled = compile(parse::module(text).unwrap(), "main", &Options::new(SCRATCH)).unwrap();
    let taken = Bench::new(kernel).try_load(&compiled).is_ok();
    if !taken {
        eprintln!("skipped in part: the kernel has no {feature}");
    }
    taken
}

/// Atomics that give the old value, since v5.12.
fn has_fetch(kernel: LiveKernel) -> bool {
    let text = "function f(v0) {
  slot s0 \"x\" size 8 align 8
b0:
  v1 = slot s0
  store.u64 [v1], 1
  v2 = atomic.add.u64 [v1], 1
  return v2
}";
    takes(kernel, "atomics with a result", text)
}

/// What the helpers of generated programs give.
struct Helpers;

impl World for Helpers {
    fn call(&mut self, number: u32, args: &[u64], memory: &mut Memory) -> Result<u64, Trap> {
        match number {
            helper::GET_NUMA_NODE_ID => Ok(0),
            helper::PROBE_READ_KERNEL => {
                memory.store(args[0], Size::B8, 0)?;
                Ok(-34i64 as u64)
            }
            other => Err(Trap::Malformed(format!("helper {other}"))),
        }
    }
}

fn expected(module: &Module) -> u32 {
    let mut memory = Memory::default();
    let context = memory.add(vec![0; sample::CONTEXT as usize]);
    interp::run(module, &[context], &mut memory, &HashMap::new(), &mut Helpers, 1_000_000).unwrap() as u32
}

#[test]
fn generated_programs_do_what_the_ir_says() {
    let Some(kernel) = kernel() else { return };
    let fetch = has_fetch(kernel);
    for seed in 1..300u64 {
        let vars = [3, 10, 40][seed as usize % 3];
        let module = sample::module(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), vars, seed % 2 == 0);
        if !fetch && print::module(&module).contains(" = atomic") {
            continue;
        }
        let expected = expected(&module);
        let options = Options { preemptible: seed % 4 == 0, atomics_fetch: fetch, ..Options::new(SCRATCH) };
        let compiled = compile(module, "main", &options).unwrap();
        let mut bench = Bench::new(kernel);
        let program = bench.load(&compiled);
        let result = kernel.program_run(program.as_fd()).unwrap();
        assert_eq!(result, expected, "seed {seed}\n{}", disasm::program(&compiled));
    }
}

#[test]
fn a_count_in_a_hash_map() {
    let Some(kernel) = kernel() else { return };
    let mut bench = Bench::new(kernel);
    bench.map(0, &spec(MapKind::Hash, 8, 8, 16));
    let text = "function f(v0) {
  slot s0 \"key\" size 8 align 8
  slot s1 \"value\" size 8 align 8
b0:
  v3 = slot s0
  store.u64 [v3], 77
  v4 = map m0
  v5 = call map_lookup_elem(v4, v3)
  branch.unlikely eq v5, 0, b1, b2
b1:
  v6 = slot s1
  store.u64 [v6], 1
  v9 = call map_update_elem(v4, v3, v6, 0)
  return v9
b2:
  v10 = load.u64 [v5]
  v11 = add v10, 1
  store.u64 [v5], v11
  return 5
}";
    let options = Options::new(SCRATCH);
    assert_eq!((bench.run(text, &options), bench.run(text, &options)), (0, 5));
    let value = kernel.map_lookup(&bench.maps[&MapIdx(0)], &77u64.to_le_bytes()).unwrap();
    assert_eq!(value, Some(2u64.to_le_bytes().to_vec()));
}

const BUCKETS: &str = "function f(v0) {
  slot s0 \"spread\" size 320 align 8
b0:
  v1 = load.u64 [v0]
  v20 = call get_numa_node_id()
  v2 = cmp.ugt v1, 65535
  v3 = shl v2, 4
  v5 = add v3, 21
  v12 = mapvalue m1 + 0
  branch ugt v5, 63, b2, b1
b1:
  v11 = mul v5, 8
  v13 = add v12, v11
  v14 = load.u64 [v13]
  v15 = add v14, 1
  store.u64 [v13], v15
  return v5
b2:
  return 0
}";

#[test]
fn bounds_survive_register_pressure() {
    let Some(kernel) = kernel() else { return };
    // Thirty values live across the check and its use push the index out of registers.
    let before: String = (30..60).map(|v| format!("  v{v} = call get_numa_node_id()\n")).collect();
    let after: String = (31..60).map(|v| format!("  v30 = add v30, v{v}\n")).collect();
    let crowded = BUCKETS
        .replace("  v2 = cmp", &format!("{before}  v2 = cmp"))
        .replace("  v15 = add v14, 1\n", &format!("  v15 = add v14, 1\n{after}"))
        .replace("return v5", "v5 = add v5, v30\n  return v5");
    for text in [BUCKETS, &crowded] {
        let mut bench = Bench::new(kernel);
        bench.map(1, &spec(MapKind::Array, 4, 512, 1));
        assert_eq!(bench.run(text, &Options::new(SCRATCH)), 21);
    }
}

#[test]
fn scratch_memory_is_found_and_given_back() {
    let Some(kernel) = kernel() else { return };
    let text = "function f(v0) {
  slot s0 \"str\" size 1024 align 8
b0:
  v1 = slot s0
  v2 = call get_numa_node_id()
  zeromem [v1], 1024 align 8
  v4 = call probe_read_kernel_str(v1, 1024, 0)
  branch eq v2, 1, b1, b2
b1:
  return 1
b2:
  store.u64 [v1 + 1016], 11
  v5 = load.u64 [v1 + 1016]
  return v5
}";
    for preemptible in [false, true] {
        let mut bench = Bench::new(kernel);
        bench.map(8, &spec(MapKind::PercpuArray, 4, 56, 1));
        let busy = Some((MapIdx(8), 48));
        let options = Options {
            preemptible,
            atomics_fetch: has_fetch(kernel),
            scratch_busy: busy,
            ..Options::new(SCRATCH)
        };
        let compiled = compile(parse::module(text).unwrap(), "main", &options).unwrap();
        let program = bench.load(&compiled);
        // More runs than there are levels.
        for _ in 0..9 {
            assert_eq!(kernel.program_run(program.as_fd()).unwrap(), 11);
        }
        let busy = kernel.map_lookup(&bench.maps[&MapIdx(8)], &[0; 4]).unwrap().unwrap();
        assert!(busy.iter().all(|&byte| byte == 0), "a run was given up");
    }
}

#[test]
fn callbacks_have_scratch_memory_of_their_own() {
    let Some(kernel) = kernel() else { return };
    let text = "function f(v0) {
  slot s0 \"ctx\" size 16 align 8 stack
  slot s1 \"big\" size 200 align 8
b0:
  v1 = slot s0
  store.u64 [v1], 0
  v6 = slot s1
  store.u64 [v6 + 192], 1000
  v2 = func f1
  v4 = call loop(10, v2, v1, 0)
  v5 = load.u64 [v1]
  v7 = load.u64 [v6 + 192]
  v8 = add v5, v7
  return v8
}
function cb(v0, v1) {
  slot s0 \"buf\" size 256 align 8
b0:
  v2 = load.u64 [v1]
  v3 = add v2, v0
  v4 = slot s0
  store.u64 [v4 + 192], v3
  v6 = call get_numa_node_id()
  v5 = load.u64 [v4 + 192]
  store.u64 [v1], v5
  return 0
}";
    let probe = "function f(v0) {\nb0:\n  v1 = func f1\n  v2 = call loop(1, v1, 0, 0)\n  return v2\n}
function g(v0, v1) {\nb0:\n  return 0\n}";
    if !takes(kernel, "bpf_loop", probe) {
        return;
    }
    for preemptible in [false, true] {
        let options = Options { preemptible, ..Options::new(SCRATCH) };
        assert_eq!(Bench::new(kernel).run(text, &options), 1045);
    }
}
