//! What is known of the launches of functions.
//!
//! Nearly all of it stands in attributes, of which a module has few lists for many functions: what
//! a list says is found once for the module ([`module_facts`]), and a function that nothing else is
//! said of has no memo of its own for it ([`known_launch`]).

use std::sync::{Arc, Mutex};

use phalanx_analysis::{code::TypeLayout, launch, lower::Library};
use phalanx_ir::{Context, FunctionHeader, attributes::AttrList};
use phalanx_target::{
    LaunchFacts, Target,
    calling_convention::{self, Entry},
    target::Architecture,
};
use rustc_hash::FxHashMap;

use super::calls::{call_graph, is_local_in};
use super::{library, target, type_layout};
use crate::retained::place::locked;
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// What analyses of all functions of a module read of it, so that one read does for it; and what
/// lists of attributes say of launches, as it is asked for.
#[derive(Debug)]
pub(super) struct ModuleFacts {
    pub(super) context: Arc<Context>,
    pub(super) target: Target,
    pub(super) layout: Arc<TypeLayout>,
    pub(super) library: Arc<Library>,
    known: Mutex<FxHashMap<AttrList, Stated>>,
}

/// What a list of attributes says of launches.
#[derive(Clone, Debug)]
struct Stated {
    facts: LaunchFacts,
    /// It says how wide waves are, by the processor or outright.
    has_width: bool,
}

impl ModuleFacts {
    fn launch(&self, attributes: AttrList) -> Stated {
        let find = || Stated {
            facts: launch::launch_facts_by_attributes(&self.context, attributes, &self.target),
            has_width: launch::states_wave_width(&self.context, attributes),
        };
        locked(&self.known).entry(attributes).or_insert_with(find).clone()
    }
}

/// See [`ModuleFacts`]. What they answer of a list of attributes follows from the list, whatever
/// was asked before.
///
/// *Reads* `context`, [`target`], [`type_layout`], [`library`]. *Changes when* one of them does.
/// *Cost* O(1), and O(attributes) per list that is asked for.
#[salsa::tracked(returns(ref), no_eq)]
pub(super) fn module_facts(db: &dyn Db, module: ModuleInput) -> ModuleFacts {
    ModuleFacts {
        context: Arc::clone(module.context(db)),
        target: target(db, module).clone(),
        layout: Arc::clone(type_layout(db, module)),
        library: Arc::clone(library(db, module)),
        known: Mutex::default(),
    }
}

/// A function, what stands in its header, and what is around.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) function: FunctionInput,
    pub(super) module: ModuleInput,
    pub(super) header: &'a FunctionHeader,
    pub(super) facts: &'a ModuleFacts,
}

impl<'a> Placed<'a> {
    /// *Reads* `header`, [`module_facts`].
    pub(super) fn new(db: &'a dyn Db, function: FunctionInput) -> Self {
        let module = function.module(db);
        Placed { function, module, header: function.header(db), facts: module_facts(db, module) }
    }

    fn is_kernel(self) -> bool {
        let architecture = self.facts.target.architecture();
        calling_convention::entry(self.header.call_conv, architecture) != Entry::Call
    }

    /// Whether all that calls the function can be known, and threads do not start in it.
    fn depends_on_callers(self, db: &dyn Db) -> bool {
        // Of a kernel nothing more is read.
        !self.is_kernel() && is_local_in(db, self.module, self.header)
    }

    /// What the module alone says. A function of an AMD GPU that no thread starts in, and that
    /// names no processor, says nothing of waves: they are those of its callers.
    fn stated(self, db: &dyn Db) -> LaunchFacts {
        let Stated { mut facts, has_width } = self.facts.launch(self.header.attributes);
        let ModuleFacts { context, target, .. } = self.facts;
        if !self.header.metadata.is_empty() {
            facts =
                launch::launch_facts(context, self.header, &self.module.shell(db).metadata, target);
        }
        if !has_width && target.architecture() == Architecture::Amdgcn && !self.is_kernel() {
            facts.wave_width = None;
        }
        facts
    }

    /// What is known of the function by itself, and by what all functions of the module have in
    /// common. What is said of a kernel that is called is said of its launches, and not of those of
    /// its callers.
    fn own(self, db: &dyn Db) -> LaunchFacts {
        let mut own = self.function.launch(db).over(self.stated(db));
        if self.facts.library.is_called_kernel(self.header.name) {
            own = LaunchFacts { wave_width: own.wave_width, ..LaunchFacts::default() };
        }
        if own.wave_width.is_none() && self.facts.target.architecture() == Architecture::Amdgcn {
            own.wave_width = processors(db, self.module).wave_width;
        }
        own
    }

    /// What the processors that the function may run on have in common, where it does not name one:
    /// as [`Processors`].
    pub(super) fn processors(self, db: &dyn Db) -> Processors {
        let ModuleFacts { context, target, .. } = self.facts;
        let named = launch::processor(context, self.header.attributes);
        let is_open = named.is_empty() && !self.is_kernel();
        match is_open && target.architecture() == Architecture::Amdgcn {
            true => processors(db, self.module),
            false => Processors::of(target, named, None),
        }
    }
}

/// What the processors have in common that functions of a module are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Processors {
    /// Threads in a wave, if it is one number.
    pub(super) wave_width: Option<u32>,
    /// [`Target::scratch_is_global`] of any.
    pub(super) scratch_is_global: bool,
    /// Any may [permute](Target::permuted_lanes) the lanes of halves of waves.
    pub(super) permutes_halves: bool,
}

impl Processors {
    fn of(target: &Target, named: &str, wave_width: Option<u32>) -> Self {
        Processors {
            wave_width,
            scratch_is_global: target.scratch_is_global(named),
            permutes_halves: target.permuted_lanes(named) != Some(64),
        }
    }

    fn join(self, other: Self) -> Self {
        Processors {
            wave_width: self.wave_width.filter(|_| self.wave_width == other.wave_width),
            scratch_is_global: self.scratch_is_global || other.scratch_is_global,
            permutes_halves: self.permutes_halves || other.permutes_halves,
        }
    }
}

/// What the processors have in common that the module is compiled for, and that its functions name.
/// That is what is known of a function of an AMD GPU which names none, and which anybody may call.
///
/// *Reads* `functions`, `header`, `launch`, `module_facts`; `shell` for functions with metadata.
/// *Changes when* a function is the first to name another processor, or the last. *Cost*
/// O(functions).
#[salsa::tracked(returns(copy))]
pub(super) fn processors(db: &dyn Db, module: ModuleInput) -> Processors {
    let ModuleFacts { context, target, .. } = module_facts(db, module);
    let mut joined = Processors::of(target, "", target.wave_width("", ""));
    for entry in module.functions(db).iter().filter(|entry| entry.is_definition) {
        let place = Placed::new(db, entry.input);
        let own = entry.input.launch(db).over(place.stated(db));
        let named = launch::processor(context, place.header.attributes);
        let wave_width = own.wave_width.or(joined.wave_width);
        joined = joined.join(Processors::of(target, named, wave_width));
    }
    joined
}

/// As [`launch_facts`], for analyses of the function. Not a query: where attributes say all there
/// is, it asks none of the function.
///
/// *Reads* `launch`, or [`launch_facts`]; [`processors`] of a function that names none.
pub(super) fn known_launch(db: &dyn Db, place: Placed<'_>) -> LaunchFacts {
    match place.header.metadata.is_empty() && !place.depends_on_callers(db) {
        true => place.own(db),
        false => launch_facts(db, place.function).clone(),
    }
}

/// What is known of the launches of a function: what the module says, what the driver states
/// ([`Database::set_launch`]), and for a function that is no kernel and cannot be named from
/// outside of the module what is known of all kernels that it is called from.
///
/// *Reads* `header`, `launch`, `module_facts`; `shell` if it has metadata; [`reaching_launches`]
/// and [`processors`] if they can matter. *Changes when* a stated size or the wave width do. *Cost*
/// O(attributes).
///
/// [`Database::set_launch`]: crate::Database::set_launch
#[salsa::tracked(returns(ref))]
pub fn launch_facts(db: &dyn Db, function: FunctionInput) -> LaunchFacts {
    let place = Placed::new(db, function);
    let own = place.own(db);
    if !place.depends_on_callers(db) {
        return own;
    }
    match reaching_launches(db, place.module).get(&function) {
        Some(reaching) => own.meet(reaching),
        None => own,
    }
}

/// What is known of the launches in which functions are executed that are called from known places
/// only: what holds of all of their callers. Those of which nothing is known are left out.
///
/// *Reads* [`call_graph`], and `launch`, `header`, `shell`, [`processors`] for functions with a
/// body. *Changes when* a call appears or goes, or the launch of a kernel that calls something.
/// *Cost* O(functions + calls).
#[salsa::tracked(returns(ref))]
pub(crate) fn reaching_launches(
    db: &dyn Db,
    module: ModuleInput,
) -> FxHashMap<FunctionInput, LaunchFacts> {
    let mut reaching: FxHashMap<FunctionInput, LaunchFacts> = FxHashMap::default();
    let nothing = LaunchFacts::default();
    for component in call_graph(db, module).top_down() {
        let mut joined: Option<LaunchFacts> = None;
        let mut add = |facts: LaunchFacts| {
            joined = Some(match joined.take() {
                Some(known) => known.join(&facts),
                None => facts,
            });
        };
        let is_in = |caller: &FunctionInput| component.iter().any(|(member, ..)| member == caller);
        for (_, callers, is_closed) in &component {
            if !is_closed {
                add(nothing.clone());
            }
            for caller in callers.iter().filter(|caller| !is_in(caller)) {
                let own = Placed::new(db, *caller).own(db);
                add(reaching.get(caller).map_or_else(|| own.clone(), |above| own.meet(above)));
            }
        }
        let Some(joined) = joined.filter(|joined| *joined != nothing) else { continue };
        for (member, _, is_closed) in component.into_iter().filter(|(.., is_closed)| *is_closed) {
            debug_assert!(is_closed);
            reaching.insert(member, joined.clone());
        }
    }
    reaching
}

/// What the module alone says. Not a query.
pub(crate) fn stated_launch_facts(db: &dyn Db, function: FunctionInput) -> LaunchFacts {
    Placed::new(db, function).stated(db)
}

/// Whether threads start in a function, and it is called by none of the module: it is entered at
/// launches only.
///
/// *Reads* `header`, `module_facts`. *Cost* O(1).
pub fn is_only_launched(db: &dyn Db, function: FunctionInput) -> bool {
    let place = Placed::new(db, function);
    place.is_kernel() && !place.facts.library.is_called_kernel(place.header.name)
}

/// Whether threads start in a function. It may be called as well: see [`is_only_launched`].
///
/// *Reads* `header`, `module_facts`. *Cost* O(1).
pub fn is_kernel(db: &dyn Db, function: FunctionInput) -> bool {
    Placed::new(db, function).is_kernel()
}
