//! Rules for Markdown files.

use std::path::Path;

use super::Tree;
use crate::{COMMANDS, Result, workspace};

/// Relative links and images lead to files that are there.
pub(super) fn links(tree: &Tree) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (file, text) in tree.texts("md") {
        let folder = workspace::root().join(file).parent().map(Path::to_owned).unwrap_or_default();
        for (number, target) in targets(&text) {
            let path = target.split(['#', '?']).next().unwrap_or_default();
            let is_elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !is_elsewhere && !folder.join(path).exists() {
                lines.push(format!("{}:{number}: no `{path}`", file.display()));
            }
        }
    }
    Ok(lines)
}

/// Targets of `[text](target)` outside code, with their line.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        // What stands between backticks is code; a text in brackets keeps its place when they go.
        let prose: String = line.split('`').step_by(2).collect();
        let mut rest = prose.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            let target = target.split_whitespace().next().unwrap_or_default();
            found.push((at + 1, target.to_owned()));
            rest = tail;
        }
    }
    found
}

/// Users find what changed since the last release.
pub(super) fn changelog(_: &Tree) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace::root().join("CHANGELOG.md")).unwrap_or_default();
    let there = text.lines().any(|line| line.starts_with("## ") && line.contains("Unreleased"));
    Ok(if there { Vec::new() } else { vec!["CHANGELOG.md: no section `## [Unreleased]`".into()] })
}

/// Developers find every task.
pub(super) fn tasks(tree: &Tree) -> Result<Vec<String>> {
    let all: String = tree.texts("md").into_iter().map(|(_, text)| text).collect();
    let missing = COMMANDS.iter().filter(|c| !all.contains(&format!("cargo xtask {}", c.name)));
    Ok(missing.map(|c| format!("no Markdown file mentions `cargo xtask {}`", c.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text = "a [b](c.md) ![d](e.png \"t\")\n```\n[x](y)\n```\n`[p](q)` [`r`](s#t)\n";
        let found: Vec<String> = targets(text).into_iter().map(|(_, t)| t).collect();
        assert_eq!(found, ["c.md", "e.png", "s#t"]);
    }
}
