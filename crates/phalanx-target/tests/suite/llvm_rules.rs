//! The rules of [`phalanx_target::llvm_rules`] and of the other modules against the installed LLVM:
//! each test writes functions that exercise a rule, asks `opt-22`, and compares line by line.

use crate::oracle;

use std::fmt::Write as _;

use phalanx_ir::CallConv;
use phalanx_ir::data_layout::{Alignment, DataLayout};
use phalanx_target::calling_convention::llvm_argument_is_uniform;
use phalanx_target::inline_asm::{self, Constraints, ResultShape};
use phalanx_target::llvm_rules::{self, AmdgpuWorkgroup, Callee};
use phalanx_target::{AddressSpace, Architecture, LlvmUniformity, Target};

const AMDGPU: &str = "target triple = \"amdgcn-amd-amdhsa\"\n";
const NVPTX: &str = "target triple = \"nvptx64-nvidia-cuda\"\n";

fn divergent(functions: &[(String, oracle::Lines)], function: &str, value: &str) -> bool {
    let (_, lines) = functions.iter().find(|(name, _)| name == function).unwrap();
    oracle::is_divergent(lines, value).unwrap_or_else(|| panic!("no %{value} in {function}"))
}

/// Divergent with uniform operands exactly if never uniform.
fn never(uniformity: LlvmUniformity) -> bool {
    uniformity == LlvmUniformity::NeverUniform
}

#[test]
fn loads_by_address_space() {
    for (architecture, triple, kernel, spaces) in [
        (
            Architecture::Amdgcn,
            AMDGPU,
            "amdgpu_kernel",
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 128][..],
        ),
        (Architecture::Nvptx, NVPTX, "ptx_kernel", &[0, 1, 2, 3, 4, 5, 6, 7, 9, 101][..]),
        (Architecture::Generic, "", "", &[0, 1, 5][..]),
    ] {
        let mut module = format!("{triple}define {kernel} void @f(");
        let parameters: Vec<_> =
            spaces.iter().map(|space| format!("ptr addrspace({space}) %p{space}")).collect();
        writeln!(module, "{}) {{", parameters.join(", ")).unwrap();
        for space in spaces {
            writeln!(module, " %l{space} = load i32, ptr addrspace({space}) %p{space}").unwrap();
            writeln!(
                module,
                " %a{space} = load atomic i32, ptr addrspace({space}) %p{space} acquire, align 4"
            )
            .unwrap();
        }
        module += " ret void\n}\n";
        let Some(functions) = oracle::uniformity(&module, "") else { return };
        for space in spaces {
            for value in ["l", "a"] {
                assert_eq!(
                    divergent(&functions, "f", &format!("{value}{space}")),
                    never(llvm_rules::load(architecture, *space)),
                    "{architecture} address space {space}"
                );
            }
            // If LLVM treats a space as private, so does the table.
            if never(llvm_rules::load(architecture, *space)) {
                assert!(AddressSpace::of(architecture, *space).may_be_private(true));
            }
        }
    }
}

#[test]
fn atomics_calls_and_registers() {
    let body = "(ptr addrspace(1) %p, i32 %u, ptr %f) {\n\
        %rmw = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic\n\
        %cas = cmpxchg ptr addrspace(1) %p, i32 1, i32 2 monotonic monotonic\n\
        %call = call i32 @external(i32 %u)\n\
        %indirect = call i32 %f(i32 %u)\n\
        %marked = call i32 @external(i32 %u) nodivergencesource\n\
        %unknown = call i32 @llvm.unknown.thing(i32 %u)\n\
        %sqrt = call float @llvm.sqrt.f32(float 2.0)\n\
        fence acquire\n\
        store atomic i32 0, ptr addrspace(1) %p release, align 4\n";
    let registers = ["s0", "v0", "a0", "v[0:1]", "vcc", "vcc_lo", "exec", "m0", "foo"];
    for (architecture, triple, kernel) in [
        (Architecture::Amdgcn, AMDGPU, "amdgpu_kernel"),
        (Architecture::Nvptx, NVPTX, "ptx_kernel"),
    ] {
        let mut module = format!(
            "{triple}declare i32 @external(i32)\ndeclare i32 @llvm.unknown.thing(i32)\n\
             declare i32 @llvm.read_register.i32(metadata)\ndefine {kernel} void @f{body}"
        );
        for (i, _) in registers.iter().enumerate() {
            writeln!(module, "%r{i} = call i32 @llvm.read_register.i32(metadata !{i})").unwrap();
        }
        module += "ret void\n}\n";
        for (i, name) in registers.iter().enumerate() {
            writeln!(module, "!{i} = !{{!\"{name}\"}}").unwrap();
        }
        let Some(functions) = oracle::uniformity(&module, "") else { return };
        let says = |value: &str| divergent(&functions, "f", value);
        let call = |callee, marked| never(llvm_rules::call(architecture, callee, marked));
        assert_eq!(says("rmw"), never(llvm_rules::atomic_read_modify_write(architecture)));
        assert_eq!(says("cas"), never(llvm_rules::atomic_read_modify_write(architecture)));
        assert_eq!(says("call"), call(Callee::Function("external"), false));
        assert_eq!(says("indirect"), call(Callee::Indirect, false));
        assert_eq!(says("marked"), call(Callee::Function("external"), true));
        assert_eq!(says("unknown"), call(Callee::Function("llvm.unknown.thing"), false));
        assert_eq!(says("sqrt"), call(Callee::Function("llvm.sqrt.f32"), false));
        for (i, name) in registers.iter().enumerate() {
            let ours = never(llvm_rules::read_register(architecture, name));
            assert_eq!(says(&format!("r{i}")), ours, "{architecture} {name}");
        }
        let (_, lines) = &functions[0];
        for start in ["fence", "store atomic"] {
            let (theirs, _) = lines.iter().find(|(_, line)| line.starts_with(start)).unwrap();
            assert_eq!(*theirs, never(llvm_rules::fence_or_atomic_store(architecture)), "{start}");
        }
    }
}

/// Always-uniform values stay uniform among divergent threads and with divergent operands.
#[test]
fn always_uniform_values() {
    let module = format!(
        "{AMDGPU}declare i32 @external(i32)\n\
         define amdgpu_kernel void @f(i1 %u) !reqd_work_group_size !0 {{\n\
         entry:\n  %x = call i32 @llvm.amdgcn.workitem.id.x()\n  %c = icmp eq i32 %x, 0\n  br i1 %c, label %p, label %q\n\
         p:\n\
         %shift = lshr i32 %x, 6\n\
         %mask = and i32 64, %x\n\
         %marked = call i32 @external(i32 %x) nodivergencesource\n\
         %if = call {{ i1, i64 }} @llvm.amdgcn.if.i64(i1 %c)\n\
         %if0 = extractvalue {{ i1, i64 }} %if, 0\n\
         %if1 = extractvalue {{ i1, i64 }} %if, 1\n\
         %else = call {{ i1, i64 }} @llvm.amdgcn.else.i64.i64(i64 %if1)\n\
         %else1 = extractvalue {{ i1, i64 }} %else, 1\n\
         %asm = call {{ i32, i32 }} asm \"\", \"=s,=v,v\"(i32 %x)\n\
         %asm0 = extractvalue {{ i32, i32 }} %asm, 0\n\
         %asm1 = extractvalue {{ i32, i32 }} %asm, 1\n\
         br label %q\n\
         q:\n  br i1 %u, label %p, label %r\nr:\n  ret void\n}}\n!0 = !{{i32 64, i32 1, i32 1}}\n"
    );
    let Some(functions) = oracle::uniformity(&module, "gfx906") else { return };
    let always = |uniformity| uniformity == LlvmUniformity::AlwaysUniform;
    let says = |value: &str| !divergent(&functions, "f", value);
    let workgroup =
        AmdgpuWorkgroup { required: Some([64, 1, 1]), max_flat_size: None, wave_width: 64 };
    let extracted =
        |callee, index| always(llvm_rules::extracted_result(Architecture::Amdgcn, callee, index));
    assert_eq!(says("shift"), always(llvm_rules::shifted_workitem_id_x(6, &workgroup)));
    assert_eq!(says("mask"), always(llvm_rules::masked_workitem_id_x(6, &workgroup)));
    assert!(says("marked"));
    assert_eq!(says("if0"), extracted("llvm.amdgcn.if.i64", 0));
    assert_eq!(says("if1"), extracted("llvm.amdgcn.if.i64", 1));
    assert_eq!(says("else1"), extracted("llvm.amdgcn.else.i64.i64", 1));
    let constraints = Constraints::parse("=s,=v,v").unwrap();
    let outputs: Vec<_> = constraints
        .outputs()
        .map(|output| inline_asm::llvm_output(output, ResultShape::Integer(32)))
        .collect();
    assert_eq!(says("asm"), always(inline_asm::llvm_call(&outputs)));
    assert_eq!(says("asm0"), always(outputs[0]));
    assert_eq!(says("asm1"), always(outputs[1]));
}

/// Thread ids, shifted and masked, for every relevant combination of workgroup size and wave width.
#[test]
fn thread_ids_by_workgroup() {
    let extents = [0, 1, 2, 16, 32, 33, 48, 64, 65, 96, 128, 192, 256];
    let mut required = vec![None];
    for x in extents {
        for y in [0, 1, 2, 3, 4, 64] {
            for z in [1, 2] {
                required.push(Some([x, y, z]));
            }
        }
    }
    let mut cases: Vec<_> = required.iter().map(|required| (*required, None)).collect();
    for flat in [1, 32, 64, 1024] {
        cases.push((None, Some(flat)));
        cases.push((Some([64, 1, 1]), Some(flat)));
    }
    let shifts = [0u64, 4, 5, 6, 7, 31, 40];
    let mut metadata = String::new();
    let mut module = AMDGPU.to_owned();
    for (i, (required, flat)) in cases.iter().enumerate() {
        let mut attributes = String::new();
        if let Some(flat) = flat {
            write!(attributes, " \"amdgpu-flat-work-group-size\"=\"1,{flat}\"").unwrap();
        }
        if let Some([x, y, z]) = required {
            write!(attributes, " !reqd_work_group_size !{i}").unwrap();
            writeln!(metadata, "!{i} = !{{i32 {x}, i32 {y}, i32 {z}}}").unwrap();
        }
        writeln!(module, "define amdgpu_kernel void @f{i}(){attributes} {{").unwrap();
        for dimension in ["x", "y", "z"] {
            writeln!(module, " %{dimension} = call i32 @llvm.amdgcn.workitem.id.{dimension}()")
                .unwrap();
        }
        for shift in shifts {
            writeln!(module, " %l{shift} = lshr i32 %x, {shift}").unwrap();
            writeln!(module, " %a{shift} = ashr i32 %x, {shift}").unwrap();
            writeln!(module, " %y{shift} = lshr i32 %y, {shift}").unwrap();
            let mask = (u64::from(u32::MAX) << shift) & u64::from(u32::MAX);
            writeln!(module, " %m{shift} = and i32 %x, {mask}").unwrap();
            writeln!(module, " %n{shift} = and i32 {mask}, %x").unwrap();
        }
        module += " ret void\n}\n";
    }
    module += &metadata;
    let mut uniform = 0;
    for (processor, wave_width) in [("gfx906", 64), ("gfx1030", 32)] {
        let Some(functions) = oracle::uniformity(&module, processor) else { return };
        for (i, (required, max_flat_size)) in cases.iter().enumerate() {
            let workgroup =
                AmdgpuWorkgroup { required: *required, max_flat_size: *max_flat_size, wave_width };
            let single = workgroup.is_single_thread();
            let check = |value: String, ours: bool| {
                let theirs = divergent(&functions, &format!("f{i}"), &value);
                assert_eq!(theirs, ours && !single, "%{value} in {workgroup:?}");
                usize::from(!theirs)
            };
            let id: Vec<bool> =
                (0..3).map(|d| never(llvm_rules::workitem_id(d, &workgroup))).collect();
            for (d, name) in ["x", "y", "z"].iter().enumerate() {
                uniform += check((*name).to_owned(), id[d]);
            }
            for shift in shifts {
                let always = LlvmUniformity::AlwaysUniform;
                let shifted = llvm_rules::shifted_workitem_id_x(shift, &workgroup) != always;
                let masked =
                    llvm_rules::masked_workitem_id_x(shift.min(32) as u32, &workgroup) != always;
                uniform += check(format!("l{shift}"), shifted);
                uniform += check(format!("a{shift}"), shifted);
                uniform += check(format!("m{shift}"), masked);
                uniform += check(format!("n{shift}"), masked);
                // The rule is for x alone.
                uniform += check(format!("y{shift}"), id[1]);
            }
        }
    }
    assert!(uniform > 1000, "{uniform}");
}

/// If LLVM calls a thread id, shifted or not, uniform in waves, then it is, provided that the
/// workgroup has the stated size.
#[test]
fn llvm_is_sound_about_thread_ids() {
    let mut claims = 0;
    for wave_width in [32, 64] {
        for x in [1, 2, 16, 32, 33, 48, 64, 65, 96, 128, 192, 256] {
            for y in 1..=4 {
                for z in 1..=2 {
                    let workgroup = AmdgpuWorkgroup {
                        required: Some([x, y, z]),
                        max_flat_size: None,
                        wave_width,
                    };
                    let threads: Vec<[u32; 3]> = (0..x * y * z)
                        .map(|linear| [linear % x, linear / x % y, linear / (x * y)])
                        .collect();
                    let same = |f: &dyn Fn(&[u32; 3]) -> u32| {
                        threads
                            .chunks(wave_width as usize)
                            .all(|wave| wave.iter().all(|t| f(t) == f(&wave[0])))
                    };
                    for d in 0..3 {
                        if !never(llvm_rules::workitem_id(d, &workgroup)) {
                            assert!(same(&|thread| thread[d]), "dimension {d} of {workgroup:?}");
                            claims += 1;
                        }
                    }
                    for shift in 0..9u32 {
                        let said = llvm_rules::shifted_workitem_id_x(u64::from(shift), &workgroup);
                        if said == LlvmUniformity::AlwaysUniform {
                            assert!(
                                same(&|thread| thread[0] >> shift),
                                "x >> {shift} of {workgroup:?}"
                            );
                            claims += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(claims > 500, "{claims}");
}

#[test]
fn arguments_by_calling_convention() {
    let numbers: Vec<u32> = (0..=127).collect();
    for (architecture, triple) in [
        (Architecture::Amdgcn, AMDGPU),
        (Architecture::Nvptx, NVPTX),
        (Architecture::Spirv, "target triple = \"spirv64--\"\n"),
        (Architecture::R600, "target triple = \"r600--\"\n"),
        (Architecture::Generic, ""),
    ] {
        let mut module = triple.to_owned();
        for n in &numbers {
            writeln!(
                module,
                "define cc {n} void @f{n}(i32 %plain, i32 inreg %inreg, ptr byval(i32) %byval) {{\n ret void\n}}"
            )
            .unwrap();
        }
        let Some(functions) = oracle::uniformity(&module, "") else { return };
        assert_eq!(functions.len(), numbers.len());
        for (n, (_, lines)) in numbers.iter().zip(&functions) {
            let theirs = |name: &str| {
                !lines
                    .iter()
                    .any(|(divergent, line)| *divergent && line.ends_with(&format!(" %{name}")))
            };
            let ours =
                |inreg, byval| llvm_argument_is_uniform(architecture, CallConv(*n), inreg, byval);
            let place = format!("{architecture} cc {n}");
            assert_eq!(theirs("plain"), ours(false, false), "{place}");
            assert_eq!(theirs("inreg"), ours(true, false), "{place}");
            assert_eq!(theirs("byval"), ours(false, true), "{place}");
        }
    }
}

#[test]
fn calling_conventions_are_called_as_in_llvm() {
    let module: String = (0..=130).map(|n| format!("declare cc {n} void @f{n}()\n")).collect();
    let Some(output) = oracle::run("opt-22", &["-S", "-disable-verify", "-"], &module) else {
        return;
    };
    let mut compared = 0;
    for line in output.stdout.lines() {
        let Some(rest) = line.strip_prefix("declare ") else { continue };
        let (name, rest) = rest.split_once("void @f").unwrap();
        let number: u32 = rest.trim_end_matches("()").parse().unwrap();
        let ours = CallConv(number).text().unwrap_or_default();
        let ours = if number == 0 { "" } else { ours };
        let theirs = if name.trim() == format!("cc{number}") { "" } else { name.trim() };
        assert_eq!(theirs, ours, "cc {number}");
        compared += 1;
    }
    assert_eq!(compared, 131);
}

#[test]
fn results_of_inline_assembly() {
    let constraints = [
        "=s",
        "=v",
        "=a",
        "=r",
        "=&s",
        "=&v",
        "=x",
        "=m",
        "=rm",
        "=^VA",
        "=VA",
        "={s0}",
        "={v0}",
        "={a0}",
        "={scc}",
        "={flat_scratch}",
        "={ttmp0}",
        "={v[0:1]}",
        "={s[0:1]}",
        "={a[0:1]}",
        "={vcc}",
        "={vcc_lo}",
        "={exec_lo}",
        "={m0}",
        "={foo}",
        "=s|v",
        "=v|s",
        "=sv",
        "=vs",
        "=X",
        "=g",
        "=I",
        "={sgpr0}",
        "={vgpr0}",
        "={mode}",
        "={s[0:0]}",
        "={pc}",
        "={src_scc}",
        "={tba}",
        "={ttmp[0:1]}",
        "={xnack_mask}",
        "={src_shared_base}",
        "={lds_direct}",
        "={vccz}",
        "={v256}",
        "={s200}",
        "=S",
        "=V",
        "=J",
        "=%s",
        "=?s",
    ];
    let shapes = [
        ("i32", ResultShape::Integer(32)),
        ("i64", ResultShape::Integer(64)),
        ("i16", ResultShape::Integer(16)),
        ("i1", ResultShape::Integer(1)),
        ("i8", ResultShape::Integer(8)),
        ("i128", ResultShape::Integer(128)),
        ("i65", ResultShape::Integer(65)),
        ("half", ResultShape::Float(16)),
        ("float", ResultShape::Float(32)),
        ("double", ResultShape::Float(64)),
        ("ptr", ResultShape::Pointer(64)),
        ("ptr addrspace(3)", ResultShape::Pointer(32)),
        ("<2 x i16>", ResultShape::Vector { elements: 2, element_bits: 16 }),
        ("<4 x i32>", ResultShape::Vector { elements: 4, element_bits: 32 }),
        ("<13 x i32>", ResultShape::Vector { elements: 13, element_bits: 32 }),
        ("<2 x i64>", ResultShape::Vector { elements: 2, element_bits: 64 }),
        ("[2 x i32]", ResultShape::Aggregate),
    ];
    let mut module = format!("{AMDGPU}define amdgpu_kernel void @f() {{\n");
    for (c, constraint) in constraints.iter().enumerate() {
        for (s, (name, _)) in shapes.iter().enumerate() {
            writeln!(module, " %c{c}.{s} = call {name} asm \"\", \"{constraint}\"()").unwrap();
        }
    }
    module += " ret void\n}\n";
    let Some(functions) = oracle::uniformity(&module, "gfx1030") else { return };
    let mut wrong = String::new();
    for (c, constraint) in constraints.iter().enumerate() {
        for (s, (name, shape)) in shapes.iter().enumerate() {
            let theirs = divergent(&functions, "f", &format!("c{c}.{s}"));
            let parsed = Constraints::parse(constraint).unwrap();
            let output = parsed.outputs().next().unwrap();
            let ours = inline_asm::llvm_output(output, *shape);
            if theirs != never(ours) {
                writeln!(wrong, "{constraint} {name}: LLVM says {theirs}").unwrap();
            }
            // Results that are certainly scalar are uniform for LLVM too, if the register exists
            // for the type.
            if inline_asm::output_is_scalar(Architecture::Amdgcn, output) && name == &"i32" {
                assert!(!theirs || constraint.contains(':'), "{constraint}");
            }
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn wave_width_by_processor() {
    let module = format!(
        "{AMDGPU}define amdgpu_kernel void @f() !reqd_work_group_size !0 {{\n\
         %y = call i32 @llvm.amdgcn.workitem.id.y()\n ret void\n}}\n!0 = !{{i32 32, i32 2, i32 1}}\n"
    );
    let processors = [
        "",
        "generic",
        "tahiti",
        "gfx600",
        "gfx803",
        "gfx900",
        "gfx90a",
        "gfx90c",
        "gfx942",
        "gfx950",
        "gfx1010",
        "gfx1030",
        "gfx1036",
        "gfx1100",
        "gfx1151",
        "gfx1201",
        "gfx1250",
        "gfx9-generic",
        "gfx9-4-generic",
        "gfx10-1-generic",
        "gfx10-3-generic",
        "gfx11-generic",
        "gfx12-generic",
        "gfx1300",
    ];
    for processor in processors {
        let Some(functions) = oracle::uniformity(&module, processor) else { return };
        let theirs = if divergent(&functions, "f", "y") { 64 } else { 32 };
        let ours = Target::new("amdgcn-amd-amdhsa", processor).wave_width("", "");
        assert_eq!(ours, Some(theirs), "{processor}");
    }
}

/// Sizes and alignments that LLVM prints for loads without stated ones, against this crate's.
#[test]
fn alignments_by_data_layout() {
    let layouts = [
        "",
        "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48\
         -p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024\
         -v2048:2048-n32:64-S32-A5-G1-ni:7:8:9",
        "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64",
        "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1",
        "e-p:32:32:64-i1:32-f64:32:64-v128:32-f80:128",
    ];
    let integers = [1, 7, 8, 9, 16, 24, 32, 33, 64, 65, 128, 256, 1000];
    let floats = [("half", 16), ("float", 32), ("double", 64), ("fp128", 128), ("x86_fp80", 80)];
    let vectors = [
        (2, 8),
        (3, 8),
        (2, 16),
        (3, 16),
        (3, 32),
        (4, 32),
        (5, 32),
        (6, 32),
        (8, 32),
        (16, 32),
        (64, 32),
        (3, 1),
    ];
    for layout in layouts {
        let mut module = format!("target datalayout = \"{layout}\"\ndefine void @f(ptr %p) {{\n");
        let mut expected = Vec::new();
        let parsed = DataLayout::parse(layout).unwrap();
        let mut add = |t: String, alignment: Alignment| {
            writeln!(module, " %l{n} = load {t}, ptr %p\n %a{n} = alloca {t}", n = expected.len())
                .unwrap();
            expected.push((t, alignment));
        };
        for bits in integers {
            add(format!("i{bits}"), parsed.integer_alignment(bits));
        }
        for (name, bits) in floats {
            add(name.to_owned(), parsed.float_alignment(bits));
        }
        for (count, bits) in vectors {
            add(format!("<{count} x i{bits}>"), parsed.vector_alignment(count * bits));
        }
        for space in 0..10 {
            add(format!("ptr addrspace({space})"), parsed.pointer(space).alignment);
        }
        module += " ret void\n}\n";
        let Some(output) = oracle::run("opt-22", &["-S", "-disable-verify", "-"], &module) else {
            return;
        };
        assert!(output.success, "{}", output.stderr);
        for (n, (t, alignment)) in expected.iter().enumerate() {
            let of = |prefix: &str| -> u32 {
                let start = format!("  %{prefix}{n} = ");
                let line = output.stdout.lines().find(|line| line.starts_with(&start)).unwrap();
                let (_, rest) = line.split_once("align ").unwrap();
                rest.split(',').next().unwrap().parse().unwrap()
            };
            assert_eq!(of("l"), alignment.abi, "load {t} with `{layout}`");
            assert_eq!(of("a"), alignment.preferred, "alloca {t} with `{layout}`");
        }
    }
}
