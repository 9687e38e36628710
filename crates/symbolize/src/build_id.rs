//! Build ids of ELF files, read without mapping the file.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Program headers and notes beyond these sizes are not looked at.
const MOST_HEADERS: usize = 256;
const MOST_NOTE_BYTES: usize = 64 << 10;

const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;

/// The GNU build id in hexadecimal.
pub(crate) fn read(file: &File) -> Option<String> {
    let header: [u8; 64] = at(file, 0)?;
    let wide = match header[..6] {
        [0x7f, b'E', b'L', b'F', 2, 1] => true,
        [0x7f, b'E', b'L', b'F', 1, 1] => false,
        _ => return None,
    };
    let (table, entry_size, count) = if wide {
        (word(&header, 32, 8), 56, word(&header, 56, 2))
    } else {
        (word(&header, 28, 4), 32, word(&header, 44, 2))
    };
    (0..(count as usize).min(MOST_HEADERS)).find_map(|i| {
        let start = table.checked_add((i * entry_size) as u64)?;
        let segment: [u8; 40] = if wide { at(file, start)? } else { narrow(file, start)? };
        if word(&segment, 0, 4) as u32 != PT_NOTE {
            return None;
        }
        let (offset, size) = if wide {
            (word(&segment, 8, 8), word(&segment, 32, 8))
        } else {
            (word(&segment, 4, 4), word(&segment, 16, 4))
        };
        let mut notes = vec![0; (size as usize).min(MOST_NOTE_BYTES)];
        file.read_exact_at(&mut notes, offset).ok()?;
        in_notes(&notes)
    })
}

fn narrow(file: &File, start: u64) -> Option<[u8; 40]> {
    let short: [u8; 32] = at(file, start)?;
    let mut padded = [0; 40];
    padded[..32].copy_from_slice(&short);
    Some(padded)
}

fn at<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

/// A little-endian number.
fn word(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let mut whole = [0; 8];
    if let Some(found) = bytes.get(offset..offset + size) {
        whole[..size].copy_from_slice(found);
    }
    u64::from_le_bytes(whole)
}

/// Walks the notes of a segment: sizes of name and description, type, both padded to four bytes.
fn in_notes(mut notes: &[u8]) -> Option<String> {
    while notes.len() >= 12 {
        let (name_size, size) = (word(notes, 0, 4) as usize, word(notes, 4, 4) as usize);
        let kind = word(notes, 8, 4) as u32;
        let body = &notes[12..];
        let name = body.get(..name_size)?;
        let start = name_size.checked_next_multiple_of(4)?;
        let description = body.get(start..start.checked_add(size)?)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && !description.is_empty() && size <= 64 {
            return Some(description.iter().map(|b| format!("{b:02x}")).collect());
        }
        notes = body.get(start + size.checked_next_multiple_of(4)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [name.len() as u32, description.len() as u32, kind] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for part in [name, description] {
            bytes.extend_from_slice(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_gnu_note_is_found_among_others() {
        let notes =
            [note(b"GNU\0", 1, b"abc"), note(b"Go\0\0", 3, b"x"), note(b"GNU\0", 3, &[0xab, 1, 2])].concat();
        assert_eq!(in_notes(&notes).as_deref(), Some("ab0102"));
        assert_eq!(in_notes(&note(b"GNU\0", 3, b"")), None);
        assert_eq!(in_notes(&[0xff; 40]), None);
    }

    #[test]
    fn a_real_library_has_one_and_text_has_none() {
        let text = File::open("/proc/self/maps").expect("procfs");
        assert_eq!(read(&text), None);
    }

    proptest! {
        #[test]
        fn any_notes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            in_notes(&bytes);
        }
    }
}
