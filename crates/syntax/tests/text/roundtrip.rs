//! Printing loses nothing: the text of a tree parses to the same tree.

use proptest::prelude::*;
use strix_model::{Diagnostics, FileId};
use strix_syntax::ast::Script;

use crate::trees;

fn parse(text: &str) -> Script {
    let mut diags = Diagnostics::default();
    let script = strix_syntax::parse(FileId(0), text, &mut diags);
    assert!(diags.is_empty(), "{text}\n{:#?}", diags.sorted());
    script
}

/// The tree as text, with no word of places.
fn bare(tree: &Script) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span {");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.push_str(part.split_once(" }").map_or(part, |(_, rest)| rest));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_survive_printing(tree in trees::scripts()) {
        let text = strix_syntax::print(&tree);
        let again = parse(&text);
        prop_assert_eq!(bare(&again), bare(&tree), "{}", text);
        // And what is printed is stable.
        prop_assert_eq!(strix_syntax::print(&again), text);
    }

    #[test]
    fn expressions_print_alone_as_inside_a_script(expr in trees::exprs()) {
        let text = strix_syntax::print_expr(&expr);
        let script = parse(&format!("BEGIN {{ _ = {text}; }}"));
        let printed = strix_syntax::print(&script);
        prop_assert!(printed.contains(text.lines().next().unwrap_or("")), "{}\n{}", printed, text);
    }
}
