//! Runs the passes of `phalanx-transform` over a module of a session.

use phalanx_ir::VerifyError;
use phalanx_transform::{Event, Manager, Options, Pipeline, Statistics};

use super::{FunctionId, ModuleId, Session};

/// What a run of passes did.
#[derive(Debug, Default)]
pub struct PassRun {
    /// The functions that some pass has changed, in the order of the first change.
    pub changed: Vec<FunctionId>,
    /// Functions that break rules: found by `verify` in the pipeline, or with
    /// [`Options::verify_each`].
    pub broken: Vec<Broken>,
    /// Passes that gave up on a function. The function is as the pass before has left it.
    pub gave_up: Vec<GaveUp>,
    /// What each pass did.
    pub statistics: Statistics,
}

/// A function that breaks rules of the IR.
#[derive(Debug)]
pub struct Broken {
    /// The function.
    pub function: FunctionId,
    /// The pass before, as written in the pipeline; none if the pipeline says `verify`.
    pub pass: Option<String>,
    /// The broken rules.
    pub errors: Vec<VerifyError>,
}

/// A pass that gave up on a function: a defect of the pass.
#[derive(Debug)]
pub struct GaveUp {
    /// The function.
    pub function: FunctionId,
    /// The pass, as written in the pipeline.
    pub pass: String,
    /// What it could not do.
    pub message: String,
}

impl Session {
    /// Runs passes over all functions of a module that have a body. Facts that are asked for
    /// afterwards are brought up to date, as after [`Session::edit`].
    ///
    /// ```
    /// use phalanx::{prelude::*, transform::{Options, Pipeline, Registry}};
    ///
    /// let mut session = Session::new();
    /// let text = b"define i32 @f(i32 %n) {\n  %a = add i32 %n, 0\n  ret i32 %a\n}\n";
    /// let module = session.read(text)?;
    /// let pipeline = Pipeline::parse("instsimplify,dce", &Registry::standard())?;
    /// let run = session.run_passes(module, &pipeline, Options::default());
    /// assert!(run.gave_up.is_empty());
    /// assert_eq!(run.changed, [session.function(module, "f").expect("it is defined")]);
    /// assert!(String::from_utf8_lossy(&session.print(module)).contains("ret i32 %n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Waits until all other handles on the session are dropped. A driver's own pass needs the
    /// feature `database`, which a [`Pass`](phalanx_transform::Pass) is given.
    pub fn run_passes(
        &mut self,
        module: ModuleId,
        pipeline: &Pipeline,
        options: Options,
    ) -> PassRun {
        let module = self.module_there(module);
        let mut manager = Manager::new(options);
        let (mut changed, mut broken, mut gave_up) = (Vec::new(), Vec::new(), Vec::new());
        let mut tell = |_: &_, event: Event<'_>| match event {
            Event::Changed { function, .. } if !changed.contains(&function.input) => {
                changed.push(function.input);
            }
            Event::Broken { pass, function, errors } => {
                broken.push((function.input, pass.map(str::to_owned), errors));
            }
            Event::GaveUp { pass, function, error } => {
                gave_up.push((function.input, pass.to_owned(), error.to_string()));
            }
            _ => {}
        };
        // Each error was an event, and the pipeline went on.
        let _ = manager.run(&mut self.db, module, pipeline, &mut tell);
        let id = |input| self.id_of(input).expect("passes remove no function");
        PassRun {
            changed: changed.into_iter().map(id).collect(),
            broken: broken
                .into_iter()
                .map(|(input, pass, errors)| Broken { function: id(input), pass, errors })
                .collect(),
            gave_up: gave_up
                .into_iter()
                .map(|(input, pass, message)| GaveUp { function: id(input), pass, message })
                .collect(),
            statistics: manager.statistics().clone(),
        }
    }
}
