//! Toy programs at the level of abstraction at which divergence is decided.
//!
//! A program is a control-flow graph whose blocks hold phis and operations of a few kinds: launch
//! arguments, the thread's id, values that are fresh per converged group of threads or per thread,
//! and uninterpreted pure functions. A divergence analysis without algebra knows no more than that
//! of a real program. So running toy programs shows how good its answers can be
//! (`abstract_oracle`), and printing them as LLVM IR shows what LLVM answers
//! ([`AbstractProgram::to_llvm`]).

use std::fmt::{self, Write as _};

use phalanx_graph::{Cfg, Node};

/// A value: the position of its operation in the program, counting through all blocks.
pub type ValueNumber = u32;

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// The result of an operation.
    Value(ValueNumber),
    /// A literal.
    Constant(u32),
    /// Any value.
    Undef,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One entry per distinct predecessor.
    Phi(Vec<(Node, Operand)>),
    /// A launch argument: one value for all threads.
    Argument(u32),
    /// The number of the thread.
    ThreadId,
    /// A fresh value each time, the same for threads that are converged.
    Uniform,
    /// As `Uniform`, and always uniform, even in cycles in which threads run apart.
    AlwaysUniform(Operand),
    /// A fresh value each time and for each thread.
    Divergent,
    /// A pure function, named by a number, of two operands.
    Pure(u32, [Operand; 2]),
    /// A pure function of one operand with a boolean result.
    Test(Operand),
}

impl Operation {
    /// The operands.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + '_ {
        let (phi, other): (&[(Node, Operand)], [Option<Operand>; 2]) = match self {
            Self::Phi(entries) => (entries, [None; 2]),
            Self::Pure(_, [a, b]) => (&[], [Some(*a), Some(*b)]),
            Self::Test(a) | Self::AlwaysUniform(a) => (&[], [Some(*a), None]),
            Self::Argument(_) | Self::ThreadId | Self::Uniform | Self::Divergent => {
                (&[], [None; 2])
            }
        };
        phi.iter().map(|entry| entry.1).chain(other.into_iter().flatten())
    }
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// The thread ends.
    Return,
    /// To one block.
    Jump(Node),
    /// To the first block if the lowest bit is set, else to the second.
    Branch(Operand, [Node; 2]),
    /// To the block with the number of the operand, modulo their count.
    Switch(Operand, Vec<Node>),
}

impl Terminator {
    /// The possible targets, in order.
    #[must_use]
    pub fn targets(&self) -> &[Node] {
        match self {
            Self::Return => &[],
            Self::Jump(to) => std::slice::from_ref(to),
            Self::Branch(_, to) => to,
            Self::Switch(_, to) => to,
        }
    }

    /// The operand that decides where the thread goes.
    #[must_use]
    pub fn condition(&self) -> Option<Operand> {
        match self {
            Self::Branch(condition, _) | Self::Switch(condition, _) => Some(*condition),
            Self::Return | Self::Jump(_) => None,
        }
    }
}

/// A basic block: phis first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its operations with their value numbers, which are in no particular order.
    pub operations: Vec<(ValueNumber, Operation)>,
    /// Its end.
    pub terminator: Terminator,
}

/// A program: one function whose first block is the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbstractProgram {
    /// The blocks by node number.
    pub blocks: Vec<Block>,
    /// How many values there are.
    pub value_count: u32,
}

impl AbstractProgram {
    /// Its control-flow graph.
    #[must_use]
    pub fn cfg(&self) -> Cfg {
        let lists = self.blocks.iter().map(|block| block.terminator.targets().iter().copied());
        Cfg::new(Node::new(0), lists)
    }

    /// The block of each value.
    #[must_use]
    pub fn defining_blocks(&self) -> Vec<Node> {
        let mut found = vec![Node::new(0); self.value_count as usize];
        for (i, block) in self.blocks.iter().enumerate() {
            for (value, _) in &block.operations {
                found[*value as usize] = Node::new(i);
            }
        }
        found
    }

    /// How many operations there are, terminators included.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blocks.iter().map(|block| block.operations.len() + 1).sum()
    }

    /// The function as LLVM IR for AMDGPU, where LLVM's tables give each kind of operation the
    /// divergence that it has here. Needs [`DECLARATIONS`] in the module. Values are named `%v0`,
    /// blocks `b0`.
    #[must_use]
    pub fn to_llvm(&self, name: &str) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "define amdgpu_kernel void @{name}(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{"
        );
        let cfg = self.cfg();
        for (i, block) in self.blocks.iter().enumerate() {
            let _ = writeln!(text, "b{i}:");
            for (value, operation) in &block.operations {
                let _ = write!(text, "  %v{value} = ");
                let _ = write_operation(&mut text, &cfg, Node::new(i), operation);
                text.push('\n');
            }
            let _ = write_terminator(&mut text, &block.terminator);
        }
        text.push_str("}\n");
        text
    }
}

/// The declarations that printed programs need, once per module.
pub const DECLARATIONS: &str = "declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @div()\n\
    declare i32 @llvm.amdgcn.readfirstlane.i32(i32)\n";

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "%v{value}"),
            Self::Constant(number) => write!(f, "{number}"),
            Self::Undef => f.write_str("poison"),
        }
    }
}

fn write_operation(text: &mut String, cfg: &Cfg, block: Node, op: &Operation) -> fmt::Result {
    match op {
        Operation::Phi(entries) => {
            text.push_str("phi i32");
            // LLVM needs an entry per edge, so entries of parallel edges are repeated.
            let mut first = true;
            for pred in cfg.predecessors(block) {
                if let Some((_, value)) = entries.iter().find(|entry| entry.0 == *pred) {
                    write!(text, "{} [ {value}, %b{pred} ]", if first { "" } else { "," })?;
                    first = false;
                }
            }
            Ok(())
        }
        Operation::Argument(number) => write!(text, "add i32 %a{number}, 0"),
        Operation::ThreadId => write!(text, "call i32 @llvm.amdgcn.workitem.id.x()"),
        Operation::Uniform => write!(text, "load volatile i32, ptr addrspace(1) %gp"),
        Operation::AlwaysUniform(operand) => {
            write!(text, "call i32 @llvm.amdgcn.readfirstlane.i32(i32 {operand})")
        }
        Operation::Divergent => write!(text, "call i32 @div()"),
        Operation::Pure(_, [a, b]) => write!(text, "add i32 {a}, {b}"),
        Operation::Test(operand) => write!(text, "icmp slt i32 {operand}, 7"),
    }
}

fn write_terminator(text: &mut String, terminator: &Terminator) -> fmt::Result {
    match terminator {
        Terminator::Return => writeln!(text, "  ret void"),
        Terminator::Jump(to) => writeln!(text, "  br label %b{to}"),
        Terminator::Branch(condition, [yes, no]) => {
            writeln!(text, "  br i1 {condition}, label %b{yes}, label %b{no}")
        }
        Terminator::Switch(condition, to) => {
            write!(text, "  switch i32 {condition}, label %b{} [", to[0])?;
            for (i, to) in to[1..].iter().enumerate() {
                write!(text, " i32 {i}, label %b{to}")?;
            }
            writeln!(text, " ]")
        }
    }
}
