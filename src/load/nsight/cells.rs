//! Cells of a report: numbers scaled exactly into the units of the tables, and what names stand for.
//! In: the bytes of one cell. Out: a value, or why it is none. Left to neighbours: which column it is in (`header`).

use std::fmt;

/// What a unit in a header is worth in the unit of the table: `times * 10^tens`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    pub times: i64,
    pub tens: u32,
}

impl Factor {
    /// The table's own unit: values are whole numbers.
    pub(super) const ONE: Factor = Factor { times: 1, tens: 0 };

    const fn ten_to(tens: u32) -> Self {
        Factor { times: 1, tens }
    }
}

/// Nanoseconds in a unit of time as headers write it.
pub(super) fn time_unit(unit: &str) -> Option<Factor> {
    Some(match unit.to_lowercase().as_str() {
        "ns" | "nsec" | "nanoseconds" => Factor::ONE,
        "us" | "usec" | "µs" | "μs" | "microseconds" => Factor::ten_to(3),
        "ms" | "msec" | "milliseconds" => Factor::ten_to(6),
        "s" | "sec" | "seconds" => Factor::ten_to(9),
        _ => return None,
    })
}

/// Bytes in a unit of size. Nsight Systems' MB are millions: 1,204,224 bytes print as 1.204.
pub(super) fn size_unit(unit: &str) -> Option<Factor> {
    Some(match unit.to_lowercase().as_str() {
        "b" | "bytes" => Factor::ONE,
        "kb" => Factor::ten_to(3),
        "mb" => Factor::ten_to(6),
        "gb" => Factor::ten_to(9),
        "kib" => Factor { times: 1 << 10, tens: 0 },
        "mib" => Factor { times: 1 << 20, tens: 0 },
        "gib" => Factor { times: 1 << 30, tens: 0 },
        _ => return None,
    })
}

/// Why a cell holds no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Missing,
    NotANumber,
    /// Separators of another locale.
    Locale,
    /// A fraction of what has none.
    Fraction,
    Negative,
    TooLarge,
    NotUtf8,
    Nul,
    NotATriple,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::Missing => "is empty, which it never is",
            Problem::NotANumber => "is no number",
            Problem::Locale => {
                "has a comma, or more than one point: numbers of another locale; run `nsys stats` with LC_ALL=C"
            }
            Problem::Fraction => {
                "has a fraction, and its unit has none; if the point separates thousands, run `nsys stats` with LC_ALL=C"
            }
            Problem::Negative => "is negative, which it never is",
            Problem::TooLarge => "is larger than any value of this column can be",
            Problem::NotUtf8 => "holds bytes that are no UTF-8",
            Problem::Nul => "holds a NUL byte, as no text does",
            Problem::NotATriple => "is not three numbers",
        })
    }
}

/// Largest moment or length: the sum of two still fits, so that an end is never a wrapped number.
const LARGEST: i64 = i64::MAX / 2;

/// A decimal number: `digits * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: i128,
    exponent: i32,
    /// Digits behind the point.
    decimals: i32,
}

/// Whether a cell stands for nothing: empty, or `None` as reports to 2023 print it.
pub(super) fn is_absent(cell: &[u8]) -> bool {
    cell.is_empty() || cell == b"None"
}

fn decimal(cell: &[u8]) -> Result<Decimal, Problem> {
    let locale = || cell.contains(&b',') || cell.iter().filter(|b| **b == b'.').count() > 1;
    let wrong = || if locale() { Problem::Locale } else { Problem::NotANumber };
    let (negative, mut rest) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut digits: i128 = 0;
    let (mut decimals, mut point, mut any) = (0, false, false);
    while let [byte, after @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let next = digits.checked_mul(10).and_then(|d| d.checked_add(i128::from(byte - b'0')));
                // Half of what 128 bits hold, so that no factor of a unit overflows silently below.
                digits = next.filter(|d| *d < i128::MAX >> 40).ok_or(Problem::TooLarge)?;
                decimals += i32::from(point);
            }
            b'.' if !point => point = true,
            _ => break,
        }
        rest = after;
    }
    let mut exponent = -decimals;
    if let [b'e' | b'E', after @ ..] = rest {
        // Python prints a small fraction of a second so.
        let text = std::str::from_utf8(after).map_err(|_| wrong())?;
        let power: i32 = text.parse().map_err(|_| wrong())?;
        exponent = exponent.checked_add(power).filter(|e| e.unsigned_abs() < 1000).ok_or(Problem::TooLarge)?;
        decimals = decimals.saturating_sub(power).max(0);
        rest = &[];
    }
    if !any || !rest.is_empty() {
        return Err(wrong());
    }
    Ok(Decimal { digits: if negative { -digits } else { digits }, exponent, decimals })
}

/// A whole number in the table's unit, and whether digits below it were rounded away.
fn scaled(number: Decimal, factor: Factor) -> Result<(i64, bool), Problem> {
    let digits = number.digits.checked_mul(i128::from(factor.times)).ok_or(Problem::TooLarge)?;
    let power = number.exponent + factor.tens as i32;
    let (whole, rounded) = if power >= 0 {
        let ten = 10_i128.checked_pow(power as u32);
        match (digits, ten) {
            (0, _) => (0, false),
            (_, Some(ten)) => (digits.checked_mul(ten).ok_or(Problem::TooLarge)?, false),
            (_, None) => return Err(Problem::TooLarge),
        }
    } else {
        match 10_i128.checked_pow(power.unsigned_abs()) {
            None => (0, digits != 0),
            Some(ten) => {
                let (whole, rest) = (digits.div_euclid(ten), digits.rem_euclid(ten));
                let up = rest > ten / 2 || (rest == ten / 2 && whole % 2 != 0);
                (whole + i128::from(up), rest != 0)
            }
        }
    };
    let whole = i64::try_from(whole).map_err(|_| Problem::TooLarge)?;
    Ok((whole, rounded))
}

/// Digits alone, the usual case.
fn plain(cell: &[u8]) -> Option<i64> {
    if cell.is_empty() || cell.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for byte in cell {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

/// Powers of ten that a 64-bit integer holds.
const TENS: [i64; 19] = {
    let mut tens = [1; 19];
    let mut at = 1;
    while at < tens.len() {
        tens[at] = tens[at - 1] * 10;
        at += 1;
    }
    tens
};

/// The digits of a short decimal without sign or exponent, and how many stand behind its point.
fn short(cell: &[u8]) -> Option<(i64, usize)> {
    if cell.is_empty() || cell.len() > 18 {
        return None;
    }
    let (mut value, mut point) = (0_i64, None);
    for (at, byte) in cell.iter().enumerate() {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => value = value * 10 + i64::from(digit),
            _ if *byte == b'.' && point.is_none() && at > 0 => point = Some(at),
            _ => return None,
        }
    }
    Some((value, point.map_or(0, |at| cell.len() - at - 1)))
}

/// As [`scaled`], for the usual case that a report of millions of rows is made of: no digit is left below the table's
/// unit. Gives the digits behind the point too.
fn scaled_short(cell: &[u8], factor: Factor) -> Option<(i64, usize)> {
    let (digits, decimals) = short(cell)?;
    let up = (factor.tens as usize).checked_sub(decimals)?;
    let value = digits.checked_mul(*TENS.get(up)?)?.checked_mul(factor.times)?;
    (value <= LARGEST && (factor.times == 1 || decimals == 0)).then_some((value, decimals))
}

/// A moment or length in whole nanoseconds.
pub(super) fn nanoseconds(cell: &[u8], factor: Factor) -> Result<i64, Problem> {
    if factor == Factor::ONE
        && let Some(value) = plain(cell)
    {
        return Ok(value);
    }
    if let Some((value, _)) = scaled_short(cell, factor) {
        return Ok(value);
    }
    let (value, rounded) = scaled(decimal(cell)?, factor)?;
    if rounded && factor == Factor::ONE {
        return Err(Problem::Fraction);
    }
    if value.unsigned_abs() > LARGEST.unsigned_abs() { Err(Problem::TooLarge) } else { Ok(value) }
}

/// Bytes, to the nearest one, and what the last printed digit stands for.
pub(super) fn bytes(cell: &[u8], factor: Factor) -> Result<(i64, i64), Problem> {
    if factor == Factor::ONE
        && let Some(value) = plain(cell)
    {
        return Ok((value, 1));
    }
    if let Some((value, decimals)) = scaled_short(cell, factor) {
        return Ok((value, step(decimals, factor)));
    }
    let number = decimal(cell)?;
    let (value, rounded) = scaled(number, factor)?;
    if factor == Factor::ONE {
        return if rounded { Err(Problem::Fraction) } else { Ok((value, 1)) };
    }
    Ok((value, step(number.decimals.unsigned_abs() as usize, factor)))
}

/// What the last of `decimals` digits behind a point stands for, at least 1.
fn step(decimals: usize, factor: Factor) -> i64 {
    let Some(unit) = TENS.get(factor.tens as usize) else { return 1 };
    TENS.get(decimals).map_or(1, |ten| (unit * factor.times / ten).max(1))
}

/// What the last printed digit of a time stands for in nanoseconds, at least 1.
pub(super) fn time_step(cell: &[u8], factor: Factor) -> i64 {
    match short(cell) {
        Some((_, decimals)) => step(decimals, factor),
        None => decimal(cell).map_or(1, |number| step(number.decimals.unsigned_abs() as usize, factor)),
    }
}

/// A whole number without a unit: a count or an identity.
pub(super) fn whole(cell: &[u8]) -> Result<i64, Problem> {
    match plain(cell) {
        Some(value) => Ok(value),
        None => {
            let (value, rounded) = scaled(decimal(cell)?, Factor::ONE)?;
            if rounded { Err(Problem::Fraction) } else { Ok(value) }
        }
    }
}

/// A number as printed, times the factor; the nearest float there is.
pub(super) fn float(cell: &[u8], factor: Factor) -> Result<f64, Problem> {
    // Both are floats without rounding, so one operation on them rounds once.
    const WHOLE: i64 = 1 << 53;
    if let Some((digits, decimals)) = short(cell)
        && let Some(digits) = digits.checked_mul(factor.times).filter(|d| *d < WHOLE)
        && let power = decimals as i32 - factor.tens as i32
        && let Some(ten) = TENS.get(power.unsigned_abs() as usize).filter(|ten| **ten < WHOLE)
    {
        return Ok(if power > 0 { digits as f64 / *ten as f64 } else { digits as f64 * *ten as f64 });
    }
    let number = decimal(cell)?;
    let digits = number.digits * i128::from(factor.times);
    let text = format!("{digits}e{}", number.exponent + factor.tens as i32);
    let value: f64 = text.parse().map_err(|_| Problem::NotANumber)?;
    if value.is_finite() { Ok(value) } else { Err(Problem::TooLarge) }
}

/// The `nth` of three padded numbers.
pub(super) fn dimension(cell: &[u8], nth: usize) -> Result<i64, Problem> {
    let numbers: Vec<&[u8]> = cell.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty()).collect();
    match numbers.as_slice() {
        [_, _, _] => whole(numbers[nth]),
        _ => Err(Problem::NotATriple),
    }
}

/// What a GPU operation of this name is: a kernel unless Nsight Systems' brackets say otherwise.
pub(super) fn operation_kind(name: &str) -> &'static str {
    let Some(inside) = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) else {
        // A whole graph is a row of its own where its nodes were not traced; no kernel's name has a space before its types.
        return if name.starts_with("CUDA Graph") { "graph" } else { "kernel" };
    };
    let inside = inside.to_ascii_lowercase();
    match () {
        () if inside.contains("memcpy") => "memcpy",
        () if inside.contains("memset") => "memset",
        () if inside.contains("graph") => "graph",
        () => "other",
    }
}

/// Which way a copy goes: `HtoD` to 2023, `Host-to-Device` from 2024 on.
pub(super) fn copy_direction(name: &str) -> Option<&'static str> {
    let inside = name.strip_prefix('[')?.strip_suffix(']')?.to_ascii_lowercase();
    let (_, direction) = inside.split_once("memcpy")?;
    let direction: String = direction.chars().filter(char::is_ascii_alphabetic).collect();
    let ends = |short: &str, long: &str| direction.ends_with(short) || direction.ends_with(long);
    Some(match () {
        () if ends("htod", "hosttodevice") => "host_to_device",
        () if ends("dtoh", "devicetohost") => "device_to_host",
        () if ends("dtod", "devicetodevice") => "device_to_device",
        () if ends("htoh", "hosttohost") => "host_to_host",
        () if ends("ptop", "peertopeer") => "peer_to_peer",
        () => return None,
    })
}

/// The label that a range's name stands for: names of the default domain begin with a colon from 2023 on.
pub(super) fn label(name: &str) -> &str {
    name.strip_prefix(':').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: Factor = Factor { times: 1, tens: 9 };
    const MEGABYTES: Factor = Factor { times: 1, tens: 6 };
    const MEBIBYTES: Factor = Factor { times: 1 << 20, tens: 0 };

    #[test]
    fn times_are_scaled_without_a_float_in_between() {
        assert_eq!(nanoseconds(b"1.234567", SECONDS), Ok(1_234_567_000));
        assert_eq!(nanoseconds(b"0.1992", Factor { times: 1, tens: 6 }), Ok(199_200));
        assert_eq!(nanoseconds(b"65012762", Factor::ONE), Ok(65_012_762));
        assert_eq!(nanoseconds(b"-5", Factor::ONE), Ok(-5));
        assert_eq!(nanoseconds(b"98439583.0", Factor::ONE), Ok(98_439_583));
        // As Python prints 12 us in seconds, and as a float that is not quite a nanosecond.
        assert_eq!(nanoseconds(b"1.2e-05", SECONDS), Ok(12_000));
        assert_eq!(nanoseconds(b"0.06501276200000001", SECONDS), Ok(65_012_762));
        assert_eq!(nanoseconds(b"9223372036.854775807", SECONDS), Err(Problem::TooLarge));
        assert_eq!(nanoseconds(b"1e999999999", SECONDS), Err(Problem::TooLarge));
        assert_eq!(nanoseconds(b"99999999999999999999999999999999999999999", Factor::ONE), Err(Problem::TooLarge));
    }

    #[test]
    fn numbers_of_another_locale_are_no_smaller_numbers() {
        assert_eq!(nanoseconds(b"12.373.190", Factor::ONE), Err(Problem::Locale));
        assert_eq!(nanoseconds(b"12,5", Factor::ONE), Err(Problem::Locale));
        assert_eq!(nanoseconds(b"464.805", Factor::ONE), Err(Problem::Fraction));
        assert_eq!(whole(b"1,024"), Err(Problem::Locale));
        assert_eq!(float(b"2.876,0", Factor::ONE), Err(Problem::Locale));
        for text in [&b""[..], b"-", b".", b"1.2.3x", b"0x10", b"nan", b"1e", b"1 2", b"\xff"] {
            assert!(whole(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_say_how_far_they_were_rounded() {
        assert_eq!(bytes(b"1.204", MEGABYTES), Ok((1_204_000, 1000)));
        assert_eq!(bytes(b"0.000", MEGABYTES), Ok((0, 1000)));
        assert_eq!(bytes(b"1048576", Factor::ONE), Ok((1_048_576, 1)));
        assert_eq!(bytes(b"0.125", MEBIBYTES), Ok((131_072, 1048)));
        assert_eq!(bytes(b"0.131", MEBIBYTES), Ok((137_363, 1048)));
        assert_eq!(float(b"25289.908", MEGABYTES), Ok(25_289_908_000.0));
        assert_eq!(time_step(b"0.1992", Factor { times: 1, tens: 6 }), 100);
    }

    #[test]
    fn names_of_every_version_are_one_kind() {
        for (name, kind, direction) in [
            ("[CUDA memcpy HtoD]", "memcpy", Some("host_to_device")),
            ("[CUDA memcpy Host-to-Device]", "memcpy", Some("host_to_device")),
            ("[CUDA memcpy DtoH]", "memcpy", Some("device_to_host")),
            ("[CUDA memcpy Device-to-Device]", "memcpy", Some("device_to_device")),
            ("[CUDA memcpy PtoP]", "memcpy", Some("peer_to_peer")),
            ("[CUDA Unified Memory memcpy DtoH]", "memcpy", Some("device_to_host")),
            ("[CUDA memcpy Host-to-Array]", "memcpy", None),
            ("[CUDA memset]", "memset", None),
            ("[CUDA Graph 3]", "graph", None),
            ("CUDA Graph 3", "graph", None),
            ("[something new]", "other", None),
            ("void memcpy_kernel<float>(T1)", "kernel", None),
            ("", "kernel", None),
            ("[", "kernel", None),
        ] {
            assert_eq!((operation_kind(name), copy_direction(name)), (kind, direction), "{name}");
        }
        assert_eq!((label(":a"), label("a"), label("::a"), label("D:a")), ("a", "a", ":a", "D:a"));
        assert_eq!(dimension(b" 512    1    2", 2), Ok(2));
        assert_eq!(dimension(b"512 1", 1), Err(Problem::NotATriple));
    }
}
