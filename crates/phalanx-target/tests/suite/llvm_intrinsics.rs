//! The intrinsic tables against the installed LLVM, name by name.
//!
//! `llvm-tblgen-22` lists the intrinsics with their signatures; `opt-22` prints their attributes
//! and the result of its uniformity analysis for a call. One module calls all intrinsics, which
//! takes about two seconds.

use crate::oracle;

use std::collections::BTreeMap;

use expect_test::expect;
use oracle::records::Records;
use phalanx_target::intrinsics::{Entry, Family, LlvmUniformity, Location, MemoryEffect};
use phalanx_target::transfer::Operand;
use phalanx_target::{LaunchFacts, SourceSet, TransferContext};
use serde_json::Value;

/// An intrinsic as LLVM defines it, with one choice of overloaded types.
struct Signature {
    /// Name without suffix.
    base: String,
    /// The types that the suffix is made from.
    overloads: Vec<String>,
    result: String,
    parameters: Vec<String>,
    /// Parameters that must be constants, and a constant that is in their range.
    immediates: BTreeMap<usize, i64>,
}

impl Records {
    fn signatures(&self, target_prefix: &str) -> Vec<Signature> {
        let mut signatures: Vec<_> = self
            .0
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, record)| {
                Records::has_class(record, "Intrinsic") && record["TargetPrefix"] == target_prefix
            })
            .map(|(name, record)| self.signature(name, record))
            .collect();
        signatures.sort_by(|a, b| a.base.cmp(&b.base));
        signatures
    }

    fn signature(&self, name: &str, record: &Value) -> Signature {
        let types: Vec<&Value> = ["RetTypes", "ParamTypes"]
            .iter()
            .flat_map(|list| record[list].as_array().unwrap())
            .map(|reference| self.record(reference))
            .collect();
        let is = |class: &'static str| move |t: &&&Value| Records::has_class(t, class);
        // Overloaded types are chosen first, since other types refer to them, even earlier ones.
        let part = types.iter().find(is("LLVMOneNthElementsVectorType"));
        let needs_vector = types.iter().any(|t| Records::has_class(t, "LLVMVectorElementType"));
        let pointers = types.iter().any(|t| Records::has_class(t, "LLVMVectorOfAnyPointersToElt"));
        let mut overloads = Vec::new();
        for t in &types {
            let choice = if Records::has_class(t, "LLVMVectorOfAnyPointersToElt") {
                "<4 x ptr>".to_owned()
            } else if Records::has_class(t, "LLVMAnyType") {
                match t["VT"]["def"].as_str().unwrap() {
                    "Any" | "vAny" if part.is_some() => {
                        format!("<{} x i32>", 4 * part.unwrap()["Sig"][2].as_i64().unwrap())
                    }
                    "iAny" if pointers || needs_vector => "<4 x i32>".to_owned(),
                    "fAny" if needs_vector => "<4 x float>".to_owned(),
                    "iAny" => "i32".to_owned(),
                    "fAny" => "float".to_owned(),
                    "Any" => "<4 x i32>".to_owned(),
                    "vAny" => "<4 x i32>".to_owned(),
                    "pAny" => "ptr addrspace(1)".to_owned(),
                    other => panic!("{name}: no choice for {other}"),
                }
            } else {
                continue;
            };
            overloads.push(choice);
        }
        let mut next = overloads.iter();
        let mut spelled: Vec<String> = types
            .iter()
            .map(|t| {
                let overloaded = Records::has_class(t, "LLVMAnyType")
                    || Records::has_class(t, "LLVMVectorOfAnyPointersToElt");
                if overloaded { next.next().unwrap().clone() } else { self.spell(t, &overloads) }
            })
            .collect();
        let results = record["RetTypes"].as_array().unwrap().len();
        let parameters = spelled.split_off(results);
        let result = match &spelled[..] {
            [] => "void".to_owned(),
            [single] => single.clone(),
            several => format!("{{ {} }}", several.join(", ")),
        };
        let mut immediates = BTreeMap::new();
        for property in record["IntrProperties"].as_array().unwrap() {
            let property = self.record(property);
            let position = || usize::try_from(property["ArgNo"].as_i64().unwrap() - 1).unwrap();
            if Records::has_class(property, "ImmArg") {
                immediates.entry(position()).or_insert(0);
            }
            // Position -1 is the result.
            if Records::has_class(property, "Range") && property["ArgNo"].as_i64() > Some(0) {
                immediates.insert(position(), property["Lower"].as_i64().unwrap());
            }
        }
        let llvm_name = record["LLVMName"].as_str().unwrap();
        let base = match llvm_name {
            "" => format!("llvm.{}", name.strip_prefix("int_").unwrap().replace('_', ".")),
            name => name.to_owned(),
        };
        Signature { base, overloads, result, parameters, immediates }
    }

    /// A type that is fixed, or derived from overload number `Number`.
    fn spell(&self, t: &Value, overloads: &[String]) -> String {
        let has = |class| Records::has_class(t, class);
        if has("LLVMQualPointerType") {
            return match t["Sig"].as_array().unwrap().get(1) {
                Some(space) => format!("ptr addrspace({space})"),
                None => "ptr".to_owned(),
            };
        }
        if !has("LLVMMatchType") {
            return spell_value_type(t["VT"]["def"].as_str().unwrap());
        }
        let matched = &overloads[usize::try_from(t["Number"].as_u64().unwrap()).unwrap()];
        let vector = matched.strip_prefix('<').and_then(|v| v.strip_suffix('>')?.split_once(" x "));
        if has("LLVMScalarOrSameVectorWidth") {
            // The element type is given by its code in the signature.
            let integers =
                ["llvm_i1_ty", "llvm_i8_ty", "llvm_i16_ty", "llvm_i32_ty", "llvm_i64_ty"];
            let of_code = |name: &&&str| self.0[**name]["Sig"][0] == t["Sig"][2];
            // Any other code means the element type of the vector.
            let element = integers.iter().find(of_code);
            let element = element.map_or_else(
                || vector.map_or(&**matched, |(_, element)| element),
                |name| self.0[*name]["VT"]["def"].as_str().unwrap(),
            );
            vector.map_or(element.to_owned(), |(count, _)| format!("<{count} x {element}>"))
        } else if has("LLVMVectorElementType") {
            vector.unwrap().1.to_owned()
        } else if has("LLVMOneNthElementsVectorType") {
            let (count, element) = vector.unwrap();
            let count = count.parse::<i64>().unwrap() / t["Sig"][2].as_i64().unwrap();
            format!("<{count} x {element}>")
        } else {
            matched.clone()
        }
    }
}

fn spell_value_type(name: &str) -> String {
    if let Some((count, element)) = name.strip_prefix('v').and_then(|vector| {
        let digits = vector.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
        Some(vector.split_at(digits))
    }) {
        return format!("<{count} x {}>", spell_value_type(element));
    }
    match name {
        "f16" => "half",
        "bf16" => "bfloat",
        "f32" => "float",
        "f64" => "double",
        "f128" => "fp128",
        "MetadataVT" => "metadata",
        "isVoid" => "...",
        other => other,
    }
    .to_owned()
}

impl Signature {
    fn mangled(&self) -> String {
        let suffixes = self.overloads.iter().map(|overload| format!(".{}", mangle(overload)));
        format!("{}{}", self.base, suffixes.collect::<String>())
    }
}

fn mangle(t: &str) -> String {
    if let Some((count, element)) =
        t.strip_prefix('<').and_then(|v| v.strip_suffix('>')?.split_once(" x "))
    {
        return format!("v{count}{}", mangle(element));
    }
    match t {
        "float" => "f32".to_owned(),
        "ptr" => "p0".to_owned(),
        _ => match t.strip_prefix("ptr addrspace(") {
            Some(space) => format!("p{}", space.trim_end_matches(')')),
            None => t.to_owned(),
        },
    }
}

fn declare(signature: &Signature) -> String {
    format!(
        "declare {} @{}({})\n",
        signature.result,
        signature.mangled(),
        signature.parameters.join(", ")
    )
}

/// A module with two functions that call all intrinsics: `uniform` with uniform arguments, and
/// `cycle` inside an irreducible cycle that divergent threads enter. In `cycle` only calls that are
/// always uniform stay uniform.
fn module(signatures: &[Signature], kernel: &str, thread_id: &str, triple: &str) -> String {
    let mut declarations = String::new();
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for signature in signatures {
        // Debug intrinsics become records, which are not calls.
        if signature.base.starts_with("llvm.dbg.") {
            continue;
        }
        if signature.base != thread_id {
            declarations += &declare(signature);
        }
        let mut arguments = Vec::new();
        for (position, parameter) in signature.parameters.iter().enumerate() {
            arguments.push(match &**parameter {
                "..." => continue,
                "metadata" => "metadata !0".to_owned(),
                "token" => "token none".to_owned(),
                p => match signature.immediates.get(&position) {
                    Some(_) if p == "i1" => "i1 false".to_owned(),
                    Some(_) if p == "float" || p == "double" => format!("{p} 0.0"),
                    Some(value) => format!("{p} {value}"),
                    None => {
                        let next = types.len();
                        format!("{p} %a{}", *types.entry(p).or_insert(next))
                    }
                },
            });
        }
        let variadic = signature.parameters.iter().any(|p| p == "...");
        let kind = match variadic {
            true => format!("{} ({})", signature.result, signature.parameters.join(", ")),
            false => signature.result.clone(),
        };
        let assign = if signature.result == "void" { "" } else { "%r = " };
        calls.push((
            assign,
            format!("call {kind} @{}({})", signature.mangled(), arguments.join(", ")),
        ));
    }
    let body = |function: &str| -> String {
        calls
            .iter()
            .enumerate()
            .map(|(i, (assign, call))| {
                format!("  {}{call}\n", assign.replace("%r", &format!("%{function}{i}")))
            })
            .collect()
    };
    let parameters: Vec<_> = types.iter().map(|(t, number)| format!("{t} %a{number}")).collect();
    let parameters = parameters.join(", ");
    format!(
        "target triple = \"{triple}\"\n!0 = !{{!\"v0\"}}\ndeclare i32 @{thread_id}()\n{declarations}\
         define {kernel} void @uniform({parameters}) {{\n{}  ret void\n}}\n\
         define {kernel} void @cycle({parameters}) {{\n\
         entry:\n  %t = call i32 @{thread_id}()\n  %c = icmp eq i32 %t, 0\n  br i1 %c, label %p, label %q\n\
         p:\n{}  br label %q\nq:\n  br i1 undef, label %p, label %x\nx:\n  ret void\n}}\n",
        body("u"),
        body("c"),
    )
}

/// LLVM's classification by full name of the callee.
fn classify(module: &str, processor: &str) -> Option<BTreeMap<String, LlvmUniformity>> {
    let functions = oracle::uniformity(module, processor)?;
    let calls = |function: &str| -> BTreeMap<String, bool> {
        let (_, lines) = functions.iter().find(|(name, _)| name == function).unwrap();
        lines
            .iter()
            .filter(|(_, line)| !line.starts_with("%t = "))
            .filter_map(|(divergent, line)| {
                let (_, callee) = line.split_once("call ")?.1.split_once("@llvm.")?;
                Some((format!("llvm.{}", callee.split_once('(')?.0), *divergent))
            })
            .collect()
    };
    let in_cycle = calls("cycle");
    let classes = calls("uniform").into_iter().map(|(callee, divergent)| {
        let class = match (divergent, in_cycle[&callee]) {
            (true, _) => LlvmUniformity::NeverUniform,
            (false, true) => LlvmUniformity::Default,
            (false, false) => LlvmUniformity::AlwaysUniform,
        };
        (callee, class)
    });
    Some(classes.collect())
}

const FAMILIES: [(Family, &str); 5] = [
    (Family::Generic, ""),
    (Family::Amdgcn, "amdgcn"),
    (Family::Nvvm, "nvvm"),
    (Family::Spirv, "spv"),
    (Family::R600, "r600"),
];

fn full_name(entry: &Entry) -> String {
    format!("{}{}", entry.family.prefix(), entry.base)
}

#[test]
fn tables_agree_with_llvm() {
    let is_gpu = |name: &str| ["AMDGPU", "NVVM", "SPIRV"].iter().any(|gpu| name.starts_with(gpu));
    let Some(records) = Records::load(is_gpu) else { return };
    let mut all = BTreeMap::new();
    for (family, prefix) in FAMILIES {
        let signatures = records.signatures(prefix);
        // Names and overloads.
        let ours: Vec<_> = family.entries().iter().map(|e| (full_name(e), e.overloaded)).collect();
        let mut theirs: Vec<_> =
            signatures.iter().map(|s| (s.base.clone(), !s.overloads.is_empty())).collect();
        theirs.sort();
        let missing: Vec<_> = theirs.iter().filter(|name| !ours.contains(name)).collect();
        let extra: Vec<_> = ours.iter().filter(|name| !theirs.contains(name)).collect();
        assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}\nextra {extra:?}");
        all.insert(family, signatures);
    }
    attributes_agree(&all);
    for (target, kernel, thread_id, triple, processor, families) in [
        (
            "amdgpu",
            "amdgpu_kernel",
            "llvm.amdgcn.workitem.id.x",
            "amdgcn-amd-amdhsa",
            "gfx1030",
            &[Family::Generic, Family::Amdgcn, Family::R600][..],
        ),
        (
            "nvptx",
            "ptx_kernel",
            "llvm.nvvm.read.ptx.sreg.tid.x",
            "nvptx64-nvidia-cuda",
            "sm_90",
            &[Family::Generic, Family::Nvvm][..],
        ),
    ] {
        for family in families {
            let module = module(&all[family], kernel, thread_id, triple);
            let Some(classes) = classify(&module, processor) else { return };
            assert_eq!(
                classes.len() + if *family == Family::Generic { 4 } else { 0 },
                all[family].len(),
                "every intrinsic of {family:?} was classified"
            );
            let architecture = phalanx_target::Architecture::from_triple(triple);
            let wrong: Vec<_> = classes
                .iter()
                .filter(|(callee, theirs)| {
                    let callee = phalanx_target::llvm_rules::Callee::Function(callee);
                    phalanx_target::llvm_rules::call(architecture, callee, false) != **theirs
                })
                .collect();
            assert!(wrong.is_empty(), "{target}: LLVM says {wrong:?}");
        }
    }
}

/// Memory effects, convergence and the other attributes, as LLVM prints them on declarations.
fn attributes_agree(all: &BTreeMap<Family, Vec<Signature>>) {
    let declarations: String =
        all.values().flatten().filter(|s| !s.base.starts_with("llvm.dbg.")).map(declare).collect();
    let Some(output) = oracle::run("opt-22", &["-S", "-disable-verify", "-"], &declarations) else {
        return;
    };
    assert!(output.success, "{}", output.stderr);
    let groups: BTreeMap<&str, &str> = output
        .stdout
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.strip_prefix("attributes #")?.split_once(" = { ")?;
            Some((number, rest.strip_suffix(" }")?))
        })
        .collect();
    let mut compared = 0;
    for line in output.stdout.lines() {
        let Some((_, rest)) = line.split_once("@llvm.") else { continue };
        let name = format!("llvm.{}", rest.split_once('(').unwrap().0);
        let attributes = line
            .rsplit_once(") #")
            .map_or("", |(_, group)| groups.get(group).copied().unwrap_or(""));
        let found = phalanx_target::intrinsics::lookup(&name).unwrap();
        let info = found.info;
        let has = |attribute: &str| attributes.split(' ').any(|word| word == attribute);
        assert_eq!(info.memory, memory_of(attributes), "{name}: {attributes}");
        assert_eq!(info.llvm_convergent, has("convergent"), "{name}: {attributes}");
        assert!(info.convergent || !info.llvm_convergent, "{name}");
        assert_eq!(info.has_result, !line.starts_with("declare void"), "{name}");
        assert_eq!(info.speculatable, has("speculatable"), "{name}: {attributes}");
        assert_eq!(info.willreturn, has("willreturn"), "{name}: {attributes}");
        assert_eq!(info.noreturn, has("noreturn"), "{name}: {attributes}");
        assert_eq!(info.nosync, has("nosync"), "{name}: {attributes}");
        assert_eq!(info.noduplicate, has("noduplicate"), "{name}: {attributes}");
        compared += 1;
    }
    assert_eq!(compared + 4, all.values().map(Vec::len).sum::<usize>());
}

fn memory_of(attributes: &str) -> MemoryEffect {
    let Some((_, effect)) = attributes.split_once("memory(") else { return MemoryEffect::ANY };
    let effect = effect.split_once(')').unwrap().0;
    let (location, access) = match effect {
        "none" => return MemoryEffect::NONE,
        "argmem: readwrite, inaccessiblemem: readwrite" => {
            (Location::ArgumentOrInaccessible, "readwrite")
        }
        _ => match effect.split_once(": ") {
            Some(("argmem", access)) => (Location::Argument, access),
            Some(("inaccessiblemem", access)) => (Location::Inaccessible, access),
            Some(_) => panic!("unknown effect {effect}"),
            None => (Location::Any, effect),
        },
    };
    MemoryEffect {
        location,
        reads: matches!(access, "read" | "readwrite"),
        writes: matches!(access, "write" | "readwrite"),
    }
}

/// Results of AMDGPU intrinsics that LLVM calls uniform for uniform operands and the tables do not.
/// LLVM is wrong about each of these, or the intrinsic means nothing on a GPU. The opposite case is
/// not listed: there the tables know more.
#[test]
fn where_we_say_less_than_llvm() {
    let context = TransferContext::new(&LaunchFacts::default(), true);
    let mut less = Vec::new();
    for family in [Family::Amdgcn, Family::Generic] {
        for entry in family.entries() {
            let operands = [Operand { may_be_private: false, ..Operand::of(SourceSet::EMPTY) }; 8];
            let ours = entry.info.result.evaluate(&operands[..], &context);
            if entry.info.has_result
                && entry.info.llvm != LlvmUniformity::NeverUniform
                && ours.intersects(context.wave)
            {
                less.push(full_name(&entry));
            }
        }
    }
    // Those of Objective-C, coroutines, exceptions and garbage collection.
    let foreign = ["llvm.objc.", "llvm.coro.", "llvm.eh.", "llvm.experimental.gc."];
    less.retain(|name| !foreign.iter().any(|prefix| name.starts_with(prefix)));
    expect![[r#"
        llvm.amdgcn.cluster.load.b128
        llvm.amdgcn.cluster.load.b32
        llvm.amdgcn.cluster.load.b64
        llvm.amdgcn.cooperative.atomic.load.16x8B
        llvm.amdgcn.cooperative.atomic.load.32x4B
        llvm.amdgcn.cooperative.atomic.load.8x16B
        llvm.amdgcn.cvt.scale.pk16.bf16.bf6
        llvm.amdgcn.cvt.scale.pk16.bf16.fp6
        llvm.amdgcn.cvt.scale.pk16.f16.bf6
        llvm.amdgcn.cvt.scale.pk16.f16.fp6
        llvm.amdgcn.cvt.scale.pk16.f32.bf6
        llvm.amdgcn.cvt.scale.pk16.f32.fp6
        llvm.amdgcn.cvt.scale.pk8.bf16.bf8
        llvm.amdgcn.cvt.scale.pk8.bf16.fp4
        llvm.amdgcn.cvt.scale.pk8.bf16.fp8
        llvm.amdgcn.cvt.scale.pk8.f16.bf8
        llvm.amdgcn.cvt.scale.pk8.f16.fp4
        llvm.amdgcn.cvt.scale.pk8.f16.fp8
        llvm.amdgcn.cvt.scale.pk8.f32.bf8
        llvm.amdgcn.cvt.scale.pk8.f32.fp4
        llvm.amdgcn.cvt.scale.pk8.f32.fp8
        llvm.amdgcn.ds.add.gs.reg.rtn
        llvm.amdgcn.ds.atomic.barrier.arrive.rtn.b64
        llvm.amdgcn.ds.bvh.stack.push4.pop1.rtn
        llvm.amdgcn.ds.bvh.stack.push8.pop1.rtn
        llvm.amdgcn.ds.bvh.stack.push8.pop2.rtn
        llvm.amdgcn.ds.bvh.stack.rtn
        llvm.amdgcn.ds.permute
        llvm.amdgcn.ds.sub.gs.reg.rtn
        llvm.amdgcn.flat.load.monitor.b128
        llvm.amdgcn.flat.load.monitor.b32
        llvm.amdgcn.flat.load.monitor.b64
        llvm.amdgcn.interp.inreg.p10
        llvm.amdgcn.interp.inreg.p10.f16
        llvm.amdgcn.interp.inreg.p2
        llvm.amdgcn.interp.inreg.p2.f16
        llvm.amdgcn.interp.p10.rtz.f16
        llvm.amdgcn.interp.p2.rtz.f16
        llvm.amdgcn.permlane64
        llvm.amdgcn.raw.buffer.atomic.sub.clamp.u32
        llvm.amdgcn.raw.ptr.buffer.atomic.sub.clamp.u32
        llvm.amdgcn.struct.buffer.atomic.sub.clamp.u32
        llvm.amdgcn.struct.ptr.buffer.atomic.sub.clamp.u32
        llvm.addressofreturnaddress
        llvm.adjust.trampoline
        llvm.allow.runtime.check
        llvm.allow.sanitize.address
        llvm.allow.sanitize.hwaddress
        llvm.allow.sanitize.memory
        llvm.allow.sanitize.thread
        llvm.allow.ubsan.check
        llvm.call.preallocated.arg
        llvm.call.preallocated.setup
        llvm.experimental.deoptimize
        llvm.experimental.patchpoint
        llvm.experimental.widenable.condition
        llvm.frameaddress
        llvm.gcread
        llvm.get.dynamic.area.offset
        llvm.invariant.start
        llvm.localaddress
        llvm.localrecover
        llvm.loop.decrement
        llvm.loop.decrement.reg
        llvm.protected.field.ptr
        llvm.ptrauth.auth
        llvm.ptrauth.blend
        llvm.ptrauth.resign
        llvm.ptrauth.sign
        llvm.ptrauth.sign.generic
        llvm.ptrauth.strip
        llvm.read_volatile_register
        llvm.returnaddress
        llvm.sponentry
        llvm.stackaddress
        llvm.stackguard
        llvm.stacksave
        llvm.start.loop.iterations
        llvm.swift.async.context.addr
        llvm.test.set.loop.iterations
        llvm.test.start.loop.iterations
        llvm.thread.pointer
        llvm.threadlocal.address"#]]
    .assert_eq(&less.join("\n"));
}
