//! Random edits outside of function bodies: headers, variables, launches, functions that are added
//! and removed, and text that is read again.

use phalanx::{
    FunctionId, ModuleId, Session,
    db::FunctionInput,
    ir::{
        ConstKind, GlobalName, Type, Value,
        attributes::{AttrKind, AttrListData, AttrSetBuilder, Attribute},
        module::{Linkage, Visibility},
    },
    target::LaunchStatement,
};
use rand::{Rng, RngCore, seq::IndexedRandom};

use super::seldom::{KEEPS, said_otherwise};

/// What is edited.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// How a function is launched.
    Launch,
    /// Whether the module is a whole program.
    Whole,
    /// Attributes and linkage of a function.
    Header,
    /// A variable.
    Variable,
    /// A function is added.
    Added,
    /// A function is removed.
    Removed,
    /// The printed text is read again.
    Reread,
    /// An earlier text is read again.
    Undone,
    /// Retained state is dropped.
    Trimmed,
}

impl What {
    /// All of them, in order.
    pub const ALL: [What; 9] = [
        What::Launch,
        What::Whole,
        What::Header,
        What::Variable,
        What::Added,
        What::Removed,
        What::Reread,
        What::Undone,
        What::Trimmed,
    ];
}

/// A module whose surroundings are edited.
pub(super) struct Around {
    module: ModuleId,
    /// The kernel, which is never removed.
    kernel: String,
    /// An earlier text of the module.
    text: Vec<u8>,
    /// Functions that calls can be redirected to, with their types.
    pub(super) callees: Vec<(Type, Value)>,
    /// How many functions were added.
    added: usize,
}

impl Around {
    pub(super) fn new(session: &Session, module: ModuleId, kernel: &str) -> Around {
        let text = session.print(module);
        let mut around =
            Around { module, kernel: kernel.to_owned(), text, callees: Vec::new(), added: 0 };
        around.find_callees(session);
        around
    }

    /// Functions of the module, with and without code.
    fn functions(&self, session: &Session) -> Vec<FunctionInput> {
        let entries = self.module.input().functions(session.database());
        entries.iter().map(|entry| entry.input).collect()
    }

    fn find_callees(&mut self, session: &Session) {
        let (db, context) = (session.database(), session.context());
        let callee = |function: FunctionInput| {
            let header = function.header(db);
            let address = context.const_global(header.name, header.address_space);
            (header.ty, Value::constant(address))
        };
        self.callees = self.functions(session).into_iter().map(callee).collect();
        let aliases = self.module.input().shell(db).aliases.iter();
        self.callees.extend(aliases.map(|alias| {
            let address = context.constant(alias.ptr_ty, ConstKind::Global(alias.name));
            (alias.ty, Value::constant(address))
        }));
    }

    /// Makes one edit; returns its kind, unless it was refused.
    pub(super) fn edit(&mut self, session: &mut Session, rng: &mut dyn RngCore) -> Option<What> {
        let what = *What::ALL.choose(rng).expect("there are some");
        let done = match what {
            What::Launch => self.launch(session, rng),
            What::Whole => {
                let is_whole = self.module.input().is_whole(session.database());
                session.set_whole(self.module, !is_whole);
                true
            }
            What::Header => self.header(session, rng),
            What::Variable => self.variable(session, rng),
            What::Added => self.add(session, rng),
            What::Removed => self.remove(session, rng),
            What::Reread => {
                let now = session.print(self.module);
                session.reread(self.module, &now).expect("what is printed is well-formed");
                if rng.random_bool(0.5) {
                    self.text = now;
                }
                true
            }
            What::Undone => {
                session.reread(self.module, &self.text).expect("what was printed is well-formed");
                true
            }
            What::Trimmed => {
                session.database().trim(self.module.input());
                true
            }
        };
        self.find_callees(session);
        done.then_some(what)
    }

    fn launch(&self, session: &mut Session, rng: &mut dyn RngCore) -> bool {
        let functions: Vec<FunctionId> = session.functions(self.module).collect();
        let Some(&function) = functions.choose(rng) else { return false };
        let sizes = [[64, 1, 1], [8, 8, 1], [1, 1, 1], [33, 2, 1], [1024, 1, 1]];
        let mut some = |share: f64| rng.random_bool(share);
        let (size, width, cluster) = (some(0.6), some(0.4), some(0.3));
        let statement = LaunchStatement {
            workgroup_size: size.then(|| *sizes.choose(rng).expect("there are some")),
            wave_width: width.then(|| if rng.random() { 32 } else { 64 }),
            cluster_size: cluster.then(|| if rng.random() { [2, 1, 1] } else { [1, 1, 1] }),
        };
        session.set_launch(function, statement).is_ok()
    }

    /// Changes an attribute of a function or parameter, or the linkage.
    fn header(&self, session: &mut Session, rng: &mut dyn RngCore) -> bool {
        let functions = self.functions(session);
        let Some(&function) = functions.choose(rng) else { return false };
        let context = std::sync::Arc::clone(session.context());
        let edited = session.database_mut().edit_header(function, |header| {
            let list = context.attr_list_data(header.attributes);
            match rng.random_range(0..4) {
                0 => {
                    let all = [Linkage::External, Linkage::Internal, Linkage::Weak];
                    header.linkage = *all.choose(rng).expect("there are some");
                }
                1 if !header.params.is_empty() => {
                    let all = [
                        AttrKind::NoAlias,
                        AttrKind::ReadOnly,
                        AttrKind::ReadNone,
                        AttrKind::WriteOnly,
                        AttrKind::NoUndef,
                        AttrKind::InReg,
                        AttrKind::NonNull,
                    ];
                    let at = rng.random_range(0..header.params.len());
                    let mut params: Vec<_> =
                        (0..header.params.len()).map(|at| list.param(at)).collect();
                    let kind = *all.choose(rng).expect("there are some");
                    let mut builder = AttrSetBuilder::from_set(context.attr_set_data(params[at]));
                    match builder.has(kind) {
                        true => builder.remove(kind),
                        false => builder.add(Attribute::Enum(kind)),
                    }
                    params[at] = builder.finish(&context);
                    let all = AttrListData::new(list.function, list.ret, &params);
                    header.attributes = context.attr_list(&all);
                }
                _ => {
                    let set = said_otherwise(&context, list.function, rng);
                    header.attributes = context.with_function_attrs(header.attributes, set);
                }
            }
        });
        edited.is_ok()
    }

    /// Changes whether a variable is constant, its linkage, or its address space or alignment.
    fn variable(&self, session: &mut Session, rng: &mut dyn RngCore) -> bool {
        let edited = session.database_mut().edit_shell(self.module.input(), |shell| {
            let mut variables: Vec<_> = shell.variables.iter_mut().collect();
            // Variables that the compiler itself reads stay unchanged.
            variables.retain(|variable| variable.linkage != Linkage::Appending);
            if variables.is_empty() {
                return false;
            }
            let at = rng.random_range(0..variables.len());
            let variable = &mut *variables[at];
            match rng.random_range(0..3) {
                0 => variable.is_constant = !variable.is_constant,
                1 if variable.initializer.is_some() => {
                    variable.linkage = match variable.linkage {
                        Linkage::External => Linkage::Internal,
                        _ => Linkage::External,
                    };
                    variable.visibility = Visibility::Default;
                }
                _ => variable.align = Some(4 << rng.random_range(0..5)),
            }
            true
        });
        edited.unwrap_or(false)
    }

    /// Adds a copy of an existing function.
    fn add(&mut self, session: &mut Session, rng: &mut dyn RngCore) -> bool {
        let functions: Vec<FunctionId> = session.functions(self.module).collect();
        let Some(&function) = functions.choose(rng) else { return false };
        let mut copy = session.code(function).to_function();
        self.added += 1;
        let name = format!("added.{}", self.added);
        copy.header.name = GlobalName::Named(session.context().symbol(name.as_bytes()));
        session.database_mut().add_function(self.module.input(), copy).is_ok()
    }

    /// Removes a function, if nothing refers to it.
    fn remove(&self, session: &mut Session, rng: &mut dyn RngCore) -> bool {
        let staying = [&self.kernel, KEEPS].map(|name| session.function(self.module, name));
        let mut functions = self.functions(session);
        functions.retain(|&function| staying.iter().flatten().all(|f| f.input() != function));
        let Some(&function) = functions.choose(rng) else { return false };
        let module = self.module.input();
        session.database_mut().remove_functions(module, &[function]).is_ok()
    }
}
