//! Reader of the intrinsic tables.
//!
//! # Why text
//!
//! LLVM 22 has some five thousand intrinsics for the supported targets, but only a few hundred
//! different kinds of them. Names are products (`image.sample.{c,d}.{1d,2d}`), and the tables use
//! the same notation. Text keeps them readable and complete, and a test compares them with the
//! installed LLVM name by name. Expanding a table takes a fraction of a millisecond, once.
//!
//! # Syntax
//!
//! ```text
//! # comment
//! @ TRANSFER[;TRANSFER] memory=EFFECT [FLAG ...]       the kind: what follows behaves like this
//!     name.{alternative,other}.more*                   names without the family's prefix
//! ```
//!
//! * `TRANSFER`: a [`Transfer`], one per result of a struct (the last one stands for all further
//!   results); `-` for intrinsics without a result.
//! * `EFFECT`: `none`, `any`, `read`, `write`, or `WHERE:ACCESS` with `WHERE` one of `arg`,
//!   `inaccessible`, `arg+inaccessible` and `ACCESS` one of `read`, `write`, `readwrite`.
//! * `FLAG`: `convergent`, `collective` (not convergent in LLVM, but it should be), `speculatable`,
//!   `willreturn`, `noreturn`, `nosync`, `noduplicate`,
//!   `barrier(SCOPE[,arrive|wait][,aligned][,partial])`, `llvm=always|never`,
//!   `same(SCOPE,ROLE=POSITION...)`: operands that have to be the same in all threads of a scope.
//! * A brace group stands for each of its alternatives. A trailing `*` marks an overloaded
//!   intrinsic, whose name is followed by mangled types.
//!
//! Complexity: linear in the expanded table.

use std::fmt;

use phalanx_ir::intrinsics::alternatives;
use rustc_hash::FxHashMap;

use super::{
    Barrier, BarrierPhase, IntrinsicInfo, LlvmUniformity, Location, MemoryEffect, Role,
    SameOperands,
};
use crate::sources::{Scope, SourceSet};
use crate::transfer::{Coordinate, Pattern, Transfer};

/// A table, expanded.
#[derive(Debug, Default)]
pub(crate) struct Table {
    kinds: Vec<IntrinsicInfo>,
    names: FxHashMap<Box<str>, Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    kind: u32,
    overloaded: bool,
}

/// A mistake in a table, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "intrinsic table, line {}: {}", self.line, self.message)
    }
}

impl Table {
    /// Expands `text`.
    pub(crate) fn parse(text: &str) -> Result<Table, TableError> {
        let mut table = Table::default();
        // Names are products: about one name per ten bytes of the table.
        table.names.reserve(text.len() / 10);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            table.line(line).map_err(|message| TableError { line: number + 1, message })?;
        }
        Ok(table)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        if let Some(kind) = line.strip_prefix('@') {
            self.kinds.push(parse_kind(kind)?);
            return Ok(());
        }
        let kind = self.kinds.len().checked_sub(1).ok_or("a name before the first kind")?;
        let kind = u32::try_from(kind).map_err(|_| "too many kinds")?;
        for pattern in line.split_whitespace() {
            let (pattern, overloaded) = match pattern.strip_suffix('*') {
                Some(rest) => (rest, true),
                None => (pattern, false),
            };
            expand(pattern, &mut |name, is_starred| {
                let row = Row { kind, overloaded: overloaded || is_starred };
                match self.names.insert(name.into(), row) {
                    Some(_) => Err(format!("a name of `{pattern}` occurs twice")),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// The intrinsic that `name`, without the family's prefix, refers to: the longest entry that is
    /// the whole name, or is overloaded and followed by a dot.
    pub(crate) fn lookup(&self, name: &str) -> Option<(&str, &IntrinsicInfo)> {
        let mut end = name.len();
        loop {
            if let Some((base, row)) = self.names.get_key_value(&name[..end]) {
                // LLVM stops at the longest entry too: if that is not overloaded, a suffix makes it
                // another function.
                let matches = end == name.len() || row.overloaded;
                return matches.then(|| (&**base, &self.kinds[row.kind as usize]));
            }
            end = name[..end].rfind('.')?;
        }
    }

    /// All entries by name.
    pub(crate) fn entries(&self) -> Vec<(&str, bool, &IntrinsicInfo)> {
        let mut entries: Vec<_> = self
            .names
            .iter()
            .map(|(name, row)| (&**name, row.overloaded, &self.kinds[row.kind as usize]))
            .collect();
        entries.sort_unstable_by_key(|(name, ..)| *name);
        entries
    }
}

/// Every name that `pattern` denotes. A `*` inside the last brace group marks single alternatives
/// as overloaded.
fn expand(
    pattern: &str,
    each: &mut dyn FnMut(&str, bool) -> Result<(), String>,
) -> Result<(), String> {
    let balance = pattern.bytes().try_fold(0, |open, c| match (c, open) {
        (b'{', 0) => Some(1),
        (b'}', 1) => Some(0),
        (b'{' | b'}', _) => None,
        _ => Some(open),
    });
    if balance != Some(0) {
        return Err(format!("unbalanced braces in `{pattern}`"));
    }
    let fine = |c: u8| c.is_ascii_alphanumeric() || c == b'.' || c == b'_';
    let mut result = Ok(());
    alternatives("", pattern, &mut |name| {
        if result.is_err() {
            return;
        }
        let whole = name.strip_suffix('*');
        let (whole, is_starred) = (whole.unwrap_or(name), whole.is_some());
        result = match whole.is_empty() || !whole.bytes().all(fine) {
            true => Err(format!("`{pattern}` is not a name")),
            false => each(whole, is_starred),
        };
    });
    result
}

fn parse_kind(text: &str) -> Result<IntrinsicInfo, String> {
    let mut words = text.split_whitespace();
    let transfers = words.next().ok_or("a kind starts with its transfer")?;
    let mut info = IntrinsicInfo::unknown();
    if transfers != "-" {
        let mut results = transfers.split(';').map(parse_transfer);
        info.result = results.next().ok_or("no transfer")??;
        info.further_results = results.next().transpose()?.unwrap_or(info.result);
        if results.next().is_some() {
            return Err("more than two transfers".to_owned());
        }
    }
    info.has_result = transfers != "-";
    info.llvm = LlvmUniformity::Default;
    info.convergent = false;
    info.llvm_convergent = false;
    info.nosync = false;
    let mut memory = None;
    for word in words {
        match word.split_once('=').filter(|(name, _)| !name.contains('(')) {
            Some(("memory", effect)) => memory = Some(parse_memory(effect)?),
            Some(("llvm", "always")) => info.llvm = LlvmUniformity::AlwaysUniform,
            Some(("llvm", "never")) => info.llvm = LlvmUniformity::NeverUniform,
            Some(_) => return Err(format!("unknown property `{word}`")),
            None => match word {
                "convergent" => {
                    info.convergent = true;
                    info.llvm_convergent = true;
                }
                "collective" => info.convergent = true,
                "speculatable" => info.speculatable = true,
                "willreturn" => info.willreturn = true,
                "noreturn" => info.noreturn = true,
                "nosync" => info.nosync = true,
                "noduplicate" => info.noduplicate = true,
                _ => match arguments(word)? {
                    ("barrier", Some(arguments)) => info.barrier = Some(parse_barrier(arguments)?),
                    ("same", Some(arguments)) => info.same = parse_same(arguments)?,
                    _ => return Err(format!("unknown flag `{word}`")),
                },
            },
        }
    }
    info.memory = memory.ok_or("no memory effect")?;
    Ok(info)
}

/// Splits `name(arguments)`.
fn arguments(text: &str) -> Result<(&str, Option<&str>), String> {
    let Some((name, rest)) = text.split_once('(') else {
        return Ok((text, None));
    };
    let inner = rest.strip_suffix(')').ok_or_else(|| format!("unbalanced `(` in `{text}`"))?;
    Ok((name, Some(inner)))
}

fn parse_transfer(text: &str) -> Result<Transfer, String> {
    let (name, inner) = arguments(text)?;
    let mut keys = Keys::parse(inner.unwrap_or_default());
    let transfer = match name {
        "opaque" => Transfer::OPAQUE,
        "uniform" => Transfer::UNIFORM,
        "source" => Transfer::Source(keys.sources()?),
        "propagate" => Transfer::Propagate(keys.sources()?),
        "load" => Transfer::Load { pointer: keys.word().map(parse_index).transpose()? },
        "momentary" => Transfer::Momentary,
        "neighbours" => Transfer::Neighbours,
        "collective" => Transfer::Collective { mask: keys.index("mask")? },
        "agree" => Transfer::Agree { data: keys.required("data")?, mask: keys.index("mask")? },
        "differ" => Transfer::Differ { data: keys.required("data")?, mask: keys.index("mask")? },
        "shuffle" => Transfer::Shuffle {
            data: keys.required("data")?,
            lane: keys.index("lane")?,
            segment: keys.peek("segment")?,
            mask: keys.index("mask")?,
            stale: keys.flag("stale"),
            halves: keys.flag("halves"),
            pattern: keys.pattern()?,
            old: keys.index("old")?,
        },
        "quad" => Transfer::Quad { data: keys.required("data")? },
        "clustered" => Transfer::Clustered { size: keys.required("size")? },
        "barrier-reduction" => Transfer::BarrierReduction { id: keys.index("id")? },
        "coordinate" => Transfer::Coordinate(match keys.word() {
            Some("thread") => Coordinate::Thread,
            Some("block") => Coordinate::Block,
            Some("global") => Coordinate::Global,
            _ => return Err(format!("no such coordinate in `{text}`")),
        }),
        _ => return Err(format!("unknown transfer `{text}`")),
    };
    keys.done(text)?;
    Ok(transfer)
}

/// The comma-separated arguments of a transfer; each is removed when it has been read.
struct Keys<'a>(Vec<&'a str>);

impl<'a> Keys<'a> {
    fn parse(text: &'a str) -> Keys<'a> {
        Keys(text.split(',').filter(|key| !key.is_empty()).collect())
    }

    fn index(&mut self, key: &str) -> Result<Option<u8>, String> {
        let at = |word: &&str| word.split_once('=').is_some_and(|(name, _)| name == key);
        let Some(position) = self.0.iter().position(at) else { return Ok(None) };
        let word = self.0.remove(position);
        word.split_once('=').map(|(_, value)| parse_index(value)).transpose()
    }

    /// As [`Keys::index`], without removing the key.
    fn peek(&self, key: &str) -> Result<Option<u8>, String> {
        Keys(self.0.clone()).index(key)
    }

    /// The pattern by which lanes read, and the segment that cuts it; the segment's key is removed.
    fn pattern(&mut self) -> Result<Option<Pattern>, String> {
        let segment = self.index("segment")?;
        for key in ["xor", "up", "down", "rotate", "swizzle", "dpp", "dpp8"] {
            let Some(at) = self.index(key)? else { continue };
            return Ok(Some(match key {
                "xor" => Pattern::Xor { by: at, segment },
                "up" => Pattern::Up { by: at, segment },
                "down" => Pattern::Down { by: at, segment },
                "rotate" => Pattern::Rotate { by: at, size: self.required("size")? },
                "swizzle" => Pattern::Swizzle { control: at },
                "dpp" => Pattern::Dpp { control: at },
                _ => Pattern::Dpp8 { control: at },
            }));
        }
        Ok(None)
    }

    fn required(&mut self, key: &str) -> Result<u8, String> {
        self.index(key)?.ok_or_else(|| format!("`{key}=` is missing"))
    }

    fn flag(&mut self, flag: &str) -> bool {
        let position = self.0.iter().position(|word| *word == flag);
        position.map(|position| self.0.remove(position)).is_some()
    }

    fn word(&mut self) -> Option<&'a str> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    fn sources(&mut self) -> Result<SourceSet, String> {
        let named = |name| SourceSet::from_name(name).ok_or_else(|| format!("no source `{name}`"));
        self.0.drain(..).map(named).collect()
    }

    fn done(&self, text: &str) -> Result<(), String> {
        if self.0.is_empty() { Ok(()) } else { Err(format!("`{text}` has too many arguments")) }
    }
}

fn parse_index(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| format!("`{text}` is not an operand position"))
}

fn parse_memory(text: &str) -> Result<MemoryEffect, String> {
    let (location, access) = match text {
        "none" => return Ok(MemoryEffect::NONE),
        "any" => return Ok(MemoryEffect::ANY),
        "read" | "write" => (Location::Any, text),
        _ => {
            let (location, access) = text.split_once(':').ok_or("unknown memory effect")?;
            let location = match location {
                "arg" => Location::Argument,
                "inaccessible" => Location::Inaccessible,
                "arg+inaccessible" => Location::ArgumentOrInaccessible,
                _ => return Err(format!("unknown memory location `{location}`")),
            };
            (location, access)
        }
    };
    let (reads, writes) = match access {
        "read" => (true, false),
        "write" => (false, true),
        "readwrite" => (true, true),
        _ => return Err(format!("unknown memory access `{access}`")),
    };
    Ok(MemoryEffect { location, reads, writes })
}

/// The scope of this name, if its threads can meet at barriers: those of a quad cannot.
fn meeting(name: &str) -> Option<Scope> {
    Scope::from_name(name).filter(|&scope| scope != Scope::Quad)
}

fn parse_barrier(text: &str) -> Result<Barrier, String> {
    let mut words = text.split(',');
    let scope = words.next().and_then(meeting).ok_or("a barrier starts with its scope")?;
    let mut barrier = Barrier { scope, phase: BarrierPhase::Both, aligned: false, partial: false };
    for word in words {
        match word {
            "arrive" => barrier.phase = BarrierPhase::Arrive,
            "wait" => barrier.phase = BarrierPhase::Wait,
            "aligned" => barrier.aligned = true,
            "partial" => barrier.partial = true,
            _ => return Err(format!("unknown barrier property `{word}`")),
        }
    }
    Ok(barrier)
}

fn parse_same(text: &str) -> Result<SameOperands, String> {
    let mut words = text.split(',');
    let scope = words.next().and_then(meeting).ok_or("`same` starts with its scope")?;
    let operands: Vec<(u8, Role)> = words
        .map(|word| {
            let (role, position) = word.split_once('=').ok_or("an operand is ROLE=POSITION")?;
            let role = Role::from_name(role).ok_or_else(|| format!("no role `{role}`"))?;
            Ok((parse_index(position)?, role))
        })
        .collect::<Result<_, String>>()?;
    SameOperands::new(scope, &operands).ok_or_else(|| "too many operands".to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn error(text: &str) -> String {
        Table::parse(text).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn braces_are_products_and_stars_mark_overloads() {
        let table =
            Table::parse("@ uniform memory=none\n a.{b,c}.{1d,2d}* x{,.y} z.{p,q*}").unwrap();
        let names: Vec<_> = table
            .entries()
            .iter()
            .map(|(name, overloaded, _)| format!("{name}{}", if *overloaded { "*" } else { "" }))
            .collect();
        expect!["a.b.1d* a.b.2d* a.c.1d* a.c.2d* x x.y z.p z.q*"].assert_eq(&names.join(" "));
    }

    #[test]
    fn longest_entry_wins_and_suffixes_need_an_overload() {
        let table = Table::parse(
            "@ uniform memory=none\n wave.reduce* wave.reduce.min* s.barrier s.barrier.wait if*",
        )
        .unwrap();
        let base = |name| table.lookup(name).map(|(base, _)| base);
        assert_eq!(base("wave.reduce.i32"), Some("wave.reduce"));
        assert_eq!(base("wave.reduce.min.i32"), Some("wave.reduce.min"));
        assert_eq!(base("wave.reduce.min"), Some("wave.reduce.min"));
        assert_eq!(base("s.barrier"), Some("s.barrier"));
        assert_eq!(base("s.barrier.signal"), None);
        assert_eq!(base("s.barrier.wait.i32"), None);
        assert_eq!(base("iffy"), None);
        assert_eq!(base(""), None);
        assert_eq!(base("..."), None);
        assert_eq!(base("é.é"), None);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        expect!["intrinsic table, line 1: a name before the first kind"].assert_eq(&error("a b"));
        expect!["intrinsic table, line 2: unbalanced braces in `a{b`"]
            .assert_eq(&error("@ uniform memory=none\n a{b"));
        expect!["intrinsic table, line 2: a name of `{a,a}` occurs twice"]
            .assert_eq(&error("@ uniform memory=none\n {a,a}"));
        expect!["intrinsic table, line 1: no memory effect"].assert_eq(&error("@ uniform"));
        expect!["intrinsic table, line 1: unknown transfer `odd`"]
            .assert_eq(&error("@ odd memory=none"));
        expect!["intrinsic table, line 1: `data=` is missing"]
            .assert_eq(&error("@ agree memory=none"));
        expect!["intrinsic table, line 1: `uniform(x)` has too many arguments"]
            .assert_eq(&error("@ uniform(x) memory=none"));
        expect!["intrinsic table, line 1: no role `odd`"]
            .assert_eq(&error("@ uniform memory=none same(wave,odd=1)"));
        expect!["intrinsic table, line 1: `same` starts with its scope"]
            .assert_eq(&error("@ uniform memory=none same(lane=1)"));
        expect!["intrinsic table, line 1: a barrier starts with its scope"]
            .assert_eq(&error("@ uniform memory=none barrier(quad)"));
        expect!["intrinsic table, line 1: unknown flag `pure`"]
            .assert_eq(&error("@ uniform memory=none pure"));
    }
}
