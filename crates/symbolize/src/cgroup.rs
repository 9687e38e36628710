//! Cgroup ids → paths. An id is the inode of the cgroup's directory, so the hierarchy is walked and indexed when the first id is
//! asked for, and again when an id is not in the index.

use std::collections::HashMap;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most directories that are visited.
const MOST_CGROUPS: usize = 1 << 16;

/// Least time between two walks.
const WALK_INTERVAL: Duration = Duration::from_millis(500);

/// Paths by id.
#[derive(Debug)]
pub(crate) struct Cgroups {
    mounts: PathBuf,
    walked: Option<Instant>,
    paths: HashMap<u64, String>,
}

impl Cgroups {
    /// `mounts` lists the mounts, as `/proc/mounts` does.
    pub fn new(mounts: impl Into<PathBuf>) -> Self {
        Self { mounts: mounts.into(), walked: None, paths: HashMap::new() }
    }

    /// Hierarchy and path, `unified:/user.slice`; several hierarchies are separated by commas.
    pub fn path(&mut self, id: u64) -> Option<String> {
        if !self.paths.contains_key(&id) && self.walked.is_none_or(|at| at.elapsed() >= WALK_INTERVAL) {
            self.walk();
        }
        self.paths.get(&id).cloned()
    }

    fn walk(&mut self) {
        let mounts = std::fs::read(&self.mounts).unwrap_or_default();
        let (unified, mut named) = hierarchies(&String::from_utf8_lossy(&mounts));
        named.sort();
        // Ids that programs report are of the unified hierarchy; inodes of the others mean something only without one.
        let roots = if unified.is_empty() { named } else { unified };
        self.paths.clear();
        let mut left = MOST_CGROUPS;
        for (name, root) in &roots {
            let mut found = HashMap::new();
            index(root, &mut found, &mut left);
            for (id, path) in found {
                let shown = format!("{name}:{path}");
                self.paths
                    .entry(id)
                    .and_modify(|all| {
                        all.push(',');
                        all.push_str(&shown);
                    })
                    .or_insert(shown);
            }
        }
        self.walked = Some(Instant::now());
    }
}

type Roots = Vec<(String, PathBuf)>;

/// Roots of the unified hierarchy, and of the others with their names.
fn hierarchies(mounts: &str) -> (Roots, Roots) {
    let (mut unified, mut named) = (Roots::new(), Roots::new());
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(point), Some(kind)) = (fields.next(), fields.next()) else { continue };
        let root = PathBuf::from(point.replace("\\040", " "));
        match kind {
            "cgroup2" => unified.push(("unified".into(), root)),
            "cgroup" => {
                let name = root.file_name().map(|n| n.to_string_lossy().into_owned());
                named.push((name.unwrap_or_default(), root));
            }
            _ => {}
        }
    }
    (unified, named)
}

/// Adds every directory below `root` by inode.
fn index(root: &Path, found: &mut HashMap<u64, String>, left: &mut usize) {
    if let Ok(meta) = root.metadata() {
        found.insert(meta.ino(), "/".into());
    }
    let mut waiting = vec![(root.to_path_buf(), String::new())];
    while let Some((directory, path)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|t| t.is_dir()) {
                continue;
            }
            if *left == 0 {
                return;
            }
            *left -= 1;
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            found.insert(entry.ino(), path.clone());
            waiting.push((entry.path(), path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_give_the_hierarchies() {
        let text = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                    cgroup2 /sys/fs/cgroup/uni\\040fied cgroup2 rw 0 0\nbad\n";
        let (unified, named) = hierarchies(text);
        assert_eq!(unified, [("unified".to_owned(), PathBuf::from("/sys/fs/cgroup/uni fied"))]);
        assert_eq!(named, [("cpu".to_owned(), PathBuf::from("/sys/fs/cgroup/cpu"))]);
    }

    #[test]
    fn ids_are_inodes() {
        let root = std::env::temp_dir().join(format!("strix-cgroup-{}", std::process::id()));
        let inner = root.join("a.slice/b.service");
        std::fs::create_dir_all(&inner).expect("temporary directory");
        let mounts = root.join("mounts");
        std::fs::write(&mounts, format!("cgroup2 {} cgroup2 rw 0 0\n", root.display())).expect("file");
        let ino = |path: &Path| path.metadata().expect("made above").ino();
        let mut cgroups = Cgroups::new(&mounts);
        assert_eq!(cgroups.path(ino(&inner)).as_deref(), Some("unified:/a.slice/b.service"));
        assert_eq!(cgroups.path(ino(&root)).as_deref(), Some("unified:/"));
        assert_eq!(cgroups.path(ino(&mounts)), None, "a file is no cgroup");
        std::fs::remove_dir_all(&root).expect("made above");
    }
}
