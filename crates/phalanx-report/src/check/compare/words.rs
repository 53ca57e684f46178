//! Numbers of threads in words.

use std::fmt::Write as _;

/// How many ranges are named.
const RANGES: usize = 4;

/// `thread 3`, `threads 0 to 4 and 9`, `threads 0, 2, 4, 6 and 28 more`. In rising order.
pub(super) fn threads(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let mut text = if numbers.len() == 1 { "thread " } else { "threads " }.to_owned();
    let shown = &ranges[..ranges.len().min(RANGES)];
    let named: u32 = shown.iter().map(|(first, last)| last - first + 1).sum();
    let rest = numbers.len() as u32 - named;
    for (at, (first, last)) in shown.iter().enumerate() {
        let is_last = at + 1 == shown.len() && rest == 0;
        text.push_str(match at {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        });
        let _ = match last - first {
            0 => write!(text, "{first}"),
            1 => write!(text, "{first}, {last}"),
            _ => write!(text, "{first} to {last}"),
        };
    }
    if rest > 0 {
        let _ = write!(text, " and {rest} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn ranges() {
        assert_eq!(threads(&[3]), "thread 3");
        assert_eq!(threads(&[0, 1, 2, 3, 4]), "threads 0 to 4");
        assert_eq!(threads(&[0, 1, 2, 9]), "threads 0 to 2 and 9");
        assert_eq!(threads(&[0, 2, 4, 6, 8, 10]), "threads 0, 2, 4, 6 and 2 more");
    }
}
