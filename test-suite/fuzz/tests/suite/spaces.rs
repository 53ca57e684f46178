//! Pointers of random programs lead where they are said to.

use expect_test::expect;
use phalanx::{
    FunctionId, Session,
    analysis::spaces::SpaceModel,
    db::queries,
    ir::{Opcode, Value},
    target::Architecture,
    transform::{Event, Manager, Options, Pipeline, Registry, code::Code},
};
use phalanx_fuzz::{
    spaces::{Edited, Tally, chains, check, edited, program, run, twins},
    transforms,
};
use phalanx_testing::{files as test_files, llvm_tools};
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};

#[test]
fn pointers_lead_where_they_are_said_to() {
    let mut all = Tally::default();
    for seed in 0..300 {
        all.merge(run(&mut SmallRng::seed_from_u64(seed), 2));
    }
    let Tally { launches, claims, exact, refined, unsound, .. } = &all;
    println!("{launches} launches, {claims} claims, {exact} exact, {refined} refined");
    assert!(unsound.is_empty(), "{} wrong claims, first {}", unsound.len(), unsound[0]);
    assert!(*launches > 300 && *claims > 20_000 && *exact > 10_000 && *refined > 100, "{all:?}");
}

#[test]
fn the_solver_gives_what_rounds_give() {
    let rng = &mut SmallRng::seed_from_u64(7);
    let compared: usize = (0..200).map(|_| twins(rng)).sum();
    assert!(compared > 1000, "{compared}");
}

#[test]
fn kinds_follow_edits() {
    let mut all = Edited::default();
    for seed in 0..150 {
        all.merge(edited(&mut SmallRng::seed_from_u64(seed), 20));
    }
    println!("{all:?}");
    assert!(all.committed > 200 && all.repaired > 50, "{all:?}");
    assert!(all.left > 20 && all.other > 20, "{all:?}");
    let queries::MemoryRepairs { private, addresses, hssa, classic, pointers } = all.memory;
    for ways in [private, addresses, hssa, classic, pointers] {
        assert!(ways.kept > 100 && ways.solved > 20, "{all:?}");
    }
    for ways in [hssa, classic, pointers] {
        assert!(ways.repaired > 50, "{all:?}");
    }
}

#[test]
fn chains_hold_and_none_is_missing() {
    let rng = &mut SmallRng::seed_from_u64(11);
    let count: usize = (0..30).map(|_| chains(rng)).sum();
    assert!(count > 1000, "{count}");
}

#[test]
fn accesses_of_another_space_do_the_same() {
    let (mut changed, mut launches) = (0, 0);
    for seed in 0..100 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let text = program(rng);
        let tally = transforms::check(&text, "infer-address-spaces", rng.next_u64(), 2);
        changed += tally.changed;
        launches += tally.launches;
    }
    assert!(changed > 90 && launches > 100, "{changed} {launches}");
}

/// The program with one rule broken: claims about it are as if the rule were missing.
fn spoilt(text: &str, how: &str) -> String {
    let spoil = |line: &str| -> String {
        match how {
            "phi" if line.contains("= phi ptr") => match line.rsplit_once("[ ") {
                Some((head, tail)) => {
                    let from = tail.split_once(", ").map_or(tail, |(_, from)| from);
                    format!("{head}[ %gp, {from}")
                }
                None => line.to_owned(),
            },
            "store" if line.contains("store ptr %") => {
                let rest = line.split_once(", ").map_or("", |(_, rest)| rest);
                format!("  store ptr %gp, {rest}")
            }
            "call" => line.replace("select i1 %c, ptr %a, ptr %b", "select i1 %c, ptr %a, ptr %a"),
            "recursion" => line.replace("@descend(ptr %b, ptr %a, ", "@descend(ptr %a, ptr %a, "),
            "member" => line.replace("%x, ptr %b, 1", "%x, ptr %a, 1"),
            "test" if line.contains(".is.shared(ptr %") => {
                line.replace("@llvm.amdgcn.is.shared", "@llvm.amdgcn.is.private")
            }
            _ => line.to_owned(),
        }
    };
    text.lines().map(|line| spoil(line) + "\n").collect()
}

#[test]
fn wrong_claims_are_noticed() {
    for how in ["phi", "store", "call", "recursion", "member", "test"] {
        let mut found = 0;
        for seed in 0..60 {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let text = program(rng);
            found += check(&text, &spoilt(&text, how), rng.next_u64(), 1).unsound.len();
        }
        println!("{how}: {found}");
        assert!(found > 0, "claims that forget something about `{how}` pass");
    }
}

/// An access: what it is, and the spaces of its addresses.
type Access = (Opcode, Vec<u32>);

fn accesses(session: &Session, function: FunctionId) -> Vec<Access> {
    let db = session.database();
    let code = Code::of(db, function.input());
    let mut all = Vec::new();
    for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
        let opcode = code.body.inst(inst).opcode;
        let operands = code.body.operands(inst);
        let addresses: &[Value] = match opcode {
            Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => &operands[..1],
            Opcode::Store => &operands[1..],
            Opcode::Call if code.intrinsic(inst).is_some_and(|i| is_access(i.base)) => {
                code.body.call_args(inst)
            }
            _ => continue,
        };
        let spaces = addresses.iter();
        let spaces =
            spaces.filter_map(|a| code.context.type_kind(code.type_of(*a)).address_space());
        all.push((opcode, spaces.collect()));
    }
    all
}

fn is_access(base: &str) -> bool {
    base.starts_with("mem") || base.starts_with("masked.") || base == "load.to.lds"
}

/// Kernels in which LLVM 22 treats a constant address in device memory as one in workgroup memory.
const NOT_FOLLOWED: &[&str] = &["store_select_group_flat_inttoptr_flat"];

/// Compares the address space of every access in LLVM's own tests of the transform with LLVM 22's
/// answer: Phalanx's is never wider.
#[test]
fn no_access_of_llvms_tests_stays_wider_than_llvm_leaves_it() {
    let Some(corpus) = llvm_tools::require_corpus() else { return };
    let opt = llvm_tools::require("opt");
    let folder = corpus.join("Transforms/InferAddressSpaces");
    let (mut compared, mut better) = (0, Vec::new());
    for (name, triple, architecture) in [
        ("AMDGPU", "amdgcn-amd-amdhsa", Architecture::Amdgcn),
        ("NVPTX", "nvptx64-nvidia-cuda", Architecture::Nvptx),
    ] {
        let model = SpaceModel::new(architecture);
        let files = std::fs::read_dir(folder.join(name)).expect("the folder is there");
        let mut files: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
        files.sort();
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "ll")) {
            if file.to_string_lossy().ends_with(".inferas.ll") {
                continue;
            }
            let read = |path: &std::path::Path| {
                let text = path.is_file().then(|| test_files::text(path))?;
                Some(match text.contains("target triple") {
                    true => text,
                    false => format!("target triple = \"{triple}\"\n{text}"),
                })
            };
            let text = read(file).expect("the file is readable");
            let mut session = Session::new();
            let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
            let registry = Registry::standard();
            let passes = Pipeline::parse("infer-address-spaces", &registry).expect("a pipeline");
            let mut manager = Manager::new(Options { verify_each: true, statistics: false });
            let mut broken = Vec::new();
            manager
                .run(session.database_mut(), module.input(), &passes, &mut |_, event| {
                    if let Event::Broken { errors, .. } = event {
                        broken.extend(errors);
                    }
                })
                .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert!(broken.is_empty(), "{}: {broken:?}", file.display());
            let printed = session.print(module);
            if let Some(opt) = &opt {
                let verified = opt.run(["-passes=verify", "-disable-output"], &printed);
                let verified = verified.expect("opt runs");
                assert!(verified.success(), "{}: {}", file.display(), verified.errors());
            }
            let answer = file.with_extension("ll.inferas.ll");
            // LLVM 22 crashes on one of its tests.
            let Some(answer) = read(&answer) else { continue };
            let theirs = session.read(answer.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
            for function in session.functions(theirs) {
                let name = session.name(function);
                let Some(own) = session.function(module, &name) else { continue };
                if NOT_FOLLOWED.contains(&name.as_str()) {
                    continue;
                }
                let (own, theirs) = (accesses(&session, own), accesses(&session, function));
                assert_eq!(own.len(), theirs.len(), "{} @{name}", file.display());
                for (own, theirs) in own.iter().zip(&theirs) {
                    assert_eq!(own.0, theirs.0);
                    for (&own, &theirs) in own.1.iter().zip(&theirs.1) {
                        compared += 1;
                        let is_within = own == theirs
                            || Some(theirs) == model.generic()
                            || model.of(theirs).contains(model.of(own));
                        assert!(is_within, "{} @{name}: {own} for {theirs}", file.display());
                        if own != theirs {
                            better.push(format!("{name} {theirs} -> {own}"));
                        }
                    }
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
    expect![[r#"
        ptrmask_cast_local_to_flat 0 -> 3
        ptrmask_cast_private_to_flat 0 -> 5
        ptrmask_cast_region_to_flat 0 -> 2
        ptrmask_cast_local_to_flat_global 0 -> 3
        multi_ptrmask_cast_local_to_flat 0 -> 3
        multi_ptrmask_cast_region_to_flat 0 -> 2
        ptrmask_cast_local_to_flat_const_mask_fffffffeffffffff 0 -> 3
        ptrmask_cast_local_to_flat_const_mask_7fffffffffffffff 0 -> 3
        store_select_group_flat_vector 0 -> 3
        store_select_group_flat_vector 0 -> 3
        mixed_select 0 -> 7
        mixed_phi 0 -> 7
        mixed_loop 0 -> 7
        mixed_backedge 0 -> 7
        invoke_source_phi 0 -> 7
        predicated_select 0 -> 7
        mixed_deferred_select 0 -> 7"#]]
    .assert_eq(&better.join("\n"));
}
