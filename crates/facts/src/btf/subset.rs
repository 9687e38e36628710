//! Making small BTF out of large.
