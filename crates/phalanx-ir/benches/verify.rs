//! Verifying and building functions: cost per instruction, which must not grow with the function.

#![allow(missing_docs)] // criterion_group! makes a public function

use std::{hint::black_box, sync::Arc};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use phalanx_ir::{
    Context, Module, Type, Value, Verifier,
    builder::{BuildError, CallSpec, FunctionSpec, InstBuilder, ModuleBuilder},
    inst::IntPredicate,
};

/// `diamonds` branches one after the other, each with arithmetic, memory and a phi; `convergent`
/// adds a token, used in every block.
fn program(diamonds: usize, convergent: bool) -> Result<Module, BuildError> {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(context.clone());
    let g = module.declare_function("g", Type::VOID, &[])?;
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "x").param(Type::PTR1, "p");
    let mut f = module.define_function("f", &spec)?;
    let [x, p] = f.args();
    let mut block = f.block("");
    let mut value = x;
    f.switch_to(block);
    let token = if convergent {
        Some(f.call_intrinsic("llvm.experimental.convergence.anchor", Type::TOKEN, &[])?)
    } else {
        None
    };
    for _ in 0..diamonds {
        let [left, right, join] = [f.block(""), f.block(""), f.block("")];
        f.switch_to(block);
        let condition = f.icmp(IntPredicate::Ult, value, x)?;
        f.cond_br(condition, left, right)?;
        let mut incoming: Vec<Value> = Vec::new();
        for side in [left, right] {
            f.switch_to(side);
            let address = f.gep(Type::I32, p, &[value])?;
            let loaded = f.aligned(4).load(Type::I32, address)?;
            let sum = f.add(loaded, value)?;
            if let Some(token) = token {
                f.call_with(&CallSpec::new(g).bundle(&context, "convergencectrl", &[token]))?;
            }
            f.aligned(4).store(sum, address)?;
            f.br(join)?;
            incoming.push(sum);
        }
        f.switch_to(join);
        value = f.phi(Type::I32)?;
        f.add_incoming(value, incoming[0], left)?;
        f.add_incoming(value, incoming[1], right)?;
        block = join;
    }
    f.ret(value)?;
    f.finish()?;
    module.finish()
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verify");
    group.sample_size(10);
    for (name, convergent) in [("plain", false), ("tokens", true)] {
        for diamonds in [100, 10_000, 70_000] {
            let module = program(diamonds, convergent).expect("a well-formed module");
            let insts = module.functions.iter().map(|f| f.body.id_count() as u64).sum();
            group.throughput(Throughput::Elements(insts));
            group.bench_function(format!("{name}/{insts}"), |bencher| {
                bencher.iter(|| {
                    let errors = Verifier::new(black_box(&module)).module();
                    assert!(errors.is_empty());
                });
            });
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group("build");
    group.sample_size(10);
    for diamonds in [100, 10_000] {
        let insts = program(diamonds, false).expect("a module").functions[1].body.id_count();
        group.throughput(Throughput::Elements(insts as u64));
        group.bench_function(format!("plain/{insts}"), |bencher| {
            bencher.iter(|| program(diamonds, false).expect("a well-formed module"));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
