//! Differences between printed instructions that come from LLVM's parser and do not affect
//! uniformity.
//!
//! - LLVM replaces the attributes of declared intrinsics by today's, so there may be fewer
//!   attribute groups, with other numbers: `#7` becomes `#5`. We keep the attributes of the text.
//! - LLVM 22's reader loses the fast-math flags of a `phi` that has metadata,
//!   `phi contract float ..., !dbg !1`: it returns from the incoming values at the comma before it
//!   sets the flags. We keep them.
//!
//! The round trips check that the texts mean the same.

/// A listing with both spelled one way.
pub(super) fn common(listing: &str) -> String {
    let mut out = String::with_capacity(listing.len());
    for line in listing.split_inclusive('\n') {
        let line = without_flags(line);
        without_groups(&line, &mut out);
    }
    out
}

/// The line without flags if it is a `phi` with metadata.
fn without_flags(line: &str) -> String {
    const FLAGS: [&str; 8] = ["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"];
    let Some((head, mut rest)) = line.split_once(" = phi ") else { return line.to_owned() };
    if rest.contains("], !") {
        while let Some((_, tail)) = rest.split_once(' ').filter(|(word, _)| FLAGS.contains(word)) {
            rest = tail;
        }
    }
    format!("{head} = phi {rest}")
}

/// Writes the line without numbers of attribute groups: ` #7` where a word may end.
fn without_groups(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(" #") {
        let after = &rest[at + 2..];
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let ends = after[digits..].starts_with([',', ' ', '\n', '\r']) || after.len() == digits;
        out.push_str(&rest[..at]);
        if digits > 0 && ends {
            out.push_str(" #N");
        } else {
            out.push_str(&rest[at..at + 2 + digits]);
        }
        rest = &after[digits..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reader_changes_is_spelled_alike() {
        let same = |a: &str, b: &str| assert_eq!(common(a), common(b));
        same("  call void @f() #5\n", "  call void @f() #17\n");
        same("  call void @f() #5, !dbg !1\n", "  call void @f() #6, !dbg !1\n");
        same("  call void @f() #5 [ \"a\"() ]", "  call void @f() #6 [ \"a\"() ]");
        same(
            "  %p = phi nnan contract float [ %a, %b ], !dbg !1\n",
            "  %p = phi float [ %a, %b ], !dbg !1\n",
        );
        let differ = |a: &str, b: &str| assert_ne!(common(a), common(b));
        differ("  %p = phi contract float [ %a, %b ]\n", "  %p = phi float [ %a, %b ]\n");
        differ("  call void @f() #5\n", "  call void @f()\n");
        differ("  call void asm \" #5x\"()\n", "  call void asm \" #6x\"()\n");
    }
}
