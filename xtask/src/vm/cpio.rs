//! Writes the "newc" cpio archives that Linux unpacks as its first root file system.

use std::fmt::Write;

/// Kinds and permissions as in `stat(2)`.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive in the making.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    /// A directory; its parents must be there already.
    pub(crate) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }

    /// A file that may be executed.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) {
        self.entry(path, PROGRAM, (0, 0), bytes);
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.entry(path, LINK, (0, 0), target.as_bytes());
    }

    /// A character device.
    pub(crate) fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTER_DEVICE, (major, minor), &[]);
    }

    /// The finished archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), bytes: &[u8]) {
        self.inode += 1;
        let path = path.trim_start_matches('/');
        let mut header = String::from("070701");
        let fields = [
            self.inode,
            mode,
            0,
            0,
            1,
            0,
            bytes.len() as u32,
            0,
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0,
        ];
        for field in fields {
            write!(header, "{field:08X}").expect("writing to a string cannot fail");
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_ended() {
        let mut archive = Archive::default();
        archive.directory("/bin");
        archive.file("/bin/a", b"hello");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.starts_with(b"070701"));
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("bin/a\0") && text.contains("hello"));
        assert!(text.trim_end_matches('\0').ends_with("TRAILER!!!"));
        // 110 bytes of header, then name and NUL, rounded up to 4.
        assert_eq!(&bytes[110..114], b"bin\0");
        assert_eq!(&bytes[116..122], b"070701");
    }
}
