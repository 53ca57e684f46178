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

/// What `simplifycfg` and `licm` ask about the flow is there when the next pass left the flow alone.
#[test]
fn facts_about_the_flow_survive_edits_of_instructions() {
    let (mut db, module) = load(TWO);
    let pipeline = Pipeline::parse("licm,instsimplify,dce,licm", &Registry::standard()).unwrap();
    let mut manager = Manager::new(Options { verify_each: false, statistics: true });
    manager.run(&mut db, module, &pipeline, &mut |_, _| {}).unwrap();
    let last = &manager.statistics().steps[3];
    assert_eq!(last.ran.get("cycles"), None, "{:?}", last.ran);
}
