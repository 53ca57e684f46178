//! The module that the reader builds from each construct, where printing would not show it.

use std::sync::Arc;

use phalanx_ir::{
    Const, ConstKind, Context, Function, GlobalName, InstFlags, InstId, Opcode, Type, TypeKind,
    Value, ValueKind,
    constant::Int,
    inst::{Ordering, RmwOp},
};
use phalanx_llvm::{Parsed, parse_module};

#[track_caller]
fn parse(source: &str) -> Parsed {
    parse_in(&Arc::new(Context::new()), source)
}

#[track_caller]
fn parse_in(context: &Arc<Context>, source: &str) -> Parsed {
    parse_module(Arc::clone(context), source.as_bytes()).unwrap_or_else(|error| {
        let (line, column) = error.line_col(source.as_bytes());
        panic!("{line}:{column}: {error}")
    })
}

/// All instructions of a function, in the order of the text.
fn insts(function: &Function) -> Vec<InstId> {
    function.flow.order().iter().flat_map(|&block| function.body.block_insts(block)).collect()
}

/// The initial values of the variables, in order.
fn initializers(parsed: &Parsed) -> Vec<ConstKind> {
    let context = &parsed.module.context;
    let kind = |constant: Const| context.const_data(constant).kind.clone();
    parsed.module.variables.iter().filter_map(|variable| variable.initializer).map(kind).collect()
}

#[test]
fn blocks_are_numbered_in_the_order_of_the_text() {
    let parsed = parse(
        "define void @f(i1 %c) {
           br i1 %c, label %late, label %early
         early:
           br label %late
         late:
           ret void
         }",
    );
    let function = &parsed.module.functions[0];
    let order: Vec<u32> =
        function.flow.order().iter().map(|block| block.into_raw().into_u32()).collect();
    assert_eq!(order, [0, 1, 2]);
    let successors: Vec<&[_]> =
        function.flow.order().iter().map(|&block| function.flow.successors(block)).collect();
    let [entry, early, late] = function.flow.order() else { panic!("three blocks") };
    assert_eq!(successors, [&[*late, *early][..], &[*late], &[]]);
    assert_eq!(function.extras.names.block(*entry), None);
    assert_eq!(function.extras.names.block(*late), Some(&b"late"[..]));
}

#[test]
fn values_may_be_used_before_they_are_defined() {
    let parsed = parse(
        "define i32 @f(i32 %0) {
           br label %loop
         loop:
           %i = phi i32 [ 0, %1 ], [ %next, %loop ]
           %later = add i32 %2, %0
           %2 = add i32 %i, 1
           %next = mul i32 %later, %i
           %c = icmp eq i32 %next, %0
           br i1 %c, label %loop, label %out
         out:
           ret i32 %later
         }",
    );
    let function = &parsed.module.functions[0];
    let all = insts(function);
    let [_, phi, later, two, next, ..] = all[..] else { panic!("instructions") };
    assert_eq!(function.body.operands(later), [Value::inst(two), Value::arg(0)]);
    let incoming: Vec<_> = function.body.phi_incoming(phi).collect();
    let [entry, head, _] = function.flow.order() else { panic!("three blocks") };
    assert_eq!(incoming[0].1, *entry);
    assert_eq!(incoming[1], (Value::inst(next), *head));
    for inst in all {
        for operand in function.body.operands(inst) {
            if let ValueKind::Inst(of) = operand.kind() {
                assert!(
                    of.into_raw().into_u32() < function.body.id_count() as u32,
                    "a placeholder is left"
                );
            }
        }
    }
}

#[test]
fn placeholders_in_metadata_are_resolved() {
    let parsed = parse(
        "define void @f() {
           call void @use(metadata i32 %x)
           %x = add i32 1, 2
           ret void
         }
         declare void @use(metadata)",
    );
    let function = &parsed.module.functions[0];
    let [call, add, _] = insts(function)[..] else { panic!("three instructions") };
    let ValueKind::Metadata(id) = function.body.operands(call)[0].kind() else {
        panic!("metadata")
    };
    let mut seen = Vec::new();
    function.body.local_metadata(id).clone().for_each_value_mut(&mut |value| seen.push(*value));
    assert_eq!(seen, [Value::inst(add)]);
}

#[test]
fn numbers_may_have_gaps() {
    let parsed = parse(
        "define i32 @f(i32 %3) {
         7:
           %9 = add i32 %3, 1
           br label %4000000000
         4000000000:
           %4000000001 = add i32 %9, 1
           ret i32 %4000000001
         }",
    );
    let function = &parsed.module.functions[0];
    let [nine, _, last, ret] = insts(function)[..] else { panic!("four instructions") };
    assert_eq!(function.body.operands(last)[0], Value::inst(nine));
    assert_eq!(function.body.operands(ret), [Value::inst(last)]);
}

#[test]
fn integers() {
    let parsed = parse(
        "@a = global i8 300
         @b = global i8 -1
         @c = global i1 true
         @d = global i128 18446744073709551616
         @e = global i16 u0xFFFF
         @f = global i16 s0xF",
    );
    let small = |value| ConstKind::Int(Int::Small(value));
    let big = ConstKind::Int(Int::Big([0, 1].into()));
    assert_eq!(
        initializers(&parsed),
        [small(44), small(255), small(1), big, small(0xffff), small(0xffff)]
    );
}

#[test]
fn floating_point_numbers_are_bits_of_their_own_type() {
    let parsed = parse(
        "@a = global double 1.0
         @b = global float 1.5
         @c = global half 0x3FF0000000000000
         @d = global half 0xH3C01
         @e = global bfloat 2.0
         @f = global x86_fp80 0xK3FFF8000000000000000
         @g = global fp128 0xL00000000000000013FFF000000000000
         @h = global float 0x7FF8000000000000
         @i = global float -0.0",
    );
    let bits = [
        0x3ff0_0000_0000_0000,
        0x3fc0_0000,
        0x3c00,
        0x3c01,
        0x4000,
        0x3fff_8000_0000_0000_0000,
        0x3fff_0000_0000_0000_0000_0000_0000_0001,
        0x7fc0_0000,
        0x8000_0000,
    ];
    assert_eq!(initializers(&parsed), bits.map(ConstKind::Float));
}

#[test]
fn types_with_stars_are_pointers() {
    let parsed =
        parse("@a = external global i32 (i8, ...)*\n@b = external global [2 x i8] addrspace(3)*");
    let types: Vec<Type> = parsed.module.variables.iter().map(|variable| variable.ty).collect();
    assert_eq!(types, [Type::PTR, Type::PTR3]);
}

#[test]
fn a_type_that_is_no_structure_is_an_alias() {
    let parsed = parse("%T = type <4 x i32>\n@a = external global %T");
    assert!(parsed.module.structs.is_empty());
    let ty = parsed.module.variables[0].ty;
    assert!(matches!(parsed.module.context.type_kind(ty), TypeKind::Vector { len: 4, .. }));
}

#[test]
fn operands_of_calls() {
    let parsed = parse(
        "define void @f(ptr %p) {
           call void @g(i32 1, ptr %p) [ \"a\"(i32 2, i32 3), \"b\"() ]
           ret void
         }
         declare void @g(i32, ptr)",
    );
    let function = &parsed.module.functions[0];
    let call = insts(function)[0];
    let info = function.body.call_info(call);
    assert_eq!((info.args, function.body.call_args(call).len()), (2, 2));
    let bundles: Vec<usize> =
        function.body.bundles(call).map(|(_, operands)| operands.len()).collect();
    assert_eq!(bundles, [2, 0]);
    let callee = function.body.const_callee(call).expect("a function");
    let ConstKind::Global(GlobalName::Named(name)) = parsed.module.context.const_data(callee).kind
    else {
        panic!("a name")
    };
    assert_eq!(&*parsed.module.context.text(name), "g");
}

#[test]
fn calls_of_one_shape_share_it() {
    let call = "call void @g(i32 noundef 1) #0\n".repeat(5);
    let parsed = parse(&format!(
        "define void @f() {{ {call} call void @g(i32 1) #0\n call void @g(i32 noundef 2) #0\n ret void }}
         declare void @g(i32)
         attributes #0 = {{ nounwind }}"
    ));
    let function = &parsed.module.functions[0];
    assert_eq!(function.body.call_infos().len(), 2);
    let list = parsed.module.context.attr_list_data(function.body.call_infos()[0].attributes);
    assert_ne!(list.function, phalanx_ir::AttrSet::EMPTY, "the group has been put in");
}

#[test]
fn memory_operations() {
    let parsed = parse(
        "define void @f(ptr %p) {
           %a = load volatile i32, ptr %p, align 16
           %b = cmpxchg weak ptr %p, i32 1, i32 2 syncscope(\"agent\") acq_rel monotonic, align 4
           %c = atomicrmw uinc_wrap ptr %p, i32 1 seq_cst
           %d = alloca i64, i32 4, align 8, addrspace(5)
           ret void
         }",
    );
    let function = &parsed.module.functions[0];
    let [load, exchange, rmw, alloca, _] = insts(function)[..] else { panic!("five instructions") };
    let inst = |id| *function.body.inst(id);
    assert_eq!(inst(load).mem().align(), Some(16));
    assert!(inst(load).flags.contains(InstFlags::VOLATILE));
    let mem = inst(exchange).mem();
    assert_eq!((mem.ordering(), mem.failure_ordering()), (Ordering::AcqRel, Ordering::Monotonic));
    assert_eq!(&*parsed.module.context.text(mem.scope().0), "agent");
    assert_eq!((inst(rmw).rmw_op(), inst(rmw).mem().align()), (RmwOp::UIncWrap, None));
    assert_eq!((inst(alloca).ty, inst(alloca).element_type()), (Type::PTR5, Type::I64));
}

#[test]
fn successors_of_calls_and_switches() {
    let parsed = parse(
        "define void @f(i32 %x) {
           switch i32 %x, label %d [ i32 1, label %e  i32 2, label %d ]
         d:
           invoke void @f(i32 1) to label %e unwind label %p
         e:
           callbr void asm \"\", \"!i,!i\"() to label %g [label %e, label %d]
         g:
           ret void
         p:
           %l = landingpad ptr catch ptr null filter [1 x ptr] [ptr null]
           resume ptr %l
         }",
    );
    let function = &parsed.module.functions[0];
    let of = |at: usize| -> Vec<u32> {
        let block = function.flow.order()[at];
        function.flow.successors(block).iter().map(|block| block.into_raw().into_u32()).collect()
    };
    assert_eq!((of(0), of(1), of(2)), (vec![1, 2, 1], vec![2, 4], vec![3, 2, 1]));
    let pad = function.body.first(function.flow.order()[4]).expect("a landing pad");
    assert_eq!(function.body.indices(pad), [0, 1]);
}

#[test]
fn addresses_of_blocks_before_inside_and_after_their_function() {
    let parsed = parse(
        "@before = global ptr blockaddress(@f, %b)
         define void @f() {
           br label %a
         a:
           store ptr blockaddress(@f, %b), ptr @before
           br label %b
         b:
           ret void
         }
         @after = global ptr blockaddress(@f, %a)",
    );
    let blocks: Vec<u32> = parsed
        .module
        .block_addresses
        .iter()
        .map(|address| address.block.into_raw().into_u32())
        .collect();
    assert_eq!(blocks, [2, 1], "one slot per block");
}

#[test]
fn intrinsics_need_no_declaration() {
    let parsed = parse("define void @f(i1 %c) {\n call void @llvm.assume(i1 %c)\n ret void\n}");
    assert!(parsed.module.function("llvm.assume").is_some_and(Function::is_declaration));
}

#[test]
fn the_source_map_knows_every_place() {
    let source = "@v = global i32 0
define void @f(i32 %x,
               i32) {
  %a = add i32 %x, 1
  br label %b

b:
  ret void
}
@al = alias i32, ptr @v
";
    let parsed = parse(source);
    let map = &parsed.source_map;
    let place = |offset: Option<u32>| map.line_col(source.as_bytes(), offset.expect("a place"));
    assert_eq!(place(map.variable(0)), (1, 1));
    assert_eq!(place(map.function(0)), (2, 13));
    assert_eq!(place(map.argument(0, 0)), (2, 20));
    assert_eq!(place(map.argument(0, 1)), (3, 16));
    let function = &parsed.module.functions[0];
    let [add, br, ret] = insts(function)[..] else { panic!("three instructions") };
    assert_eq!(place(map.inst(0, add)), (4, 3));
    assert_eq!(place(map.inst(0, br)), (5, 3));
    assert_eq!(place(map.inst(0, ret)), (8, 3));
    let [entry, b] = function.flow.order() else { panic!("two blocks") };
    assert_eq!(place(map.block(0, *entry)), (4, 3));
    assert_eq!(place(map.block(0, *b)), (7, 1));
    assert_eq!(place(map.alias(0)), (10, 1));
    assert_eq!(map.function(1), None);
}

/// Positions, comments and what other functions are must not show in a function.
#[test]
fn a_function_that_did_not_change_is_equal_when_read_again() {
    let context = Arc::new(Context::new());
    let function = "define i32 @f(i32 %x, ptr %p) #0 {
          %a = call i32 @g(i32 %x, i32 7)
          store float 1.5, ptr %p, align 4
          ret i32 %a
        }
        declare i32 @g(i32, i32)";
    let group = "attributes #0 = { nounwind }";
    let first = parse_in(&context, &format!("{function}\n{group}"));
    let second = parse_in(
        &context,
        &format!(
            "; a comment\n@new = global i64 12345\ndefine void @other() {{\n  ret void\n}}\n{function}\n{group}"
        ),
    );
    assert_eq!(first.module.function("f"), second.module.function("f"));
    let third = parse_in(&context, &format!("{}\n{group}", function.replace('7', "8")));
    assert_ne!(first.module.function("f"), third.module.function("f"));
}

#[test]
fn a_body_costs_at_most_sixty_bytes_per_instruction() {
    let text =
        phalanx_testing::giants::Giant::new(phalanx_testing::giants::Family::Memory, 2_000).text();
    let parsed = parse(&text);
    let function = parsed.module.function("k").expect("the kernel");
    let bytes =
        function.body.heap_bytes() + function.flow.heap_bytes() + function.extras.heap_bytes();
    let per_instruction = bytes as f64 / function.body.id_count() as f64;
    assert!(per_instruction <= 60.0, "{per_instruction} bytes per instruction");
}

#[test]
fn summary_entries_are_carried() {
    let parsed =
        parse("^0 = module: (path: \"a;b\", hash: (1, 2))\n^1 = flags: 8\n^2 = blockcount: 0\n");
    let lines: Vec<String> = parsed
        .module
        .summary
        .iter()
        .map(|&line| parsed.module.context.text(line).into_owned())
        .collect();
    assert_eq!(
        lines,
        ["^0 = module: (path: \"a;b\", hash: (1, 2))", "^1 = flags: 8", "^2 = blockcount: 0"]
    );
}

#[test]
fn opcodes_have_results_of_the_right_type() {
    let parsed = parse(
        "define void @f(<4 x float> %v, ptr addrspace(3) %p, i32 %x) {
           %a = fcmp fast oeq <4 x float> %v, %v
           %b = getelementptr i8, ptr addrspace(3) %p, <2 x i32> <i32 1, i32 2>
           %c = shufflevector <4 x float> %v, <4 x float> poison, <8 x i32> zeroinitializer
           %d = cmpxchg ptr addrspace(3) %p, i32 1, i32 2 seq_cst seq_cst
           %e = extractvalue { i32, i1 } %d, 1
           %f = select i1 %e, <4 x float> %v, <4 x float> zeroinitializer
           ret void
         }",
    );
    let context = &parsed.module.context;
    let function = &parsed.module.functions[0];
    let vector = |elem, len| context.type_of_kind(&TypeKind::Vector { elem, len, scalable: false });
    let types: Vec<Type> =
        insts(function).iter().map(|&inst| function.body.inst(inst).ty).collect();
    let pair = context
        .type_of_kind(&TypeKind::Struct { packed: false, fields: [Type::I32, Type::I1].into() });
    let expected = [
        vector(Type::I1, 4),
        vector(Type::PTR3, 2),
        vector(Type::FLOAT, 8),
        pair,
        Type::I1,
        vector(Type::FLOAT, 4),
        Type::VOID,
    ];
    assert_eq!(types, expected);
    assert_eq!(function.body.inst(insts(function)[0]).opcode, Opcode::FCmp);
}
