//! Makes runnable kernels of toy programs.
//!
//! A toy program has operations "fresh for each thread" and "fresh for each group". The kernel
//! implements them by a generator of numbers in private memory, an atomic counter, a shuffle, a
//! ballot, or a vote. Pure functions become arithmetic, selections, and detours through private and
//! workgroup memory, chosen by the value's number. Private memory holds numbers, structures and an
//! array, which are written in one place and read in another, by the thread itself and by a
//! function that it calls; functions of [`out`] access it through pointers. Some blocks have
//! barriers; a launch that hangs there counts up to that point. Threads of a workgroup have no data
//! races that a uniform address could show, since answers at that scope assume none.
//!
//! Two of three kernels call functions, which are toy programs as well. They return computed
//! values, one of them a pair, call each other, and recur up to a depth that an argument limits.

mod operations;

mod out;
mod preamble;

use std::fmt::Write as _;

use phalanx_graph::DomTree;
use phalanx_testing::{
    abstract_program::{AbstractProgram, Operation, Terminator},
    generate::{self, Options, Shape},
};

use operations::operation_text;
use preamble::{AMDGCN, AMDGCN_START, NVPTX, NVPTX_START};

/// The target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// AMDGPU.
    Amdgcn,
    /// NVPTX.
    Nvptx,
}

/// The function of an operation, and the functions that it may call.
#[derive(Copy, Clone)]
struct Place {
    kind: Kind,
    seed: u64,
    /// How many functions may be called.
    callees: u64,
    /// Whether it is a called function, not the kernel.
    is_called: bool,
}

impl Place {
    /// A number below `choices`, which depends on its purpose.
    fn pick(self, what: u64, choices: u64) -> u64 {
        let mixed = self.seed ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % choices
    }
}

/// The program as a module whose kernel is `@f`.
#[must_use]
pub fn runnable(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    module_text(program, kind, seed, Helpers::any(seed), &stated(kind, seed))
}

/// As [`runnable`], with two functions of this many blocks that return something; one may call the
/// other.
#[must_use]
pub(crate) fn runnable_with_large(
    program: &AbstractProgram,
    kind: Kind,
    seed: u64,
    blocks: usize,
) -> String {
    let helpers = Helpers { count: 2, is_recursive: false, blocks, shape: Some(Shape::Structured) };
    module_text(program, kind, seed, helpers, &stated(kind, seed))
}

/// As [`runnable`], without functions to call, for launches of any size.
#[must_use]
pub fn runnable_alone(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    let none = Helpers { count: 0, ..Helpers::any(seed) };
    module_text(program, kind, seed, none, &Default::default())
}

/// The functions that a kernel calls.
#[derive(Clone, Copy)]
struct Helpers {
    count: u64,
    /// Whether each may call any function; otherwise only earlier ones.
    is_recursive: bool,
    blocks: usize,
    shape: Option<Shape>,
}

impl Helpers {
    fn any(seed: u64) -> Helpers {
        let is_recursive = (seed / 3).is_multiple_of(2);
        Helpers { count: seed % 3, is_recursive, blocks: 6, shape: None }
    }
}

fn module_text(
    program: &AbstractProgram,
    kind: Kind,
    seed: u64,
    helpers: Helpers,
    (facts, tail): &(String, String),
) -> String {
    let amd = kind == Kind::Amdgcn;
    let mut text = String::new();
    for number in 0..helpers.count {
        let seed = seed.wrapping_mul(31).wrapping_add(number + 1);
        let callees = if helpers.is_recursive { helpers.count } else { number };
        let Helpers { blocks, shape, .. } = helpers;
        let options = Options { blocks, shape, ..Options::default() };
        let helper = generate::program(seed, options);
        helper_text(&mut text, &helper, Place { kind, seed, callees, is_called: true }, number);
    }
    let convention = if amd { "amdgpu_kernel" } else { "ptx_kernel" };
    let _ = writeln!(
        text,
        "define {convention} void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {facts} {{\nb0:"
    );
    text.push_str(if amd { AMDGCN_START } else { NVPTX_START });
    let place = Place { kind, seed, callees: helpers.count, is_called: false };
    body_text(&mut text, program, place, |text, _| {
        let _ = writeln!(text, "  ret void");
    });
    text.push_str("}\n");
    let preamble = if amd { AMDGCN } else { NVPTX };
    let functions = if text.contains("@o.") { out::functions(amd) } else { String::new() };
    format!("{preamble}{functions}{text}{tail}")
}

/// Launch facts that some programs state: on the function, and behind it.
fn stated(kind: Kind, seed: u64) -> (String, String) {
    let sizes = [[32, 1, 1], [64, 1, 1], [8, 4, 2], [16, 4, 1], [33, 2, 1], [64, 2, 1], [4, 1, 1]];
    let Some([x, y, z]) = sizes.get((seed >> 17) as usize % 10) else { return Default::default() };
    let cluster = ["", "", " \"nvvm.cluster_dim\"=\"2,1,1\"", " \"nvvm.cluster_dim\"=\"1,2,1\""];
    let cluster = cluster[(seed >> 23) as usize % cluster.len()];
    match kind {
        Kind::Nvptx => (format!("\"nvvm.reqntid\"=\"{x},{y},{z}\"{cluster}"), String::new()),
        Kind::Amdgcn => {
            // Otherwise workgroups at the edge of the grid may be smaller.
            let are_uniform = seed >> 27 & 1 == 0;
            (
                format!("\"uniform-work-group-size\"=\"{are_uniform}\" !reqd_work_group_size !0"),
                format!("!0 = !{{i32 {x}, i32 {y}, i32 {z}}}\n"),
            )
        }
    }
}

/// The function `@h` with a number. The last parameter limits the depth of calls.
fn helper_text(text: &mut String, program: &AbstractProgram, place: Place, number: u64) {
    let amd = place.kind == Kind::Amdgcn;
    let ty = result_type(number);
    let _ = writeln!(
        text,
        "define internal {ty} @h{number}(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth) {{\nentry:"
    );
    text.push_str(if amd { AMDGCN_START } else { NVPTX_START });
    text.push_str("  %deeper = sub i32 %depth, 1\n  %stop = icmp slt i32 %depth, 1\n");
    text.push_str("  br i1 %stop, label %bottom, label %b0\nbottom:\n");
    let give = |text: &mut String, block: &str, first: &str, second: &str| {
        let _ = match ty {
            "i32" => writeln!(text, "  ret i32 {first}"),
            _ => {
                let _ = writeln!(text, "  %{block}.p = insertvalue {ty} poison, i32 {first}, 0");
                let _ =
                    writeln!(text, "  %{block}.q = insertvalue {ty} %{block}.p, i32 {second}, 1");
                writeln!(text, "  ret {ty} %{block}.q")
            }
        };
    };
    give(text, "bottom", "%a1", "%a0");
    text.push_str("b0:\n");
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    body_text(text, program, place, |text, number| {
        // Values that are computed on every path to this place.
        let mut above: Vec<String> = ["%a0", "%a1", "1", "2", "%seed.0"].map(String::from).to_vec();
        let mut at = Some(phalanx_graph::Node::new(number));
        while let Some(node) = at {
            let operations = program.blocks[node.index()].operations.iter();
            let numbers = operations.filter(|(_, o)| !matches!(o, Operation::Test(_)));
            above.extend(numbers.map(|(value, _)| format!("%v{value}")));
            at = dom.idom(node);
        }
        let choose = |what: u64| {
            let at = place.pick(what + number as u64 * 7, above.len() as u64);
            above[at as usize].clone()
        };
        give(text, &format!("r{number}"), &choose(1 << 20), &choose(1 << 21));
    });
    text.push_str("}\n");
    if ty == "i32" {
        // The same by a call that may unwind.
        let arguments = "(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth)";
        let _ = writeln!(
            text,
            "define internal i32 @i{number}{arguments} personality ptr null {{\n  \
             %r = invoke i32 @h{number}{arguments} to label %ok unwind label %pad\nok:\n  ret i32 %r\npad:\n  \
             %caught = landingpad {{ ptr, i32 }} cleanup\n  resume {{ ptr, i32 }} %caught\n}}"
        );
    }
}

fn result_type(helper: u64) -> &'static str {
    if helper == 1 { "{ i32, i32 }" } else { "i32" }
}

fn body_text(
    text: &mut String,
    program: &AbstractProgram,
    place: Place,
    give: impl Fn(&mut String, usize),
) {
    let cfg = program.cfg();
    for (number, block) in program.blocks.iter().enumerate() {
        if number > 0 {
            let _ = writeln!(text, "b{number}:");
        }
        let mut rest = String::new();
        for (value, operation) in &block.operations {
            if let Operation::Phi(entries) = operation {
                let mut incoming = Vec::new();
                for pred in cfg.predecessors(phalanx_graph::Node::new(number)) {
                    if let Some((_, operand)) = entries.iter().find(|entry| entry.0 == *pred) {
                        incoming.push(format!("[ {operand}, %b{pred} ]"));
                    }
                }
                let _ = writeln!(text, "  %v{value} = phi i32 {}", incoming.join(", "));
            } else {
                operation_text(&mut rest, place, *value, operation);
            }
        }
        text.push_str(&rest);
        let _ = match &block.terminator {
            Terminator::Return => {
                give(text, number);
                Ok(())
            }
            Terminator::Jump(to) => writeln!(text, "  br label %b{to}"),
            Terminator::Branch(condition, [yes, no]) => {
                writeln!(text, "  br i1 {condition}, label %b{yes}, label %b{no}")
            }
            Terminator::Switch(condition, to) => {
                let cases: Vec<String> = to[1..]
                    .iter()
                    .enumerate()
                    .map(|(i, to)| format!("i32 {i}, label %b{to}"))
                    .collect();
                // Few different values, so that all edges are taken.
                let _ = writeln!(text, "  %s{number} = and i32 {condition}, 3");
                writeln!(text, "  switch i32 %s{number}, label %b{} [ {} ]", to[0], cases.join(" "))
            }
        };
    }
}
