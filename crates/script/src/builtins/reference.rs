//! The built-ins' part of docs/language.md, made from the same table that the type check uses.

use std::fmt::Write as _;

use super::{ALL, Family, FunctionInfo, VariableInfo};

/// The Markdown of all families.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::new();
    for family in ALL {
        put_family(&mut text, family);
    }
    text
}

fn put_family(text: &mut String, family: &Family) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "### {}\n", family.title);
    if !family.variables.is_empty() {
        text.push_str("| variable | type | what it is |\n|---|---|---|\n");
        family.variables.iter().for_each(|v| put_variable(text, v));
        text.push('\n');
    }
    if !family.functions.is_empty() {
        text.push_str("| function | what it does |\n|---|---|\n");
        family.functions.iter().for_each(|f| put_function(text, f));
        text.push('\n');
    }
}

fn put_variable(text: &mut String, variable: &VariableInfo) {
    let _ = writeln!(text, "| `{}` | {} | {} |", variable.name, cell(variable.ty), cell(variable.doc));
}

fn put_function(text: &mut String, function: &FunctionInfo) {
    let _ = write!(text, "| `{}` | {}", cell(function.usage), cell(function.doc));
    if function.unsafe_only {
        text.push_str(" Needs `--unsafe`.");
    }
    if !function.needs.is_empty() {
        let _ = write!(text, " Kernel feature: `{}`.", function.needs.join("`, `"));
    }
    text.push_str(" |\n");
}

/// Text for a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    /// The generated part of the page stands between its heading and the next marker.
    const START: &str = "<!-- built-ins: generated, BLESS=1 cargo test -p strix-script -->\n\n";
    const END: &str = "<!-- end of built-ins -->\n";

    #[test]
    fn the_page_lists_every_builtin() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language.md");
        let page = fs::read_to_string(path).expect("docs/language.md");
        let (before, rest) = page.split_once(START).expect("the start marker");
        let (listed, after) = rest.split_once(END).expect("the end marker");
        let expected = markdown();
        if env::var_os("BLESS").is_some() {
            fs::write(path, format!("{before}{START}{expected}{END}{after}"))
                .expect("docs/language.md is writable");
        } else {
            assert_eq!(listed, expected, "docs/language.md is behind: BLESS=1 cargo test -p strix-script");
        }
    }
}
