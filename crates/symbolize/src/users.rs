//! User ids → login names, from `/etc/passwd` alone: a static binary has no name service switch.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// Longest file that is read.
const MOST_BYTES: u64 = 16 << 20;

/// Login names by id.
#[derive(Debug)]
pub(crate) struct Users {
    file: PathBuf,
    /// When the file that was read had been changed.
    modified: Option<SystemTime>,
    names: HashMap<u32, String>,
}

impl Users {
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), modified: None, names: HashMap::new() }
    }

    /// The login name of a user. Unknown ones are looked for again when the file has changed.
    pub fn name(&mut self, uid: u64) -> Option<String> {
        let uid = u32::try_from(uid).ok()?;
        if !self.names.contains_key(&uid) {
            self.read_if_changed();
        }
        self.names.get(&uid).cloned()
    }

    fn read_if_changed(&mut self) {
        let Ok(modified) = self.file.metadata().and_then(|m| m.modified()) else { return };
        if self.modified == Some(modified) {
            return;
        }
        self.modified = Some(modified);
        let mut text = Vec::new();
        if std::fs::File::open(&self.file).and_then(|f| f.take(MOST_BYTES).read_to_end(&mut text)).is_ok() {
            self.names = parse(&text);
        }
    }
}

/// `NAME:PASSWORD:UID:…`; the first line of an id counts.
fn parse(text: &[u8]) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in String::from_utf8_lossy(text).lines() {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next().unwrap_or_default(), fields.nth(1).and_then(|uid| uid.parse().ok()));
        if let Some(uid) = uid
            && !name.is_empty()
        {
            names.entry(uid).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_of_an_id_counts() {
        let names = parse(b"root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\n# comment\n:x:5:\nbad:x:nan:\nwww-data:x:33:33\n\xff:x:7:\n");
        assert_eq!(names.get(&0).map(String::as_str), Some("root"));
        assert_eq!(names.get(&33).map(String::as_str), Some("www-data"));
        assert_eq!(names.get(&7).map(String::as_str), Some("\u{fffd}"));
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn a_missing_file_knows_nobody() {
        let mut users = Users::new("/nonexistent/passwd");
        assert_eq!(users.name(0), None);
        assert_eq!(users.name(u64::MAX), None);
    }
}
