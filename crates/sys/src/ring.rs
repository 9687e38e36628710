//! The reader of a BPF ring buffer (`BPF_MAP_TYPE_RINGBUF`, since v5.8).
//!
//! The kernel shows three things: a page with the consumer's position, which is ours to write; a page with the producers'
//! position; and the data, mapped twice in a row so that no record is ever cut at the end. A record starts with
//! its length, whose two top bits say that it is still being written, or was given up. Records are handed out in
//! place; the position moves on behind them in steps, so that producers get room while a long batch is read.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use strix_model::MapKind;

use crate::mapping::Mapping;
use crate::{Map, Result, SysError};

/// Still being written.
const BUSY: u32 = 1 << 31;
/// Given up by its writer.
const DISCARD: u32 = 1 << 30;
/// Bytes of a record's header.
const HEADER: u64 = 8;

/// A ring, mapped for reading.
#[derive(Debug)]
pub struct Ring {
    consumer: Mapping,
    /// Producer position, then the data twice.
    shared: Mapping,
    page: usize,
    size: u64,
    position: u64,
}

/// What one call of [`Ring::drain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records handed out.
    pub records: usize,
    /// There is more: a record that is still being written, or what was beyond the limit.
    pub more: bool,
    /// The ring made no sense, and everything in it was skipped.
    pub corrupt: bool,
}

impl Ring {
    /// Maps a ring for reading. There must be one reader only.
    ///
    /// # Errors
    /// When the map is no ring or memory is short.
    pub fn map(map: &Map) -> Result<Self> {
        let spec = map.spec();
        let error = |source| SysError::new("mmap", &spec.name, source);
        let page = rustix::param::page_size();
        let size = spec.max_entries as usize;
        if spec.kind != MapKind::Ringbuf || !size.is_power_of_two() || size < page {
            return Err(error(std::io::Error::from_raw_os_error(libc::EINVAL)));
        }
        let consumer = Mapping::new(map.as_fd(), 0, page, true).map_err(error)?;
        let shared = Mapping::new(map.as_fd(), page, page + 2 * size, false).map_err(error)?;
        let mut ring = Self { consumer, shared, page, size: size as u64, position: 0 };
        ring.position = ring.consumer.word(0).map_or(0, |word| word.load(Ordering::Relaxed));
        Ok(ring)
    }

    /// Bytes that wait, with those that are still being written.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.produced().saturating_sub(self.position)
    }

    /// Bytes the ring holds.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.size
    }

    /// Hands out up to `most` records, oldest first, until `each` breaks. A record that breaks has been consumed.
    pub fn drain(&mut self, most: usize, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Drained {
        let mut drained = Drained::default();
        let mut published = self.position;
        // Producers get room back after each quarter of the ring.
        let step = self.size / 4;
        let mut produced = self.produced();
        loop {
            if self.position >= produced {
                produced = self.produced();
                if self.position >= produced {
                    break;
                }
            }
            if drained.records >= most {
                drained.more = true;
                break;
            }
            let at = self.page + (self.position & (self.size - 1)) as usize;
            // Acquire: the record was written before its busy bit was cleared.
            let header = self.shared.half(at).map_or(BUSY, |half| half.load(Ordering::Acquire));
            if header & BUSY != 0 {
                drained.more = true;
                break;
            }
            let len = u64::from(header & !(BUSY | DISCARD));
            let total = (len + HEADER).next_multiple_of(8);
            if total > produced - self.position || total > self.size {
                drained.corrupt = true;
                self.position = produced;
                break;
            }
            self.position += total;
            if header & DISCARD == 0 {
                // SAFETY: the writer has finished, and producers do not touch these bytes before the consumer's position,
                // published below, has passed them.
                let record = unsafe { self.shared.bytes(at + HEADER as usize, len as usize) };
                drained.records += 1;
                if each(record.unwrap_or(&[])).is_break() {
                    drained.more = self.position < produced;
                    break;
                }
            }
            if self.position - published >= step {
                self.publish();
                published = self.position;
            }
        }
        self.publish();
        drained
    }

    fn produced(&self) -> u64 {
        self.shared.word(0).map_or(self.position, |word| word.load(Ordering::Acquire))
    }

    fn publish(&self) {
        if let Some(word) = self.consumer.word(0) {
            word.store(self.position, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::RingWriter;

    const SIZE: u32 = 4096;

    fn pair() -> (Ring, RingWriter) {
        let (map, writer) = RingWriter::new(SIZE).expect("a ring in memory");
        (Ring::map(&map).expect("mapped"), writer)
    }

    fn read(ring: &mut Ring, most: usize) -> (Vec<Vec<u8>>, Drained) {
        let mut out = Vec::new();
        let drained = ring.drain(most, |record| {
            out.push(record.to_vec());
            ControlFlow::Continue(())
        });
        (out, drained)
    }

    #[test]
    fn records_come_in_order_and_once() {
        let (mut ring, mut writer) = pair();
        assert!(writer.push(b"first"));
        assert!(writer.push(b"the second"));
        assert_eq!(ring.pending(), 16 + 24);
        let (records, drained) = read(&mut ring, 10);
        assert_eq!(records, [b"first".to_vec(), b"the second".to_vec()]);
        assert_eq!(drained, Drained { records: 2, more: false, corrupt: false });
        assert_eq!(read(&mut ring, 10).0.len(), 0);
    }

    #[test]
    fn a_busy_record_stops_and_a_discarded_one_is_skipped() {
        let (mut ring, mut writer) = pair();
        writer.push_with(b"gone", DISCARD);
        writer.push(b"kept");
        let busy = writer.push_with(b"later", BUSY);
        let (records, drained) = read(&mut ring, 10);
        assert_eq!((records.len(), drained.more), (1, true));
        assert!(ring.pending() > 0);
        writer.finish(busy, 5);
        assert_eq!(read(&mut ring, 10).0, [b"later".to_vec()]);
    }

    #[test]
    fn wrapping_keeps_records_whole() {
        let (mut ring, mut writer) = pair();
        for round in 0..1000u32 {
            let record: Vec<u8> = (0..100 + round % 61).map(|i| (round + i) as u8).collect();
            assert!(writer.push(&record), "room in round {round}");
            assert_eq!(read(&mut ring, 10).0, [record]);
        }
    }

    #[test]
    fn a_full_ring_refuses_until_read() {
        let (mut ring, mut writer) = pair();
        let mut pushed = 0;
        while writer.push(&[7; 120]) {
            pushed += 1;
        }
        assert_eq!(pushed, 32);
        assert!(read(&mut ring, 1).1.more);
        assert!(writer.push(&[7; 120]));
        assert_eq!(read(&mut ring, usize::MAX).1.records, 32);
    }

    #[test]
    fn breaking_consumes_the_record_and_keeps_the_rest() {
        let (mut ring, mut writer) = pair();
        writer.push(b"a");
        writer.push(b"b");
        let drained = ring.drain(10, |_| ControlFlow::Break(()));
        assert_eq!(drained, Drained { records: 1, more: true, corrupt: false });
        assert_eq!(read(&mut ring, 10).0, [b"b".to_vec()]);
    }

    #[test]
    fn nonsense_is_skipped_and_said() {
        let (mut ring, mut writer) = pair();
        let at = writer.push_with(b"x", 0);
        writer.finish(at, 3_000_000);
        let (records, drained) = read(&mut ring, 10);
        assert_eq!((records.len(), drained.corrupt, ring.pending()), (0, true, 0));
    }
}
