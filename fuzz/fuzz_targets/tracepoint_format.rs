#![no_main]
//! Any text as the format of a tracepoint.

use libfuzzer_sys::fuzz_target;
use strix_facts::TracepointFormat;

fuzz_target!(|text: &str| {
    if let Ok(format) = TracepointFormat::parse(text) {
        for field in &format.fields {
            let _ = (field.element_type(), format.field(&field.name));
        }
    }
});
