//! The signatures that the verifier and the reader use, against the installed LLVM, intrinsic by
//! intrinsic.

use crate::oracle;

use std::collections::BTreeMap;

use oracle::records::Records;
use phalanx_ir::intrinsics;
use serde_json::Value;

/// A type as the tables spell it.
fn spell(records: &Records, t: &Value) -> String {
    let has = |class| Records::has_class(t, class);
    let code = |at: usize| t["Sig"][at].as_u64();
    let kind = t["VT"]["def"].as_str().unwrap_or_default();
    let number = &t["Number"];
    if has("LLVMVectorOfAnyPointersToElt") {
        return format!("anyptrs{number}");
    }
    if has("LLVMAnyType") {
        let name = match kind {
            "Any" => "any",
            "iAny" => "anyint",
            "fAny" => "anyfloat",
            "vAny" => "anyvector",
            "pAny" => "anyptr",
            other => panic!("no name for {other}"),
        };
        return name.to_owned();
    }
    if has("LLVMQualPointerType") {
        return format!("p{}", code(1).unwrap_or(0));
    }
    if has("LLVMScalarOrSameVectorWidth") {
        // The element type is given by its code in the signature; this one is followed by a number
        // and means the elements of the vector with that number.
        const ELEMENTS: u64 = 34;
        let simple = ["i1", "i8", "i16", "i32", "i64", "float", "double"];
        let simple = simple.map(|name| format!("llvm_{name}_ty"));
        let of_code = |name: &&String| records.0[name.as_str()]["Sig"][0].as_u64() == code(2);
        let element = match simple.iter().find(of_code).map(String::as_str) {
            Some(name) => records.0[name]["VT"]["def"].as_str().unwrap().to_owned(),
            None if code(2) == Some(ELEMENTS) => format!("elem{}", code(3).unwrap() & 0xff),
            None => panic!("no name for {t}"),
        };
        return format!("as{number}.{element}");
    }
    for (class, word) in [
        ("LLVMExtendedType", "wide"),
        ("LLVMTruncatedType", "narrow"),
        ("LLVMSubdivide2VectorType", "halves"),
        ("LLVMSubdivide4VectorType", "quarters"),
        ("LLVMVectorOfBitcastsToInt", "ints"),
    ] {
        if has(class) {
            return format!("{word}{number}");
        }
    }
    if has("LLVMVectorElementType") {
        return format!("elem{number}");
    }
    if has("LLVMOneNthElementsVectorType") {
        return format!("part{number}.{}", code(2).unwrap());
    }
    if has("LLVMMatchType") {
        return format!("={number}");
    }
    match kind {
        "MetadataVT" => "metadata".to_owned(),
        "isVoid" => "...".to_owned(),
        "externref" => "p10".to_owned(),
        "funcref" => "p20".to_owned(),
        "x86mmx" => "v1i64".to_owned(),
        "aarch64svcount" => "svcount".to_owned(),
        _ => kind.to_owned(),
    }
}

/// An intrinsic of LLVM: its name, and its signature as the tables spell it.
fn signature(records: &Records, name: &str, record: &Value) -> (String, String) {
    let types = |list: &str| -> Vec<String> {
        let types = record[list].as_array().unwrap();
        types.iter().map(|reference| spell(records, records.record(reference))).collect()
    };
    let mut params = types("ParamTypes");
    for property in record["IntrProperties"].as_array().unwrap() {
        let property = records.record(property);
        if Records::has_class(property, "ImmArg") {
            let at = usize::try_from(property["ArgNo"].as_i64().unwrap() - 1).unwrap();
            params[at].push('!');
        }
    }
    let mut text = String::new();
    for result in types("RetTypes") {
        text += &format!("{result} ");
    }
    text.push(':');
    for run in params.chunk_by(|a, b| a == b) {
        match run.len() {
            1 | 2 => run.iter().for_each(|param| text += &format!(" {param}")),
            count => text += &format!(" {count}*{}", run[0]),
        }
    }
    let name = match record["LLVMName"].as_str().unwrap() {
        "" => format!("llvm.{}", name.strip_prefix("int_").unwrap().replace('_', ".")),
        name => name.to_owned(),
    };
    (name, text)
}

#[test]
fn signatures_are_llvms() {
    let Some(records) = Records::load(|_| true) else { return };
    let theirs: BTreeMap<String, String> = records
        .0
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, record)| Records::has_class(record, "Intrinsic"))
        .map(|(name, record)| signature(&records, name, record))
        // Values of this type have no type in text.
        .filter(|(_, text)| !text.contains("exnref"))
        .collect();
    let ours: BTreeMap<String, String> =
        intrinsics::all().map(|(name, signature)| (name, signature.to_string())).collect();
    let differ = |(name, text): &(&String, &String)| ours.get(*name) != Some(text);
    let wrong: Vec<_> = theirs.iter().filter(differ).collect();
    let more: Vec<_> = ours.keys().filter(|name| !theirs.contains_key(*name)).collect();
    assert!(wrong.is_empty() && more.is_empty(), "LLVM has {wrong:#?}, we have more {more:#?}");
    assert!(ours.len() > 15_000);
}

#[test]
fn ranges_and_speculation_are_llvms() {
    let Some(records) = Records::load(|_| true) else { return };
    let all = records.0.as_object().unwrap();
    let intrinsics = all.iter().filter(|(_, record)| Records::has_class(record, "Intrinsic"));
    for (name, record) in intrinsics {
        let (name, _) = signature(&records, name, record);
        let properties = record["IntrProperties"].as_array().unwrap();
        let mut ranges = Vec::new();
        for property in properties.iter().map(|property| records.record(property)) {
            // Position 0 is the result.
            let at = property["ArgNo"].as_i64().unwrap_or(0);
            if Records::has_class(property, "Range") && at > 0 {
                let end = |name: &str| property[name].as_i64().unwrap();
                ranges.push((usize::try_from(at - 1).unwrap(), end("Lower"), end("Upper")));
            }
        }
        ranges.sort_unstable();
        let ours = intrinsics::facts::immediate_ranges(name.as_bytes());
        let mut ours: Vec<_> = ours.map(|r| (r.argument, r.low, r.high)).collect();
        ours.sort_unstable();
        assert_eq!(ours, ranges, "{name}");
        let is_speculatable = properties.iter().any(|p| p["def"] == "IntrSpeculatable");
        let ours = intrinsics::facts::is_speculatable(name.as_bytes());
        assert_eq!(ours, is_speculatable, "{name}");
    }
}
