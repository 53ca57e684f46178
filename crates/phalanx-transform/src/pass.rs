//! What a pass is, and which there are by name.

use std::{fmt, sync::Arc};

use phalanx_analysis::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::BuildError;

use crate::{
    annotate_uniform::AnnotateUniform,
    combine_ballots::CombineBallots,
    convergence_tokens::{DropConvergenceTokens, InferConvergenceTokens},
    dce::Dce,
    early_cse::EarlyCse,
    infer_address_spaces::InferAddressSpaces,
    infer_convergence_attrs::InferConvergenceAttrs,
    inst_simplify::InstSimplify,
    jump_threading::JumpThreading,
    licm::Licm,
    linearize::Linearize,
    loop_unroll::LoopUnroll,
    mark_loads::MarkLoads,
    move_convergent::MoveConvergent,
    redundant_barriers::RemoveRedundantBarriers,
    simplify_cfg::SimplifyCfg,
};

/// Whether a pass changed a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All parts are as they were.
    Unchanged,
    /// Something is different.
    Changed,
}

impl Outcome {
    /// Changed, if so.
    #[must_use]
    pub const fn changed(is_changed: bool) -> Outcome {
        if is_changed { Outcome::Changed } else { Outcome::Unchanged }
    }

    /// Whether something changed.
    #[must_use]
    pub const fn is_changed(self) -> bool {
        matches!(self, Outcome::Changed)
    }
}

/// Why a pass gave up. The function is as it was before the transaction that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// An edit was refused.
    #[error(transparent)]
    Edit(#[from] BuildError),
    /// A pass from outside says so.
    #[error("{0}")]
    Other(String),
}

/// A transform of one function, or something that looks at one.
pub trait Pass: Send + Sync {
    /// Its name in pipelines.
    fn name(&self) -> &str;

    /// Whether the pass also runs on functions that are marked `optnone`: those that annotate code
    /// and leave what is executed as it is. The [`Manager`](crate::Manager) leaves such functions
    /// out otherwise, as LLVM's does.
    fn runs_on_optnone(&self) -> bool {
        false
    }

    /// Works on one function with a body.
    ///
    /// # Errors
    /// When an edit is refused: a mistake in the pass.
    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError>;
}

/// What stands in angle brackets after the name of a pass, separated by semicolons: `simplifycfg<no-select;speculate=3>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters {
    items: Vec<(String, Option<String>)>,
}

impl Parameters {
    /// Splits the text between the brackets.
    #[must_use]
    pub fn parse(text: &str) -> Parameters {
        let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
        let split = |item: &str| match item.split_once('=') {
            Some((key, value)) => (key.trim().to_owned(), Some(value.trim().to_owned())),
            None => (item.to_owned(), None),
        };
        Parameters { items: items.map(split).collect() }
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.items.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// The machines that a pass works for, which has no other parameters.
    pub(crate) fn machines_alone(&self, pass: &str) -> Result<Machines, String> {
        let mut found = Machines::default();
        for (key, value) in self.iter() {
            match (key, value) {
                ("machines", Some(name)) => found = machines(pass, name)?,
                _ => return Err(format!("{pass} has no parameter `{key}`")),
            }
        }
        Ok(found)
    }

    /// Nothing is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// The machines that a parameter names.
pub(crate) fn machines(pass: &str, name: &str) -> Result<Machines, String> {
    let known = "`all`, `maximal` and `post-dominator`";
    Machines::from_name(name)
        .ok_or_else(|| format!("{pass}: there are no machines `{name}`, only {known}"))
}

type Make = Box<dyn Fn(&Parameters) -> Result<Arc<dyn Pass>, String> + Send + Sync>;

struct Entry {
    name: String,
    make: Make,
}

/// Passes by name.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// No passes.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The transforms of this crate, by LLVM's names.
    #[must_use]
    pub fn standard() -> Registry {
        let mut registry = Registry::new();
        registry.add(Arc::new(Dce));
        registry.add(Arc::new(InstSimplify));
        registry.add_with("simplifycfg", |parameters| {
            Ok(Arc::new(SimplifyCfg::with_parameters(parameters)?))
        });
        // LLVM's variant with MemorySSA finds more; what it may do is the same.
        registry.add_with("early-cse", |parameters| {
            match parameters.iter().find(|&item| item != ("memssa", None)) {
                None => Ok(Arc::new(EarlyCse)),
                Some((key, _)) => Err(format!("early-cse has no parameter `{key}`")),
            }
        });
        registry.add(Arc::new(Licm));
        registry.add_with("linearize", |parameters| {
            Ok(Arc::new(Linearize::with_parameters(parameters)?))
        });
        registry.add_with("loop-unroll", |parameters| {
            Ok(Arc::new(LoopUnroll::with_parameters(parameters)?))
        });
        registry.add_with("jump-threading", |parameters| {
            Ok(Arc::new(JumpThreading::with_parameters(parameters)?))
        });
        registry.add_with("move-convergent", |parameters| {
            Ok(Arc::new(MoveConvergent::with_parameters(parameters)?))
        });
        registry.add_with("combine-ballots", |parameters| {
            Ok(Arc::new(CombineBallots::with_parameters(parameters)?))
        });
        registry.add_with("remove-redundant-barriers", |parameters| {
            Ok(Arc::new(RemoveRedundantBarriers::with_parameters(parameters)?))
        });
        registry.add(Arc::new(InferAddressSpaces));
        registry.add(Arc::new(InferConvergenceAttrs));
        registry.add(Arc::new(InferConvergenceTokens));
        registry.add(Arc::new(DropConvergenceTokens));
        for name in ["amdgpu-annotate-uniform", "annotate-uniform"] {
            registry.add_with(name, |parameters| {
                Ok(Arc::new(AnnotateUniform::with_parameters(parameters)?))
            });
        }
        registry.add_with("mark-loads", |parameters| {
            Ok(Arc::new(MarkLoads::with_parameters(parameters)?))
        });
        registry
    }

    /// Adds all passes of another registry.
    pub fn add_all(&mut self, other: Registry) {
        self.entries.retain(|entry| !other.names().any(|name| name == entry.name));
        self.entries.extend(other.entries);
    }

    /// Adds a pass without parameters. A pass that is added later hides one of the same name.
    pub fn add(&mut self, pass: Arc<dyn Pass>) {
        let name = pass.name().to_owned();
        self.add_as(&name, pass);
    }

    /// Adds a pass under another name than its own.
    pub fn add_as(&mut self, name: &str, pass: Arc<dyn Pass>) {
        self.add_with(name, move |parameters| match parameters.iter().next() {
            None => Ok(Arc::clone(&pass)),
            Some(_) => Err(format!("{} has no parameters", pass.name())),
        });
    }

    /// Adds a pass that is made from parameters.
    pub fn add_with(
        &mut self,
        name: &str,
        make: impl Fn(&Parameters) -> Result<Arc<dyn Pass>, String> + Send + Sync + 'static,
    ) {
        self.entries.retain(|entry| entry.name != name);
        self.entries.push(Entry { name: name.to_owned(), make: Box::new(make) });
    }

    /// Names of all passes, in the order they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The pass that a text such as `dce` or `simplifycfg<no-select>` stands for; none when there is no such name.
    ///
    /// # Errors
    /// When the pass does not know a parameter.
    pub fn find(&self, text: &str) -> Option<Result<Arc<dyn Pass>, String>> {
        let entry = |name: &str| self.entries.iter().find(|entry| entry.name == name);
        if let Some(whole) = entry(text) {
            return Some((whole.make)(&Parameters::default()));
        }
        let (name, rest) = text.split_once('<')?;
        let parameters = Parameters::parse(rest.strip_suffix('>')?);
        entry(name).map(|entry| (entry.make)(&parameters))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
