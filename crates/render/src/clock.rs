//! Points in time as text, in the system's time zone.

use jiff::Timestamp;
use jiff::fmt::strtime::{BrokenDownTime, Config, PosixCustom};
use jiff::tz::TimeZone;

/// Shown when a time cannot be.
const UNKNOWN: &str = "(?)";

/// Formats nanoseconds since the epoch for the `strftime` function. Beside strftime(3) it knows `%f` (microseconds, six
/// digits), `%k` (nanoseconds, nine) and `%l` (milliseconds, three).
#[must_use]
pub fn format_timestamp(unix_nanos: i128, format: &str) -> String {
    let fraction = unix_nanos.rem_euclid(1_000_000_000);
    let mut expanded = String::with_capacity(format.len() + 9);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.as_bytes().get(1) {
            Some(b'f') => expanded.push_str(&format!("{:06}", fraction / 1_000)),
            Some(b'k') => expanded.push_str(&format!("{fraction:09}")),
            Some(b'l') => expanded.push_str(&format!("{:03}", fraction / 1_000_000)),
            Some(b'%') => expanded.push_str("%%"),
            // The directive stays for the formatter; its letter is plain text of the next round.
            _ => {
                expanded.push('%');
                rest = &rest[1..];
                continue;
            }
        }
        rest = &rest[2..];
    }
    expanded.push_str(rest);
    format_wall_clock(unix_nanos, &expanded)
}

/// Formats nanoseconds since the epoch by strftime(3) alone, as the `time` function does.
#[must_use]
pub fn format_wall_clock(unix_nanos: i128, format: &str) -> String {
    format_in(unix_nanos, format, TimeZone::system())
}

fn format_in(unix_nanos: i128, format: &str, zone: TimeZone) -> String {
    let Ok(timestamp) = Timestamp::from_nanosecond(unix_nanos) else { return UNKNOWN.into() };
    let config = Config::new().lenient(true).custom(PosixCustom::new());
    let time = BrokenDownTime::from(&timestamp.to_zoned_datetime(zone));
    time.to_string_with_config(&config, format).unwrap_or_else(|_| UNKNOWN.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: i128 = 1_700_000_000_123_456_789;

    #[test]
    fn fractions_of_a_second_have_fixed_widths() {
        assert_eq!(format_timestamp(MOMENT, "%f %k %l %%f"), "123456 123456789 123 %f");
        assert_eq!(format_timestamp(5_000, "%f|%k|%l"), "000005|000005000|000");
        assert_eq!(format_timestamp(-1, "%k"), "999999999");
        assert_eq!(format_timestamp(MOMENT, "%s.%f"), "1700000000.123456");
    }

    #[test]
    fn directives_of_strftime() {
        let utc = |format| format_in(MOMENT, format, TimeZone::UTC);
        assert_eq!(utc("%H:%M:%S\n"), "22:13:20\n");
        assert_eq!(utc("%m/%d/%y"), "11/14/23");
        assert_eq!(utc("%Y-%m-%d %T %a %b %e %j"), "2023-11-14 22:13:20 Tue Nov 14 318");
        assert_eq!(utc("%c"), "Tue Nov 14 22:13:20 2023");
        assert_eq!(utc("100%"), "100%");
    }

    #[test]
    fn impossible_times_are_unknown() {
        assert_eq!(format_wall_clock(i128::MAX, "%Y"), UNKNOWN);
    }
}
