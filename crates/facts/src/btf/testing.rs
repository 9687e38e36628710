//! Hand-made BTF for tests.
