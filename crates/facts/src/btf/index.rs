//! Finding types and enumerators by name.
//!
//! Chains in two flat arrays rather than a `HashMap` of strings: a kernel has 76,000 names, and this costs 12 bytes
//! and a few nanoseconds each. Names are not kept; a candidate is compared with the name in the BTF itself.

use super::types::raw;
use super::{Btf, BtfType, TypeId};

/// Marks the end of a chain.
const END: u32 = u32::MAX;

/// A hash index from names to entry numbers.
pub(super) struct NameIndex {
    /// First entry by hash; the length is a power of two.
    heads: Vec<u32>,
    /// Next entry with the same hash, by entry.
    next: Vec<u32>,
    /// For enumerators: own type and position in it, by entry.
    places: Vec<(u32, u32)>,
}

impl NameIndex {
    /// Named types of `btf` itself; an entry is the number of the type, counted from the first own one.
    pub(super) fn of_types(btf: &Btf) -> Self {
        let mut index = Self::with_entries(btf.offsets.len());
        let types = btf.type_bytes(0);
        // From the last to the first, so that chains are in ascending order.
        for (slot, &at) in btf.offsets.iter().enumerate().rev() {
            let Some(&[name, info]) =
                types.get(at as usize..).and_then(|t| t.as_chunks::<4>().0.first_chunk())
            else {
                continue;
            };
            let name = u32::from_le_bytes(name);
            // Tags are not names, and nobody looks up what they are on by them.
            let tag = matches!(raw::kind(u32::from_le_bytes(info)), raw::TYPE_TAG | raw::DECL_TAG);
            if name != 0 && !tag {
                index.insert(btf.string_bytes(name), slot as u32);
            }
        }
        index
    }

    /// Enumerators of `btf` itself.
    pub(super) fn of_enumerators(btf: &Btf) -> Self {
        let mut names = Vec::new();
        let mut places = Vec::new();
        for id in btf.own_ids() {
            if let Some(BtfType::Enum { values, .. }) = btf.enum_at(id) {
                for (position, name) in values.name_offsets().enumerate() {
                    names.push(name);
                    places.push((id.0 - btf.first_id, position as u32));
                }
            }
        }
        let mut index = Self::with_entries(names.len());
        for (entry, &name) in names.iter().enumerate().rev() {
            index.insert(btf.string_bytes(name), entry as u32);
        }
        index.places = places;
        index
    }

    /// Entries that may have this name.
    pub(super) fn candidates(&self, name: &str) -> impl Iterator<Item = u32> + '_ {
        let head = self.heads[self.bucket(name.as_bytes())];
        std::iter::successors(Some(head), |&entry| self.next.get(entry as usize).copied())
            .take_while(|&entry| entry != END)
    }

    /// Own type and position of an enumerator's entry.
    pub(super) fn enumerator(&self, entry: u32) -> Option<(u32, u32)> {
        self.places.get(entry as usize).copied()
    }

    fn with_entries(n: usize) -> Self {
        Self { heads: vec![END; n.next_power_of_two()], next: vec![END; n], places: Vec::new() }
    }

    fn insert(&mut self, name: &[u8], entry: u32) {
        let bucket = self.bucket(name);
        self.next[entry as usize] = std::mem::replace(&mut self.heads[bucket], entry);
    }

    fn bucket(&self, name: &[u8]) -> usize {
        hash(name) as usize & (self.heads.len() - 1)
    }
}

impl Btf {
    /// The type if it is an enum, without decoding others.
    fn enum_at(&self, id: TypeId) -> Option<BtfType<'_>> {
        let at = *self.offsets.get((id.0 - self.first_id) as usize)? as usize;
        match raw::kind(self.u32_at(at + 4)) {
            raw::ENUM | raw::ENUM64 => super::types::decode(self, at),
            _ => None,
        }
    }
}

/// Eight bytes a step, mixed by multiplication. Not proof against chosen names: a bad hash costs time in proportion to
/// the file that was given, no more.
fn hash(name: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let (chunks, rest) = name.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut h = name.len() as u64;
    for chunk in chunks.iter().chain(std::iter::once(&last)) {
        h = (h.rotate_left(23) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MIX);
    }
    h ^ (h >> 32)
}
