//! Second compilations of a source, each for one rule.
//!
//! | rule | why the usual compilation does not show it | compiled again, if |
//! |---|---|---|
//! | [`Rule::ConstantStore`] | a write of constant memory is undefined, and deleted | the source has constant memory; at `-O0` |
//! | [`Rule::PendingCopy`] | libclc makes a loop of OpenCL's asynchronous copies, in which each thread copies a share at once | the source has such calls; they stay calls |
//! | [`Rule::FixedAddress`] | an access of null is undefined, and deleted with all that leads to it | the module has a place that is never reached; with `-fno-delete-null-pointer-checks` |

use phalanx::{analysis::check::Rule, report::check::Diagnostic};
use phalanx_source::Language;

use super::Check;
use crate::input::{Origin, Source};

impl Check<'_> {
    /// Adds what other compilations of a source show.
    pub(super) fn add_of_others(
        &self,
        source: &Source,
        found: &mut Vec<Diagnostic>,
    ) -> anyhow::Result<()> {
        let Some(origin) = &source.compiled else { return Ok(()) };
        let text = std::fs::read(origin.unit.path()).unwrap_or_default();
        let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
        let is_open_cl = origin.unit.language == Language::OpenCl;
        let constant: &[u8] = if is_open_cl { b"constant" } else { b"__constant__" };
        let is_optimized = origin.about.level != "O0";
        if is_optimized && has(constant) {
            let plain = self.reader.unit(&origin.unit, Some("-O0"))?;
            self.add_of(Rule::ConstantStore, &plain, found)?;
        }
        if is_open_cl && has(b"async_work_group_") {
            self.add_of(Rule::PendingCopy, &self.reader.with_calls(&origin.unit)?, found)?;
        }
        if is_optimized && has_deleted(&source.text) {
            self.add_of(Rule::FixedAddress, &self.with_null(origin)?, found)?;
        }
        Ok(())
    }

    /// Compiles a source so that accesses of null stay.
    fn with_null(&self, origin: &Origin) -> anyhow::Result<Source> {
        let mut unit = origin.unit.clone();
        unit.flags.kept.push("-fno-delete-null-pointer-checks".to_owned());
        self.reader.unit(&unit, None)
    }

    /// Adds new findings of one rule from another compilation of a source.
    fn add_of(
        &self,
        rule: Rule,
        source: &Source,
        found: &mut Vec<Diagnostic>,
    ) -> anyhow::Result<()> {
        let (more, _) = self.found(source, &self.files)?;
        let is_new = |one: &Diagnostic| {
            let is_same =
                |f: &Diagnostic| f.code == one.code && f.location.source == one.location.source;
            one.code == rule.code() && one.location.source.is_some() && !found.iter().any(is_same)
        };
        let more: Vec<Diagnostic> = more.into_iter().filter(is_new).collect();
        found.extend(more);
        Ok(())
    }
}

/// Whether a module has an end of a block that is not reached, other than behind a call, which may
/// be one that does not return, and other than a block by itself, which is the rest of a `switch`
/// over all cases.
fn has_deleted(module: &[u8]) -> bool {
    let lines: Vec<&[u8]> = module.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
    let is_call = |line: &[u8]| line.windows(5).any(|window| window == b"call ");
    let is_label = |line: &[u8]| {
        line.split(|&byte| byte == b';')
            .next()
            .is_some_and(|label| label.trim_ascii_end().ends_with(b":"))
    };
    lines.windows(3).any(|three| {
        let is_alone = is_label(three[1]) && !three[0].starts_with(b"define ");
        three[2].starts_with(b"unreachable") && !is_call(three[1]) && !is_alone
    })
}

#[cfg(test)]
mod tests {
    use super::has_deleted;

    #[test]
    fn ends_that_are_not_reached() {
        assert!(has_deleted(b"\ndefine void @k() {\n  unreachable\n}\n"));
        assert!(has_deleted(b"define void @k() {\nentry:\n  unreachable\n}\n"));
        assert!(has_deleted(b"b:\n  store i32 1, ptr %p\n  unreachable, !dbg !3\n"));
        assert!(!has_deleted(
            b"b:\n  tail call void @llvm.trap(), !dbg !2\n  unreachable, !dbg !2\n"
        ));
        assert!(!has_deleted(b"\nrest:   ; preds = %a\n  unreachable\n"));
        assert!(!has_deleted(b"define void @unreachable() {\n  ret void\n}\n"));
    }
}
