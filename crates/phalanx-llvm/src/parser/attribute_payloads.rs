//! Reads the arguments of attributes whose number has a structure: `memory(..)`, `captures(..)` ...

use phalanx_ir::attributes::{
    ALLOC_KINDS, Access, CaptureComponents, Captures, FP_CLASSES, MemoryEffects, MemoryLocation,
    UnwindTable,
};

use super::Parser;
use crate::{error::PResult, lexer::TokenKind};

impl Parser<'_> {
    /// Nothing, or `(sync)` or `(async)`.
    pub(super) fn parse_unwind_table(&mut self) -> PResult<u64> {
        if !self.at(TokenKind::LParen) {
            return Ok(UnwindTable::Async as u64);
        }
        self.in_parens(|p| match p.word().and_then(UnwindTable::from_text) {
            Some(kind) => {
                p.bump();
                Ok(kind as u64)
            }
            None => Err(p.unexpected("`sync` or `async`")),
        })
    }

    /// `"alloc,zeroed"`
    pub(super) fn parse_alloc_kind(&mut self) -> PResult<u64> {
        if !self.at(TokenKind::String) {
            return Err(self.unexpected("a string of allocation kinds"));
        }
        let token = self.bump();
        let mut bits = 0;
        for word in self.token_name(token).split(|&byte| byte == b',') {
            match ALLOC_KINDS.iter().find(|(name, _)| name.as_bytes() == word) {
                Some(&(_, bit)) => bits |= u64::from(bit),
                None => {
                    let message =
                        format!("unknown allocation kind `{}`", String::from_utf8_lossy(word));
                    let known = ALLOC_KINDS.map(|(name, _)| name).join(", ");
                    let error = self.error(token.span(), message);
                    return Err(error.with_note(None, format!("kinds are {known}")));
                }
            }
        }
        Ok(bits)
    }

    /// `nan inf` or a number.
    pub(super) fn parse_fp_classes(&mut self) -> PResult<u64> {
        let all = u64::from(FP_CLASSES[0].1);
        if self.at(TokenKind::Int) {
            let span = self.span();
            return match self.expect_u64()? {
                bits if bits != 0 && bits & !all == 0 => Ok(bits),
                _ => Err(self.error(
                    span,
                    format!("a mask of floating-point classes is between 1 and {all}"),
                )),
            };
        }
        let mut mask = 0;
        loop {
            let class = self
                .word()
                .and_then(|word| FP_CLASSES.iter().find(|(name, _)| name.as_bytes() == word));
            match class {
                Some(&(_, bits)) => mask |= u64::from(bits),
                None => {
                    return Err(self.expected_one_of(
                        "a floating-point class",
                        FP_CLASSES.iter().map(|c| c.0),
                    ));
                }
            }
            self.bump();
            if self.at(TokenKind::RParen) {
                return Ok(mask);
            }
        }
    }

    /// `read, argmem: none`
    pub(super) fn parse_memory_effects(&mut self) -> PResult<u64> {
        let mut effects = MemoryEffects::NONE;
        let mut seen_location = false;
        loop {
            let named = |name: &[u8]| {
                MemoryLocation::from_text(name).filter(|&l| l != MemoryLocation::Other)
            };
            // The colon is a token of its own behind white space.
            let location = match self.label_name() {
                Some(name) => named(&name),
                None => self.word().and_then(named),
            };
            if self.at(TokenKind::Label) && location.is_none() {
                return Err(self.expected_memory_effect("a kind of memory"));
            }
            if location.is_some() {
                if !self.at(TokenKind::Label) {
                    self.bump();
                    self.expect(TokenKind::Colon)?;
                } else {
                    self.bump();
                }
                seen_location = true;
            }
            let Some(access) = self.word().and_then(Access::from_text) else {
                return Err(self.expected_memory_effect("a kind of memory or of access"));
            };
            effects = match location {
                Some(location) => effects.with(location, access),
                None if seen_location => {
                    return Err(
                        self.error(self.span(), "the access that holds by default must come first")
                    );
                }
                None => MemoryEffects::all(access),
            };
            self.bump();
            if !self.accept(TokenKind::Comma) {
                return Ok(effects.raw());
            }
        }
    }

    #[cold]
    fn expected_memory_effect(&self, what: &str) -> Box<crate::ParseError> {
        let locations =
            MemoryLocation::ALL.iter().filter(|&&l| l != MemoryLocation::Other).map(|l| l.text());
        self.expected_one_of(what, locations.chain(Access::ALL.iter().map(|a| a.text())))
    }

    /// `address, ret: provenance`
    pub(super) fn parse_captures(&mut self) -> PResult<u64> {
        let (mut other, mut ret): (Option<CaptureComponents>, Option<CaptureComponents>) =
            (None, None);
        let mut in_ret = false;
        loop {
            if let Some(name) = self.label_name() {
                if *name != *b"ret" {
                    return Err(self.expected_component());
                }
                if ret.is_some() {
                    return Err(self.error(self.span(), "`ret:` is given twice"));
                }
                self.bump();
                in_ret = true;
            }
            let word = self.word().unwrap_or_default();
            let names = CaptureComponents::NAMES;
            let Some(&(_, component)) = names.iter().find(|(name, _)| name.as_bytes() == word)
            else {
                return Err(self.expected_component());
            };
            let components = if in_ret { &mut ret } else { &mut other };
            match components {
                Some(before) if before.is_none() || component.is_none() => {
                    return Err(self.error(self.span(), "`none` excludes other components"));
                }
                Some(before) => *before = before.union(component),
                None => *components = Some(component),
            }
            self.bump();
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        // What is captured at all may be captured in the return value, unless that is spelled out.
        let other = other.unwrap_or(CaptureComponents::NONE);
        Ok(Captures { other, ret: ret.unwrap_or(other) }.raw())
    }

    #[cold]
    fn expected_component(&self) -> Box<crate::ParseError> {
        let names = CaptureComponents::NAMES;
        self.expected_one_of("a component of a pointer", names.iter().map(|(name, _)| *name))
    }
}
