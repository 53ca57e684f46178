//! Identified structures: resolves names of types, and determines which types have a size.
//!
//! A name may be used before it is defined; until then it is an opaque structure. At the end of the
//! file, the parser checks that all used names are defined, and that no structure contains itself:
//! O(size of the types), on an explicit stack, since definitions may nest arbitrarily deep.

use phalanx_ir::{
    Type, TypeKind,
    types::{StructBody, StructName},
};
use rustc_hash::FxHashSet;

use crate::parser::{Parser, state::types::TypeEntry};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
    parser::keyword::Keyword,
};

impl<'a> Parser<'a> {
    /// The type that a local name means, declared by this if need be.
    pub(super) fn type_named(&mut self, token: Token) -> Type {
        if let Some(entry) = self.type_entry(token) {
            return entry.ty;
        }
        let name = self.struct_name(token);
        let ty = self.context.type_of_kind(&TypeKind::Named(name));
        self.set_type_entry(token, TypeEntry { ty, mention: token.span(), defined: false });
        self.types.bodies.insert(ty, self.module.structs.len());
        self.module.structs.push((name, StructBody::Opaque));
        ty
    }

    fn struct_name(&self, token: Token) -> StructName {
        match token.kind {
            TokenKind::LocalId => StructName::Numbered(token.number),
            _ => StructName::Named(self.symbol(&self.token_name(token))),
        }
    }

    fn type_entry(&self, token: Token) -> Option<TypeEntry> {
        let entry = match token.kind {
            TokenKind::LocalId => self.types.numbered.get(&token.number),
            _ => self.types.named.get(&self.token_name(token)),
        };
        entry.copied()
    }

    fn set_type_entry(&mut self, token: Token, entry: TypeEntry) {
        match token.kind {
            TokenKind::LocalId => self.types.numbered.insert(token.number, entry),
            _ => self.types.named.insert(self.token_name(token), entry),
        };
    }

    /// `%name = type ..`, at the name.
    pub(crate) fn parse_type_definition(&mut self) -> PResult<()> {
        let token = self.bump();
        self.expect(TokenKind::Equal)?;
        self.expect_kw(Keyword::Type)?;
        let known = self.type_entry(token);
        if known.is_some_and(|entry| entry.defined) {
            let name = String::from_utf8_lossy(self.text(token)).into_owned();
            return Err(self.error(token.span(), format!("redefinition of type `{name}`")));
        }
        let body = if self.accept_kw(Keyword::Opaque) {
            StructBody::Opaque
        } else {
            let is_struct = self.at(TokenKind::LBrace)
                || self.at(TokenKind::Less)
                    && self.source[self.token.end as usize..].trim_ascii_start().starts_with(b"{");
            if !is_struct {
                if let Some(entry) = known {
                    let error = self.error(
                        token.span(),
                        "only a structure type can be used before its definition",
                    );
                    return Err(error.with_note(Some(entry.mention), "used here"));
                }
                let ty = self.parse_type()?;
                // A mention of the name within has declared a structure of this name.
                if let Some(entry) = self.type_entry(token) {
                    return Err(self.error(entry.mention, "only a structure type can name itself"));
                }
                self.set_type_entry(token, TypeEntry { ty, mention: token.span(), defined: true });
                return Ok(());
            }
            // The name is known inside its own body.
            self.type_named(token);
            let packed = self.accept(TokenKind::Less);
            self.expect(TokenKind::LBrace)?;
            let mut fields = Vec::new();
            while !self.at(TokenKind::RBrace) {
                if !fields.is_empty() {
                    self.expect(TokenKind::Comma)?;
                }
                let start = self.token.start;
                let ty = self.parse_type()?;
                if ty != Type::X86_AMX && !self.is_array_element(ty) {
                    return Err(self.bad_part(self.span_from(start), "a structure", ty));
                }
                fields.push(ty);
            }
            self.close_struct(packed)?;
            StructBody::Fields { packed, fields: fields.into() }
        };
        let ty = self.type_named(token);
        let mention = known.map_or(token.span(), |entry| entry.mention);
        self.set_type_entry(token, TypeEntry { ty, mention, defined: true });
        self.module.structs[self.types.bodies[&ty]].1 = body;
        Ok(())
    }

    /// The body of an identified structure, or the fields of a literal one.
    pub(crate) fn struct_fields(&self, ty: Type) -> Option<&[Type]> {
        match self.context.type_kind(ty) {
            TypeKind::Struct { fields, .. } => Some(fields),
            TypeKind::Named(_) => match &self.module.structs[*self.types.bodies.get(&ty)?].1 {
                StructBody::Fields { fields, .. } => Some(fields),
                StructBody::Opaque => None,
            },
            _ => None,
        }
    }

    /// Whether this is a packed structure.
    pub(crate) fn is_packed(&self, ty: Type) -> bool {
        match self.context.type_kind(ty) {
            TypeKind::Struct { packed, .. } => *packed,
            _ => match self.types.bodies.get(&ty).map(|&at| &self.module.structs[at].1) {
                Some(StructBody::Fields { packed, .. }) => *packed,
                _ => false,
            },
        }
    }

    /// Whether values of a type have a size in memory. O(1) once known.
    #[inline]
    pub(crate) fn is_sized(&mut self, ty: Type) -> bool {
        match self.context.type_kind(ty) {
            TypeKind::Int(_) | TypeKind::Ptr(_) | TypeKind::Float | TypeKind::Double => true,
            _ => self.is_composite_sized(ty),
        }
    }

    fn is_composite_sized(&mut self, ty: Type) -> bool {
        let mut work = vec![ty];
        let mut seen = Vec::new();
        while let Some(ty) = work.pop() {
            let sized = match self.context.type_kind(ty) {
                TypeKind::Void
                | TypeKind::Label
                | TypeKind::Metadata
                | TypeKind::Token
                | TypeKind::Function { .. } => false,
                TypeKind::Array { elem, .. } => {
                    work.push(*elem);
                    true
                }
                TypeKind::Target { name, .. } => {
                    let name = self.context.bytes(*name);
                    let sized: [&[u8]; 5] = [
                        b"spirv.",
                        b"dx.",
                        b"aarch64.svcount",
                        b"riscv.vector.tuple",
                        b"amdgcn.named.barrier",
                    ];
                    sized.iter().any(|prefix| name.starts_with(prefix))
                }
                TypeKind::Struct { .. } | TypeKind::Named(_) if self.types.sized.contains(&ty) => {
                    true
                }
                TypeKind::Struct { .. } | TypeKind::Named(_) => {
                    // Taken for sized until a part says otherwise.
                    self.types.sized.insert(ty);
                    seen.push(ty);
                    let fields = self.struct_fields(ty);
                    work.extend_from_slice(fields.unwrap_or_default());
                    fields.is_some()
                }
                _ => true,
            };
            if !sized {
                for ty in seen {
                    self.types.sized.remove(&ty);
                }
                return false;
            }
        }
        true
    }

    /// At the end of the file: every type that is used is defined, and none holds itself. O(size of
    /// the types).
    pub(crate) fn finish_types(&mut self) -> PResult<()> {
        let entries = self.types.named.values().chain(self.types.numbered.values());
        if let Some(entry) =
            entries.filter(|entry| !entry.defined).min_by_key(|entry| entry.mention)
        {
            let name = self.type_name(entry.ty);
            return Err(self.error(entry.mention, format!("use of undefined type `{name}`")));
        }
        let Some(recursive) = self.recursive_type() else { return Ok(()) };
        let mention = self
            .types
            .named
            .values()
            .chain(self.types.numbered.values())
            .find(|entry| entry.ty == recursive)
            .map_or_else(Span::default, |entry| entry.mention);
        let message = format!("structure type `{}` holds itself", self.type_name(recursive));
        Err(self.error(mention, message))
    }

    /// An identified structure that holds itself, by depth-first search on an explicit stack.
    fn recursive_type(&self) -> Option<Type> {
        let mut done: FxHashSet<Type> = FxHashSet::default();
        let mut open: FxHashSet<Type> = FxHashSet::default();
        for &(name, _) in &self.module.structs {
            let root = self.context.type_of_kind(&TypeKind::Named(name));
            let mut stack = vec![(root, false)];
            while let Some((ty, leaving)) = stack.pop() {
                if leaving {
                    open.remove(&ty);
                    done.insert(ty);
                    continue;
                }
                if open.contains(&ty) {
                    return Some(ty);
                }
                let parts: &[Type] = match self.context.type_kind(ty) {
                    TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => {
                        std::slice::from_ref(elem)
                    }
                    TypeKind::Struct { .. } | TypeKind::Named(_) => {
                        self.struct_fields(ty).unwrap_or_default()
                    }
                    _ => continue,
                };
                if !done.contains(&ty) {
                    open.insert(ty);
                    stack.push((ty, true));
                    stack.extend(parts.iter().map(|&part| (part, false)));
                }
            }
        }
        None
    }
}
