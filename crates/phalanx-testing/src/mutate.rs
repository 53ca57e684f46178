//! Mutants of texts.
//!
//! A mutant of a text has one small change: a line removed, doubled or moved, a word replaced by
//! another word of the same text, a character changed, or the end cut off. About half of the
//! mutants of LLVM IR are still valid. Tests use them to check that two readers accept the same
//! texts, and that a reader never crashes.

use rand::{Rng, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

/// The text with one change, chosen by the seed. The result may equal the original.
#[must_use]
pub fn mutant(source: &str, seed: u64) -> String {
    mutant_from(source, &mut StdRng::seed_from_u64(seed))
}

/// As [`mutant`], with the change chosen by a source of random bits.
#[must_use]
pub fn mutant_from(source: &str, rng: &mut impl Rng) -> String {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    // Comments and blank lines change nothing.
    let of_interest: Vec<usize> = (0..lines.len())
        .filter(|&at| !lines[at].trim().is_empty() && !lines[at].trim_start().starts_with(';'))
        .collect();
    let Some(&at) = of_interest.choose(rng) else { return source.to_owned() };
    match rng.random_range(0..10) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = *of_interest.choose(rng).unwrap_or(&at);
            lines.swap(at, other);
        }
        3 => {
            let text = &mut lines[at];
            let cut = (0..=text.len()).filter(|&i| text.is_char_boundary(i)).collect::<Vec<_>>();
            text.truncate(cut.choose(rng).copied().unwrap_or(0));
            lines.truncate(at + 1);
        }
        4 => lines[at] = change_character(&lines[at], rng),
        _ => {
            // Words from nearby are more likely to fit.
            let from =
                of_interest[of_interest.partition_point(|&line| line + 20 < at)..].choose(rng);
            let donor = lines[*from.unwrap_or(&at)].clone();
            lines[at] = replace_word(&lines[at], &donor, rng);
        }
    }
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// The words of a line: names with their sigil, numbers, keywords, single punctuation marks; as
/// byte ranges.
fn words(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let in_word = |b: u8| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'_' | b'.' | b'$' | b'-' | b'%' | b'@' | b'!' | b'#')
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && in_word(bytes[at]) {
            at += 1;
        }
        if at > start {
            out.push((start, at));
        } else {
            at += 1;
            if bytes[start].is_ascii_punctuation() {
                out.push((start, at));
            }
        }
    }
    out
}

fn replace_word(line: &str, donor: &str, rng: &mut impl Rng) -> String {
    let (of_line, of_donor) = (words(line), words(donor));
    let (Some(&(start, end)), Some(&(from, to))) = (of_line.choose(rng), of_donor.choose(rng))
    else {
        return line.to_owned();
    };
    format!("{}{}{}", &line[..start], &donor[from..to], &line[end..])
}

fn change_character(line: &str, rng: &mut impl Rng) -> String {
    const NEW: &[char] =
        &['0', '1', '9', 'i', 'x', ' ', ',', '(', ')', '%', '@', '!', '"', '-', '{', '*', 'é'];
    let characters: Vec<(usize, char)> = line.char_indices().collect();
    let (Some(&(at, old)), Some(new)) = (characters.choose(rng), NEW.choose(rng)) else {
        return line.to_owned();
    };
    format!("{}{new}{}", &line[..at], &line[at + old.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "; words\ndefine i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n";

    #[test]
    fn mutants_are_small_changes_of_every_kind() {
        let mutants: Vec<String> = (0..400).map(|seed| mutant(SOURCE, seed)).collect();
        let lines = |text: &str| text.lines().count();
        let count = |test: &dyn Fn(&String) -> bool| mutants.iter().filter(|m| test(m)).count();
        assert!(count(&|m| lines(m) == lines(SOURCE) - 1) > 20, "a line gone or the end cut off");
        assert!(count(&|m| lines(m) == lines(SOURCE) + 1) > 20, "a line doubled");
        assert!(count(&|m| lines(m) == lines(SOURCE)) > 150, "a word or character");
        assert!(count(&|m| *m != SOURCE) > 300);
        assert!(mutants.iter().all(|m| m.starts_with("; words\n")), "comments stay");
        let again: Vec<String> = (0..400).map(|seed| mutant(SOURCE, seed)).collect();
        assert_eq!(mutants, again);
    }

    #[test]
    fn nothing_to_change() {
        assert_eq!(mutant("", 1), "");
        assert_eq!(mutant("; only words\n", 1), "; only words\n");
    }
}
