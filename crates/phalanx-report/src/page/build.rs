//! Makes a page, function by function.

use phalanx_analysis::{shape::access::Access, spaces::SpaceSet};
use phalanx_db::{Database, FunctionEntry, FunctionInput, ModuleInput, queries};
use phalanx_ir::{InstId, Opcode};
use phalanx_llvm::ModulePrinter;
use phalanx_target::{Scope, SourceSet};
use rustc_hash::FxHashMap;

use super::model::{AccessRow, Entry, FilePage, FindingRow, FunctionPage, Page};
use super::rows::rows;
use super::sentences::sentences;
use crate::analyze::{AccessReport, Sections, report_function};
use crate::check::{Diagnostic, changed_lines, source_name};
use crate::explain::{
    Explainer,
    words::{self, Dialect},
};
use crate::picture;
use crate::source::{OPENCL_BODY, SourceFile, Sources};

/// Collects what a page shows.
#[derive(Debug)]
pub struct Builder<'a> {
    db: &'a Database,
    printer: &'a ModulePrinter<'a>,
    text: &'a [u8],
    page: Page,
    files: Files,
}

impl<'a> Builder<'a> {
    /// A page without functions. `text` is the text of the module.
    #[must_use]
    pub fn new(
        db: &'a Database,
        module: ModuleInput,
        printer: &'a ModulePrinter<'a>,
        (name, text): (&str, &'a [u8]),
    ) -> Builder<'a> {
        let dialect = Dialect::of(db, module);
        let sources = SourceSet::ALL.iter().filter_map(|source| {
            let name = source.name()?;
            Some((name, words::source(source, dialect)))
        });
        let page = Page {
            file: name.to_owned(),
            triple: queries::target(db, module).triple().to_owned(),
            sources: sources.collect(),
            ..Page::default()
        };
        Builder { db, printer, text, page, files: Files::default() }
    }

    /// Adds a function with a body, what was found in it, and how many operations were not judged.
    pub fn add(
        &mut self,
        entry: FunctionEntry,
        (findings, not_judged): (Vec<Diagnostic>, usize),
        sources: &dyn Sources,
    ) {
        let sections =
            Sections { cycles: true, accesses: true, loads: true, ..Sections::default() };
        let asked = (Scope::Wave, sections, None);
        let Some(report) = report_function(self.db, entry, self.printer, self.text, asked) else {
            return;
        };
        let explainer = Explainer::new(self.db, entry.input, self.printer, self.text);
        let code = rows(&explainer, &self.page.sources, &mut self.files);
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        // Clang puts the body of an OpenCL kernel into a function of the same name.
        let name = match report.name.starts_with(OPENCL_BODY) {
            true => format!("{} (body)", source_name(self.db, entry.input)),
            false => source_name(self.db, entry.input),
        };
        self.page.index.push(Entry {
            name: name.clone(),
            kernel: report.kernel,
            findings: [count("error"), count("warning"), count("note")],
            divergent: [report.summary.divergent_values, report.summary.values],
        });
        let (picture, no_picture) = match picture::flow(&explainer) {
            Ok(picture) => (Some(picture), None),
            Err(reason) => (None, Some(reason)),
        };
        self.page.functions.push(FunctionPage {
            name,
            sentences: sentences(&report, &code.rows, (&findings, not_judged), &self.page.sources),
            symbol: report.name,
            kernel: report.kernel,
            summary: report.summary,
            rows: code.rows,
            earlier: None,
            steps: code.steps,
            cycles: report.cycles.unwrap_or_default(),
            accesses: access_rows(self.db, entry.input, report.accesses.unwrap_or_default()),
            loads: report.loads.unwrap_or_default(),
            findings: findings.into_iter().map(|finding| finding_row(finding, sources)).collect(),
            picture,
            no_picture,
            without_chains: code.without_chains,
        });
    }

    /// Finishes the page: adds the lines of the files that it refers to, how the module was
    /// compiled, if it was, and what was judged.
    #[must_use]
    pub fn finish(
        mut self,
        sources: &dyn Sources,
        compiled: Option<String>,
        judged: String,
    ) -> Page {
        let file = |place: &SourceFile| FilePage {
            name: place.file.clone(),
            lines: sources.text(place).map(|text| {
                let text = String::from_utf8_lossy(text.bytes()).into_owned();
                text.lines().map(str::to_owned).collect()
            }),
        };
        self.page.files = self.files.places.iter().map(file).collect();
        self.page.compiled = compiled;
        self.page.judged = judged;
        self.page
    }
}

/// Accesses, with the data for drawing them.
fn access_rows(
    db: &Database,
    function: FunctionInput,
    reports: Vec<AccessReport>,
) -> Vec<AccessRow> {
    let (Some(accesses), Some(kinds)) =
        (queries::memory_accesses(db, function), queries::memory_kinds(db, function))
    else {
        return Vec::new();
    };
    let mut offsets: FxHashMap<InstId, Vec<i64>> =
        queries::lane_offsets(db, function).into_iter().collect();
    let body = function.view(db).body;
    let row = |(access, report): (&Access, AccessReport)| {
        let address = u32::from(body.inst(access.inst).opcode == Opcode::Store);
        let memories = kinds.at(body, access.inst, address).memories();
        let shared = SpaceSet::SHARED.or(SpaceSet::PEERS);
        AccessRow {
            report,
            shared: !memories.is_empty() && shared.contains(memories),
            offsets: offsets.remove(&access.inst),
        }
    };
    accesses.iter().zip(reports).map(row).collect()
}

/// A finding with the lines that its fix changes.
fn finding_row(diagnostic: Diagnostic, sources: &dyn Sources) -> FindingRow {
    let changes = diagnostic.fix.as_ref().and_then(|fix| {
        let text = sources.text(&fix.edits.first()?.source())?;
        changed_lines(fix, text.bytes())
    });
    FindingRow { changes: changes.unwrap_or_default(), diagnostic }
}

/// The files of the program, in the order in which rows first name them.
#[derive(Debug, Default)]
pub(super) struct Files {
    numbers: FxHashMap<String, usize>,
    places: Vec<SourceFile>,
}

impl Files {
    /// The number of the file of a place.
    pub(super) fn number(&mut self, place: &SourceFile) -> usize {
        if let Some(&number) = self.numbers.get(&place.file) {
            return number;
        }
        let number = self.places.len();
        self.numbers.insert(place.file.clone(), number);
        self.places.push(place.clone());
        number
    }
}
