//! The JSON output agrees with its description in `docs/cli.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use phalanx_testing::llvm_tools;
use serde_json::Value;

/// Fields by their paths, each with the types that its values have.
type Fields = BTreeMap<String, BTreeSet<&'static str>>;

/// The table of a section.
fn documented(section: &str) -> Fields {
    let page = fs::read_to_string(llvm_tools::workspace_root().join("docs/cli.md")).expect("page");
    let heading = format!("\n### `{section}`\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no section {section}"));
    let table = rest.split("\n### ").next().unwrap_or_default();
    let mut out = Fields::new();
    for row in table.lines().filter_map(|line| line.strip_prefix("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [field, types, ..] = cells.as_slice() else { panic!("{row}") };
        const TYPES: [&str; 7] =
            ["string", "number", "bool", "null", "place", "file place", "object"];
        let types = types.split(" or ").map(|name| {
            *TYPES.iter().find(|known| **known == name).unwrap_or_else(|| panic!("{row}"))
        });
        let is_new = out.insert(field.trim_end_matches('`').to_owned(), types.collect()).is_none();
        assert!(is_new, "{field} is listed twice");
    }
    out
}

/// Adds the fields of a value; those that a table calls objects are not looked into.
fn collect(value: &Value, path: &str, table: &Fields, out: &mut Fields) {
    let is_object = table.get(path).is_some_and(|types| types.contains("object"));
    let name = match value {
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{path}[]"), table, out);
            }
            return;
        }
        Value::Object(_) if is_object => "object",
        Value::Object(fields) => {
            let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
            match keys.as_slice() {
                ["line", "column"] => "place",
                ["file", "line", "column"] => "file place",
                _ => {
                    for (key, item) in fields {
                        let dot = if path.is_empty() { "" } else { "." };
                        collect(item, &format!("{path}{dot}{key}"), table, out);
                    }
                    return;
                }
            }
        }
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    out.entry(path.to_owned()).or_default().insert(name);
}

/// Checks that the fields that commands write, run in `test-suite`, are those of a section; `rare`
/// fields may be missing.
fn check(section: &str, commands: &[&str], rare: &[&str]) {
    let table = documented(section);
    let mut seen = Fields::new();
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let folder = phalanx_test_suite::folder();
        let run = crate::phalanx().run_in(Some(&folder), &arguments, &[], llvm_tools::TIME_LIMIT);
        let outcome = run.expect("it starts");
        let json = serde_json::from_slice(&outcome.stdout);
        let json: Value = json.unwrap_or_else(|error| panic!("{command}: {error}"));
        collect(&json, "", &table, &mut seen);
    }
    for (field, types) in &seen {
        let known = table.get(field).unwrap_or_else(|| panic!("{section}: {field} is not listed"));
        assert!(types.is_subset(known), "{section}: {field} is {types:?}");
    }
    for field in table.keys().filter(|field| !seen.contains_key(*field)) {
        assert!(rare.contains(&field.as_str()), "{section}: {field} is never written");
    }
}

#[test]
fn of_analyze() {
    const ALL: &str = "analyze --print all --format json ll/reduce.amdgcn.ll ll/specialize.ll ll/matmul.amdgcn.ll \
        ll/divergent_barrier.ll ll/irreducible_entry.ll ll/calls.ll ll/ballot_loop.ll semantics/tokens.ll semantics/single_break_tokens.ll";
    check("analyze --format json", &[ALL], &[]);
}

#[test]
fn of_explain() {
    const COMMANDS: [&str; 5] = [
        "explain --json ll/calls.ll @caller %picked",
        "explain --json ll/temporal_divergence.ll @divergent_exit --line 22",
        "explain --json ll/irreducible_entry.ll @divergent_entry --line 27",
        "explain --json ll/why.ll @causes --line 36",
        "explain --json ll/protocol_debug.nvptx.ll @protocol --line 33",
    ];
    check("explain --json", &COMMANDS, &["[].variable", "[].steps[].variable"]);
}

#[test]
fn of_explained_loads() {
    const COMMANDS: [&str; 1] = ["explain --json ll/reduce.amdgcn.ll @reduce_sum --load 42"];
    check("explain --json --load", &COMMANDS, &[]);
}

#[test]
fn of_explained_addresses() {
    const COMMANDS: [&str; 1] = ["explain --json ll/generic.ll @kernel --generic %out"];
    check("explain --json --generic", &COMMANDS, &["chains[].steps[].debug"]);
}

#[test]
fn of_check() {
    const COMMANDS: [&str; 3] = [
        "check --format json check/ll/nvptx_barriers.ll check/guarded.ll",
        "check --format json --performance --loads --suggest-launch ll/protocol_debug.nvptx.ll",
        "check --format json --against check/against/unreached.before.ll check/against/unreached.after.ll",
    ];
    const INLINED: [&str; 17] = [
        "[].diagnostics[].location.inlined[]",
        "[].diagnostics[].location.inlined_at[]",
        "[].diagnostics[].reasons[].location.inlined[]",
        "[].diagnostics[].reasons[].location.inlined_at[]",
        "[].judged.not_judged[].location.inlined[]",
        "[].judged.not_judged[].location.inlined_at[]",
        "[].judged.not_judged[].location.source",
        // For sources: `source.rs` checks the schema against them.
        "[].diagnostics[].fix.message",
        "[].diagnostics[].fix.edits[].file",
        "[].diagnostics[].fix.edits[].start",
        "[].diagnostics[].fix.edits[].end",
        "[].diagnostics[].fix.edits[].text",
        "[].compiled.compiler",
        "[].compiled.language",
        "[].compiled.level",
        "[].compiled.architecture",
        "[].compiled.headers",
    ];
    check("check --format json", &COMMANDS, &INLINED);
}

#[test]
fn of_run() {
    const COMMANDS: [&str; 7] = [
        "run --format json semantics/rules.ll @two_barriers --group 64 --arg buf:i32:0",
        "run --format json semantics/unwritten.ll @but_one --group 4 --arg buf:i32:zero*4",
        "run --format json ll/reduce.amdgcn.ll @reduce_sum --group 4 --arg buf:f32:iota*4 --arg buf:f32:0 --arg i32:4",
        "run --format json ll/reduce.amdgcn.ll @reduce_sum --group 4 --arg buf:f32:inf,0,0,0 --arg buf:f32:0 --arg i32:4",
        "run --format json semantics/hang.ll @hang --group 64",
        "run --format json --trace semantics/natural_loop.ll @natural_loop --group 2",
        "run --format json --races semantics/race.ll @neighbours --group 64 --arg buf:i32:zero*64 --arg i1:0 --order turns:1",
    ];
    // Of sources: see `run.rs`.
    const SOURCES: [&str; 5] = [
        "races[].first.source",
        "races[].second.source",
        "broken[].at.source",
        "broken[].other.source",
        "unwritten[].source",
    ];
    check("run --format json", &COMMANDS, &SOURCES);
}
