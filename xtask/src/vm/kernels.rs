//! Gets kernel images from Debian's archive with apt, by a source list and a state of its own: /etc/apt stays as it is, and only
//! files are downloaded and unpacked, nothing is installed. Images are kept under `target/vm`, or where `STRIX_VM_CACHE` says.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, process, workspace};

/// Version of the kernel and the suites that have it, the better maintained first.
const SUITES: &[(&str, &[&str])] = &[
    ("5.10", &["debian-security bullseye-security", "debian bullseye"]),
    ("6.1", &["debian-security bookworm-security", "debian bookworm"]),
    ("6.12", &["debian-security trixie-security", "debian trixie"]),
];

/// How many versions are tried: an archive sometimes lists a package that is gone.
const ATTEMPTS: usize = 5;

/// The image of `kernel`, downloaded if it is not here yet.
pub(super) fn obtain(kernel: &str) -> Result<PathBuf> {
    let folder = cache().join(kernel);
    let image = folder.join("vmlinuz");
    if image.exists() {
        return Ok(image);
    }
    let suites = SUITES.iter().find(|(k, _)| *k == kernel).map(|(_, suites)| *suites);
    let suites =
        suites.ok_or_else(|| format!("no source known for {kernel}; put one at {}", image.display()))?;
    if workspace::find_program("apt-get").is_none() {
        return Err("no apt-get".into());
    }
    std::fs::create_dir_all(&folder)?;
    let apt = Apt::new(&folder, suites)?;
    println!("vm: fetching a {kernel} kernel");
    apt.update()?;
    let mut last = "the archive lists none".to_owned();
    for package in apt.candidates(kernel)?.into_iter().take(ATTEMPTS) {
        match apt.unpack(&package, &image) {
            Ok(()) => return Ok(image),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last.into())
}

fn cache() -> PathBuf {
    std::env::var_os("STRIX_VM_CACHE").map_or_else(|| workspace::target_dir().join("vm"), PathBuf::from)
}

/// apt with its own directories.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn new(folder: &Path, suites: &[&str]) -> Result<Self> {
        for sub in ["state/lists/partial", "cache/archives/partial", "sources.d"] {
            std::fs::create_dir_all(folder.join(sub))?;
        }
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        let signed =
            if Path::new(keyring).exists() { format!("[signed-by={keyring}] ") } else { String::new() };
        let line = |suite: &&str| {
            let (archive, name) = suite.split_once(' ').unwrap_or(("debian", suite));
            format!("deb {signed}http://deb.debian.org/{archive} {name} main\n")
        };
        std::fs::write(folder.join("sources.list"), suites.iter().map(line).collect::<String>())?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |sub: &str| self.folder.join(sub).display().to_string();
        for (option, value) in [
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", at("sources.d")),
            ("Dir::State", at("state")),
            ("Dir::State::status", "/dev/null".into()),
            ("Dir::Cache", at("cache")),
            ("APT::Sandbox::User", "root".into()),
            ("Acquire::Retries", "1".into()),
            ("Acquire::http::Timeout", "20".into()),
        ] {
            command.arg("-o").arg(format!("{option}={value}"));
        }
        command.current_dir(&self.folder).env("LC_ALL", "C");
        command
    }

    fn update(&self) -> Result {
        process::quiet(self.command("apt-get").args(["-q", "--error-on=any", "update"])).map(drop)
    }

    /// Packages with an image for cloud machines (small, everything needed built in), newest first.
    fn candidates(&self, kernel: &str) -> Result<Vec<String>> {
        let pattern =
            format!(r"^linux-image-{}\.[0-9].*-cloud-amd64(-unsigned)?$", kernel.replace('.', r"\."));
        let listed = process::quiet(self.command("apt-cache").args(["pkgnames", "linux-image-"]))?;
        let regex = regex_lite::Regex::new(&pattern)?;
        let mut names: Vec<String> =
            listed.lines().filter(|l| regex.is_match(l)).map(str::to_owned).collect();
        names.sort_by(|a, b| by_version(b, a));
        Ok(names)
    }

    fn unpack(&self, package: &str, image: &Path) -> Result {
        process::quiet(self.command("apt-get").args(["-q", "download", package]))?;
        let downloaded = std::fs::read_dir(&self.folder)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|e| e == "deb"))
            .ok_or("apt-get downloaded nothing")?;
        let content = self.folder.join("content");
        process::quiet(Command::new("dpkg-deb").arg("-x").arg(&downloaded).arg(&content))?;
        let found = std::fs::read_dir(content.join("boot"))?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("vmlinuz")))
            .ok_or_else(|| format!("{package} holds no image"))?;
        std::fs::rename(found, image)?;
        std::fs::write(self.folder.join("package"), format!("{package}\n"))?;
        std::fs::remove_dir_all(content)?;
        std::fs::remove_file(downloaded)?;
        Ok(())
    }
}

/// Compares the numbers in two names one after the other.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |name: &str| -> Vec<u64> {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| b.cmp(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let mut names = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-57-cloud-amd64"];
        names.sort_by(|a, b| by_version(b, a));
        assert_eq!(names[0], "linux-image-6.1.0-57-cloud-amd64");
    }
}
