//! Licences of everything that is linked or built with.

use serde_json::Value;

use super::Tree;
use crate::Result;

/// Licences that ask for no more than a notice. Copyleft of any strength is left out: the product is one static file.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let packages = tree.metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(packages.iter().filter_map(complaint).collect())
}

fn complaint(package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or_default();
    match package["license"].as_str() {
        None => Some(format!("`{name}` states no licence")),
        Some(expression) if is_allowed(expression) => None,
        Some(expression) => Some(format!("`{name}` is under {expression}")),
    }
}

/// Whether an SPDX expression can be met with allowed licences alone. `AND` binds closer than `OR`; a `/` is the old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let allowed = any(&tokens, &mut at);
    allowed && at == tokens.len()
}

fn any(tokens: &[&str], at: &mut usize) -> bool {
    let mut allowed = all(tokens, at);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        allowed |= all(tokens, at);
    }
    allowed
}

fn all(tokens: &[&str], at: &mut usize) -> bool {
    let mut allowed = one(tokens, at);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        allowed &= one(tokens, at);
    }
    allowed
}

fn one(tokens: &[&str], at: &mut usize) -> bool {
    if tokens.get(*at) == Some(&"(") {
        *at += 1;
        let allowed = any(tokens, at);
        *at += 1;
        return allowed;
    }
    let mut name = tokens.get(*at).copied().unwrap_or_default().to_owned();
    *at += 1;
    if tokens.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", tokens.get(*at + 1).copied().unwrap_or_default());
        *at += 2;
    }
    ALLOWED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_understood() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in
            ["GPL-2.0", "LGPL-2.1-only AND MIT", "MPL-2.0", "(GPL-2.0 OR MPL-2.0) AND MIT", "", "MIT MIT"]
        {
            assert!(!is_allowed(refused), "{refused}");
        }
    }
}
