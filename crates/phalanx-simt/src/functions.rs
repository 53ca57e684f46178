//! Who executes functions of a driver: see [`Functions`].

use crate::{coordinates::Coordinates, fault::FaultKind, value::Value};

/// Executes functions of a driver.
pub trait Functions: Send + Sync {
    /// What a function gives a thread that calls it; [`Value::Unit`] if it has no result.
    ///
    /// # Errors
    /// When the function is unknown, or the call does something that is undefined.
    fn call(
        &self,
        name: &str,
        thread: &Coordinates,
        arguments: &[Value],
    ) -> Result<Value, FaultKind>;

    /// What a convergent function gives threads of a wave that come to it together: one result for
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
