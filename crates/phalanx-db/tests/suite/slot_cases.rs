//! An update of stack slots that is given up. Other cases about slots are edit scripts,
//! `test-suite/edits`.

#[path = "support.rs"]
mod support;

use phalanx_db::queries;
use phalanx_ir::{BuildError, InstId, Value, edit::Transaction};
use phalanx_target::{Scope, varying};
use support::Fixture;

/// A kernel in which `start` stands before a test of `%d`, with so much behind that it is a large
/// one.
fn text(start: &str) -> String {
    let mut text = format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {{
entry:
{start}
  %test = icmp slt i32 %d, 7
  br i1 %test, label %then, label %done
then:
  br label %done
done:
  %w0 = add i32 %n, 1
"#
    );
    for at in 1..=300 {
        text.push_str(&format!("  %w{at} = add i32 %w{}, %n\n", at - 1));
    }
    text + "  ret void\n}\n"
}

struct Case(Fixture);

impl Case {
    /// A kernel that is followed, with a load that is uniform or not.
    fn new(start: &str, load: &str, is_uniform: bool) -> Self {
        let case = Case(Fixture::of(&text(start), "kernel"));
        let mut case = case;
        case.expect(load, is_uniform);
        for operand in [4, 5, 4] {
            let (at, number) = (case.0.named("w0"), case.0.context.const_i32(operand));
            case.edit(|edit| edit.set_operand(at, 1, Value::constant(number)));
            case.expect(load, is_uniform);
        }
        case
    }

    fn edit<R>(&mut self, edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, BuildError>) -> R {
        self.0.edit(edit)
    }

    fn named(&self, name: &str) -> InstId {
        self.0.named(name)
    }

    /// Whether a value is uniform is what is expected, and all is as from scratch.
    #[track_caller]
    fn expect(&self, name: &str, is_uniform: bool) {
        let function = self.0.edited();
        let divergence = queries::divergence(&self.0.db, function).as_ref().expect("it has a body");
        let value = phalanx_analysis::lower::Numbering::new(function.header(&self.0.db))
            .inst(self.named(name));
        let in_wave = varying(Scope::Wave, queries::launch_facts(&self.0.db, function));
        assert_eq!(!divergence.value(value).intersects(in_wave), is_uniform, "%{name}");
        let (cold, entries) = self.0.cold();
        for (warm, cold_entry) in self.0.module.functions(&self.0.db).iter().zip(&entries) {
            let now = queries::divergence(&self.0.db, warm.input);
            assert!(now == queries::divergence(&cold, cold_entry.input), "not as from scratch");
        }
    }

    /// The number of updates that scanned some objects, and of scans of the whole function.
    fn looks(&self) -> [u64; 2] {
        let looks = queries::slot_looks(&self.0.db, self.0.edited());
        [looks.in_part, looks.whole]
    }
}

/// If there are too many uses, everything is computed from scratch and compared with the facts
/// before the edit, including the origins of pointers.
#[test]
fn what_is_given_up_half_way_is_as_it_was() {
    let start = String::from(
        "
  %x = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %x
  %p = getelementptr i8, ptr %out, i32 0
  %q = select i1 %c, ptr %p, ptr %out
  %d = load i32, ptr %q",
    );
    let many: String = (0..17_000).map(|at| format!("\n  %u{at} = load i32, ptr %x")).collect();
    let mut case = Case::new(&(start + &many), "d", true);
    let (p, x) = (case.named("p"), case.named("x"));
    case.edit(|edit| edit.set_operand(p, 0, x));
    case.expect("d", false);
    assert_eq!(case.looks(), [0, 1]);
    case.edit(|edit| edit.set_operand(p, 0, Value::arg(0)));
    case.expect("d", true);
}
