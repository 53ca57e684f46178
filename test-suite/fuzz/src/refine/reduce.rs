//! Reduces the text of a finding.
//!
//! Greedy: a line is removed, an operand becomes a constant, a branch becomes a jump, as long as
//! the text parses and still shows the finding. Every round tries all changes of all lines, from
//! the end, so the cost is quadratic in the size of the text.
//!
//! For example `%v3 = add i32 %v1, %v2` becomes `add i32 0, %v2`, and its line is removed when
//! nothing reads `%v3`.
//!
//! Invariant: the returned text shows the finding.

/// The smallest text found that still shows what `shows` looks for.
#[must_use]
pub fn reduced(text: &str, shows: &dyn Fn(&str) -> bool) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    loop {
        let before = lines.clone();
        for size in [8, 3, 1] {
            let mut at = lines.len();
            while at > 0 {
                at = at.saturating_sub(size);
                let end = (at + size).min(lines.len());
                let mut candidate = lines.clone();
                candidate.drain(at..end);
                if shows(&candidate.join("\n")) {
                    lines = candidate;
                }
            }
        }
        for at in (0..lines.len()).rev() {
            for change in changes(&lines[at]) {
                let mut candidate = lines.clone();
                candidate[at] = change;
                if shows(&candidate.join("\n")) {
                    lines = candidate;
                    break;
                }
            }
        }
        if lines == before {
            return lines.join("\n");
        }
    }
}

/// Lines that say less.
fn changes(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(rest) = line.trim().strip_prefix("br i1 ") {
        for target in rest.split(", ").skip(1) {
            all.push(format!("  br {target}"));
        }
        for constant in ["true", "false"] {
            if let Some((condition, targets)) = rest.split_once(", ")
                && condition.starts_with('%')
            {
                all.push(format!("  br i1 {constant}, {targets}"));
            }
        }
        return all;
    }
    if line.trim().starts_with("switch") || !line.starts_with("  ") {
        return all;
    }
    // An edge of a phi, for blocks that are gone.
    let is_phi = line.contains(" = phi ");
    if is_phi && line.matches('[').count() > 1 {
        let starts: Vec<usize> = line.match_indices("[ ").map(|(at, _)| at).collect();
        for (number, &at) in starts.iter().enumerate() {
            let end = line[at..].find(']').map_or(line.len(), |end| at + end + 1);
            let rest = line[end..].strip_prefix(", ").unwrap_or(&line[end..]);
            let head = if number + 1 == starts.len() {
                line[..at].strip_suffix(", ").unwrap_or(&line[..at])
            } else {
                &line[..at]
            };
            all.push(format!("{head}{rest}"));
        }
    }
    // Operands that are names, behind the result.
    let from = line.find(" = ").map_or(0, |at| at + 3);
    let mut at = from;
    while let Some(found) = line[at..].find('%') {
        let start = at + found;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '%' || c == '.';
        let end = line[start..].find(|c| !is_part(c)).map_or(line.len(), |end| start + end);
        at = end;
        if line[..start].ends_with("label ") || line[end..].starts_with(" ]") {
            continue;
        }
        for constant in ["0", "1", "true", "false", "zeroinitializer"] {
            all.push(format!("{}{constant}{}", &line[..start], &line[end..]));
        }
    }
    for flag in ["nuw ", "nsw ", "exact ", "disjoint ", "inbounds ", "nneg ", "samesign "] {
        if line.contains(flag) {
            all.push(line.replacen(flag, "", 1));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let text = "a\n  %v1 = add nuw i32 %v0, 7\n  br i1 %c, label %x, label %y\nb";
        let shows = |text: &str| text.contains("%v1 = add") && text.contains("label %y");
        assert_eq!(reduced(text, &shows), "  %v1 = add i32 0, 7\n  br label %y");
    }
}
