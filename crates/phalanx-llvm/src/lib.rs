//! LLVM IR text: lexer, parser, printer and source map.
