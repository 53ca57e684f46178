//! Builds the model of `phalanx analyze` from facts.

use phalanx_analysis::{
    check::accesses::Reach,
    convergence::{Control, Operation, Token},
    lower::{Definition, Numbering},
    shape::access::{Pattern, Within},
    stable::Assumptions,
};
use phalanx_core::{affect::UserKind, divergence::Divergence};
use phalanx_db::{Database, FunctionEntry, FunctionInput, ModuleInput, queries};
use phalanx_graph::{CycleId, Cycles, Node};
use phalanx_ir::{InstId, Type, flow, function::FunctionRef};
use phalanx_llvm::{FunctionPrinter, ModulePrinter};
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::FxHashMap;

use super::model::{
    AccessReport, BlockReport, BranchReport, ConvergenceReport, CycleReport, ExitReport,
    FunctionReport, ModuleReport, OperationReport, Summary, TokenReport, TreeEdge, Trees,
    UseReport, ValueReport,
};
use crate::explain::{
    Explainer,
    words::{Dialect, names},
};
use crate::lines::Lines;
use crate::llvm::BlockNames as _;
use crate::loads::{LoadReport, Words};

/// Which parts of the model to fill in.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Sections {
    /// Branches.
    pub branches: bool,
    /// Cycles.
    pub cycles: bool,
    /// Values.
    pub values: bool,
    /// Temporally divergent uses.
    pub uses: bool,
    /// Blocks and their control divergence.
    pub blocks: bool,
    /// Memory accesses.
    pub accesses: bool,
    /// Loads.
    pub loads: bool,
    /// Addresses, and the memories that they may point to.
    pub spaces: bool,
    /// Dominator and post-dominator trees.
    pub trees: bool,
    /// Convergent operations and tokens.
    pub convergence: bool,
}

impl Sections {
    /// Everything.
    pub const ALL: Sections = Sections {
        branches: true,
        cycles: true,
        values: true,
        uses: true,
        blocks: true,
        accesses: true,
        loads: true,
        spaces: true,
        trees: true,
        convergence: true,
    };
}

/// The head of a module's report. The caller adds the functions, so that they can be reported in
/// parallel.
pub fn report_module(db: &Database, module: ModuleInput, file: &str, scope: Scope) -> ModuleReport {
    ModuleReport {
        file: file.to_owned(),
        triple: queries::target(db, module).triple().to_owned(),
        scope: scope.name(),
        functions: Vec::new(),
        dialect: Dialect::of(db, module),
    }
}

/// The report of one function; none for a declaration. `source` is the text of the module, for line
/// numbers. `assumed` holds assumptions about the program, if divergence under assumptions is asked
/// for, and says whether scopes larger than the wave matter.
pub fn report_function(
    db: &Database,
    entry: FunctionEntry,
    printer: &ModulePrinter<'_>,
    source: &[u8],
    (scope, sections, assumed): (Scope, Sections, Option<Assumptions>),
) -> Option<FunctionReport> {
    let input = entry.input;
    let function = input.view(db);
    let builder = Builder {
        db,
        input,
        function,
        numbering: Numbering::new(function.header),
        cycles: queries::cycles(db, input)?,
        divergence: match assumed {
            None => queries::divergence(db, input).as_ref()?,
            Some(assumptions) => queries::assumed_divergence(db, input, assumptions).as_ref()?,
        },
        assumed,
        varying: varying(scope, queries::launch_facts(db, input)),
        module: printer,
        printer: printer.function(function),
        lines: Lines::new(db, input, source),
        source,
    };
    let mut name = Vec::new();
    match entry.name.symbol() {
        Some(symbol) => name.extend_from_slice(input.module(db).context(db).bytes(symbol)),
        None => printer.global(entry.name, &mut name),
    }
    Some(builder.report(String::from_utf8_lossy(&name).into_owned(), sections))
}

struct Builder<'a> {
    db: &'a Database,
    input: FunctionInput,
    function: FunctionRef<'a>,
    numbering: Numbering,
    cycles: &'a Cycles,
    divergence: &'a Divergence,
    assumed: Option<Assumptions>,
    varying: SourceSet,
    module: &'a ModulePrinter<'a>,
    printer: FunctionPrinter<'a>,
    lines: Lines<'a>,
    source: &'a [u8],
}

impl Builder<'_> {
    fn report(&self, name: String, sections: Sections) -> FunctionReport {
        let branches = self.branches();
        let cycles: Vec<CycleReport> = self.in_order().map(|cycle| self.cycle(cycle)).collect();
        let values: Vec<ValueReport> = self.values();
        let uses = self.uses();
        let summary = Summary {
            instructions: self.insts().count(),
            values: values.len(),
            divergent_values: values.iter().filter(|v| v.divergent).count(),
            branches: branches.len(),
            divergent_branches: branches.iter().filter(|b| b.divergent).count(),
            cycles: cycles.len(),
            divergent_cycles: cycles
                .iter()
                .filter(|c| c.divergent_exit || c.assumed_divergent)
                .count(),
            temporal_uses: uses.len(),
        };
        FunctionReport {
            name,
            kernel: queries::is_kernel(self.db, self.input),
            place: self.lines.function(),
            summary,
            arguments: self.arguments(),
            branches: sections.branches.then_some(branches),
            cycles: sections.cycles.then_some(cycles),
            values: sections.values.then_some(values),
            temporal_uses: sections.uses.then_some(uses),
            blocks: sections.blocks.then(|| self.blocks()),
            accesses: sections.accesses.then(|| self.accesses()),
            loads: sections.loads.then(|| self.loads()),
            spaces: sections
                .spaces
                .then(|| Explainer::new(self.db, self.input, self.module, self.source).addresses()),
            specializations: match sections.spaces {
                true => {
                    Explainer::new(self.db, self.input, self.module, self.source).specializations()
                }
                false => Vec::new(),
            },
            trees: sections.trees.then(|| self.trees()),
            convergence: sections.convergence.then(|| self.convergence()).flatten(),
        }
    }

    fn insts(&self) -> impl Iterator<Item = InstId> {
        let body = self.function.body;
        self.function.flow.order().iter().flat_map(move |&block| body.block_insts(block))
    }

    fn arguments(&self) -> Vec<ValueReport> {
        (0..self.function.header.params.len() as u32)
            .map(|position| {
                let text = text(|out| self.printer.arg(position, out));
                let sources = self.divergence.value(self.numbering.argument(position));
                ValueReport {
                    place: self.lines.argument(position),
                    name: text.rsplit(' ').next().unwrap_or_default().to_owned(),
                    text,
                    divergent: sources.intersects(self.varying),
                    sources: names(sources),
                }
            })
            .collect()
    }

    fn values(&self) -> Vec<ValueReport> {
        self.insts()
            .filter(|&inst| self.function.body.inst(inst).ty != Type::VOID)
            .map(|inst| {
                let sources = self.divergence.value(self.numbering.inst(inst));
                ValueReport {
                    place: self.lines.inst(inst),
                    name: self.value_name(inst),
                    text: text(|out| self.printer.inst(inst, out)),
                    divergent: sources.intersects(self.varying),
                    sources: names(sources),
                }
            })
            .collect()
    }

    fn branches(&self) -> Vec<BranchReport> {
        let order = self.function.flow.order().iter();
        order
            .filter(|&&block| {
                let successors = self.function.flow.successors(block);
                successors.iter().any(|target| *target != successors[0])
            })
            .filter_map(|&block| {
                let terminator = self.function.body.terminator(block)?;
                let sources = self.divergence.terminator(flow::node_of(block));
                Some(BranchReport {
                    place: self.lines.inst(terminator),
                    block: self.block(flow::node_of(block)),
                    text: text(|out| self.printer.inst(terminator, out)),
                    divergent: sources.intersects(self.varying),
                    sources: names(sources),
                })
            })
            .collect()
    }

    /// The hierarchy depth first, siblings as the fact orders them.
    fn in_order(&self) -> impl Iterator<Item = CycleId> {
        let mut pending: Vec<CycleId> = self.cycles.top_level().collect();
        pending.reverse();
        std::iter::from_fn(move || {
            let cycle = pending.pop()?;
            let first = pending.len();
            pending.extend(self.cycles.children(cycle));
            pending[first..].reverse();
            Some(cycle)
        })
    }

    fn cycle(&self, cycle: CycleId) -> CycleReport {
        let hit = |list: &[(CycleId, SourceSet)]| {
            list.iter().any(|&(c, sources)| c == cycle && sources.intersects(self.varying))
        };
        CycleReport {
            depth: self.cycles.depth(cycle),
            header: self.block(self.cycles.header(cycle)),
            entries: self.cycles.entries(cycle).map(|entry| self.block(entry)).collect(),
            blocks: self.cycles.blocks(cycle).len(),
            reducible: self.cycles.is_reducible(cycle),
            divergent_exit: hit(self.divergence.cycles_with_divergent_exit()),
            assumed_divergent: self
                .divergence
                .is_assumed_divergent(self.cycles, cycle)
                .intersects(self.varying),
            exits: self
                .cycles
                .exit_edges(cycle)
                .map(|(from, to)| ExitReport { from: self.block(from), to: self.block(to) })
                .collect(),
        }
    }

    fn uses(&self) -> Vec<UseReport> {
        let temporal = self.divergence.temporal_uses().iter();
        temporal
            .filter(|entry| entry.sources.intersects(self.varying))
            .filter_map(|entry| {
                let user = match entry.user.kind() {
                    UserKind::Value(user) => match self.numbering.definition(user) {
                        Definition::Inst(inst) => inst,
                        Definition::Argument(_) => return None,
                    },
                    UserKind::Terminator(block) => {
                        self.function.body.terminator(flow::block_of(block))?
                    }
                };
                let value = match self.numbering.definition(entry.value) {
                    Definition::Inst(inst) => self.value_name(inst),
                    Definition::Argument(position) => text(|out| self.printer.arg(position, out)),
                };
                Some(UseReport {
                    place: self.lines.inst(user),
                    value,
                    user: text(|out| self.printer.inst(user, out)),
                    outside_cycle: self.block(self.cycles.header(entry.cycle)),
                    sources: names(entry.sources),
                })
            })
            .collect()
    }

    fn blocks(&self) -> Vec<BlockReport> {
        let control = match self.assumed {
            None => queries::control_divergence(self.db, self.input),
            Some(assumptions) => {
                queries::assumed_control_divergence(self.db, self.input, assumptions)
            }
        };
        let Some(control) = control else { return Vec::new() };
        let order = self.function.flow.order().iter();
        order
            .map(|&block| {
                let sources = control[flow::node_of(block).index()];
                BlockReport {
                    name: self.block(flow::node_of(block)),
                    divergent_control: sources.intersects(self.varying),
                    sources: names(sources),
                }
            })
            .collect()
    }

    fn convergence(&self) -> Option<ConvergenceReport> {
        let facts = queries::convergence(self.db, self.input).as_ref()?;
        let cfg = queries::cfg(self.db, self.input)?;
        let dom = queries::dom_tree(self.db, self.input)?;
        let header = |cycle: CycleId| self.block(self.cycles.header(cycle));
        let operation = |o: &Operation| OperationReport {
            place: self.lines.inst(o.inst),
            text: text(|out| self.printer.inst(o.inst, out)),
            scope: o.scope.map(Scope::name),
            token: o.token.map(|token| self.value_name(token)),
            cycle: o.cycle.map(header),
        };
        let token = |t: &Token| TokenReport {
            place: self.lines.inst(t.inst),
            name: self.value_name(t.inst),
            kind: t.kind.word(),
            given: t.given.map(|token| self.value_name(token)),
            heart_of: t.heart_of.map(header),
            region: t.region(cfg, dom).into_iter().map(|block| self.block(block)).collect(),
            extends: t.extends.iter().map(|&cycle| header(cycle)).collect(),
        };
        Some(ConvergenceReport {
            control: match facts.control() {
                Control::Nothing => "nothing",
                Control::Controlled => "tokens",
                Control::Uncontrolled => "control flow",
            },
            operations: facts.operations().iter().map(operation).collect(),
            tokens: facts.tokens().iter().map(token).collect(),
        })
    }

    fn accesses(&self) -> Vec<AccessReport> {
        let accesses = queries::memory_accesses(self.db, self.input);
        let accesses = accesses.iter().flat_map(|all| all.iter());
        let costs = queries::costs(self.db, self.input).unwrap_or_default();
        let reached: FxHashMap<InstId, Reach> =
            costs.accesses.iter().map(|(reached, _)| (reached.inst, reached.reach)).collect();
        accesses
            .map(|access| {
                let (pattern, stride) = match access.pattern {
                    Pattern::Broadcast => ("broadcast", Some(0)),
                    Pattern::Consecutive => ("consecutive", Some(access.size.into())),
                    Pattern::Strided(stride) => ("strided", Some(stride)),
                    Pattern::Gather => match reached.get(&access.inst) {
                        Some(Reach::Symbolic(_) | Reach::Unknown) => ("unknown", None),
                        Some(Reach::Irregular) => ("irregular", None),
                        _ => ("gather", None),
                    },
                };
                AccessReport {
                    place: self.lines.inst(access.inst),
                    text: text(|out| self.printer.inst(access.inst, out)),
                    pattern,
                    stride,
                    in_rows: access.within == Within::Row,
                    assumes_no_wrap: access.assumes_no_wrap,
                    size: access.size,
                    align: access.align,
                    bytes: access.bytes,
                    segments: access.segments,
                    sectors: access.sectors,
                    bank_degree: access.bank_degree,
                }
            })
            .collect()
    }

    fn loads(&self) -> Vec<LoadReport> {
        let (db, input, module) = (self.db, self.input, self.module);
        Words { db, input, module, printer: &self.printer, lines: &self.lines }.loads()
    }

    fn trees(&self) -> Trees {
        let order = || self.function.flow.order().iter().map(|&block| flow::node_of(block));
        let edge = |node: Node, parent: Option<Node>| TreeEdge {
            block: self.block(node),
            parent: parent.map(|parent| self.block(parent)),
        };
        let (dom, postdom) =
            (queries::dom_tree(self.db, self.input), queries::postdom_tree(self.db, self.input));
        Trees {
            dominators: dom.as_ref().map_or_else(Vec::new, |dom| {
                order().filter(|&n| dom.is_reachable(n)).map(|n| edge(n, dom.idom(n))).collect()
            }),
            post_dominators: postdom.as_ref().map_or_else(Vec::new, |postdom| {
                order().map(|n| edge(n, postdom.ipdom(n))).collect()
            }),
        }
    }

    fn block(&self, node: Node) -> String {
        text(|out| self.printer.write_name(node, out))
    }

    fn value_name(&self, inst: InstId) -> String {
        text(|out| self.printer.operand(phalanx_ir::Value::inst(inst), false, out))
    }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
