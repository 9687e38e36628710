//! How often to look at the ring.
//!
//! Being woken costs a program some 10 µs; a record that nobody is woken for, 0.3 µs. So a reader that has enough to do looks by
//! itself, and one that has not asks to be woken: a lone event is seen at once, a flood is read in large batches, and a
//! quiet session does nothing at all.

use std::time::Duration;

/// Longest time between two looks.
const LONG: Duration = Duration::from_millis(10);
/// When the ring fills faster than that suits.
const SHORT: Duration = Duration::from_millis(1);
/// Wake-ups that may follow each other closely before the reader stays awake.
const CLOSE_WAKES: u32 = 3;
/// What "closely" means.
const CLOSE: Duration = Duration::from_millis(10);
/// Looks in a row that may find next to nothing before the reader asks to be woken again.
const IDLE_LOOKS: u32 = 20;
/// Next to nothing.
const FEW: usize = 1;

/// What to do until the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Look again at once.
    Not,
    /// Programs need not wake us: look again after this long.
    Awake(Duration),
    /// Programs wake us.
    Asleep,
}

/// Decides from what each look found.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    awake: bool,
    close_wakes: u32,
    idle_looks: u32,
}

/// What a look found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Records read.
    pub(crate) records: usize,
    /// Something is left: the batch was full, or a record is being written.
    pub(crate) more: bool,
    /// The share of the ring that was in use, in percent.
    pub(crate) fill: u8,
    /// Time since the look before.
    pub(crate) since: Duration,
}

impl Pace {
    /// Takes in a look and says what comes next.
    pub(crate) fn after(&mut self, look: Look) -> Wait {
        if look.more {
            return if look.records > 0 { Wait::Not } else { Wait::Awake(SHORT) };
        }
        if self.awake { self.stay_awake(look) } else { self.stay_asleep(look) }
    }

    fn stay_awake(&mut self, look: Look) -> Wait {
        self.idle_looks = if look.records <= FEW { self.idle_looks + 1 } else { 0 };
        if self.idle_looks >= IDLE_LOOKS {
            *self = Self::default();
            return Wait::Asleep;
        }
        Wait::Awake(match look.fill {
            0..10 => LONG,
            10..30 => LONG / 2,
            _ => SHORT,
        })
    }

    fn stay_asleep(&mut self, look: Look) -> Wait {
        if look.records == 0 {
            return Wait::Asleep;
        }
        self.close_wakes = if look.since < CLOSE { self.close_wakes + 1 } else { 0 };
        if self.close_wakes >= CLOSE_WAKES || look.fill >= 10 {
            *self = Self { awake: true, ..Self::default() };
            return Wait::Awake(LONG);
        }
        Wait::Asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(records: usize, since_ms: u64) -> Look {
        Look { records, more: false, fill: 0, since: Duration::from_millis(since_ms) }
    }

    #[test]
    fn quiet_means_asleep() {
        let mut pace = Pace::default();
        assert_eq!(pace.after(look(0, 0)), Wait::Asleep);
        assert_eq!(pace.after(look(0, 10)), Wait::Asleep);
        assert_eq!(pace.after(look(1, 5000)), Wait::Asleep);
        assert_eq!(pace.after(look(1, 100)), Wait::Asleep);
    }

    #[test]
    fn a_flood_keeps_it_awake_and_its_end_lets_it_sleep() {
        let mut pace = Pace::default();
        assert_eq!(pace.after(look(1, 1)), Wait::Asleep);
        assert_eq!(pace.after(look(1, 1)), Wait::Asleep);
        assert_eq!(pace.after(look(1, 1)), Wait::Awake(LONG));
        for _ in 0..1000 {
            assert_eq!(pace.after(look(50, 10)), Wait::Awake(LONG));
        }
        let waits: Vec<Wait> = (0..IDLE_LOOKS + 1).map(|_| pace.after(look(0, 10))).collect();
        assert_eq!(waits[IDLE_LOOKS as usize - 2], Wait::Awake(LONG));
        assert_eq!(waits[IDLE_LOOKS as usize - 1], Wait::Asleep);
    }

    #[test]
    fn a_filling_ring_is_looked_at_more_often() {
        let mut pace = Pace { awake: true, ..Pace::default() };
        assert_eq!(pace.after(Look { fill: 50, ..look(900, 10) }), Wait::Awake(SHORT));
        assert_eq!(pace.after(Look { more: true, ..look(900, 10) }), Wait::Not);
        assert_eq!(pace.after(Look { more: true, ..look(0, 10) }), Wait::Awake(SHORT));
    }
}
