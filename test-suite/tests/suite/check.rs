//! The output of `phalanx check`: kernels with a mistake and their correct twins, the formats,
//! levels, and comparisons. `UPDATE_EXPECT=1` accepts changes.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use expect_test::{expect, expect_file};
use phalanx_test_suite::kernels::{Manifest, Variant};
use phalanx_testing::llvm_tools::{self, Outcome, Program, TIME_LIMIT};
use rayon::prelude::*;
use serde_json::Value;

fn folder() -> PathBuf {
    phalanx_test_suite::folder().join("check")
}

fn built() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("check")
}

/// Runs the command in a folder.
fn check_in(folder: &Path, arguments: &[&str]) -> Outcome {
    let arguments = ["check"].iter().chain(arguments).copied();
    crate::phalanx().run_in(Some(folder), arguments, &[], TIME_LIMIT).expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Findings about a file, from its JSON output.
fn findings(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> = ["--format", "json"].iter().chain(arguments).copied().collect();
    let outcome = check_in(folder, &arguments);
    let modules: Vec<Value> = serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.summary()));
    modules.iter().flat_map(|m| m["diagnostics"].as_array().cloned().unwrap_or_default()).collect()
}

/// The levels to check, only with debug information, so that places are in the source. Comparisons
/// are tested separately.
fn variants(manifest: &Manifest) -> Vec<Variant> {
    let (_, single) = looked_at(manifest);
    single
}

/// Sources that are compared with their transformed version, and others.
fn looked_at(manifest: &Manifest) -> (Vec<Variant>, Vec<Variant>) {
    let mut variants = manifest.variants();
    variants.retain(|variant| variant.debug && ["-O0", "-O2"].contains(&variant.level.as_str()));
    variants.into_iter().partition(|variant| variant.file.starts_with("against/"))
}

fn compiled(manifest: &Manifest, compiler: &Program, variant: &Variant) -> PathBuf {
    manifest.compile(compiler, variant, &built()).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Arguments for all optional rules; rules about loads only for sources that are about loads, since
/// they report nearly all others.
fn arguments<'a>(variant: &Variant, file: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["--suggest-launch", "--performance", "--no-generic", file];
    if variant.file.contains("loads.") {
        arguments.push("--loads");
    }
    arguments
}

/// Whether findings of a rule concern only an operation itself: its number of threads, its turn.
/// Then no branch separates threads.
fn says_it_all(code: &Value) -> bool {
    [
        "PHX008", "PHX009", "PHX014", "PHX015", "PHX016", "PHX034", "PHX044", "PHX050", "PHX052",
        "PHX053",
    ]
    .iter()
    .any(|rule| code == rule)
}

/// Every kernel that is called wrong has a finding, every one that is called right has none, at
/// each level of optimization.
#[test]
fn mistakes_are_found_and_their_twins_are_silent() {
    let manifest = Manifest::read_checks().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let mut codes = BTreeSet::new();
    for variant in variants(&manifest) {
        let file = compiled(&manifest, &compiler, &variant);
        let file = file.to_string_lossy();
        let source = fs::read_to_string(manifest.folder().join(&variant.file)).expect("source");
        let found = findings(manifest.folder(), &arguments(&variant, &file));
        let mut kernels: BTreeSet<&str> = source
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.starts_with("wrong_"))
            .collect();
        for finding in &found {
            let function = finding["function"].as_str().expect("a name");
            let function = function.trim_start_matches("__clang_ocl_kern_imp_");
            assert!(!function.starts_with("right_"), "{}: {finding:#}", variant.name());
            kernels.remove(function);
            codes.insert(finding["code"].as_str().expect("a code").to_owned());
            let place = &finding["location"]["source"];
            assert!(place["line"].as_u64().is_some_and(|line| line > 0), "{finding:#}");
            let has_reasons = !finding["reasons"].as_array().expect("reasons").is_empty();
            assert!(has_reasons || says_it_all(&finding["code"]), "{finding:#}");
        }
        assert!(kernels.is_empty(), "{}: nothing found in {kernels:?}", variant.name());
    }
    // What is left are those of comparisons.
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let expected = [
        "PHX001", "PHX002", "PHX003", "PHX004", "PHX005", "PHX006", "PHX007", "PHX008", "PHX009",
        "PHX011", "PHX012", "PHX014", "PHX015", "PHX016", "PHX018", "PHX030", "PHX031", "PHX032",
        "PHX033", "PHX034", "PHX040", "PHX041", "PHX043", "PHX044", "PHX050", "PHX051", "PHX052",
        "PHX053",
    ];
    assert_eq!(codes, expected);
}

/// The text, in `check/expected`.
#[test]
fn texts() {
    let manifest = Manifest::read_checks().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    for variant in variants(&manifest).into_iter().filter(|variant| variant.level == "-O2") {
        let file = compiled(&manifest, &compiler, &variant);
        let file = file.to_string_lossy();
        let outcome = check_in(manifest.folder(), &arguments(&variant, &file));
        // Where a link has no line in the source, its place is in a file with a name of its own.
        let shown = text(&outcome.stdout).replace(&*file, "module.ll");
        let name = variant.name().trim_end_matches(".g");
        expect_file![folder().join(format!("expected/{name}.txt"))].assert_eq(&shown);
        let has_error = shown.lines().any(|line| line.starts_with("error["));
        assert_eq!(outcome.status, Some(i32::from(has_error)), "{name}");
    }
}

/// Barriers that are not simply for all threads of a workgroup, and those in assembly.
#[test]
fn kinds_of_barriers() {
    let targets = [
        "nvptx_barriers",
        "amdgcn_barriers",
        "nvptx_assembly",
        "amdgcn_assembly",
        "nvptx_arguments",
        "amdgcn_arguments",
        "opencl_arguments",
        "nvptx_loops",
    ];
    for target in targets {
        let name = format!("ll/{target}.ll");
        let source = fs::read_to_string(folder().join(&name)).expect("source");
        let shown = text(&check_in(&folder(), &[&name]).stdout);
        expect_file![folder().join(format!("expected/{target}.txt"))].assert_eq(&shown);
        let found = findings(&folder(), &[&name]);
        let functions: BTreeSet<&str> =
            found.iter().map(|finding| finding["function"].as_str().expect("a name")).collect();
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
        let wrong: BTreeSet<&str> = words.filter(|word| word.starts_with("wrong_")).collect();
        let wrong: BTreeSet<&str> = wrong.into_iter().filter(|name| *name != "wrong_").collect();
        assert_eq!(functions, wrong, "{target}");
        assert_eq!(found.len(), wrong.len(), "one defect, one finding");
    }
}

/// Few false alarms: our kernels, for both targets, at `-O0` and `-O2`, have no errors, and a
/// warning has its reasons.
#[test]
fn our_kernels_have_no_errors() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = built().join("kernels");
    let found: Vec<(String, Value)> = variants(&manifest)
        .par_iter()
        .flat_map_iter(|variant| {
            let file = manifest
                .compile(&compiler, variant, &folder)
                .unwrap_or_else(|error| panic!("{error:#}"));
            let found = findings(manifest.folder(), &["--performance", &*file.to_string_lossy()]);
            found.into_iter().map(|finding| (variant.name().to_owned(), finding))
        })
        .collect();
    let mut warned = BTreeSet::new();
    for (name, finding) in &found {
        assert_ne!(finding["level"], "error", "{name}: {finding:#}");
        let reasons = finding["reasons"].as_array().expect("reasons");
        let code = finding["code"].as_str().unwrap_or_default();
        let is_about_control = !["PHX011", "PHX012", "PHX044"].contains(&code);
        let parts = reasons.iter().any(|reason| reason["kind"] == "part");
        assert_eq!(parts, is_about_control, "{name}: {finding:#}");
        let has_cause = reasons.iter().any(|reason| reason["kind"] == "because");
        assert!(has_cause || says_it_all(&finding["code"]), "{name}: {finding:#}");
        if finding["level"] == "warning" {
            let (code, line) = (finding["code"].as_str(), &finding["location"]["source"]["line"]);
            let stem = name.split('.').next().unwrap_or_default();
            warned.insert(format!("{stem} {} {line}", code.unwrap_or_default()));
        }
    }
    // Lanes share a row by `thread / 32`, where threads are counted over blocks: it takes to know
    // that waves are not cut across.
    assert_eq!(warned.into_iter().collect::<Vec<_>>(), ["bfs_frontier PHX006 20"]);
}

#[test]
fn comparisons() {
    let folder = folder().join("against");
    for (name, is_error) in [
        ("peeled", true),
        ("sunk", false),
        ("hoisted", false),
        ("removed", true),
        ("passed", false),
        ("split", false),
        ("default", false),
        ("threaded", false),
        ("unreached", false),
    ] {
        let (before, after) = (format!("{name}.before.ll"), format!("{name}.after.ll"));
        let outcome = check_in(&folder, &["--against", &before, &after]);
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&text(&outcome.stdout));
        assert_eq!(outcome.status, Some(i32::from(is_error)), "{name}");
        let same = check_in(&folder, &["--against", &after, &after]);
        let told = text(&same.stdout);
        let is_fine = told.starts_with("nothing found; compared: ") && told.lines().count() == 1;
        assert!(is_fine, "{name}: {told}");
    }
}

/// Modules of which none is a version of the other are not silently fine.
#[test]
fn modules_that_have_nothing_in_common() {
    let folder = folder().join("against");
    let outcome = check_in(&folder, &["--against", "split.before.ll", "removed.after.ll"]);
    assert_eq!(
        text(&outcome.stdout),
        "warning[PHX025]: the modules have no function in common: nothing is compared
 |
help: compare two versions of one module: functions are matched by name

1 warning; compared: 0 kernels, 0 operations among threads
"
    );
}

/// As [`mistakes_are_found_and_their_twins_are_silent`], for the rules that compare a source with
/// its transformed version.
#[test]
fn transforms_are_told_from_harmless_ones() {
    let manifest = Manifest::read_checks().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let (pairs, _) = looked_at(&manifest);
    for level in ["-O0", "-O2"] {
        let mut files = pairs
            .iter()
            .filter(|variant| variant.level == level)
            .map(|variant| compiled(&manifest, &compiler, variant).to_string_lossy().into_owned());
        let (before, after) = (files.next().expect("before"), files.next().expect("after"));
        let found = findings(manifest.folder(), &["--against", &before, &after]);
        let told: Vec<[&str; 2]> = found
            .iter()
            .map(|finding| ["code", "function"].map(|key| finding[key].as_str().expect("text")))
            .collect();
        let expected =
            [["PHX020", "wrong_barrier"], ["PHX021", "wrong_shuffle"], ["PHX022", "moved_barrier"]];
        assert_eq!(told, expected, "{level}");
        let same = findings(manifest.folder(), &["--against", &after, &after]);
        assert!(same.is_empty(), "{level}: {same:#?}");
    }
}

/// Clang's optimizer makes our kernels no worse: compares `-O0` with `-O1`, `-O2` and `-O3`.
#[test]
fn optimized_kernels_are_no_worse() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = built().join("kernels");
    let variants = variants(&manifest);
    let pairs: Vec<(&Variant, Variant)> = variants
        .iter()
        .filter(|variant| variant.level == "-O0")
        .flat_map(|before| ["-O1", "-O2", "-O3"].map(|level| (before, before.at_level(level))))
        .collect();
    assert!(pairs.len() > 150, "{}", pairs.len());
    let worse: Vec<String> = pairs
        .par_iter()
        .flat_map_iter(|(before, after)| {
            let file = |variant| {
                let file = manifest.compile(&compiler, variant, &folder);
                file.unwrap_or_else(|error| panic!("{error:#}")).to_string_lossy().into_owned()
            };
            let arguments = ["--level", "warning", "--against", &file(before), &file(after)];
            let found = findings(manifest.folder(), &arguments);
            found.into_iter().map(|finding| format!("{}: {finding:#}", after.name()))
        })
        .collect();
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

/// A file with one early exit: a note by itself.
fn guarded(folder: &Path) -> PathBuf {
    let path = folder.join("guarded.ll");
    fs::write(&path, include_str!("../../check/guarded.ll")).expect("it can be written");
    path
}

#[test]
fn levels_and_statuses() {
    let folder = tempfile::tempdir().expect("folder");
    let file = guarded(folder.path());
    let file = file.to_string_lossy();
    let run = |arguments: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().copied().chain([&*file]).collect();
        let outcome = check_in(folder.path(), &arguments);
        let shown = text(&outcome.stdout);
        let last = shown.lines().last().and_then(|line| line.split_once("; judged: "));
        (outcome.status, last.unwrap_or_default().0.to_owned())
    };
    let is = |code: i32, last: &str| (Some(code), last.to_owned());
    assert_eq!(run(&[]), is(0, "1 note"));
    assert_eq!(run(&["--deny", "PHX003"]), is(1, "1 error"));
    assert_eq!(run(&["--warn", "barrier-after-exit"]), is(0, "1 warning"));
    assert_eq!(run(&["--allow", "PHX003"]), is(0, "nothing found"));
    assert_eq!(run(&["--allow", "all", "--deny", "PHX003"]), is(1, "1 error"));
    assert_eq!(run(&["--level", "warning"]), is(0, "nothing found"));
    assert_eq!(run(&["--group", "1"]), is(0, "nothing found"));
    assert_eq!(run(&["--deny", "PHX999"]).0, Some(2));
    assert_eq!(run(&["--strict"]), is(0, "1 warning"));
    assert_eq!(run(&["--strict", "--allow", "PHX003"]), is(0, "nothing found"));
    assert_eq!(run(&["--deny", "warnings"]), is(0, "1 note"));
    assert_eq!(run(&["--strict", "--deny", "warnings"]), is(1, "1 error"));
    // A file says the same, and the command line says it louder.
    fs::write(folder.path().join("phalanx.toml"), "[check]\ndeny = [\"PHX003\"]\n").expect("file");
    assert_eq!(run(&[]), is(1, "1 error"));
    assert_eq!(run(&["--allow", "PHX003"]), is(0, "nothing found"));
    fs::write(folder.path().join("phalanx.toml"), "[check]\nforbid = []\n").expect("file");
    assert_eq!(run(&[]).0, Some(2));
    for (text, expected) in [
        ("rules = [\"PHX003\"], function = \"guard*\"", "nothing found"),
        ("rules = [\"PHX003\"], function = \"guard\"", "1 note"),
        ("rules = [\"PHX001\"]", "1 note"),
        ("rules = [\"PHX003\"], file = \"vendor/*\"", "1 note"),
        ("rules = [\"all\"], function = \"guard*\"", "nothing found"),
    ] {
        let text = format!("[check]\nexcept = [{{ {text} }}]\n");
        fs::write(folder.path().join("phalanx.toml"), &text).expect("file");
        assert_eq!(run(&[]), is(0, expected), "{text}");
    }
    fs::write(folder.path().join("phalanx.toml"), "[check]\nlevel = \"error\"\n").expect("file");
    assert_eq!(run(&[]), is(0, "nothing found"));
    assert_eq!(check_in(folder.path(), &["no-such-file.ll"]).status, Some(2));
}

#[test]
fn what_metadata_and_comments_allow() {
    let folder = tempfile::tempdir().expect("folder");
    let source = include_str!("../../check/guarded.ll");
    let count = |text: &str| {
        let path = folder.path().join("allowed.ll");
        fs::write(&path, text).expect("it can be written");
        findings(folder.path(), &["allowed.ll"]).len()
    };
    assert_eq!(count(source), 1);
    let barrier = "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    let with = |text: &str| source.replace(barrier, &format!("{barrier}{text}"));
    assert_eq!(count(&with(" ; phalanx: allow(PHX003)")), 0);
    assert_eq!(count(&with(" ; phalanx: allow(PHX001)")), 1);
    let node = "\n!0 = !{!\"barrier-after-exit\"}\n";
    assert_eq!(count(&(with(", !phalanx.allow !0") + node)), 0);
    let header = "i32 %n) {";
    let of_function = source.replace(header, "i32 %n) !phalanx.allow !0 {");
    assert_ne!(of_function, source);
    assert_eq!(count(&(of_function.clone() + node)), 0);
    assert_eq!(count(&(of_function + "\n!0 = !{!\"PHX001\"}\n")), 1);
    assert_eq!(count(&(source.to_owned() + "\n!phalanx.allow = !{!0}" + node)), 0);
}

#[test]
fn baselines() {
    let folder = tempfile::tempdir().expect("folder");
    let source = include_str!("../../check/guarded.ll");
    guarded(folder.path());
    let written = check_in(folder.path(), &["--write-baseline", "known.json", "guarded.ll"]);
    assert_eq!((written.status, text(&written.stdout)), (Some(0), String::new()));
    let known = |text: &str| {
        fs::write(folder.path().join("guarded.ll"), text).expect("it can be written");
        findings(folder.path(), &["--baseline", "known.json", "guarded.ll"]).len()
    };
    assert_eq!(known(source), 0);
    assert_eq!(known(&format!("; a line more\n\n{source}")), 0, "places may change");
    assert_eq!(known(&source.replace("@guarded(", "@other(")), 1, "another function");
    let barrier = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
    assert_eq!(known(&source.replace(barrier, &barrier.repeat(2))), 0, "the same defect");
    let again = source[source.find("define").expect("a kernel")..].replace("@guarded(", "@more(");
    assert_eq!(known(&format!("{source}\n{again}")), 1, "one more in another function");
}

/// The log of a run with everything in it, against what the format demands.
#[test]
fn sarif() {
    let manifest = Manifest::read_checks().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let files: Vec<String> = variants(&manifest)
        .iter()
        .map(|variant| compiled(&manifest, &compiler, variant).to_string_lossy().into_owned())
        .collect();
    let mut arguments = vec!["--format", "sarif", "--suggest-launch", "--performance"];
    arguments.extend(files.iter().map(String::as_str));
    let outcome = check_in(manifest.folder(), &arguments);
    assert_eq!(outcome.status, Some(1));
    let log: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    crate::sarif_format::validate(&log);
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert!(results.len() > 10, "{}", results.len());
    assert!(results.iter().any(|result| result["suppressions"][0]["kind"] == "inSource"));
    // Each flow begins where threads get their index, or in memory, and ends at the operation.
    let has_flow = |result: &&Value| result["level"] == "error" && !says_it_all(&result["ruleId"]);
    for result in results.iter().filter(has_flow) {
        let flow = &result["codeFlows"][0]["threadFlows"][0]["locations"];
        let flow = flow.as_array().unwrap_or_else(|| panic!("no flow in {result:#}"));
        let last = &flow.last().expect("a step")["location"]["physicalLocation"];
        assert_eq!(*last, result["locations"][0]["physicalLocation"]);
    }
    // The schema is one that can say no.
    let wrong = |change: fn(&mut Value)| {
        let mut log = log.clone();
        change(&mut log);
        crate::sarif_format::faults(&log).len()
    };
    assert_ne!(wrong(|log| log["runs"][0]["results"][0]["level"] = "fatal".into()), 0);
    assert_ne!(wrong(|log| log["runs"][0]["resultz"] = "".into()), 0);
    assert_ne!(wrong(|log| log["runs"][0]["results"][0]["message"] = Value::Null), 0);
    let pages = |log: &mut Value| {
        log["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] = "no address".into();
    };
    assert_ne!(wrong(pages), 0);
}

/// What a baseline and a file of levels do to a log.
#[test]
fn sarif_of_what_is_known() {
    let folder = tempfile::tempdir().expect("folder");
    guarded(folder.path());
    check_in(folder.path(), &["--write-baseline", "known.json", "guarded.ll"]);
    fs::write(
        folder.path().join("phalanx.toml"),
        "[check]\npages = \"https://example.org/rules\"\n",
    )
    .expect("file");
    let arguments = ["--format", "sarif", "--baseline", "known.json", "--deny", "all"];
    let outcome = check_in(folder.path(), &[&arguments[..], &["guarded.ll"]].concat());
    assert_eq!(outcome.status, Some(0), "what is known is no error");
    let log: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    crate::sarif_format::validate(&log);
    let run = &log["runs"][0];
    assert_eq!(run["results"][0]["suppressions"][0]["kind"], "external");
    let rule = &run["tool"]["driver"]["rules"][0];
    assert_eq!(rule["helpUri"], "https://example.org/rules/PHX001.md");
}

/// The last lines say what was judged and what was not; `--deny not-judged` makes it an error.
#[test]
fn what_is_not_judged() {
    let folder = tempfile::tempdir().expect("folder");
    let run = |module: &str, arguments: &[&str]| {
        fs::write(folder.path().join("m.ll"), module).expect("it can be written");
        let outcome = check_in(folder.path(), &[arguments, &["m.ll"]].concat());
        let shown = text(&outcome.stdout);
        let from = shown.find("nothing found").unwrap_or_default();
        (outcome.status, shown[from..].to_owned())
    };
    let nvptx = "target triple = \"nvptx64-nvidia-cuda\"\n";
    let calls = format!(
        "{nvptx}declare void @helper() convergent\n\
         declare void @pure()\n\
         declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n\
         define ptx_kernel void @k(ptr %f) {{\n\
           call void @helper()\n\
           call void @helper()\n\
           call void @pure()\n\
           call void %f()\n\
           call void asm sideeffect \"strange.op;\", \"\"()\n\
           call void asm sideeffect \"bar.sync 0;\", \"\"()\n\
           call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n\
           ret void\n\
         }}\n\
         define void @nobody_calls() {{\n\
           call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n\
           ret void\n\
         }}\n"
    );
    let (status, shown) = run(&calls, &[]);
    assert_eq!(status, Some(0));
    expect![[r#"
        nothing found; judged: 1 kernel, 2 barriers
        not judged: calls of `helper`, whose code is not seen here: it may have a barrier (m.ll:6:1 and 1 more place)
        not judged: calls through pointers: who is called is not known (m.ll:9:1)
        not judged: inline assembly with `strange.op`: it may wait for other threads (m.ll:10:1)
        not judged: `nobody_calls`, which no kernel of the module calls
    "#]]
    .assert_eq(&shown);
    assert_eq!(run(&calls, &["--deny", "not-judged"]).0, Some(1));
    let log = check_in(folder.path(), &["--format", "sarif", "m.ll"]);
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    crate::sarif_format::validate(&log);
    let told = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(told[0]["descriptor"]["id"], "not-judged/unknown-callee");
    assert_eq!(told[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 6);
    // All is judged: the twin of each.
    let judged = format!("{nvptx}define ptx_kernel void @k() {{\n  ret void\n}}\n");
    assert_eq!(run(&judged, &["--deny", "not-judged"]).0, Some(0));
    // Accesses of workgroup memory at an index from data are not compared.
    let scattered = format!(
        "{nvptx}@tile = internal addrspace(3) global [64 x i32] undef\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
         declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n\
         define ptx_kernel void @k(ptr addrspace(1) %keys) \"nvvm.reqntid\"=\"64\" {{\n\
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
           %own = getelementptr i32, ptr addrspace(1) %keys, i32 %t\n\
           %key = load i32, ptr addrspace(1) %own\n\
           %at = and i32 %key, 63\n\
           %to = getelementptr i32, ptr addrspace(3) @tile, i32 %at\n\
           store i32 %t, ptr addrspace(3) %to\n\
           call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n\
           %from = getelementptr i32, ptr addrspace(3) @tile, i32 %t\n\
           %x = load i32, ptr addrspace(3) %from\n\
           store i32 %x, ptr addrspace(1) %own\n\
           ret void\n\
         }}\n"
    );
    assert_eq!(run(&scattered, &[]).0, Some(0));
    assert_eq!(run(&scattered, &["--deny", "not-judged"]).0, Some(1));
    let apart = scattered.replace("%key, 63", "%t, 63");
    assert_eq!(run(&apart, &["--deny", "not-judged"]).0, Some(0));
    let last = |module: &str| run(module, &[]).1;
    expect![[r#"
        nothing found; judged: 1 kernel, 0 barriers
        not judged: assembly of the module: functions in it are not seen
    "#]]
    .assert_eq(&last(&format!("{judged}module asm \".func f\"\n")));
    expect![[r#"
        nothing found; judged: 0 kernels, 0 barriers
        not judged: the module has no function with a body
    "#]]
    .assert_eq(&last(""));
    expect![[r#"
        nothing found; judged: 0 kernels, 0 barriers
        not judged: `x86_64-pc-linux-gnu` is not a GPU that is known
        not judged: the module has no kernel
    "#]]
    .assert_eq(&last("target triple = \"x86_64-pc-linux-gnu\"\ndefine void @f() { ret void }\n"));
}

/// A barrier in the branch by which threads leave is a mistake; one behind an early return is a
/// note.
#[test]
fn barriers_that_leaving_threads_skip() {
    let Some(clang) = llvm_tools::require("clang") else { return };
    let folder = tempfile::tempdir().expect("folder");
    let check = |body: &str, flags: &[&str]| {
        let source = format!(
            "#define __kernel_n(n) __kernel void k(__global int *p, int n)\n\
             __kernel_n(n) {{\n\
               __local int s[64]; int i = __builtin_amdgcn_workitem_id_x();\n{body}}}\n"
        );
        fs::write(folder.path().join("k.cl"), source).expect("it can be written");
        let target = ["-x", "cl", "-cl-std=CL2.0", "--target=amdgcn-amd-amdhsa", "-nogpulib"];
        let rest = ["-S", "-emit-llvm", "-o", "k.ll", "k.cl"];
        let arguments: Vec<&str> = [&target[..], flags, &rest].concat();
        let run = clang.run_in(Some(folder.path()), &arguments, &[], TIME_LIMIT);
        let outcome = run.expect("it starts");
        assert!(outcome.success(), "{}", outcome.errors());
        let shown = text(&check_in(folder.path(), &["k.ll"]).stdout);
        let first = shown.lines().find(|line| line.contains("[PHX")).unwrap_or("");
        first.split(':').next().unwrap_or_default().to_owned()
    };
    let barrier = "__builtin_amdgcn_s_barrier();";
    let guarded = format!("if (i < n) {{ s[i] = p[i];\n{barrier}\np[i] = s[i ^ 1];\n}}\n");
    let early = format!("if (i >= n)\nreturn;\ns[i] = p[i];\n{barrier}\np[i] = s[i ^ 1];\n");
    let last = format!("if (i < n) {{\n{barrier}\n}}\n");
    // Without optimisation an OpenCL kernel calls its code: what is behind that is not known there.
    for level in ["-O1", "-O2"] {
        assert_eq!(check(&guarded, &["-g", level]), "warning[PHX001]", "{level}");
        assert_eq!(check(&early, &["-g", level]), "note[PHX003]", "{level}");
        // Without scopes it counts whether anything follows.
        for debug in ["-g0", "-gline-tables-only"] {
            assert_eq!(check(&guarded, &[debug, level]), "note[PHX003]", "{level}");
            assert_eq!(check(&early, &[debug, level]), "note[PHX003]", "{level}");
            assert_eq!(check(&last, &[debug, level]), "warning[PHX001]", "{level}");
        }
    }
    // By the rules of OpenCL all threads make all rounds of a loop with a barrier.
    let rounds = format!("for (; i < n; i += 64) {{ s[i] = p[i];\n{barrier}\np[i] = s[i];\n}}\n");
    assert!(check(&rounds, &["-g", "-O1"]).starts_with("warning"));
}

/// The output that pages show is the actual output, for the kernel that they name.
#[test]
fn outputs_that_pages_show() {
    let docs = phalanx_test_suite::folder().join("../docs/diagnostics");
    let mut count = 0;
    for entry in fs::read_dir(&docs).expect("folder") {
        let path = entry.expect("entry").path();
        let page = fs::read_to_string(&path).expect("page");
        for part in page.split("\n$ phalanx ").skip(1) {
            let shown = part.split("```").next().unwrap_or_default();
            let (command, shown) = shown.split_once('\n').expect("a command, then what it prints");
            let arguments: Vec<&str> = command.split_whitespace().collect();
            let file = arguments.last().expect("a file").trim_start_matches("check/");
            let stem = file.split('.').next().unwrap_or_default();
            let expected = fs::read_dir(folder().join("expected")).expect("folder");
            let mut texts = expected.map(|e| fs::read_to_string(e.expect("entry").path()));
            let is_printed = texts.any(|text| text.expect("text").contains(shown.trim_end()));
            assert!(is_printed, "{}: {stem}: {shown}", path.display());
            assert!(shown.contains(&file.replace(".ll", "")), "{}: {file}", path.display());
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

/// Every code has a page with all required sections, and every page has a code.
#[test]
fn pages() {
    let docs = phalanx_test_suite::folder().join("../docs/diagnostics");
    let mut pages: Vec<String> = fs::read_dir(&docs)
        .expect("folder")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("PHX"))
        .map(|name| name.trim_end_matches(".md").to_owned())
        .collect();
    pages.sort();
    let list = fs::read_to_string(docs.join("README.md")).expect("list");
    for code in &pages {
        let outcome = check_in(&docs, &["--explain", code]);
        assert_eq!(outcome.status, Some(0), "{code} has a page, but is no code");
        let page = text(&outcome.stdout);
        assert!(page.starts_with(&format!("{code}: ")), "{code}");
        for part in ["What", "Example", "Why", "How to fix", "When it is a false alarm"] {
            assert!(page.contains(&format!("\n{part}\n")), "{code} has no `{part}`");
        }
        assert!(list.contains(&format!("[{code}]({code}.md)")), "{code} is not listed");
    }
    let codes = crate::sarif_format::codes(
        &check_in(&docs, &["--format", "sarif", "../../test-suite/check/guarded.ll"]).stdout,
    );
    assert_eq!(codes, pages);
}
