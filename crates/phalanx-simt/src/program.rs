//! A module that is ready to be executed.
//!
//! Constants are evaluated once, variables get addresses, callees are resolved to functions and
//! intrinsics, and each function gets its graph and cycle hierarchy. Code that cannot be
//! interpreted is an error only when a thread reaches it.

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
    intrinsic::{Coordinate, Intrinsic},
    memory::{Apertures, Region, Segment},
    ops,
    reach::Reach,
    shape::{Shape, Shapes},
    value::Value,
};

/// A module that is ready to be executed.
pub struct Program<'m> {
    pub(crate) module: &'m Module,
    pub(crate) shapes: Shapes,
    pub(crate) architecture: Architecture,
    target: Target,
    pub(crate) apertures: Apertures,
    pub(crate) functions: Vec<ReadyFunction<'m>>,
    pub(crate) by_name: FxHashMap<GlobalName, usize>,
    constants: Vec<Option<Value>>,
    /// The bits of `undef`: any choice is valid. None if the program follows `undef`.
    undef: Option<u128>,
    /// Addresses of variables (specific to their space) and functions.
    addresses: FxHashMap<GlobalName, u64>,
    /// Variables in workgroup memory.
    pub(crate) shared: Segment,
    /// Start of the workgroup memory whose size a launch states.
    dynamic: u64,
    global_variables: Vec<usize>,
    /// Functions that the driver describes.
    extension: Extension,
    /// Executes these functions.
    pub(crate) driver: Option<Arc<dyn Functions>>,
    /// Variables that hold the position of a thread.
    built_ins: Vec<BuiltIn>,
}

/// A function that is ready to be executed.
pub(crate) struct ReadyFunction<'m> {
    pub(crate) function: &'m Function,
    pub(crate) cfg: Option<Cfg>,
    pub(crate) cycles: Option<Cycles>,
    /// By instruction number.
    pub(crate) callees: FxHashMap<InstId, Callee>,
    /// The operands of an intrinsic, if they differ from those of its call.
    pub(crate) given: FxHashMap<InstId, Vec<Given>>,
    /// Whether convergence control tokens are used.
    pub(crate) is_controlled: bool,
}

/// An operand of an intrinsic that is not called by its name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// An argument of the call, by position.
    Argument(usize),
    /// A number of 32 bits in the text of inline assembly.
    Number(u32),
}

/// A variable that holds the position of a thread: its address, type and meaning.
#[derive(Copy, Clone, Debug)]
pub(crate) struct BuiltIn {
    pub(crate) address: u64,
    pub(crate) ty: Type,
    pub(crate) what: Coordinate,
}

impl BuiltIn {
    /// The variable of a module by number, if it is one.
    pub(crate) fn new(module: &Module, number: usize, address: u64) -> Option<BuiltIn> {
        let variable = &module.variables[number];
        let name = module.context.bytes(variable.name.symbol()?);
        match Intrinsic::of_library(built_in_variable(name)?.base, "")? {
            Intrinsic::Coordinate(what) => Some(BuiltIn { address, ty: variable.ty, what }),
            _ => None,
        }
    }
}

/// The callee of a call.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Callee {
    Function(usize),
    Intrinsic(Intrinsic),
    /// The function with this number, which the driver executes.
    Driver(u32),
    /// Empty inline assembly: no effect.
    Nothing,
    Indirect,
    Unknown,
}

/// Addresses of functions start here, outside of all memory.
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

    /// Variables that a kernel may write and that all threads, or those of a workgroup, share:
    /// region, address, size in bytes, name.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Region, u64, u64, String)> + '_ {
        self.module.variables.iter().filter_map(|variable| {
            let region = Region::of(self.architecture, variable.address_space)?;
            // Without a target there is only one memory; variables are in its global part.
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

    /// The number of the function with this name.
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

    /// Replaces the cycle hierarchy that determines convergence in a function; it must be a
    /// hierarchy of its graph.
    pub fn set_hierarchy(&mut self, number: usize, cycles: Cycles) {
        self.functions[number].cycles = Some(cycles);
    }

    pub(crate) fn context(&self) -> &'m Context {
        &self.module.context
    }

    /// The variable of workgroup memory at an address, and the offset in it. None for memory whose
    /// size a launch states.
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

    /// Workgroup memory for a launch that requests this many bytes beyond the variables.
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

    /// The region that pointers of a type (or lanes of it) refer to.
    pub(crate) fn region(&self, ty: Type) -> Result<Region, FaultKind> {
        match *self.shapes.of(ops::lane(&self.shapes, ty)) {
            Shape::Ptr { space, .. } => Region::of(self.architecture, space)
                .ok_or_else(|| FaultKind::unsupported(format!("address space {space}"))),
            _ => Err(FaultKind::unsupported("an address of this type")),
        }
    }

    /// The reach of an atomic access or a fence with this scope.
    pub(crate) fn reach(&self, scope: SyncScope) -> Reach {
        Reach::of_scope(self.context().bytes(scope.0), self.architecture)
    }

    /// Whether any atomic access or fence reaches less than the whole launch.
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
