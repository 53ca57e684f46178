//! SPIR-V's built-in variables, accessed through addresses that are computed in all kinds of ways:
//! values that are claimed uniform in random kernels are uniform when the kernels run.

use std::fmt::Write as _;

use phalanx_fuzz::oracle::{Effort, Tally, check};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

/// Variables with their types. All have at least 8 bytes.
const VARIABLES: [(&str, &str, u32); 6] = [
    ("LocalInvocationId", "<3 x i64>", 1),
    ("WorkgroupId", "<3 x i64>", 1),
    ("WorkgroupSize", "<3 x i64>", 1),
    ("SubgroupLocalInvocationId", "i64", 1),
    ("GlobalInvocationId", "<3 x i64>", 7),
    ("LocalInvocationIndex", "i64", 7),
];

/// A kernel `@f` in which values and addresses are made from each other.
struct Kernel<'a> {
    rng: &'a mut SmallRng,
    text: String,
    /// Names of numbers.
    numbers: Vec<String>,
    /// Names of addresses, with their spaces.
    addresses: Vec<(String, u32)>,
    next: usize,
}

impl Kernel<'_> {
    fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("%{kind}{}", self.next)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {text}");
    }

    fn number(&mut self) -> String {
        self.numbers.choose(self.rng).expect("there are some").clone()
    }

    /// An address, and another one of its space.
    fn addresses(&mut self) -> (String, String, u32) {
        let (one, space) = self.addresses.choose(self.rng).expect("there are some").clone();
        let of_space: Vec<String> =
            self.addresses.iter().filter(|a| a.1 == space).map(|a| a.0.clone()).collect();
        let other = of_space.choose(self.rng).expect("it is one").clone();
        (one, other, space)
    }

    fn step(&mut self) {
        let (one, other, space) = self.addresses();
        let to = self.name("p");
        let pointer = if space == 0 { "ptr".to_owned() } else { format!("ptr addrspace({space})") };
        let bit = |kernel: &mut Self| {
            let (number, bit) = (kernel.number(), kernel.name("c"));
            kernel.line(&format!("{bit} = trunc i32 {number} to i1"));
            bit
        };
        let made = match self.rng.random_range(0..9) {
            0 => format!("getelementptr i8, {pointer} {one}, i64 0"),
            1 => {
                let (number, low) = (self.number(), self.name("i"));
                self.line(&format!("{low} = and i32 {number}, 1"));
                format!("getelementptr i32, {pointer} {one}, i32 {low}")
            }
            2 => {
                let bit = bit(self);
                format!("select i1 {bit}, {pointer} {one}, {pointer} {other}")
            }
            3 => {
                let (bit, label) = (bit(self), self.next);
                self.line(&format!("br i1 {bit}, label %then{label}, label %else{label}"));
                let _ = writeln!(self.text, "then{label}:\n  br label %join{label}");
                let _ = writeln!(self.text, "else{label}:\n  br label %join{label}\njoin{label}:");
                format!("phi {pointer} [ {one}, %then{label} ], [ {other}, %else{label} ]")
            }
            4 if space == 1 => {
                self.addresses.push((to.clone(), 4));
                return self
                    .line(&format!("{to} = addrspacecast {pointer} {one} to ptr addrspace(4)"));
            }
            4 if space == 4 => {
                self.addresses.push((to.clone(), 1));
                return self
                    .line(&format!("{to} = addrspacecast {pointer} {one} to ptr addrspace(1)"));
            }
            5 => format!("call {pointer} @same{space}({pointer} {one})"),
            6 => {
                self.line(&format!("store {pointer} {one}, ptr %slot{space}"));
                if self.rng.random() {
                    self.line(&format!("call void @look(ptr %slot{space})"));
                }
                format!("load {pointer}, ptr %slot{space}")
            }
            7 => {
                let value = self.name("v");
                self.numbers.push(value.clone());
                return self.line(&format!("{value} = call i32 @read{space}({pointer} {one})"));
            }
            _ => {
                let value = self.name("v");
                self.numbers.push(value.clone());
                return self.line(&format!("{value} = load i32, {pointer} {one}, align 4"));
            }
        };
        self.line(&format!("{to} = {made}"));
        // Steps of four bytes from here on could lead out of a variable.
        if !made.starts_with("getelementptr i32") {
            self.addresses.push((to, space));
        } else {
            let value = self.name("v");
            self.numbers.push(value.clone());
            self.line(&format!("{value} = load i32, {pointer} {to}, align 4"));
        }
    }
}

fn module(seed: u64) -> String {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut text = String::from("target triple = \"spirv64-unknown-unknown\"\n");
    let mut addresses = vec![("%gp".to_owned(), 1)];
    for (name, ty, space) in VARIABLES {
        let _ =
            writeln!(text, "@__spirv_BuiltIn{name} = external addrspace({space}) constant {ty}");
        if rng.random() {
            addresses.push((format!("@__spirv_BuiltIn{name}"), space));
        }
    }
    for space in [1, 4, 7] {
        let pointer = format!("ptr addrspace({space})");
        let _ = writeln!(
            text,
            "define internal {pointer} @same{space}({pointer} %p) {{\n  ret {pointer} %p\n}}
define internal i32 @read{space}({pointer} %p) {{\n  %v = load i32, {pointer} %p\n  ret i32 %v\n}}"
        );
    }
    text.push_str(
        "define internal void @look(ptr %p) {\n  ret void\n}
define spir_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %slot1 = alloca ptr addrspace(1)\n  %slot4 = alloca ptr addrspace(4)\n  %slot7 = alloca ptr addrspace(7)\n",
    );
    let numbers = ["%a0", "%a1"].map(str::to_owned).to_vec();
    let mut kernel = Kernel { rng: &mut rng, text, numbers, addresses, next: 0 };
    for _ in 0..14 {
        kernel.step();
    }
    kernel.text + "  ret void\n}\n"
}

#[test]
fn what_is_loaded_through_their_addresses_is_each_threads_own() {
    let mut all = Tally::default();
    for seed in 0..400 {
        let text = module(seed);
        let found = check(&text, "f", seed, Effort::default());
        let found = found.unwrap_or_else(|| panic!("seed {seed} is refused:\n{text}"));
        assert!(found.unsound.is_empty(), "seed {seed}: {}\n{text}", found.unsound.join("\n"));
        all.merge(found);
    }
    // Some differ, and not everything is called divergent.
    assert!(all.observed > 300 && all.claims > 3_000, "{all}");
}
