//! Stack slots with a few blocks of their own each: they make a kernel large, independently of its
//! other code.

/// The slots `%a0`, `%a1` and so on, for the entry block.
#[must_use]
pub fn slots(count: usize) -> String {
    (0..count).map(|at| format!("  %a{at} = alloca i32\n")).collect()
}

/// The blocks that use `count` slots, from `s0` on. They end in a branch to the block `s` with the
/// number of slots, which the caller writes. The values in `stored` are stored into the slots in
/// turn; all slots compare what they load with `%n`.
#[must_use]
pub fn blocks(count: usize, stored: &[&str]) -> String {
    let blocks = (0..count).zip(stored.iter().cycle()).map(|(at, stored)| {
        let next = at + 1;
        format!(
            "s{at}:\n  store i32 {stored}, ptr %a{at}\n  %b{at} = load i32, ptr %a{at}\n  \
             %d{at} = icmp eq i32 %b{at}, 3\n  br i1 %d{at}, label %t{at}, label %u{at}\n\
             t{at}:\n  %e{at} = add i32 %b{at}, 1\n  store i32 %e{at}, ptr %a{at}\n  br label %u{at}\n\
             u{at}:\n  %f{at} = load i32, ptr %a{at}\n  %h{at} = icmp eq i32 %f{at}, %n\n  \
             br i1 %h{at}, label %s{next}, label %s{next}\n"
        )
    });
    blocks.collect()
}
