//! The trace language's text: lexing, parsing, printing.
//!
//! Pure functions from text to [`ast::Script`] and back. Parsing never fails: it gives a tree and diagnostics. No name is
//! resolved here, no type known, no kernel asked.

pub mod ast;
mod dump;
pub mod lex;
mod number;
mod parse;
mod print;

pub use dump::dump;
pub use parse::parse;
pub use print::{print, print_expr};
