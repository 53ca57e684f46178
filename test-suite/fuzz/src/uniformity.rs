//! Compares LLVM's rules without fixes with `opt-22`, on random programs.

use phalanx::{Session, analysis::lower::Numbering, db::queries, ir::flow::node_of};
use phalanx_testing::{
    abstract_program::DECLARATIONS,
    compare::uniformity::{Uniformity, parse},
    generate::{Options, program_from},
};

use crate::{Entropy, verdict::opt};

/// Programs of one input: starting LLVM costs more than analysing one.
const PROGRAMS: usize = 8;

/// Without fixes and refinements, Phalanx's answer must equal LLVM's, for every value and
/// terminator of the programs that the input encodes.
pub fn uniformity(data: &[u8]) {
    let Some(opt) = opt() else { return };
    let mut choices = Entropy::new(data);
    let mut text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}");
    for number in 0..PROGRAMS {
        let program = program_from(&mut choices, Options::default());
        text.push_str(&program.to_llvm(&format!("f{number}")));
    }
    let outcome = opt
        .run(["-passes=print<uniformity>", "-disable-output", "-"], text.as_bytes())
        .expect("opt-22 can be started");
    assert!(outcome.success(), "{}\n{text}", outcome.summary());
    let theirs = parse(&outcome.errors()).expect("opt-22 prints what we can read");
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    assert_eq!(theirs.len(), PROGRAMS, "{text}");
    for (name, answer) in &theirs {
        let differences = differences(&session, module, name, answer);
        assert!(
            differences.is_empty() || is_order_dependent(answer),
            "{name}: {}\n{text}",
            differences.join("\n")
        );
    }
}

/// The values and terminators on which LLVM disagrees.
fn differences(
    session: &Session,
    module: phalanx::ModuleId,
    name: &str,
    theirs: &Uniformity,
) -> Vec<String> {
    let function = session.function(module, name).expect("LLVM printed this function");
    let ours = queries::exact_llvm_uniformity(session.database(), function.input())
        .expect("it has a body");
    let code = session.code(function);
    let numbering = Numbering::new(code.header);
    let mut out = Vec::new();
    for (number, &block) in code.flow.order().iter().enumerate() {
        let listed = theirs.blocks.get(number);
        for (index, inst) in code.body.block_insts(block).enumerate() {
            let (sources, item) = if code.body.next(inst).is_none() {
                (ours.terminator(node_of(block)), listed.and_then(|b| b.terminators.first()))
            } else {
                let value = ours.value(numbering.inst(inst));
                (value, listed.and_then(|b| b.definitions.get(index)))
            };
            let theirs = item.is_some_and(|item| item.divergent);
            if sources.is_empty() == theirs {
                let text = session.print_inst(function, inst);
                out.push(format!(
                    "{text}: LLVM says {}",
                    if theirs { "divergent" } else { "uniform" }
                ));
            }
        }
    }
    out
}

/// Whether LLVM's answer depends on the order in which it finds things: an operation that is always
/// uniform stands in a cycle that is assumed divergent. Uses outside diverge exactly if LLVM
/// notices the cycle's divergent exits before it assumes the cycle divergent.
fn is_order_dependent(theirs: &Uniformity) -> bool {
    let mut assumed = theirs
        .blocks
        .iter()
        .filter(|block| theirs.assumed.iter().any(|cycle| cycle.blocks.contains(&block.name)));
    assumed.any(|block| block.definitions.iter().any(|item| item.text.contains("readfirstlane")))
}
