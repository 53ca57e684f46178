//! Functions that access private memory of their callers: always, sometimes, at different places,
//! in one of several ways, repeatedly; and structures that they are passed by reference.

use std::fmt::{self, Write as _};

use phalanx_testing::abstract_program::Operand;

/// `P` stands for pointers to private memory, `SPACE` for their space where slots are made.
const FUNCTIONS: &str = r"
define internal void @o.pair(P %to, i32 %a, i32 %b) {
  store i32 %a, P %to, align 4
  %second = getelementptr i32, P %to, i32 1
  store i32 %b, P %second, align 4
  ret void
}
define internal void @o.some(P %to, i32 %a, i32 %when) {
  %bit = trunc i32 %when to i1
  br i1 %bit, label %yes, label %no
yes:
  store i32 %a, P %to, align 4
  br label %no
no:
  ret void
}
define internal i32 @o.bump(P %at, i32 %a) {
  %old = load i32, P %at, align 4
  %new = add i32 %old, %a
  store i32 %new, P %at, align 4
  ret i32 %old
}
define internal void @o.swap(P %p, P %q) {
  %a = load i32, P %p, align 4
  %b = load i32, P %q, align 4
  store i32 %b, P %p, align 4
  store i32 %a, P %q, align 4
  ret void
}
define internal i32 @o.index(P %row, i32 %i, i32 %a) {
  %in = and i32 %i, 3
  %at = getelementptr i32, P %row, i32 %in
  store i32 %a, P %at, align 4
  %first = load i32, P %row, align 4
  ret i32 %first
}
define internal i32 @o.apart(P %to, i32 %a, i32 %when) {
  %to.addr = alloca P, align 8, SPACE
  store P %to, P.slot %to.addr, align 8
  %bit = trunc i32 %when to i1
  br i1 %bit, label %yes, label %no
yes:
  %p = load P, P.slot %to.addr, align 8
  store i32 %a, P %p, align 4
  ret i32 1
no:
  %q = load P, P.slot %to.addr, align 8
  store i32 3, P %q, align 4
  ret i32 1
}
define internal i32 @o.rounds(P %at, i32 %n) {
  %most = and i32 %n, 3
  br label %round
round:
  %i = phi i32 [ 0, %0 ], [ %next, %round ]
  %old = load i32, P %at, align 4
  %new = add i32 %old, 5
  store i32 %new, P %at, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %i, %most
  br i1 %more, label %round, label %done
done:
  ret i32 7
}
define internal i32 @o.nested(P %at, i32 %a, i32 %b) {
  %second = getelementptr i32, P %at, i32 1
  call void @o.some(P %second, i32 %a, i32 %b)
  %old = call i32 @o.bump(P %at, i32 %b)
  %rest = call i32 @o.apart(P %second, i32 %old, i32 %a)
  ret i32 %rest
}
define internal i32 @o.copy(P %to, ptr %from) {
  %what = load i32, ptr %from, align 4
  %bit = trunc i32 %what to i1
  br i1 %bit, label %yes, label %no
yes:
  store i32 %what, P %to, align 4
  br label %no
no:
  %out = phi i32 [ %what, %0 ], [ 1, %yes ]
  ret i32 %out
}
define internal i32 @o.again(P %at, i32 %n) {
  %i = and i32 %n, 3
  %more = icmp ne i32 %i, 0
  br i1 %more, label %yes, label %no
yes:
  %old = load i32, P %at, align 4
  %less = sub i32 %i, 1
  store i32 %i, P %at, align 4
  %rest = call i32 @o.again(P %at, i32 %less)
  ret i32 %old
no:
  ret i32 2
}
define internal i32 @o.reads(P byref({ i32, i32, i32 }) %s, i32 %a) {
  %second = getelementptr i32, P %s, i32 1
  %x = load i32, P %s, align 4
  %y = load i32, P %second, align 4
  %both = xor i32 %x, %y
  %bit = trunc i32 %y to i1
  br i1 %bit, label %yes, label %no
yes:
  %more = add i32 %x, %a
  br label %no
no:
  %out = phi i32 [ %both, %0 ], [ %more, %yes ]
  ret i32 %out
}
define internal i32 @o.relay(P byref({ i32, i32, i32 }) %s, i32 %a) {
  %mine = alloca { i32, i32, i32 }, align 4, SPACE
  call void COPY(P %mine, P %s, i64 12, i1 false)
  %was = load i32, P %mine, align 4
  %even = and i32 %was, -2
  store i32 %even, P %mine, align 4
  %out = call i32 @o.last(P byref({ i32, i32, i32 }) %mine, i32 %a)
  ret i32 %out
}
define internal i32 @o.last(P byref({ i32, i32, i32 }) %s, i32 %a) {
  %third = getelementptr i32, P %s, i32 2
  %x = load i32, P %s, align 4
  %z = load i32, P %third, align 4
  %sum = add i32 %x, %z
  ret i32 %sum
}
";

/// All of them, for a target.
pub(super) fn functions(amd: bool) -> String {
    let (pointer, space) =
        if amd { ("ptr addrspace(5)", "addrspace(5)") } else { ("ptr", "addrspace(0)") };
    FUNCTIONS
        .replace("P.slot ", &format!("{pointer} "))
        .replace("P %", &format!("{pointer} %"))
        .replace("P,", &format!("{pointer},"))
        .replace("P byref", &format!("{pointer} byref"))
        .replace("COPY", if amd { "@llvm.memcpy.p5.p5.i64" } else { "@llvm.memcpy.p0.p0.i64" })
        .replace("SPACE", space)
}

/// A call of one of them.
pub(super) fn call_text(
    out: &mut String,
    amd: bool,
    v: &str,
    (a, b): (&Operand, &Operand),
    pick: &impl Fn(u64) -> u64,
) -> fmt::Result {
    let p = if amd { "ptr addrspace(5)" } else { "ptr" };
    let place = |salt: u64| ["m", "k", "one", "one.1", "two"][(pick(1009 + salt) % 5) as usize];
    // Objects of at least two numbers.
    let pair = ["one", "one.1", "two"][(pick(1013) % 3) as usize];
    let to = place(0);
    let structure = ["one", "two"][(pick(1019) % 2) as usize];
    let by_reference = format!("({p} byref({{ i32, i32, i32 }}) %{structure}, i32 {a})");
    match pick(29) % 13 {
        0 => writeln!(out, "  call void @o.pair({p} %{pair}, i32 {a}, i32 {b})"),
        1 => writeln!(out, "  call void @o.some({p} %{to}, i32 {a}, i32 {b})"),
        2 => writeln!(out, "  {v}.o = call i32 @o.bump({p} %{to}, i32 {a})"),
        // Also of one place with itself.
        3 => writeln!(out, "  call void @o.swap({p} %{to}, {p} %{})", place(10)),
        4 => writeln!(out, "  {v}.o = call i32 @o.index({p} %row, i32 {a}, i32 {b})"),
        5 => writeln!(out, "  {v}.o = call i32 @o.apart({p} %{to}, i32 {a}, i32 {b})"),
        6 => writeln!(out, "  {v}.o = call i32 @o.rounds({p} %{to}, i32 {b})"),
        7 => writeln!(out, "  {v}.o = call i32 @o.nested({p} %{pair}, i32 {a}, i32 {b})"),
        8 => {
            writeln!(out, "  {v}.oi = and i32 {a}, 7")?;
            writeln!(out, "  {v}.ofrom = getelementptr i32, ptr %gen, i32 {v}.oi")?;
            let from = match pick(37) % 3 {
                0 => format!("{v}.ofrom"),
                1 => "%pub.gen".into(),
                _ if amd => {
                    writeln!(out, "  {v}.ocast = addrspacecast {p} %{} to ptr", place(20))?;
                    format!("{v}.ocast")
                }
                _ => format!("%{}", place(20)),
            };
            writeln!(out, "  {v}.o = call i32 @o.copy({p} %{to}, ptr {from})")
        }
        9 => writeln!(out, "  {v}.o = call i32 @o.again({p} %{to}, i32 {b})"),
        11 => writeln!(out, "  {v}.o = call i32 @o.reads{by_reference}"),
        12 => writeln!(out, "  {v}.o = call i32 @o.relay{by_reference}"),
        _ => {
            // Somewhere in the object.
            writeln!(out, "  {v}.oi = and i32 {b}, 3")?;
            writeln!(out, "  {v}.oat = getelementptr i32, {p} %row, i32 {v}.oi")?;
            writeln!(out, "  {v}.o = call i32 @o.bump({p} {v}.oat, i32 {a})")
        }
    }
}
