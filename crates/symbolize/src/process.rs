//! What is known of one process: which program it runs, and what is mapped where. It stays known after the process has
//! exited.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::{Mapping, PerfMap, parse_maps};

/// How long it is believed that a process still runs the same program.
const TRUST: Duration = Duration::from_millis(20);

/// Least time between two looks for new mappings or new generated code.
const RETRY: Duration = Duration::from_millis(200);

/// Longest maps file that is read.
const MOST_MAPS_BYTES: u64 = 32 << 20;

/// Longest status or stat file.
const MOST_STATUS_BYTES: u64 = 64 << 10;

/// Tells one run of one program from another under the same pid: start of the process, then start of code, end of code and start of
/// the stack, which exec(2) changes.
type Identity = [u64; 4];

/// One process, alive or gone.
#[derive(Debug)]
pub(crate) struct Process {
    directory: PathBuf,
    identity: Option<Identity>,
    checked: Instant,
    mapped: Instant,
    mappings: Vec<Mapping>,
    /// Generated code, with length and time of the file it was read from.
    perf_map: Option<PerfMap>,
    perf_map_read: Option<(Instant, u64, i64)>,
}

impl Process {
    /// Reads what there is to know now. A process that is gone is empty.
    pub fn new(directory: PathBuf) -> Self {
        let now = Instant::now();
        let mut process = Self {
            identity: identity(&directory),
            mappings: Vec::new(),
            directory,
            checked: now,
            mapped: now,
            perf_map: None,
            perf_map_read: None,
        };
        process.read_mappings();
        process
    }

    /// Directory of the process under `/proc`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All executable mappings.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Whether another program runs under this pid by now. A process that is gone is still the same.
    pub fn is_replaced(&mut self) -> bool {
        if self.checked.elapsed() < TRUST {
            return false;
        }
        self.checked = Instant::now();
        match (identity(&self.directory), self.identity) {
            (Some(now), Some(then)) => now != then,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// The mapping of an address; looks for new mappings when there is none.
    pub fn mapping(&mut self, address: u64) -> Option<Mapping> {
        if let Some(found) = self.find(address) {
            return Some(found);
        }
        if self.mapped.elapsed() < RETRY {
            return None;
        }
        self.read_mappings();
        self.find(address)
    }

    fn find(&self, address: u64) -> Option<Mapping> {
        let after = self.mappings.partition_point(|m| m.start <= address);
        self.mappings.get(after.checked_sub(1)?).filter(|m| m.contains(address)).cloned()
    }

    /// Mappings that vanished at exit stay known.
    fn read_mappings(&mut self) {
        self.mapped = Instant::now();
        let text = read(&self.directory.join("maps"), MOST_MAPS_BYTES).unwrap_or_default();
        let mappings = parse_maps(&text);
        if !mappings.is_empty() {
            self.mappings = mappings;
        }
    }

    /// Generated code at an address.
    pub fn generated(&mut self, pid: u32, address: u64) -> Option<(String, u64)> {
        if let Some(found) = self.perf_map.as_ref().and_then(|map| map.lookup(address)) {
            return Some(found);
        }
        self.read_perf_map(pid);
        self.perf_map.as_ref()?.lookup(address)
    }

    /// Reads `/tmp/perf-PID.map` of the process's own root and pid namespace, unless it did not change. Only the process's user
    /// and root are believed: others could write there too.
    fn read_perf_map(&mut self, pid: u32) {
        if self.perf_map_read.is_some_and(|(at, ..)| at.elapsed() < RETRY) {
            return;
        }
        let known = self.perf_map_read.map(|(_, len, time)| (len, time));
        let (len, time) = known.unwrap_or_default();
        self.perf_map_read = Some((Instant::now(), len, time));
        let status = read(&self.directory.join("status"), MOST_STATUS_BYTES).unwrap_or_default();
        let (uid, inner_pid) = owner_and_inner_pid(&String::from_utf8_lossy(&status));
        let name = format!("root/tmp/perf-{}.map", inner_pid.unwrap_or(pid));
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits() as i32;
        let opened = File::options().read(true).custom_flags(flags).open(self.directory.join(name));
        let Ok((file, meta)) = opened.and_then(|f| f.metadata().map(|m| (f, m))) else { return };
        let trusted = meta.uid() == 0 || uid == Some(meta.uid());
        if !meta.is_file() || !trusted || known == Some((meta.len(), meta.mtime())) {
            return;
        }
        if let Ok(map) = PerfMap::read(file) {
            self.perf_map = Some(map);
            self.perf_map_read = Some((Instant::now(), meta.len(), meta.mtime()));
        }
    }
}

fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(limit).read_to_end(&mut text).ok()?;
    Some(text)
}

fn identity(directory: &Path) -> Option<Identity> {
    parse_identity(&read(&directory.join("stat"), MOST_STATUS_BYTES)?)
}

/// Fields 22, 26, 27 and 28 of proc_pid_stat(5). The command's name comes before and may hold anything, so counting starts at the
/// last parenthesis.
fn parse_identity(stat: &[u8]) -> Option<Identity> {
    let after = stat.iter().rposition(|&b| b == b')')?;
    let text = std::str::from_utf8(&stat[after + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    // The first field here is number 3. A zombie has no program any more: its memory's fields are zero.
    let start = fields.nth(22 - 3)?.parse().ok()?;
    let mut rest = [0; 3];
    for (i, slot) in rest.iter_mut().enumerate() {
        *slot = fields.nth(if i == 0 { 3 } else { 0 })?.parse().ok()?;
    }
    (rest != [0; 3]).then_some([start, rest[0], rest[1], rest[2]])
}

/// The real user id, and the pid in the innermost pid namespace.
fn owner_and_inner_pid(status: &str) -> (Option<u32>, Option<u32>) {
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::split_whitespace);
    let uid = field("Uid:").and_then(|mut ids| ids.next()).and_then(|id| id.parse().ok());
    let pid = field("NSpid:").and_then(|ids| ids.last()).and_then(|id| id.parse().ok());
    (uid, pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "30093 (a) b (x) R 30089 30089 14367 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 290711 3133440 390 \
                        18446744073709551615 94688393809920 94688393829801 140722438228416 0 0 0";

    #[test]
    fn identity_is_found_behind_any_name() {
        let expected = Some([290_711, 94_688_393_809_920, 94_688_393_829_801, 140_722_438_228_416]);
        assert_eq!(parse_identity(STAT.as_bytes()), expected);
        assert_eq!(parse_identity(b"1 (x) R 1"), None);
        assert_eq!(parse_identity(b""), None);
        let zombie = STAT.replace("94688393809920 94688393829801 140722438228416", "0 0 0");
        assert_eq!(parse_identity(zombie.as_bytes()), None);
    }

    #[test]
    fn owner_and_innermost_pid() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nNSpid:\t4711\t12\t3\n";
        assert_eq!(owner_and_inner_pid(status), (Some(1000), Some(3)));
        assert_eq!(owner_and_inner_pid("Uid:\tx\n"), (None, None));
    }

    fn fake(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("strix-process-{}-{name}", std::process::id()));
        std::fs::create_dir_all(root.join("root/tmp")).expect("temporary directory");
        std::fs::write(root.join("stat"), STAT).expect("file");
        std::fs::write(root.join("maps"), "1000-2000 r-xp 0 0:0 0 \n").expect("file");
        root
    }

    #[test]
    fn mappings_survive_the_process() {
        let root = fake("exit");
        let mut process = Process::new(root.clone());
        std::fs::remove_dir_all(&root).expect("made above");
        assert!(process.mapping(0x1800).is_some());
        std::thread::sleep(RETRY.max(TRUST));
        assert!(process.mapping(0x3000).is_none());
        assert!(!process.is_replaced());
        assert!(process.mapping(0x1800).is_some(), "still");
    }

    #[test]
    fn another_program_under_the_pid_is_noticed() {
        let root = fake("exec");
        let mut process = Process::new(root.clone());
        assert!(!process.is_replaced());
        std::fs::write(root.join("stat"), STAT.replace("140722438228416", "140722438228000")).expect("file");
        std::thread::sleep(TRUST);
        assert!(process.is_replaced());
        std::fs::remove_dir_all(&root).expect("made above");
    }

    #[test]
    fn perf_maps_are_believed_only_if_the_owner_fits() {
        let root = fake("jit");
        let me = root.metadata().expect("made above").uid();
        std::fs::write(root.join("root/tmp/perf-3.map"), "1800 10 jitted\n").expect("file");
        let status = |uid: u32| std::fs::write(root.join("status"), format!("Uid:\t{uid}\nNSpid:\t9\t3\n"));
        status(me).expect("file");
        assert_eq!(Process::new(root.clone()).generated(9, 0x1804), Some(("jitted".into(), 4)));
        // Root's files are believed whoever runs, so only others can be told apart.
        if me != 0 {
            status(me + 1).expect("file");
            assert_eq!(Process::new(root.clone()).generated(9, 0x1804), None);
        }
        std::fs::remove_dir_all(&root).expect("made above");
    }
}
