//! Whether two accesses may touch the same bytes.
//!
//! | module | what it knows |
//! |---|---|
//! | [`query`] | addresses: their bases, distances from the bases, and memories |
//! | [`linear`] | indices that are no constants, as sums |
//! | [`tbaa`] | types: what `!tbaa` on both accesses promises |
//!
//! ```text
//! %p = getelementptr i32, ptr %a, i64 %i
//! %q = getelementptr i32, ptr %p, i64 1
//! store i32 0, ptr %p      ; Alias::No: four bytes apart, whatever %i is
//! load i32, ptr %q
//! ```
//!
//! The folder uses [`memory`](crate::memory), which says what is private, and
//! [`spaces`](crate::spaces), which says where pointers lead. Read [`AliasQuery`] first.

mod linear;
pub mod query;
pub mod tbaa;

pub use query::{Alias, AliasQuery, Location, Named};
pub use tbaa::Tbaa;
