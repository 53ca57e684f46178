//! Targets of a driver's own: what the numbers of its address spaces and conventions mean.
//!
//! # What
//!
//! Phalanx knows AMD's and NVIDIA's GPUs and SPIR-V. A driver for another target describes it in
//! the [`Extension`](crate::library::Extension) that it gives to a session. The description
//! consists of lines that begin with `!`, beside the rows for functions:
//!
//! ```text
//! ! target toygpu wave=16            its name; how many threads a wave has, if that is known
//! ! space 0 generic                  what an address space is for: a kind, and a name for messages
//! ! space 3 workgroup tile
//! ! kernel 200                       a convention of functions that are launched
//! ! kernel spir_kernel
//!
//! @ propagate(x) memory=none speculatable willreturn nosync
//!     toy_thread_x
//! ```
//!
//! Kinds of spaces are `generic`, `global`, `workgroup`, `cluster`, `region`, `constant`,
//! `private`, `parameter`, `buffer` and `input`. A number that is not listed may be any memory.
//!
//! A description applies when the triple names no target that Phalanx knows.
//!
//! # Cost
//!
//! Descriptions are kept for the life of the process; equal texts are stored once. A query searches
//! a list of a few entries.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

use phalanx_ir::CallConv;

use crate::address_space::SpaceKind;

/// A target that a driver describes. See the [module documentation](self).
#[derive(Clone, Copy)]
pub struct Machine(&'static Description);

#[derive(Debug, Default)]
struct Description {
    /// The text of the description.
    text: Box<str>,
    name: Box<str>,
    wave: Option<u32>,
    spaces: Vec<(u32, SpaceKind, &'static str)>,
    kernels: Vec<CallConv>,
}

impl Machine {
    /// Parses lines without their `!`; none if there are no lines.
    pub(crate) fn parse(lines: &[(usize, &str)]) -> Result<Option<Machine>, (usize, String)> {
        let Some(&(first, _)) = lines.first() else { return Ok(None) };
        let mut read = Description::default();
        for &(number, line) in lines {
            read.line(line).map_err(|message| (number, message))?;
        }
        if read.name.is_empty() {
            return Err((first, "a target has a name: `! target NAME`".into()));
        }
        let text: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        read.text = text.join("\n").into();
        Ok(Some(Machine(Box::leak(Box::new(read)))))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Threads of a wave, if known.
    #[must_use]
    pub fn wave(self) -> Option<u32> {
        self.0.wave
    }

    /// The purpose of an address space, and its name.
    #[must_use]
    pub fn space(self, number: u32) -> (SpaceKind, &'static str) {
        let found = self.0.spaces.iter().find(|(known, ..)| *known == number);
        found.map_or((SpaceKind::Unknown, "unknown"), |&(_, kind, name)| (kind, name))
    }

    /// The numbers of its address spaces, in the order of the text.
    pub fn spaces(self) -> impl Iterator<Item = u32> {
        self.0.spaces.iter().map(|(number, ..)| *number)
    }

    /// The generic space, which contains others.
    #[must_use]
    pub fn generic(self) -> Option<u32> {
        let mut spaces = self.0.spaces.iter();
        spaces.find(|(_, kind, _)| *kind == SpaceKind::Generic).map(|(number, ..)| *number)
    }

    /// Whether functions of a convention are launched as kernels.
    #[must_use]
    pub fn is_kernel(self, convention: CallConv) -> bool {
        self.0.kernels.contains(&convention)
    }
}

impl Description {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("target") => {
                self.name = words.next().unwrap_or_default().into();
                for word in words {
                    let width = word.strip_prefix("wave=").and_then(|n| n.parse().ok());
                    let is_width = |width: &u32| (1..=64).contains(width);
                    self.wave =
                        Some(width.filter(is_width).ok_or_else(|| {
                            format!("`{word}` is not `wave=N` with N from 1 to 64")
                        })?);
                }
                Ok(())
            }
            Some("space") => {
                let number = words.next().and_then(|word| word.parse::<u32>().ok());
                let number = number.ok_or("an address space is a number")?;
                let word = words.next().unwrap_or_default();
                let kind = kind(word).ok_or_else(|| format!("`{word}` is no kind of memory"))?;
                if self.spaces.iter().any(|(known, ..)| *known == number) {
                    return Err(format!("address space {number} is described twice"));
                }
                let name: &'static str = Box::leak(words.next().unwrap_or(word).into());
                self.spaces.push((number, kind, name));
                Ok(())
            }
            Some("kernel") => {
                for word in words {
                    let named = CallConv::from_text(word.as_bytes());
                    let numbered = || word.parse().ok().map(CallConv);
                    let known = named.or_else(numbered);
                    let wrong = || format!("`{word}` is no calling convention");
                    self.kernels.push(known.ok_or_else(wrong)?);
                }
                Ok(())
            }
            _ => Err(format!("`{line}` is none of `target`, `space`, `kernel`")),
        }
    }
}

fn kind(word: &str) -> Option<SpaceKind> {
    Some(match word {
        "generic" => SpaceKind::Generic,
        "global" => SpaceKind::Global,
        "workgroup" => SpaceKind::Workgroup,
        "cluster" => SpaceKind::Cluster,
        "region" => SpaceKind::Region,
        "constant" => SpaceKind::Constant,
        "private" => SpaceKind::Private,
        "parameter" => SpaceKind::Parameter,
        "buffer" => SpaceKind::Buffer,
        "input" => SpaceKind::Input,
        _ => return None,
    })
}

impl PartialEq for Machine {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Machine {}

impl PartialOrd for Machine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Machine {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text.cmp(&other.0.text)
    }
}

impl Hash for Machine {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
