#![no_main]
//! Any text as a script. What parses without a finding is printed, and the text must parse and print the same again.

use libfuzzer_sys::fuzz_target;
use strix_model::{Diagnostics, FileId};

fuzz_target!(|text: &str| {
    let mut diags = Diagnostics::default();
    let tree = strix_syntax::parse(FileId(0), text, &mut diags);
    let printed = strix_syntax::print(&tree);
    if !diags.is_empty() {
        return;
    }
    let again = strix_syntax::parse(FileId(0), &printed, &mut diags);
    assert!(diags.is_empty(), "{printed}\n{diags:?}");
    assert_eq!(strix_syntax::print(&again), printed);
});
