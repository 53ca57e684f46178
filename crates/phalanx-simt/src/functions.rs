//! Executes functions of a driver: see [`Functions`].

use crate::{coordinates::Coordinates, fault::FaultKind, value::Value};

/// Executes functions of a driver.
pub trait Functions: Send + Sync {
    /// The result of a function for the calling thread; [`Value::Unit`] if it has no result.
    ///
    /// # Errors
    /// When the function is unknown, or the call is undefined behaviour.
    fn call(
        &self,
        name: &str,
        thread: &Coordinates,
        arguments: &[Value],
    ) -> Result<Value, FaultKind>;

    /// The results of a convergent function for threads of a wave that execute it together: one for
    /// each, in their order.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn call_together(
        &self,
        name: &str,
        threads: &[(Coordinates, &[Value])],
    ) -> Result<Vec<Value>, FaultKind>;
}
