//! Passes by name: those of this crate, and those that a driver adds.
//!
//! ```
//! use phalanx_transform::Registry;
//! let registry = Registry::standard();
//! assert!(registry.find("simplifycfg<no-select>").is_some_and(|pass| pass.is_ok()));
//! assert!(registry.find("no-such-pass").is_none());
//! ```

use std::{fmt, sync::Arc};

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
    pass::{Parameters, Pass},
    redundant_barriers::RemoveRedundantBarriers,
    simplify_cfg::SimplifyCfg,
};

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
        // LLVM's MemorySSA variant finds more; both are sound under the same rules.
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

    /// The pass that a text such as `dce` or `simplifycfg<no-select>` names; none if the name is
    /// unknown.
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
