//! `mark-loads`: tells backends which loads may use a cheaper instruction.
//!
//! | target | load ([`load_classes`](queries::load_classes)) | mark | the backend then selects |
//! |---|---|---|---|
//! | NVPTX | non-coherent | `!invariant.load` | `ld.global.nc` |
//! | NVPTX, `mark-loads<ldu>` | LDU | a call of `llvm.nvvm.ldu.global.{i,f,p}` in its place | `ldu.global` |
//! | AMDGPU | scalar, of global memory | `!amdgpu.noclobber`, and `!amdgpu.uniform` on its address | `s_load` |
//! | AMDGPU | scalar, of constant memory | `!amdgpu.uniform` on its address | `s_load` |
//!
//! An address gets the mark if it is equal for the whole wave at all loads of it, under all
//! reconvergence models that the pass works for (`machines`, as in
//! [`annotate_uniform`](crate::annotate_uniform)).
//!
//! LDU is for old devices only, and is opt-in.
//!
//! # Existing marks
//!
//! A load that is marked here gets `!phalanx.invariant.load` or `!phalanx.noclobber` as well, to
//! say that its mark is a conclusion rather than a promise. The pass proves such marks anew each
//! time it runs, and removes those that no longer hold. Marks without this attachment are promises
//! of the front end, and stay. A mark describes the code as it is now: run the pass last, or again.
//! Loads that became `ldu` stay calls.
//!
//! Cost: that of the query; one transaction.

use phalanx_analysis::loads::{Load, LoadClass};
use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    Context, Function, FunctionHeader, GlobalName, InstId, Opcode, Type, TypeKind,
    builder::{Callee, InstBuilder},
    constant::ConstKind,
    metadata::kind,
};
use phalanx_target::{AddressSpace, Architecture, address_space::SpaceKind};
use rustc_hash::FxHashSet;

use crate::annotate_uniform::{UNIFORM, empty_node, uniform_addresses};
use crate::code::Code;
use crate::pass::{Outcome, Parameters, Pass, PassError, machines};

const INVARIANT: &str = "invariant.load";
const NO_CLOBBER: &str = "amdgpu.noclobber";
/// Attached beside an `!amdgpu.noclobber` that this pass has added.
const OUR_NO_CLOBBER: &str = "phalanx.noclobber";

/// The mark that an attachment of ours belongs to.
pub(crate) fn mark_of(ours: &str) -> Option<&'static str> {
    match ours {
        queries::OUR_INVARIANT => Some(INVARIANT),
        OUR_NO_CLOBBER => Some(NO_CLOBBER),
        _ => None,
    }
}

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct MarkLoads {
    /// Whether to turn loads into `ldu` where possible.
    pub ldu: bool,
    /// The reconvergence models under which uniform addresses, and `ldu`, have to be right.
    pub machines: Machines,
}

impl MarkLoads {
    /// From `<ldu;machines=..>`.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<MarkLoads, String> {
        let mut pass = MarkLoads::default();
        for (key, value) in parameters.iter() {
            match (key, value) {
                ("ldu", None) => pass.ldu = true,
                ("machines", Some(name)) => pass.machines = machines("mark-loads", name)?,
                _ => return Err(format!("mark-loads has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }
}

/// The planned changes of a function.
#[derive(Default)]
struct Plan {
    /// Attachments to add.
    add: Vec<(InstId, &'static str)>,
    /// Attachments to remove.
    remove: Vec<(InstId, &'static str)>,
    /// Loads that become calls, with the intrinsic to call and the known alignment.
    replace: Vec<(InstId, String, u64)>,
}

impl Pass for MarkLoads {
    fn name(&self) -> &str {
        "mark-loads"
    }

    fn runs_on_optnone(&self) -> bool {
        true
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(plan) = self.plan(db, function) else { return Ok(Outcome::Unchanged) };
        if plan.add.is_empty() && plan.remove.is_empty() && plan.replace.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        let node = match plan.add.is_empty() {
            true => None,
            false => {
                let kinds =
                    [INVARIANT, NO_CLOBBER, UNIFORM, queries::OUR_INVARIANT, OUR_NO_CLOBBER];
                Some(empty_node(db, function, &kinds)?)
            }
        };
        for (load, name, _) in &plan.replace {
            declare(db, function, *load, name)?;
        }
        db.edit(function, |edit| {
            for &(inst, kind) in &plan.remove {
                edit.attach(inst, kind, None)?;
            }
            for &(inst, kind) in &plan.add {
                edit.attach(inst, kind, node)?;
            }
            for (load, name, align) in &plan.replace {
                let address = edit.body().operands(*load)[0];
                let ty = edit.body().inst(*load).ty;
                let context = edit.context();
                let align = context.int_const(Type::I32, *align);
                let in_global = context.ptr_type(GLOBAL);
                let generic = edit.type_of(address);
                let header = header(context, name, ty);
                let callee = Callee::indirect(
                    context.constant(context.ptr_type(0), ConstKind::Global(header.name)).into(),
                    header.ty,
                );
                let mut at = edit.before(*load);
                let address = match generic == Some(in_global) {
                    true => address,
                    false => at.cast(Opcode::AddrSpaceCast, address, in_global)?,
                };
                let call = at.call(callee, &[address, align.into()])?;
                edit.replace(*load, call)?;
            }
            Ok::<_, PassError>(())
        })?;
        Ok(Outcome::Changed)
    }
}

/// The address space of global memory.
const GLOBAL: u32 = 1;

impl MarkLoads {
    fn plan(&self, db: &Database, function: FunctionInput) -> Option<Plan> {
        let architecture = queries::target(db, function.module(db)).architecture();
        let classes = queries::load_classes(db, function).as_ref()?;
        let code = Code::of(db, function);
        let mut plan = Plan::default();
        let uniform = match architecture {
            Architecture::Amdgcn => uniform_addresses(db, function, self.machines),
            _ => FxHashSet::default(),
        };
        let takes_ldu = self.ldu && queries::facts_hold(db, function, self.machines);
        for load in classes.loads() {
            match architecture {
                Architecture::Nvptx if takes_ldu && load.is(LoadClass::Ldu) => {
                    let ty = code.body.inst(load.inst).ty;
                    if let Some(name) = ldu(code.context, ty) {
                        plan.replace.push((load.inst, name, align(db, function, load.inst)));
                        continue;
                    }
                    plan.mark(code, load, INVARIANT, load.is(LoadClass::NonCoherent));
                }
                Architecture::Nvptx => {
                    plan.mark(code, load, INVARIANT, load.is(LoadClass::NonCoherent));
                }
                Architecture::Amdgcn => {
                    let address = code.body.operands(load.inst)[0];
                    let space = code.context.type_kind(code.type_of(address)).address_space();
                    let kind = AddressSpace::of(architecture, space.unwrap_or(0)).kind();
                    let is_scalar = load.is(LoadClass::Scalar);
                    plan.mark(code, load, NO_CLOBBER, is_scalar && kind != SpaceKind::Constant);
                    let is_uniform = |address: &InstId| uniform.contains(address);
                    if let Some(address) =
                        address.as_inst().filter(|_| is_scalar).filter(is_uniform)
                    {
                        let uniform = code.context.find_symbol(UNIFORM.as_bytes());
                        let mut attached = code.extras.attachments_of(address);
                        let new = (address, UNIFORM);
                        if !attached.any(|a| Some(a.kind) == uniform) && !plan.add.contains(&new) {
                            plan.add.push(new);
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(plan)
    }
}

impl Plan {
    /// Adds or removes a mark, if the load does not have it as wanted.
    fn mark(&mut self, code: Code<'_>, load: &Load, mark: &'static str, wanted: bool) {
        let has = |name: &str| {
            let kind = match name {
                INVARIANT => Some(kind::INVARIANT_LOAD),
                _ => code.context.find_symbol(name.as_bytes()),
            };
            kind.is_some_and(|kind| code.extras.attachments_of(load.inst).any(|a| a.kind == kind))
        };
        let ours = if mark == INVARIANT { queries::OUR_INVARIANT } else { OUR_NO_CLOBBER };
        let marks = [mark, ours].map(|mark| (load.inst, mark));
        match (wanted, has(mark), has(ours)) {
            (true, false, _) => self.add.extend(marks),
            (false, true, true) => self.remove.extend(marks),
            _ => {}
        }
    }
}

/// The known alignment of a load.
fn align(db: &Database, function: FunctionInput, load: InstId) -> u64 {
    let module = function.module(db);
    let data = function.body(db).inst(load);
    let layout = queries::type_layout(db, module);
    let natural = || layout.data_layout().abi_align(module.context(db), &**layout, data.ty);
    data.mem().align().or_else(natural).unwrap_or(1)
}

/// The `ldu` intrinsic for a type, if there is one.
fn ldu(context: &Context, ty: Type) -> Option<String> {
    let (element, count) = match *context.type_kind(ty) {
        TypeKind::Vector { elem, len, .. } => (elem, format!("v{len}")),
        _ => (ty, String::new()),
    };
    let (class, text) = match *context.type_kind(element) {
        TypeKind::Int(bits) => ("i", format!("i{bits}")),
        TypeKind::Half => ("f", "f16".to_owned()),
        TypeKind::Float => ("f", "f32".to_owned()),
        TypeKind::Double => ("f", "f64".to_owned()),
        TypeKind::Ptr(space) => ("p", format!("p{space}")),
        _ => return None,
    };
    Some(format!("llvm.nvvm.ldu.global.{class}.{count}{text}.p{GLOBAL}"))
}

fn header(context: &Context, name: &str, ty: Type) -> FunctionHeader {
    let name = GlobalName::Named(context.symbol(name.as_bytes()));
    FunctionHeader::new(context, name, ty, &[context.ptr_type(GLOBAL), Type::I32], false)
}

/// Declares an intrinsic, unless the module does.
fn declare(
    db: &mut Database,
    function: FunctionInput,
    load: InstId,
    name: &str,
) -> Result<(), PassError> {
    let module = function.module(db);
    let ty = function.body(db).inst(load).ty;
    let header = header(module.context(db), name, ty);
    if queries::symbols(db, module).contains_key(&header.name) {
        return Ok(());
    }
    let added = db.add_function(module, Function::new(header));
    added.map(|_| ()).map_err(|error| PassError::Other(error.to_string()))
}
