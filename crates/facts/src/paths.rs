//! From what a script names (`/bin/bash`, `bash`, `libc`, `/usr/lib/*/libssl.so*`) to files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::Glob;
use crate::kernel::Arch;
use crate::ldcache::LdCache;

/// A wildcard that names more files than this names none that anybody meant one by one.
const MAX_FILES: usize = 4096;

/// Where programs are when nobody says, and where the dynamic linker looks without being told.
const PROGRAM_DIRS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Puts an absolute path under a root.
pub(crate) fn under(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Bytes as text; what is no UTF-8 is replaced. Copies only then.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// All files that `name` stands for, best first. A path that holds no wildcard is given back as it is, there or not.
pub(crate) fn resolve(
    root: &Path,
    search: Option<&OsStr>,
    cache: &LdCache,
    arch: Arch,
    name: &str,
) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.contains('/') {
        let path = under(root, absolute(name));
        return if Glob::new(name).is_literal() || path.exists() { vec![path] } else { expand(&path) };
    }
    let search = search.unwrap_or(OsStr::new(PROGRAM_DIRS));
    let dirs = std::env::split_paths(search).filter(|d| d.is_absolute()).map(|d| under(root, d));
    if !Glob::new(name).is_literal() {
        let mut found = Vec::new();
        for dir in dirs {
            for path in expand(&dir.join(name)) {
                if !found.contains(&path) && is_program(&path) {
                    found.push(path);
                }
            }
        }
        return found;
    }
    if let Some(program) = dirs.map(|d| d.join(name)).find(|p| is_program(p)) {
        return vec![program];
    }
    let cached = cache.find(name, arch);
    if !cached.is_empty() {
        return cached.into_iter().take(1).map(|p| under(root, p)).collect();
    }
    library_in_default_dirs(root, arch, name).into_iter().collect()
}

fn absolute(name: &str) -> PathBuf {
    std::path::absolute(name).unwrap_or_else(|_| PathBuf::from(name))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn library_in_default_dirs(root: &Path, arch: Arch, name: &str) -> Option<PathBuf> {
    let multiarch = arch.multiarch();
    let dirs = [
        format!("/usr/lib/{multiarch}"),
        format!("/lib/{multiarch}"),
        "/usr/lib64".into(),
        "/lib64".into(),
        "/usr/lib".into(),
        "/lib".into(),
        "/usr/local/lib".into(),
    ];
    let wanted = Glob::new(&format!("{name}.so*"));
    dirs.iter().map(|d| under(root, d)).find_map(|dir| {
        let exact = dir.join(name);
        if exact.is_file() {
            return Some(exact);
        }
        let mut names = names_in(&dir);
        names.retain(|n| wanted.is_match(n));
        names.first().map(|n| dir.join(n))
    })
}

/// Files that match a path with wildcards in any component.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(part) = component else {
            for path in &mut found {
                path.push(component);
            }
            continue;
        };
        let Some(glob) = part.to_str().map(Glob::new).filter(|g| !g.is_literal()) else {
            for path in &mut found {
                path.push(part);
            }
            continue;
        };
        let mut next = Vec::new();
        for dir in &found {
            for name in names_in(dir) {
                let hidden = name.starts_with('.') && !glob.pattern().starts_with('.');
                if !hidden && glob.is_match(&name) && next.len() < MAX_FILES {
                    next.push(dir.join(name));
                }
            }
        }
        found = next;
    }
    found.retain(|p| p.is_file());
    found
}

/// Names in a directory, sorted; none if it cannot be read.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::resolve;
    use crate::kernel::Arch;
    use crate::ldcache::LdCache;

    fn tree() -> PathBuf {
        let root = std::env::temp_dir().join(format!("strix-paths-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let put = |path: &str, mode: u32| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
            fs::write(&path, "").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        };
        put("usr/bin/bash", 0o755);
        put("usr/bin/basename", 0o755);
        put("usr/bin/notes", 0o644);
        put("opt/one/libx.so.1", 0o644);
        put("opt/two/libx.so.2", 0o644);
        put("usr/lib/x86_64-linux-gnu/libz.so.1", 0o644);
        root
    }

    #[test]
    fn every_way_to_name_a_file() {
        let root = tree();
        let ask = |name: &str| -> Vec<String> {
            resolve(&root, Some(OsStr::new("/usr/bin:relative")), &LdCache::default(), Arch::X86_64, name)
                .into_iter()
                .map(|p| format!("/{}", p.strip_prefix(&root).unwrap_or(Path::new("outside")).display()))
                .collect()
        };
        assert_eq!(ask("bash"), ["/usr/bin/bash"]);
        assert_eq!(ask("bas*"), ["/usr/bin/basename", "/usr/bin/bash"]);
        assert_eq!(ask("/no/such/file"), ["/no/such/file"]);
        assert_eq!(ask("/opt/*/libx.so.*"), ["/opt/one/libx.so.1", "/opt/two/libx.so.2"]);
        assert_eq!(ask("libz"), ["/usr/lib/x86_64-linux-gnu/libz.so.1"]);
        assert_eq!(ask("libz.so.1"), ["/usr/lib/x86_64-linux-gnu/libz.so.1"]);
        assert!(ask("notes").is_empty());
        assert!(ask("").is_empty());
        assert!(ask("no*such").is_empty());
        fs::remove_dir_all(&root).expect("removed");
    }
}
