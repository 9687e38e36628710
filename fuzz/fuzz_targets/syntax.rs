#![no_main]
//! Any text as a script. Findings and tokens lie in the text; what parses without a finding is printed, and the text must parse and
//! print the same again.

use libfuzzer_sys::fuzz_target;
use strix_model::{Diagnostics, FileId, Span};

fuzz_target!(|text: &str| {
    let file = FileId(0);
    let inside = |span: Span| text.get(span.lo as usize..span.hi as usize).is_some();
    let mut diags = Diagnostics::default();
    let tree = strix_syntax::parse(file, text, &mut diags);
    for found in diags.sorted() {
        let mut labels = found.secondary.iter().chain([&found.primary]);
        assert!(labels.all(|label| inside(label.span)), "{found:?}");
    }
    assert!(strix_syntax::lex::lex(file, text).iter().all(|token| inside(token.span)));
    let printed = strix_syntax::print(&tree);
    if !diags.is_empty() {
        return;
    }
    let again = strix_syntax::parse(file, &printed, &mut diags);
    // Printed parentheses can nest deeper than what was written.
    if diags.sorted().iter().any(|found| found.message.starts_with("nested deeper")) {
        return;
    }
    assert!(diags.is_empty(), "{printed}\n{diags:?}");
    assert_eq!(strix_syntax::print(&again), printed);
});
