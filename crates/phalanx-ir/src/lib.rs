//! The intermediate representation: types, constants, globals, functions, builder and verifier.
//!
//! It is LLVM IR in memory, compact and stable under edits. It knows no text format and no salsa.
//!
//! Read first: [`Context`] (what is interned), [`Function`] (header, flow, body, extras) and
//! [`Body`] (instructions).

pub mod attributes;
mod body;
pub mod builder;
pub mod call_conv;
pub mod constant;
mod context;
pub mod data_layout;
mod describe;
pub mod edit;
mod extras;
pub mod flow;
pub mod fold;
pub mod function;
pub mod inst;
pub mod intern;
pub mod intrinsics;
pub mod layout;
pub mod metadata;
pub mod module;
pub mod symbol;
mod text_enum;
pub mod types;
pub mod use_counts;
mod value;
pub mod verify;

pub use attributes::{AttrList, AttrSet};
pub use body::{Body, InstId, LocalMetadataId};
pub use builder::{BuildError, FunctionBuilder, InstBuilder, ModuleBuilder};
pub use call_conv::CallConv;
pub use constant::{Const, ConstKind};
pub use context::Context;
pub use extras::{Extras, Names};
pub use flow::{BlockId, Flow};
pub use function::{Function, FunctionHeader};
pub use inst::{CallInfo, InstData, InstFlags, MemInfo, Opcode};
pub use module::{GlobalVariable, Module};
pub use symbol::{GlobalName, Symbol, SyncScope};
pub use types::{StructName, Type, TypeKind};
pub use value::{Value, ValueKind};
pub use verify::{Verifier, VerifyError};
