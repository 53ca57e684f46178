//! The manager: order, statistics, errors.

use std::sync::{Arc, Mutex};

use phalanx_db::{Database, FunctionInput};
use phalanx_transform::{Event, Manager, Options, Outcome, Pass, PassError, Pipeline, Registry};

use crate::load;

const TWO: &str = "
define i32 @a(i32 %n) {
  %dead = add i32 %n, 1
  %r = add i32 %n, 0
  ret i32 %r
}
define i32 @b(i32 %n) {
  ret i32 %n
}";

/// Notes what it is given.
struct Note(&'static str, Arc<Mutex<Vec<String>>>);

impl Pass for Note {
    fn name(&self) -> &str {
        self.0
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let name = function
            .header(db)
            .name
            .symbol()
            .map(|s| function.module(db).context(db).text(s).into_owned());
        self.1.lock().unwrap().push(format!("{} {}", self.0, name.unwrap_or_default()));
        Ok(Outcome::Unchanged)
    }
}

#[test]
fn a_function_goes_through_a_group_before_the_next_one() {
    let notes = Arc::default();
    let mut registry = Registry::new();
    registry.add(Arc::new(Note("one", Arc::clone(&notes))));
    registry.add(Arc::new(Note("two", Arc::clone(&notes))));
    let (mut db, module) = load(TWO);
    let pipeline = Pipeline::parse("one,two,function(one)", &registry).unwrap();
    Manager::default().run(&mut db, module, &pipeline, &mut |_, _| {}).unwrap();
    assert_eq!(*notes.lock().unwrap(), ["one a", "two a", "one b", "two b", "one a", "one b"]);
}

#[test]
fn statistics_say_what_changed() {
    let (mut db, module) = load(TWO);
    let pipeline = Pipeline::parse("instsimplify,dce,dce", &Registry::standard()).unwrap();
    let mut manager = Manager::new(Options { verify_each: true, statistics: true });
    let mut changed = Vec::new();
    let mut tell = |_: &Database, event: Event<'_>| match event {
        Event::Changed { pass, .. } => changed.push(pass.to_owned()),
        event => panic!("{event:?}"),
    };
    manager.run(&mut db, module, &pipeline, &mut tell).unwrap();
    assert_eq!(changed, ["instsimplify", "dce"]);
    let [simplify, first, second] = &manager.statistics().steps[..] else { panic!("three steps") };
    assert_eq!((simplify.functions, simplify.changed_functions, simplify.transactions), (2, 1, 1));
    assert_eq!((simplify.erased, simplify.changed, simplify.inserted), (1, 1, 0));
    assert_eq!((first.erased, first.changed), (1, 0));
    assert_eq!((second.erased, second.transactions, second.changed_functions), (0, 0, 0));
}

/// What `simplifycfg` and `licm` ask about the flow is there when the next pass left the flow
/// alone.
#[test]
fn facts_about_the_flow_survive_edits_of_instructions() {
    let (mut db, module) = load(TWO);
    let pipeline = Pipeline::parse("licm,instsimplify,dce,licm", &Registry::standard()).unwrap();
    let mut manager = Manager::new(Options { verify_each: false, statistics: true });
    manager.run(&mut db, module, &pipeline, &mut |_, _| {}).unwrap();
    let last = &manager.statistics().steps[3];
    assert_eq!(last.ran.get("cycles"), None, "{:?}", last.ran);
}

/// Refuses the function that is called `a`.
struct Refuse;

impl Pass for Refuse {
    fn name(&self) -> &str {
        "refuse"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let name = function.header(db).name.symbol();
        let name = name.map(|s| function.module(db).context(db).text(s).into_owned());
        match name.as_deref() {
            Some("a") => Err(PassError::Other("no".to_owned())),
            _ => Ok(Outcome::Unchanged),
        }
    }
}

#[test]
fn a_pass_that_gives_up_does_not_end_the_run() {
    let notes = Arc::default();
    let mut registry = Registry::new();
    registry.add(Arc::new(Refuse));
    registry.add(Arc::new(Note("note", Arc::clone(&notes))));
    let (mut db, module) = load(TWO);
    let pipeline = Pipeline::parse("refuse,note", &registry).unwrap();
    let mut gave_up = Vec::new();
    let mut tell = |_: &Database, event: Event<'_>| {
        if let Event::GaveUp { pass, error, .. } = event {
            gave_up.push(format!("{pass}: {error}"));
        }
    };
    let done = Manager::default().run(&mut db, module, &pipeline, &mut tell);
    assert_eq!(done.unwrap_err().to_string(), "no");
    assert_eq!(gave_up, ["refuse: no"]);
    assert_eq!(*notes.lock().unwrap(), ["note a", "note b"]);
}

#[test]
fn code_of_optnone_functions_stays() {
    let text = "
define i32 @a(i32 %n) noinline optnone {
  %dead = add i32 %n, 1
  ret i32 %n
}
define i32 @b(i32 %n) {
  %dead = add i32 %n, 1
  ret i32 %n
}";
    let (mut db, module) = load(text);
    let pipeline = Pipeline::parse("dce", &Registry::standard()).unwrap();
    let mut changed = Vec::new();
    let mut tell = |db: &Database, event: Event<'_>| {
        if let Event::Changed { function, .. } = event {
            let symbol = function.name.symbol().unwrap();
            changed.push(module.context(db).text(symbol).into_owned());
        }
    };
    Manager::default().run(&mut db, module, &pipeline, &mut tell).unwrap();
    assert_eq!(changed, ["b"]);
    // What only annotates runs there, too.
    let annotate = ["annotate-uniform", "mark-loads", "infer-convergence-attrs"];
    for name in annotate {
        let pass = Registry::standard().find(name).unwrap().unwrap();
        assert!(pass.runs_on_optnone(), "{name}");
    }
    let code = Registry::standard();
    for name in code.names().filter(|name| *name != "amdgpu-annotate-uniform") {
        let pass = code.find(name).unwrap().unwrap();
        assert_eq!(pass.runs_on_optnone(), annotate.contains(&name), "{name}");
    }
}
