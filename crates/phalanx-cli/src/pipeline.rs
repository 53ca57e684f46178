//! The passes of `phalanx opt`: the transforms, and LLVM's passes that print facts or ask for them.

use std::{io::Write as _, sync::Arc};

use phalanx::{
    db::{Database, FunctionInput},
    llvm::ModulePrinter,
    report::llvm::Text,
    transform::{Group, Outcome, Pass, PassError, Registry},
};

use crate::opt::{ask, print_pass};

/// What a pass is about that prints facts of a function, or asks for them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum FunctionPass {
    Uniformity,
    Cycles,
    DomTree,
    PostDomTree,
    DomFrontier,
    MemorySsa,
    Hssa,
    Alias,
}

/// What to do with the facts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Print,
    /// Find them, as LLVM's `require<..>` does, which shows how long that takes.
    Require,
}

const ASKING: [(&str, FunctionPass, Use); 13] = [
    ("print<uniformity>", FunctionPass::Uniformity, Use::Print),
    ("print<cycles>", FunctionPass::Cycles, Use::Print),
    ("print<domtree>", FunctionPass::DomTree, Use::Print),
    ("print<postdomtree>", FunctionPass::PostDomTree, Use::Print),
    ("print<domfrontier>", FunctionPass::DomFrontier, Use::Print),
    ("print<memoryssa>", FunctionPass::MemorySsa, Use::Print),
    ("print<hssa>", FunctionPass::Hssa, Use::Print),
    ("print<alias>", FunctionPass::Alias, Use::Print),
    ("require<uniformity>", FunctionPass::Uniformity, Use::Require),
    ("require<cycles>", FunctionPass::Cycles, Use::Require),
    ("require<domtree>", FunctionPass::DomTree, Use::Require),
    ("require<postdomtree>", FunctionPass::PostDomTree, Use::Require),
    ("require<memoryssa>", FunctionPass::MemorySsa, Use::Require),
];

/// Such a pass as one among others.
struct Ask {
    name: &'static str,
    what: FunctionPass,
    used: Use,
    exact: bool,
}

impl Pass for Ask {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        if self.used == Use::Require {
            ask(db, function, self.what, self.exact);
            return Ok(Outcome::Unchanged);
        }
        let module = function.module(db);
        let entries = module.functions(db);
        let views = entries.iter().map(|entry| entry.input.view(db)).collect();
        let printer = ModulePrinter::with_functions(module.shell(db), views);
        let mut stderr = std::io::stderr().lock();
        let mut out = Text::to(&mut stderr);
        if let Some(entry) = entries.iter().find(|entry| entry.input == function) {
            print_pass(db, *entry, &printer, (self.what, self.exact), &mut out);
        }
        let written = out.finish().and_then(|_| stderr.flush());
        written.map_err(|error| {
            PassError::Other(format!("cannot write to standard error: {error}"))
        })?;
        Ok(Outcome::Unchanged)
    }
}

/// All passes; `exact` says whether uniformity is by LLVM 22's own rules.
pub(crate) fn registry(exact: bool) -> Registry {
    let mut registry = Registry::new();
    for (name, what, used) in ASKING {
        registry.add(Arc::new(Ask { name, what, used, exact }));
    }
    registry.add_all(Registry::standard());
    registry
}

/// The passes of a group of which none changes anything: these run on all functions in parallel.
pub(crate) fn asking_alone(group: &Group) -> Option<Vec<(FunctionPass, Use)>> {
    let Group::Functions(steps) = group else { return None };
    let find = |text: &str| ASKING.iter().find(|pass| pass.0 == text).map(|pass| (pass.1, pass.2));
    steps.iter().map(|step| find(&step.text)).collect()
}

#[cfg(test)]
mod tests {
    use phalanx::transform::Pipeline;

    use super::*;

    #[test]
    fn passes_that_change_nothing_are_told_apart() {
        let pipeline = Pipeline::parse(
            "print<cycles>,require<domtree>,verify,print<cycles>,dce",
            &registry(false),
        );
        let alone: Vec<_> = pipeline.unwrap_or_default().groups.iter().map(asking_alone).collect();
        let first = [(FunctionPass::Cycles, Use::Print), (FunctionPass::DomTree, Use::Require)];
        assert_eq!(alone, [Some(first.to_vec()), None, None]);
    }
}
