//! The data layout string of a module: sizes of pointers, alignments, special address spaces.
//!
//! # What
//!
//! `target datalayout = "e-p:64:64-p3:32:32-A5-ni:7"` describes how the target lays out data.
//! [`DataLayout::parse`] reads it as LLVM 22 does (LangRef, *Data Layout*): specifications
//! separated by dashes, each replacing a default. Mistakes are [`DataLayoutError`]s with the
//! specification they are in.
//!
//! # Invariants
//!
//! Address space 0 always has a pointer specification; an address space without one has that of 0.
//! Tables are sorted by their key, so equal layouts compare equal however they were written.
//!
//! Complexity: linear in the string; queries search short sorted tables.

use std::fmt;

/// Alignment in bytes: what the ABI demands, and what is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alignment {
    /// Demanded.
    pub abi: u32,
    /// Preferred; at least [`abi`](Self::abi).
    pub preferred: u32,
}

impl Alignment {
    const fn both(bytes: u32) -> Alignment {
        Alignment { abi: bytes, preferred: bytes }
    }
}

/// A pointer specification, `p[n]:size:abi[:pref[:index]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointerLayout {
    /// Bits in memory.
    pub size: u32,
    /// Alignment in memory.
    pub alignment: Alignment,
    /// Bits that address arithmetic changes.
    pub index_size: u32,
    /// Reading it as an integer is not a plain bit copy: `ni`, or one of the flags `u` and `e`.
    pub non_integral: bool,
}

/// A parsed data layout. The default is that of the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataLayout {
    pointers: Vec<(u32, PointerLayout)>,
    /// Names of address spaces: `p3(shared)`.
    named_spaces: Vec<(Box<str>, u32)>,
    integers: Vec<(u32, Alignment)>,
    floats: Vec<(u32, Alignment)>,
    vectors: Vec<(u32, Alignment)>,
    aggregate: Alignment,
    alloca_space: u32,
    global_space: u32,
    program_space: u32,
    stack_alignment: Option<u32>,
    native_integers: Vec<u32>,
    big_endian: bool,
}

/// A mistake in a data layout string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayoutError {
    /// The specification that is wrong.
    pub specification: String,
    /// What is wrong with it.
    pub message: &'static str,
}

impl fmt::Display for DataLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data layout specification `{}`: {}", self.specification, self.message)
    }
}

impl std::error::Error for DataLayoutError {}

impl Default for DataLayout {
    fn default() -> DataLayout {
        let align = |abi, preferred| Alignment { abi, preferred };
        DataLayout {
            pointers: vec![(
                0,
                PointerLayout {
                    size: 64,
                    alignment: Alignment::both(8),
                    index_size: 64,
                    non_integral: false,
                },
            )],
            named_spaces: Vec::new(),
            integers: vec![
                (1, align(1, 1)),
                (8, align(1, 1)),
                (16, align(2, 2)),
                (32, align(4, 4)),
                (64, align(4, 8)),
            ],
            floats: vec![
                (16, align(2, 2)),
                (32, align(4, 4)),
                (64, align(8, 8)),
                (128, align(16, 16)),
            ],
            vectors: vec![(64, align(8, 8)), (128, align(16, 16))],
            aggregate: align(1, 8),
            alloca_space: 0,
            global_space: 0,
            program_space: 0,
            stack_alignment: None,
            native_integers: Vec::new(),
            big_endian: false,
        }
    }
}

impl DataLayout {
    /// The layout of a module: the default if it states none, or states one that cannot be read
    /// (the reader of text refuses such a module).
    #[must_use]
    pub fn of(module: &crate::Module) -> DataLayout {
        let text = module.data_layout.map(|layout| module.context.bytes(layout));
        let text = text.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        DataLayout::parse(text).unwrap_or_default()
    }

    /// Reads the text between the quotes of `target datalayout`.
    ///
    /// # Errors
    ///
    /// The first specification that LLVM would reject.
    pub fn parse(text: &str) -> Result<DataLayout, DataLayoutError> {
        let mut layout = DataLayout::default();
        if text.is_empty() {
            return Ok(layout);
        }
        let mut non_integral = Vec::new();
        for specification in text.split('-') {
            layout.specification(specification, &mut non_integral).map_err(|message| {
                DataLayoutError { specification: specification.to_owned(), message }
            })?;
        }
        // `ni` may come before the pointer specification that it qualifies.
        for space in non_integral {
            let pointer = PointerLayout { non_integral: true, ..*layout.pointer(space) };
            insert(&mut layout.pointers, space, pointer);
        }
        Ok(layout)
    }

    fn specification(
        &mut self,
        text: &str,
        non_integral: &mut Vec<u32>,
    ) -> Result<(), &'static str> {
        let mut characters = text.chars();
        let kind = characters.next().ok_or("empty specification")?;
        let rest = characters.as_str();
        if let Some(list) = text.strip_prefix("ni") {
            let list = list.strip_prefix(':').ok_or("expected `ni:<address space>`")?;
            for space in list.split(':') {
                let space = address_space(space)?;
                if space == 0 {
                    return Err("address space 0 cannot be non-integral");
                }
                non_integral.push(space);
            }
            return Ok(());
        }
        match kind {
            'e' | 'E' if rest.is_empty() => self.big_endian = kind == 'E',
            'p' => self.pointer_specification(rest)?,
            'i' | 'f' | 'v' => {
                let (size, alignments) = rest.split_once(':').ok_or("expected `<size>:<abi>`")?;
                let size = number(size, 24).filter(|size| *size > 0).ok_or("bad size")?;
                let alignment = alignments_of(alignments, false)?;
                if kind == 'i' && size == 8 && alignment.abi != 1 {
                    return Err("i8 must be 8-bit aligned");
                }
                let table = match kind {
                    'i' => &mut self.integers,
                    'f' => &mut self.floats,
                    _ => &mut self.vectors,
                };
                insert(table, size, alignment);
            }
            'a' => {
                let (size, alignments) = rest.split_once(':').ok_or("expected `a:<abi>`")?;
                if !size.is_empty() && number(size, 24) != Some(0) {
                    return Err("aggregates have no size");
                }
                self.aggregate = alignments_of(alignments, true)?;
            }
            // Kept for old files; LLVM ignores its contents too.
            's' => {}
            'n' => {
                for size in rest.split(':') {
                    let size = number(size, 24).filter(|size| *size > 0).ok_or("bad size")?;
                    self.native_integers.push(size);
                }
            }
            'S' => {
                let bits = number(rest, 16).ok_or("bad alignment")?;
                self.stack_alignment = match bits {
                    0 => None,
                    _ => Some(bytes(bits)?),
                };
            }
            'A' => self.alloca_space = address_space(rest)?,
            'G' => self.global_space = address_space(rest)?,
            'P' => self.program_space = address_space(rest)?,
            // Function pointer alignment and name mangling matter to code generation only.
            'F' if rest.starts_with(['i', 'n']) && number(&rest[1..], 16).is_some() => {}
            'm' => match rest.strip_prefix(':') {
                Some("e" | "l" | "o" | "m" | "w" | "x" | "a") => {}
                _ => return Err("unknown mangling mode"),
            },
            _ => return Err("unknown specifier"),
        }
        Ok(())
    }

    fn pointer_specification(&mut self, text: &str) -> Result<(), &'static str> {
        const FORM: &str = "expected `p[<n>]:<size>:<abi>[:<pref>[:<idx>]]`";
        let mut parts = text.split(':');
        let head = parts.next().unwrap_or_default();
        let digits = head.trim_start_matches(['e', 'u']);
        let flags = &head[..head.len() - digits.len()];
        // An address space may be named: `p3(shared)`.
        let (digits, name) = match digits.split_once('(') {
            Some((digits, name)) if name.ends_with(')') && name.len() > 1 => {
                (digits, Some(&name[..name.len() - 1]))
            }
            Some(_) => return Err("expected `)` after the name of an address space"),
            None => (digits, None),
        };
        let space = if digits.is_empty() { 0 } else { address_space(digits)? };
        if let Some(name) = name {
            if ["A", "G", "P"].contains(&name) {
                return Err("the names A, G and P of address spaces have a meaning already");
            }
            if self.space_named(name).is_some() {
                return Err("the name of the address space is that of another");
            }
            self.named_spaces.push((name.into(), space));
        }
        let size =
            number(parts.next().ok_or(FORM)?, 24).filter(|size| *size > 0).ok_or("bad size")?;
        let abi = alignment_of(parts.next().ok_or(FORM)?, false)?;
        let preferred =
            parts.next().map(|text| alignment_of(text, false)).transpose()?.unwrap_or(abi);
        if preferred < abi {
            return Err("preferred alignment is smaller than that of the ABI");
        }
        let index_size = match parts.next() {
            Some(text) => number(text, 24).filter(|size| *size > 0).ok_or("bad index size")?,
            None => size,
        };
        if index_size > size {
            return Err("index size is larger than pointer size");
        }
        if parts.next().is_some() {
            return Err(FORM);
        }
        let alignment = Alignment { abi, preferred };
        let non_integral = !flags.is_empty();
        insert(
            &mut self.pointers,
            space,
            PointerLayout { size, alignment, index_size, non_integral },
        );
        Ok(())
    }

    /// The address space that a pointer specification gives this name.
    #[must_use]
    pub fn space_named(&self, name: &str) -> Option<u32> {
        self.named_spaces.iter().find(|(known, _)| **known == *name).map(|(_, space)| *space)
    }

    /// The names that pointer specifications give address spaces, in their order.
    pub fn space_names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.named_spaces.iter().map(|(name, space)| (&**name, *space))
    }

    /// The layout of pointers into an address space.
    #[must_use]
    pub fn pointer(&self, space: u32) -> &PointerLayout {
        let at = self.pointers.binary_search_by_key(&space, |(space, _)| *space).unwrap_or(0);
        &self.pointers[at].1
    }

    /// Bits of a pointer into an address space.
    #[must_use]
    pub fn pointer_size(&self, space: u32) -> u32 {
        self.pointer(space).size
    }

    /// Where `alloca` puts objects.
    #[must_use]
    pub fn alloca_space(&self) -> u32 {
        self.alloca_space
    }

    /// Where global variables live unless they say otherwise.
    #[must_use]
    pub fn global_space(&self) -> u32 {
        self.global_space
    }

    /// Where functions live unless they say otherwise.
    #[must_use]
    pub fn program_space(&self) -> u32 {
        self.program_space
    }

    /// Natural alignment of the stack, in bytes.
    #[must_use]
    pub fn stack_alignment(&self) -> Option<u32> {
        self.stack_alignment
    }

    /// Widths of the integers that the target computes with, as listed.
    #[must_use]
    pub fn native_integers(&self) -> &[u32] {
        &self.native_integers
    }

    /// Whether the most significant byte comes first.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    /// Alignment of an integer: that of the next larger specified one, or of the largest.
    #[must_use]
    pub fn integer_alignment(&self, bits: u32) -> Alignment {
        let at =
            self.integers.partition_point(|(size, _)| *size < bits).min(self.integers.len() - 1);
        self.integers[at].1
    }

    /// Alignment of a floating-point number: as specified, or its size rounded up to a power of
    /// two.
    #[must_use]
    pub fn float_alignment(&self, bits: u32) -> Alignment {
        exact_or_natural(&self.floats, u64::from(bits))
    }

    /// Alignment of a vector of `bits` bits in all: as specified, or its size rounded up to a power
    /// of two.
    #[must_use]
    pub fn vector_alignment(&self, bits: u64) -> Alignment {
        exact_or_natural(&self.vectors, bits)
    }

    /// Least alignment of structs and arrays.
    #[must_use]
    pub fn aggregate_alignment(&self) -> Alignment {
        self.aggregate
    }
}

fn exact_or_natural(table: &[(u32, Alignment)], bits: u64) -> Alignment {
    let exact = u32::try_from(bits).ok().and_then(|bits| {
        let at = table.binary_search_by_key(&bits, |(size, _)| *size).ok()?;
        Some(table[at].1)
    });
    exact.unwrap_or_else(|| {
        let bytes = u32::try_from(bits.div_ceil(8).max(1)).unwrap_or(u32::MAX);
        Alignment::both(bytes.checked_next_power_of_two().unwrap_or(1 << 31))
    })
}

/// Inserts into a table sorted by its first component, replacing what is there.
fn insert<T>(table: &mut Vec<(u32, T)>, key: u32, value: T) {
    match table.binary_search_by_key(&key, |(key, _)| *key) {
        Ok(at) => table[at].1 = value,
        Err(at) => table.insert(at, (key, value)),
    }
}

/// A decimal number of at most `bits` bits.
fn number(text: &str, bits: u32) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<u32>().ok().filter(|value| value >> bits == 0)
}

fn address_space(text: &str) -> Result<u32, &'static str> {
    number(text, 24).ok_or("address space must be a 24-bit integer")
}

fn alignment_of(text: &str, zero_allowed: bool) -> Result<u32, &'static str> {
    match number(text, 16).ok_or("alignment must be a 16-bit integer")? {
        0 if zero_allowed => Ok(1),
        0 => Err("alignment must not be zero"),
        bits => bytes(bits),
    }
}

fn alignments_of(text: &str, zero_allowed: bool) -> Result<Alignment, &'static str> {
    let mut parts = text.split(':');
    let abi = alignment_of(parts.next().unwrap_or_default(), zero_allowed)?;
    let preferred = parts.next().map(|text| alignment_of(text, false)).transpose()?.unwrap_or(abi);
    if parts.next().is_some() {
        return Err("too many components");
    }
    if preferred < abi {
        return Err("preferred alignment is smaller than that of the ABI");
    }
    Ok(Alignment { abi, preferred })
}

fn bytes(bits: u32) -> Result<u32, &'static str> {
    if bits.is_multiple_of(8) && (bits / 8).is_power_of_two() {
        Ok(bits / 8)
    } else {
        Err("alignment must be a power of two times the byte width")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const AMDGPU: &str = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32\
        -p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256\
        -v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9";

    #[test]
    fn amdgpu() {
        let layout = DataLayout::parse(AMDGPU).unwrap();
        let sizes: Vec<_> = (0..=10).map(|space| layout.pointer_size(space)).collect();
        assert_eq!(sizes, [64, 64, 32, 32, 64, 32, 32, 160, 128, 192, 64]);
        assert_eq!((layout.pointer(7).index_size, layout.pointer(8).index_size), (32, 48));
        let integral: Vec<_> =
            (0..=10).filter(|space| !layout.pointer(*space).non_integral).collect();
        assert_eq!(integral, [0, 1, 2, 3, 4, 5, 6, 10]);
        assert_eq!(
            (layout.alloca_space(), layout.global_space(), layout.program_space()),
            (5, 1, 0)
        );
        assert_eq!(layout.stack_alignment(), Some(4));
        assert_eq!(layout.native_integers(), [32, 64]);
        assert_eq!(layout.integer_alignment(64), Alignment::both(8));
        assert_eq!(layout.vector_alignment(96), Alignment::both(16));
        assert!(!layout.is_big_endian());
    }

    #[test]
    fn defaults() {
        let layout = DataLayout::parse("").unwrap();
        assert_eq!(layout, DataLayout::default());
        assert_eq!((layout.pointer_size(0), layout.pointer_size(3)), (64, 64));
        assert_eq!(layout.integer_alignment(1), Alignment::both(1));
        assert_eq!(layout.integer_alignment(24), Alignment::both(4));
        assert_eq!(layout.integer_alignment(64), Alignment { abi: 4, preferred: 8 });
        assert_eq!(layout.integer_alignment(1000), Alignment { abi: 4, preferred: 8 });
        assert_eq!(layout.float_alignment(80), Alignment::both(16));
        assert_eq!(layout.vector_alignment(96), Alignment::both(16));
        assert_eq!(layout.vector_alignment(2048), Alignment::both(256));
        assert_eq!(layout.vector_alignment(u64::MAX), Alignment::both(1 << 31));
        assert_eq!(layout.aggregate_alignment(), Alignment { abi: 1, preferred: 8 });
    }

    #[test]
    fn later_specifications_win_and_order_of_ni_does_not_matter() {
        let layout = DataLayout::parse("p1:64:64-p1:32:32").unwrap();
        assert_eq!(layout.pointer_size(1), 32);
        assert_eq!(DataLayout::parse("ni:2-p2:32:32"), DataLayout::parse("p2:32:32-ni:2"));
        assert!(DataLayout::parse("pu8:64:64").unwrap().pointer(8).non_integral);
        assert_eq!(DataLayout::parse("p3(shared):32:32").unwrap().pointer_size(3), 32);
    }

    /// Accepted and rejected as LLVM 22 does.
    #[test]
    fn mistakes() {
        let accepted = [
            "e-E",
            "p:64:64:64:32",
            "p16777215:64:64",
            "A5",
            "ni:7:8",
            "n32:64",
            "S128",
            "i64:64",
            "P1",
            "G1",
            "Fi8",
            "a:0:64",
            "m:e",
            "f80:128",
            "s0:64",
            "m:e-e",
            "p:8388608:64",
        ];
        for text in accepted {
            assert!(DataLayout::parse(text).is_ok(), "{text}");
        }
        let rejected = [
            "e-p0:64",
            "e-p:64",
            "p:",
            "p:0:64",
            "q",
            "p16777216:64:64",
            "p:64:63",
            "p:64:48",
            "A",
            "A16777216",
            "ni:0",
            "ni",
            "n32:",
            "S127",
            "i64",
            "i8:16",
            "p:64:64:64:65",
            "m:z",
            "e-",
            "-e",
            "e--E",
            "v128",
            "i0:8",
            "p:64:0",
            "p0:16777216:64",
            "p:64:524288",
            "é",
            "p:+4:8",
            "p:64:64:32",
            "p3(x:32:32",
        ];
        let errors: String = rejected
            .iter()
            .map(|text| format!("{text:<18} {}\n", DataLayout::parse(text).unwrap_err().message))
            .collect();
        expect![[r#"
            e-p0:64            expected `p[<n>]:<size>:<abi>[:<pref>[:<idx>]]`
            e-p:64             expected `p[<n>]:<size>:<abi>[:<pref>[:<idx>]]`
            p:                 bad size
            p:0:64             bad size
            q                  unknown specifier
            p16777216:64:64    address space must be a 24-bit integer
            p:64:63            alignment must be a power of two times the byte width
            p:64:48            alignment must be a power of two times the byte width
            A                  address space must be a 24-bit integer
            A16777216          address space must be a 24-bit integer
            ni:0               address space 0 cannot be non-integral
            ni                 expected `ni:<address space>`
            n32:               bad size
            S127               alignment must be a power of two times the byte width
            i64                expected `<size>:<abi>`
            i8:16              i8 must be 8-bit aligned
            p:64:64:64:65      index size is larger than pointer size
            m:z                unknown mangling mode
            e-                 empty specification
            -e                 empty specification
            e--E               empty specification
            v128               expected `<size>:<abi>`
            i0:8               bad size
            p:64:0             alignment must not be zero
            p0:16777216:64     bad size
            p:64:524288        alignment must be a 16-bit integer
            é                  unknown specifier
            p:+4:8             bad size
            p:64:64:32         preferred alignment is smaller than that of the ABI
            p3(x:32:32         expected `)` after the name of an address space
        "#]]
        .assert_eq(&errors);
        expect![
            "data layout specification `p:64`: expected `p[<n>]:<size>:<abi>[:<pref>[:<idx>]]`"
        ]
        .assert_eq(&DataLayout::parse("e-p:64").unwrap_err().to_string());
    }
}
