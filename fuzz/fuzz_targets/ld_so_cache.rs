#![no_main]
//! Any bytes as the dynamic linker's cache.

use libfuzzer_sys::fuzz_target;
use strix_facts::{Arch, LdCache};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(cache) = LdCache::parse(bytes) {
        let _ = (cache.find("libc", Arch::X86_64), cache.find("libssl.so.3", Arch::Aarch64));
    }
});
