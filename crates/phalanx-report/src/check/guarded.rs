//! Distinguishes threads that leave the kernel before a barrier by an early return from threads
//! that skip a barrier in a branch.
//!
//! Both sources have the same control-flow graph, but only one of them is a mistake:
//!
//! ```c
//! if (i >= n) return;            if (i < n) {
//! s[t] = in[i];                    s[t] = in[i];
//! __syncthreads();                 __syncthreads();
//! out[i] = s[255 - t];             out[i] = s[255 - t];
//!                                }
//! ```
//!
//! On the left, threads without work have ended, and hardware does not wait for them. On the right
//! the barrier stands in a branch, which is a mistake. The two are distinguished as follows:
//!
//! 1. With scopes in the debug information: the barrier is *guarded* if its scope lies in the scope
//!    of the statement whose branch separates the threads. For inlined code, the scopes in the
//!    innermost common function count.
//! 2. Without scopes (no debug information, or line tables only): the barrier is guarded if nothing
//!    with an effect follows it, since an early return that only skips a barrier would make no
//!    sense.
//!
//! A branch that leaves a loop around the barrier guards it only if the language demands that all
//! threads execute a barrier equally often: in OpenCL and SPIR-V.

use phalanx_analysis::check::{Finding, barriers::has_effect_itself};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    InstId, flow,
    metadata::{Field, Metadata, MetadataId, MetadataValue, NodeKind, kind},
};
use phalanx_target::Architecture;

/// How many scopes, and levels of inlining, are followed.
const DEPTH: usize = 256;

/// The construct around a barrier that lets threads skip it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// A conditional statement.
    Branch,
    /// A loop.
    Loop,
}

/// The construct around the barrier of a finding; none if threads without work have returned
/// before.
pub(super) fn guard(db: &Database, input: FunctionInput, finding: &Finding) -> Option<Guard> {
    let branch = flow::block_of(finding.branch?);
    if leaves_loop(db, input, finding.inst, branch) {
        return waits_for_all(db, input).then_some(Guard::Loop);
    }
    let by_scope = input.body(db).terminator(branch).and_then(|terminator| {
        let metadata = &input.module(db).shell(db).metadata;
        let location = |inst| location(db, input, inst);
        is_inside(metadata, location(finding.inst)?, location(terminator)?)
    });
    by_scope.unwrap_or_else(|| is_last(db, input, finding.inst)).then_some(Guard::Branch)
}

/// Whether a language demands that all threads of a workgroup execute a barrier equally often.
fn waits_for_all(db: &Database, input: FunctionInput) -> bool {
    let module = input.module(db);
    let is_opencl = module
        .shell(db)
        .metadata
        .named()
        .iter()
        .any(|named| module.context(db).bytes(named.name) == b"opencl.ocl.version");
    is_opencl || queries::target(db, module).architecture() == Architecture::Spirv
}

fn leaves_loop(
    db: &Database,
    input: FunctionInput,
    barrier: InstId,
    branch: phalanx_ir::BlockId,
) -> bool {
    let (Some(cycles), Some(block)) =
        (queries::cycles(db, input), input.body(db).block_of(barrier))
    else {
        return false;
    };
    let (branch, block) = (flow::node_of(branch), flow::node_of(block));
    let Some(common) = cycles.common(branch, block) else { return false };
    let successors = input.flow(db).successors(flow::block_of(branch));
    cycles
        .ancestors(common)
        .any(|cycle| successors.iter().any(|&next| !cycles.contains(cycle, flow::node_of(next))))
}

fn location(db: &Database, input: FunctionInput, inst: InstId) -> Option<MetadataId> {
    let extras = input.view(db).extras;
    extras.attachments_of(inst).find(|a| a.kind == kind::DBG).map(|a| a.node)
}

/// Whether a place is in the statement that has another place as its condition; none if there are
/// no scopes to decide it.
fn is_inside(metadata: &Metadata, place: MetadataId, condition: MetadataId) -> Option<bool> {
    let node = |at, field| metadata.field(at, field).and_then(MetadataValue::as_node);
    let statement = node(condition, Field::Scope)?;
    if metadata.node_kind(statement) != NodeKind::LexicalBlock {
        return None;
    }
    let call = node(condition, Field::InlinedAt);
    // The frame of the place in the function of the condition.
    let mut frame = Some(place);
    for _ in 0..DEPTH {
        let at = frame?;
        if node(at, Field::InlinedAt) != call {
            frame = node(at, Field::InlinedAt);
            continue;
        }
        let mut scope = node(at, Field::Scope);
        for _ in 0..DEPTH {
            let Some(at) = scope else { return Some(false) };
            if at == statement {
                return Some(true);
            }
            scope = match metadata.node_kind(at) {
                NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => node(at, Field::Scope),
                _ => return Some(false),
            };
        }
        return None;
    }
    None
}

/// Whether nothing with an effect follows an instruction. O(instructions) behind it.
fn is_last(db: &Database, input: FunctionInput, inst: InstId) -> bool {
    let code = queries::code(db, input);
    let Some(block) = code.body.block_of(inst) else { return false };
    let has_effect = |inst: InstId| has_effect_itself(code, inst);
    let behind = code.body.block_insts(block).skip_while(|&at| at != inst).skip(1);
    if { behind }.any(has_effect) {
        return false;
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work: Vec<_> = code.flow.successors(block).to_vec();
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        if code.body.block_insts(block).any(has_effect) {
            return false;
        }
        work.extend_from_slice(code.flow.successors(block));
    }
    true
}
