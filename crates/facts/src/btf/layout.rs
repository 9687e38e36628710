//! The outer shape of BTF: the header, the sections, and how long each record is.

use std::ops::Range;

use super::types::raw;
use crate::FactsError;

const MAGIC: u16 = 0xeb9f;
const WHAT: &str = "BTF";

/// The sections, checked to lie within the bytes.
pub(super) struct Header {
    pub(super) types: Range<usize>,
    pub(super) strings: Range<usize>,
    /// Sizes of the records of each kind as the writer knew them (since v7.1); lets us step over newer kinds.
    layout: Range<usize>,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, FactsError> {
        let field = |at: usize| -> Result<usize, FactsError> {
            read_u32(bytes, at)
                .map(|n| n as usize)
                .ok_or_else(|| FactsError::malformed(WHAT, "the header is cut short"))
        };
        let magic = field(0)? & 0xffff;
        if magic != usize::from(MAGIC) {
            let detail = match u16::try_from(magic) {
                Ok(m) if m == MAGIC.swap_bytes() => "big-endian, which is not supported".to_owned(),
                _ => format!("bad magic {magic:#x}"),
            };
            return Err(FactsError::malformed(WHAT, detail));
        }
        let header_len = field(4)?;
        if header_len < 24 {
            return Err(FactsError::malformed(WHAT, format!("a header of {header_len} bytes")));
        }
        let section = |offset: usize, len: usize, name: &str| {
            let start = header_len.checked_add(offset);
            let end = start.and_then(|s| s.checked_add(len));
            match (start, end) {
                (Some(start), Some(end)) if end <= bytes.len() => Ok(start..end),
                _ => Err(FactsError::malformed(WHAT, format!("the {name} section lies outside"))),
            }
        };
        let types = section(field(8)?, field(12)?, "type")?;
        let strings = section(field(16)?, field(20)?, "string")?;
        let layout = match header_len {
            32.. => section(field(24)?, field(28)?, "layout")?,
            _ => 0..0,
        };
        Ok(Self { types, strings, layout })
    }

    /// Where each type starts within the type section.
    pub(super) fn type_offsets(&self, bytes: &[u8]) -> Result<Vec<u32>, FactsError> {
        let types = &bytes[self.types.clone()];
        let sizes = self.record_sizes(bytes);
        // A vmlinux has about 24 bytes a type; the guess saves growing.
        let mut offsets = Vec::with_capacity(types.len() / 24);
        let mut at = 0;
        while at < types.len() {
            let info = read_u32(types, at + 4).ok_or_else(|| cut_short(at))?;
            let kind = raw::kind(info);
            let Some(&Some((fixed, element))) = sizes.get(kind as usize) else {
                return Err(FactsError::malformed(WHAT, format!("unknown kind {kind} at type byte {at}")));
            };
            offsets.push(u32::try_from(at).map_err(|_| cut_short(at))?);
            let len = 12 + usize::from(fixed) + usize::from(element) * raw::vlen(info) as usize;
            at += len;
            if at > types.len() {
                return Err(cut_short(at - len));
            }
        }
        Ok(offsets)
    }

    /// Bytes after the common 12 that a record of each kind has once, and for each of its elements.
    fn record_sizes(&self, bytes: &[u8]) -> Vec<Option<(u8, u8)>> {
        let mut sizes = raw::SIZES.to_vec();
        for (kind, entry) in bytes[self.layout.clone()].chunks_exact(4).enumerate().take(128) {
            let size = Some((entry[0], entry[1]));
            match sizes.get_mut(kind) {
                // What we can decode has the size we decode by.
                Some(known) => *known = known.or(size),
                None => sizes.push(size),
            }
        }
        sizes
    }
}

fn cut_short(at: usize) -> FactsError {
    FactsError::malformed(WHAT, format!("the type at byte {at} is cut short"))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}
