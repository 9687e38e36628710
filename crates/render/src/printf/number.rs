//! Integers as digits.

/// Appends a decimal number.
pub(crate) fn write_unsigned(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    out.extend_from_slice(decimal(number, &mut digits));
}

/// Appends a decimal number with its sign.
pub(crate) fn write_signed(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    write_unsigned(number.unsigned_abs(), out);
}

/// Appends a hexadecimal number without prefix.
pub(crate) fn write_hex(number: u64, upper: bool, out: &mut Vec<u8>) {
    let mut digits = [0; 22];
    out.extend_from_slice(power_of_two(number, 4, upper, &mut digits));
}

/// The decimal digits of a number.
pub(super) fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// The digits of a number in base 2^bits; `bits` is 3 or 4.
pub(super) fn power_of_two(mut number: u64, bits: u32, upper: bool, digits: &mut [u8; 22]) -> &[u8] {
    let table = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = table[(number & ((1 << bits) - 1)) as usize];
        number >>= bits;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_agree_with_the_standard_library() {
        for number in [0, 1, 7, 8, 9, 10, 255, 256, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            write_unsigned(number, &mut out);
            out.push(b' ');
            write_signed(number as i64, &mut out);
            out.push(b' ');
            write_hex(number, true, &mut out);
            out.push(b' ');
            out.extend_from_slice(power_of_two(number, 3, false, &mut [0; 22]));
            let expected = format!("{number} {} {number:X} {number:o}", number as i64);
            assert_eq!(String::from_utf8(out).expect("ASCII"), expected);
        }
    }
}
