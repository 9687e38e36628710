//! `cargo xtask tidy`: the rules of the code base that a compiler does not check. One file a rule or two; each
//! gives lines that say where and what.

mod docs;
mod edges;
mod licences;
mod sources;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::args::Args;
use crate::outcome::{Outcome, Tally};
use crate::{Result, process, workspace};

/// A rule: complaints about the tree.
type Rule = fn(&Tree) -> Result<Vec<String>>;

const RULES: &[(&str, Rule)] = &[
    ("crate edges are the allowed ones", edges::check),
    ("licences of dependencies are permissive", licences::check),
    ("every module says what it is for", sources::module_docs),
    ("unsafe only in crates/sys", sources::no_unsafe),
    ("no leftovers", sources::no_leftovers),
    ("files have a bearable length", sources::lengths),
    ("links in Markdown lead somewhere", docs::links),
    ("the changelog has a section for what is unreleased", docs::changelog),
    ("the documentation names every task", docs::tasks),
];

/// What the rules look at.
struct Tree {
    /// Files that git knows, or would add.
    files: Vec<PathBuf>,
    /// `cargo metadata`.
    metadata: serde_json::Value,
}

impl Tree {
    fn read() -> Result<Self> {
        let mut git = Command::new("git");
        git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(workspace::root());
        let listed = process::quiet(&mut git)?;
        let files =
            listed.lines().map(PathBuf::from).filter(|f| workspace::root().join(f).is_file()).collect();
        let metadata = process::quiet(&mut workspace::cargo(&["metadata", "--format-version", "1"]))?;
        Ok(Self { files, metadata: serde_json::from_str(&metadata)? })
    }

    /// Files with this extension, with their text.
    fn texts(&self, extension: &str) -> Vec<(&PathBuf, String)> {
        let files = self.files.iter().filter(|f| f.extension().is_some_and(|e| e == extension));
        files.filter_map(|f| Some((f, std::fs::read_to_string(workspace::root().join(f)).ok()?))).collect()
    }
}

/// The task.
pub(crate) fn run(_: Args) -> Result<ExitCode> {
    Ok(all()?.close())
}

/// All rules.
pub(crate) fn all() -> Result<Tally> {
    let tree = Tree::read()?;
    let mut tally = Tally::default();
    for (name, rule) in RULES {
        let started = Instant::now();
        let complaints = rule(&tree)?;
        let outcome = if complaints.is_empty() { Outcome::Pass } else { Outcome::Fail(complaints) };
        tally.add(&format!("tidy: {name}"), started.elapsed(), &outcome);
    }
    Ok(tally)
}
