//! Reads a module for a target, and verifies or refuses it.

use std::{fmt, sync::Arc};

use phalanx_db::TargetOverrides;
use phalanx_ir::{
    Context, Module,
    verify::{Verifier, VerifyError},
};
use phalanx_llvm::{ParseError, Parsed, SourceMap};
#[cfg(feature = "report")]
use phalanx_report::diagnostics::{SourceText, render_parse_error, render_verify_errors};
use phalanx_target::Target;

/// Why a module was not accepted.
#[derive(Clone, Debug)]
pub enum ReadError {
    /// The text is not LLVM IR.
    Parse(Box<ParseError>),
    /// The module breaks rules of the IR.
    Verify(Box<Invalid>),
}

/// A module that breaks rules of the IR.
#[derive(Clone, Debug)]
pub struct Invalid {
    /// The module.
    pub module: Module,
    /// Places in the text it was read from.
    pub source_map: Option<SourceMap>,
    /// All broken rules, in order; at least one.
    pub errors: Vec<VerifyError>,
}

impl ReadError {
    /// The error with its source lines, for a terminal (ANSI colours). `name` is the name of the
    /// text.
    #[cfg(feature = "report")]
    pub fn render(&self, name: &str, text: &[u8]) -> String {
        let source = SourceText { name, text };
        match self {
            ReadError::Parse(error) => render_parse_error(source, error),
            ReadError::Verify(invalid) => render_verify_errors(
                source,
                &invalid.module,
                invalid.source_map.as_ref(),
                &invalid.errors,
            ),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Parse(error) => write!(f, "at byte {}: {error}", error.span.start),
            ReadError::Verify(invalid) => match invalid.errors.as_slice() {
                [] => f.write_str("the module is not valid"),
                [first] => write!(f, "{first}"),
                [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
            },
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a module with the driver's triple, if there is one, and with the data layout of its target
/// unless the text states one. Nothing is verified.
///
/// # Errors
/// The first mistake in the text.
pub fn parse_for(
    context: &Arc<Context>,
    text: &[u8],
    target: &TargetOverrides,
) -> Result<Parsed, ParseError> {
    parse_in_threads(context, text, target, 1)
}

/// As [`parse_for`], in at most so many threads.
pub(crate) fn parse_in_threads(
    context: &Arc<Context>,
    text: &[u8],
    target: &TargetOverrides,
    threads: usize,
) -> Result<Parsed, ParseError> {
    let layout = |own: &str| {
        let triple = target.triple.as_deref().unwrap_or(own);
        Target::new(triple, "").default_data_layout()
    };
    let shared = Arc::clone(context);
    let mut parsed = phalanx_llvm::parse_module_in_threads(shared, text, &layout, threads)?;
    if let Some(triple) = &target.triple {
        parsed.module.triple = Some(context.symbol(triple.as_bytes()));
    }
    Ok(parsed)
}

/// Sets the triple and the data layout of a module that was built, as [`parse_for`] does for a
/// module that is read.
pub(crate) fn state_target(module: &mut Module, target: &TargetOverrides) {
    let context = &module.context;
    if let Some(triple) = &target.triple {
        module.triple = Some(context.symbol(triple.as_bytes()));
    }
    let states_layout = |layout| !context.bytes(layout).is_empty();
    if !module.data_layout.is_some_and(states_layout) {
        let triple = module.triple.map(|triple| context.text(triple)).unwrap_or_default();
        if let Some(layout) = Target::new(&triple, "").default_data_layout() {
            module.data_layout = Some(context.symbol(layout.as_bytes()));
        }
    }
}

pub(crate) fn verified(
    (module, source_map): (Module, Option<SourceMap>),
    threads: usize,
) -> Result<(Module, Option<SourceMap>), ReadError> {
    let errors = Verifier::new(&module)
        .with_convergent_intrinsics(phalanx_target::intrinsics::is_convergent)
        .with_threads(threads)
        .module();
    match errors.is_empty() {
        true => Ok((module, source_map)),
        false => Err(ReadError::Verify(Box::new(Invalid { module, source_map, errors }))),
    }
}
