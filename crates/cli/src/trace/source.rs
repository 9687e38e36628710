//! The script's text and the words that go with it.

use std::fs;
use std::io::{self, Read};

use strix_model::{FileId, SourceMap};

use super::args::TraceArgs;

/// A script larger than this is refused: nobody wrote it.
const MAX_SCRIPT: u64 = 16 << 20;

/// The script to run.
pub struct Source {
    /// All texts.
    pub sources: SourceMap,
    /// The script among them.
    pub file: FileId,
    /// Positional parameters.
    pub params: Vec<String>,
    /// Named ones: `--name`, `--name=value`.
    pub named_params: Vec<(String, Option<String>)>,
}

/// Reads the script that the command line names.
pub fn read(args: &TraceArgs) -> Result<Source, String> {
    let mut sources = SourceMap::default();
    if let Some(program) = &args.program {
        let file = sources.add("stdin", program.clone());
        let (params, named_params) = split(&args.words);
        return Ok(Source { sources, file, params, named_params });
    }
    let Some((name, params)) = args.words.split_first() else {
        return Err("no script".into());
    };
    let text = if name == "-" {
        bounded(&mut io::stdin().lock()).map_err(|e| format!("cannot read the script from stdin: {e}"))?
    } else {
        let mut file = fs::File::open(name).map_err(|e| format!("cannot open script \"{name}\": {e}"))?;
        bounded(&mut file).map_err(|e| format!("cannot read script \"{name}\": {e}"))?
    };
    let shown = if name == "-" { "stdin" } else { name };
    let file = sources.add(shown, text);
    let (params, named_params) = split(params);
    Ok(Source { sources, file, params, named_params })
}

/// Parameters of a script: `--name=value` by name, all others by place.
fn split(words: &[String]) -> (Vec<String>, Vec<(String, Option<String>)>) {
    let mut by_place = Vec::new();
    let mut by_name = Vec::new();
    for word in words {
        match word.strip_prefix("--") {
            Some(named) => by_name.push(match named.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (named.to_owned(), None),
            }),
            None => by_place.push(word.clone()),
        }
    }
    (by_place, by_name)
}

fn bounded(reader: &mut dyn Read) -> io::Result<String> {
    let mut text = String::new();
    let read = reader.take(MAX_SCRIPT + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_SCRIPT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than 16 MiB"));
    }
    Ok(text)
}
