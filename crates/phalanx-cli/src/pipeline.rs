//! The passes of `phalanx opt`: the transforms, and LLVM's printing passes.

use std::{io::Write as _, sync::Arc};

use phalanx::{
    db::{Database, FunctionInput},
    llvm::ModulePrinter,
    report::llvm::Text,
    transform::{Group, Outcome, Pass, PassError, Registry},
};

use crate::opt::print_pass;

/// A printing pass that works function by function, by its output.
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

const PRINTING: [(&str, FunctionPass); 8] = [
    ("print<uniformity>", FunctionPass::Uniformity),
    ("print<cycles>", FunctionPass::Cycles),
    ("print<domtree>", FunctionPass::DomTree),
    ("print<postdomtree>", FunctionPass::PostDomTree),
    ("print<domfrontier>", FunctionPass::DomFrontier),
    ("print<memoryssa>", FunctionPass::MemorySsa),
    ("print<hssa>", FunctionPass::Hssa),
    ("print<alias>", FunctionPass::Alias),
];

/// A printing pass as a pass of a pipeline.
struct Print {
    name: &'static str,
    what: FunctionPass,
    exact: bool,
}

impl Pass for Print {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
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
    for (name, what) in PRINTING {
        registry.add(Arc::new(Print { name, what, exact }));
    }
    registry.add_all(Registry::standard());
    registry
}

/// The printing passes of a group that has no others: these run on all functions in parallel.
pub(crate) fn printing_alone(group: &Group) -> Option<Vec<FunctionPass>> {
    let Group::Functions(steps) = group else { return None };
    let find = |text: &str| PRINTING.iter().find(|entry| entry.0 == text).map(|entry| entry.1);
    steps.iter().map(|step| find(&step.text)).collect()
}

#[cfg(test)]
mod tests {
    use phalanx::transform::Pipeline;

    use super::*;

    #[test]
    fn printing_passes_by_themselves_are_told_apart() {
        let pipeline = Pipeline::parse(
            "print<cycles>,print<domtree>,verify,print<cycles>,dce",
            &registry(false),
        );
        let alone: Vec<_> =
            pipeline.unwrap_or_default().groups.iter().map(printing_alone).collect();
        assert_eq!(alone, [Some(vec![FunctionPass::Cycles, FunctionPass::DomTree]), None, None]);
    }
}
