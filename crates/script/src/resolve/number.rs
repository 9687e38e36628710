//! Numbers in places that are no script text: positional parameters, attach points, configuration values.
//!
//! The same notations as in scripts: bases, `_`, exponents, C suffixes and units of time.

/// Units after a number, with their largest value and what they multiply by.
const SUFFIXES: &[(&str, u64, u64)] = &[
    ("", u64::MAX, 1),
    ("u", u32::MAX as u64, 1),
    ("ul", u64::MAX, 1),
    ("ull", u64::MAX, 1),
    ("l", i64::MAX as u64, 1),
    ("ll", i64::MAX as u64, 1),
    ("ns", u64::MAX, 1),
    ("us", u64::MAX, 1_000),
    ("ms", u64::MAX, 1_000_000),
    ("s", u64::MAX, 1_000_000_000),
    ("m", u64::MAX, 60_000_000_000),
    ("h", u64::MAX, 3_600_000_000_000),
    ("d", u64::MAX, 86_400_000_000_000),
];

/// An unsigned number; durations are nanoseconds. The error says what is wrong with it.
pub(super) fn unsigned(text: &str) -> Result<u64, String> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let invalid = || format!("invalid integer: {text}");
    let (radix, digits) = match plain.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &plain[2..]),
        [b'0', b'b' | b'B', ..] => (2, &plain[2..]),
        [b'0', b'0'..=b'7', ..] => (8, &plain[1..]),
        _ => (10, plain.as_str()),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, mut rest) = digits.split_at(end);
    if number.is_empty() {
        return Err(invalid());
    }
    let overflow = |max: u64| format!("overflow error, maximum value is {max}: {text}");
    let mut value = u64::from_str_radix(number, radix).map_err(|_| overflow(u64::MAX))?;
    if radix == 10
        && let Some(exponent) = rest.strip_prefix(['e', 'E'])
        && exponent.starts_with(|c: char| c.is_ascii_digit())
    {
        let end = exponent.find(|c: char| !c.is_ascii_digit()).unwrap_or(exponent.len());
        let power: u32 = exponent[..end].parse().map_err(|_| overflow(u64::MAX))?;
        if !(1..=9).contains(&value) {
            return Err(format!("coefficient part of scientific literal must be 1-9: {text}"));
        }
        value =
            10u64.checked_pow(power).and_then(|p| p.checked_mul(value)).ok_or_else(|| overflow(u64::MAX))?;
        rest = &exponent[end..];
    }
    let &(_, max, unit) = SUFFIXES
        .iter()
        .find(|(suffix, ..)| *suffix == rest)
        .ok_or_else(|| format!("invalid trailing bytes: {text}"))?;
    if value > max / unit {
        return Err(overflow(max));
    }
    Ok(value * unit)
}

/// A number that may have a minus sign.
pub(super) fn signed(text: &str) -> Result<i64, String> {
    let overflow = || format!("overflow error, maximum value is {}: {text}", i64::MAX);
    match text.strip_prefix('-') {
        Some(rest) => 0i64.checked_sub_unsigned(unsigned(rest)?).ok_or_else(overflow),
        None => i64::try_from(unsigned(text)?).map_err(|_| overflow()),
    }
}

#[cfg(test)]
mod tests {
    use super::{signed, unsigned};

    #[test]
    fn notations() {
        assert_eq!(unsigned("42"), Ok(42));
        assert_eq!(unsigned("0x1F"), Ok(31));
        assert_eq!(unsigned("0b101"), Ok(5));
        assert_eq!(unsigned("017"), Ok(15));
        assert_eq!(unsigned("0"), Ok(0));
        assert_eq!(unsigned("1_000"), Ok(1000));
        assert_eq!(unsigned("2e3"), Ok(2000));
        assert_eq!(unsigned("100ms"), Ok(100_000_000));
        assert_eq!(unsigned("5ul"), Ok(5));
        assert_eq!(unsigned(&u64::MAX.to_string()), Ok(u64::MAX));
    }

    #[test]
    fn what_is_no_number() {
        assert_eq!(unsigned("x1").unwrap_err(), "invalid integer: x1");
        assert_eq!(unsigned("").unwrap_err(), "invalid integer: ");
        assert_eq!(unsigned("12parsecs").unwrap_err(), "invalid trailing bytes: 12parsecs");
        assert!(unsigned("18446744073709551616").unwrap_err().starts_with("overflow error"));
        assert!(unsigned("300000000000d").unwrap_err().starts_with("overflow error"));
        assert!(unsigned("12e3").unwrap_err().starts_with("coefficient part"));
    }

    #[test]
    fn signs() {
        assert_eq!(signed("-5"), Ok(-5));
        assert_eq!(signed("-9223372036854775808"), Ok(i64::MIN));
        assert!(signed("-9223372036854775809").is_err());
        assert!(signed("9223372036854775808").is_err());
    }
}
