//! Finds the statements of a C text, and the blocks and loops around them, without a compiler.
//!
//! Debug information has the line and the column of an access, and a barrier is inserted between
//! statements.
//!
//! ```text
//! for (int i = 0; i < n; i++) {      a block that is the body of a loop
//!   if (tid < half)                  statement 0 of the block: to the first semicolon
//!     tile[tid] += tile[tid + half];
//!   out[i] = tile[0];                statement 1
//! }
//! ```
//!
//! The scanner skips comments, literals and preprocessor lines; it does not expand macros. A
//! proposal is compiled and checked before it is shown. So if the scanner misreads a text, a
//! proposal is lost, but no wrong one is shown. O(length) to scan, O(length) for each query.

use std::ops::Range;

/// No such token.
const NONE: usize = usize::MAX;

/// A text as tokens, with the partners of its brackets.
pub(super) struct Tokens<'t> {
    text: &'t [u8],
    tokens: Vec<Range<usize>>,
    /// For a bracket, the matching one.
    partner: Vec<usize>,
    /// The brace that opens the innermost block around each token.
    block: Vec<usize>,
    /// Lines with a `#pragma`.
    pragmas: Vec<Range<usize>>,
}

/// A loop around some statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loop {
    /// Its body is a block: the token of its `{`.
    Block(usize),
    /// Its body is a statement: its first token, and the one behind it.
    Statement(usize, usize),
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t [u8]) -> Tokens<'t> {
        let (tokens, pragmas) = tokens(text);
        let mut code =
            Tokens { text, partner: vec![NONE; tokens.len()], block: Vec::new(), tokens, pragmas };
        let (mut open, mut blocks) = (Vec::new(), vec![NONE]);
        for at in 0..code.tokens.len() {
            match code.word(at) {
                b"(" | b"[" => open.push(at),
                b"{" => {
                    code.block.push(blocks.last().copied().unwrap_or(NONE));
                    open.push(at);
                    blocks.push(at);
                    continue;
                }
                close @ (b")" | b"]" | b"}") => {
                    if close == b"}" && blocks.len() > 1 {
                        blocks.pop();
                    }
                    if let Some(&with) = open.last()
                        && is_pair(code.word(with), close)
                    {
                        open.pop();
                        (code.partner[with], code.partner[at]) = (at, with);
                    }
                }
                _ => {}
            }
            code.block.push(blocks.last().copied().unwrap_or(NONE));
        }
        code
    }

    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The characters of a token; none behind the last.
    pub(super) fn word(&self, token: usize) -> &'t [u8] {
        self.tokens.get(token).map_or(&[], |range| &self.text[range.clone()])
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn range(&self, token: usize) -> Range<usize> {
        self.tokens.get(token).cloned().unwrap_or(self.text.len()..self.text.len())
    }

    /// The matching bracket.
    pub(super) fn partner(&self, token: usize) -> Option<usize> {
        self.partner.get(token).copied().filter(|&with| with != NONE)
    }

    /// The token that stands at an offset.
    pub(super) fn token_at(&self, offset: usize) -> Option<usize> {
        let after = self.tokens.partition_point(|token| token.start <= offset);
        let at = after.checked_sub(1)?;
        (offset < self.tokens[at].end).then_some(at)
    }

    /// The braces that open the blocks around a token, the innermost first.
    pub(super) fn blocks(&self, token: usize) -> Vec<usize> {
        let mut blocks = Vec::new();
        let mut at = self.block.get(token).copied().unwrap_or(NONE);
        while at != NONE {
            blocks.push(at);
            at = self.block[at];
        }
        blocks
    }

    /// The statements of a block, by their tokens.
    pub(super) fn statements(&self, open: usize) -> Vec<Range<usize>> {
        let Some(close) = self.partner(open) else { return Vec::new() };
        let mut statements = Vec::new();
        let mut at = open + 1;
        while at < close {
            let Some(end) = self.end(at).filter(|&end| end <= close) else { break };
            statements.push(at..end);
            at = end;
        }
        statements
    }

    /// The token behind the statement that begins at a token.
    pub(super) fn end(&self, start: usize) -> Option<usize> {
        let mut at = start;
        // Statements that end together with the statement inside of them.
        let mut around: Vec<&[u8]> = Vec::new();
        loop {
            if let Some((keyword, body)) = self.head(at) {
                around.push(keyword);
                at = body;
                continue;
            }
            at = match self.word(at) {
                b"" | b"}" => return None,
                b"{" => self.partner(at)? + 1,
                b"case" | b"default" => {
                    at = (at..self.len()).find(|&at| self.word(at) == b":")? + 1;
                    continue;
                }
                _ => self.semicolon(at)? + 1,
            };
            loop {
                match around.pop() {
                    None => return Some(at),
                    Some(b"if") if self.word(at) == b"else" => {
                        at += 1;
                        break;
                    }
                    Some(b"do") => at = self.semicolon(at)? + 1,
                    Some(_) => {}
                }
            }
        }
    }

    /// The keyword of a statement that contains another statement, and where that begins.
    pub(super) fn head(&self, at: usize) -> Option<(&'t [u8], usize)> {
        let keyword = self.word(at);
        match keyword {
            b"do" => Some((keyword, at + 1)),
            b"if" | b"for" | b"while" | b"switch" => {
                let open = if self.word(at + 1) == b"constexpr" { at + 2 } else { at + 1 };
                (self.word(open) == b"(").then_some(())?;
                Some((keyword, self.partner(open)? + 1))
            }
            _ => None,
        }
    }

    /// The semicolon of a statement that contains no other.
    fn semicolon(&self, start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            match self.word(at) {
                b";" => return Some(at),
                b"(" | b"[" | b"{" => at = self.partner(at)? + 1,
                b"" | b"}" => return None,
                _ => at += 1,
            }
        }
    }

    /// The loops around two tokens, the innermost first.
    pub(super) fn loops(&self, one: usize, other: usize) -> Vec<Loop> {
        let others = self.blocks(other);
        let mut loops = Vec::new();
        for open in self.blocks(one).into_iter().filter(|open| others.contains(open)) {
            let statements = self.statements(open);
            if let Some(inside) = statements.iter().find(|s| s.contains(&one) && s.contains(&other))
            {
                let mut found = self.loops_of(inside.start, one, other);
                found.reverse();
                loops.extend(found);
            }
            if self.is_body_of_loop(open) {
                loops.push(Loop::Block(open));
            }
        }
        loops
    }

    /// Loops of a statement whose bodies are not blocks, the outermost first.
    fn loops_of(&self, start: usize, one: usize, other: usize) -> Vec<Loop> {
        let mut loops = Vec::new();
        let mut at = start;
        while let Some((keyword, body)) = self.head(at) {
            let Some(end) = self.end(body) else { break };
            let is_around = (body..end).contains(&one) && (body..end).contains(&other);
            if is_around && matches!(keyword, b"for" | b"while") && self.word(body) != b"{" {
                loops.push(Loop::Statement(body, end));
            }
            at = if !is_around && self.word(end) == b"else" { end + 1 } else { body };
        }
        loops
    }

    fn is_body_of_loop(&self, open: usize) -> bool {
        let Some(before) = open.checked_sub(1) else { return false };
        match self.word(before) {
            b"do" => true,
            b")" => {
                let keyword = self.partner(before).and_then(|at| at.checked_sub(1));
                keyword.is_some_and(|at| matches!(self.word(at), b"for" | b"while"))
            }
            _ => false,
        }
    }

    /// Where the text of a statement begins, with the pragmas that belong to it.
    pub(super) fn start(&self, token: usize) -> usize {
        let mut start = self.range(token).start;
        let before = token.checked_sub(1).map_or(0, |at| self.range(at).end);
        for pragma in self.pragmas.iter().rev() {
            if (before..start).contains(&pragma.start) {
                start = pragma.start;
            }
        }
        start
    }

    /// The spaces with which the line of an offset begins, if there is nothing else before it.
    pub(super) fn indent(&self, offset: usize) -> Option<&'t str> {
        let line = self.line_start(offset);
        let spaces = std::str::from_utf8(&self.text[line..offset]).ok()?;
        spaces.chars().all(|c| c == ' ' || c == '\t').then_some(spaces)
    }

    /// Where the line of an offset begins.
    pub(super) fn line_start(&self, offset: usize) -> usize {
        let before = &self.text[..offset.min(self.text.len())];
        before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
    }
}

fn is_pair(open: &[u8], close: &[u8]) -> bool {
    matches!((open, close), (b"(", b")") | (b"[", b"]") | (b"{", b"}"))
}

/// Words, numbers, literals and single characters; lines with a `#pragma` apart.
fn tokens(text: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut tokens, mut pragmas) = (Vec::new(), Vec::new());
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let mut at = 0;
    let mut is_line_start = true;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'\n' => {
                is_line_start = true;
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                at += line_length(rest);
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                at += end.map_or(rest.len(), |end| end + 4);
                continue;
            }
            b'#' if is_line_start => {
                let length = line_length(rest);
                if rest[1..length].trim_ascii_start().starts_with(b"pragma") {
                    pragmas.push(at..at + length);
                }
                at += length;
                continue;
            }
            b'R' if rest.starts_with(b"R\"") => raw_length(rest),
            b'"' | b'\'' => literal_length(rest),
            _ if is_word(&byte) => {
                rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len())
            }
            _ => 1,
        };
        tokens.push(at..at + length);
        at += length;
        is_line_start = false;
    }
    (tokens, pragmas)
}

/// To the end of the line, without it; a line that ends in a backslash goes on.
fn line_length(text: &[u8]) -> usize {
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let end = ends.find(|&(at, _)| !text[..at].trim_ascii_end().ends_with(b"\\"));
    end.map_or(text.len(), |(at, _)| at)
}

/// A literal in quotes; one that does not end is its quote.
fn literal_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return 1,
            _ if byte == text[0] => return at + 1,
            _ => at += 1,
        }
    }
    1
}

/// A literal such as `R"x(...)x"`.
fn raw_length(text: &[u8]) -> usize {
    let Some(open) = text.iter().position(|&byte| byte == b'(') else { return 1 };
    let mut close = vec![b')'];
    close.extend_from_slice(&text[2..open]);
    close.push(b'"');
    let end = text.windows(close.len()).position(|window| window == close);
    end.map_or(1, |end| end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
__global__ void k(int *p) { // a } in a comment
  const char *s = \"}\\\"\";
#define BODY { \\
  {
  #pragma unroll
  for (int i = 0; i < 3; i++) {
    if (a) b[0] = 1; else if (c) { d; } else e[1]++;
    do f(); while (g);
    switch (h) { case 1: break; default: i; }
  }
  for (;;)
    while (x)
      y[2] = R\"(})\";
}
";

    fn statements(code: &Tokens<'_>, open: usize) -> Vec<String> {
        let text = |range: &Range<usize>| {
            let bytes = code.range(range.start).start..code.range(range.end - 1).end;
            let text = String::from_utf8_lossy(&code.text()[bytes]).into_owned();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        code.statements(open).iter().map(text).collect()
    }

    #[test]
    fn statements_end_where_they_do() {
        let code = Tokens::new(TEXT.as_bytes());
        let at = |word: &str| code.token_at(TEXT.find(word).expect(word)).expect(word);
        let blocks = code.blocks(at("do f"));
        assert_eq!(blocks.len(), 2);
        assert_eq!(
            statements(&code, blocks[0]),
            [
                "if (a) b[0] = 1; else if (c) { d; } else e[1]++;",
                "do f(); while (g);",
                "switch (h) { case 1: break; default: i; }",
            ]
        );
        let outer = statements(&code, blocks[1]);
        assert_eq!(outer.len(), 3, "{outer:?}");
        assert_eq!(outer[2], "for (;;) while (x) y[2] = R\"(})\";");
    }

    #[test]
    fn loops_around_two_places() {
        let code = Tokens::new(TEXT.as_bytes());
        let at = |word: &str| code.token_at(TEXT.find(word).expect(word)).expect(word);
        let block = code.blocks(at("b[0]"))[0];
        assert_eq!(code.loops(at("b[0]"), at("e[1]")), [Loop::Block(block)]);
        let both = code.loops(at("y[2]"), at("y[2]"));
        assert!(matches!(both[..], [Loop::Statement(..), Loop::Statement(..)]), "{both:?}");
        assert_eq!(code.loops(at("y[2]"), at("b[0]")), []);
    }

    #[test]
    fn a_pragma_belongs_to_its_statement() {
        let code = Tokens::new(TEXT.as_bytes());
        let of_loop = code.token_at(TEXT.find("for (int").expect("it")).expect("it");
        assert_eq!(code.start(of_loop), TEXT.find("#pragma").expect("it"));
        assert_eq!(code.indent(code.start(of_loop)), Some("  "));
    }
}
