//! Type and line information for our own programs, so that the kernel's listings and complaints name functions and
//! quote the script.
//!
//! Only what `func_info` and `line_info` need is built: one integer, a prototype for each number of parameters, a
//! function each, and strings. Reading BTF is not done here.

use std::collections::HashMap;

use strix_model::{FileId, Program, SourceMap, Span};

use super::abi::{FuncInfo, LineInfo};

const MAGIC: u16 = 0xeb9f;
const KIND_INT: u32 = 1;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
/// Linkage of the entry; callbacks are static (0), or the verifier would check each on its own.
const LINKAGE_GLOBAL: u32 = 1;
/// Longest line that is quoted.
const LINE_CAP: usize = 240;
/// The integer is the first type.
const INT_ID: u32 = 1;

/// What the kernel is told beside the code.
pub(super) struct ProgramBtf {
    /// The type data to load.
    pub(super) data: Vec<u8>,
    /// One for every function.
    pub(super) functions: Vec<FuncInfo>,
    /// Ascending; each function's first instruction has one.
    pub(super) lines: Vec<LineInfo>,
}

/// Builds the information of a program.
pub(super) fn build(program: &Program, sources: &SourceMap) -> ProgramBtf {
    let mut strings = Strings::default();
    let mut types = Types::default();
    types.int(strings.add("u64"));
    let functions = functions(program, &mut types, &mut strings);
    let lines = lines(program, &functions, sources, &mut strings);
    ProgramBtf { data: assemble(&types.bytes, &strings.bytes), functions, lines }
}

fn functions(program: &Program, types: &mut Types, strings: &mut Strings) -> Vec<FuncInfo> {
    let mut out: Vec<FuncInfo> = Vec::with_capacity(program.functions.len().max(1));
    let mut protos: HashMap<u8, u32> = HashMap::new();
    let implied = [strix_model::FunctionInfo { insn: 0, name: program.name.clone(), params: 1 }];
    let declared = if program.functions.is_empty() { &implied[..] } else { &program.functions };
    for function in declared {
        let first = out.is_empty();
        let params = function.params.min(5);
        let proto = *protos.entry(params).or_insert_with(|| types.proto(params, strings));
        let linkage = if first { LINKAGE_GLOBAL } else { 0 };
        let name = strings.add(&identifier(&function.name));
        out.push(FuncInfo { insn_off: function.insn, type_id: types.func(name, proto, linkage) });
    }
    out
}

fn lines(
    program: &Program,
    functions: &[FuncInfo],
    sources: &SourceMap,
    strings: &mut Strings,
) -> Vec<LineInfo> {
    let mut texts = Texts { sources, starts: HashMap::new() };
    let mut wanted: Vec<(u32, Span)> = program.line_info.iter().map(|l| (l.insn, l.span)).collect();
    wanted.sort_by_key(|&(insn, _)| insn);
    // Every function must start with a line of its own, even where the compiler had nothing to say.
    for function in functions {
        let at = wanted.partition_point(|&(insn, _)| insn < function.insn_off);
        if wanted.get(at).is_none_or(|&(insn, _)| insn != function.insn_off) {
            let span = wanted.get(at).or(wanted.last()).map_or_else(Span::default, |&(_, span)| span);
            wanted.insert(at, (function.insn_off, span));
        }
    }
    wanted.dedup_by_key(|&mut (insn, _)| insn);
    // The second slot of a wide load has no operation and may carry no line.
    wanted.retain(|&(insn, _)| program.insns.get(insn as usize).is_some_and(|i| i.code != 0));
    wanted.into_iter().map(|(insn, span)| texts.line_info(insn, span, strings)).collect()
}

/// A name as C would have it, which is what the kernel takes.
fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().take(120).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// Source lines by byte offset.
struct Texts<'a> {
    sources: &'a SourceMap,
    starts: HashMap<FileId, Vec<u32>>,
}

impl Texts<'_> {
    fn line_info(&mut self, insn: u32, span: Span, strings: &mut Strings) -> LineInfo {
        let Some(file) = self.sources.get(span.file) else {
            let unknown = strings.add("script");
            return LineInfo { insn_off: insn, file_name_off: unknown, line_off: 0, line_col: 1 << 10 };
        };
        let starts = self.starts.entry(span.file).or_insert_with(|| {
            let after = file.text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1);
            std::iter::once(0).chain(after).collect()
        });
        let line = starts.partition_point(|&start| start <= span.lo).max(1);
        let start = starts[line - 1] as usize;
        let end = starts.get(line).map_or(file.text.len(), |&next| next as usize - 1);
        let text = file.text.get(start..end).unwrap_or("");
        let column = (span.lo as usize).saturating_sub(start) as u32 + 1;
        LineInfo {
            insn_off: insn,
            file_name_off: strings.add(&file.name),
            line_off: strings.add(cut(text)),
            line_col: (line as u32) << 10 | column.min(1023),
        }
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LINE_CAP);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The string section: NUL-ended, each once, the empty one first.
struct Strings {
    bytes: Vec<u8>,
    known: HashMap<String, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: vec![0], known: HashMap::new() }
    }
}

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend(text.bytes().map(|b| if b == 0 { b' ' } else { b }));
        self.bytes.push(0);
        self.known.insert(text.to_owned(), at);
        at
    }
}

/// The type section; ids count from 1.
#[derive(Default)]
struct Types {
    bytes: Vec<u8>,
    count: u32,
}

impl Types {
    fn add(&mut self, words: &[u32]) -> u32 {
        self.bytes.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        self.count += 1;
        self.count
    }

    /// Unsigned, 64 bits.
    fn int(&mut self, name: u32) -> u32 {
        self.add(&[name, KIND_INT << 24, 8, 64])
    }

    fn proto(&mut self, params: u8, strings: &mut Strings) -> u32 {
        let mut words = vec![0, KIND_FUNC_PROTO << 24 | u32::from(params), INT_ID];
        for index in 0..params {
            words.extend([strings.add(&format!("a{index}")), INT_ID]);
        }
        self.add(&words)
    }

    fn func(&mut self, name: u32, proto: u32, linkage: u32) -> u32 {
        self.add(&[name, KIND_FUNC << 24 | linkage, proto])
    }
}

fn assemble(types: &[u8], strings: &[u8]) -> Vec<u8> {
    const HEADER: u32 = 24;
    let mut out = Vec::with_capacity(HEADER as usize + types.len() + strings.len());
    out.extend(MAGIC.to_ne_bytes());
    out.extend([1, 0]);
    for word in [HEADER, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
        out.extend(word.to_ne_bytes());
    }
    out.extend_from_slice(types);
    out.extend_from_slice(strings);
    out
}

#[cfg(test)]
mod tests {
    use strix_model::{Insn, LineInfo as SourceLine, ProgramKind};

    use super::*;

    fn program(insns: usize, lines: &[(u32, Span)], functions: &[(u32, &str, u8)]) -> Program {
        Program {
            name: "test".into(),
            kind: ProgramKind::TestRun,
            insns: vec![Insn { code: 0x95, ..Insn::default() }; insns],
            map_refs: Vec::new(),
            functions: functions
                .iter()
                .map(|&(insn, name, params)| strix_model::FunctionInfo { insn, name: name.into(), params })
                .collect(),
            line_info: lines.iter().map(|&(insn, span)| SourceLine { insn, span }).collect(),
            probe: 0,
            attachments: Vec::new(),
        }
    }

    fn string(btf: &ProgramBtf, offset: u32) -> String {
        let word =
            |at: usize| u32::from_ne_bytes(btf.data[at..at + 4].try_into().expect("four bytes")) as usize;
        let strings = &btf.data[24 + word(16)..];
        let text = strings[offset as usize..].split(|&b| b == 0).next().expect("split gives one");
        String::from_utf8_lossy(text).into_owned()
    }

    #[test]
    fn lines_quote_the_script() {
        let mut sources = SourceMap::default();
        let file = sources.add("x.bt", "begin {\n  exit();\n}\n");
        let btf = build(&program(3, &[(1, Span::new(file, 10, 14))], &[(0, "main", 1)]), &sources);
        assert_eq!(btf.lines.len(), 2, "the function's start gets a line too");
        let line = btf.lines[1];
        assert_eq!((line.insn_off, line.line_col >> 10, line.line_col & 1023), (1, 2, 3));
        assert_eq!(string(&btf, line.line_off), "  exit();");
        assert_eq!(string(&btf, line.file_name_off), "x.bt");
    }

    #[test]
    fn lines_ascend_and_avoid_second_slots() {
        let span = Span::default();
        let mut p = program(
            4,
            &[(3, span), (1, span), (1, span), (2, span), (9, span)],
            &[(0, "main", 1), (3, "cb", 4)],
        );
        p.insns[2].code = 0;
        let btf = build(&p, &SourceMap::default());
        let at: Vec<u32> = btf.lines.iter().map(|l| l.insn_off).collect();
        assert_eq!(at, [0, 1, 3]);
    }

    #[test]
    fn names_become_identifiers() {
        assert_eq!(identifier("kprobe:vfs_read"), "kprobe_vfs_read");
        assert_eq!(identifier("0x"), "_0x");
        assert_eq!(identifier(""), "_");
    }

    #[test]
    fn a_program_without_functions_gets_its_entry() {
        let btf = build(&program(1, &[], &[]), &SourceMap::default());
        assert_eq!(btf.functions.len(), 1);
        assert_eq!(btf.lines.len(), 1);
    }
}
