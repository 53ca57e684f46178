//! LLVM's TableGen records of its intrinsics.

use std::path::Path;

use serde_json::Value;

/// Records of TableGen.
pub(crate) struct Records(pub(crate) Value);

impl Records {
    /// The intrinsics of no target, and those of the wanted targets, by the name of the file;
    /// `None` if LLVM is not installed.
    pub(crate) fn load(is_wanted: impl Fn(&str) -> bool) -> Option<Records> {
        let include = super::run("llvm-config-22", &["--includedir"], "")?;
        let include = include.stdout.trim().to_owned();
        // The intrinsics of other targets would take two thirds of the time.
        let file = Path::new(&include).join("llvm/IR/Intrinsics.td");
        #[expect(clippy::disallowed_methods, reason = "part of the installed LLVM")]
        let definitions = std::fs::read_to_string(file).unwrap();
        let definitions: String = definitions
            .lines()
            .filter(|line| {
                let other = line.strip_prefix("include \"llvm/IR/Intrinsics");
                other.is_none_or(&is_wanted)
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        let output =
            super::run("llvm-tblgen-22", &["-dump-json", "-I", &include, "-"], &definitions)?;
        assert!(output.success, "llvm-tblgen-22: {}", output.stderr);
        Some(Records(serde_json::from_str(&output.stdout).unwrap()))
    }

    pub(crate) fn record(&self, reference: &Value) -> &Value {
        &self.0[reference["def"].as_str().unwrap()]
    }

    pub(crate) fn has_class(record: &Value, class: &str) -> bool {
        record["!superclasses"].as_array().is_some_and(|all| all.iter().any(|c| c == class))
    }
}
