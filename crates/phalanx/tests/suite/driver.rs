//! The embedding example does what the documentation says.

#[path = "../../examples/driver.rs"]
mod example;

use expect_test::expect;

#[test]
fn the_driver_asks_after_each_transform() {
    let out = example::run().expect("the example works");
    expect![[r#"
        built: 4 of 405 values and 1 branches diverge; divergence was found; 9 queries ran, 0 answers were still good
        identities: 4 of 204 values and 1 branches diverge; divergence was found; 6 queries ran, 3 answers were still good
        strength: 4 of 204 values and 1 branches diverge; divergence was found; 1 queries ran, 3 answers were still good
        ask the first: 2 of 204 values and 0 branches diverge; divergence was found again and kept; 1 queries ran, 3 answers were still good
        split: 2 of 204 values and 0 branches diverge; divergence was repaired; 3 queries ran, 2 answers were still good
        refused: @polynomial: %i406 is still read by %i407
        the same: 2 of 204 values and 0 branches diverge; divergence was repaired; 1 queries ran, 4 answers were still good
    "#]].assert_eq(&out);
    let page = include_str!("../../../../docs/embedding.md");
    assert!(page.contains(out.trim_end()), "docs/embedding.md shows what the example prints");
}
