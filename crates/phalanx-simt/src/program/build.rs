//! Prepares a module for execution: places variables, numbers functions, builds graphs, resolves
//! callees.
//!
//! O(module).

use phalanx_graph::Cycles;
use phalanx_ir::{Function, Module, Type};
use phalanx_target::{Architecture, Target, library::Extension};
use rustc_hash::FxHashMap;

use crate::{
    collective::Collective,
    fault::FaultKind,
    intrinsic::Intrinsic,
    memory::{Apertures, Memory, Region, Segment, encode},
    shape::{Shape, Shapes},
    unknown::State,
};

use super::{BuiltIn, CODE, Callee, Program, ReadyFunction};

impl<'m> Program<'m> {
    /// Prepares a module for execution. O(module).
    ///
    /// # Errors
    /// Variables need too much memory.
    pub fn new(module: &'m Module, target: &Target) -> Result<Program<'m>, FaultKind> {
        Program::with_extension(module, target, Extension::default())
    }

    /// The same for a driver that describes more functions than the table. Barriers among them are
    /// executed; a thread that calls another one ends in a fault that names it, unless the driver
    /// [executes it](Program::with_functions).
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
            driver: None,
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
        program.read_callees();
        Ok(program)
    }

    /// Resolves the callees of calls.
    pub(crate) fn read_callees(&mut self) {
        self.functions = self.module.functions.iter().map(|f| self.prepare(f)).collect();
    }

    /// Memory with the variables of the program in it; a launch adds to it. Unwritten bytes depend
    /// on the seed.
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

    pub(super) fn place_variables(&mut self) -> Result<(), FaultKind> {
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
                // `llvm.used` and the like have no memory.
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

    pub(super) fn prepare(&self, function: &'m Function) -> ReadyFunction<'m> {
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
        ReadyFunction { function, cfg, cycles, callees, given, is_controlled }
    }
}
