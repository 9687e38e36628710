//! Ids of cgroups by path. A cgroup v2's id is the inode number of its directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::KernelFacts;
use crate::paths::under;

impl KernelFacts {
    /// The id of a cgroup: of an absolute path as it is, else of one below `/sys/fs/cgroup`. `None` when there is no such directory.
    #[must_use]
    pub fn cgroup_id(&self, path: &str) -> Option<u64> {
        let path = Path::new(path);
        let absolute =
            if path.is_absolute() { path.to_owned() } else { Path::new("/sys/fs/cgroup").join(path) };
        let metadata = fs::metadata(under(self.root(), absolute)).ok()?;
        metadata.is_dir().then(|| metadata.ino())
    }
}
