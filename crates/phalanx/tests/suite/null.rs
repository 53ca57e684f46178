//! Null pointers of address spaces in comparisons and casts: their values in execution, and that
//! passes preserve them.
//!
//! In LLVM `null` is the address 0 in every space, and the target defines its casts. On AMD GPUs
//! generic null is -1 in workgroup and private memory, where 0 is an ordinary address (*User Guide
//! for AMDGPU Backend*, address spaces). On NVIDIA GPUs a cast subtracts the start of the memory
//! (PTX, `cvta.to`), so generic null is not a valid address there either. On both the first
//! variable of workgroup memory is at 0.

use std::fmt::Write as _;

use phalanx::{Session, db::TargetOverrides, transform};
use phalanx_simt::{Arg, Launch, Program, Silent, run};

/// A comparison, with what it gives on AMD and NVIDIA GPUs.
struct Case {
    /// Instructions before it, if it takes any.
    before: &'static str,
    compare: &'static str,
    amdgcn: bool,
    nvptx: bool,
}

const CASES: &[Case] = &[
    Case {
        before: "",
        compare: "icmp eq ptr addrspace(3) null, inttoptr (i32 0 to ptr addrspace(3))",
        amdgcn: true,
        nvptx: true,
    },
    // The first variable is where null points.
    Case {
        before: "",
        compare: "icmp eq ptr addrspace(3) @first, null",
        amdgcn: true,
        nvptx: true,
    },
    Case {
        before: "",
        compare: "icmp eq ptr addrspace(3) @second, null",
        amdgcn: false,
        nvptx: false,
    },
    Case {
        before: "",
        compare: "icmp ugt ptr addrspace(3) @first, null",
        amdgcn: false,
        nvptx: false,
    },
    Case {
        before: "",
        compare: "icmp eq ptr addrspace(1) @device, null",
        amdgcn: false,
        nvptx: false,
    },
    // Generic null in workgroup memory.
    Case {
        before: "%c = addrspacecast ptr %null to ptr addrspace(3)",
        compare: "icmp eq ptr addrspace(3) %c, null",
        amdgcn: false,
        nvptx: false,
    },
    Case {
        before: "%c = addrspacecast ptr %null to ptr addrspace(3)",
        compare: "icmp eq ptr addrspace(3) %c, inttoptr (i32 -1 to ptr addrspace(3))",
        amdgcn: true,
        nvptx: false,
    },
    Case {
        before: "",
        compare: "icmp eq ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3)), null",
        amdgcn: false,
        nvptx: false,
    },
    // Address 0 of workgroup and private memory, as generic addresses.
    Case {
        before: "%c = addrspacecast ptr addrspace(3) %first to ptr",
        compare: "icmp eq ptr %c, null",
        amdgcn: false,
        nvptx: false,
    },
    Case {
        before: "",
        compare: "icmp eq ptr addrspacecast (ptr addrspace(3) null to ptr), null",
        amdgcn: false,
        nvptx: false,
    },
    Case {
        before: "",
        compare: "icmp eq ptr addrspacecast (ptr addrspace(5) null to ptr), null",
        amdgcn: false,
        nvptx: false,
    },
    // There and back again.
    Case {
        before: "%a = addrspacecast ptr %null to ptr addrspace(5)\n  %c = addrspacecast ptr addrspace(5) %a to ptr",
        compare: "icmp eq ptr %c, null",
        amdgcn: true,
        nvptx: true,
    },
    // Device memory has the null of the generic space.
    Case {
        before: "%c = addrspacecast ptr %null to ptr addrspace(1)",
        compare: "icmp eq ptr addrspace(1) %c, null",
        amdgcn: true,
        nvptx: true,
    },
    // A selection of null and of what is at null.
    Case {
        before: "%s = select i1 %bit, ptr addrspace(3) null, ptr addrspace(3) @first",
        compare: "icmp eq ptr addrspace(3) %s, @first",
        amdgcn: true,
        nvptx: true,
    },
];

/// Kernels that store what each comparison gives, and read the variable at null.
fn module(is_amd: bool) -> String {
    let (triple, convention) = match is_amd {
        true => ("amdgcn-amd-amdhsa", "amdgpu_kernel"),
        false => ("nvptx64-nvidia-cuda", "ptx_kernel"),
    };
    let mut text = format!(
        "target triple = \"{triple}\"
@first = internal addrspace(3) global i32 undef
@second = internal addrspace(3) global i32 undef
@device = internal addrspace(1) global i32 0\n"
    );
    for (number, case) in CASES.iter().enumerate() {
        let Case { before, compare, .. } = case;
        let _ = writeln!(
            text,
            "define {convention} void @case{number}(ptr addrspace(1) %out, ptr %null, ptr addrspace(3) %first, i1 %bit) {{
  {before}
  %holds = {compare}
  %wide = zext i1 %holds to i32
  store i32 %wide, ptr addrspace(1) %out
  ret void
}}"
        );
    }
    let _ = writeln!(
        text,
        "define {convention} void @load(ptr addrspace(1) %out, ptr %null, ptr addrspace(3) %first, i1 %bit) {{
  store i32 7, ptr addrspace(3) @first
  %v = load i32, ptr addrspace(3) null
  %is.null = icmp eq ptr addrspace(3) %first, null
  %w = select i1 %is.null, i32 %v, i32 0
  store i32 %w, ptr addrspace(1) %out
  ret void
}}"
    );
    text
}

/// What a kernel of a module leaves.
fn executed(text: &str, kernel: &str) -> u32 {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is a module");
    let parsed = phalanx::llvm::parse_module(session.context().clone(), text.as_bytes());
    let parsed = parsed.expect("it is read again").module;
    let program = Program::new(&parsed, session.target(module)).expect("it can be run");
    let mut memory = program.memory(1).expect("there is room");
    let out = memory.buffer(&[0xff; 4]).expect("there is room");
    let args = [out, 0, 0, 1].map(Arg::bits).to_vec();
    let launch = Launch { args, ..Launch::default() };
    run(&program, kernel, &launch, &mut memory, &mut Silent).expect("it ends");
    let bytes = memory.bytes(out, 4).expect("it is there");
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// The text of a module after some passes.
fn after(text: &str, passes: &str) -> String {
    let mut session = Session::new();
    let module = session.read_for(text.as_bytes(), TargetOverrides::default());
    let module = module.expect("the text is a module");
    let registry = transform::Registry::standard();
    let pipeline = transform::Pipeline::parse(passes, &registry).expect("there are such passes");
    let db = session.database_mut();
    transform::Manager::default()
        .run(db, module.input(), &pipeline, &mut |_, _| {})
        .expect("they do not fail");
    String::from_utf8(session.print(module)).expect("it is text")
}

#[test]
fn comparisons_with_null() {
    for is_amd in [true, false] {
        let text = module(is_amd);
        for passes in ["", "instsimplify", "early-cse,instsimplify,dce", "infer-address-spaces"] {
            let text = if passes.is_empty() { text.clone() } else { after(&text, passes) };
            for (number, case) in CASES.iter().enumerate() {
                let expected = if is_amd { case.amdgcn } else { case.nvptx };
                let found = executed(&text, &format!("case{number}"));
                assert_eq!(found, u32::from(expected), "{passes} {is_amd} {}", case.compare);
            }
            assert_eq!(executed(&text, "load"), 7, "{passes} {is_amd}");
        }
    }
}
