//! Along which dimensions of the workgroup the workgroup memory of a kernel is indexed.
//!
//! If a kernel reads the thread's index along y, but no address of workgroup memory depends on it,
//! y counts rows of the grid: workgroups have one row. With more rows, each element would be
//! written once for each. In the same way x may count columns of the grid.
//!
//! ```text
//! row = blockIdx.y * blockDim.y + threadIdx.y;
//! tile[threadIdx.x] = in[row * n + threadIdx.x];          along x alone
//! if (threadIdx.y == 0) total = 0;                        along y too: the kernel has several rows
//! ```
//!
//! O(instructions).

use phalanx_ir::{InstId, Opcode, Value};
use phalanx_target::{AddressSpace, SpaceKind};
use rustc_hash::FxHashSet;

use super::program::{Called, Function, Functions, Register, variables_in};
use crate::code::value_type;

/// A value of a function of the program, by number.
type Place = (usize, Value);

/// The dimensions on which an address of workgroup memory depends, or a comparison of the thread's
/// index alone. Values are followed to the arguments of called functions, and there to all calls.
/// All dimensions that are read count if a value comes from memory that is not constant.
pub(super) fn of_workgroup_memory(functions: &Functions<'_>) -> [bool; 3] {
    let mut axes = [false; 3];
    let mut work: Vec<Place> = Vec::new();
    for (number, function) in functions.all.iter().enumerate() {
        for inst in insts(function) {
            let code = function.unit.code;
            let operands = code.body.operands(inst);
            let addresses: &[usize] = match code.body.inst(inst).opcode {
                Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => &[0],
                Opcode::Store => &[1],
                Opcode::Call if matches!(function.called(inst), Called::Copy { .. }) => &[0, 1],
                Opcode::ICmp => {
                    let compared = operands.iter().filter_map(|&value| own_index(function, value));
                    compared.for_each(|axis| axes[axis] = true);
                    &[]
                }
                _ => &[],
            };
            let addresses = addresses.iter().filter_map(|&at| operands.get(at).copied());
            let of_workgroup =
                addresses.filter(|&address| may_be_workgroup(functions, number, address));
            work.extend(of_workgroup.map(|address| (number, address)));
        }
    }
    let mut seen: FxHashSet<Place> = work.iter().copied().collect();
    let mut reads_memory = false;
    while let Some((number, value)) = work.pop() {
        let function = &functions.all[number];
        let mut next: Vec<Place> = Vec::new();
        if let Some(position) = value.as_arg().filter(|_| number > 0) {
            next.extend(passed(functions, number, position as usize));
        }
        if let Some(inst) = value.as_inst() {
            match function.called_if_call(inst) {
                Some(Called::Register(Register::Thread(axis) | Register::Global(axis))) => {
                    axes[axis] = true;
                }
                Some(Called::Register(Register::Linear)) => return read(functions),
                Some(Called::Function(callee)) => next.extend(returned(functions, callee)),
                _ => {}
            }
            let body = function.unit.code.body;
            let operands = body.operands(inst);
            // The size of workgroups, among others, is read from constant memory.
            reads_memory |= body.inst(inst).opcode == Opcode::Load
                && space(functions, number, operands[0]) != Some(SpaceKind::Constant);
            next.extend(operands.iter().map(|&operand| (number, operand)));
        }
        work.extend(next.into_iter().filter(|&place| seen.insert(place)));
    }
    if reads_memory || axes == [false; 3] { read(functions) } else { axes }
}

/// The dimensions along which threads read their indices.
pub(super) fn read(functions: &Functions<'_>) -> [bool; 3] {
    let mut axes = [false; 3];
    for function in &functions.all {
        for inst in insts(function) {
            if let Some(Called::Register(Register::Thread(axis) | Register::Global(axis))) =
                function.called_if_call(inst)
            {
                axes[axis] = true;
            }
        }
    }
    axes
}

fn insts<'f>(function: &'f Function<'_>) -> impl Iterator<Item = InstId> + 'f {
    let code = function.unit.code;
    code.flow.order().iter().flat_map(move |&block| code.body.block_insts(block))
}

/// The dimension if a value is the thread's index in its workgroup, but for casts.
fn own_index(function: &Function<'_>, value: Value) -> Option<usize> {
    let mut at = value.as_inst()?;
    for _ in 0..4 {
        if let Some(Called::Register(Register::Thread(axis))) = function.called_if_call(at) {
            return Some(axis);
        }
        let body = function.unit.code.body;
        let is_cast = matches!(body.inst(at).opcode, Opcode::ZExt | Opcode::SExt | Opcode::Trunc);
        at = body.operands(at).first().filter(|_| is_cast)?.as_inst()?;
    }
    None
}

/// The space that the type of an address names.
fn space(functions: &Functions<'_>, number: usize, address: Value) -> Option<SpaceKind> {
    let code = functions.all[number].unit.code;
    let space = code.context.type_kind(value_type(code, address)?).address_space()?;
    Some(AddressSpace::of(functions.program.target.architecture(), space).kind())
}

/// Whether an address is one of workgroup memory, as far as its type and the variable it is made
/// from tell.
fn may_be_workgroup(functions: &Functions<'_>, number: usize, address: Value) -> bool {
    let code = functions.all[number].unit.code;
    let kind = |value: Value| space(functions, number, value);
    let mut at = address;
    for _ in 0..16 {
        if let Some(constant) = at.as_const() {
            return variables_in(code, constant)
                .is_some_and(|name| functions.program.variables.contains_key(&name));
        }
        if kind(at) == Some(SpaceKind::Workgroup) {
            return true;
        }
        // What a kernel is passed in another space is memory of the device; what another function
        // is passed may be anything.
        let Some(inst) = at.as_inst() else {
            return number > 0 && kind(at) == Some(SpaceKind::Generic);
        };
        let is_step = matches!(
            code.body.inst(inst).opcode,
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
        );
        if !is_step {
            return false;
        }
        at = code.body.operands(inst)[0];
    }
    false
}

/// What calls of a function pass for a parameter.
fn passed<'f>(
    functions: &'f Functions<'_>,
    callee: usize,
    position: usize,
) -> impl Iterator<Item = Place> + 'f {
    functions.all.iter().enumerate().flat_map(move |(number, function)| {
        let body = function.unit.code.body;
        let calls = insts(function)
            .filter(move |&inst| function.called_if_call(inst) == Some(Called::Function(callee)));
        calls.filter_map(move |inst| Some((number, *body.call_args(inst).get(position)?)))
    })
}

/// What a function returns.
fn returned<'f>(functions: &'f Functions<'_>, number: usize) -> impl Iterator<Item = Place> + 'f {
    let function = &functions.all[number];
    let body = function.unit.code.body;
    let returns = insts(function).filter(move |&inst| body.inst(inst).opcode == Opcode::Ret);
    returns.filter_map(move |inst| Some((number, *body.operands(inst).first()?)))
}
