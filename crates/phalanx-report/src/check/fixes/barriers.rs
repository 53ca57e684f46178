//! Proposes places for a missing barrier, and for a barrier that must leave a branch.
//!
//! | what is wrong | proposals, in this order |
//! |---|---|
//! | two statements race | a barrier before the second one, in the block that holds both |
//! | statements of a round race with those of the next | at the end of the loop, the outermost loop first |
//! | both | both |
//! | a barrier in a branch | behind the `if` where it is the last of its block; before it where it is the first |
//! | a barrier that is all of an `if` | without the `if` |
//! | a barrier just behind `if (..) return;` | before it |
//!
//! ```text
//! tile[t] = in[t];
//! __syncthreads();            // before the second statement
//! out[t] = tile[t ^ 1];
//! ```

use super::{
    Change,
    statements::{Loop, Tokens},
};

/// Ways to put a barrier between two places of a text; each is a list of edits.
pub(super) fn between(code: &Tokens<'_>, places: [usize; 2], call: &str) -> Vec<Vec<Change>> {
    let [first, second] = [places[0].min(places[1]), places[0].max(places[1])];
    let (Some(first), Some(second)) = (code.token_at(first), code.token_at(second)) else {
        return Vec::new();
    };
    let split = split(code, first, second, call);
    let mut loops = code.loops(first, second);
    loops.reverse();
    let ends: Vec<Vec<Change>> =
        loops.into_iter().filter_map(|of| at_end(code, of, call)).collect();
    let mut ways: Vec<Vec<Change>> = split.iter().map(|one| vec![one.clone()]).collect();
    ways.extend(ends.iter().cloned());
    if let Some(split) = split {
        ways.extend(ends.into_iter().map(|end| [vec![split.clone()], end].concat()));
    }
    ways
}

/// A barrier before the statement of the second place, in the innermost block around both.
fn split(code: &Tokens<'_>, first: usize, second: usize, call: &str) -> Option<Change> {
    let others = code.blocks(second);
    let open = code.blocks(first).into_iter().find(|open| others.contains(open))?;
    let statements = code.statements(open);
    let of = |token: usize| statements.iter().position(|s| s.contains(&token));
    let (one, other) = (of(first)?, of(second)?);
    (one < other).then(|| before(code, statements[other].start, call))
}

/// A statement before another one.
fn before(code: &Tokens<'_>, token: usize, call: &str) -> Change {
    let at = code.start(token);
    let text = match code.indent(at) {
        Some(indent) => format!("{call}\n{indent}"),
        None => format!("{call} "),
    };
    Change { range: at..at, text }
}

/// A statement behind another one, which ends before a token.
fn behind(code: &Tokens<'_>, start: usize, end: usize, call: &str) -> Option<Change> {
    let last = code.range(end.checked_sub(1)?).end;
    let text = match code.indent(code.start(start)) {
        Some(indent) => format!("\n{indent}{call}"),
        None => format!(" {call}"),
    };
    Some(Change { range: last..last, text })
}

/// A barrier at the end of the rounds of a loop.
fn at_end(code: &Tokens<'_>, of: Loop, call: &str) -> Option<Vec<Change>> {
    match of {
        Loop::Block(open) => {
            let last = code.statements(open).last()?.clone();
            Some(vec![behind(code, last.start, last.end, call)?])
        }
        Loop::Statement(start, end) => {
            let head = code.range(start.checked_sub(1)?).end;
            let last = code.range(end - 1).end;
            let of_loop = code.line_start(head);
            let text = &code.text()[of_loop..];
            let spaces = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let outer = std::str::from_utf8(&text[..spaces]).ok()?;
            let closing = match code.indent(code.start(start)) {
                Some(indent) => format!("\n{indent}{call}\n{outer}}}"),
                None => format!(" {call} }}"),
            };
            Some(vec![
                Change { range: head..head, text: " {".to_owned() },
                Change { range: last..last, text: closing },
            ])
        }
    }
}

/// Ways to take a barrier at a place of a text out of the branches around it, nearest first.
pub(super) fn out_of_branch(code: &Tokens<'_>, place: usize) -> Vec<Vec<Change>> {
    let Some(token) = code.token_at(place) else { return Vec::new() };
    let blocks = code.blocks(token);
    let Some(&open) = blocks.first() else { return Vec::new() };
    let Some(barrier) = code.statements(open).into_iter().find(|s| s.contains(&token)) else {
        return Vec::new();
    };
    if barrier.start != token {
        return without_condition(code, barrier.start, token).into_iter().collect();
    }
    let text = &code.text()[code.range(barrier.start).start..code.range(barrier.end - 1).end];
    let Ok(call) = std::str::from_utf8(text) else { return Vec::new() };
    let removal = removal(code, barrier.start, barrier.end);
    let mut ways = Vec::new();
    let mut inner = barrier;
    for pair in blocks.windows(2) {
        let (block, outer) = (pair[0], pair[1]);
        let statements = code.statements(block);
        let Some(branch) = code.statements(outer).into_iter().find(|s| s.contains(&block)) else {
            break;
        };
        // A plain `if` without an `else`, whose body is this block.
        let is_plain = code.word(branch.start) == b"if"
            && code.head(branch.start).is_some_and(|(_, body)| body == block)
            && code.partner(block).is_some_and(|close| close + 1 == branch.end);
        if !is_plain {
            break;
        }
        let is_last = statements.last().is_some_and(|last| last.start == inner.start);
        let is_first = statements.first().is_some_and(|first| first.start == inner.start);
        if is_last && let Some(change) = behind(code, branch.start, branch.end, call) {
            ways.push(vec![removal.clone(), change]);
        }
        if is_first {
            ways.push(vec![before(code, branch.start, call), removal.clone()]);
        }
        if !is_last && !is_first {
            break;
        }
        inner = branch;
    }
    ways
}

/// Moves a barrier before the `if (..) return;` that it stands directly behind. With anything
/// between, the barrier might order that as well.
pub(super) fn before_return(code: &Tokens<'_>, place: usize) -> Vec<Vec<Change>> {
    let Some(token) = code.token_at(place) else { return Vec::new() };
    let Some(&open) = code.blocks(token).first() else { return Vec::new() };
    let statements = code.statements(open);
    let Some(at) = statements.iter().position(|s| s.start == token) else { return Vec::new() };
    let Some(exit) = at.checked_sub(1).map(|before| statements[before].clone()) else {
        return Vec::new();
    };
    let returns = exit.clone().any(|token| code.word(token) == b"return");
    let barrier = statements[at].clone();
    let text = &code.text()[code.range(barrier.start).start..code.range(barrier.end - 1).end];
    match std::str::from_utf8(text) {
        Ok(call) if returns && code.word(exit.start) == b"if" => {
            vec![vec![before(code, exit.start, call), removal(code, barrier.start, barrier.end)]]
        }
        _ => Vec::new(),
    }
}

/// Removes `if (..)` before a barrier: that of a statement without braces and without `else`. Only
/// conditions that do nothing but compute a value are removed.
fn without_condition(code: &Tokens<'_>, start: usize, barrier: usize) -> Option<Vec<Change>> {
    let mut at = start;
    while at != barrier {
        let (b"if", body) = code.head(at)? else { return None };
        let has_effect = (at + 2..body).any(|at| {
            let (before, this) = (code.word(at - 1), code.word(at));
            let is_call = this == b"(" && before.iter().any(u8::is_ascii_alphanumeric);
            let is_step = matches!(this, b"+" | b"-") && before == this;
            // `==`, `<=`, `>=` and `!=` compare; any other `=` assigns.
            let after = code.word(at + 1);
            let compares = matches!(before, b"=" | b"<" | b">" | b"!") || after == b"=";
            is_call || is_step || this == b"=" && !compares
        });
        if has_effect || code.end(at)? != code.end(barrier)? {
            return None;
        }
        at = body;
    }
    let range = code.start(start)..code.start(barrier);
    Some(vec![Change { range, text: String::new() }])
}

/// Removes a statement, and its line if nothing else is there.
fn removal(code: &Tokens<'_>, start: usize, end: usize) -> Change {
    let (mut from, mut to) = (code.range(start).start, code.range(end - 1).end);
    let rest = &code.text()[to..];
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    if code.indent(from).is_some() && rest.get(spaces) == Some(&b'\n') {
        (from, to) = (code.line_start(from), to + spaces + 1);
    }
    Change { range: from..to, text: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after each way to move the barrier out of the branches around it.
    fn moved(text: &str) -> Vec<String> {
        changed(text, out_of_branch)
    }

    fn changed(text: &str, ways: impl Fn(&Tokens<'_>, usize) -> Vec<Vec<Change>>) -> Vec<String> {
        let code = Tokens::new(text.as_bytes());
        let place = text.find("sync").expect("there is a barrier");
        let apply = |changes: Vec<Change>| {
            let mut out = text.to_owned();
            for change in changes.into_iter().rev() {
                out.replace_range(change.range, &change.text);
            }
            out
        };
        ways(&code, place).into_iter().map(apply).collect()
    }

    #[test]
    fn a_barrier_behind_a_return() {
        let before = |text| changed(text, before_return);
        assert_eq!(
            before("{ a; if (i >= n) return; sync(); b; }"),
            ["{ a; sync(); if (i >= n) return;  b; }"]
        );
        assert_eq!(
            before("{\n  if (i >= n) {\n    return;\n  }\n  sync();\n  b;\n}"),
            ["{\n  sync();\n  if (i >= n) {\n    return;\n  }\n  b;\n}"]
        );
        for text in ["{ if (n) return; a; sync(); }", "{ if (n) a; sync(); }", "{ sync(); }"] {
            assert!(before(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_barrier_that_is_all_of_an_if() {
        assert_eq!(moved("{ a; if (t < 8 && u != 3) sync(); b; }"), ["{ a; sync(); b; }"]);
        assert_eq!(moved("{ if (t == 8) if (u[1] <= 3) sync(); }"), ["{ sync(); }"]);
        for text in [
            "{ if (next() < 8) sync(); }",
            "{ if (n = 8) sync(); }",
            "{ if (n++) sync(); }",
            "{ if (n) sync(); else b; }",
            "{ while (n) sync(); }",
            "{ if (n) for (;;) sync(); }",
        ] {
            assert!(moved(text).is_empty(), "{text}");
        }
    }
}
