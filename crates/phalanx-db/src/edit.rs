//! Edits of functions in the database.
//!
//! A transaction works on the parts themselves, not on copies: the first change of a part takes it
//! out of its input, and the end of the transaction puts it back. What is not changed is not
//! touched, so a transaction that changes no part invalidates nothing. One that is taken back after
//! it has changed something leaves equal parts behind, at the same position of the journal: queries
//! that read them run once more and give equal answers.
//!
//! Parts differ in durability, so that salsa validates in one step what no edit can have changed:
//!
//! | durability | what | memos that are validated in one step after an edit |
//! |---|---|---|
//! | low | flow, body, marks that were edited, all extras | everything that reads none of them |
//! | medium | flow, body, marks that were never edited | likewise, except after a first edit |
//! | high | headers, mentions, launches, lists of functions, shells | call graph, symbols, library ... |
//!
//! The first edit of a function makes its parts less durable, which counts as a change at medium
//! durability. So salsa checks the memos of other functions once, at their next query. It does not
//! check memos that depend only on the whole module.
//!
//! Cost beyond the edit: setting an input once ([`PartCell`]), some hundred nanoseconds.

use phalanx_ir::{
    Body, BuildError, Extras, Flow, FunctionHeader, InstId, Module,
    edit::{Store, Transaction},
    verify::{Headers, ModuleIndex},
};
use salsa::{Durability, Revision, Setter};

use crate::{
    Database, FunctionInput, ModuleInput, edit_module::text, inputs::is_large, marks::Marks,
    part_cell::PartCell, queries,
};

impl Database {
    /// Edits a function in a transaction: what `edit` did is kept when it returns `Ok` and all
    /// rules are satisfied, and taken back otherwise, also when it panics. See
    /// [`phalanx_ir::edit`].
    ///
    /// Waits until all other handles on the database are gone.
    ///
    /// # Errors
    /// That of `edit`, or of [`Transaction::commit`]; and when the function was removed from its
    /// module.
    pub fn edit<R, E: From<BuildError>>(
        &mut self,
        function: FunctionInput,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        if self.is_removed(function) {
            let context = function.module(self).context(self);
            return Err(E::from(BuildError::Entity {
                function: text(context, function.header(self).name),
                entity: "the function".into(),
                message: "was removed from its module",
            }));
        }
        self.alone();
        let verifies = self.verifies_edits;
        let mut parts = InDatabase::new(self, function);
        let mut transaction = Transaction::new(&mut parts);
        transaction.verifying(verifies);
        let result = edit(&mut transaction)?;
        let reattached: Vec<InstId> = transaction.reattached().collect();
        transaction.commit()?;
        parts.update_marks(&reattached);
        Ok(result)
    }
}

/// The parts of a function of the database: those that are being changed are here, all others where
/// they were.
struct InDatabase<'d> {
    db: &'d mut Database,
    function: FunctionInput,
    module: ModuleInput,
    flow: Option<Box<Flow>>,
    body: Option<Box<Body>>,
    extras: Option<Box<Extras>>,
    before: Before,
    /// Whether its uses have become others.
    has_other_uses: bool,
    /// The revision in which the edit began.
    began: Revision,
}

/// What parts were before their first change.
#[derive(Default)]
struct Before {
    /// Position of the body, and whether it was large.
    body: Option<(u64, bool)>,
    /// Whether the flow was that of a definition.
    had_blocks: Option<bool>,
}

impl<'d> InDatabase<'d> {
    fn new(db: &'d mut Database, function: FunctionInput) -> Self {
        let (module, began) = (function.module(db), db.revision());
        InDatabase {
            db,
            function,
            module,
            flow: None,
            body: None,
            extras: None,
            before: Before::default(),
            has_other_uses: false,
            began,
        }
    }

    /// Brings the marks up to date when the attachments of some instructions were changed.
    fn update_marks(&mut self, reattached: &[InstId]) {
        let Some(extras) = &self.extras else { return };
        let context = self.module.context(self.db);
        let insts = reattached.iter().copied();
        if self.function.marks(self.db).differ(context, extras, insts) {
            let marks = Marks::of(context, extras);
            self.db.set_marks(self.function, marks, Durability::LOW);
        }
    }
}

impl Drop for InDatabase<'_> {
    fn drop(&mut self) {
        macro_rules! put_back {
            ($part:ident, $held:ident) => {
                if let Some(part) = self.$part.take() {
                    self.function.$held(self.db).put_back(part);
                }
            };
        }
        let has_blocks = self.flow.as_ref().map(|flow| flow.entry().is_some());
        let has_other_code = self.flow.is_some() || self.body.is_some();
        let mut is_logged = true;
        if let (Some(body), Some((position, was_large))) = (&self.body, self.before.body) {
            let context = self.module.context(self.db);
            let mentions = self.function.mentions(self.db).after(context, body, position);
            if let Some(mentions) = mentions {
                is_logged &= !self.db.set_mentions(self.function, mentions);
            }
            if was_large != is_large(body) {
                self.db.set_size(self.function, !was_large);
                is_logged = false;
            }
        }
        put_back!(flow, held_flow);
        put_back!(body, held_body);
        put_back!(extras, held_extras);
        if self.has_other_uses {
            if !self.function.use_list_orders(self.db).is_empty() {
                self.function.set_use_list_orders(self.db).to(Vec::new());
            }
            is_logged &= !self.db.forget_use_list_orders(self.module);
        }
        if let Some(has_blocks) = has_blocks
            && self.before.had_blocks != Some(has_blocks)
        {
            self.db.set_definition(self.module, self.function, has_blocks);
            is_logged = false;
        }
        if is_logged {
            let function = has_other_code.then_some(self.function);
            self.db.edits().note(self.began, self.db.revision(), function);
        }
    }
}

/// The part as it is, and the part to change, which is taken out of its input then; `note` is told
/// what it was.
macro_rules! part {
    ($part:ident, $part_mut:ident, ($set:ident, $durability:ident), $ty:ty, $note:expr) => {
        fn $part(&self) -> &$ty {
            match &self.$part {
                Some(part) => part,
                None => self.function.$part(self.db),
            }
        }

        fn $part_mut(&mut self) -> &mut $ty {
            let (function, db) = (self.function, &mut *self.db);
            let (before, note): (_, fn(&mut Before, &$ty)) = (&mut self.before, $note);
            self.$part.get_or_insert_with(|| {
                let set = function.$set(db).with_durability(Durability::$durability);
                let part = set.to(PartCell::taken()).into_inner();
                note(before, &part);
                part
            })
        }
    };
}

impl Store for InDatabase<'_> {
    fn module(&self) -> &Module {
        self.module.shell(self.db)
    }

    fn index(&self) -> &ModuleIndex {
        queries::module_index(self.db, self.module)
    }

    fn headers(&self) -> &dyn Headers {
        self
    }

    fn header(&self) -> &FunctionHeader {
        self.function.header(self.db)
    }

    fn forget_use_list_orders(&mut self) {
        self.has_other_uses = true;
    }

    fn convergent_intrinsics(&self) -> fn(&[u8]) -> bool {
        phalanx_target::intrinsics::is_convergent
    }

    part!(flow, flow_mut, (set_held_flow, LOW), Flow, |before, flow| {
        before.had_blocks = Some(flow.entry().is_some());
    });

    part!(body, body_mut, (set_held_body, LOW), Body, |before, body| {
        before.body = Some((body.journal().position(), is_large(body)));
    });

    part!(extras, extras_mut, (set_held_extras, LOW), Extras, |_, _| {});
}

impl Headers for InDatabase<'_> {
    fn header(&self, at: usize) -> Option<&FunctionHeader> {
        Some(self.module.functions(self.db).get(at)?.input.header(self.db))
    }
}
