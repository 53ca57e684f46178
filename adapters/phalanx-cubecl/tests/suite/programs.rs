//! Random kernels of structured control flow.
//!
//! A value is a number below `types.len()`, and `v` with the number in the text. A kernel declares
//! one array that a cube shares, and private variables.

use std::fmt::Write as _;

use rand::Rng as _;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;

pub(crate) type Number = u32;

/// The words of a shared array.
pub(crate) const WORDS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Index,
    Bool,
    /// The address of a variable.
    Local,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Is {
    Builtin(&'static str),
    Constant(u32),
    Scalar(u32),
    /// A function of operands, by its name.
    Pure(&'static str, Vec<Number>),
    /// An operation of a plane, by its name. Of `ballot` the first word is meant.
    Plane(&'static str, Vec<Number>),
    /// What the unit with this number has.
    Broadcast(Number, u32),
    /// A load from the shared array, by the name of the operation.
    Shared(&'static str, Number),
    Variable,
    Load(Number),
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Let(Number, Is),
    Store(Number, Number),
    /// By a condition, with a number for each `if`.
    If {
        number: usize,
        by: Number,
        sides: [Body; 2],
        results: Vec<Number>,
    },
    /// From, to, by steps of.
    For {
        bounds: [Number; 3],
        init: Vec<Number>,
        body: Body,
        results: Vec<Number>,
    },
    /// The first body yields the condition and what goes on, or is the result.
    While {
        init: Vec<Number>,
        before: Body,
        after: Body,
        results: Vec<Number>,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Of a `for`, the first one is the number of the round.
    pub(crate) arguments: Vec<Number>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) yields: Vec<Number>,
    /// Units leave the kernel here, and yield nothing.
    pub(crate) returns: bool,
}

pub(crate) struct Kernel {
    pub(crate) types: Vec<Type>,
    pub(crate) body: Body,
}

struct Maker<'a> {
    rng: &'a mut SmallRng,
    types: Vec<Type>,
    ifs: usize,
    /// Values that can be read here.
    known: Vec<Number>,
}

/// A random kernel.
pub(crate) fn kernel(rng: &mut SmallRng) -> Kernel {
    let mut maker = Maker { rng, types: Vec::new(), ifs: 0, known: Vec::new() };
    let mut body = Body::default();
    for is in [Is::Builtin("UnitPos"), Is::Constant(1), Is::Scalar(0), Is::Variable] {
        let ty = if matches!(is, Is::Variable) { Type::Local } else { Type::Index };
        maker.add(&mut body, ty, is);
    }
    maker.fill(&mut body, 0);
    Kernel { types: maker.types, body }
}

impl Maker<'_> {
    fn fresh(&mut self, ty: Type) -> Number {
        self.types.push(ty);
        self.known.push(self.types.len() as Number - 1);
        self.types.len() as Number - 1
    }

    fn add(&mut self, to: &mut Body, ty: Type, is: Is) -> Number {
        let value = self.fresh(ty);
        to.statements.push(Statement::Let(value, is));
        value
    }

    /// A value of a type; a constant if there is none. Often one of the last.
    fn read(&mut self, to: &mut Body, ty: Type) -> Number {
        let all: Vec<Number> =
            self.known.iter().copied().filter(|&of| self.types[of as usize] == ty).collect();
        let last = &all[all.len().saturating_sub(4)..];
        let from = if self.rng.random_bool(0.6) { last } else { &all[..] };
        if let Some(&value) = from.choose(self.rng) {
            return value;
        }
        match ty {
            Type::Bool => {
                let [a, b] = [Type::Index; 2].map(|ty| self.read(to, ty));
                self.add(to, ty, Is::Pure("cmp.u_less_than", vec![a, b]))
            }
            Type::Index => self.add(to, ty, Is::Constant(2)),
            Type::Local => self.add(to, ty, Is::Variable),
        }
    }

    fn reads<const N: usize>(&mut self, to: &mut Body, types: [Type; N]) -> Vec<Number> {
        types.into_iter().map(|ty| self.read(to, ty)).collect()
    }

    fn operation(&mut self, to: &mut Body) {
        use Type::{Bool, Index, Local};
        let mut pick = |all: &[&'static str]| *all.choose(self.rng).expect("there is one");
        let builtin = pick(&[
            "UnitPosX",
            "UnitPosY",
            "UnitPosPlane",
            "PlanePos",
            "CubePos",
            "CubePosX",
            "CubeDim",
            "CubeCount",
            "PlaneDim",
            "AbsolutePos",
            "AbsolutePosX",
            "UnitPos",
        ]);
        let pure = pick(&["math.i_add", "math.i_mul", "bitwise.xor", "bitwise.and", "cmp.u_min"]);
        let compare = pick(&["cmp.u_less_than", "cmp.i_equal", "cmp.i_not_equal"]);
        let logic = pick(&["cube.bool_and", "cube.bool_or"]);
        let plane = pick(&["i_sum", "i_prod", "u_min", "u_max", "inclusive_i_sum"]);
        let scan = pick(&["exclusive_i_sum", "inclusive_i_prod", "u_min", "i_sum"]);
        let moved = pick(&["shuffle", "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down"]);
        let load = pick(&["memory.load", "memory.load", "plane.uniform_load", "atomic.i_add"]);
        let vote = pick(&["all", "any"]);
        let (ty, is) = match self.rng.random_range(0..22) {
            0..=2 => (Index, Is::Builtin(builtin)),
            3 => (Index, Is::Constant(self.rng.random_range(0..4))),
            4 => (Index, Is::Scalar(self.rng.random_range(0..3))),
            5..=7 => (Index, Is::Pure(pure, self.reads(to, [Index; 2]))),
            8 | 9 => (Bool, Is::Pure(compare, self.reads(to, [Index; 2]))),
            10 => (Bool, Is::Pure(logic, self.reads(to, [Bool; 2]))),
            11 => (Index, Is::Pure("cube.select", self.reads(to, [Bool, Index, Index]))),
            12 => (Index, Is::Plane(plane, self.reads(to, [Index]))),
            13 => (Index, Is::Plane(scan, self.reads(to, [Index]))),
            14 => (Index, Is::Plane(moved, self.reads(to, [Index; 2]))),
            15 => (Bool, Is::Plane(vote, self.reads(to, [Bool]))),
            16 => (Bool, Is::Plane("elect", Vec::new())),
            17 => (Index, Is::Plane("ballot", self.reads(to, [Bool]))),
            18 => (Index, Is::Broadcast(self.read(to, Index), self.rng.random_range(0..4))),
            19 => (Index, Is::Shared(load, self.read(to, Index))),
            20 => (Local, Is::Variable),
            _ => (Index, Is::Load(self.read(to, Local))),
        };
        self.add(to, ty, is);
    }

    fn fill(&mut self, to: &mut Body, depth: usize) {
        // Fewer inside, so that most kernels are small.
        for _ in 0..self.rng.random_range(1..[8, 5, 3, 2][depth]) {
            match self.rng.random_range(0..16) {
                0 | 1 => {
                    let [slot, value] = [Type::Local, Type::Index].map(|ty| self.read(to, ty));
                    to.statements.push(Statement::Store(slot, value));
                }
                2 | 3 if depth < 3 => self.branch(to, depth),
                4 | 7 if depth < 3 => self.range(to, depth),
                5 | 6 if depth < 3 => self.rounds(to, depth),
                _ => self.operation(to),
            }
        }
    }

    /// A body with arguments, which yields so many values.
    fn body(&mut self, arguments: usize, types: &[Type], depth: usize) -> Body {
        let arguments = (0..arguments).map(|_| self.fresh(Type::Index)).collect();
        let mut body = Body { arguments, ..Body::default() };
        self.fill(&mut body, depth + 1);
        body.yields = types.iter().map(|&ty| self.read(&mut body, ty)).collect();
        body
    }

    fn branch(&mut self, to: &mut Body, depth: usize) {
        let by = self.read(to, Type::Bool);
        let number = self.ifs;
        self.ifs += 1;
        let count = self.rng.random_range(1..3);
        let outside = self.known.len();
        let sides = [0, 1].map(|_| {
            let body = self.body(0, &vec![Type::Index; count], depth);
            self.known.truncate(outside);
            body
        });
        let results = (0..count).map(|_| self.fresh(Type::Index)).collect();
        to.statements.push(Statement::If { number, by, sides, results });
        if self.rng.random_bool(0.05) {
            self.exit(to);
        }
    }

    /// Some units return.
    fn exit(&mut self, to: &mut Body) {
        let by = self.read(to, Type::Bool);
        let number = self.ifs;
        self.ifs += 1;
        let sides = [Body { returns: true, ..Body::default() }, Body::default()];
        to.statements.push(Statement::If { number, by, sides, results: Vec::new() });
    }

    fn range(&mut self, to: &mut Body, depth: usize) {
        let three = self.add(to, Type::Index, Is::Constant(3));
        let bounds = [0, 3, 1].map(|usual| {
            if self.rng.random_bool(0.4) {
                return self.add(to, Type::Index, Is::Constant(usual));
            }
            let bound = self.read(to, Type::Index);
            self.add(to, Type::Index, Is::Pure("bitwise.and", vec![bound, three]))
        });
        let count = self.rng.random_range(0..3);
        let init: Vec<Number> = (0..count).map(|_| self.read(to, Type::Index)).collect();
        let outside = self.known.len();
        let body = self.body(count + 1, &vec![Type::Index; count], depth);
        self.known.truncate(outside);
        let results = (0..count).map(|_| self.fresh(Type::Index)).collect();
        to.statements.push(Statement::For { bounds, init, body, results });
    }

    fn rounds(&mut self, to: &mut Body, depth: usize) {
        let count = self.rng.random_range(1..3);
        let init: Vec<Number> = (0..count).map(|_| self.read(to, Type::Index)).collect();
        let outside = self.known.len();
        let mut before = self.body(count, &vec![Type::Index; count], depth);
        // Most loops count up to something.
        let (seen, to_what) = (before.arguments[0], self.read(&mut before, Type::Index));
        let more = match self.rng.random_bool(0.8) {
            true => {
                let read = vec![seen, to_what];
                self.add(&mut before, Type::Bool, Is::Pure("cmp.u_less_than", read))
            }
            false => self.read(&mut before, Type::Bool),
        };
        if self.rng.random_bool(0.8) {
            before.yields[0] = seen;
        }
        before.yields.insert(0, more);
        self.known.truncate(outside);
        let mut after = self.body(count, &vec![Type::Index; count], depth);
        if self.rng.random_bool(0.8) {
            let one = self.add(&mut after, Type::Index, Is::Constant(1));
            let read = vec![after.arguments[0], one];
            after.yields[0] = self.add(&mut after, Type::Index, Is::Pure("math.i_add", read));
        }
        self.known.truncate(outside);
        let results = (0..count).map(|_| self.fresh(Type::Index)).collect();
        to.statements.push(Statement::While { init, before, after, results });
    }
}

/// Names of values, with what stands between.
fn list(values: &[Number]) -> String {
    values.iter().map(|value| format!("v{value}")).collect::<Vec<_>>().join(", ")
}

impl Kernel {
    /// The kernel in cubecl's dialects.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "shared = memory.declare_variable cube.array [cube.index; {WORDS}] Shared, \
             align = 4, init = ;\n"
        );
        for statement in &self.body.statements {
            self.statement(&mut text, statement);
        }
        text + "branch.return"
    }

    fn ty(&self, value: Number) -> &'static str {
        match self.types[value as usize] {
            Type::Index => "cube.index",
            Type::Bool => "cube.bool",
            Type::Local => "cube.ptr <cube.index, Local>",
        }
    }

    fn types(&self, values: &[Number]) -> String {
        values.iter().map(|&value| self.ty(value)).collect::<Vec<_>>().join(", ")
    }

    fn let_(&self, text: &mut String, value: Number, is: &Is) {
        let ty = self.ty(value);
        let call = |name: &str, attributes: &str, reads: &[Number]| {
            let (read, of) = (list(reads), self.types(reads));
            format!("v{value} = {name} ({read}) [] [{attributes}] : <({of}) -> ({ty})>")
        };
        let line = match is {
            Is::Builtin(name) => format!("v{value} = cube.read_builtin ({name}) : {ty}"),
            Is::Constant(of) => format!("v{value} = builtin.constant <cube.index {of}> : {ty}"),
            Is::Scalar(of) => format!("v{value} = cube.read_scalar <{ty}>[{of}] : {ty}"),
            Is::Pure(name, reads) => call(name, "", reads),
            Is::Plane("ballot", reads) => {
                let word = "builtin.integer ui32";
                format!(
                    "b{value} = plane.ballot ({}) [] [] : <(cube.bool) -> (vector.vector <4 x \
                     {word}>)>; w{value} = composite.extract b{value}[0] : {word}; v{value} = \
                     cube.cast (w{value}) [] [] : <({word}) -> ({ty})>",
                    list(reads)
                )
            }
            Is::Plane(name, reads) => call(&format!("plane.{name}"), "", reads),
            Is::Broadcast(of, lane) => {
                call("plane.broadcast", &format!("plane_broadcast_lane: cube.index {lane}"), &[*of])
            }
            Is::Shared(name, at) => {
                let pointer = "cube.ptr <cube.index, Shared>";
                let (more, of) = match *name {
                    "atomic.i_add" => (format!(", v{at}"), ", cube.index"),
                    _ => (String::new(), ""),
                };
                format!(
                    "p{value} = memory.index shared[v{at}] : {pointer}; v{value} = {name} \
                     (p{value}{more}) [] [] : <({pointer}{of}) -> ({ty})>"
                )
            }
            Is::Variable => format!(
                "v{value} = memory.declare_variable cube.index Local, align = 4, init = \
                 cube.index 0"
            ),
            Is::Load(of) => call("memory.load", "", &[*of]),
        };
        let _ = writeln!(text, "{line};");
    }

    fn body(&self, text: &mut String, name: &str, of: &Body, end: &str) {
        let argument = |value: &Number| format!("v{value}: {}", self.ty(*value));
        let arguments = of.arguments.iter().map(argument).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{{ ^{name}({arguments}):");
        for statement in &of.statements {
            self.statement(text, statement);
        }
        let _ = match of.returns {
            true => writeln!(text, "branch.return }}"),
            false => writeln!(text, "{end} ({}) }}", list(&of.yields)),
        };
    }

    fn statement(&self, text: &mut String, statement: &Statement) {
        let equals = |results: &[Number]| match results {
            [] => String::new(),
            _ => format!("{} = ", list(results)),
        };
        match statement {
            Statement::Let(value, is) => self.let_(text, *value, is),
            Statement::Store(to, value) => {
                let of = self.types(&[*to, *value]);
                let _ = writeln!(text, "memory.store (v{to}, v{value}) [] [] : <({of}) -> ()>;");
            }
            Statement::If { number, by, sides, results } => {
                // The text of `scf.if` has to have results.
                let _ = match results.is_empty() {
                    true => write!(text, "branch.if v{by} then "),
                    false => {
                        let (names, of) = (equals(results), self.types(results));
                        write!(text, "{names}scf.if v{by} : {of} then ")
                    }
                };
                self.body(text, &format!("if{number}"), &sides[0], "branch.yield");
                text.push_str("else ");
                self.body(text, &format!("else{number}"), &sides[1], "branch.yield");
                text.push_str(";\n");
            }
            Statement::For { bounds: [start, end, step], init, body, results } => {
                let (names, init) = (equals(results), list(init));
                let head = format!("{names}scf.for v{start} to v{end} step v{step}");
                let _ = write!(text, "{head} iter_args({init}) ");
                self.body(text, "body", body, "branch.yield");
                text.push_str(";\n");
            }
            Statement::While { init, before, after, results } => {
                let (names, of) = (equals(results), self.types(results));
                let _ = write!(text, "{names}scf.while {} : {of} ", list(init));
                self.body(text, "before", before, "branch.condition");
                text.push_str("do ");
                self.body(text, "after", after, "branch.yield");
                text.push_str(";\n");
            }
        }
    }
}
