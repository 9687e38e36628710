//! Passes over the IR that make the code smaller and faster without knowing the machine. One pass a file.
//!
//! None of them moves a computation to another block, so a bounds check stays before the use that relies on it.

mod address;
mod cfg;
mod copies;
mod cse;
mod dce;
mod fold;
mod fuse;

pub(crate) use fold::known_bits;

use crate::ir::{FuncId, Function, Module, Op, verify};

/// After this many rounds the code is taken as good enough; three is the usual number.
const ROUNDS: u32 = 12;

/// Optimises a module in place.
pub fn module(module: &mut Module) {
    for (index, function) in module.functions.iter_mut().enumerate() {
        run(function, index == 0);
    }
    drop_unused(module);
    debug_assert_eq!(verify::module(module), Ok(()));
}

/// Removes callbacks that nothing hands to a helper any more: the kernel takes no code that cannot be reached.
fn drop_unused(module: &mut Module) {
    let mut used = vec![false; module.functions.len()];
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        if std::mem::replace(&mut used[index], true) {
            continue;
        }
        let insts = module.functions[index].blocks.iter().flat_map(|block| &block.insts);
        open.extend(insts.filter_map(|inst| match inst.op {
            Op::FuncPtr { func, .. } => Some(func.0 as usize),
            _ => None,
        }));
    }
    if used.iter().all(|used| *used) {
        return;
    }
    let mut numbers = Vec::new();
    let mut next = 0;
    for &used in &used {
        numbers.push(FuncId(next));
        next += u32::from(used);
    }
    let mut keep = used.iter();
    module.functions.retain(|_| keep.next() == Some(&true));
    for inst in module.functions.iter_mut().flat_map(|f| &mut f.blocks).flat_map(|block| &mut block.insts) {
        if let Op::FuncPtr { func, .. } = &mut inst.op {
            *func = numbers[func.0 as usize];
        }
    }
}

/// Optimises a function in place. In the entry function the first parameter is the context, which nobody writes to.
pub(crate) fn run(function: &mut Function, entry: bool) {
    for _ in 0..ROUNDS {
        let before = function.clone();
        step(function, cfg::run);
        step(function, copies::run);
        step(function, fold::run);
        step(function, |function| cse::run(function, entry));
        step(function, fuse::run);
        step(function, address::run);
        step(function, dce::run);
        if *function == before {
            break;
        }
    }
}

/// Cleans up after the back end rewrote a function: only passes that neither touch the graph nor lengthen lifetimes.
pub(crate) fn tidy(function: &mut Function) {
    for _ in 0..3 {
        step(function, copies::run);
        step(function, fold::run);
        step(function, address::run);
        step(function, dce::run);
    }
}

/// Runs a pass, and in debug builds checks what it left.
pub(crate) fn step(function: &mut Function, pass: impl Fn(&mut Function)) {
    pass(function);
    // How many functions the module has is not known here; passes make no references to functions.
    debug_assert_eq!(verify::function(function, usize::MAX), Ok(()));
}

/// For a pass's tests: text in, text out.
#[cfg(test)]
pub(crate) fn apply(text: &str, pass: impl Fn(&mut Function)) -> String {
    use crate::ir::{parse, print};
    let mut module = parse::module(text).unwrap();
    verify::module(&module).unwrap();
    pass(&mut module.functions[0]);
    verify::module(&module).unwrap();
    let text = print::function(&module.functions[0]);
    let body = text.split_once("{\n").unwrap().1.trim_end().trim_end_matches('}');
    body.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn callbacks_that_nobody_is_given_are_dropped() {
        let text = "function f(v0) {\nb0:\n  branch eq 1, 2, b1, b2\nb1:\n  v1 = func f1\n  v2 = call loop(5, v1, 0, 0)\n  return 0\n\
                    b2:\n  v3 = func f2\n  v4 = call loop(5, v3, 0, 0)\n  return 0\n}\n\
                    function g(v0, v1) {\nb0:\n  return 0\n}\nfunction h(v0, v1) {\nb0:\n  return 1\n}";
        let mut module = crate::ir::parse::module(text).unwrap();
        super::module(&mut module);
        let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["f", "h"]);
        assert!(crate::ir::print::module(&module).contains("func f1"));
    }

    #[test]
    fn short_circuit_conditions_become_plain_branches() {
        // What a front end makes of `if (a == 1 && b == 2) { … }`.
        let text = "function f(v0) {
b0:
  v1 = load.u32 [v0]
  v2 = cmp.eq v1, 1
  v3 = copy 0
  branch ne v2, 0, b1, b2
b1:
  v4 = load.u32 [v0 + 4]
  v5 = cmp.eq v4, 2
  v6 = cmp.ne v5, 0
  v3 = copy v6
  jump b2
b2:
  v7 = copy v3
  branch ne v7, 0, b3, b4
b3:
  call 6(v1)
  jump b4
b4:
  return 0
}";
        let out = super::apply(text, |f| super::run(f, true));
        assert_eq!(
            out,
            "b0:
v1 = load.u32 [v0]
branch eq v1, 1, b1, b3
b1:
v4 = load.u32 [v0 + 4]
branch eq v4, 2, b2, b3
b2:
call trace_printk(1)
return 0
b3:
return 0"
                .replace("trace_printk(1)", "trace_printk(v1)")
        );
    }
}
