//! The tokens of a source in order, cut when the parser wants them, or ahead of it by another
//! thread.
//!
//! Cutting a text into tokens is about half of reading it and depends on nothing that the parser
//! knows. So another thread can do it, and the parser sees the same tokens as without one.

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::Scope,
};

use crate::{
    error::ParseError,
    lexer::{Lexer, Token, TokenKind},
};

/// So many tokens are handed over at a time, since that costs a microsecond.
const RUN: usize = 4096;
/// Handed over and not yet read are at most so many runs of tokens.
const WAITING: usize = 16;

/// Tokens that follow each other, cut by another thread. One that is none, or the end, comes last.
struct Run {
    tokens: Vec<Token>,
    /// Why the last token is none.
    error: Option<Box<ParseError>>,
}

struct Ahead {
    run: Run,
    at: usize,
    /// The runs behind it.
    next: Receiver<Run>,
}

/// The tokens of a source, one after the other.
pub(crate) struct Tokens<'a> {
    lexer: Lexer<'a>,
    ahead: Option<Ahead>,
}

impl<'a> Tokens<'a> {
    /// The tokens of a source, cut when they are wanted.
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Tokens { lexer: Lexer::new(source), ahead: None }
    }

    /// The same, cut by a thread of its own, which ends when these are dropped.
    pub(crate) fn ahead<'s>(source: &'a [u8], scope: &'s Scope<'s, '_>) -> Self
    where
        'a: 's,
    {
        let (sender, next) = sync_channel(WAITING);
        let lexer = Lexer::new(source);
        let own = lexer.clone();
        scope.spawn(move || cut_all(own, &sender));
        let run = Run { tokens: Vec::new(), error: None };
        Tokens { lexer, ahead: Some(Ahead { run, at: 0, next }) }
    }

    /// The next token; at the end of the source that is always [`TokenKind::Eof`].
    #[inline]
    pub(crate) fn next(&mut self) -> Token {
        let Some(ahead) = &mut self.ahead else { return self.lexer.next() };
        if let Some(&token) = ahead.run.tokens.get(ahead.at) {
            ahead.at += 1;
            return token;
        }
        ahead.next_of_next_run()
    }

    /// Why the last token that was no token is none.
    pub(crate) fn error(&self) -> Option<Box<ParseError>> {
        match &self.ahead {
            Some(ahead) => ahead.run.error.clone(),
            None => self.lexer.error(),
        }
    }
}

impl Ahead {
    #[cold]
    fn next_of_next_run(&mut self) -> Token {
        match self.next.recv() {
            Ok(run) => self.run = run,
            // The source has ended: its end comes again.
            Err(_) => self.run.tokens.drain(..self.run.tokens.len() - 1).for_each(drop),
        }
        self.at = 1;
        self.run.tokens[0]
    }
}

/// Cuts the next tokens: at least one, and none behind the end or what is no token.
fn cut(lexer: &mut Lexer<'_>) -> Run {
    let mut tokens = Vec::with_capacity(RUN);
    while tokens.len() < RUN {
        let token = lexer.next();
        tokens.push(token);
        match token.kind {
            TokenKind::Eof => break,
            TokenKind::Error => return Run { tokens, error: lexer.error() },
            _ => {}
        }
    }
    Run { tokens, error: None }
}

/// Hands over all tokens, until the end or until the parser is gone.
fn cut_all(mut lexer: Lexer<'_>, sender: &SyncSender<Run>) {
    loop {
        let run = cut(&mut lexer);
        let is_end = run.tokens.last().is_none_or(|token| token.kind == TokenKind::Eof);
        if sender.send(run).is_err() || is_end {
            return;
        }
    }
}
