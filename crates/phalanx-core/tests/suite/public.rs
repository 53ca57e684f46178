//! What the crate promises to other compilers: a change of `public.txt` is a change that clients
//! see.

use std::path::Path;

use expect_test::expect_file;
use phalanx_testing::public_items::list;

#[test]
fn public_items_are_those_in_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = list("phalanx_core", &root.join("src"));
    for known in
        ["pub fn at_use(&self, value: Value, reader: Reader) -> SourceSet", "pub trait Source"]
    {
        assert!(list.contains(known), "{known}\n{list}");
    }
    expect_file![root.join("public.txt")].assert_eq(&list);
}
