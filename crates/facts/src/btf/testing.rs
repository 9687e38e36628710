//! Hand-made BTF for tests: records written word by word, so that the decoder is not tested against itself.

/// BTF in the making.
#[derive(Default)]
pub(crate) struct Maker {
    types: Vec<u32>,
    strings: Vec<u8>,
    /// Where own strings start, for split BTF.
    string_base: u32,
    /// Number of the next type.
    next: u32,
}

impl Maker {
    pub(crate) fn new() -> Self {
        Self { strings: vec![0], next: 1, ..Self::default() }
    }

    /// On top of BTF with this many types (without void) and bytes of strings.
    pub(crate) fn split(types: u32, strings: u32) -> Self {
        Self { string_base: strings, next: types + 1, ..Self::default() }
    }

    pub(crate) fn name(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.string_base + self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a record; `extra` are the words after the common three.
    pub(crate) fn add(&mut self, name: &str, info: u32, size: u32, extra: &[u32]) -> u32 {
        let name = self.name(name);
        self.types.extend([name, info, size]);
        self.types.extend(extra);
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn int(&mut self, name: &str, size: u32, encoding: u32) -> u32 {
        self.add(name, 1 << 24, size, &[(encoding << 24) | (size * 8)])
    }

    pub(crate) fn strings_len(&self) -> u32 {
        self.strings.len() as u32
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes_with_layout(&[])
    }

    /// With a layout section of these `(once, each)` sizes, if there are any.
    pub(crate) fn bytes_with_layout(&self, layout: &[(u8, u8)]) -> Vec<u8> {
        let types = self.types.len() as u32 * 4;
        let layout_len = layout.len() as u32 * 4;
        let header_len = if layout.is_empty() { 24 } else { 32 };
        let mut out = vec![0x9f, 0xeb, 1, 0];
        let strings = self.strings_len();
        for word in [header_len, 0, types, types + layout_len, strings] {
            out.extend(u32::to_le_bytes(word));
        }
        if !layout.is_empty() {
            out.extend(types.to_le_bytes());
            out.extend(layout_len.to_le_bytes());
        }
        out.extend(self.types.iter().flat_map(|w| w.to_le_bytes()));
        out.extend(layout.iter().flat_map(|&(once, each)| [once, each, 0, 0]));
        out.extend(&self.strings);
        out
    }
}
