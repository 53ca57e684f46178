//! `phalanx explain`: chains of causes as plain data, as text and as JSON.
//!
//! An [`Explanation`] is made from the links of a chain. [`write_texts`] prints it, serde makes
//! JSON of it (field names are the format). There is one sentence per link, from the subject to the
//! instruction that introduces the source.
//!
//! If the text of the program is available, each step shows its source line, and below it the
//! instruction. A value is named after its variable:
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
