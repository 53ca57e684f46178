//! Functions that call each other in rings, and a kernel that calls some of them: programs in which
//! most facts are found only by analysing recursions.
//!
//! Functions take two numbers and two addresses; they alternate between returning a number and an
//! address. They are rows of small pieces with arithmetic, addresses, a slot for a number and one
//! for an address, branches, loops, and calls of each other. The programs are not meant to be
//! executed.

use std::fmt::Write;

use rand::{Rng, RngCore, seq::IndexedRandom};

/// The names of the functions besides the kernel; a program has the first few of them.
pub const NAMES: [&str; 4] = ["h0", "h1", "h2", "h3"];

/// Number and size of the functions, in pieces; a piece has ten to fifteen instructions.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of pieces of each function that the kernel may call; at most as many functions as
    /// [have names](NAMES).
    pub pieces: Vec<usize>,
    /// Whether some of them are visible outside of the module.
    pub some_are_open: bool,
}

impl Options {
    /// One to four functions, some of them large.
    pub fn random(rng: &mut dyn RngCore) -> Self {
        let count = rng.random_range(1..=NAMES.len());
        let pieces = (0..count).map(|_| if rng.random_bool(0.6) { 30 } else { 3 }).collect();
        Options { pieces, some_are_open: rng.random_bool(0.3) }
    }
}

/// The text of a module for `nvptx64`, without its triple; the kernel is called `@f`.
pub fn recursive(rng: &mut dyn RngCore, options: &Options) -> String {
    let mut text = String::from(
        "@lds = internal addrspace(3) global [64 x i32] undef\n\
         @dev = internal addrspace(1) global [64 x i32] zeroinitializer\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
    );
    for at in 0..options.pieces.len() {
        function(&mut text, rng, at, options);
    }
    text.push_str("define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %n, i32 %m) {\nb0:\n");
    text.push_str("  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n");
    text.push_str("  %p = addrspacecast ptr addrspace(1) %gp to ptr\n");
    text.push_str("  %q = addrspacecast ptr addrspace(3) @lds to ptr\n");
    for at in 0..rng.random_range(1..4) {
        let callee = rng.random_range(0..options.pieces.len());
        let mut number = || ["%n", "%n", "%m", "%t"][rng.random_range(0..4)];
        let (first, second) = (number(), number());
        let _ = writeln!(
            text,
            "  %r{at} = call {} @h{callee}(i32 {first}, i32 {second}, ptr %p, ptr {})",
            result(callee),
            ["%p", "%p", "%q"][rng.random_range(0..3)],
        );
    }
    text.push_str("  ret void\n}\n");
    text
}

/// What a function returns.
fn result(number: usize) -> &'static str {
    ["i32", "ptr"][number % 2]
}

fn function(text: &mut String, rng: &mut dyn RngCore, number: usize, options: &Options) {
    let count = options.pieces.len();
    let pieces = options.pieces[number];
    let is_open = options.some_are_open && rng.random_bool(0.3);
    let linkage = if is_open { "" } else { "internal " };
    let _ = writeln!(
        text,
        "define {linkage}{} @h{number}(i32 %n, i32 %m, ptr %p, ptr %q) {{\nentry:\n  \
         %slot = alloca i32\n  %cell = alloca ptr\n  \
         %t = {}\n  %s = addrspacecast ptr addrspace(3) @lds to ptr\n  \
         %d = addrspacecast ptr addrspace(1) @dev to ptr\n  \
         store i32 %n, ptr %slot\n  store ptr %p, ptr %cell\n  br label %a0",
        result(number),
        match rng.random_bool(0.3) {
            true => "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            false => "add i32 %m, 1",
        },
    );
    // One call is of the next function in the ring, the others are of random functions.
    let more = rng.random_range(0..3);
    let mut calls = vec![(rng.random_range(0..pieces), (number + 1) % count)];
    calls.extend((0..more).map(|_| (rng.random_range(0..pieces), rng.random_range(0..count))));
    for at in 0..pieces {
        let calls = calls.iter().filter(|(piece, _)| *piece == at).map(|(_, callee)| *callee);
        piece(text, rng, (number, at), &calls.collect::<Vec<_>>());
    }
    let last = pieces - 1;
    let value =
        if number.is_multiple_of(2) { format!("i32 %k{last}") } else { format!("ptr %x{last}") };
    let _ = writeln!(text, "a{pieces}:\n  ret {value}\n}}");
}

fn piece(
    text: &mut String,
    rng: &mut dyn RngCore,
    (number, at): (usize, usize),
    callees: &[usize],
) {
    let last = at.checked_sub(1);
    let mut any = |all: &[&str]| {
        let all: Vec<&&str> = all.iter().filter(|v| last.is_some() || !v.ends_with('#')).collect();
        let found = all.choose(rng).expect("some are always there");
        found.replace('#', &last.unwrap_or(0).to_string())
    };
    let from = any(&["%n", "%n", "%m", "%i#", "%k#", "%k#"]);
    let base = any(&["%p", "%p", "%q", "%g#", "%x#", "%s", "%d"]);
    let tested = any(&["%n", "%n", "%m", "%i#", "%t"]);
    let other = any(&["%p", "%q", "%q", "%x#"]);
    let second = any(&["%n", "%m", "%k#"]);
    let _ = writeln!(
        text,
        "a{at}:\n  %i{at} = add i32 {from}, {at}\n  \
         %g{at} = getelementptr i32, ptr {base}, i32 %i{at}\n  \
         %u{at} = icmp eq i32 {tested}, {at}\n  \
         %x{at} = select i1 %u{at}, ptr %g{at}, ptr {other}\n  \
         %j{at} = select i1 %u{at}, i32 %i{at}, i32 {second}"
    );
    if rng.random_bool(0.3) {
        let _ = writeln!(text, "  %v{at} = load i32, ptr %slot\n  store i32 %j{at}, ptr %slot");
    }
    if rng.random_bool(0.2) {
        let _ = writeln!(text, "  %y{at} = load ptr, ptr %cell\n  store ptr %x{at}, ptr %cell");
    }
    if rng.random_bool(0.2) {
        let _ = writeln!(text, "  %l{at} = load i32, ptr %x{at}");
    }
    let mut sum = format!("%j{at}");
    for (which, callee) in callees.iter().enumerate() {
        let of = format!("%r{at}.{which}");
        let _ = writeln!(
            text,
            "  {of} = call {} @h{callee}(i32 %i{at}, i32 %j{at}, ptr %x{at}, ptr {base})",
            result(*callee)
        );
        let value = match callee % 2 {
            0 => of,
            _ => {
                let _ = writeln!(text, "  {of}.l = load i32, ptr {of}");
                format!("{of}.l")
            }
        };
        let _ = writeln!(text, "  {of_sum} = add i32 {sum}, {value}", of_sum = sum_name(at, which));
        sum = sum_name(at, which);
    }
    let _ = writeln!(text, "  %k{at} = xor i32 {sum}, %i{at}");
    let tested = ["i", "i", "k"].choose(rng).expect("there are some");
    let below = rng.random_range(0..70);
    let next = at + 1;
    let _ = writeln!(
        text,
        "  %c{at} = icmp ult i32 %{tested}{at}, {below}\n  \
         br i1 %c{at}, label %b{at}, label %a{next}\nb{at}:"
    );
    match rng.random_range(0..10) {
        0 if number.is_multiple_of(2) => {
            let _ = writeln!(text, "  ret i32 %i{at}");
        }
        0 => {
            let _ = writeln!(text, "  ret ptr %g{at}");
        }
        1 => {
            let _ = writeln!(text, "  br label %a{at}");
        }
        _ => {
            let _ = writeln!(text, "  br label %a{next}");
        }
    }
}

fn sum_name(at: usize, which: usize) -> String {
    format!("%w{at}.{which}")
}
