//! Splits bytes into tokens.
//!
//! Tokens are the same as those of LLVM's lexer: `name:` is one token, so is `!name`, `i32` stops
//! at the first byte that is no digit, and a word at the first byte that is neither letter, digit
//! nor underscore. A token is sixteen bytes: its kind and place. Its text is read from the source
//! on demand, so nothing is copied. O(1) amortised per byte.

use std::borrow::Cow;

use crate::{
    error::{ParseError, Span},
    parser::keyword::Keyword,
};

/// What a token is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum TokenKind {
    /// The end of the source.
    Eof,
    /// Bytes that begin no token; [`Lexer::error`] says why.
    Error,
    /// `=`
    Equal,
    /// `,`
    Comma,
    /// `*`
    Star,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `|`
    Bar,
    /// `:`
    Colon,
    /// `...`
    Ellipsis,
    /// `!`
    Exclaim,
    /// `#`
    Hash,
    /// A bare word.
    Word,
    /// `i32`; [`Token::number`] is the width, saturated.
    IntType,
    /// `name:` or `"name":`
    Label,
    /// `12:`
    LabelId,
    /// `"text"`
    String,
    /// `%name`
    Local,
    /// `%12`
    LocalId,
    /// `@name`
    Global,
    /// `@12`
    GlobalId,
    /// `$name`
    ComdatVar,
    /// `!name`
    MetadataVar,
    /// `#12`
    AttrGroup,
    /// `^12`
    Summary,
    /// `-12`
    Int,
    /// `u0x1F`, `s0x1F`
    HexInt,
    /// `1.5e3`
    Float,
    /// `0x3FF0000000000000`, `0xH3C00`
    HexFloat,
}

/// A token: kind and place.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// First byte.
    pub(crate) start: u32,
    /// One past the last byte.
    pub(crate) end: u32,
    /// The number of an id, the width of an integer type; else 0.
    pub(crate) number: u32,
    /// Which word this is.
    pub(crate) keyword: Keyword,
    /// What this is.
    pub(crate) kind: TokenKind,
}

impl Token {
    /// Its place.
    pub(crate) fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
/// `-`, `$`, `.`: with the three above, what labels and names are made of.
const MARK: u8 = 8;
const HEX: u8 = 16;
const BACKSLASH: u8 = 32;
const SPACE: u8 = 64;
const WORD: u8 = LETTER | DIGIT | UNDERSCORE;
const NAME: u8 = WORD | MARK;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        class[at] = match byte {
            b'a'..=b'f' | b'A'..=b'F' => LETTER | HEX,
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT | HEX,
            b'_' => UNDERSCORE,
            b'-' | b'$' | b'.' => MARK,
            b'\\' => BACKSLASH,
            // NUL is white space inside a file.
            b' ' | b'\t' | b'\n' | b'\r' | 0 => SPACE,
            _ => 0,
        };
        at += 1;
    }
    class
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Cuts a source into tokens.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    error: Option<(&'static str, Span)>,
}

impl<'a> Lexer<'a> {
    /// At the start of a source of less than 4 GiB.
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Lexer { source, at: 0, error: None }
    }

    /// Why the last [`TokenKind::Error`] is no token.
    pub(crate) fn error(&self) -> Option<Box<ParseError>> {
        self.error.map(|(message, span)| Box::new(ParseError::new(span, message)))
    }

    fn byte(&self, at: usize) -> u8 {
        self.source.get(at).copied().unwrap_or(0)
    }

    fn run(&self, mut at: usize, class: u8) -> usize {
        while let Some(&byte) = self.source.get(at) {
            if !is(byte, class) {
                break;
            }
            at += 1;
        }
        at
    }

    fn token(&mut self, kind: TokenKind, start: usize, end: usize) -> Token {
        self.numbered(kind, start, end, 0)
    }

    fn numbered(&mut self, kind: TokenKind, start: usize, end: usize, number: u32) -> Token {
        self.at = end;
        Token { start: start as u32, end: end as u32, number, keyword: Keyword::None, kind }
    }

    fn fail(&mut self, message: &'static str, start: usize, end: usize) -> Token {
        self.error = Some((message, Span::new(start as u32, end as u32)));
        self.token(TokenKind::Error, start, end)
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token {
        use TokenKind as K;
        loop {
            let start = self.at;
            let Some(&byte) = self.source.get(start) else {
                return self.token(K::Eof, start, start);
            };
            let one = start + 1;
            return match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0 => {
                    self.at = self.run(one, SPACE);
                    continue;
                }
                b';' => {
                    self.at = memchr::memchr(b'\n', &self.source[start..])
                        .map_or(self.source.len(), |length| start + length);
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(start),
                b'%' => self.variable(start, K::Local, K::LocalId),
                b',' => self.token(K::Comma, start, one),
                b'@' => self.variable(start, K::Global, K::GlobalId),
                b'0'..=b'9' | b'-' => self.digits(start),
                b'(' => self.token(K::LParen, start, one),
                b')' => self.token(K::RParen, start, one),
                b'!' => {
                    if is(self.byte(one), NAME & !DIGIT | BACKSLASH) {
                        let end = self.run(one, NAME | BACKSLASH);
                        return self.token(K::MetadataVar, start, end);
                    }
                    self.token(K::Exclaim, start, one)
                }
                b'=' => self.token(K::Equal, start, one),
                b'{' => self.token(K::LBrace, start, one),
                b'}' => self.token(K::RBrace, start, one),
                b'[' => self.token(K::LBracket, start, one),
                b']' => self.token(K::RBracket, start, one),
                b'<' => self.token(K::Less, start, one),
                b'>' => self.token(K::Greater, start, one),
                b'*' => self.token(K::Star, start, one),
                b'|' => self.token(K::Bar, start, one),
                b':' => self.token(K::Colon, start, one),
                b'#' if is(self.byte(one), DIGIT) => self.id(start, one, K::AttrGroup),
                b'#' => self.token(K::Hash, start, one),
                b'^' if is(self.byte(one), DIGIT) => self.id(start, one, K::Summary),
                b'"' => self.quoted(start),
                b'$' => self.dollar(start),
                b'.' => match self.label_end(one) {
                    Some(end) => self.token(K::Label, start, end),
                    None if self.source[one..].starts_with(b"..") => {
                        self.token(K::Ellipsis, start, start + 3)
                    }
                    None => self.fail("expected a token, found `.`", start, one),
                },
                b'+' => self.positive(start),
                b'/' if self.byte(one) == b'*' => {
                    match memchr::memmem::find(&self.source[one + 1..], b"*/") {
                        Some(length) => {
                            self.at = one + 1 + length + 2;
                            continue;
                        }
                        None => self.fail("unterminated comment", start, self.source.len()),
                    }
                }
                _ => self.fail("this byte begins no token", start, one),
            };
        }
    }

    /// The end of a label whose name goes on at `at`: after the colon.
    fn label_end(&self, at: usize) -> Option<usize> {
        let end = self.run(at, NAME);
        (self.byte(end) == b':').then_some(end + 1)
    }

    #[inline]
    fn word(&mut self, start: usize) -> Token {
        let stop = self.run(start + 1, WORD);
        // Only a name with marks in it can be longer than the word, and only as a label.
        let end = self.run(stop, NAME);
        if self.byte(end) == b':' {
            return self.token(TokenKind::Label, start, end + 1);
        }
        let word = &self.source[start..stop];
        if let [b'i', b'0'..=b'9', ..] = word {
            return self.id(start, start + 1, TokenKind::IntType);
        }
        if let [b'u' | b's', b'0', b'x', first, ..] = word
            && is(*first, HEX)
        {
            let end = self.run(start + 3, HEX);
            return self.token(TokenKind::HexInt, start, end);
        }
        if let [b'c', b'c', b'0'..=b'9', ..] = word {
            let mut token = self.token(TokenKind::Word, start, start + 2);
            token.keyword = Keyword::Cc;
            return token;
        }
        let keyword = Keyword::of(word);
        self.at = stop;
        Token { start: start as u32, end: stop as u32, number: 0, keyword, kind: TokenKind::Word }
    }

    /// Decimal digits from `digits` on, as the number of a token that begins at `start`.
    fn id(&mut self, start: usize, digits: usize, kind: TokenKind) -> Token {
        let mut number = 0u64;
        let mut end = digits;
        while let Some(&byte @ b'0'..=b'9') = self.source.get(end) {
            number = (number * 10 + u64::from(byte - b'0')).min(u64::from(u32::MAX) + 1);
            end += 1;
        }
        match u32::try_from(number) {
            Ok(number) => self.numbered(kind, start, end, number),
            Err(_) if kind == TokenKind::IntType => self.numbered(kind, start, end, u32::MAX),
            Err(_) => self.fail("this number is too large: at most 4294967295", start, end),
        }
    }

    #[inline]
    fn variable(&mut self, start: usize, named: TokenKind, numbered: TokenKind) -> Token {
        let first = self.byte(start + 1);
        if is(first, NAME & !DIGIT) {
            let end = self.run(start + 2, NAME);
            self.token(named, start, end)
        } else if is(first, DIGIT) {
            self.id(start, start + 1, numbered)
        } else if first == b'"' {
            self.quoted_name(start, named)
        } else {
            self.fail("expected a name or a number here", start, start + 1)
        }
    }

    fn quoted_name(&mut self, start: usize, kind: TokenKind) -> Token {
        let inside = start + 2;
        match memchr::memchr(b'"', &self.source[inside..]) {
            None => self.fail("unterminated quoted name", start, self.source.len()),
            Some(length) if has_nul(&self.source[inside..inside + length]) => {
                self.fail("a name cannot hold a NUL byte", start, inside + length + 1)
            }
            Some(length) => self.token(kind, start, inside + length + 1),
        }
    }

    fn quoted(&mut self, start: usize) -> Token {
        let Some(length) = memchr::memchr(b'"', &self.source[start + 1..]) else {
            return self.fail("unterminated string", start, self.source.len());
        };
        let end = start + length + 2;
        if self.byte(end) != b':' {
            self.token(TokenKind::String, start, end)
        } else if has_nul(&self.source[start + 1..end - 1]) {
            self.fail("a name cannot hold a NUL byte", start, end)
        } else {
            self.token(TokenKind::Label, start, end + 1)
        }
    }

    fn dollar(&mut self, start: usize) -> Token {
        if let Some(end) = self.label_end(start + 1) {
            self.token(TokenKind::Label, start, end)
        } else if self.byte(start + 1) == b'"' {
            self.quoted_name(start, TokenKind::ComdatVar)
        } else if is(self.byte(start + 1), NAME & !DIGIT) {
            let end = self.run(start + 2, NAME);
            self.token(TokenKind::ComdatVar, start, end)
        } else {
            self.fail("expected the name of a comdat", start, start + 1)
        }
    }

    /// An integer, a float, or a label that begins with a digit or `-`.
    fn digits(&mut self, start: usize) -> Token {
        let negative = self.source[start] == b'-';
        let end = self.run(start + 1, DIGIT);
        if !negative && self.byte(end) == b':' {
            let token = self.id(start, start, TokenKind::LabelId);
            self.at = end + 1;
            return Token { end: end as u32 + 1, ..token };
        }
        if (is(self.byte(end), NAME) || self.byte(end) == b':')
            && let Some(end) = self.label_end(end)
        {
            return self.token(TokenKind::Label, start, end);
        }
        if negative && end == start + 1 {
            return self.fail("expected digits after `-`", start, end);
        }
        if self.byte(end) == b'.' {
            return self.fraction(start, end);
        }
        if self.source[start] == b'0' && self.byte(start + 1) == b'x' {
            return self.hex_float(start);
        }
        self.token(TokenKind::Int, start, end)
    }

    fn positive(&mut self, start: usize) -> Token {
        let end = self.run(start + 1, DIGIT);
        if end > start + 1 && self.byte(end) == b'.' {
            self.fraction(start, end)
        } else {
            self.fail("only a floating-point number can begin with `+`", start, end)
        }
    }

    fn fraction(&mut self, start: usize, dot: usize) -> Token {
        let mut end = self.run(dot + 1, DIGIT);
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            if is(self.byte(end + 1 + sign), DIGIT) {
                end = self.run(end + 1 + sign, DIGIT);
            }
        }
        self.token(TokenKind::Float, start, end)
    }

    fn hex_float(&mut self, start: usize) -> Token {
        let letter = usize::from(matches!(self.byte(start + 2), b'K' | b'L' | b'M' | b'H' | b'R'));
        let digits = start + 2 + letter;
        let end = self.run(digits, HEX);
        if end == digits {
            return self.fail("expected hexadecimal digits", start, end);
        }
        self.token(TokenKind::HexFloat, start, end)
    }
}

/// Whether a quoted name means a NUL byte, written as such or escaped.
fn has_nul(quoted: &[u8]) -> bool {
    memchr::memchr(0, quoted).is_some()
        || memchr::memchr(b'\\', quoted).is_some() && unescape(quoted).contains(&0)
}

/// What a quoted text means: `\\` is a backslash, `\xx` the byte with that number, any other
/// backslash itself.
pub(crate) fn unescape(quoted: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', quoted) else { return Cow::Borrowed(quoted) };
    let mut bytes = Vec::with_capacity(quoted.len());
    bytes.extend_from_slice(&quoted[..first]);
    let mut rest = &quoted[first..];
    loop {
        rest = match rest {
            [] => return Cow::Owned(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                tail
            }
            [b'\\', high, low, tail @ ..] if is(*high, HEX) && is(*low, HEX) => {
                bytes.push(hex_digit(*high) << 4 | hex_digit(*low));
                tail
            }
            [byte, tail @ ..] => {
                bytes.push(*byte);
                tail
            }
        };
    }
}

/// The value of a hexadecimal digit.
pub(crate) fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests;
