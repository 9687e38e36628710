//! The symbolizer on this very process, on children, and on machines made of fixture files.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use strix_symbolize::{Mapping, Options, Symbolizer, parse_maps};

#[inline(never)]
fn a_function_to_be_found() -> u64 {
    std::hint::black_box(42)
}

fn me() -> u32 {
    std::process::id()
}

fn mappings(pid: u32) -> Vec<Mapping> {
    parse_maps(&std::fs::read(format!("/proc/{pid}/maps")).expect("alive"))
}

#[test]
fn own_functions_are_found_by_address() {
    let address = a_function_to_be_found as *const () as u64;
    assert_eq!(a_function_to_be_found(), 42);
    let mut symbolizer = Symbolizer::new(Options::default());
    let frame = symbolizer.user_symbol(me(), address + 2).expect("this test has symbols");
    assert_eq!(frame.function, "symbolize::a_function_to_be_found");
    assert_eq!((frame.offset, frame.inlined), (2, false));
    let exe = std::env::current_exe().expect("procfs");
    assert_eq!(frame.module.as_deref(), exe.to_str());
    assert_eq!(symbolizer.user_symbol(me(), address + 2), Some(frame), "and again from memory");
}

#[test]
fn names_stay_mangled_and_sources_are_told_as_asked() {
    let address = a_function_to_be_found as *const () as u64;
    let mut symbolizer = Symbolizer::new(Options { demangle: false, debug_info: true });
    let frame = symbolizer.user_symbol(me(), address).expect("this test has symbols");
    assert!(frame.function.starts_with("_ZN") || frame.function.starts_with("_R"), "{}", frame.function);
    let source = frame.source.expect("tests have debug information");
    assert!(source.contains("tests/symbolize.rs:"), "{source}");
}

#[test]
fn addresses_that_are_no_code_have_no_name() {
    let mut symbolizer = Symbolizer::new(Options::default());
    for address in [0, 1, 0xdead_beef_0000, u64::MAX] {
        assert_eq!(symbolizer.user_frames(me(), address), [], "{address:#x}");
    }
    assert_eq!(symbolizer.user_frames(u32::MAX, 0x40_1000), []);
    assert_eq!(symbolizer.build_id(me(), 1), None);
}

#[test]
fn the_vdso_has_names() {
    let maps = mappings(me());
    let Some(vdso) = maps.iter().find(|m| m.path == "[vdso]") else { return };
    let mut symbolizer = Symbolizer::new(Options::default());
    let names: Vec<String> = (vdso.start..vdso.end)
        .step_by(16)
        .filter_map(|address| symbolizer.user_symbol(me(), address))
        .map(|frame| frame.function)
        .collect();
    assert!(names.iter().any(|name| name.contains("clock_gettime")), "{names:?}");
}

/// A child that only waits, ended when dropped.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let child =
            Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("sleep is everywhere");
        let sleeper = Self(child);
        // Until the loader is done there is no C library.
        for _ in 0..200 {
            if mappings(sleeper.pid()).iter().any(|m| m.path.contains("libc")) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        sleeper
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_process_that_was_noted_is_known_after_its_end() {
    let mut sleeper = Sleeper::start();
    let pid = sleeper.pid();
    let Some(libc) = mappings(pid).into_iter().find(|m| m.path.contains("libc")) else { return };
    let mut alive = Symbolizer::new(Options::default());
    let (address, expected) = (libc.start..libc.end)
        .step_by(64)
        .find_map(|address| alive.user_symbol(pid, address).map(|frame| (address, frame)))
        .expect("the C library exports functions");
    let build_id = alive.build_id(pid, address).expect("the C library has a build id");
    assert_eq!(build_id.1, libc.file_offset(address));
    assert!(build_id.0.len() >= 16 && build_id.0.bytes().all(|b| b.is_ascii_hexdigit()), "{build_id:?}");

    let mut noted = Symbolizer::new(Options::default());
    noted.note_process(pid);
    sleeper.end();
    assert_eq!(noted.user_symbol(pid, address), Some(expected));
    assert_eq!(noted.build_id(pid, address), Some(build_id));
    let mut late = Symbolizer::new(Options::default());
    assert_eq!(late.user_symbol(pid, address), None, "nobody looked in time");
}

/// A directory that is a machine's root.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("strix-machine-{}-{name}", me()));
        std::fs::create_dir_all(root.join("proc/77/root/tmp")).expect("temporary directory");
        std::fs::create_dir_all(root.join("etc")).expect("temporary directory");
        Self(root)
    }

    fn file(self, path: &str, content: &str) -> Self {
        std::fs::write(self.0.join(path), content).expect("temporary file");
        self
    }

    fn symbolizer(&self) -> Symbolizer {
        Symbolizer::under(Options::default(), &self.0)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn kernel_functions_modules_and_rust() {
    let machine = Machine::new("kernel").file(
        "proc/kallsyms",
        "ffffffff81000000 T vfs_read\nffffffff81000800 t _RNvC6kernel5print\nffffffffc0000000 t open\t[ext4]\n",
    );
    let mut symbolizer = machine.symbolizer();
    let frame = symbolizer.kernel_symbol(0xffff_ffff_8100_0010).expect("in the table");
    assert_eq!((frame.function.as_str(), frame.offset, frame.module), ("vfs_read", 16, None));
    let rust = symbolizer.kernel_symbol(0xffff_ffff_8100_0800).expect("in the table");
    assert_eq!(rust.function, "kernel::print");
    let module = symbolizer.kernel_symbol(0xffff_ffff_c000_0000).expect("in the table");
    assert_eq!(module.module.as_deref(), Some("ext4"));
    assert_eq!(symbolizer.kernel_symbol(0x10), None);
    assert!(symbolizer.problems().is_empty());
}

#[test]
fn missing_kernel_symbols_are_explained_once() {
    let hidden = Machine::new("hidden").file("proc/kallsyms", "0000000000000000 T vfs_read\n");
    let mut symbolizer = hidden.symbolizer();
    assert_eq!(symbolizer.kernel_symbol(0xffff_ffff_8100_0010), None);
    assert_eq!(symbolizer.kernel_symbol(0xffff_ffff_8100_0020), None);
    assert_eq!(symbolizer.problems().len(), 1);
    assert!(symbolizer.problems()[0].contains("kptr_restrict"));
    let mut absent = Machine::new("absent").symbolizer();
    assert_eq!(absent.kernel_symbol(0xffff_ffff_8100_0010), None);
    assert!(absent.problems()[0].contains("kallsyms"));
}

#[test]
fn generated_code_and_users() {
    let machine = Machine::new("jit")
        .file("etc/passwd", "root:x:0:0::/:\nweb:x:33:33::/:\n")
        .file("proc/77/maps", "1000-3000 rwxp 0 00:00 0 \n")
        .file("proc/77/root/tmp/perf-77.map", "1000 100 LazyCompile:~handle /app/server.js:10\n");
    let uid = std::os::unix::fs::MetadataExt::uid(&machine.0.metadata().expect("made above"));
    let machine = machine.file("proc/77/status", &format!("Uid:\t{uid}\nNSpid:\t77\n"));
    let mut symbolizer = machine.symbolizer();
    let frame = symbolizer.user_symbol(77, 0x1010).expect("in the map");
    assert_eq!((frame.function.as_str(), frame.offset), ("LazyCompile:~handle /app/server.js:10", 16));
    assert_eq!(symbolizer.user_symbol(77, 0x2000), None);
    assert_eq!(symbolizer.user_name(33).as_deref(), Some("web"));
    assert_eq!(symbolizer.user_name(34), None);
}

#[test]
fn a_file_that_is_no_program_only_loses_its_names() {
    let machine = Machine::new("hostile");
    for (name, content) in [
        ("text", b"not a program".to_vec()),
        ("elf", [b"\x7fELF\x02\x01\x01".to_vec(), vec![0xff; 4096]].concat()),
    ] {
        let path = machine.0.join(name);
        std::fs::write(&path, content).expect("temporary file");
        let inode = std::os::unix::fs::MetadataExt::ino(&path.metadata().expect("just written"));
        let maps = format!("1000-3000 r-xp 0 00:01 {inode} {}\n", path.display());
        std::fs::write(machine.0.join("proc/77/maps"), maps).expect("temporary file");
        let mut symbolizer = machine.symbolizer();
        assert_eq!(symbolizer.user_symbol(77, 0x1010), None, "{name}");
        assert_eq!(symbolizer.build_id(77, 0x1010), None, "{name}");
    }
}
