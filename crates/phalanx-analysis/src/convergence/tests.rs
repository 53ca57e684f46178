//! The chains of tokens, against the definition.
