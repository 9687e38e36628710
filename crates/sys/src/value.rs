//! One number that user space and programs share through the first value of an array map.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use strix_model::MapKind;

use crate::mapping::Mapping;
use crate::{Map, Result, SysError};

/// The `u64` at byte 0 of a mappable array map.
#[derive(Debug)]
pub struct SharedWord {
    mapping: Mapping,
}

impl SharedWord {
    /// Maps the start of the map's first value.
    ///
    /// # Errors
    /// When the map is not an array that was made to be mapped.
    pub fn map(map: &Map) -> Result<Self> {
        let spec = map.spec();
        let error = |source| SysError::new("mmap", &spec.name, source);
        if spec.kind != MapKind::Array || spec.value_size < 8 || !spec.mmapable {
            return Err(error(std::io::Error::from_raw_os_error(libc::EINVAL)));
        }
        let mapping = Mapping::new(map.as_fd(), 0, rustix::param::page_size(), true).map_err(error)?;
        Ok(Self { mapping })
    }

    /// The number now.
    #[must_use]
    pub fn load(&self) -> u64 {
        self.mapping.word(0).map_or(0, |word| word.load(Ordering::SeqCst))
    }

    /// Sets it, before any later access of this thread.
    pub fn store(&self, value: u64) {
        if let Some(word) = self.mapping.word(0) {
            word.store(value, Ordering::SeqCst);
            std::sync::atomic::fence(Ordering::SeqCst);
        }
    }
}
