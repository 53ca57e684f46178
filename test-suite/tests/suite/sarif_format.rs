//! What SARIF 2.1.0 demands of a log, of those properties that ours have: section numbers are those of the standard.

use serde_json::Value;

/// Codes that a log describes, sorted.
pub(crate) fn codes(log: &[u8]) -> Vec<String> {
    let log: Value = serde_json::from_slice(log).expect("JSON");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let mut codes: Vec<String> =
        rules.iter().map(|rule| rule["id"].as_str().expect("an id").to_owned()).collect();
    codes.sort();
    codes
}

/// Fails when something is missing, of a wrong type, or not known to the standard.
pub(crate) fn validate(log: &Value) {
    // 3.13: version and runs are required.
    only(log, &["$schema", "version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    for run in list(&log["runs"]) {
        only(run, &["tool", "columnKind", "results"]);
        // 3.14.17
        assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&string(&run["columnKind"])));
        let driver = &run["tool"]["driver"];
        only(driver, &["name", "version", "rules"]);
        assert!(!string(&driver["name"]).is_empty(), "3.19.8: required");
        let rules = list(&driver["rules"]);
        for rule in rules {
            only(rule, &["id", "name", "shortDescription", "help"]);
            assert!(!string(&rule["id"]).is_empty(), "3.49.3: required");
            assert!(!string(&rule["shortDescription"]["text"]).is_empty(), "3.12.3: required");
            assert!(!string(&rule["help"]["text"]).is_empty());
        }
        for one in list(&run["results"]) {
            result(one, rules);
        }
    }
}

fn result(result: &Value, rules: &[Value]) {
    let known = [
        "ruleId",
        "ruleIndex",
        "level",
        "message",
        "locations",
        "relatedLocations",
        "partialFingerprints",
    ];
    only(result, &known);
    let index = result["ruleIndex"].as_u64().expect("3.27.6: an index") as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    assert!(["none", "note", "warning", "error"].contains(&string(&result["level"])));
    assert!(!string(&result["message"]["text"]).is_empty(), "3.27.11: required");
    for place in list(&result["locations"]) {
        location(place);
        let name = string(&place["logicalLocations"][0]["name"]);
        assert!(!name.is_empty());
    }
    let mut ids = Vec::new();
    for place in list(&result["relatedLocations"]) {
        location(place);
        ids.push(place["id"].as_u64().expect("3.28.2: not negative"));
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "3.28.2: ids are unique within a result");
    for (_, fingerprint) in result["partialFingerprints"].as_object().expect("3.27.17") {
        assert!(!string(fingerprint).is_empty());
    }
}

fn location(location: &Value) {
    only(location, &["id", "physicalLocation", "logicalLocations", "message"]);
    if let Some(message) = location.get("message") {
        assert!(!string(&message["text"]).is_empty());
    }
    let place = &location["physicalLocation"];
    only(place, &["artifactLocation", "region"]);
    let uri = string(&place["artifactLocation"]["uri"]);
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/:%".contains(c);
    assert!(!uri.is_empty() && uri.chars().all(is_allowed), "3.4.3: {uri} is no reference");
    if let Some(region) = place.get("region") {
        only(region, &["startLine", "startColumn"]);
        assert!(region["startLine"].as_u64().is_some_and(|line| line > 0), "3.30.5");
        let column = region.get("startColumn");
        assert!(column.is_none_or(|column| column.as_u64().is_some_and(|at| at > 0)), "3.30.6");
    }
}

fn only(object: &Value, known: &[&str]) {
    for (key, _) in object.as_object().unwrap_or_else(|| panic!("no object: {object}")) {
        assert!(known.contains(&key.as_str()), "unexpected `{key}` in {object:#}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
}
