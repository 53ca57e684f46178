//! The public API of the facade itself: a change of `public.txt` is a change that drivers see. The
//! re-exported crates are not included.

use std::path::Path;

use expect_test::expect_file;
use phalanx_testing::public_items::list;

#[test]
fn public_items_are_those_in_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = list("phalanx", &root.join("src"));
    for known in ["pub use session::{FunctionId, ModuleId, Session, Verifying}", "pub struct Known"]
    {
        assert!(list.contains(known), "{known}\n{list}");
    }
    expect_file![root.join("public.txt")].assert_eq(&list);
}
