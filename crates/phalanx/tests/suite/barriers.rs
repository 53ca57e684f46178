//! What barriers imply about branches, on a kernel that runs.

use std::collections::BTreeMap;

use phalanx::{
    Session,
    analysis::{stable::Assumptions, variance::BarrierModel},
    ir::BlockId,
    prelude::*,
    simt::{
        Arg, Launch, Program,
        convergence::Key,
        observe::{Moment, Observer},
        run,
    },
};

/// Half a wave takes the branch in %entry, and no thread takes the one in %low.
const KERNEL: &[u8] = br#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @nested(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.low = icmp ult i32 %id, 16
  br i1 %is.low, label %low, label %exit
low:
  %row = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %wanted = add i32 %row, %n
  %is.large = icmp ugt i32 %wanted, 1000
  br i1 %is.large, label %meet, label %exit
meet:
  store i32 %n, ptr addrspace(1) %out
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  ret void
}
"#;

/// Where threads that end a block together go.
#[derive(Default)]
struct Ways(BTreeMap<(u32, Key), Vec<BlockId>>);

impl Observer for Ways {
    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        self.0.entry((at.inst.into_raw().into_u32(), at.key)).or_default().push(to);
    }
}

/// Kong's rule treats every branch as uniform on which a barrier is control dependent, directly or
/// indirectly. A correct run refutes that here: no thread reaches the barrier. Phalanx's rule
/// claims the inner branch only.
#[test]
fn iterated_control_dependence_on_a_barrier_shows_nothing() {
    let mut session = Session::new();
    let module = session.read(KERNEL).expect("it is valid");
    let kernel = session.function(module, "nested").expect("it is defined");
    let code = session.code(kernel);
    let blocks: Vec<BlockId> = code.flow.order().to_vec();
    let (entry, low, meet) = (blocks[0], blocks[1], blocks[2]);

    let control = session.control_dependence(kernel).expect("it has a body");
    let postdom = session.postdom_tree(kernel).expect("it has a body");
    let node = phalanx::ir::flow::node_of;
    assert_eq!(control.controllers(postdom, node(meet)), [node(low)]);
    assert_eq!(control.controllers(postdom, node(low)), [node(entry)]);

    let text = phalanx::llvm::parse_module(session.context().clone(), KERNEL).expect("it parses");
    let program = Program::new(&text.module, session.target(module)).expect("it can be run");
    let mut memory = program.memory(1).expect("there is room");
    let launch = Launch {
        block: [32, 1, 1],
        wave: 32,
        args: vec![Arg::bits(0_u64), Arg::bits(0_u64)],
        ..Launch::default()
    };
    let mut ways = Ways::default();
    let report = run(&program, "nested", &launch, &mut memory, &mut ways).expect("it ends");
    assert_eq!(report.barriers, 0, "nobody comes to the barrier");
    let is_split = |ways: &Vec<BlockId>| ways.iter().any(|way| *way != ways[0]);
    assert!(ways.0.values().any(is_split), "the branch in %entry parts them");

    assert_eq!(session.invariant_branches(kernel, BarrierModel::Strict), [low]);
    assert_eq!(session.invariant_branches(kernel, BarrierModel::Lenient), []);
    let plain = session.divergence(kernel).expect("it has a body");
    let strict = Assumptions { barriers: Some(BarrierModel::Strict), ..Assumptions::NONE };
    let assumed = session.divergence_assuming(kernel, strict).expect("it has a body");
    assert!(plain.is_divergent_branch(low, Scope::Workgroup));
    assert!(!assumed.is_divergent_branch(low, Scope::Workgroup));
    assert!(assumed.is_divergent_branch(low, Scope::Grid), "each workgroup on its own account");
    assert!(assumed.is_divergent_branch(entry, Scope::Wave), "nothing follows for the outer one");
    let condition = code.body.operands(code.body.terminator(low).expect("it has one"))[0];
    assert!(assumed.is_divergent(condition, Scope::Workgroup), "only the terminator is overridden");
}

/// Private memory carries states from stores to loads; its versions are no statements.
#[test]
fn variance_through_private_memory() {
    let text = br#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
define amdgpu_kernel void @f(i1 %c) {
entry:
  %slot = alloca i32, addrspace(5)
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  store i32 %x, ptr addrspace(5) %slot
  br i1 %c, label %other, label %exit
other:
  store i32 %y, ptr addrspace(5) %slot
  br label %exit
exit:
  %back = load i32, ptr addrspace(5) %slot
  ret void
}
"#;
    let mut session = Session::new();
    let module = session.read(text).expect("it is valid");
    let kernel = session.function(module, "f").expect("it is defined");
    let code = session.code(kernel);
    let variance = session.variance(kernel).expect("it has a body");
    let back = code.body.block_insts(code.flow.order()[2]).next().expect("the load");
    assert_eq!(variance.value(back.into()), SourceSet::X | SourceSet::Y);
    assert_eq!(variance.statement(back), SourceSet::X | SourceSet::Y);
}

/// States are subsets of {x, y, z}; a store has those of what it reads and of whether it is
/// executed.
#[test]
fn variance_of_values_statements_and_blocks() {
    let mut session = Session::new();
    let module = session.read(KERNEL).expect("it is valid");
    let kernel = session.function(module, "nested").expect("it is defined");
    let code = session.code(kernel);
    let variance = session.variance(kernel).expect("it has a body");
    let blocks: Vec<BlockId> = code.flow.order().to_vec();
    let insts: Vec<InstId> = code.body.block_insts(blocks[1]).collect();
    assert_eq!(variance.value(insts[1].into()), SourceSet::Y);
    assert_eq!(variance.statement(insts[1]), SourceSet::X | SourceSet::Y);
    assert_eq!(variance.terminator(blocks[0]), SourceSet::X);
    assert_eq!(variance.block(blocks[1]), SourceSet::X);
    assert_eq!(variance.block(blocks[2]), SourceSet::X | SourceSet::Y);
    assert_eq!(variance.block(blocks[3]), SourceSet::EMPTY);
    let store = code.body.block_insts(blocks[2]).next().expect("the store");
    assert_eq!(variance.statement(store), SourceSet::X | SourceSet::Y);
}
