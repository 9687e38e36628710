#![no_main]
//! Any bytes as a program with symbols.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for function in strix_facts::functions_in(bytes) {
        let _ = function.demangled();
    }
});
