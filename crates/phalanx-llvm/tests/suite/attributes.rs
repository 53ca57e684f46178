//! Attributes: what is read is written as LLVM writes it, and what LLVM refuses is refused.

use crate::support;

use std::{fmt::Write as _, sync::Arc};

use expect_test::{Expect, expect};
use phalanx_ir::{
    Context,
    attributes::{Access, AttrKind, Captures, MemoryLocation},
};
use phalanx_llvm::parse_module;
use support::{Llvm, ours, refuse};

/// What we write for a text; LLVM must write the same, byte for byte.
#[track_caller]
fn check(source: &str, expected: &Expect) {
    let written = ours(source.as_bytes()).expect("a module");
    expected.assert_eq(std::str::from_utf8(&written).expect("ASCII").trim_end());
    let Some(llvm) = Llvm::find() else { return };
    let theirs = llvm.rewrite(source.as_bytes()).expect("LLVM reads it");
    assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&theirs));
    let again = llvm.rewrite(&written).expect("LLVM reads ours");
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&theirs));
}

#[test]
fn attributes_are_sorted_and_the_last_of_a_kind_wins() {
    check(
        r#"declare void @f() "b"="2" nosync "a" convergent "b"="3" nofree "c"="" nosync"#,
        &expect![[r##"
            ; Function Attrs: convergent nofree nosync
            declare void @f() #0

            attributes #0 = { convergent nofree nosync "a" "b"="3" "c" }"##]],
    );
}

#[test]
fn parameters_and_results() {
    check(
        r#"declare noundef nonnull align 8 dereferenceable(16) "r"="x" ptr @f(ptr byref({ i32, ptr }) align(16) noalias, ptr byval(i32) "p", i8 signext range(i8 -5, 100), float nofpclass(snan ninf))"#,
        &expect![[
            r#"declare noundef nonnull align 8 dereferenceable(16) "r"="x" ptr @f(ptr noalias byref({ i32, ptr }) align 16, ptr byval(i32) "p", i8 signext range(i8 -5, 100), float nofpclass(snan ninf))"#
        ]],
    );
    check(
        "declare void @f(ptr initializes((0, 4), (8, 16)) dead_on_return, ptr alignstack(8) writable dereferenceable_or_null(8), ptr inalloca(i32), ptr preallocated(i8), ptr byref([2 x i16]))",
        &expect![
            "declare void @f(ptr dead_on_return initializes((0, 4), (8, 16)), ptr writable dereferenceable_or_null(8) alignstack(8), ptr inalloca(i32), ptr preallocated(i8), ptr byref([2 x i16]))"
        ],
    );
}

#[test]
fn numbers_with_a_form_of_their_own() {
    check(
        r#"declare ptr @f(i64, i64) allocsize(0,1) allockind("zeroed,alloc") vscale_range(2) uwtable(sync) alignstack(32)
           declare ptr @g(i64) allocsize(0) uwtable(async) vscale_range(1,0)"#,
        &expect![[r##"
            ; Function Attrs: allockind("alloc,zeroed") allocsize(0,1) alignstack(32) uwtable(sync) vscale_range(2,2)
            declare ptr @f(i64, i64) #0

            ; Function Attrs: allocsize(0) uwtable vscale_range(1,0)
            declare ptr @g(i64) #1

            attributes #0 = { allockind("alloc,zeroed") allocsize(0,1) alignstack=32 uwtable(sync) vscale_range(2,2) }
            attributes #1 = { allocsize(0) uwtable vscale_range(1,0) }"##]],
    );
}

#[test]
fn older_spellings() {
    check(
        "declare void @f(ptr nocapture) readonly argmemonly\ndeclare void @g(ptr readnone) inaccessiblemem_or_argmemonly",
        &expect![[r##"
            ; Function Attrs: memory(argmem: read)
            declare void @f(ptr captures(none)) #0

            ; Function Attrs: memory(argmem: readwrite, inaccessiblemem: readwrite)
            declare void @g(ptr readnone) #1

            attributes #0 = { memory(argmem: read) }
            attributes #1 = { memory(argmem: readwrite, inaccessiblemem: readwrite) }"##]],
    );
    check(
        r#"declare void @f() "no-frame-pointer-elim"="true" "null-pointer-is-valid"="true" "implicit-section-name"="s""#,
        &expect![[r##"
            ; Function Attrs: null_pointer_is_valid
            declare void @f() #0 section "s"

            attributes #0 = { null_pointer_is_valid "frame-pointer"="all" }"##]],
    );
}

#[test]
fn groups_are_merged_at_the_end_of_the_file() {
    check(
        r#"define void @f() "k"="here" #7 #9 {
             call void @f() #9
             call void @f() #123
             call void @f() "k"
             ret void
           }
           attributes #9 = { align=16 cold }
           attributes #7 = { nounwind "k"="group" }
           attributes #9 = { hot }"#,
        &expect![[r##"
            ; Function Attrs: hot nounwind
            define void @f() #0 {
              call void @f() #1
              call void @f()
              call void @f() #2
              ret void
            }

            attributes #0 = { hot nounwind "k"="group" }
            attributes #1 = { hot }
            attributes #2 = { "k" }"##]],
    );
}

#[test]
fn an_alignment_in_a_group_is_the_function_s() {
    check(
        "declare void @f() #0\ndeclare void @g() align 8\nattributes #0 = { align=32 nounwind }",
        &expect![[r##"
            ; Function Attrs: nounwind
            declare void @f() #0 align 32

            declare void @g() align 8

            attributes #0 = { nounwind }"##]],
    );
}

#[test]
fn attributes_of_variables() {
    check(
        r#"@g = global i32 0, align 4 #0
           attributes #0 = { "a"="\22\01\\" nounwind }"#,
        &expect![[r##"
            @g = global i32 0, align 4 #0

            attributes #0 = { nounwind "a"="\22\01\\" }"##]],
    );
}

/// A simple generator: the sequence only has to be varied, and the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// LLVM and we write the same for every value of the attributes whose numbers have a structure.
#[test]
fn structured_numbers_are_written_as_llvm_writes_them() {
    let mut text = String::new();
    for mask in 1..1024 {
        writeln!(text, "declare void @c{mask}(float nofpclass({mask}))").unwrap();
    }
    let kinds = ["aligned", "alloc", "free", "realloc", "uninitialized", "zeroed"];
    for mask in 1..64 {
        let chosen = (0..6).filter(|bit| mask >> bit & 1 == 1).map(|bit| kinds[bit]);
        writeln!(
            text,
            "declare void @k{mask}() allockind(\"{}\")",
            chosen.collect::<Vec<_>>().join(",")
        )
        .unwrap();
    }
    let mut random = Random(1);
    let locations = MemoryLocation::ALL.iter().filter(|&&l| l != MemoryLocation::Other);
    let locations: Vec<_> = locations.map(|l| l.text()).collect();
    let components = ["address", "address_is_null", "provenance", "read_provenance"];
    for case in 0..400 {
        let mut effects = vec![Access::ALL[random.below(4)].text().to_owned()];
        for location in &locations {
            if random.below(2) == 0 {
                effects.push(format!("{location}: {}", Access::ALL[random.below(4)].text()));
            }
        }
        let skip = usize::from(random.below(3) == 0 && effects.len() > 1);
        writeln!(text, "declare void @m{case}() memory({})", effects[skip..].join(", ")).unwrap();
        let mut choose = || match random.below(16) {
            0 => "none".to_owned(),
            mask => {
                let chosen = (0..4).filter(|bit| mask >> bit & 1 == 1).map(|bit| components[bit]);
                chosen.collect::<Vec<_>>().join(", ")
            }
        };
        let captures = match case % 3 {
            0 => choose(),
            1 => format!("ret: {}", choose()),
            _ => format!("{}, ret: {}", choose(), choose()),
        };
        writeln!(text, "declare void @p{case}(ptr captures({captures}))").unwrap();
    }
    let written = ours(text.as_bytes()).expect("a module");
    let again = ours(&written).expect("what we write");
    assert!(written == again, "reading what we write changes it");
    let Some(llvm) = Llvm::find() else { return };
    let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads it");
    assert_eq!(support::first_difference(&written, &theirs), None);
}

/// Each keyword that we take at a place is taken by LLVM; some that we refuse are tried, and are
/// refused by LLVM.
#[test]
fn each_attribute_stands_where_llvm_lets_it() {
    let Some(llvm) = Llvm::find() else { return };
    let payload = |kind: AttrKind| match kind {
        AttrKind::Align => " 8",
        AttrKind::AllocKind => "(\"alloc\")",
        AttrKind::Captures | AttrKind::Memory => "(none)",
        AttrKind::NoFpClass => "(nan)",
        AttrKind::VScaleRange => "(1,2)",
        AttrKind::UwTable => "",
        AttrKind::Range => "(i32 0, 8)",
        AttrKind::Initializes => "((0, 8))",
        _ => match kind.payload() {
            phalanx_ir::attributes::Payload::None => "",
            phalanx_ir::attributes::Payload::Type => "(i32)",
            _ => "(8)",
        },
    };
    let mut taken = String::new();
    let mut wrong = Vec::new();
    let mut refused = 0;
    for (number, &kind) in AttrKind::ALL.iter().enumerate() {
        let attribute = format!("{}{}", kind.text(), payload(kind));
        // Only positions are at issue, so it does not matter that these types suit few attributes.
        for source in [
            format!("declare void @p{number}(ptr {attribute})\n"),
            format!("declare {attribute} ptr @r{number}()\n"),
            format!("declare void @f{number}(i32, i32) {attribute}\n"),
        ] {
            match ours(source.as_bytes()) {
                Ok(_) if kind == AttrKind::Builtin => wrong.push(source),
                Ok(_) => taken += &source,
                Err(_) => {
                    refused += 1;
                    // Each takes a run of LLVM.
                    if refused % 5 == 0 && llvm.accepts(source.as_bytes()) {
                        wrong.push(source);
                    }
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(llvm.accepts(taken.as_bytes()), "LLVM refuses some of\n{taken}");
}

#[test]
fn refusals() {
    let params = |attributes: &str| format!("declare void @f(ptr {attributes})");
    refuse(&params("convergent"), &expect!["1:21: `convergent` does not apply to a parameter"]);
    refuse("declare sret(i8) ptr @f()", &expect!["1:9: `sret` does not apply to a return value"]);
    refuse("declare void @f() noalias", &expect!["1:19: `noalias` does not apply to a function"]);
    refuse(
        "declare void @f() builtin",
        &expect!["1:19: `builtin` is for calls, not for functions"],
    );
    refuse(&params("align 3"), &expect!["1:27: an alignment must be a power of two"]);
    refuse(&params("align 8589934592"), &expect!["1:27: alignments go up to 4294967296"]);
    refuse(
        &params("dereferenceable(0)"),
        &expect!["1:37: `dereferenceable` needs at least one byte"],
    );
    refuse(&params("byval"), &expect!["1:26: expected `(`, found `)`"]);
    refuse(&params("captures(none, address)"), &expect!["1:36: `none` excludes other components"]);
    refuse(&params("captures(ret: address, ret: none)"), &expect!["1:44: `ret:` is given twice"]);
    refuse(
        &params("captures(self)"),
        &expect!["1:30: expected a component of a pointer, found `self`"],
    );
    refuse(
        &params("initializes((4, 8), (0, 2))"),
        &expect!["1:32: ranges must not be empty, must ascend, and must not touch"],
    );
    refuse(&params("range(float 0, 1)"), &expect!["1:27: a range must have integer type"]);
    refuse(&params("range(i8 0, 256)"), &expect!["1:33: this number does not fit `i8`"]);
    refuse(
        &params("range(i8 3, 3)"),
        &expect!["1:27: an empty range; the full range is written with two zeros"],
    );
    refuse(
        &params("nofpclass(0)"),
        &expect!["1:31: a mask of floating-point classes is between 1 and 1023"],
    );
    refuse(
        &params("nofpclass(nan, inf)"),
        &expect!["1:34: expected a floating-point class, found `,`"],
    );
    let function = |attributes: &str| format!("declare void @f(i32) {attributes}");
    refuse(
        &function("memory()"),
        &expect!["1:29: expected a kind of memory or of access, found `)`"],
    );
    refuse(
        &function("memory(heap: read)"),
        &expect!["1:29: expected a kind of memory, found `heap:`"],
    );
    refuse(
        &function("memory(argmem: read, write)"),
        &expect!["1:43: the access that holds by default must come first"],
    );
    refuse(&function("allockind(\"alloc,new\")"), &expect!["1:32: unknown allocation kind `new`"]);
    refuse(
        &function("allocsize(0,0)"),
        &expect!["1:32: `allocsize` names the same parameter twice"],
    );
    refuse(&function("uwtable(none)"), &expect!["1:30: expected `sync` or `async`, found `none`"]);
    let group = |attributes: &str| format!("attributes #0 = {{ {attributes} }}");
    refuse(&group(""), &expect!["1:17: an attribute group without attributes"]);
    refuse(&group("#1"), &expect!["1:19: an attribute group cannot refer to another group"]);
    refuse(&group("align 8"), &expect!["1:25: expected `=`, found `8`"]);
    refuse(
        &group("nounwind, cold"),
        &expect!["1:27: expected a function attribute or `}`, found `,`"],
    );
}

#[test]
fn queries() {
    let source = br#"declare void @f(ptr nocapture align 16 %p) convergent nosync memory(read) "amdgpu-waves-per-eu"="2,4""#;
    let context = Arc::new(Context::new());
    let module = parse_module(context.clone(), source).expect("a module").module;
    let list = module.function("f").expect("the function").header.attributes;
    let function = context.function_attrs(list);
    assert!(
        function.has(AttrKind::Convergent)
            && function.has(AttrKind::NoSync)
            && !function.has(AttrKind::NoFree)
    );
    assert!(function.memory().expect("effects").only_reads());
    assert_eq!(context.function_attr_text(list, "amdgpu-waves-per-eu"), Some(&b"2,4"[..]));
    let param = context.param_attrs(list, 0);
    assert_eq!((param.align(), param.captures()), (Some(16), Some(Captures::NONE)));
}
