//! Use-list orders: `uselistorder` and `uselistorder_bb`.
//!
//! An order has an index for each use that its target has at that place of the text; an order with
//! more or fewer is refused, as by LLVM. Uses are counted when the first order is read, and from
//! then on only those that have been added to the module.

use phalanx_ir::{
    Type, Value,
    module::{UseListOrder, UseListTarget},
    use_counts::LocalUseCounts,
};

use super::{Parser, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

impl Parser<'_> {
    /// `uselistorder` directives at the end of a body, and where they stand.
    pub(super) fn parse_use_list_orders(&mut self) -> PResult<(Vec<UseListOrder>, Vec<Span>)> {
        let (mut orders, mut places) = (Vec::new(), Vec::new());
        while self.at_kw(Keyword::UseListOrder) {
            let start = self.bump().start;
            let ty = self.parse_type()?;
            let value = if ty == Type::LABEL {
                // A block is named by its place, so all of them are known by now.
                let span = self.span();
                let label = self.parse_label_name()?;
                let block = self.locals.labels[label as usize].block;
                Value::block(block.ok_or_else(|| self.error(span, "use of undefined block"))?)
            } else {
                let value = self.parse_value(ty)?;
                self.locals.resolve(value)
            };
            let indices = self.parse_use_list_indices()?;
            orders.push(UseListOrder { target: UseListTarget::Value(value), indices });
            places.push(self.span_from(start));
        }
        Ok((orders, places))
    }

    /// `uselistorder` at module level: of a constant.
    pub(super) fn parse_module_use_list_order(&mut self) -> PResult<()> {
        let start = self.bump().start;
        let (_, constant) = self.parse_typed_constant()?;
        let indices = self.parse_use_list_indices()?;
        let target = UseListTarget::Value(constant.into());
        self.add_module_order(UseListOrder { target, indices }, start)
    }

    /// `uselistorder_bb @function, %block, { .. }`
    pub(super) fn parse_block_use_list_order(&mut self) -> PResult<()> {
        let start = self.bump().start;
        let (function, block) = self.parse_block_of_function()?;
        let indices = self.parse_use_list_indices()?;
        let target = UseListTarget::Block(function, block);
        self.add_module_order(UseListOrder { target, indices }, start)
    }

    fn add_module_order(&mut self, order: UseListOrder, start: u32) -> PResult<()> {
        self.count_uses();
        if let UseListTarget::Block(name, _) = order.target
            && self.uses.local.as_ref().is_none_or(|(known, _)| *known != name)
        {
            let mut functions = self.module.functions.iter().rev();
            if let Some(at) = functions.position(|function| function.header.name == name) {
                self.count_local_uses(self.module.functions.len() - 1 - at);
            }
        }
        self.check_use_list_order(&order, self.span_from(start))?;
        self.module.use_list_orders.push(order);
        Ok(())
    }

    /// Checks the orders of the last function against its uses. O(what was added to the module
    /// since the last check), if there are orders.
    pub(super) fn check_use_list_orders(&mut self, places: &[Span]) -> PResult<()> {
        if places.is_empty() {
            return Ok(());
        }
        self.count_uses();
        let last = self.module.functions.len() - 1;
        self.count_local_uses(last);
        for (order, &place) in self.module.functions[last].use_list_orders.iter().zip(places) {
            self.check_use_list_order(order, place)?;
        }
        Ok(())
    }

    /// Counts the uses of constants up to here.
    fn count_uses(&mut self) {
        let (uses, module) = (&mut self.uses, &self.module);
        for variable in &module.variables[uses.variables..] {
            uses.constants.add_variable(variable);
        }
        for alias in &module.aliases[uses.aliases..] {
            uses.constants.add_alias(alias);
        }
        for function in &module.functions[uses.functions..] {
            uses.constants.add_function(function.view());
        }
        uses.variables = module.variables.len();
        uses.aliases = module.aliases.len();
        uses.functions = module.functions.len();
    }

    fn count_local_uses(&mut self, at: usize) {
        let function = &self.module.functions[at];
        let name = function.header.name;
        let blocks = self.uses.constants.blocks_of(name, &self.module.block_addresses);
        self.uses.local = Some((name, LocalUseCounts::new(function.view(), &blocks)));
    }

    fn check_use_list_order(&self, order: &UseListOrder, place: Span) -> PResult<()> {
        let local = self.uses.local.as_ref().map(|(_, local)| local);
        let message = match order.uses(&self.uses.constants, local) {
            Some(0) => "this has no uses, and so no order of them".to_owned(),
            Some(1) => "this has one use only, and so no order of them".to_owned(),
            Some(uses) if uses != order.indices.len() as u64 => {
                let found = order.indices.len();
                format!(
                    "wrong number of indices: expected one for each of {uses} uses, found {found}"
                )
            }
            _ => return Ok(()),
        };
        Err(self.error(place, message))
    }

    /// `, { 1, 0 }`: a permutation that is not the identity.
    fn parse_use_list_indices(&mut self) -> PResult<Box<[u32]>> {
        self.expect(TokenKind::Comma)?;
        let start = self.expect(TokenKind::LBrace)?.start;
        let mut indices = Vec::new();
        loop {
            indices.push(self.expect_u32()?);
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBrace)?;
        let mut seen = vec![false; indices.len()];
        for &index in &indices {
            match seen.get_mut(index as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    return Err(
                        self.error(self.span_from(start), "these indices are no permutation")
                    );
                }
            }
        }
        if indices.is_sorted() {
            let message = "a use-list order needs at least two indices, and not in order";
            return Err(self.error(self.span_from(start), message));
        }
        Ok(indices.into())
    }
}
