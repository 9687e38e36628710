//! The kernel's build configuration, from `/proc/config.gz` or `/boot/config-RELEASE`.

/// A configuration is about 300 KB of text. More than this is no configuration.
const MAX_TEXT: usize = 8 << 20;

/// Unpacks a gzip file of one member.
pub(crate) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let (&[0x1f, 0x8b, 8, flags, ..], _) = bytes.split_first_chunk::<10>()? else { return None };
    let mut at = 10;
    if flags & 4 != 0 {
        let len = bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))?;
        at += 2 + usize::from(len);
    }
    // Name, then comment, each up to its NUL.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += bytes.get(at..)?.iter().position(|b| *b == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    let body = bytes.get(at..bytes.len().checked_sub(8)?)?;
    miniz_oxide::inflate::decompress_to_vec_with_limit(body, MAX_TEXT).ok()
}

/// The value of `CONFIG_NAME`: `y`, `m`, a number or a text without its quotes; `None` when it is not set.
pub(crate) fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let name = name.strip_prefix("CONFIG_").unwrap_or(name);
    text.lines().find_map(|line| {
        let value = line.strip_prefix("CONFIG_")?.strip_prefix(name)?.strip_prefix('=')?;
        Some(value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::{gunzip, value};
    use proptest::prelude::*;

    fn gzip(text: &[u8], flags: u8, extra: &[u8]) -> Vec<u8> {
        let mut out = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
        out.extend(extra);
        out.extend(miniz_oxide::deflate::compress_to_vec(text, 6));
        out.extend([0; 8]);
        out
    }

    #[test]
    fn unpacks_with_and_without_a_name() {
        assert_eq!(gunzip(&gzip(b"CONFIG_A=y\n", 0, b"")).as_deref(), Some(&b"CONFIG_A=y\n"[..]));
        assert_eq!(gunzip(&gzip(b"x", 8, b"config\0")).as_deref(), Some(&b"x"[..]));
        assert_eq!(gunzip(&gzip(b"x", 4, &[2, 0, 9, 9])).as_deref(), Some(&b"x"[..]));
        assert_eq!(gunzip(b"\x1f\x8b"), None);
        assert_eq!(gunzip(b"plain text that is no archive"), None);
    }

    #[test]
    fn values() {
        let text = "# CONFIG_B is not set\nCONFIG_A=y\nCONFIG_HZ=250\nCONFIG_V=\"6.18\"\nCONFIG_AB=m\n";
        assert_eq!(value(text, "A"), Some("y"));
        assert_eq!(value(text, "CONFIG_HZ"), Some("250"));
        assert_eq!(value(text, "V"), Some("6.18"));
        assert_eq!(value(text, "B"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_fine(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), head in any::<bool>()) {
            if head && bytes.len() > 3 {
                bytes[..3].copy_from_slice(&[0x1f, 0x8b, 8]);
            }
            let _ = gunzip(&bytes);
        }
    }
}
