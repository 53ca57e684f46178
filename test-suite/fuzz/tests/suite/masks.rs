//! Checks findings about masks that depend on the thread against execution. An error about a mask
//! must be observed in every launch in which a lane executes the operation. Without a finding, no
//! launch may have a lane outside of its own mask, two lanes of one mask with different masks, or a
//! lane that a mask names and that takes another path.

use std::{collections::BTreeMap, fmt::Write as _};

use phalanx::{
    Session,
    analysis::check::{Level, Rule},
    ir::InstId,
};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Value, convergence::Key, launch::Order, observe::Moment, run,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

/// A kernel with a vote under a condition, with a mask that each lane computes. The vote may be in
/// a function that is called.
fn kernel(rng: &mut SmallRng) -> String {
    let width = [1, 2, 4, 8, 16].choose(rng).expect("there are some");
    let few: u32 = (1 << width) - 1;
    let mask = match rng.random_range(0..8) {
        // Of the group of lanes, or of one next to it.
        0 | 1 => {
            let from = match rng.random_range(0..3) {
                0 => "  %group = udiv i32 %x, WIDTH\n  %first = mul i32 %group, WIDTH\n",
                1 => "  %first = and i32 %x, MASK\n",
                _ => "  %group = urem i32 %x, WIDTH\n  %first = mul i32 %group, WIDTH\n",
            };
            let from = from.replace("WIDTH", &width.to_string());
            let from = from.replace("MASK", &(!(width - 1)).to_string());
            format!("{from}  %at = and i32 %first, 31\n  %mask = shl i32 {few}, %at\n")
        }
        2 => "  %mask = shl i32 1, %x\n".to_owned(),
        3 => format!("  %mask = select i1 %comes, i32 {few}, i32 -1\n"),
        4 => {
            let limit = [4, 8, 16].choose(rng).expect("there are some");
            format!(
                "  %low = icmp ult i32 %x, {limit}\n  \
                 %mask = select i1 %low, i32 {}, i32 {}\n",
                (1u32 << limit) - 1,
                !((1u32 << limit) - 1)
            )
        }
        // Lower lanes name all lanes, the others only themselves.
        5 => {
            let limit = [4, 8, 16].choose(rng).expect("there are some");
            let others = !((1u32 << limit) - 1);
            format!(
                "  %low = icmp ult i32 %x, {limit}\n  \
                 %mask = select i1 %low, i32 -1, i32 {others}\n"
            )
        }
        6 => format!("  store i32 {few}, ptr %slot\n  %mask = load i32, ptr %slot\n"),
        _ => "  %odd = and i32 %x, 1\n  %mask = shl i32 1431655765, %odd\n".to_owned(),
    };
    let condition = match rng.random_range(0..4) {
        0 => format!("icmp ult i32 %x, {width}"),
        1 => "icmp ult i32 %x, 32".to_owned(),
        2 => "trunc i32 %x to i1".to_owned(),
        _ => "icmp eq i32 %a0, 3".to_owned(),
    };
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
define internal i32 @ask(i32 %m) convergent {
  %asked = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 true)
  ret i32 %asked
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0) \"nvvm.reqntid\"=\"32\" {\n",
    );
    let vote = match rng.random_range(0..3) {
        0 => "call i32 @ask(i32 %mask) convergent",
        _ => "call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 true)",
    };
    let _ = write!(
        text,
        "  %slot = alloca i32\n  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %comes = {condition}\n{mask}  br i1 %comes, label %here, label %behind
here:
  %vote = {vote}
  br label %behind
behind:
  store i32 1, ptr addrspace(1) %gp
  ret void
}}\n"
    );
    text
}

/// Masks of lanes, and the groups that execute the vote.
struct Masks {
    mask: (usize, InstId),
    vote: (usize, InstId),
    of: BTreeMap<u32, u32>,
    come: Vec<(u32, Key)>,
}

impl Observer for Masks {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if (at.function, at.inst) == self.mask {
            self.of.insert(at.thread.lane, value.bits().unwrap_or(0) as u32);
        } else if (at.function, at.inst) == self.vote {
            self.come.push((at.thread.lane, at.key));
        }
    }
}

/// The rules that a launch was seen to break.
fn broken(seen: &Masks) -> Vec<Rule> {
    let mut broken = Vec::new();
    for &(lane, key) in &seen.come {
        let mask = seen.of[&lane];
        if mask >> lane & 1 == 0 {
            broken.push(Rule::NotInMask);
        }
        for other in (0..32).filter(|&other| other != lane && mask >> other & 1 == 1) {
            let with = seen.come.iter().find(|(at, of)| *at == other && *of == key);
            match with {
                Some(_) if seen.of[&other] != mask => broken.push(Rule::DifferentMasks),
                Some(_) => {}
                None => broken.push(Rule::MissingMembers),
            }
        }
    }
    broken
}

#[test]
fn masks_are_judged_as_they_are_executed() {
    let rng = &mut SmallRng::seed_from_u64(1);
    let [mut silent, mut errors] = [0, 0];
    let mut by_rule: BTreeMap<Rule, u32> = BTreeMap::new();
    for _ in 0..400 {
        let text = kernel(rng);
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = session.function(module, "f").expect("there is @f");
        let parsed = phalanx::llvm::parse_module(session.context().clone(), text.as_bytes());
        let parsed = parsed.expect("it is read again").module;
        let program = Program::new(&parsed, session.target(module)).expect("it can be run");
        let of_masks =
            [Rule::NotInMask, Rule::DifferentMasks, Rule::SourceNotInMask, Rule::MissingMembers];
        let named = |function: &str, name: &[u8]| {
            let id = session.function(module, function).expect("it is there");
            let code = session.code(id);
            let is_it = |&inst: &InstId| code.extras.names.inst(inst) == Some(name);
            let inst = code.body.all_ids().find(is_it).expect("it has the name");
            (program.function(function).expect("it can be run"), inst)
        };
        let mask = named("f", b"mask");
        let vote = match text.contains("call i32 @ask(") {
            true => named("ask", b"asked"),
            false => named("f", b"vote"),
        };
        let ask = session.function(module, "ask").expect("there is @ask");
        let found: Vec<_> = [function, ask]
            .into_iter()
            .flat_map(|function| session.diagnostics(function))
            .filter(|finding| of_masks.contains(&finding.rule))
            .map(|finding| (finding.rule, finding.level))
            .collect();
        // A mask that is computed from an argument is not judged, and `check` says so.
        let is_judged = !(text.contains("select i1 %comes") && text.contains("icmp eq i32 %a0"));
        silent += u32::from(found.is_empty() && is_judged);
        for argument in [3_u32, 4] {
            let mut memory = program.memory(1).expect("there is room");
            let gp = memory.buffer(&[0; 64]).expect("there is room");
            let args = vec![Arg::bits(gp), Arg::bits(argument)];
            let launch = Launch {
                block: [32, 1, 1],
                wave: 32,
                args,
                order: Order::Random(u64::from(argument)),
                ..Launch::default()
            };
            let mut seen = Masks { mask, vote, of: BTreeMap::new(), come: Vec::new() };
            run(&program, "f", &launch, &mut memory, &mut seen)
                .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let broken = broken(&seen);
            if found.is_empty() && is_judged {
                assert!(broken.is_empty(), "{broken:?} is not said of\n{text}");
            }
            for (rule, level) in &found {
                if *level == Level::Error && !seen.come.is_empty() {
                    assert!(broken.contains(rule), "{rule:?} is not seen:\n{text}");
                    errors += 1;
                    *by_rule.entry(*rule).or_default() += 1;
                }
            }
        }
    }
    println!("{silent} silent, {errors} errors seen: {by_rule:?}");
    assert!(silent > 40 && errors > 100 && by_rule.len() == 3, "{silent} {errors} {by_rule:?}");
}
