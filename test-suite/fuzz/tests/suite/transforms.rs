//! Random programs behave the same before and after transforms.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use phalanx::{
    db::{Database, FunctionInput},
    transform::{Outcome, Pass, PassError, Registry, code::Code},
};
use phalanx_fuzz::transforms::{Tally, check, check_with, random, run};
use rand::{SeedableRng as _, rngs::SmallRng};

fn campaign(seeds: std::ops::Range<u64>, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        all.merge(run(&mut SmallRng::seed_from_u64(seed), blocks, 2));
    }
    all
}

#[test]
fn small_programs() {
    let tally = campaign(0..150, 11);
    println!("{tally:?}");
    assert!(tally.changed > 100 && tally.launches > 100, "{tally:?}");
    assert!(tally.groups > 200 && tally.erased > 300, "{tally:?}");
}

#[test]
fn larger_programs() {
    let tally = campaign(1000..1060, 24);
    assert!(tally.changed > 30 && tally.launches > 10, "{tally:?}");
}

const VOTES: &str = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
"#;

/// Threads vote in the round in which they find something; the way back from there is never taken.
const FALLS_OUT: &str = "entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %row = shl i32 %y, 6
  %own = add i32 %x, %row
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ], [ %i, %found ]
  %c = icmp eq i32 %i, %x
  br i1 %c, label %found, label %next
next:
  %j = add i32 %i, 1
  br label %loop
found:
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %at = getelementptr i64, ptr addrspace(1) %gp, i32 %own
  store i64 %b, ptr addrspace(1) %at, align 8
  br i1 false, label %loop, label %exit
exit:
  ret void
}";

/// The header of the outer loop is empty; `continue` of the inner one goes to the inner header.
const EMPTY_HEADER: &str = "entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %row = shl i32 %y, 6
  %own = add i32 %x, %row
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %k, %latch ]
  br label %inner
inner:
  %j = phi i32 [ %i, %outer ], [ %k, %inner ]
  %k = add i32 %j, 1
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %at = getelementptr i64, ptr addrspace(1) %gp, i32 %own
  %old = load i64, ptr addrspace(1) %at, align 8
  %mixed = mul i64 %old, 3
  %new = xor i64 %mixed, %b
  store i64 %new, ptr addrspace(1) %at, align 8
  %m = add i32 %k, %x
  %bit = trunc i32 %m to i1
  br i1 %bit, label %inner, label %latch
latch:
  %d = icmp ult i32 %k, 6
  br i1 %d, label %outer, label %exit
exit:
  ret void
}";

/// Code that `simplifycfg` must leave alone because of votes: without its rules these programs
/// behave differently.
#[test]
fn cycles_around_votes() {
    let mut tally = Tally::default();
    // So that there is something to change.
    let first = "  %unused = add i32 %a0, %a1\n";
    for body in [FALLS_OUT, EMPTY_HEADER] {
        let body = body.replacen("entry:\n", &format!("entry:\n{first}"), 1);
        for pipeline in ["simplifycfg,dce", "simplifycfg<no-select>,early-cse,licm,simplifycfg,dce"]
        {
            for seed in 0..4 {
                tally.merge(check(&format!("{VOTES}{body}"), pipeline, seed, 3));
            }
        }
    }
    assert!(tally.changed == 16 && tally.launches > 30 && tally.groups > 200, "{tally:?}");
}

/// Moves votes to the entry, which is wrong.
struct MovesVotes;

impl Pass for MovesVotes {
    fn name(&self) -> &str {
        "moves-votes"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let code = Code::of(db, function);
        let Some(entry) = code.flow.entry() else { return Ok(Outcome::Unchanged) };
        let reads_what_is_there = |inst| {
            code.body.operands(inst).iter().all(|operand| {
                operand.as_inst().is_none_or(|of| code.body.block_of(of) == Some(entry))
            })
        };
        let others = code.flow.order().iter().filter(|&&block| block != entry);
        let votes: Vec<_> = others
            .flat_map(|&block| code.body.block_insts(block))
            .filter(|&i| code.is_convergent(i) && code.call(i).memory.is_none())
            .filter(|&i| reads_what_is_there(i))
            .collect();
        db.edit(function, |edit| votes.iter().try_for_each(|&vote| edit.move_to_end(vote, entry)))?;
        Ok(Outcome::changed(!votes.is_empty()))
    }
}

/// A negative control.
#[test]
fn a_wrong_pass_is_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(MovesVotes));
    let is_found = |seed: u64| {
        let text = random(&mut SmallRng::seed_from_u64(seed), 11);
        catch_unwind(AssertUnwindSafe(|| check_with(&registry, &text, "moves-votes", seed, 3)))
            .is_err()
    };
    let found = (0..60).filter(|&seed| is_found(seed)).count();
    assert!(found >= 5, "{found} of 60");
}
