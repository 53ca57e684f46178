//! Operations on constants: the results of constant folding by `opt-22` and `phalanx opt`, and of
//! execution by `phalanx run`, are equal.
//!
//! Random operations, each in a function of its own. Results are compared where LLVM gives a
//! number: poison and `undef` may be anything, and which NaN an operation gives is unspecified.

use std::{ffi::OsStr, fmt::Write as _, fs, path::Path, sync::Arc};

use phalanx_ir::{Const, ConstKind, Context, Module, Opcode};
use phalanx_llvm::parse_module;
use phalanx_testing::llvm_tools::{self, Program};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

const INTEGERS: [&str; 10] =
    ["i1", "i7", "i8", "i16", "i32", "i33", "i64", "i128", "<2 x i8>", "<4 x i32>"];
const FLOATS: [&str; 6] = ["half", "bfloat", "float", "double", "<2 x float>", "<2 x half>"];

/// Random operations.
struct Operations {
    rng: StdRng,
}

impl Operations {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from.choose(&mut self.rng).copied().expect("something to choose from")
    }

    /// A constant of a type.
    fn constant(&mut self, ty: &str) -> String {
        if let Some((count, element)) = vector(ty) {
            let lanes: Vec<String> =
                (0..count).map(|_| format!("{element} {}", self.constant(element))).collect();
            return format!("<{}>", lanes.join(", "));
        }
        let hexadecimal =
            |prefix: &str, digits: usize, bits: u64| format!("0x{prefix}{bits:0digits$X}");
        let common = ["0.0", "-0.0", "1.0", "-1.0", "0.5", "2.5", "-2.5", "3.0", "255.0", "256.0"];
        match ty {
            // The same numbers are numbers of every format; infinities and NaN are written as bits.
            "half" => match self.rng.random_range(0..8) {
                0 => hexadecimal(
                    "H",
                    4,
                    *[0x7c00, 0xfc00, 0x7e00, 0x7bff].choose(&mut self.rng).unwrap(),
                ),
                _ => self.pick(&common).to_owned(),
            },
            "bfloat" => match self.rng.random_range(0..8) {
                0 => hexadecimal(
                    "R",
                    4,
                    *[0x7f80, 0xff80, 0x7fc0, 0x7f7f].choose(&mut self.rng).unwrap(),
                ),
                _ => self.pick(&common).to_owned(),
            },
            // On the boundary between two numbers of a shorter format, or next to it.
            "double" if self.rng.random_ratio(1, 4) => {
                let boundary = self.rng.random_range(1..1 << 8u64) << 41;
                let by = self.rng.random_range(-1..=1);
                hexadecimal("", 16, ((0x3ff_u64 << 52) + boundary).wrapping_add_signed(by))
            }
            "float" | "double" => match self.rng.random_range(0..8) {
                0 => hexadecimal(
                    "",
                    16,
                    *[0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48].choose(&mut self.rng).unwrap(),
                ),
                1 => hexadecimal(
                    "",
                    16,
                    f64::from(self.rng.random::<i32>() as f32 / 1024.0).to_bits(),
                ),
                _ => self.pick(&common).to_owned(),
            },
            "i1" => self.pick(&["true", "false"]).to_owned(),
            _ => {
                let bits = width(ty);
                let all = u128::MAX >> (128 - bits);
                let value = match self.rng.random_range(0..7) {
                    0 => 0,
                    1 => 1,
                    2 => all,
                    3 => all >> 1,
                    4 => (all >> 1) + 1,
                    5 => u128::from(bits) & all,
                    _ => self.rng.random::<u128>() & all,
                };
                value.to_string()
            }
        }
    }

    fn typed(&mut self, ty: &str) -> String {
        format!("{ty} {}", self.constant(ty))
    }

    fn call(&mut self, name: &str, result: &str, args: &[&str]) -> (String, String) {
        let args: Vec<String> = args.iter().map(|ty| self.typed(ty)).collect();
        (format!("call {result} @llvm.{name}({})", args.join(", ")), result.to_owned())
    }

    /// An operation and its type.
    fn operation(&mut self) -> (String, String) {
        match self.rng.random_range(0..11) {
            0 | 1 => {
                let ty = self.pick(&INTEGERS);
                let names = [
                    "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv",
                    "urem", "srem",
                ];
                let name = self.pick(&names);
                (format!("{name} {}, {}", self.typed(ty), self.constant(ty)), ty.to_owned())
            }
            2 => {
                let ty = self.pick(&INTEGERS);
                let how = self
                    .pick(&["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"]);
                (
                    format!("icmp {how} {}, {}", self.typed(ty), self.constant(ty)),
                    of_elements(ty, "i1"),
                )
            }
            3 => {
                let ty = self.pick(&FLOATS);
                let name = self.pick(&["fadd", "fsub", "fmul", "fdiv"]);
                (format!("{name} {}, {}", self.typed(ty), self.constant(ty)), ty.to_owned())
            }
            4 => {
                let ty = self.pick(&FLOATS);
                let how = self.pick(&[
                    "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult",
                    "ule", "une", "uno",
                ]);
                (
                    format!("fcmp {how} {}, {}", self.typed(ty), self.constant(ty)),
                    of_elements(ty, "i1"),
                )
            }
            5 => self.cast(),
            6 => {
                let ty = self.pick(&INTEGERS);
                let over = format!("{{ {ty}, {} }}", of_elements(ty, "i1"));
                let suffix = suffix(ty);
                match self.rng.random_range(0..5) {
                    0 => {
                        let name = self.pick(&["ctpop", "bitreverse"]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty])
                    }
                    1 => {
                        let name = self.pick(&["ctlz", "cttz", "abs"]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty, "i1"])
                    }
                    2 => {
                        let name = self.pick(&["fshl", "fshr"]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty, ty, ty])
                    }
                    3 => {
                        let name = self.pick(&["uadd", "sadd", "usub", "ssub", "umul", "smul"]);
                        self.call(&format!("{name}.with.overflow.{suffix}"), &over, &[ty, ty])
                    }
                    _ => {
                        let name = self.pick(&[
                            "umin", "umax", "smin", "smax", "uadd.sat", "sadd.sat", "usub.sat",
                            "ssub.sat",
                        ]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty, ty])
                    }
                }
            }
            7 => {
                let ty = self.pick(&FLOATS);
                let suffix = suffix(ty);
                match self.rng.random_range(0..3) {
                    0 => {
                        let name = self.pick(&[
                            "fabs",
                            "floor",
                            "ceil",
                            "trunc",
                            "round",
                            "roundeven",
                            "rint",
                            "sqrt",
                        ]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty])
                    }
                    1 => {
                        let to = of_elements(ty, self.pick(&["i8", "i16", "i32", "i64"]));
                        let name = self.pick(&["fptosi.sat", "fptoui.sat"]);
                        self.call(&format!("{name}.{}.{suffix}", self::suffix(&to)), &to, &[ty])
                    }
                    _ => {
                        let name = self.pick(&[
                            "copysign",
                            "minnum",
                            "maxnum",
                            "minimum",
                            "maximum",
                            "minimumnum",
                            "maximumnum",
                        ]);
                        self.call(&format!("{name}.{suffix}"), ty, &[ty, ty])
                    }
                }
            }
            8 => {
                let ty = self.pick(&["<2 x i8>", "<4 x i32>"]);
                let (_, element) = vector(ty).expect("a vector");
                let name =
                    self.pick(&["add", "mul", "and", "or", "xor", "umin", "umax", "smin", "smax"]);
                self.call(&format!("vector.reduce.{name}.{}", suffix(ty)), element, &[ty])
            }
            9 => {
                let ty = self.pick(&["<4 x i32>", "<2 x float>"]);
                let (count, element) = vector(ty).expect("a vector");
                let at = self.rng.random_range(0..count);
                match self.rng.random_range(0..2) {
                    0 => {
                        (format!("extractelement {}, i32 {at}", self.typed(ty)), element.to_owned())
                    }
                    _ => (
                        format!(
                            "insertelement {}, {}, i32 {at}",
                            self.typed(ty),
                            self.typed(element)
                        ),
                        ty.to_owned(),
                    ),
                }
            }
            _ => {
                let picked: Vec<String> =
                    (0..3).map(|_| format!("i32 {}", self.rng.random_range(0..8))).collect();
                let [one, other] = [self.typed("<4 x i32>"), self.typed("<4 x i32>")];
                (
                    format!("shufflevector {one}, {other}, <3 x i32> <{}>", picked.join(", ")),
                    "<3 x i32>".to_owned(),
                )
            }
        }
    }

    fn cast(&mut self) -> (String, String) {
        let (from, to, name) = match self.rng.random_range(0..3) {
            0 => {
                let from = self.pick(&INTEGERS);
                let to = self.pick(&["i1", "i7", "i8", "i16", "i32", "i33", "i64", "i128"]);
                match width(to).cmp(&width(from)) {
                    std::cmp::Ordering::Less => (from, to, "trunc"),
                    std::cmp::Ordering::Greater => (from, to, self.pick(&["zext", "sext"])),
                    std::cmp::Ordering::Equal => return self.cast(),
                }
            }
            1 => {
                let to = self.pick(&["half", "bfloat", "float", "double"]);
                (self.pick(&INTEGERS), to, self.pick(&["uitofp", "sitofp"]))
            }
            _ => {
                let from = self.pick(&FLOATS);
                let to =
                    self.pick(&["i8", "i16", "i32", "i64", "half", "bfloat", "float", "double"]);
                match width(to).cmp(&width(from)) {
                    _ if to.starts_with('i') => (from, to, self.pick(&["fptoui", "fptosi"])),
                    std::cmp::Ordering::Less => (from, to, "fptrunc"),
                    std::cmp::Ordering::Greater => (from, to, "fpext"),
                    std::cmp::Ordering::Equal => return self.cast(),
                }
            }
        };
        let to = of_elements(from, to);
        (format!("{name} {} to {to}", self.typed(from)), to)
    }
}

/// Number and type of the lanes of a vector.
fn vector(ty: &str) -> Option<(usize, &str)> {
    let (count, element) = ty.strip_prefix('<')?.strip_suffix('>')?.split_once(" x ")?;
    Some((count.parse().ok()?, element))
}

/// As many lanes of another type as a type has.
fn of_elements(ty: &str, element: &str) -> String {
    vector(ty).map_or_else(|| element.to_owned(), |(count, _)| format!("<{count} x {element}>"))
}

/// Bits of a lane.
fn width(ty: &str) -> u32 {
    match vector(ty).map_or(ty, |(_, element)| element) {
        "half" | "bfloat" => 16,
        "float" => 32,
        "double" => 64,
        integer => integer[1..].parse().expect("an integer type"),
    }
}

/// How the name of an intrinsic spells a type.
fn suffix(ty: &str) -> String {
    match vector(ty) {
        Some((count, element)) => format!("v{count}{}", suffix(element)),
        None => match ty {
            "bfloat" => "bf16".to_owned(),
            _ if ty.starts_with('i') => ty.to_owned(),
            _ => format!("f{}", width(ty)),
        },
    }
}

/// What functions return, as far as it is a constant.
fn returned(module: &Module) -> Vec<Option<Const>> {
    let ret = |function: &phalanx_ir::Function| {
        let &block = function.flow.order().first()?;
        let last = function.body.block_insts(block).last()?;
        let is_ret = function.body.inst(last).opcode == Opcode::Ret;
        function.body.operands(last).first().filter(|_| is_ret)?.as_const()
    };
    module.functions.iter().filter(|function| !function.is_declaration()).map(ret).collect()
}

/// Whether a constant is a number that is no NaN, or made of such.
fn is_number(context: &Context, constant: Const) -> bool {
    let data = context.const_data(constant);
    match &data.kind {
        ConstKind::Int(_) | ConstKind::Zero => true,
        ConstKind::Float(bits) => {
            let (fraction, all) = match context.type_kind(data.ty) {
                phalanx_ir::TypeKind::Half => (10, 16),
                phalanx_ir::TypeKind::BFloat => (7, 16),
                phalanx_ir::TypeKind::Float => (23, 32),
                _ => (52, 64),
            };
            bits & ((1 << (all - 1)) - 1) <= ((1 << (all - 1)) - 1) >> fraction << fraction
        }
        ConstKind::Splat(lane) => is_number(context, *lane),
        ConstKind::Aggregate(lanes) => lanes.iter().all(|&lane| is_number(context, lane)),
        _ => false,
    }
}

fn simplified(program: &Program, path: &Path) -> String {
    let arguments = ["-passes=instsimplify".as_ref(), "-S".as_ref(), path.as_os_str()];
    let outcome = program.run(arguments, &[]).expect("it starts");
    assert!(outcome.success(), "{}: {}", program.name(), outcome.summary());
    String::from_utf8(outcome.stdout).expect("text")
}

#[test]
fn numbers_are_those_of_llvm() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut operations = Operations { rng: StdRng::seed_from_u64(22) };
    let all: Vec<(String, String)> = (0..4000).map(|_| operations.operation()).collect();
    let mut text = String::new();
    for (at, (operation, ty)) in all.iter().enumerate() {
        writeln!(text, "define {ty} @f{at}() {{\n%r = {operation}\nret {ty} %r\n}}").unwrap();
    }
    let path = folder.path().join("numbers.ll");
    fs::write(&path, text).expect("a file");

    let context = Arc::new(Context::new());
    let texts = [opt, crate::phalanx().with("opt")].map(|program| simplified(&program, &path));
    let [theirs, ours] = texts.each_ref().map(|text| {
        returned(&parse_module(context.clone(), text.as_bytes()).expect("it is read").module)
    });
    assert_eq!((theirs.len(), ours.len()), (all.len(), all.len()));
    let written: Vec<&str> =
        texts[0].lines().filter_map(|line| line.trim_start().strip_prefix("ret ")).collect();
    assert_eq!(written.len(), all.len());
    let (mut folded, mut left) = (Vec::new(), 0);
    for (at, (operation, ty)) in all.iter().enumerate() {
        let Some(expected) = theirs[at].filter(|&theirs| is_number(&context, theirs)) else {
            continue;
        };
        match ours[at] {
            Some(ours) => assert_eq!(
                context.const_data(ours).kind,
                context.const_data(expected).kind,
                "{operation}"
            ),
            None => left += 1,
        }
        folded.push((operation, ty, written[at]));
    }
    // What is left comes near to zero, or has operands that are NaN.
    assert!(folded.len() > 3000, "LLVM folds {} only", folded.len());
    assert!(left * 50 < folded.len(), "{left} of {} are not folded", folded.len());
    are_computed(&folded, folder.path());
}

/// Bytes that a result has room for.
const ROOM: usize = 32;

/// A kernel that stores the result of each operation, and behind it the expected one.
fn are_computed(operations: &[(&String, &String, &str)], folder: &Path) {
    // LLVM divides the least number of one bit by minus one.
    let is_defined = |(operation, ..): &&(&String, &String, &str)| {
        !operation.contains("div i1 ") && !operation.contains("rem i1 ")
    };
    let operations: Vec<_> = operations.iter().filter(is_defined).collect();
    let mut text = String::from(
        "target triple = \"nvptx64\"\ndefine ptx_kernel void @k(ptr addrspace(1) %out) {\n",
    );
    for (at, (operation, ty, expected)) in operations.iter().enumerate() {
        writeln!(text, "%r{at} = {operation}").unwrap();
        for (what, value, place) in
            [("p", format!("{ty} %r{at}"), 2 * at), ("q", (*expected).to_owned(), 2 * at + 1)]
        {
            writeln!(
                text,
                "%{what}{at} = getelementptr i8, ptr addrspace(1) %out, i64 {}",
                place * ROOM
            )
            .unwrap();
            writeln!(text, "store {value}, ptr addrspace(1) %{what}{at}").unwrap();
        }
    }
    text.push_str("ret void\n}\n");
    let path = folder.join("kernel.ll");
    fs::write(&path, text).expect("a file");
    let buffer = format!("buf:i8:zero*{}", operations.len() * 2 * ROOM);
    let arguments = ["run", "--format", "json", "--arg", &buffer].map(OsStr::new);
    let arguments = arguments.into_iter().chain([path.as_os_str(), OsStr::new("k")]);
    let outcome = crate::phalanx().run(arguments, &[]).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    let json: serde_json::Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let bytes = json["buffers"][0]["values"].as_array().expect("values");
    assert_eq!(bytes.len(), operations.len() * 2 * ROOM);
    for (pair, (operation, _, expected)) in bytes.chunks(2 * ROOM).zip(operations) {
        assert_eq!(pair[..ROOM], pair[ROOM..], "{operation} is {expected}");
    }
}
