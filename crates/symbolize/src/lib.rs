//! symbolize
