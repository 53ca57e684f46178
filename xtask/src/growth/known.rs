//! Lines that are known to grow faster than the input, and why they do.
//!
//! The quick run leaves them out; a full run prints the reason behind the line. An entry goes when
//! its reason does. The figures are user seconds of a debug build at sizes 250 and 1,000.

/// A family, and tasks on it by how their names begin.
struct Known {
    family: &'static str,
    tasks: &'static [&'static str],
    why: &'static str,
}

/// After each edit of code, the database validates the facts of every function of a call cycle, and
/// of a caller with all its callees: as many edits as functions, times as many functions. An edit
/// of metadata alone validates nothing.
const VALIDATED: &str = "each edit of one function's code validates facts of all";

const KNOWN: &[Known] = &[
    // 1.57, 11.3.
    Known {
        family: "call_cycle_pointer",
        tasks: &["passes", "infer-address-spaces"],
        why: VALIDATED,
    },
    // 0.28, 3.61.
    Known { family: "callbacks", tasks: &["passes"], why: VALIDATED },
    // 0.03, 3.65.
    Known { family: "many_callees", tasks: &["passes", "infer-address-spaces"], why: VALIDATED },
    // 3 MB of text, 49 MB.
    Known { family: "ladder_loop", tasks: &["analyze"], why: "what it prints is quadratic" },
    // 0.09, 1.61.
    Known {
        family: "nest_barriers",
        tasks: &["check", "facts", "diagnostics"],
        why: "each cycle around a barrier has a graph of its rounds, which contains the inner ones",
    },
    // 0.04, 0.42.
    Known {
        family: "nest_memory",
        tasks: &["analyze", "check", "facts", "divergence", "passes"],
        why: "divergence of a slot that all levels write; the cause was not looked for yet",
    },
];

/// Why a line may grow faster than the input, if that is known.
pub(super) fn reason(family: &str, task: &str) -> Option<&'static str> {
    let is_line = |known: &&Known| {
        known.family == family && known.tasks.iter().any(|start| task.starts_with(start))
    };
    KNOWN.iter().find(is_line).map(|known| known.why)
}
