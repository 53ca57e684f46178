//! Which edit in a chain of calls runs which queries: the table in the documentation.

use super::Module;
use phalanx_db::{Did, queries};
use phalanx_ir::{BuildError, InstBuilder, InstId, Value, edit::Transaction};
use phalanx_testing::files::check_table;

/// A kernel calls `@middle`, which calls `@leaf`. Another kernel calls `@leaf`, too, and is never
/// edited.
const CHAIN: &str = "
define internal i32 @leaf(i32 %a, i32 %b) {
  %s = add i32 %a, 1
  %t = add i32 %a, 2
  %u = add i32 %s, %t
  ret i32 %u
}
define internal i32 @middle(i32 %a, i32 %b) {
  %s = add i32 %a, 3
  %r = call i32 @leaf(i32 %s, i32 %b)
  ret i32 %r
}
define amdgpu_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %s = add i32 %n, 1
  %t = add i32 %n, 2
  %u = add i32 %s, %t
  %r = call i32 @middle(i32 %s, i32 %x)
  ret void
}
define amdgpu_kernel void @other(ptr addrspace(1) %p, i32 %n) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call i32 @leaf(i32 %n, i32 %x)
  ret void
}
";

impl Module {
    fn named(&self, function: &str, name: &str) -> InstId {
        let code = self.function(function).view(&self.db);
        let mut ids = code.body.all_ids();
        ids.find(|&i| code.extras.names.inst(i) == Some(name.as_bytes())).expect("it has the name")
    }

    fn edit(
        &mut self,
        function: &str,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), BuildError>,
    ) {
        let function = self.function(function);
        self.db.edit(function, edit).expect("the edit breaks no rule");
    }

    fn ask(&self) {
        for (_, input) in self.definitions() {
            queries::divergence(&self.db, input);
        }
    }

    /// What ran in each function since the last call; graph facts are no matter here.
    fn ran(&self) -> Vec<String> {
        let of_module = "(the module)".to_owned();
        let log = self.db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
        let log: Vec<(String, String)> = log
            .map(|entry| {
                let mut all = self.definitions().into_iter();
                let of = all.find(|(_, input)| input.id() == entry.key).map(|(name, _)| name);
                // Keys with more than a function have numbers of their own.
                let of = if entry.query == "arguments_of_group" { None } else { of };
                (of.unwrap_or(of_module.clone()), entry.query)
            })
            .collect();
        let names = ["leaf", "middle", "kernel", "other", of_module.as_str()];
        let of = |name: &str| {
            let mut queries: Vec<String> = log
                .iter()
                .filter(|(of, query)| of == name && query != "is_large")
                .map(|(_, query)| format!("`{query}`"))
                .collect();
            queries.sort();
            queries.dedup();
            if queries.is_empty() { "nothing".to_owned() } else { queries.join(", ") }
        };
        names.into_iter().map(of).collect()
    }
}

type Edit = fn(&mut Module);

const KINDS: &[(&str, Edit)] = &[
    ("`@leaf`: an operand; the same is returned", |m| {
        let t = m.named("leaf", "t");
        m.edit("leaf", |edit| edit.set_operand(t, 1, Value::arg(0)));
    }),
    ("`@leaf`: an operand; the result depends on the other argument", |m| {
        let t = m.named("leaf", "t");
        m.edit("leaf", |edit| edit.set_operand(t, 1, Value::arg(1)));
    }),
    ("`@kernel`: an operand; the same is passed", |m| {
        let u = m.named("kernel", "u");
        m.edit("kernel", |edit| edit.set_operand(u, 0, Value::arg(1)));
    }),
    ("`@kernel`: an operand; an argument differs by thread", |m| {
        let (s, x) = (m.named("kernel", "s"), m.named("kernel", "x"));
        m.edit("kernel", |edit| edit.set_operand(s, 0, x));
    }),
    ("`@kernel`: another call of `@middle`", |m| {
        let r = m.named("kernel", "r");
        m.edit("kernel", |edit| edit.after(r).clone_of(r).map(drop));
    }),
    ("`@kernel`: an instruction more", |m| {
        let r = m.named("kernel", "r");
        m.edit("kernel", |edit| edit.before(r).xor(Value::arg(1), Value::arg(1)).map(drop));
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited | in `@leaf` | in `@middle` | in `@kernel` | in `@other` | besides |\n\
         |---|---|---|---|---|---|\n",
    );
    for (kind, edit) in KINDS {
        let mut module = Module::new(CHAIN);
        module.ask();
        // An edited part has low durability, and its readers see that as a change.
        for name in ["leaf", "kernel"] {
            let s = module.named(name, "s");
            for operand in [Value::arg(1), Value::arg(u32::from(name == "kernel"))] {
                module.edit(name, |edit| edit.set_operand(s, 0, operand));
                module.ask();
            }
        }
        module.db.take_log();
        edit(&mut module);
        module.ask();
        table.push_str(&format!("| {kind} | {} |\n", module.ran().join(" | ")));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited |", &table);
}
