//! The checks of the fuzz targets, one function of bytes for each.
//!
//! A target takes any bytes and panics when something is wrong; [`Target::ALL`] names them.
//! libFuzzer drives them (`cargo xtask fuzz`, targets in `fuzz/`), and `cargo test` replays every
//! input under `corpus/` and `regressions/`. An input that once failed is kept under
//! `regressions/<target>/` with a name that says what it was about.
//!
//! Each target interprets bytes in the way that is most useful to mutate: text for the parser,
//! edges for graphs. For random programs, bytes are the *choices* of the generator ([`Entropy`]),
//! so that a small change of the input is a small change of the program. Targets that ask LLVM do
//! nothing if it is not installed, and say so.

pub mod against;
pub mod data_flow;
pub mod definition;
pub mod edits;
mod entropy;
mod graphs;
pub mod hangs;
pub mod legality;
pub mod linear;
pub mod loads;
pub mod marks;
pub mod motions;
mod on_demand;
pub mod oracle;
pub mod races;
pub mod reference;
pub mod refine;
pub mod scripts;
pub mod spaces;
pub mod stable;
pub mod stack;
pub mod strides;
mod text;
pub mod tokens;
pub mod transforms;
pub mod turns;
mod uniformity;
mod verdict;

pub use entropy::Entropy;
pub use graphs::graphs;
pub use text::{reader, round_trip};
pub use uniformity::uniformity;
pub use verdict::verdict;

/// How many random programs a test makes: `few`, or `many` if `PHALANX_LONG` is set, as
/// `cargo xtask ci --long` does.
#[must_use]
pub fn programs(few: u64, many: u64) -> u64 {
    if is_long() { many } else { few }
}

/// Whether tests may take long: see [`programs`].
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("PHALANX_LONG").is_some()
}

/// One thing to check.
#[derive(Copy, Clone, Debug)]
pub struct Target {
    /// Name of the libFuzzer target and of the folders with its inputs.
    pub name: &'static str,
    /// Panics when something is wrong.
    pub run: fn(&[u8]),
    /// Whether each input starts a process, so that few can be run per second.
    pub is_slow: bool,
}

impl Target {
    /// All targets.
    pub const ALL: &[Target] = &[
        Target { name: "reader", run: reader, is_slow: false },
        Target { name: "round_trip", run: round_trip, is_slow: false },
        Target { name: "graphs", run: graphs, is_slow: false },
        Target { name: "verdict", run: verdict, is_slow: true },
        Target { name: "uniformity", run: uniformity, is_slow: true },
        Target { name: "divergence", run: oracle::divergence, is_slow: false },
        Target { name: "convergence", run: definition::convergence, is_slow: false },
        Target { name: "edits", run: edits::edits, is_slow: false },
        Target { name: "tokens", run: tokens::tokens, is_slow: false },
        Target { name: "transforms", run: transforms::transforms, is_slow: false },
        Target { name: "refinement", run: refine::refinement, is_slow: false },
    ];
}
