//! The input of every analysis: a function, and what is known around it.
//!
//! | type | what it holds |
//! |---|---|
//! | [`Code`] | a function of the IR; names, metadata and debug records are left out, so no analysis can depend on them |
//! | [`Environment`] | the target, the launch, attributes of other functions, [what is known of calls](calls) |
//! | [`Library`] | functions that are known by their names: `get_local_id`, `__nv_sinf` |
//! | [`Numbering`] | the number that an argument or an instruction has as a value of the analyses |
//! | [`SpaceSet`] | a set of memories, such as `shared` and `global` |
//! | [`TypeLayout`], [`TypeSizes`] | sizes and offsets of types in memory |
//!
//! All of it is plain data: the folder uses no analysis, and all analyses use the folder. Read
//! [`Code`] first, then [`calls`].

mod assembly;
pub mod calls;
mod function;
mod library;
mod numbering;
mod sizes;
mod space_set;

pub use assembly::read_assembly;
pub use function::{Code, Environment};
pub(crate) use function::{pointer_space, value_type};
pub use library::Library;
pub(crate) use library::held;
pub use numbering::{Definition, NotThere, Numbering};
pub use sizes::{TypeLayout, TypeSizes};
pub(crate) use sizes::{cut, lane_size};
pub use space_set::{SpaceModel, SpaceSet};
