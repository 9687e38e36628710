//! Why a fact could not be had, in words that say what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a fact could not be had. Cheap to clone: facts are read once, and the failure is kept like the success.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// The file is not there. That may be an answer (no BTF in this kernel) rather than a fault.
    #[error("{what} not found at {path}: {remedy}", path = path.display())]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// The file is there and may not be read.
    #[error("not allowed to read {path}: {remedy}", path = path.display())]
    Denied {
        /// Which file.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// The kernel hides the contents.
    #[error("{what} hidden by {by}: {remedy}")]
    Restricted {
        /// What is hidden.
        what: &'static str,
        /// The sysctl that hides it.
        by: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Reading failed in another way.
    #[error("cannot read {path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// The bytes are not what they should be.
    #[error("malformed {what}: {detail}")]
    Malformed {
        /// What was parsed.
        what: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

impl FactsError {
    /// Whether the thing asked for is simply not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    pub(crate) fn malformed(what: &'static str, detail: impl Into<String>) -> Self {
        Self::Malformed { what, detail: detail.into() }
    }

    /// Sorts an I/O error into the cases that have a remedy.
    pub(crate) fn io(path: &Path, what: &'static str, missing: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::Missing { what, path: path.to_owned(), remedy: missing }
            }
            io::ErrorKind::PermissionDenied => Self::Denied {
                path: path.to_owned(),
                remedy: "run as root, or give the process CAP_DAC_READ_SEARCH",
            },
            _ => Self::Io { path: path.to_owned(), source: Arc::new(source) },
        }
    }
}
