//! The first driver does what its page says.

#[path = "../../examples/again.rs"]
mod example;

use expect_test::expect;

#[test]
fn the_first_driver_asks_again() {
    let out = example::run().expect("the example works");
    expect![[r#"
        a branch parts threads of a wave:
          the branch of %entry is decided by %inside
          %inside is computed from %id
          %id is the result of a call: the thread's index x
        after the edit: no branch parts threads of a wave
        computed again: affect_map, divergence; 3 answers were still good
        read again: 1 changed, 1 did not
        a branch parts threads of a wave:
          the branch of %entry is decided by %inside
          %inside is computed from %id
          %id is the result of a call: the thread's index x
    "#]]
    .assert_eq(&out);
    let page = include_str!("../../../../docs/first-driver.md");
    assert!(page.contains(out.trim_end()), "docs/first-driver.md shows what the example prints");
}
