//! Shows facts of this kernel or of a fixture: `facts [--btf FILE] [ROOT]`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use strix_facts::{BtfKind, KernelFacts};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut facts = KernelFacts::live();
    let mut btf = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--btf" => btf = args.next().map(PathBuf::from),
            root => facts = KernelFacts::at(Path::new(root)),
        }
    }
    if let Some(path) = btf {
        facts = facts.with_btf(path);
    }
    let start = Instant::now();
    let timed = |what: &str| println!("{:>8.3} ms  {what}", start.elapsed().as_secs_f64() * 1e3);
    match facts.btf() {
        Ok(btf) => {
            timed("BTF read");
            println!("task_struct is {:?}", btf.find(BtfKind::Struct, "task_struct"));
            timed("first look-up");
            println!("vfs_read is {:?}", btf.find(BtfKind::Func, "vfs_read"));
            timed("second look-up");
            println!("BPF_FUNC_loop is {:?}", btf.find_enumerator("BPF_FUNC_loop"));
            timed("first enumerator");
        }
        Err(e) => println!("{e}"),
    }
    for feature in facts.features().list() {
        println!("{:24} {}", feature.name, if feature.present { "yes" } else { "no" });
    }
    timed("features");
    match facts.kernel_functions() {
        Ok(functions) => println!("{} functions", functions.len()),
        Err(e) => println!("{e}"),
    }
    timed("functions");
}
