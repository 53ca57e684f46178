//! `phalanx analyze`: a data model of the report, and its renderings as text and JSON.

mod build;
mod legend;
mod model;
mod text;

pub use build::{Sections, report_function, report_module};
pub use legend::Legend;
pub use model::{
    AccessReport, BlockReport, BranchReport, ConvergenceReport, CycleReport, ExitReport,
    FunctionReport, ModuleReport, OperationReport, Summary, TokenReport, TreeEdge, Trees,
    UseReport, ValueReport,
};
pub use text::write_text;

pub use crate::lines::Place;
