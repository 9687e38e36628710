//! Integer literals: decimal, octal, hexadecimal, `1e6`, `1_000`, C suffixes and durations.

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) value: u64,
    pub(crate) unsigned: bool,
    pub(crate) duration: bool,
}

/// Parses the whole text of a number token.
pub(crate) fn parse(text: &str) -> Result<Number, String> {
    let clean: String = text.chars().filter(|c| *c != '_').collect();
    let (radix, body) = match clean.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &clean[2..]),
        [b'0', b'b' | b'B', ..] => (2, &clean[2..]),
        [b'0', b'0'..=b'9', ..] => (8, &clean[1..]),
        _ => (10, clean.as_str()),
    };
    if text.ends_with('_') {
        return Err(format!("underscore at the end of number \"{text}\""));
    }
    let digits = body.find(|c: char| !c.is_digit(radix)).unwrap_or(body.len());
    let (number, suffix) = body.split_at(digits);
    if radix == 8 && suffix.starts_with(['8', '9']) {
        return Err(format!("invalid octal number \"{text}\": a number with a leading 0 counts in eights"));
    }
    let too_large = || format!("number \"{text}\" does not fit 64 bits");
    let value = if number.is_empty() {
        return Err(format!("invalid number \"{text}\""));
    } else {
        u64::from_str_radix(number, radix).map_err(|_| too_large())?
    };
    if radix == 10 {
        if let Some(exponent) = suffix.strip_prefix(['e', 'E']) {
            let power: u32 = exponent.parse().map_err(|_| format!("invalid exponent in \"{text}\""))?;
            let scale = 10u64.checked_pow(power).ok_or_else(too_large)?;
            let value = value.checked_mul(scale).ok_or_else(too_large)?;
            return Ok(Number { value, unsigned: false, duration: false });
        }
        if let Some(nanos) = unit_nanos(suffix) {
            let value = value.checked_mul(nanos).ok_or_else(too_large)?;
            return Ok(Number { value, unsigned: false, duration: true });
        }
    }
    match suffix.to_ascii_lowercase().as_str() {
        "l" | "ll" if value > i64::MAX as u64 => Err(format!("number \"{text}\" does not fit its suffix")),
        "u" if value > u64::from(u32::MAX) => Err(format!("number \"{text}\" does not fit its suffix")),
        "" | "l" | "ll" => Ok(Number { value, unsigned: false, duration: false }),
        "u" | "ul" | "ull" | "lu" | "llu" => Ok(Number { value, unsigned: true, duration: false }),
        _ => Err(format!("invalid suffix \"{suffix}\" on number \"{text}\"")),
    }
}

fn unit_nanos(suffix: &str) -> Option<u64> {
    Some(match suffix {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, String> {
        parse(text).map(|n| n.value)
    }

    #[test]
    fn all_spellings() {
        assert_eq!(value("42"), Ok(42));
        assert_eq!(value("0x1F"), Ok(31));
        assert_eq!(value("017"), Ok(15));
        assert_eq!(value("0"), Ok(0));
        assert_eq!(value("1e6"), Ok(1_000_000));
        assert_eq!(value("1_000"), Ok(1000));
        assert_eq!(value("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse("5ull"), Ok(Number { value: 5, unsigned: true, duration: false }));
        assert_eq!(parse("10ms"), Ok(Number { value: 10_000_000, unsigned: false, duration: true }));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(value("18446744073709551616").unwrap_err().contains("64 bits"));
        assert!(value("1e30").unwrap_err().contains("64 bits"));
        assert!(value("5x").unwrap_err().contains("suffix"));
        assert!(value("0x").unwrap_err().contains("invalid"));
        assert!(value("99999999999d").unwrap_err().contains("64 bits"));
    }
}
