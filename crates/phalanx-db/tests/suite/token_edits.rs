//! Operations under convergence control, after edits of blocks that they are not in: whether one is
//! outside of the cycle of its token depends on the cycle.

#[path = "support.rs"]
mod support;

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::InstId;
use phalanx_target::SourceSet;
use support::Fixture;

fn of(db: &Database, function: FunctionInput, inst: InstId) -> SourceSet {
    let found = queries::divergence(db, function).as_ref().expect("it has a body");
    let numbering = phalanx_analysis::lower::Numbering::new(function.header(db));
    found.value(numbering.inst(inst))
}

/// What is said of the ballot, which a new database has to say as well.
fn ballot(fixture: &Fixture) -> SourceSet {
    let inst = fixture.named("round");
    let found = of(&fixture.db, fixture.edited(), inst);
    let (cold, entries) = fixture.cold();
    let entry = entries.iter().rfind(|entry| entry.is_definition).expect("the kernel");
    assert_eq!(found, of(&cold, entry.input, inst), "warm and cold");
    found
}

/// `inner` is in the cycle of the token as long as `latch` leads back.
#[test]
fn a_block_leaves_the_cycle_of_its_token_and_comes_back() {
    for long in [1, 2_000] {
        let padding: String =
            (1..=long).map(|at| format!("  %pad{at} = add i32 %n, {at}\n")).collect();
        let text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define amdgpu_kernel void @kernel(i32 %n, i1 %again) {{
entry:
  %anchor = call token @llvm.experimental.convergence.anchor()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
{padding}  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ], [ 0, %latch ]
  %heart = call token @llvm.experimental.convergence.loop() [ \"convergencectrl\"(token %anchor) ]
  %found = icmp eq i32 %i, %id
  br i1 %found, label %inner, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
inner:
  %round = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ \"convergencectrl\"(token %heart) ]
  br label %latch
latch:
  br i1 %again, label %loop, label %exit
exit:
  ret void
}}\n"
        );
        let mut fixture = Fixture::of(&text, "kernel");
        let (latch, loop_, exit, phi, zero) = {
            let (body, flow) =
                (fixture.edited().body(&fixture.db), fixture.edited().flow(&fixture.db));
            let [.., latch, exit] = *flow.order() else { panic!("blocks") };
            let phi = fixture.named("i");
            let zero = fixture.context.const_zero(body.inst(phi).ty);
            (latch, body.block_of(phi).expect("it stands somewhere"), exit, phi, zero)
        };
        for round in 0..3 {
            assert_eq!(ballot(&fixture), SourceSet::OPAQUE_WAVE, "{long} {round}");
            fixture.edit(|edit| edit.redirect_edge(latch, 0, exit));
            assert_ne!(ballot(&fixture), SourceSet::OPAQUE_WAVE, "{long} {round}");
            fixture.edit(|edit| {
                edit.redirect_edge(latch, 0, loop_)?;
                edit.add_phi_input(phi, zero, latch)
            });
        }
    }
}
