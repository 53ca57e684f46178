//! Variables of the builder, compared with the same program with its variables in stack slots: both
//! give the result of executing the program by hand.

use std::sync::Arc;

use phalanx_ir::{
    BlockId, Body, BuildError, Context, FunctionBuilder, InstBuilder, InstId, Module,
    ModuleBuilder, Opcode, Type, Value, builder::FunctionSpec, builder::Variable,
    inst::IntPredicate,
};
use phalanx_simt::{Arg, Launch, Memory, Program, Silent, run};
use phalanx_target::Target;

/// A linear congruential generator.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

const VARIABLES: usize = 4;

/// Threads end after this many blocks.
const ROUNDS: u32 = 20;

/// `to = left * 3 + right`
struct Assignment {
    to: usize,
    left: usize,
    right: usize,
}

/// Where threads go: by whether a variable is odd, or all to one block.
enum Next {
    One(usize),
    Odd(usize, usize, usize),
    Done,
}

/// A random flow, with several variables assigned in it; all are assigned at the entry.
struct Flow(Vec<(Vec<Assignment>, Next)>);

impl Flow {
    fn random(choices: &mut Choices) -> Flow {
        let blocks = 1 + choices.below(9);
        let block = |choices: &mut Choices| {
            let assignments = (0..choices.below(4)).map(|_| {
                let [to, left, right] = [(); 3].map(|()| choices.below(VARIABLES));
                Assignment { to, left, right }
            });
            let assignments = assignments.collect();
            let next = match choices.below(5) {
                0 => Next::Done,
                1 => Next::One(choices.below(blocks)),
                _ => Next::Odd(
                    choices.below(VARIABLES),
                    choices.below(blocks),
                    choices.below(blocks),
                ),
            };
            (assignments, next)
        };
        Flow((0..blocks).map(|_| block(choices)).collect())
    }

    /// What the program returns: all variables, one after the other.
    fn by_hand(&self, n: u32) -> [u32; VARIABLES] {
        let mut held: [u32; VARIABLES] = std::array::from_fn(|v| n.wrapping_add(v as u32));
        let (mut at, mut left) = (0, ROUNDS);
        loop {
            if left == 0 {
                return held;
            }
            left -= 1;
            let (assignments, next) = &self.0[at];
            for a in assignments {
                held[a.to] = held[a.left].wrapping_mul(3).wrapping_add(held[a.right]);
            }
            at = match *next {
                Next::Done => return held,
                Next::One(to) => to,
                Next::Odd(by, odd, even) => {
                    if held[by] % 2 == 1 {
                        odd
                    } else {
                        even
                    }
                }
            };
        }
    }
}

/// How the program keeps its variables.
enum VariablePlace {
    Variables(Vec<Variable>),
    Slots(Vec<Value>),
}

impl VariablePlace {
    fn read(&self, f: &mut FunctionBuilder<'_>, which: usize) -> Result<Value, BuildError> {
        match self {
            VariablePlace::Variables(variables) => f.use_var(variables[which]),
            VariablePlace::Slots(slots) => f.load(Type::I32, slots[which]),
        }
    }

    fn write(
        &self,
        f: &mut FunctionBuilder<'_>,
        which: usize,
        value: Value,
    ) -> Result<(), BuildError> {
        match self {
            VariablePlace::Variables(variables) => f.def_var(variables[which], value),
            VariablePlace::Slots(slots) => f.store(value, slots[which]).map(drop),
        }
    }
}

/// The program as a kernel that writes its result. Blocks are sealed as soon as their edges are
/// there, or all at the end.
fn build(flow: &Flow, in_slots: bool, choices: &mut Choices) -> Result<Module, BuildError> {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    module.set_triple("amdgcn-amd-amdhsa");
    module.set_data_layout("e-p5:32:32-A5-G1");
    let spec = FunctionSpec::new(Type::VOID)
        .param(context.ptr_type(1), "out")
        .param(Type::I32, "n")
        .call_conv(phalanx_ir::CallConv::AMDGPU_KERNEL);
    let mut f = module.define_function("k", &spec)?;
    let [out, n] = f.args();
    let entry = f.block("entry");
    let heads: Vec<BlockId> = flow.0.iter().map(|_| f.block("head")).collect();
    let bodies: Vec<BlockId> = flow.0.iter().map(|_| f.block("body")).collect();
    let done = f.block("done");
    f.switch_to(entry);
    let kept = match in_slots {
        true => VariablePlace::Slots(
            (0..=VARIABLES).map(|_| f.alloca(Type::I32, 5)).collect::<Result<_, _>>()?,
        ),
        false => VariablePlace::Variables(
            (0..=VARIABLES).map(|_| f.declare_var(Type::I32, "v")).collect(),
        ),
    };
    for which in 0..VARIABLES {
        let first = f.add(n, context.const_i32(which as i32))?;
        kept.write(&mut f, which, first)?;
    }
    kept.write(&mut f, VARIABLES, context.const_i32(ROUNDS as i32).into())?;
    f.br(heads[0])?;
    let mut order: Vec<usize> = (0..flow.0.len()).collect();
    for at in 0..order.len() {
        let other = at + choices.below(order.len() - at);
        order.swap(at, other);
    }
    for &at in &order {
        let (assignments, next) = &flow.0[at];
        f.switch_to(heads[at]);
        let left = kept.read(&mut f, VARIABLES)?;
        let is_over = f.icmp(IntPredicate::Eq, left, context.const_i32(0))?;
        f.cond_br(is_over, done, bodies[at])?;
        f.switch_to(bodies[at]);
        f.seal_block(bodies[at])?;
        let fewer = f.add(left, context.const_i32(-1))?;
        kept.write(&mut f, VARIABLES, fewer)?;
        for a in assignments {
            let (left, right) = (kept.read(&mut f, a.left)?, kept.read(&mut f, a.right)?);
            let tripled = f.mul(left, context.const_i32(3))?;
            let sum = f.add(tripled, right)?;
            kept.write(&mut f, a.to, sum)?;
        }
        match *next {
            Next::Done => f.br(done)?,
            Next::One(to) => f.br(heads[to])?,
            Next::Odd(by, odd, even) => {
                let value = kept.read(&mut f, by)?;
                let is_odd = f.cast(Opcode::Trunc, value, Type::I1)?;
                f.cond_br(is_odd, heads[odd], heads[even])?
            }
        };
    }
    if choices.below(2) == 0 {
        heads.iter().rev().try_for_each(|&head| f.seal_block(head))?;
        f.seal_block(done)?;
    }
    f.switch_to(done);
    for which in 0..VARIABLES {
        let value = kept.read(&mut f, which)?;
        let address = f.gep(Type::I32, out, &[context.const_i32(which as i32).into()])?;
        f.store(value, address)?;
    }
    f.ret_void()?;
    f.finish()?;
    module.finish()
}

fn execute(module: &Module, n: u32) -> [u32; VARIABLES] {
    let target = Target::new("amdgcn-amd-amdhsa", "");
    let program = Program::new(module, &target).expect("it is small");
    let mut memory = Memory::new(0);
    let out = memory.buffer(&[0; 4 * VARIABLES]).expect("it is small");
    let args = vec![Arg::bits(out), Arg::bits(n)];
    let launch = Launch { args, ..Launch::default() };
    run(&program, "k", &launch, &mut memory, &mut Silent).expect("it ends");
    let bytes = memory.bytes(out, 4 * VARIABLES as u64).expect("it is there");
    std::array::from_fn(|at| {
        let bytes = bytes[4 * at..][..4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    })
}

fn phis(body: &Body) -> impl Iterator<Item = InstId> + '_ {
    let is_phi = |inst: &InstId| body.inst(*inst).opcode == Opcode::Phi;
    body.all_ids().filter(is_phi).filter(|&inst| body.block_of(inst).is_some())
}

#[test]
fn variables_hold_what_stack_slots_hold() {
    let (mut made, mut sealed_late) = (0, 0);
    for seed in 0..300 {
        let mut choices = Choices(seed);
        let flow = Flow::random(&mut choices);
        sealed_late += usize::from(Choices(choices.0).below(2) == 1);
        let [variables, slots] = [false, true].map(|in_slots| {
            let built = build(&flow, in_slots, &mut Choices(seed));
            built.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
        });
        let body = &variables.function("k").expect("it was built").body;
        for phi in phis(body) {
            made += 1;
            let mut others =
                body.phi_incoming(phi).map(|(value, _)| value).filter(|&v| v != Value::inst(phi));
            let first = others.next();
            assert!(others.any(|value| Some(value) != first), "seed {seed}: a phi of one value");
        }
        assert_eq!(phis(&slots.function("k").expect("it was built").body).count(), 0);
        for n in [0, 1, 7, 1234] {
            let wanted = flow.by_hand(n);
            assert_eq!(execute(&variables, n), wanted, "seed {seed}, n = {n}");
            assert_eq!(execute(&slots, n), wanted, "seed {seed}, n = {n}");
        }
    }
    assert!(made > 1000 && sealed_late > 50, "{made} phis, {sealed_late} sealed late");
}

#[test]
fn a_chain_of_a_hundred_thousand_blocks_is_no_recursion() -> Result<(), BuildError> {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n");
    let mut f = module.define_function("deep", &spec)?;
    let n = f.arg(0);
    let v = f.declare_var(Type::I32, "v");
    let blocks: Vec<BlockId> = (0..100_000).map(|_| f.block("")).collect();
    f.switch_to(blocks[0]);
    f.def_var(v, n)?;
    for pair in blocks.windows(2) {
        f.switch_to(pair[0]);
        let is_zero = f.icmp(IntPredicate::Eq, n, context.const_i32(0))?;
        f.cond_br(is_zero, pair[1], pair[1])?;
    }
    blocks.iter().try_for_each(|&block| f.seal_block(block))?;
    f.switch_to(blocks[99_999]);
    let last = f.use_var(v)?;
    assert_eq!(last, n, "all edges bring the same");
    f.ret(last)?;
    f.finish().map(drop)
}

#[test]
fn misuse_of_variables_is_refused() -> Result<(), BuildError> {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let mut f = module.define_function("f", &FunctionSpec::new(Type::I32))?;
    let (v, entry) = (f.declare_var(Type::I32, "v"), f.block("entry"));
    let said = |error: BuildError| error.to_string();
    let nowhere = f.use_var(v).map_err(said);
    assert_eq!(nowhere, Err("@f: the builder has its cursor in no block".into()));
    f.switch_to(entry);
    let wide = f.def_var(v, context.const_i64(1)).map_err(said);
    assert_eq!(wide, Err("@f: 1 has another type than the variable it is assigned to".into()));
    f.seal_block(entry)?;
    let back = f.br(entry).map_err(said);
    assert_eq!(back.err(), Some("@f: %entry is sealed: no edge may lead to it any more".into()));
    let nothing = f.use_var(v)?;
    assert_eq!(nothing, Value::from(context.const_undef(Type::I32)), "nothing was assigned");
    f.ret(nothing)?;
    f.finish().map(drop)
}
