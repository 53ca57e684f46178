//! Our kernels with divergent regions made straight: LLVM accepts them, and they still compute what
//! the host does.

use std::{collections::BTreeMap, sync::Arc};

use phalanx::Session;
use phalanx_fuzz::linear::{Tally, straighten};
use phalanx_ir::Context;
use phalanx_test_suite::kernels::{Manifest, Variant};
use phalanx_testing::llvm_tools::require;
use rayon::prelude::*;

use crate::kernels::{check, host, orders, text, variants};

#[test]
fn kernels_with_straight_regions_compute_what_the_host_does() {
    let Some(opt) = require("opt") else { return };
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let of = |variant: &Variant| {
        let mut session = Session::new();
        let text = text(&manifest, &compiler, variant);
        let module = session.read(text.as_bytes()).expect("clang's output is read");
        let functions: Vec<_> = session.functions(module).collect();
        let mut tally = Tally::default();
        for function in functions {
            tally.merge(straighten(&mut session, function));
        }
        let printed = session.print(module);
        let outcome =
            opt.run(["-passes=verify", "-disable-output", "-"], &printed).expect("opt runs");
        let mut wrong = match outcome.success() {
            true => Vec::new(),
            false => vec![format!("{}: {}", variant.name(), outcome.summary())],
        };
        let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), &printed);
        match parsed {
            Ok(parsed) => wrong.extend(check(&parsed.module, variant, &cases, orders(variant))),
            Err(error) => wrong.push(format!("{}: {error}", variant.name())),
        }
        (variant.name().to_owned(), tally, wrong)
    };
    let results: Vec<_> = variants(&manifest).par_iter().map(of).collect();
    let mut groups: BTreeMap<String, Tally> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, tally, errors) in results {
        let level = name.rsplit('.').next().unwrap_or_default();
        let target = if name.contains("amdgcn") { "amdgcn" } else { "nvptx" };
        groups.entry(format!("{target} {level}")).or_default().merge(tally);
        wrong.extend(errors);
    }
    groups.iter().for_each(|(group, tally)| println!("{group}: {tally}"));
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(groups.values().all(|tally| tally.regions > 5), "{groups:?}");
}
