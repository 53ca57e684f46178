//! Which instructions make convergence control tokens, and which use them.

use phalanx_ir::{Body, Context, GlobalName, InstId, Symbol, Type, constant::ConstKind};

use crate::code::Code;

/// The tag of the bundle that holds a token.
pub const BUNDLE: &[u8] = b"convergencectrl";

/// The intrinsics that make tokens.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// `llvm.experimental.convergence.entry`
    Entry,
    /// `llvm.experimental.convergence.anchor`
    Anchor,
    /// `llvm.experimental.convergence.loop`
    Loop,
}

impl TokenKind {
    /// All of them.
    pub const ALL: [TokenKind; 3] = [TokenKind::Entry, TokenKind::Anchor, TokenKind::Loop];

    /// The last word of the intrinsic's name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            TokenKind::Entry => "entry",
            TokenKind::Anchor => "anchor",
            TokenKind::Loop => "loop",
        }
    }

    /// The name of the intrinsic.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TokenKind::Entry => "llvm.experimental.convergence.entry",
            TokenKind::Anchor => "llvm.experimental.convergence.anchor",
            TokenKind::Loop => "llvm.experimental.convergence.loop",
        }
    }
}

/// Access to the tokens of the functions of a context.
#[derive(Copy, Clone, Debug)]
pub struct Tokens {
    bundle: Option<Symbol>,
}

impl Tokens {
    /// For functions of a context. O(1).
    #[must_use]
    pub fn new(context: &Context) -> Tokens {
        Tokens { bundle: context.find_symbol(BUNDLE) }
    }

    /// Whether no function of the context uses a token.
    #[must_use]
    pub fn is_unused(self) -> bool {
        self.bundle.is_none()
    }

    /// The instruction that makes the token which a call uses.
    #[must_use]
    pub fn used(self, body: &Body, call: InstId) -> Option<InstId> {
        let tag = self.bundle?;
        let mut bundles = body.bundles(call).filter(|&(name, _)| name == tag);
        match bundles.next()?.1 {
            [token] => token.as_inst(),
            _ => None,
        }
    }

    /// The token intrinsic that a call is of.
    #[must_use]
    pub fn kind(self, code: Code<'_>, call: InstId) -> Option<TokenKind> {
        if code.body.inst(call).ty != Type::TOKEN {
            return None;
        }
        let callee = code.body.const_callee(call)?;
        let ConstKind::Global(GlobalName::Named(name)) = code.context.const_data(callee).kind
        else {
            return None;
        };
        let bytes = code.context.bytes(name);
        TokenKind::ALL.into_iter().find(|kind| kind.name().as_bytes() == bytes)
    }
}
