//! `phalanx explain`: chains of causes as plain data, as text and as JSON.
//!
//! A model of what there is to say ([`Explanation`]) is made from the links of a chain;
//! [`write_texts`] draws it, serde makes JSON of it (field names are the format). One sentence per
//! link, in the order of the chain: from what was asked about to what introduces the source.
//!
//! Where the text of the program is at hand, each step shows its line and below it the instruction;
//! a value is named after its variable:
//!
//! ```text
//! k.cu:4:35: because: 2. `i` (%8) is computed from `tid` (%4)
//!   |
//! 4 |   int i = blockIdx.x * blockDim.x + threadIdx.x;
//!   |                                   ^
//!   = line 18 of the IR: %8 = add i32 %7, %4
//! ```

mod build;
mod calls;
mod model;
mod names;
mod sentences;
mod text;
pub(crate) mod words;

pub use build::Explainer;
pub use model::{Explanation, Step};
pub use names::UnknownName;
pub(crate) use text::offset_of;
pub use text::write_texts;

pub use crate::lines::Place;
