//! The data model against simple models: linked lists against vectors, packed words against their
//! parts.

use phalanx_ir::{
    Body, Const, ConstKind, Context, Flow, InstData, InstFlags, InstId, MemInfo, Names, Opcode,
    Symbol, SyncScope, Type, TypeKind, Value, ValueKind,
    constant::Int,
    flow::{BlockId, block_of, node_of},
    inst::{OperandRange, Ordering},
    intern::Interner,
};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

fn block(number: u32) -> BlockId {
    BlockId::from_raw(number.into())
}

fn inst_id(number: u32) -> InstId {
    InstId::from_raw(number.into())
}

fn data(opcode: Opcode) -> InstData {
    InstData {
        opcode,
        sub: 0,
        flags: InstFlags::NONE,
        ty: Type::VOID,
        operands: OperandRange::default(),
        words: [0, 0],
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    InsertBefore(usize),
    Create,
    Unlink(usize),
    Append(u32, usize),
    SetOperands(usize, Vec<u32>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4u32).prop_map(Step::Push),
        3 => any::<prop::sample::Index>().prop_map(|i| Step::InsertBefore(i.index(1 << 20))),
        1 => Just(Step::Create),
        3 => any::<prop::sample::Index>().prop_map(|i| Step::Unlink(i.index(1 << 20))),
        2 => (0..4u32, any::<prop::sample::Index>()).prop_map(|(b, i)| Step::Append(b, i.index(1 << 20))),
        2 => (any::<prop::sample::Index>(), prop::collection::vec(0..100u32, 0..6))
            .prop_map(|(i, ops)| Step::SetOperands(i.index(1 << 20), ops)),
    ];
    prop::collection::vec(step, 0..120)
}

/// A model of a body that uses vectors.
#[derive(Default)]
struct Twin {
    blocks: [Vec<InstId>; 4],
    operands: Vec<Vec<Value>>,
}

impl Twin {
    fn home(&self, inst: InstId) -> Option<usize> {
        self.blocks.iter().position(|list| list.contains(&inst))
    }

    fn agrees_with(&self, body: &Body) {
        assert_eq!(body.id_count(), self.operands.len());
        for (number, list) in self.blocks.iter().enumerate() {
            let at = block(number as u32);
            assert_eq!(body.block_insts(at).collect::<Vec<_>>(), *list);
            assert_eq!(body.first(at), list.first().copied());
            assert_eq!(body.last(at), list.last().copied());
            for (place, &inst) in list.iter().enumerate() {
                assert_eq!(body.block_of(inst), Some(at));
                assert_eq!(body.next(inst), list.get(place + 1).copied());
                assert_eq!(body.prev(inst), place.checked_sub(1).map(|p| list[p]));
            }
        }
        for inst in body.all_ids() {
            if self.home(inst).is_none() {
                assert_eq!(body.block_of(inst), None);
                assert_eq!((body.next(inst), body.prev(inst)), (None, None));
            }
            assert_eq!(body.operands(inst), self.operands[inst.into_raw().into_u32() as usize]);
            assert!(body.is_intact(inst));
        }
    }
}

proptest! {
    #[test]
    fn lists_of_instructions_are_lists(steps in steps()) {
        let (mut body, mut twin) = (Body::new(), Twin::default());
        for step in steps {
            let count = twin.operands.len();
            let pick = |at: usize| (count > 0).then(|| inst_id((at % count) as u32));
            match step {
                Step::Push(b) => {
                    let operands = [Value::arg(count as u32)];
                    let inst = body.push(block(b), data(Opcode::Freeze), &operands);
                    twin.blocks[b as usize].push(inst);
                    twin.operands.push(operands.to_vec());
                }
                Step::Create => {
                    let inst = body.create(data(Opcode::Fence), &[]);
                    prop_assert_eq!(inst, inst_id(count as u32));
                    twin.operands.push(Vec::new());
                }
                Step::InsertBefore(at) => {
                    let Some((before, home)) = pick(at).and_then(|i| Some((i, twin.home(i)?))) else { continue };
                    let inst = body.create(data(Opcode::Fence), &[]);
                    body.insert_before(inst, before);
                    let place = twin.blocks[home].iter().position(|&i| i == before).unwrap();
                    twin.blocks[home].insert(place, inst);
                    twin.operands.push(Vec::new());
                }
                Step::Unlink(at) => {
                    let Some(inst) = pick(at) else { continue };
                    body.unlink(inst);
                    twin.blocks.iter_mut().for_each(|list| list.retain(|&i| i != inst));
                }
                Step::Append(b, at) => {
                    let Some(inst) = pick(at).filter(|&i| twin.home(i).is_none()) else { continue };
                    body.append(block(b), inst);
                    twin.blocks[b as usize].push(inst);
                }
                Step::SetOperands(at, operands) => {
                    let Some(inst) = pick(at) else { continue };
                    let operands: Vec<Value> = operands.into_iter().map(Value::arg).collect();
                    body.set_operands(inst, &operands);
                    twin.operands[inst.into_raw().into_u32() as usize] = operands;
                }
            }
        }
        twin.agrees_with(&body);
        let before = body.clone();
        body.shrink_to_fit();
        prop_assert_eq!(before, body);
    }

    #[test]
    fn successors_are_what_was_set_last(
        count in 1..8u32,
        edits in prop::collection::vec((0..8u32, prop::collection::vec(0..8u32, 0..5)), 0..40),
    ) {
        let mut flow = Flow::new();
        let mut twin: FxHashMap<u32, Vec<BlockId>> = FxHashMap::default();
        for _ in 0..count {
            let block = flow.create_block();
            flow.append_block(block);
        }
        for (from, to) in edits {
            let to: Vec<BlockId> = to.into_iter().map(|t| block(t % count)).collect();
            flow.set_successors(block(from % count), &to);
            twin.insert(from % count, to);
        }
        let cfg = flow.cfg().unwrap();
        for number in 0..count {
            let expected = twin.get(&number).cloned().unwrap_or_default();
            prop_assert_eq!(flow.successors(block(number)), &expected[..]);
            let nodes: Vec<_> = expected.iter().map(|&b| node_of(b)).collect();
            prop_assert_eq!(cfg.successors(node_of(block(number))), &nodes[..]);
            prop_assert_eq!(block_of(node_of(block(number))), block(number));
        }
        prop_assert_eq!(flow.entry(), Some(block(0)));
    }

    #[test]
    fn names_are_what_was_set_last(
        edits in prop::collection::vec((0..3u8, 0..20u32, prop::collection::vec(any::<u8>(), 0..300)), 0..60),
    ) {
        let mut names = Names::default();
        let mut twin: FxHashMap<(u8, u32), Vec<u8>> = FxHashMap::default();
        for (kind, number, name) in edits {
            match kind {
                0 => names.set_inst(inst_id(number), &name),
                1 => names.set_arg(number, &name),
                _ => names.set_block(block(number), &name),
            }
            twin.insert((kind, number), name);
        }
        for kind in 0..3u8 {
            for number in 0..25 {
                let found = match kind {
                    0 => names.inst(inst_id(number)),
                    1 => names.arg(number),
                    _ => names.block(block(number)),
                };
                let expected = twin.get(&(kind, number)).filter(|name| !name.is_empty());
                prop_assert_eq!(found, expected.map(|name| &name[..]));
            }
        }
    }

    #[test]
    fn memory_words_keep_their_parts(
        align in prop::option::of(0..=32u32),
        success in 0..7u8,
        failure in 0..7u8,
        scope in 0..1u32 << 20,
        order in 0..6usize,
    ) {
        let align = align.map(|log| 1u64 << log);
        let (success, failure) = (Ordering::from_number(success), Ordering::from_number(failure));
        let scope = SyncScope(Symbol::from_raw(scope));
        // The parts may be set in any order.
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let mut mem = MemInfo::PLAIN.with_align(Some(1 << 20)).with_orderings(Ordering::SeqCst, Ordering::SeqCst);
        for part in orders[order] {
            mem = match part {
                0 => mem.with_align(align),
                1 => mem.with_orderings(success, failure),
                _ => mem.with_scope(scope).unwrap(),
            };
        }
        let mem = MemInfo::from_raw(mem.raw());
        prop_assert_eq!(mem.align(), align);
        prop_assert_eq!(mem.ordering(), success);
        prop_assert_eq!(mem.failure_ordering(), failure);
        prop_assert_eq!(mem.scope(), scope);
    }

    #[test]
    fn values_unpack_to_what_was_packed(number in 0..1u32 << 29) {
        use phalanx_ir::LocalMetadataId;
        let metadata = LocalMetadataId::from_raw(number.into());
        let cases = [
            (Value::inst(inst_id(number)), ValueKind::Inst(inst_id(number))),
            (Value::arg(number), ValueKind::Arg(number)),
            (Value::block(block(number)), ValueKind::Block(block(number))),
            (Value::constant(Const::from_raw(number)), ValueKind::Const(Const::from_raw(number))),
            (Value::metadata(metadata), ValueKind::Metadata(metadata)),
        ];
        for (at, (value, kind)) in cases.into_iter().enumerate() {
            prop_assert_eq!(value.kind(), kind);
            for (other_at, (other, _)) in cases.into_iter().enumerate() {
                prop_assert_eq!(value == other, at == other_at);
            }
        }
    }

    #[test]
    fn interning_numbers_by_content(words in prop::collection::vec("[a-c]{0,3}", 0..60)) {
        let interner: Interner<String> = Interner::new();
        let mut twin: Vec<String> = Vec::new();
        for word in words {
            let expected = twin.iter().position(|w| *w == word);
            prop_assert_eq!(interner.find(word.as_str()), expected.map(|at| at as u32));
            let number = interner.intern(&word) as usize;
            match expected {
                Some(at) => prop_assert_eq!(number, at),
                None => {
                    prop_assert_eq!(number, twin.len());
                    twin.push(word);
                }
            }
        }
        prop_assert_eq!(interner.len(), twin.len());
        for (at, word) in twin.iter().enumerate() {
            prop_assert_eq!(interner.get(at as u32), word);
        }
    }

    #[test]
    fn integers_keep_their_low_bits(bits in 1..200u32, value: u64) {
        let int = Int::from_u64(bits, value);
        let kept = if bits >= 64 { value } else { value % (1 << bits) };
        prop_assert_eq!(int.to_u64(), Some(kept));
        prop_assert_eq!(int.words().len() as u32, bits.div_ceil(64).max(1));
    }
}

#[test]
fn interning_agrees_between_threads() {
    let interner: Interner<String> = Interner::new();
    let numbers: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let worker = |shift: u32| {
            let interner = &interner;
            move || {
                let word = |n: u32| format!("word {}", (n + shift * 37) % 500);
                let mut found = vec![0; 500];
                for n in 0..500 {
                    let number = interner.intern(&word(n));
                    assert_eq!(*interner.get(number), word(n));
                    found[((n + shift * 37) % 500) as usize] = number;
                }
                found
            }
        };
        let handles: Vec<_> = (0..4).map(|shift| scope.spawn(worker(shift))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(numbers.iter().all(|found| *found == numbers[0]));
    assert_eq!(interner.len(), 500);
}

#[test]
fn predefined_types_and_symbols_have_their_numbers() {
    let context = Context::new();
    assert_eq!(context.type_of_kind(&TypeKind::Int(32)), Type::I32);
    assert_eq!(context.int_type(32), Type::I32);
    assert_eq!(context.int_type(33), context.type_of_kind(&TypeKind::Int(33)));
    for space in 0..12 {
        assert_eq!(*context.type_kind(context.ptr_type(space)), TypeKind::Ptr(space));
    }
    assert_eq!(context.symbol(b""), SyncScope::SYSTEM.0);
    assert_eq!(context.symbol(b"singlethread"), SyncScope::SINGLE_THREAD.0);
    assert_eq!(context.find_symbol(b"agent"), None);
    let agent = context.symbol(b"agent");
    assert_eq!(context.find_symbol(b"agent"), Some(agent));
    assert_eq!(context.bytes(agent), b"agent");
}

#[test]
fn equal_constants_are_one() {
    let context = Context::new();
    assert_eq!(context.const_i32(-1), context.int_const(Type::I32, u64::MAX));
    assert_ne!(context.const_i32(-1), context.const_i64(-1));
    assert_eq!(context.const_zero(Type::PTR3), context.const_null(Type::PTR3));
    assert_eq!(context.const_data(context.const_zero(Type::FLOAT)).kind, ConstKind::Float(0));
    let mask = context.const_mask(&[0, -1]);
    let ConstKind::Aggregate(lanes) = &context.const_data(mask).kind else {
        panic!("an aggregate")
    };
    assert_eq!(lanes[..], [context.const_i32(0), context.const_poison(Type::I32)]);
}

#[test]
fn an_instruction_is_small() {
    assert_eq!(size_of::<InstData>(), 24);
    assert_eq!(size_of::<Value>(), 4);
}

#[test]
#[should_panic(expected = "is in a block already")]
fn an_instruction_is_in_one_place() {
    let mut body = Body::new();
    let inst = body.push(block(0), data(Opcode::Fence), &[]);
    body.append(block(1), inst);
}

/// Predicates of `icmp` mean what they mean for numbers of eight bits.
#[test]
fn predicates_hold_as_of_numbers() {
    use phalanx_ir::inst::IntPredicate as P;
    let numbers = [0u8, 1, 2, 126, 127, 128, 129, 254, 255];
    for (a, b) in numbers.iter().flat_map(|&a| numbers.map(|b| (a, b))) {
        let (x, y) = (a as i8, b as i8);
        let expected = [
            (P::Eq, a == b),
            (P::Ne, a != b),
            (P::Ugt, a > b),
            (P::Uge, a >= b),
            (P::Ult, a < b),
            (P::Ule, a <= b),
            (P::Sgt, x > y),
            (P::Sge, x >= y),
            (P::Slt, x < y),
            (P::Sle, x <= y),
        ];
        for (predicate, holds) in expected {
            assert_eq!(predicate.holds(a.cmp(&b), x.cmp(&y)), holds, "{predicate:?} {a} {b}");
        }
    }
}
