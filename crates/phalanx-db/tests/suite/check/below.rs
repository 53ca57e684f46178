//! Whether a call leads to a barrier, in deep call graphs and in large recursions.

use std::fmt::Write as _;

use phalanx_analysis::check::Callee;
use phalanx_db::queries;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::Fixture;

/// Functions of a random call graph: chains that are longer than queries may nest, with calls back
/// and across.
struct Calls {
    callees: Vec<Vec<usize>>,
    own: Vec<Callee>,
}

impl Calls {
    fn random(seed: u64, count: usize) -> Calls {
        let mut rng = StdRng::seed_from_u64(seed);
        let back = [0.0, 0.02, 0.2][seed as usize % 3];
        let mut callees = vec![Vec::new(); count];
        for (at, callees) in callees.iter_mut().enumerate() {
            if at + 1 < count && rng.random_bool(0.95) {
                callees.push(at + 1);
            }
            if at + 1 < count && rng.random_bool(0.2) {
                callees.push(rng.random_range(at + 1..count));
            }
            if rng.random_bool(back) {
                callees.push(rng.random_range(0..=at));
            }
        }
        let own = (0..count).map(|_| match rng.random_range(0..60) {
            0 => Callee::Barrier,
            1 => Callee::Unknown,
            _ => Callee::Silent,
        });
        Calls { callees, own: own.collect() }
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "target triple = \"nvptx64-nvidia-cuda\"\n\
             declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n\
             declare void @unknown() convergent\n",
        );
        for (at, callees) in self.callees.iter().enumerate() {
            let _ = writeln!(text, "define internal void @f{at}() {{");
            let own = match self.own[at] {
                Callee::Barrier => "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n",
                Callee::Unknown => "  call void @unknown() convergent\n",
                Callee::Silent => "",
            };
            text += own;
            for callee in callees {
                let _ = writeln!(text, "  call void @f{callee}()");
            }
            text += "  ret void\n}\n";
        }
        text
    }

    /// What is reached from a function: a barrier, or else something unknown.
    fn reached(&self, from: usize) -> Callee {
        let mut seen = vec![false; self.callees.len()];
        let mut work = vec![from];
        let mut answer = Callee::Silent;
        while let Some(at) = work.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match self.own[at] {
                Callee::Barrier => return Callee::Barrier,
                Callee::Unknown => answer = Callee::Unknown,
                Callee::Silent => {}
            }
            work.extend(&self.callees[at]);
        }
        answer
    }
}

#[test]
fn what_calls_lead_to_is_what_is_reached() {
    let mut seen = [0; 3];
    for seed in 0..12 {
        let calls = Calls::random(seed, 150);
        let fixture = Fixture::of(&calls.text());
        let entries = fixture.module.functions(&fixture.db).iter().filter(|e| e.is_definition);
        let inputs: Vec<_> = entries.map(|entry| entry.input).collect();
        assert_eq!(inputs.len(), calls.callees.len());
        // From above and from below: which answers nest is another.
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        if seed % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let found = queries::synchronizes(&fixture.db, inputs[at]);
            assert_eq!(found, calls.reached(at), "seed {seed}, @f{at}");
            seen[found as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
}
