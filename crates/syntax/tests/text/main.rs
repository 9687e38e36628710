//! The language's text from outside: files of scripts with what comes of each, trees that survive printing, and text that nobody would
//! write.

mod files;
mod hostile;
mod roundtrip;
mod trees;
