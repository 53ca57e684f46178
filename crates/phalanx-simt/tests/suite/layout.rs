//! Offsets in random types: compares the interpreter with LLVM's constant folding of the same
//! addresses.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Launch, Observer, Program, Value, observe::Moment, run};
use phalanx_target::Target;
use phalanx_testing::llvm_tools;

/// A linear congruential generator.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Types as text, with the ways into one of their parts.
enum Kind {
    Scalar(String),
    Vector(u64, String),
    Array(u64, Box<Kind>),
    Struct { packed: bool, members: Vec<Kind> },
}

impl Kind {
    fn random(choices: &mut Choices, depth: u64) -> Kind {
        const SCALARS: [&str; 17] = [
            "i1",
            "i7",
            "i8",
            "i13",
            "i16",
            "i24",
            "i32",
            "i48",
            "i64",
            "i128",
            "half",
            "bfloat",
            "float",
            "double",
            "fp128",
            "ptr",
            "ptr addrspace(3)",
        ];
        match choices.below(if depth == 0 { 3 } else { 7 }) {
            0 | 1 => Kind::Scalar(choices.of(&SCALARS).to_owned()),
            2 => {
                let elements = ["i8", "i16", "i32", "i64", "half", "float", "double", "ptr"];
                Kind::Vector(1 + choices.below(7), choices.of(&elements).to_owned())
            }
            3 => Kind::Array(1 + choices.below(4), Box::new(Kind::random(choices, depth - 1))),
            _ => {
                let packed = choices.below(4) == 0;
                let count = 1 + choices.below(4);
                let members = (0..count).map(|_| Kind::random(choices, depth - 1)).collect();
                Kind::Struct { packed, members }
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Kind::Scalar(text) => text.clone(),
            Kind::Vector(count, element) => format!("<{count} x {element}>"),
            Kind::Array(count, element) => format!("[{count} x {}]", element.text()),
            Kind::Struct { packed, members } => {
                let members: Vec<String> = members.iter().map(Kind::text).collect();
                let (open, close) = if *packed { ("<{", "}>") } else { ("{", "}") };
                format!("{open} {} {close}", members.join(", "))
            }
        }
    }

    /// Indices to some part.
    fn path(&self, choices: &mut Choices) -> String {
        if choices.below(4) == 0 {
            return String::new();
        }
        match self {
            Kind::Scalar(_) => String::new(),
            Kind::Vector(count, _) => format!(", i64 {}", choices.below(*count)),
            Kind::Array(count, element) => {
                format!(", i64 {}{}", choices.below(*count), element.path(choices))
            }
            Kind::Struct { members, .. } => {
                let at = choices.below(members.len() as u64);
                format!(", i32 {at}{}", members[at as usize].path(choices))
            }
        }
    }
}

/// Numbers that were computed, in order.
#[derive(Default)]
struct Numbers(Vec<u128>);

impl Observer for Numbers {
    fn value(&mut self, _: Moment<'_>, value: &Value) {
        if let Value::Bits(bits) = value {
            self.0.push(*bits);
        }
    }
}

/// Addresses of parts, as instructions.
fn addresses(seed: u64) -> Vec<String> {
    let mut choices = Choices(seed);
    let address = |_| {
        let kind = Kind::random(&mut choices, 3);
        let index = 1 + choices.below(3);
        format!("getelementptr {}, ptr null, i64 {index}{}", kind.text(), kind.path(&mut choices))
    };
    (0..40).map(address).collect()
}

#[test]
fn parts_of_types_are_where_llvm_has_them() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    for (triple, kernel) in
        [("nvptx64-nvidia-cuda", "ptx_kernel"), ("amdgcn-amd-amdhsa", "amdgpu_kernel")]
    {
        let target = Target::new(triple, "");
        let layout = target.default_data_layout().expect("the target has one");
        let head = format!("target datalayout = \"{layout}\"\ntarget triple = \"{triple}\"\n");
        for seed in 0..10 {
            let all = addresses(seed);
            let functions = all.iter().enumerate().map(|(at, address)| {
                format!(
                    "define i64 @f{at}() {{\n  %a = {address}\n  %i = ptrtoint ptr %a to i64\n  ret i64 %i\n}}\n"
                )
            });
            let text = format!("{head}{}", functions.collect::<String>());
            let folded = opt.run(["-S", "-passes=instcombine", "-"], text.as_bytes());
            let folded = folded.expect("it starts");
            assert!(folded.success(), "{}\n{text}", folded.summary());
            let folded = String::from_utf8_lossy(&folded.stdout).into_owned();
            let of_llvm: Vec<u128> = folded
                .lines()
                .filter_map(|line| line.trim().strip_prefix("ret i64 ")?.parse().ok())
                .collect();
            assert_eq!(of_llvm.len(), all.len(), "{folded}");

            let lines =
                all.iter().enumerate().map(|(at, address)| format!("  %a{at} = {address}\n"));
            let text = format!(
                "{head}define {kernel} void @k() {{\n{}  ret void\n}}\n",
                lines.collect::<String>()
            );
            let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
            let module = module.unwrap_or_else(|error| panic!("{error}\n{text}")).module;
            let program = Program::new(&module, &target).expect("it is made ready");
            let mut memory = program.memory(0).expect("it is small");
            let mut ours = Numbers::default();
            run(&program, "k", &Launch::default(), &mut memory, &mut ours).expect("it ends");
            assert_eq!(ours.0.len(), all.len(), "{text}");
            for ((ours, of_llvm), address) in ours.0.iter().zip(&of_llvm).zip(&all) {
                assert_eq!(ours, of_llvm, "{triple}: {address}");
            }
        }
    }
}
