//! Proposes other masks for operations among lanes, and rows of tiles that are one element longer.
//!
//! ```text
//! __shfl_xor_sync(0xffff, x, 1)       ->   __shfl_xor_sync(0xffffffff, x, 1)
//! __shared__ float tile[32][32];      ->   __shared__ float tile[32][32 + 1];
//! ```
//!
//! A tile is changed only if every use in the text has two indices: a pointer to its first row, or
//! its size, would change its meaning.

use super::{Change, statements::Tokens};

/// Other masks for a call at a place of a text.
pub(super) fn masks(code: &Tokens<'_>, place: usize) -> Vec<Vec<Change>> {
    let Some(token) = code.token_at(place) else { return Vec::new() };
    let is_sync = code.word(token).ends_with(b"_sync") || code.word(token) == b"__syncwarp";
    if !is_sync || code.word(token + 1) != b"(" {
        return Vec::new();
    }
    let Some(close) = code.partner(token + 1) else { return Vec::new() };
    let mut at = token + 2;
    while at < close && code.word(at) != b"," {
        at = code.partner(at).filter(|&with| with > at).unwrap_or(at) + 1;
    }
    if at == token + 2 {
        return Vec::new();
    }
    let range = code.range(token + 2).start..code.range(at - 1).end;
    let now = &code.text()[range.clone()];
    let others = ["0xffffffff", "__activemask()"].into_iter();
    let change = |mask: &str| vec![Change { range: range.clone(), text: mask.to_owned() }];
    others.filter(|mask| mask.as_bytes() != now).map(change).collect()
}

/// Longer rows for the tile that the statement at a place names.
pub(super) fn longer_rows(code: &Tokens<'_>, place: usize) -> Vec<Vec<Change>> {
    let tiles = statement(code, place).map(|range| {
        let named = range.filter(|&at| code.word(at + 1) == b"[");
        let mut names: Vec<&[u8]> = named.map(|at| code.word(at)).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().filter_map(|name| longer(code, name)).collect::<Vec<_>>()
    });
    match tiles.as_deref() {
        Some([one]) => vec![vec![one.clone()]],
        _ => Vec::new(),
    }
}

/// The innermost statement at a place.
fn statement(code: &Tokens<'_>, place: usize) -> Option<std::ops::Range<usize>> {
    let token = code.token_at(place)?;
    let ends = |&at: &usize| matches!(code.word(at), b";" | b"{" | b"}");
    let start = (0..=token).rev().find(ends)? + 1;
    let end = (token..code.len()).find(ends)?;
    Some(start..end)
}

/// A tile with two dimensions whose rows can be made longer.
fn longer(code: &Tokens<'_>, name: &[u8]) -> Option<Change> {
    let mut declared = None;
    for at in (0..code.len()).filter(|&at| code.word(at) == name) {
        let first = Some(at + 1).filter(|&open| code.word(open) == b"[")?;
        let second = Some(code.partner(first)? + 1).filter(|&open| code.word(open) == b"[")?;
        let close = code.partner(second)?;
        if is_declaration(code, at) {
            // Two declarations with one name are two tiles.
            if declared.is_some() || code.word(close + 1) == b"[" || close == second + 1 {
                return None;
            }
            declared = Some(close);
        }
    }
    let at = code.range(declared?).start;
    Some(Change { range: at..at, text: " + 1".to_owned() })
}

/// Whether workgroup memory is declared by the statement up to a token.
fn is_declaration(code: &Tokens<'_>, token: usize) -> bool {
    let before = (0..token).rev().map(|at| code.word(at));
    let mut before = before.take_while(|word| !matches!(*word, b";" | b"{" | b"}" | b"("));
    before.any(|word| matches!(word, b"__shared__" | b"local" | b"__local"))
}
