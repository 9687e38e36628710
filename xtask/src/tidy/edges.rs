//! Which crate of the workspace may use which.

use serde_json::Value;

use super::Tree;
use crate::Result;

/// Crate and what it may depend on. Arrows go one way: nouns in `model`, then what is known (`facts`) and what can be done (`sys`),
/// then the compiler on the one hand and the session on the other, which meet only in the command. What is absent keeps
/// the compiler pure (`script` and its stages never reach the kernel), the session ignorant of source text, and printing in one place. A new arrow is a change
/// of design and is made here, in review.
const ALLOWED: &[(&str, &[&str])] = &[
    ("strix-model", &[]),
    ("strix-facts", &["strix-model"]),
    ("strix-sys", &["strix-model"]),
    ("strix-syntax", &["strix-model"]),
    ("strix-codegen", &["strix-model"]),
    ("strix-render", &["strix-model"]),
    ("strix-symbolize", &["strix-model"]),
    ("strix-script", &["strix-model", "strix-facts", "strix-syntax", "strix-codegen"]),
    ("strix-core", &["strix-model", "strix-facts", "strix-sys"]),
    (
        "strix",
        &[
            "strix-model",
            "strix-facts",
            "strix-sys",
            "strix-syntax",
            "strix-codegen",
            "strix-render",
            "strix-symbolize",
            "strix-script",
            "strix-core",
        ],
    ),
    ("xtask", &[]),
];

/// What tests may use beyond that: a stage's own tests may hand its output to the kernel.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] =
    &[("strix-codegen", &["strix-sys"]), ("strix-script", &["strix-sys"])];

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    Ok(complaints(&tree.metadata))
}

/// Edges between packages of the workspace, in products and in tests.
fn complaints(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own: Vec<&Value> = packages.iter().filter(|p| p["source"].is_null()).collect();
    let names: Vec<&str> = own.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut lines = Vec::new();
    for package in &own {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(n, _)| *n == name) else {
            lines.push(format!("`{name}` is not in the table of crates (xtask/src/tidy/edges.rs)"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        let in_tests =
            ALLOWED_IN_TESTS.iter().find(|(n, _)| *n == name).map_or(&[] as &[&str], |(_, list)| list);
        for dependency in dependencies {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_allowed =
                allowed.contains(&used) || (dependency["kind"] == "dev" && in_tests.contains(&used));
            if names.contains(&used) && !is_allowed {
                lines.push(format!("`{name}` must not depend on `{used}`"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_edge_is_found() {
        let metadata = serde_json::json!({"packages": [
            {"name": "strix-sys", "source": null, "dependencies": [{"name": "strix-model"}, {"name": "strix-script"}, {"name": "libc"}]},
            {"name": "strix-script", "source": null, "dependencies": []},
            {"name": "strix-model", "source": null, "dependencies": []},
            {"name": "strix-codegen", "source": null, "dependencies": [{"name": "strix-sys", "kind": "dev"}]},
            {"name": "libc", "source": "registry", "dependencies": []},
            {"name": "strix-new", "source": null, "dependencies": []},
        ]});
        let lines = complaints(&metadata);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("`strix-sys` must not depend on `strix-script`"));
    }
}
