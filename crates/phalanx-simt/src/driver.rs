//! Executes functions of a driver that a module only declares.
//!
//! An [`Extension`](phalanx_target::library::Extension) of the driver describes its functions. That
//! is enough for barriers of a workgroup or a wave. For other functions the driver supplies results
//! by [`Functions`]: for one thread at a time, or, for a convergent function, for the threads of a
//! wave that execute it together.
//!
//! ```text
//! call i32 @toy_thread_x()      -> Functions::call(.., thread, [])
//! call i32 @toy_sum(i32 %v)     -> Functions::call_together(.., [(thread, [v]), (thread, [v]) ...])
//! call void @toy_sync()         -> waits for the workgroup: a row with barrier(workgroup)
//! ```

use std::sync::Arc;

use phalanx_ir::GlobalName;
use phalanx_target::{Intrinsic as Row, Scope, intrinsics::BarrierPhase};

use crate::{
    collective::{Collective, Lane},
    coordinates::Coordinates,
    fault::FaultKind,
    functions::Functions,
    intrinsic::Intrinsic,
    program::{Callee, Program},
    value::Value,
};

impl<'m> Program<'m> {
    /// Sets the executor of the driver's functions.
    #[must_use]
    pub fn with_functions(mut self, functions: Arc<dyn Functions>) -> Program<'m> {
        self.driver = Some(functions);
        self.read_callees();
        self
    }

    /// How to execute a call of a function that the driver's table describes.
    pub(crate) fn callee_of_driver(&self, name: GlobalName, row: Row) -> Callee {
        if let Some(barrier) = row.info.barrier {
            let base = match (barrier.scope, barrier.phase, barrier.partial) {
                (_, _, true) => return Callee::Unknown,
                (Scope::Wave, BarrierPhase::Both, _) => "sub_group_barrier",
                (Scope::Workgroup, BarrierPhase::Both, _) => "barrier",
                (Scope::Workgroup, BarrierPhase::Arrive, _) => "intel_work_group_barrier_arrive",
                (Scope::Workgroup, BarrierPhase::Wait, _) => "intel_work_group_barrier_wait",
                _ => return Callee::Unknown,
            };
            return Intrinsic::of_library(base, base).map_or(Callee::Unknown, Callee::Intrinsic);
        }
        match (self.driver.is_some(), self.by_name.get(&name)) {
            (true, Some(&number)) if row.info.convergent => {
                Callee::Intrinsic(Intrinsic::Collective(Collective::Driver(number as u32)))
            }
            (true, Some(&number)) => Callee::Driver(number as u32),
            _ => Callee::Unknown,
        }
    }

    /// Executes a driver function for one thread.
    pub(crate) fn call_driver(
        &self,
        number: u32,
        thread: &Coordinates,
        arguments: &[Value],
    ) -> Result<Value, FaultKind> {
        let (functions, name) = self.of_driver(number)?;
        functions.call(&name, thread, arguments)
    }

    /// Executes a driver function for threads that came together.
    pub(crate) fn call_driver_together(
        &self,
        number: u32,
        threads: &[Coordinates],
        lanes: &[Lane],
    ) -> Result<Vec<Value>, FaultKind> {
        let (functions, name) = self.of_driver(number)?;
        let lanes = lanes.iter().map(|lane| &lane.args[..]);
        let threads: Vec<_> = threads.iter().copied().zip(lanes).collect();
        let results = functions.call_together(&name, &threads)?;
        match results.len() == threads.len() {
            true => Ok(results),
            false => Err(FaultKind::unsupported(format!(
                "{name}, which gave {} results to {} threads",
                results.len(),
                threads.len()
            ))),
        }
    }

    fn of_driver(&self, number: u32) -> Result<(&dyn Functions, String), FaultKind> {
        let name = self.functions[number as usize].function.header.name;
        let name = name.symbol().map(|name| self.context().text(name).into_owned());
        let functions = self.driver.as_deref();
        functions.zip(name).ok_or_else(|| {
            FaultKind::unsupported("a function that the driver does not execute".to_owned())
        })
    }
}
