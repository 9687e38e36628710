//! The check on trees made by hand: rules that do not need a kernel. Whole scripts are in `tests/files/check`.

mod arbitrary;
mod build;
mod kernel;
mod rules;
