//! Edit scripts: `test-suite/edits/*.ll`. See [`phalanx_fuzz::scripts`].
//!
//! `UPDATE_EXPECT=1` writes the facts that are found into the scripts.

use std::{fs, path::PathBuf};

use expect_test::expect_file;
use phalanx_fuzz::scripts::run;
use rayon::prelude::*;

/// All scripts, by name.
fn scripts() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../edits");
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("it is there").path()).collect();
    files.sort();
    assert!(files.len() > 2, "there are scripts");
    files
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the scripts")]
fn scripts_find_what_they_expect() {
    let found: Vec<(PathBuf, String)> = scripts()
        .into_par_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a script is text");
            let found = run(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (path, found)
        })
        .collect();
    for (path, found) in found {
        expect_file![path].assert_eq(&found);
    }
}

#[test]
fn a_line_that_cannot_be_carried_out_is_named() {
    let kernel = "define void @f(i32 %n) {\nentry:\n  %a = add i32 %n, 1\n  ret void\n}\n";
    let of = |line: &str| run(&format!("{kernel}{line}\n")).expect_err("it cannot be carried out");
    assert_eq!(of("; edit erase %b"), "line 6: there is no `%b`: `; edit erase %b`");
    assert_eq!(
        of("; edit set %a 1 = i64 7"),
        "line 6: @f, %entry: add: Both operands to a binary operator are not of the same type! \
         (i32 %n, i64 7): `; edit set %a 1 = i64 7`"
    );
    assert_eq!(of("; edit turn %a"), "line 6: there is no such edit: `; edit turn %a`");
    assert_eq!(
        of("; expect sum %a = 1"),
        "line 6: there is no such subject: `; expect sum %a = 1`"
    );
}
