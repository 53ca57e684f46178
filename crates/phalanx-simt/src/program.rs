//! A module made ready to run.
//!
//! Constants are evaluated once, variables get their addresses, callees are resolved to functions
//! and intrinsics, and each function gets its graph and cycle hierarchy. What cannot be interpreted
//! is an error only when a thread reaches it.

mod build;
mod callees;
mod constants;

use std::sync::Arc;

use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{
    BlockId, Const, Context, Function, GlobalName, InstData, InstId, Module, Opcode, SyncScope,
    Type, attributes::AttrList, inst::Ordering,
};
use phalanx_target::{
    Architecture, Target,
    library::{Extension, built_in_variable},
};
use rustc_hash::FxHashMap;

use crate::{
    fault::FaultKind,
    functions::Functions,
    intrinsic::{Intrinsic, Place},
    memory::{Apertures, Region, Segment},
    ops,
    reach::Reach,
    shape::{Shape, Shapes},
    value::Value,
};

/// A module made ready to run.
pub struct Program<'m> {
    pub(crate) module: &'m Module,
    pub(crate) shapes: Shapes,
    pub(crate) architecture: Architecture,
    target: Target,
    pub(crate) apertures: Apertures,
    pub(crate) functions: Vec<Code<'m>>,
    pub(crate) by_name: FxHashMap<GlobalName, usize>,
    constants: Vec<Option<Value>>,
    /// Bits of `undef`: any will do. None where it is followed.
    undef: Option<u128>,
    /// Addresses of variables, generic for functions.
    addresses: FxHashMap<GlobalName, u64>,
    /// Variables in workgroup memory.
    pub(crate) shared: Segment,
    /// Where workgroup memory goes that a launch sizes.
    dynamic: u64,
    global_variables: Vec<usize>,
    /// Functions that the driver knows.
    extension: Extension,
    /// Who executes them.
    pub(crate) driver: Option<Arc<dyn Functions>>,
    /// Those of these that tell a thread where it is.
    built_ins: Vec<BuiltIn>,
}

/// A function made ready to run.
pub(crate) struct Code<'m> {
    pub(crate) function: &'m Function,
    pub(crate) cfg: Option<Cfg>,
    pub(crate) cycles: Option<Cycles>,
    /// By instruction number.
    pub(crate) callees: FxHashMap<InstId, Callee>,
    /// What an intrinsic is given, where that is not what its call is given.
    pub(crate) given: FxHashMap<InstId, Vec<Given>>,
    /// Convergence control tokens are used.
    pub(crate) is_controlled: bool,
}

/// An argument of an intrinsic that is not called by its name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// An argument of the call, by position.
    Argument(usize),
    /// A number of 32 bits in the text of inline assembly.
    Number(u32),
}

/// A variable that tells a thread where it is: its address, its type, and what it says.
#[derive(Copy, Clone, Debug)]
pub(crate) struct BuiltIn {
    pub(crate) address: u64,
    pub(crate) ty: Type,
    pub(crate) what: Place,
}

impl BuiltIn {
    /// The variable of a module by number, if it is one.
    pub(crate) fn new(module: &Module, number: usize, address: u64) -> Option<BuiltIn> {
        let variable = &module.variables[number];
        let name = module.context.bytes(variable.name.symbol()?);
        match Intrinsic::of_library(built_in_variable(name)?.base, "")? {
            Intrinsic::Place(what) => Some(BuiltIn { address, ty: variable.ty, what }),
            _ => None,
        }
    }
}

/// What a call calls.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Callee {
    Function(usize),
    Intrinsic(Intrinsic),
    /// The function of this number, which the driver executes.
    Driver(u32),
    /// Empty inline assembly: nothing happens.
    Nothing,
    Indirect,
    Unknown,
}

/// Addresses of functions start here, so that they are in no memory.
const CODE: u64 = 0x7f00_0000_0000;

/// Addresses of blocks start here, by their entry in the module's table.
const BLOCKS: u64 = 0x7e00_0000_0000;

/// Whether this is the address of a function or block.
pub(crate) fn is_code(address: u64) -> bool {
    (BLOCKS..CODE + (CODE - BLOCKS)).contains(&address)
}

impl<'m> Program<'m> {
    /// Whether `undef` is followed.
    #[must_use]
    pub fn follows_undef(&self) -> bool {
        self.undef.is_none()
    }

    /// The address and size in bytes of a variable in global memory.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let context = &*self.module.context;
        let found = self.global_variables.iter().map(|&number| &self.module.variables[number]);
        let is_it = |n: GlobalName| n.symbol().is_some_and(|s| context.bytes(s) == name.as_bytes());
        let variable = found.into_iter().find(|v| is_it(v.name))?;
        Some((self.addresses[&variable.name], self.shapes.store_size(variable.ty)))
    }

    /// Variables that all threads share and that a kernel may write, or those of a workgroup:
    /// region, address, size in bytes, name.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Region, u64, u64, String)> + '_ {
        self.module.variables.iter().filter_map(|variable| {
            let region = Region::of(self.architecture, variable.address_space)?;
            // Without a target there is one memory, and variables are in the global part of it.
            let region = if region == Region::Generic { Region::Global } else { region };
            let address = *self.addresses.get(&variable.name)?;
            if self.built_ins.iter().any(|of_thread| of_thread.address == address) {
                return None;
            }
            let size = self.shapes.alloc_size(variable.ty);
            let name = self.context().text(variable.name.symbol()?).into_owned();
            (size > 0).then_some((region, address, size, name))
        })
    }

    /// Variables that tell a thread where it is.
    pub(crate) fn built_ins(&self) -> &[BuiltIn] {
        &self.built_ins
    }

    /// Sizes and offsets of the types of the module.
    #[must_use]
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The number of a function, by name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<usize> {
        let symbol = self.module.context.find_symbol(name.as_bytes())?;
        self.by_name.get(&GlobalName::Named(symbol)).copied()
    }

    /// The number of a function that is called so.
    pub(crate) fn number_of(&self, name: GlobalName) -> Option<usize> {
        self.by_name.get(&name).copied()
    }

    /// A function by number.
    #[must_use]
    pub fn code(&self, number: usize) -> &'m Function {
        self.functions[number].function
    }

    /// The graph and cycle hierarchy of a function that has a body.
    #[must_use]
    pub fn graph(&self, number: usize) -> Option<(&Cfg, &Cycles)> {
        let code = self.functions.get(number)?;
        Some((code.cfg.as_ref()?, code.cycles.as_ref()?))
    }

    /// Replaces the cycle hierarchy under which threads of a function converge; it has to be one of
    /// its graph.
    pub fn set_hierarchy(&mut self, number: usize, cycles: Cycles) {
        self.functions[number].cycles = Some(cycles);
    }

    pub(crate) fn context(&self) -> &'m Context {
        &self.module.context
    }

    /// The variable of workgroup memory that has an address, and how far in it that is. None for
    /// what a launch sizes.
    #[must_use]
    pub fn workgroup_variable(&self, address: u64) -> Option<(GlobalName, u64)> {
        let shared = self.module.variables.iter().filter(|variable| {
            Region::of(self.architecture, variable.address_space) == Some(Region::Shared)
        });
        shared.into_iter().find_map(|variable| {
            let offset = address.checked_sub(*self.addresses.get(&variable.name)?)?;
            (offset < self.shapes.alloc_size(variable.ty)).then_some((variable.name, offset))
        })
    }

    /// Workgroup memory for a launch that asks for so many bytes beyond the variables.
    pub(crate) fn workgroup_memory(&self, dynamic: u64) -> Result<Segment, FaultKind> {
        let mut shared = self.shared.clone();
        if self.follows_undef() {
            shared.follow_undef();
        }
        let at = shared.allocate(dynamic, 16)?;
        debug_assert_eq!(at, self.dynamic);
        Ok(shared)
    }

    /// The value of a constant.
    pub(crate) fn constant(&self, constant: Const) -> Result<Value, FaultKind> {
        match self.constants.get(constant.raw() as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => self.constant_of(constant, 0),
        }
    }

    pub(crate) fn function_at(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(CODE)?;
        let number = (offset / 16) as usize;
        (offset % 16 == 0 && number < self.functions.len()).then_some(number)
    }

    /// The block of a function that has this address.
    pub(crate) fn block_at(&self, function: &Function, address: u64) -> Option<BlockId> {
        let offset = address.checked_sub(BLOCKS).filter(|offset| offset % 16 == 0)?;
        let taken = self.module.block_addresses.get(usize::try_from(offset / 16).ok()?)?;
        (taken.function == function.header.name).then_some(taken.block)
    }

    /// The memory that pointers of a type (or lanes of it) lead to.
    pub(crate) fn region(&self, ty: Type) -> Result<Region, FaultKind> {
        match *self.shapes.of(ops::lane(&self.shapes, ty)) {
            Shape::Ptr { space, .. } => Region::of(self.architecture, space)
                .ok_or_else(|| FaultKind::unsupported(format!("address space {space}"))),
            _ => Err(FaultKind::unsupported("an address of this type")),
        }
    }

    /// How far an atomic access or a fence with this scope reaches.
    pub(crate) fn reach(&self, scope: SyncScope) -> Reach {
        Reach::of_scope(self.context().bytes(scope.0), self.architecture)
    }

    /// Whether an atomic access or a fence reaches less than all of a launch.
    #[must_use]
    pub fn has_narrow_scopes(&self) -> bool {
        let is_narrow = |data: &InstData| match data.opcode {
            Opcode::Fence | Opcode::AtomicRmw | Opcode::CmpXchg => true,
            Opcode::Load | Opcode::Store => data.mem().ordering() != Ordering::NotAtomic,
            _ => false,
        };
        self.module.functions.iter().zip(&self.functions).any(|(function, code)| {
            let body = &function.body;
            let insts = function.flow.order().iter().flat_map(|&block| body.block_insts(block));
            insts
                .map(|inst| body.inst(inst))
                .any(|data| is_narrow(data) && self.reach(data.mem().scope()) != Reach::Device)
                || code.callees.values().any(|callee| match callee {
                    Callee::Intrinsic(Intrinsic::Fence(reach)) => *reach != Reach::Device,
                    Callee::Intrinsic(Intrinsic::Access(access)) => access.is_scoped(),
                    _ => false,
                })
        })
    }

    pub(crate) fn param_attributes(
        &self,
        list: AttrList,
        position: usize,
    ) -> &phalanx_ir::attributes::AttrSetData {
        self.context().param_attrs(list, position)
    }
}
