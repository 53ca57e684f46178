//! Large kernels full of generic pointers, as LLVM IR text for NVPTX.
//!
//! Each is one kernel of parts in a row. A part makes and uses pointers to device, workgroup and
//! private memory.

use std::fmt::Write as _;

use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

/// The kind of code that pointers pass through.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Through {
    /// A loop and a diamond for each pointer.
    Loops,
    /// Stack slots, as in code that was not optimised.
    Slots,
    /// A chain in which each pointer is made from the last: selects of two pointers, phis.
    Chain,
}

impl Through {
    /// All kinds.
    pub const ALL: [Through; 3] = [Through::Loops, Through::Slots, Through::Chain];

    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Through::Loops => "loops",
            Through::Slots => "slots",
            Through::Chain => "chain",
        }
    }
}

const HEAD: &str = r#"target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
define ptx_kernel void @f(ptr %out, i32 %n, i1 %c) {
entry:
  %own = alloca [64 x i32]
  %shared = addrspacecast ptr addrspace(3) @lds to ptr
"#;

const BASES: [&str; 3] = ["%out", "%shared", "%own"];

/// A kernel of about `size` instructions.
#[must_use]
pub fn pointers(size: usize, through: Through) -> String {
    match through {
        Through::Loops => loops(size),
        Through::Slots => slots(size),
        Through::Chain => chain(size),
    }
}

fn loops(size: usize) -> String {
    let mut text = format!("{HEAD}  br label %head0\n");
    let mut rng = SmallRng::seed_from_u64(1);
    let blocks = size / 14;
    for at in 0..blocks {
        let base = BASES[rng.random_range(0..3)];
        let other = BASES[rng.random_range(0..3)];
        let before = if at == 0 { "entry".to_owned() } else { format!("meet{}", at - 1) };
        let _ = write!(
            text,
            "head{at}:\n  %p{at} = phi ptr [ {base}, %{before} ], [ %q{at}, %head{at} ]\n  \
             %q{at} = getelementptr inbounds i32, ptr %p{at}, i32 1\n  \
             %r{at} = getelementptr inbounds i32, ptr %q{at}, i32 %n\n  \
             %a{at} = load i32, ptr %r{at}\n  store i32 %a{at}, ptr %q{at}\n  \
             br i1 %c, label %head{at}, label %left{at}\n\
             left{at}:\n  %s{at} = getelementptr inbounds i32, ptr {other}, i32 %n\n  \
             %t{at} = select i1 %c, ptr %s{at}, ptr %r{at}\n  \
             %u{at} = getelementptr inbounds i32, ptr %t{at}, i32 %n\n  \
             br i1 %c, label %right{at}, label %meet{at}\n\
             right{at}:\n  store i32 %n, ptr %u{at}\n  br label %meet{at}\n\
             meet{at}:\n  %w{at} = phi ptr [ %t{at}, %left{at} ], [ %s{at}, %right{at} ]\n  \
             store i32 1, ptr %w{at}\n  br label %head{}\n",
            at + 1
        );
    }
    let _ = write!(text, "head{blocks}:\n  ret void\n}}\n");
    text
}

fn slots(size: usize) -> String {
    let mut text = HEAD.to_owned();
    let mut rng = SmallRng::seed_from_u64(1);
    let parts = size / 13;
    let count = (parts / 8).max(1);
    for slot in 0..count {
        let base = BASES[rng.random_range(0..3)];
        let _ = write!(text, "  %slot{slot} = alloca ptr\n  store ptr {base}, ptr %slot{slot}\n");
    }
    text.push_str("  br label %part0\n");
    for at in 0..parts {
        let (a, b) = (rng.random_range(0..count), rng.random_range(0..count));
        let base = BASES[rng.random_range(0..3)];
        let _ = write!(
            text,
            "part{at}:\n  %p{at} = load ptr, ptr %slot{a}\n  %v{at} = load i32, ptr %p{at}\n  \
             br i1 %c, label %yes{at}, label %no{at}\n\
             yes{at}:\n  %q{at} = getelementptr inbounds i32, ptr {base}, i32 %n\n  \
             store ptr %q{at}, ptr %slot{a}\n  br label %meet{at}\n\
             no{at}:\n  %r{at} = load ptr, ptr %slot{b}\n  \
             %s{at} = getelementptr inbounds i32, ptr %r{at}, i32 %n\n  \
             store ptr %s{at}, ptr %slot{b}\n  br label %meet{at}\n\
             meet{at}:\n  %t{at} = load ptr, ptr %slot{a}\n  store i32 %v{at}, ptr %t{at}\n  \
             br label %part{}\n",
            at + 1
        );
    }
    let _ = write!(text, "part{parts}:\n  ret void\n}}\n");
    text
}

fn chain(size: usize) -> String {
    let mut text = HEAD.to_owned();
    let mut rng = SmallRng::seed_from_u64(1);
    text.push_str("  br label %part0\n");
    let parts = size / 8;
    let mut last = "%shared".to_owned();
    for at in 0..parts {
        // The chain starts anew from time to time, so that not every pointer may lead everywhere.
        if at % 64 == 0 {
            last = BASES[rng.random_range(0..3)].to_owned();
        }
        let _ = write!(
            text,
            "part{at}:\n  %p{at} = getelementptr inbounds i32, ptr {last}, i32 1\n  \
             %q{at} = getelementptr inbounds i32, ptr {last}, i32 %n\n  \
             %r{at} = select i1 %c, ptr %p{at}, ptr %q{at}\n  \
             br i1 %c, label %yes{at}, label %meet{at}\n\
             yes{at}:\n  store i32 %n, ptr %r{at}\n  br label %meet{at}\n\
             meet{at}:\n  %s{at} = phi ptr [ %p{at}, %part{at} ], [ %r{at}, %yes{at} ]\n  \
             br label %part{}\n",
            at + 1
        );
        last = format!("%s{at}");
    }
    let _ = write!(text, "part{parts}:\n  ret void\n}}\n");
    text
}
