//! The program that a module was compiled from: its files, places in them, and its variables.
//!
//! Debug information is the only link to the program. This crate reads no files; a [`Sources`]
//! gives their text.
//!
//! | part | what |
//! |---|---|
//! | [`Location`] | where an instruction comes from: the user's own line, and calls inlined around it |
//! | [`LinedText`] | the text of a file by its lines |
//! | `Variables` | which values of a function a variable of the program has |

mod lines;
mod place;
mod variables;

pub use lines::LinedText;
pub use place::{Location, NoFiles, OPENCL_BODY, SourceFile, Sources};
pub(crate) use variables::Variables;
