//! Symbols → function names as the source has them.
//!
//! Only what is marked as mangled is demangled: a C function may be called `f`, which is how C++ writes the type `float`.

use cpp_demangle::Symbol;

/// The function of a mangled symbol, `None` for names that are none.
pub fn demangle(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") && !symbol.starts_with("_R") {
        return None;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{rust:#}"));
    }
    Symbol::new(symbol).ok()?.demangle().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mangled_names_change() {
        assert_eq!(demangle("f"), None);
        assert_eq!(demangle("St"), None);
        assert_eq!(demangle("_Z3fooi").as_deref(), Some("foo(int)"));
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
        assert_eq!(demangle("_RNvC6crate14main").as_deref(), Some("crate1::main"));
        assert_eq!(demangle("_Znonsense"), None);
    }
}
