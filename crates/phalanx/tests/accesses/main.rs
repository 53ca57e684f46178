//! What the lanes of a wave touch: patterns of small kernels, and claims held against the addresses that a launch accesses.

use std::{fmt::Write as _, sync::Arc};

use expect_test::{Expect, expect};
use phalanx::{
    analysis::shape::access::{Access, Pattern, Within},
    db::queries,
    ir,
    prelude::*,
    simt::{
        Arg, Launch, Observer, Program,
        convergence::Key,
        observe::{self, Moment},
    },
    target::LaunchStatement,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;

const HEAD: &str = r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@big = internal addrspace(3) global [8192 x i32] undef, align 16
@tile = internal addrspace(3) global [33 x [33 x float]] undef, align 4
@words = internal addrspace(1) global [100000 x float] zeroinitializer
@lines = internal addrspace(1) global [100000 x float] zeroinitializer, align 128
@elsewhere = external addrspace(1) global [100000 x float]
%pair = type { i32, double }
define ptx_kernel void @k(ptr addrspace(1) align 256 %p, ptr addrspace(1) %q, i32 %n, i32 %m) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
"#;

/// A kernel with this body and its accesses, when it is launched so; nothing is known of the launch without a size.
fn accesses(body: &str, size: Option<[u32; 3]>) -> (Session, FunctionId, Vec<Access>) {
    accesses_of(&format!("{HEAD}{body}}}\n"), size)
}

fn accesses_of(text: &str, size: Option<[u32; 3]>) -> (Session, FunctionId, Vec<Access>) {
    let mut session = Session::new();
    let module = session
        .read(text.as_bytes())
        .unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let function = session.function(module, "k").expect("defined");
    if size.is_some() {
        let launch = LaunchStatement { workgroup_size: size, ..Default::default() };
        session.set_launch(function, launch).expect("nothing else is said");
    }
    let found = queries::memory_accesses(session.database(), function.input());
    let found = found.as_ref().expect("it has a body").iter().copied().collect();
    (session, function, found)
}

fn check(body: &str, size: Option<[u32; 3]>, expected: &Expect) {
    let (session, function, found) = accesses(body, size);
    let mut out = String::new();
    for access in found {
        let name = session.print_inst(function, access.inst);
        let _ = write!(out, "{}: {:?}", name.trim(), access.pattern);
        if access.within == Within::Row {
            out.push_str(" in a row");
        }
        if let (Some(segments), Some(sectors)) = (access.segments, access.sectors) {
            let _ = write!(out, ", {segments} segments, {sectors} sectors");
        }
        if let Some(degree) = access.bank_degree {
            let _ = write!(out, ", banks {degree}");
        }
        out.push('\n');
    }
    expected.assert_eq(&out);
}

const SAXPY: &str = "
  %base = mul i32 %b, 256
  %i = add nsw i32 %base, %x
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  store float %v, ptr addrspace(1) %at, align 4
  ret void
";

/// One offset of the lanes: how much is touched depends on size and alignment, and on where the base is, and only shared memory has banks.
#[test]
fn accesses_with_one_index() {
    check(
        "
  %offset = shl i32 %x, 3
  %at = getelementptr i8, ptr addrspace(1) %p, i32 %offset
  %there = getelementptr i8, ptr addrspace(3) @big, i32 %offset
  %word = load i32, ptr addrspace(1) %at, align 4
  %packed = load i32, ptr addrspace(1) %at, align 1
  %pair = load i64, ptr addrspace(1) %at, align 8
  %four = load <4 x i32>, ptr addrspace(1) %at, align 8
  %here = load i32, ptr addrspace(3) %there, align 4
  %loose = load i32, ptr addrspace(3) %there, align 1
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            %word = load i32, ptr addrspace(1) %at, align 4: Strided(8), 3 segments, 9 sectors
            %packed = load i32, ptr addrspace(1) %at, align 1: Strided(8), 3 segments, 9 sectors
            %pair = load i64, ptr addrspace(1) %at, align 8: Consecutive, 3 segments, 9 sectors
            %four = load <4 x i32>, ptr addrspace(1) %at, align 8: Strided(8), 3 segments, 9 sectors
            %here = load i32, ptr addrspace(3) %there, align 4: Strided(8), 3 segments, 9 sectors, banks 2
            %loose = load i32, ptr addrspace(3) %there, align 1: Strided(8), 3 segments, 9 sectors, banks 2
        "#]],
    );
}

#[test]
fn saxpy() {
    check(
        SAXPY,
        Some([256, 1, 1]),
        &expect![[r#"
        %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
        store float %v, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
    "#]],
    );
    check(
        SAXPY,
        None,
        &expect![[r#"
        %v = load float, ptr addrspace(1) %at, align 4: Consecutive in a row
        store float %v, ptr addrspace(1) %at, align 4: Consecutive in a row
    "#]],
    );
}

#[test]
fn rows_and_columns_of_a_matrix() {
    let body = "
  %row = mul nsw i32 %y, %n
  %i = add nsw i32 %row, %x
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide
  %in.row = load float, ptr addrspace(1) %at, align 4
  %column = mul nsw i32 %x, 1024
  %j = add nsw i32 %column, %y
  %wide.j = sext i32 %j to i64
  %at.j = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide.j
  %in.column = load float, ptr addrspace(1) %at.j, align 4
  %tile.at = getelementptr inbounds [33 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %x, i32 %y
  store float %in.row, ptr addrspace(3) %tile.at, align 4
  %member = getelementptr inbounds %pair, ptr addrspace(1) %p, i32 %x, i32 1
  %of.pair = load double, ptr addrspace(1) %member, align 8
  %same = load float, ptr addrspace(1) %q, align 4
  %through = load i32, ptr addrspace(1) %at, align 4
  %through.at = getelementptr inbounds float, ptr addrspace(1) %p, i32 %through
  %gathered = load float, ptr addrspace(1) %through.at, align 4
  ret void
";
    check(
        body,
        Some([32, 8, 1]),
        &expect![[r#"
            %in.row = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            %in.column = load float, ptr addrspace(1) %at.j, align 4: Strided(4096), 32 segments, 32 sectors
            store float %in.row, ptr addrspace(3) %tile.at, align 4: Strided(132), 32 segments, 32 sectors, banks 1
            %of.pair = load double, ptr addrspace(1) %member, align 8: Strided(16), 5 segments, 17 sectors
            %same = load float, ptr addrspace(1) %q, align 4: Broadcast, 1 segments, 1 sectors
            %through = load i32, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            %gathered = load float, ptr addrspace(1) %through.at, align 4: Gather
        "#]],
    );
    check(
        body,
        Some([16, 16, 1]),
        &expect![[r#"
            %in.row = load float, ptr addrspace(1) %at, align 4: Gather
            %in.column = load float, ptr addrspace(1) %at.j, align 4: Gather, 32 segments, 32 sectors
            store float %in.row, ptr addrspace(3) %tile.at, align 4: Gather, 17 segments, 18 sectors, banks 2
            %of.pair = load double, ptr addrspace(1) %member, align 8: Gather, 3 segments, 9 sectors
            %same = load float, ptr addrspace(1) %q, align 4: Broadcast, 1 segments, 1 sectors
            %through = load i32, ptr addrspace(1) %at, align 4: Gather
            %gathered = load float, ptr addrspace(1) %through.at, align 4: Gather
        "#]],
    );
}

#[test]
fn a_loop_over_a_grid() {
    check(
        "
  %base = mul i32 %b, 256
  %start = add nsw i32 %base, %x
  br label %loop
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %latch, label %exit
latch:
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %wide
  %v = load i32, ptr addrspace(1) %at, align 4
  %other.at = getelementptr inbounds i32, ptr addrspace(1) %p, i32 %v
  store i32 %v, ptr addrspace(1) %other.at, align 4
  %next = add nsw i32 %i, %m
  br label %loop
exit:
  %last = sext i32 %i to i64
  %last.at = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %last
  store i32 0, ptr addrspace(1) %last.at, align 4
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i32, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            store i32 %v, ptr addrspace(1) %other.at, align 4: Gather
            store i32 0, ptr addrspace(1) %last.at, align 4: Gather
        "#]],
    );
}

/// The phi is thread and rest; as a number that is extended and may wrap it is neither.
#[test]
fn an_index_that_wraps_round_a_loop() {
    check(
        "
  %start = mul i32 %x, 32
  br label %loop
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %latch, label %exit
latch:
  %at = getelementptr float, ptr addrspace(3) @big, i32 %i
  store float 1.0, ptr addrspace(3) %at, align 4
  %next = add i32 %i, 256
  br label %loop
exit:
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            store float 1.000000e+00, ptr addrspace(3) %at, align 4: Gather
        "#]],
    );
}

/// Both values of the phi differ by a constant in the arithmetic of their width, and not as the numbers that are extended.
#[test]
fn a_phi_of_values_that_differ_by_a_constant_once_they_wrap() {
    let body = |factor: i32, step: i32| {
        format!(
            "
  %first = mul i32 %x, {factor}
  %second = add i32 %first, {step}
  br label %loop
loop:
  %i = phi i32 [ %first, %entry ], [ %second, %loop ]
  %at = getelementptr i8, ptr addrspace(1) %p, i32 %i
  %v = load i8, ptr addrspace(1) %at, align 1
  %more = icmp ult i8 %v, 7
  br i1 %more, label %loop, label %exit
exit:
  ret void
"
        )
    };
    check(
        &body(1 << 24, 1 << 24),
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Gather
        "#]],
    );
    check(
        &body(4, 1024),
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(4), 2 segments, 5 sectors
        "#]],
    );
}

/// Twice `100 * x` is `-56 * x` in eight bits, and not as numbers that are extended.
#[test]
fn a_sum_of_factors_that_wraps() {
    let body = |factor: i32| {
        format!(
            "
  %x8 = trunc i32 %x to i8
  %n8 = trunc i32 %n to i8
  %m8 = trunc i32 %m to i8
  %part = mul i8 %x8, {factor}
  %one = add nsw i8 %part, %n8
  %other = add nsw i8 %part, %m8
  %sum = add nsw i8 %one, %other
  %wide = sext i8 %sum to i64
  %at = getelementptr i8, ptr addrspace(1) %p, i64 %wide
  %v = load i8, ptr addrspace(1) %at, align 1
  ret void
"
        )
    };
    check(
        &body(100),
        Some([2, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Gather
        "#]],
    );
    check(
        &body(10),
        Some([2, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(20), 2 segments, 2 sectors
        "#]],
    );
}

/// Only 32 bits of an index count in a space of such addresses, and all in one of wider ones.
#[test]
fn an_index_that_is_wider_than_addresses() {
    let text = r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %l) "target-cpu"="gfx1100" {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %x to i64
  %high = shl i64 %wide, 32
  %both = add i64 %high, %wide
  %a = getelementptr i8, ptr addrspace(3) %l, i64 %high
  %b = getelementptr i32, ptr addrspace(3) %l, i64 %both
  %c = getelementptr i8, ptr addrspace(1) %p, i64 %high
  %u = load i8, ptr addrspace(3) %a, align 1
  %v = load i32, ptr addrspace(3) %b, align 4
  %w = load i8, ptr addrspace(1) %c, align 1
  ret void
}
"#;
    for size in [Some([64, 1, 1]), None] {
        let (_, _, found) = accesses_of(text, size);
        let patterns: Vec<Pattern> = found.iter().map(|access| access.pattern).collect();
        assert_eq!(
            patterns,
            [Pattern::Broadcast, Pattern::Consecutive, Pattern::Strided(1 << 32)],
            "{size:?}"
        );
    }
}

/// The sum may overflow, and `freeze` makes any address of that.
#[test]
fn an_index_that_is_frozen() {
    let body = |sum: &str| {
        format!(
            "
  %sum = {sum}
  %frozen = freeze i32 %sum
  %wide = sext i32 %frozen to i64
  %at = getelementptr float, ptr addrspace(1) %p, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  ret void
"
        )
    };
    let sums = ["add nsw i32 %n, %x", "add nuw nsw i32 %x, 7", "add i32 %n, %x", "shl i32 1, %x"];
    for (sum, expected) in sums.into_iter().zip([
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Gather
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Gather
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Gather
        "#]],
    ]) {
        check(&body(sum), Some([64, 1, 1]), &expected);
    }
}

/// The address is as aligned as the variable, whatever the index is a multiple of.
#[test]
fn where_a_variable_is() {
    let body = |variable: &str| {
        format!(
            "
  %base = mul nsw i32 %b, 256
  %i = add nsw i32 %base, %x
  %wide = sext i32 %i to i64
  %at = getelementptr float, ptr addrspace(1) {variable}, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  ret void
"
        )
    };
    for (variable, expected) in [
        (
            "@words",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            "#]],
        ),
        (
            "@lines",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 1 segments, 4 sectors
            "#]],
        ),
        (
            "@elsewhere",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            "#]],
        ),
        (
            "getelementptr (i8, ptr addrspace(1) @lines, i64 64)",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 4 sectors
            "#]],
        ),
        (
            "null",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 1 segments, 4 sectors
            "#]],
        ),
    ] {
        check(&body(variable), Some([256, 1, 1]), &expected);
    }
}

/// A cycle with two entries, in which threads are taken to run apart: what is equal among those that compute it together need not be
/// among those that are together in the block behind.
#[test]
fn what_is_computed_in_a_cycle_with_two_entries() {
    let text = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ballot.i32(i1)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) "target-cpu"="gfx1030" {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = icmp ult i32 %x, 16
  br i1 %odd, label %left, label %right
left:
  %first = call i32 @llvm.amdgcn.ballot.i32(i1 %odd)
  %at = getelementptr float, ptr addrspace(1) %p, i32 %first
  %here = load float, ptr addrspace(1) %at, align 4
  br label %behind
behind:
  %there = load float, ptr addrspace(1) %at, align 4
  br label %right
right:
  %more = icmp ult i32 %x, %n
  br i1 %more, label %left, label %exit
exit:
  %own = getelementptr float, ptr addrspace(1) %p, i32 %n
  %last = load float, ptr addrspace(1) %own, align 4
  ret void
}
"#;
    let (session, function, found) = accesses_of(text, Some([64, 1, 1]));
    let patterns = found.iter().map(|access| {
        format!("{}: {:?}", session.print_inst(function, access.inst).trim(), access.pattern)
    });
    expect![[r#"
        %here = load float, ptr addrspace(1) %at, align 4: Broadcast
        %there = load float, ptr addrspace(1) %at, align 4: Gather
        %last = load float, ptr addrspace(1) %own, align 4: Broadcast
    "#]]
    .assert_eq(&patterns.map(|line| line + "\n").collect::<String>());
}

/// An address, and the place of the lane: x, y, z, and its number in the wave.
type Lane = (u64, [u32; 4]);

/// What lanes touched, by execution and wave.
#[derive(Default)]
struct Touched(FxHashMap<(InstId, Key, u32, u32), Vec<Lane>>);

impl Observer for Touched {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &observe::Access) {
        let place = at.thread;
        let [x, y, z] = place.thread;
        let key = (at.inst, at.key, place.block[0], place.wave);
        self.0.entry(key).or_default().push((access.address, [x, y, z, place.lane]));
    }
}

/// Whether what is said of an access is so of these lanes.
fn is_right(access: &Access, lanes: &[Lane]) -> bool {
    let stride = match access.pattern {
        Pattern::Broadcast => 0,
        Pattern::Consecutive => i64::from(access.size),
        Pattern::Strided(stride) => stride,
        Pattern::Gather => return true,
    };
    let steps = |(from, a): Lane, (to, b): Lane| {
        let step = match access.within {
            Within::Wave => i64::from(b[3]) - i64::from(a[3]),
            Within::Row if a[1..3] != b[1..3] => return true,
            Within::Row => i64::from(b[0]) - i64::from(a[0]),
        };
        to.wrapping_sub(from) as i64 == stride * step
    };
    let regular = lanes.iter().all(|&a| lanes.iter().all(|&b| steps(a, b)));
    let touched = |segment: u64| {
        let mut all: Vec<u64> = lanes
            .iter()
            .flat_map(|&(at, _)| at / segment..=(at + u64::from(access.size) - 1) / segment)
            .collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u32
    };
    // As lanes are served: 32 words at a time.
    let banks = || {
        let together = (128 / access.size).clamp(1, 32);
        let mut words: FxHashMap<(u32, u64), Vec<u64>> = FxHashMap::default();
        for &(at, lane) in lanes {
            for word in at / 4..=(at + u64::from(access.size) - 1) / 4 {
                words.entry((lane[3] / together, word % 32)).or_default().push(word);
            }
        }
        let different = words.into_values().map(|mut words| {
            words.sort_unstable();
            words.dedup();
            words.len() as u32
        });
        different.max().unwrap_or(0)
    };
    regular
        && access.bank_degree.is_none_or(|most| banks() <= most)
        && access.segments.is_none_or(|most| touched(128) <= most)
        && access.sectors.is_none_or(|most| touched(32) <= most)
}

/// A kernel that reads where a random function of its indices says.
fn random_body(rng: &mut SmallRng) -> String {
    let mut body = String::new();
    let small = |rng: &mut SmallRng| *[0, 1, 1, 2, 3, 4, 16, 33].choose(rng).expect("some");
    let flags = |rng: &mut SmallRng| *["", "nsw ", "nuw nsw "].choose(rng).expect("some");
    for (name, of) in [("tx", "x"), ("ty", "y"), ("tb", "b"), ("tn", "n")] {
        let _ = writeln!(body, "  %{name} = mul {}i32 %{of}, {}", flags(rng), small(rng));
    }
    let shifts = ["lshr i32 %x, 3", "and i32 %x, 7", "udiv i32 %x, 32", "add i32 %x, 5"];
    let _ = writeln!(body, "  %s = {}", shifts.choose(rng).expect("some"));
    let mut sum = "%tx".to_owned();
    for (at, name) in ["%ty", "%tb", "%tn", "%s"].into_iter().enumerate() {
        if rng.random_bool(0.5) {
            let _ = writeln!(body, "  %sum{at} = add {}i32 {sum}, {name}", flags(rng));
            sum = format!("%sum{at}");
        }
    }
    let types = [("i32", 4), ("i16", 2), ("i64", 8), ("<4 x float>", 16)];
    let (ty, align) = *types.choose(rng).expect("some");
    let [space, base] = match rng.random() {
        true => ["ptr addrspace(1)", "%p"],
        false => ["ptr addrspace(3)", "@big"],
    };
    let read = |body: &mut String, name: &str, index: &str, cast: &str| {
        let _ = writeln!(body, "  %w.{name} = {cast} i32 {index} to i64");
        let _ = writeln!(
            body,
            "  %a.{name} = getelementptr inbounds {ty}, {space} {base}, i64 %w.{name}
  %v.{name} = load {ty}, {space} %a.{name}, align {align}"
        );
    };
    let cast = if rng.random() { "sext" } else { "zext" };
    read(&mut body, "once", &sum, cast);
    if rng.random_bool(0.6) {
        let step = if rng.random() { "%n".to_owned() } else { rng.random_range(1..40).to_string() };
        // Threads leave in different iterations.
        let bound = if rng.random() { "%m" } else { "%tx" };
        let _ = writeln!(
            body,
            "  br label %loop
loop:
  %i = phi i32 [ {sum}, %entry ], [ %next, %loop ]
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]"
        );
        read(&mut body, "loop", "%i", cast);
        let _ = writeln!(
            body,
            "  %next = add {}i32 %i, {step}
  %k.next = add i32 %k, 1
  %k.few = and i32 %k, 7
  %more.k = icmp ne i32 %k.few, 7
  %more.i = icmp ult i32 %k, {bound}
  %more = and i1 %more.k, %more.i
  br i1 %more, label %loop, label %exit
exit:",
            flags(rng)
        );
        read(&mut body, "last", "%i", cast);
    }
    body.push_str("  ret void\n");
    body
}

const SIZES: &[[u32; 3]] =
    &[[32, 1, 1], [64, 1, 1], [96, 1, 1], [16, 4, 1], [33, 2, 1], [32, 3, 1], [8, 8, 1], [5, 1, 1]];

#[test]
fn no_claim_is_refuted_by_an_address() {
    let (mut checked, mut conflicts) = ([0; 4], 0);
    for seed in 0..400 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let body = random_body(rng);
        let size = *SIZES.choose(rng).expect("some");
        let stated = rng.random_bool(0.7).then_some(size);
        let (session, _, found) = accesses(&body, stated);
        let text = format!("{HEAD}{body}}}\n");
        let context = Arc::new(ir::Context::new());
        let module = phalanx::llvm::parse_module(context, text.as_bytes()).expect("read").module;
        let target = phalanx::target::Target::new("nvptx64-nvidia-cuda", "");
        let program = Program::new(&module, &target).expect("can be run");
        let mut memory = program.memory(seed).expect("there is room");
        let buffer = memory.buffer(&vec![0; 1 << 16]).expect("there is room");
        let args = vec![
            Arg::bits(buffer),
            Arg::bits(buffer),
            Arg::bits(u128::from(rng.random_range(0..9u32))),
            Arg::bits(u128::from(rng.random_range(0..9u32))),
        ];
        let launch =
            Launch { block: size, grid: [2, 1, 1], args, fuel: 200_000, ..Launch::default() };
        let mut touched = Touched::default();
        // What came before a fault happened as well.
        let _ = phalanx::simt::run(&program, "k", &launch, &mut memory, &mut touched);
        for ((inst, ..), lanes) in &touched.0 {
            let access = found.iter().find(|access| access.inst == *inst).expect("it is known");
            checked[match access.pattern {
                Pattern::Broadcast => 0,
                Pattern::Consecutive => 1,
                Pattern::Strided(_) => 2,
                Pattern::Gather => 3,
            }] += 1;
            conflicts += u32::from(access.bank_degree.is_some_and(|degree| degree > 1));
            assert!(
                is_right(access, lanes),
                "seed {seed}: {access:?} of {size:?}\n{lanes:?}\n{body}"
            );
        }
        drop(session);
    }
    assert!(checked.iter().all(|&count| count > 60) && conflicts > 30, "{checked:?}, {conflicts}");
}
