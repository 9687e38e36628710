//! Where in the user's text something stands, and the texts themselves.

/// Which text a [`Span`] points into: an index into a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A half-open byte range `lo..hi` of one source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file the offsets count in.
    pub file: FileId,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// The range `lo..hi` of `file`.
    #[must_use]
    pub fn new(file: FileId, lo: u32, hi: u32) -> Self {
        Self { file, lo, hi }
    }

    /// The smallest span that covers both; the file is `self`'s.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { file: self.file, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// A position for people: both numbers count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCol {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
}

/// One text that was compiled, with the name shown in diagnostics (`stdin`, a path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Name shown to the user.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl SourceFile {
    /// Line and column of a byte offset; an offset past the end is taken as the end.
    #[must_use]
    pub fn line_col(&self, offset: u32) -> LineCol {
        let mut at = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        LineCol { line, col: before[start..].chars().count() as u32 + 1 }
    }

    /// The text of a line (from 1) without its newline; empty when there is no such line.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        self.text.split('\n').nth(line.saturating_sub(1) as usize).unwrap_or("")
    }
}

/// Every text of one compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a text and gives its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(SourceFile { name: name.into(), text: text.into() });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file with this id.
    ///
    /// # Panics
    /// When `id` is not from this map.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The file with this id, for spans that may come from another map.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The text a span covers; empty when it does not lie on character borders of its file.
    #[must_use]
    pub fn snippet(&self, span: Span) -> &str {
        self.files
            .get(span.file.0 as usize)
            .and_then(|f| f.text.get(span.lo as usize..span.hi as usize))
            .unwrap_or("")
    }
}
