//! Whole scripts against the frozen kernel.

mod attach;
mod bodies;
mod grouping;
mod listing;
mod types;
