//! String attributes of functions that targets define: states of AArch64, lists of features.
//!
//! ```text
//! attributes #0 = { "target-features"="+sse2,-avx" "aarch64_new_za" }
//! ```
//!
//! Attributes for the states in which a function may be entered and left exclude each other. Each
//! feature is prefixed by `+` or `-`. O(text).

use crate::{
    attributes::{AttrKind, AttrSetData},
    verify::{
        fault::{Check, ensure},
        types::Types,
    },
};

/// Groups of attributes of which a function may have one.
const ONE_OF: [(&[&[u8]], &str); 2] = [
    (
        &[
            b"aarch64_new_za",
            b"aarch64_in_za",
            b"aarch64_inout_za",
            b"aarch64_out_za",
            b"aarch64_preserves_za",
            b"aarch64_za_state_agnostic",
        ],
        "Attributes 'aarch64_new_za', 'aarch64_in_za', 'aarch64_out_za', 'aarch64_inout_za', 'aarch64_preserves_za' and 'aarch64_za_state_agnostic' are mutually exclusive",
    ),
    (
        &[
            b"aarch64_new_zt0",
            b"aarch64_in_zt0",
            b"aarch64_inout_zt0",
            b"aarch64_out_zt0",
            b"aarch64_preserves_zt0",
            b"aarch64_za_state_agnostic",
        ],
        "Attributes 'aarch64_new_zt0', 'aarch64_in_zt0', 'aarch64_out_zt0', 'aarch64_inout_zt0', 'aarch64_preserves_zt0' and 'aarch64_za_state_agnostic' are mutually exclusive",
    ),
];

/// The rules of a function's or call's own attributes.
pub(super) fn check(types: &Types<'_>, set: &AttrSetData) -> Check {
    ensure!(
        !(set.has(AttrKind::SanitizeRealtime) && set.has(AttrKind::SanitizeRealtimeBlocking)),
        "Attributes 'sanitize_realtime and sanitize_realtime_blocking' are incompatible!"
    );
    let bytes = |symbol| types.context.bytes(symbol);
    let count =
        |names: &[&[u8]]| set.texts().filter(|&(key, _)| names.contains(&bytes(key))).count();
    ensure!(
        count(&[b"aarch64_pstate_sm_enabled", b"aarch64_pstate_sm_compatible"]) <= 1,
        "Attributes 'aarch64_pstate_sm_enabled and aarch64_pstate_sm_compatible' are incompatible!"
    );
    for (names, message) in ONE_OF {
        ensure!(count(names) <= 1, message);
    }
    let features = set.texts().find(|&(key, _)| bytes(key) == b"target-features");
    if let Some(features) = features.and_then(|(_, value)| value).map(bytes) {
        for feature in features.split(|&byte| byte == b',') {
            ensure!(
                !feature.is_empty() || features.is_empty(),
                "target-features attribute should not contain an empty string"
            );
            ensure!(
                feature.first().is_none_or(|first| b"+-".contains(first)),
                format!(
                    "target feature '{}' must start with a '+' or '-'",
                    String::from_utf8_lossy(feature)
                )
            );
        }
    }
    Ok(())
}
