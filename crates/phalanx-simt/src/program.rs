//! A module made ready to run.
//!
//! Constants are evaluated once, variables get their addresses, callees are resolved to functions and intrinsics, and each
//! function gets its graph and cycle hierarchy. What cannot be interpreted is an error only when a thread reaches it.

mod callees;

use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{
    BlockId, Const, ConstKind, Context, Function, GlobalName, InstData, InstFlags, InstId, Module,
    Opcode, SyncScope, Type,
    attributes::AttrList,
    constant::ConstExpr,
    inst::{OperandRange, Ordering},
};
use phalanx_target::{Architecture, Target, library::Extension};
use rustc_hash::FxHashMap;

use crate::{
    address::Path,
    built_ins::BuiltIn,
    collective::Collective,
    fault::FaultKind,
    intrinsic::Intrinsic,
    memory::{Apertures, Memory, Region, Segment, encode},
    ops,
    reach::Reach,
    shape::{Shape, Shapes},
    thread::freeze,
    unknown::{Frozen, State, is_followed},
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
    by_name: FxHashMap<GlobalName, usize>,
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
    /// Functions that the driver knows, which are not executed.
    extension: Extension,
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

/// What a call calls.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Callee {
    Function(usize),
    Intrinsic(Intrinsic),
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

/// Constants nest no deeper than this.
const DEPTH: usize = 100;

impl<'m> Program<'m> {
    /// Makes a module ready. O(module).
    ///
    /// # Errors
    /// Variables need too much memory.
    pub fn new(module: &'m Module, target: &Target) -> Result<Program<'m>, FaultKind> {
        Program::with_extension(module, target, Extension::default())
    }

    /// The same, where the driver knows more functions than the table does. A thread that calls one
    /// ends in a fault that names it: what the function computes nobody says.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn with_extension(
        module: &'m Module,
        target: &Target,
        extension: Extension,
    ) -> Result<Program<'m>, FaultKind> {
        let shapes = Shapes::new(module);
        let architecture = target.architecture();
        let bits = match shapes.of(Type::PTR) {
            Shape::Ptr { bits, .. } => *bits,
            _ => 64,
        };
        let mut program = Program {
            module,
            shapes,
            architecture,
            target: target.clone(),
            apertures: Apertures::new(bits, architecture),
            functions: Vec::new(),
            by_name: FxHashMap::default(),
            constants: Vec::new(),
            undef: Some(0),
            addresses: FxHashMap::default(),
            shared: match architecture {
                Architecture::Amdgcn | Architecture::Nvptx => Segment::from_zero(Region::Shared, 0),
                _ => Segment::new(Region::Shared, 0),
            },
            dynamic: 0,
            global_variables: Vec::new(),
            extension,
            built_ins: Vec::new(),
        };
        program.place_variables()?;
        for (number, function) in module.functions.iter().enumerate() {
            program.by_name.insert(function.header.name, number);
            program.addresses.insert(function.header.name, CODE + 16 * number as u64);
        }
        for alias in &module.aliases {
            if let Some(value) = program.constant_of(alias.target, 0).ok().and_then(|v| v.bits()) {
                program.addresses.insert(alias.name, value as u64);
            }
        }
        program.evaluate_constants();
        program.functions = module.functions.iter().map(|f| program.prepare(f)).collect();
        Ok(program)
    }

    /// Chooses the bits of `undef`, which are zero otherwise. Memory has to be made afterwards: variables may start with some.
    pub fn set_undef(&mut self, bits: u128) {
        self.undef = Some(bits);
        self.evaluate_constants();
    }

    /// Follows `undef` and memory that nobody wrote instead of choosing bits, and holds the program
    /// to what it promises by `noundef` and the like: see [`unknown`](crate::unknown). Memory has
    /// to be made afterwards.
    pub fn follow_undef(&mut self) {
        self.undef = None;
        self.evaluate_constants();
    }

    /// Whether `undef` is followed.
    #[must_use]
    pub fn follows_undef(&self) -> bool {
        self.undef.is_none()
    }

    fn evaluate_constants(&mut self) {
        self.constants = (0..self.context().const_count())
            .map(|number| self.constant_of(Const::from_raw(number as u32), 0).ok())
            .collect();
    }

    /// Memory with the variables of the program in it; a launch adds to it. Unwritten bytes depend on the seed.
    ///
    /// # Errors
    /// Variables need too much memory, or an initial value is not interpreted.
    pub fn memory(&self, seed: u64) -> Result<Memory, FaultKind> {
        let mut memory = Memory::new(seed);
        if self.follows_undef() {
            memory.global.follow_undef();
        }
        for &number in &self.global_variables {
            let variable = &self.module.variables[number];
            let size = self.shapes.alloc_size(variable.ty);
            let align = variable.align.unwrap_or(1).max(self.shapes.align(variable.ty));
            let address = memory.global.allocate(size, align)?;
            if let Some(initializer) = variable.initializer {
                let value = self.constant(initializer)?;
                let mut bytes = vec![0; size as usize];
                let mut states = vec![State::Defined; size as usize];
                let stored = self.shapes.store_size(variable.ty) as usize;
                encode(
                    &self.shapes,
                    variable.ty,
                    &value,
                    &mut bytes[..stored],
                    &mut states[..stored],
                )?;
                memory.global.write_raw(address, &bytes, &states)?;
            }
            if variable.is_constant {
                memory.global.make_constant(address);
            }
        }
        Ok(memory)
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

    /// Replaces the cycle hierarchy under which threads of a function converge; it has to be one of its graph.
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

    fn place_variables(&mut self) -> Result<(), FaultKind> {
        let mut global = Segment::new(Region::Global, 0);
        let mut dynamic = Vec::new();
        for (number, variable) in self.module.variables.iter().enumerate() {
            let size = self.shapes.alloc_size(variable.ty);
            let align = variable.align.unwrap_or(1).max(self.shapes.align(variable.ty));
            let address = match Region::of(self.architecture, variable.address_space) {
                Some(Region::Shared) if size == 0 => {
                    dynamic.push(variable.name);
                    continue;
                }
                Some(Region::Shared) => self.shared.allocate(size, align)?,
                // `llvm.used` and the like are no memory.
                _ if variable.linkage == phalanx_ir::module::Linkage::Appending => continue,
                Some(_) => {
                    self.global_variables.push(number);
                    let address = global.allocate(size, align)?;
                    if self.architecture == Architecture::Spirv {
                        self.built_ins.extend(BuiltIn::new(self.module, number, address));
                    }
                    address
                }
                None => continue,
            };
            self.addresses.insert(variable.name, address);
        }
        self.dynamic = self.shared.clone().allocate(0, 16)?;
        for name in dynamic {
            self.addresses.insert(name, self.dynamic);
        }
        Ok(())
    }

    fn constant_of(&self, constant: Const, depth: usize) -> Result<Value, FaultKind> {
        if depth > DEPTH {
            return Err(FaultKind::unsupported("constants that nest so deep"));
        }
        let data = self.context().const_data(constant);
        let each = |elements: &[Const]| -> Result<Value, FaultKind> {
            let values = elements.iter().map(|&e| self.constant_of(e, depth + 1));
            Ok(Value::Many(values.collect::<Result<_, _>>()?))
        };
        Ok(match &data.kind {
            ConstKind::Int(int) => match *int.words() {
                [low] => Value::Bits(low.into()),
                [low, high] => Value::Bits(u128::from(high) << 64 | u128::from(low)),
                _ => return Err(FaultKind::unsupported("integers of more than 128 bits")),
            },
            ConstKind::Float(bits) => Value::Bits(*bits),
            ConstKind::Null => Value::Bits(0),
            ConstKind::NoneToken => Value::Unit,
            ConstKind::Zero => self.zero(data.ty, depth)?,
            ConstKind::Undef => match self.undef {
                Some(bits) => {
                    freeze(self, Frozen::Bits(bits), data.ty, &self.poison(data.ty, depth)?)?
                }
                None => self.uniform(data.ty, &Value::Undef, depth)?,
            },
            ConstKind::Poison => self.poison(data.ty, depth)?,
            ConstKind::Aggregate(elements) => each(elements)?,
            ConstKind::Bytes(bytes) => {
                Value::Many(bytes.iter().map(|&byte| Value::Bits(byte.into())).collect())
            }
            ConstKind::Splat(element) => {
                let element = self.constant_of(*element, depth + 1)?;
                match *self.shapes.of(data.ty) {
                    Shape::Vector { len, .. } => Value::Many(vec![element; len as usize].into()),
                    _ => return Err(FaultKind::unsupported("scalable vectors")),
                }
            }
            ConstKind::Global(name)
            | ConstKind::DsoLocalEquivalent(name)
            | ConstKind::NoCfi(name) => match self.addresses.get(name) {
                Some(&address) => Value::Bits(address.into()),
                None => return Err(FaultKind::unsupported("the address of this global")),
            },
            ConstKind::Expr(expr) => self.expression(expr, data.ty, depth)?,
            ConstKind::BlockAddress { slot } => {
                Value::Bits((BLOCKS + 16 * u64::from(*slot)).into())
            }
            ConstKind::PtrAuth(_) | ConstKind::InlineAsm(_) => {
                return Err(FaultKind::unsupported("a constant of this kind"));
            }
        })
    }

    fn zero(&self, ty: Type, depth: usize) -> Result<Value, FaultKind> {
        self.uniform(ty, &Value::Bits(0), depth)
    }

    /// Poison of a type, lane by lane.
    fn poison(&self, ty: Type, depth: usize) -> Result<Value, FaultKind> {
        self.uniform(ty, &Value::Poison, depth)
    }

    fn uniform(&self, ty: Type, scalar: &Value, depth: usize) -> Result<Value, FaultKind> {
        if depth > DEPTH {
            return Err(FaultKind::unsupported("constants that nest so deep"));
        }
        Ok(match self.shapes.of(ty) {
            &Shape::Vector { elem, len } => {
                Value::Many(vec![self.uniform(elem, scalar, depth + 1)?; len as usize].into())
            }
            &Shape::Array { elem, len, .. } if len <= 1 << 24 => {
                Value::Many(vec![self.uniform(elem, scalar, depth + 1)?; len as usize].into())
            }
            Shape::Array { .. } => return Err(FaultKind::unsupported("an array so long")),
            Shape::Struct(members) => {
                let members = members.iter().map(|&(ty, _)| self.uniform(ty, scalar, depth + 1));
                Value::Many(members.collect::<Result<_, _>>()?)
            }
            _ => scalar.clone(),
        })
    }

    fn expression(&self, expr: &ConstExpr, ty: Type, depth: usize) -> Result<Value, FaultKind> {
        let operands: Vec<Value> = expr
            .operands
            .iter()
            .map(|&operand| self.constant_of(operand, depth + 1))
            .collect::<Result<_, _>>()?;
        let type_of = |i: usize| self.context().const_data(expr.operands[i]).ty;
        let data = InstData {
            opcode: expr.opcode,
            sub: 0,
            flags: InstFlags::NONE,
            ty,
            operands: OperandRange::default(),
            words: [0; 2],
        };
        match (expr.opcode, operands.as_slice()) {
            (Opcode::GetElementPtr, [base, indices @ ..]) => {
                let types: Vec<Type> = (1..operands.len()).map(type_of).collect();
                let path = Path::plain(expr.source_type.unwrap_or(Type::I8));
                self.address(&path, base, type_of(0), indices.iter().zip(types))
            }
            (opcode, [operand]) if opcode.is_cast() => self.cast(&data, type_of(0), operand),
            (opcode, [a, b]) if opcode.is_binary() => ops::binary(&self.shapes, &data, a, b),
            _ => Err(FaultKind::unsupported("a constant expression of this kind")),
        }
    }

    /// A conversion, addresses included.
    pub(crate) fn cast(&self, data: &InstData, from: Type, a: &Value) -> Result<Value, FaultKind> {
        let shapes = &self.shapes;
        match data.opcode {
            Opcode::BitCast => ops::bitcast(shapes, from, data.ty, a),
            Opcode::PtrToInt | Opcode::IntToPtr | Opcode::PtrToAddr => {
                let bits = ops::int_bits(shapes, data.ty)?;
                ops::lanes1(a, |a| Ok(Value::Bits(a & crate::value::mask(bits))))
            }
            Opcode::AddrSpaceCast => {
                let (from, to) = (self.region(from)?, self.region(data.ty)?);
                let result = ops::lanes1(a, |a| Ok(self.convert_address(a as u64, from, to)))?;
                // It may lead elsewhere.
                Ok(if is_followed(&result) { ops::poisoned(result) } else { result })
            }
            _ => ops::convert(shapes, data, from, a),
        }
    }

    /// An address in another space; poison where it leads elsewhere.
    fn convert_address(&self, address: u64, from: Region, to: Region) -> Value {
        if from == to {
            return Value::Bits(address.into());
        }
        let generic = self.apertures.generic(from, address);
        if to == Region::Generic {
            return Value::Bits(generic.into());
        }
        if generic == 0 {
            return Value::Bits(self.apertures.null(to).into());
        }
        let (region, offset) = self.apertures.resolve(generic);
        if region == to { Value::Bits(offset.into()) } else { Value::Poison }
    }

    /// The memory that pointers of a type (or lanes of it) lead to.
    pub(crate) fn region(&self, ty: Type) -> Result<Region, FaultKind> {
        match *self.shapes.of(ops::lane(&self.shapes, ty)) {
            Shape::Ptr { space, .. } => Region::of(self.architecture, space)
                .ok_or_else(|| FaultKind::unsupported(format!("address space {space}"))),
            _ => Err(FaultKind::unsupported("an address of this type")),
        }
    }

    fn prepare(&self, function: &'m Function) -> Code<'m> {
        let cfg = function.flow.cfg();
        let cycles = cfg.as_ref().map(Cycles::new);
        let mut callees = FxHashMap::default();
        let mut given = FxHashMap::default();
        let mut is_controlled = false;
        let processor = self.context().function_attr_text(function.header.attributes, "target-cpu");
        let processor = processor.and_then(|name| std::str::from_utf8(name).ok());
        let permuted = self.target.permuted_lanes(processor.unwrap_or_default());
        for &block in function.flow.order() {
            for inst in function.body.block_insts(block) {
                if function.body.inst(inst).opcode.is_call() {
                    let mut callee = self.callee(function, inst);
                    let formed = self.assembly(function, inst);
                    let formed = formed.or_else(|| self.spirv(function, inst));
                    if let Some((known, arguments)) = formed {
                        callee = Callee::Intrinsic(known);
                        given.insert(inst, arguments);
                    }
                    if let Callee::Intrinsic(Intrinsic::Collective(Collective::Pull { lanes })) =
                        &mut callee
                    {
                        *lanes = permuted.unwrap_or(*lanes);
                    }
                    is_controlled |= matches!(callee, Callee::Intrinsic(i) if i.is_token());
                    callees.insert(inst, callee);
                }
            }
        }
        Code { function, cfg, cycles, callees, given, is_controlled }
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
