//! Making small BTF out of large, for fixtures: chosen types with what they are made of, and only declarations of what
//! lies farther away.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::types::raw;
use super::{Btf, BtfKind, BtfType, Place, TypeId};

/// What to keep.
#[derive(Clone, Debug, Default)]
pub struct Subset<'a> {
    /// Types to start from.
    pub roots: Vec<TypeId>,
    /// Structs and unions that are kept with all members wherever they are met.
    pub whole: HashSet<&'a str>,
    /// How many pointers are followed from a root or a whole struct before the rest is only declared.
    pub depth: u32,
}

impl Subset<'_> {
    /// The subset as BTF of its own. Members keep their offsets, structs their sizes. A struct that is too far away
    /// becomes a declaration, a function type that is too far away loses its parameters. `None` for split BTF.
    #[must_use]
    pub fn write(&self, btf: &Btf) -> Option<Vec<u8>> {
        if btf.base().is_some() {
            return None;
        }
        let distances = self.distances(btf);
        let ids: BTreeMap<TypeId, u32> = distances.keys().copied().zip(1..).collect();
        let mut writer = Writer { btf, ids, types: Vec::new(), strings: vec![0], known: HashMap::new() };
        for (&id, &distance) in &distances {
            writer.record(id, distance > self.depth);
        }
        Some(writer.finish())
    }

    /// Every type that is kept, and how many pointers it is away.
    fn distances(&self, btf: &Btf) -> BTreeMap<TypeId, u32> {
        let mut distances = BTreeMap::new();
        let mut queue: VecDeque<(TypeId, u32)> = self.roots.iter().map(|&id| (id, 0)).collect();
        while let Some((id, distance)) = queue.pop_front() {
            let distance = if self.whole.contains(btf.name(id)) { 0 } else { distance };
            if id == TypeId::VOID || distances.get(&id).is_some_and(|known| *known <= distance) {
                continue;
            }
            distances.insert(id, distance);
            let far = distance > self.depth;
            match btf.get(id) {
                Some(BtfType::Ptr(to)) => queue.push_back((to, distance + 1)),
                Some(BtfType::Struct { members, .. } | BtfType::Union { members, .. }) if !far => {
                    queue.extend(members.map(|m| (m.ty, distance)));
                }
                Some(BtfType::FuncProto { params, ret }) if !far => {
                    queue.extend(params.map(|p| (p.ty, distance)).chain([(ret, distance)]));
                }
                Some(BtfType::Array { element, index, .. }) => {
                    queue.extend([(element, distance), (index, distance)]);
                }
                Some(
                    BtfType::Typedef { to, .. }
                    | BtfType::Const(to)
                    | BtfType::Volatile(to)
                    | BtfType::Restrict(to)
                    | BtfType::TypeTag { to, .. }
                    | BtfType::Func { proto: to, .. }
                    | BtfType::Var { ty: to, .. },
                ) => queue.push_back((to, distance)),
                _ => {}
            }
        }
        distances
    }
}

struct Writer<'a> {
    btf: &'a Btf,
    ids: BTreeMap<TypeId, u32>,
    types: Vec<u8>,
    strings: Vec<u8>,
    known: HashMap<&'a str, u32>,
}

impl<'a> Writer<'a> {
    fn record(&mut self, id: TypeId, far: bool) {
        let Some(Place::At(btf, at)) = self.btf.locate(id) else { return };
        let bytes = btf.type_bytes(at);
        let word =
            |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        let (name, mut info, mut size) = (btf.string(word(0)), word(4), word(8));
        let kind = raw::kind(info);
        let mut elements = raw::vlen(info);
        if far {
            match kind {
                raw::STRUCT | raw::UNION if !name.is_empty() => {
                    info = (raw::FWD << 24) | (u32::from(kind == raw::UNION) << 31);
                    (size, elements) = (0, 0);
                }
                // Without a name there is nothing to declare; the size has to do.
                raw::STRUCT | raw::UNION | raw::ENUM | raw::ENUM64 | raw::FUNC_PROTO => {
                    info &= !0xff_ffff;
                    elements = 0;
                }
                _ => {}
            }
        }
        let size_is_type = matches!(
            kind,
            raw::PTR
                | raw::TYPEDEF
                | raw::VOLATILE
                | raw::CONST
                | raw::RESTRICT
                | raw::FUNC
                | raw::VAR
                | raw::TYPE_TAG
        ) || (kind == raw::FUNC_PROTO && !far);
        if size_is_type {
            size = self.id(size);
        } else if kind == raw::FUNC_PROTO {
            size = 0;
        }
        let name = self.string(name);
        self.put(&[name, info, size]);
        let (fixed, element) = raw::SIZES[kind as usize].unwrap_or_default();
        match kind {
            raw::ARRAY => {
                let (element, index) = (self.id(word(12)), self.id(word(16)));
                self.put(&[element, index, word(20)]);
            }
            _ => self.types.extend(&bytes[12..12 + usize::from(fixed)]),
        }
        if matches!(raw::kind(info), raw::FWD | raw::FUNC) {
            elements = 0;
        }
        for n in 0..elements as usize {
            let at = 12 + n * usize::from(element);
            let name = self.string(btf.string(word(at)));
            match kind {
                raw::STRUCT | raw::UNION => {
                    let ty = self.id(word(at + 4));
                    self.put(&[name, ty, word(at + 8)]);
                }
                raw::FUNC_PROTO => {
                    let ty = self.id(word(at + 4));
                    self.put(&[name, ty]);
                }
                raw::ENUM => self.put(&[name, word(at + 4)]),
                raw::ENUM64 => self.put(&[name, word(at + 4), word(at + 8)]),
                _ => {}
            }
        }
    }

    fn id(&self, old: u32) -> u32 {
        self.ids.get(&TypeId(old)).copied().unwrap_or(0)
    }

    fn string(&mut self, text: &'a str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        *self.known.entry(text).or_insert_with(|| {
            let at = self.strings.len() as u32;
            self.strings.extend(text.as_bytes());
            self.strings.push(0);
            at
        })
    }

    fn put(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    }

    fn finish(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, strings] {
            out.extend(u32::to_le_bytes(word));
        }
        out.extend(self.types);
        out.extend(self.strings);
        out
    }
}

/// The enums that have a value whose name begins so. For the enums of the BPF interface.
pub fn enums_with<'a>(btf: &'a Btf, prefixes: &'a [&'a str]) -> impl Iterator<Item = TypeId> + 'a {
    btf.own_ids().filter(|&id| btf.kind(id) == Some(BtfKind::Enum)).filter(|&id| match btf.get(id) {
        Some(BtfType::Enum { mut values, .. }) => {
            values.any(|(name, _)| prefixes.iter().any(|p| name.starts_with(p)))
        }
        _ => false,
    })
}
