//! Requirements of SARIF 2.1.0 for a log: the schema of the standard, and rules in its text
//! (section numbers are those of the standard).

use std::{fs, sync::LazyLock};

use cargo_metadata::MetadataCommand;
use jsonschema::Validator;
use serde_json::Value;

/// The schema that OASIS published, as the package `serde-sarif` has it.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let mut command = MetadataCommand::new();
    command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    // A fresh machine has fetched the packages of its own platform only.
    let options = ["--offline", "--locked", "--filter-platform", "host-tuple"].map(str::to_owned);
    let metadata = command.other_options(options).exec().expect("cargo says what is built");
    let mut packages = metadata.packages.iter();
    let package = packages.find(|package| *package.name == "serde-sarif").expect("a dependency");
    let path = package.manifest_path.with_file_name("src").join("schema.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(schema["title"], "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema");
    // A bracket too many makes the pattern of languages, which our logs do not name, no regular
    // expression.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        let pattern = language.as_object_mut().and_then(|language| language.remove("pattern"));
        assert!(pattern.is_some());
    }
    let options = jsonschema::draft7::options().should_validate_formats(true);
    options.build(&schema).expect("a schema")
});

/// The violations of the schema in a log.
pub(crate) fn faults(log: &Value) -> Vec<String> {
    let errors = SCHEMA.iter_errors(log);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Codes that a log describes, sorted.
pub(crate) fn codes(log: &[u8]) -> Vec<String> {
    let log: Value = serde_json::from_slice(log).expect("JSON");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let mut codes: Vec<String> =
        rules.iter().map(|rule| rule["id"].as_str().expect("an id").to_owned()).collect();
    codes.sort();
    codes
}

/// Fails when a log violates the schema, or a rule that the schema cannot express.
pub(crate) fn validate(log: &Value) {
    assert_eq!(faults(log), [""; 0]);
    // A program that reads logs understands all of it.
    let typed: serde_sarif::sarif::Sarif =
        serde_json::from_value(log.clone()).expect("a log by its types");
    assert_eq!(typed.version, serde_json::json!("2.1.0"));
    for run in list(&log["runs"]) {
        let bases = run["originalUriBaseIds"].as_object().expect("bases");
        let rules = list(&run["tool"]["driver"]["rules"]);
        for rule in rules {
            assert!(!string(&rule["help"]["text"]).is_empty());
        }
        for result in list(&run["results"]) {
            let index = result["ruleIndex"].as_u64().expect("3.27.6: an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let ids: Vec<_> = list(&result["relatedLocations"]).iter().map(|l| &l["id"]).collect();
            assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "3.28.2: unique");
            assert!(!string(&result["locations"][0]["logicalLocations"][0]["name"]).is_empty());
            for (_, fingerprint) in result["partialFingerprints"].as_object().expect("3.27.17") {
                assert!(!string(fingerprint).is_empty());
            }
            each_location(result, &mut |place| {
                let artifact = &place["artifactLocation"];
                let uri = string(&artifact["uri"]);
                if let Some(base) = artifact.get("uriBaseId") {
                    assert!(bases.contains_key(string(base)), "3.4.4: {base} is a base");
                    assert!(!uri.contains("://"), "3.4.4: {uri} is relative");
                }
                if let Some(region) = place.get("region") {
                    let column = |name| region.get(name).and_then(Value::as_u64);
                    let is_after = column("startColumn") < column("endColumn");
                    assert!(column("endColumn").is_none() || is_after, "3.30.8: {region}");
                }
            });
        }
    }
}

/// Every physical location in a value.
fn each_location(value: &Value, run: &mut dyn FnMut(&Value)) {
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        match value {
            Value::Object(map) => {
                map.get("physicalLocation").into_iter().for_each(&mut *run);
                work.extend(map.values());
            }
            Value::Array(values) => work.extend(values),
            _ => {}
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
}
