//! Calls of intrinsics that are not declared, or not yet.
//!
//! An overloaded intrinsic needs no declaration. The type of each call determines which function is
//! called, whatever suffix is written. LLVM declares these functions at the end, in an order of its
//! own:
//!
//! ```text
//! %a = call i32 @llvm.umax(i32 %i, i32 1)        ; @llvm.umax.i32, declared behind
//! %b = call i64 @llvm.umax.i8(i64 %l, i64 1)     ; @llvm.umax.i64
//! ```
//!
//! A call costs a look-up; a name is built only for a call whose type does not match its name.

use std::{borrow::Cow, cmp::Reverse};

use phalanx_ir::{Const, ConstKind, GlobalName, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Parser, state::globals::GlobalEntry};
use crate::{
    error::{PResult, Span},
    lexer::Token,
    upgrade::{is_intrinsic_type, is_old, mangled},
};

impl Parser<'_> {
    /// A global that is called by this name.
    pub(crate) fn callee_ref(
        &mut self,
        token: Token,
        ty: Type,
        function_type: Type,
    ) -> PResult<Const> {
        let known = self.globals.entries.len();
        let written = self.global_entry(token, ty)?;
        let entry = &mut self.globals.entries[written];
        if entry.definition.is_some() {
            return Ok(entry.constant);
        }
        let mut called = written;
        if written == known {
            entry.called_as = Some(function_type);
        } else if let Some(first) = entry.called_as.filter(|&first| first != function_type) {
            called = self.called_again(written, token.span(), first, function_type);
        }
        let last = self.globals.undeclared_calls.entry((written as u32, called as u32));
        *last.or_default() = token.start;
        Ok(self.globals.entries[called].constant)
    }

    /// A call of something that is not declared so far, with another function type than its first
    /// call.
    ///
    /// An overloaded intrinsic needs no declaration: the type of each call determines the function.
    /// Returns the entry of that function.
    fn called_again(&mut self, at: usize, mention: Span, first: Type, ty: Type) -> usize {
        let GlobalEntry { name, ty: address, .. } = self.globals.entries[at];
        let text = name.symbol().map(|name| self.context.bytes(name)).unwrap_or_default();
        if let Some(name) = mangled(self.context, text, ty) {
            return self.entry_called(name, address, mention, ty);
        }
        // Calls of an old intrinsic stay separate until they are rewritten.
        if is_old(self.context, &String::from_utf8_lossy(text), ty) {
            let mut known = self.globals.old_calls.iter();
            if let Some(&(.., known)) = known.find(|&&(of, known, _)| (of, known) == (at, ty)) {
                return known;
            }
            let number = self.globals.entries.len().to_string();
            let name = [text, b".", number.as_bytes()].concat();
            let new = self.entry_called(name, address, mention, ty);
            self.globals.old_calls.push((at, ty, new));
            return new;
        }
        // At most one of the two is its type, and the other is to be complained of.
        let is_first_good = is_intrinsic_type(self.context, text, first);
        self.globals.entries[at].called_as = is_first_good.then_some(ty);
        at
    }

    /// The entry of the function of this name and type; a new one if there is none.
    ///
    /// Earlier calls with another type are calls of another function, which is handled next: each
    /// round leaves one entry whose type matches its name.
    fn entry_called(&mut self, name: Vec<u8>, address: Type, mention: Span, ty: Type) -> usize {
        let (mut name, mut ty) = (name, ty);
        let mut result = None;
        let mut before: Option<(usize, Type)> = None;
        loop {
            let known = self.globals.named.get(&name[..]).map(|&at| at as usize);
            let at = known.unwrap_or(self.globals.entries.len());
            if known.is_none() {
                let global = GlobalName::Named(self.symbol(&name));
                let constant = self.context.constant(address, ConstKind::Global(global));
                self.globals.named.insert(Cow::Owned(name), at as u32);
                self.globals.entries.push(GlobalEntry {
                    name: global,
                    ty: address,
                    constant,
                    mention,
                    definition: None,
                    called_as: Some(ty),
                });
            }
            let result = *result.get_or_insert(at);
            if let Some((wrong, its)) = before {
                let calls = &mut self.globals.undeclared_calls;
                if let Some(last) = calls.remove(&(wrong as u32, wrong as u32)) {
                    calls.insert((wrong as u32, at as u32), last);
                }
                let constant = |at: usize| self.globals.entries[at].constant;
                self.globals.renamed.push((wrong, constant(wrong), its, constant(at)));
            }
            let entry = &mut self.globals.entries[at];
            let first = entry.called_as.filter(|&first| first != ty);
            let (None, Some(first)) = (entry.definition, first) else { return result };
            entry.called_as = Some(ty);
            let text = entry.name.symbol().map(|name| self.context.bytes(name));
            let of_first = mangled(self.context, text.unwrap_or_default(), first);
            let Some(of_first) = of_first.filter(|of_first| Some(&of_first[..]) != text) else {
                return result;
            };
            before = Some((at, first));
            (name, ty) = (of_first, first);
        }
    }

    /// Used but undefined names, in the order in which LLVM declares such intrinsics: by the
    /// written names, and the functions of one name from the last call to the first.
    pub(super) fn undefined(&self) -> Vec<usize> {
        let entries = &self.globals.entries;
        let bytes = |at: usize| entries[at].name.symbol().map(|name| self.context.bytes(name));
        let is_open = |at: usize| entries[at].definition.is_none();
        let mut calls: Vec<(usize, usize, u32)> = Vec::new();
        let found = self.globals.undeclared_calls.iter();
        calls.extend(found.map(|(&(name, called), &last)| (name as usize, called as usize, last)));
        calls.retain(|&(name, called, _)| is_open(name) && is_open(called));
        // What is mentioned but not called.
        let mut seen: FxHashSet<usize> = calls.iter().map(|&(_, called, _)| called).collect();
        let others = (0..entries.len()).filter(|at| is_open(*at) && !seen.contains(at));
        calls.extend(others.map(|at| (at, at, 0)));
        calls.sort_unstable_by_key(|&(name, _, last)| (bytes(name), name, Reverse(last)));
        seen.clear();
        let mut order = Vec::with_capacity(calls.len());
        for (_, called, _) in calls {
            // An intrinsic whose type gives it another name is the function of that name.
            let today = entries[called]
                .called_as
                .and_then(|ty| mangled(self.context, bytes(called)?, ty))
                .and_then(|name| self.globals.named.get(&name[..]).map(|&at| at as usize));
            let ty = entries[called].called_as;
            let today = today.filter(|&at| is_open(at) && entries[at].called_as == ty);
            for at in today.into_iter().chain([called]) {
                if seen.insert(at) {
                    order.push(at);
                }
            }
        }
        order
    }

    /// Redirects calls to the function that their type selects.
    pub(super) fn rename_calls(&mut self) {
        let renamed = std::mem::take(&mut self.globals.renamed);
        let is_open = |at: usize| self.globals.entries[at].definition.is_none();
        let renamed: FxHashMap<(Value, Type), Value> = renamed
            .into_iter()
            .filter(|&(at, ..)| is_open(at))
            .map(|(_, from, ty, to)| ((from.into(), ty), to.into()))
            .collect();
        if renamed.is_empty() {
            return;
        }
        for function in &mut self.module.functions {
            let body = &mut function.body;
            let calls: Vec<_> = body
                .all_ids()
                .filter(|&inst| body.inst(inst).opcode.is_call())
                .filter_map(|inst| {
                    let called = (body.callee(inst), body.call_info(inst).function_type);
                    Some((inst, *renamed.get(&called)?))
                })
                .collect();
            for (inst, callee) in calls {
                if let Some(last) = body.operands_mut(inst).last_mut() {
                    *last = callee;
                }
            }
        }
    }
}
