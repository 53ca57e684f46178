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

/// Examples, and the pages that quote them, show what a driver writes with the default features.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the examples")]
fn examples_do_without_the_database() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(examples).expect("there are examples");
    let texts: Vec<String> = files
        .map(|file| file.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| std::fs::read_to_string(path).expect("it is text"))
        .collect();
    assert!(texts.len() > 1);
    for text in texts {
        for word in ["phalanx::db", "    db::", ".database", ".input()"] {
            assert!(!text.contains(word), "{word} needs the feature `database`");
        }
    }
}
