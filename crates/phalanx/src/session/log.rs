//! What a session did: which queries ran, and how divergence was found.
//!
//! A driver tests by it that it does not pay for more than it uses.

use phalanx_db::{LogEntry, queries};

use super::{FunctionId, ModuleId, Session};

impl Session {
    /// Which queries ran and which answers were found to be still good since the last call, in
    /// order. Empty for a session without a log: see [`Session::with_event_log`].
    ///
    /// ```
    /// use phalanx::{Did, prelude::*};
    ///
    /// let mut session = Session::with_event_log();
    /// let module = session.read(b"define void @f() {\n  ret void\n}\n")?;
    /// let function = session.function(module, "f").expect("it is defined");
    /// session.take_log();
    /// let ran = |session: &Session| {
    ///     session.divergence(function);
    ///     session.take_log().iter().filter(|entry| entry.did == Did::Run).count()
    /// };
    /// assert!(ran(&session) > 0);
    /// assert_eq!(ran(&session), 0, "the answer is kept");
    /// # Ok::<(), phalanx::ReadError>(())
    /// ```
    pub fn take_log(&self) -> Vec<LogEntry> {
        self.db.take_log()
    }

    /// How often the divergence of a function was found from scratch, repaired, and so on. All zero
    /// for a small function, which is always solved from scratch.
    pub fn repairs(&self, function: FunctionId) -> queries::Repairs {
        queries::repairs(&self.db, self.at(function))
    }

    /// Drops what is kept of a module's functions to repair their facts. Facts stay; the next
    /// question after an edit is answered from scratch. O(functions).
    pub fn trim(&self, module: ModuleId) {
        self.db.trim(self.module_there(module));
    }
}
