//! Feeds arbitrary bytes to the parser and the printer.

use std::sync::Arc;

use phalanx::{
    ir::Context,
    llvm::{Parsed, parse_module, print_module},
};

/// Parses bytes: the result is a module or an error that points into the text.
fn read(data: &[u8]) -> Option<Parsed> {
    match parse_module(Arc::new(Context::new()), data) {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            assert!(error.span.start <= error.span.end, "{error:?}");
            assert!(error.span.end as usize <= data.len(), "{error:?}");
            assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error:?}");
            let (line, column) = error.line_col(data);
            assert!(line >= 1 && column >= 1, "{error:?}");
            None
        }
    }
}

/// Checks that any bytes give a module or an error with a place; every fact about such a module can
/// be asked.
pub fn reader(data: &[u8]) {
    if read(data).is_none() {
        return;
    }
    let mut session = phalanx::Session::new();
    let Ok(module) = session.read(data) else { return };
    for function in session.functions(module) {
        let _ = (session.cfg(function), session.dom_tree(function), session.postdom_tree(function));
        let _ = (session.dom_frontier(function), session.control_dependence(function));
        let _ = (session.cycles(function), session.uniformity(function));
        let _ = session.divergence(function).map(|view| view.temporal_uses().count());
    }
}

/// Checks that printed text parses and prints the same again.
pub fn round_trip(data: &[u8]) {
    let Some(first) = read(data) else { return };
    let printed = print_module(&first.module);
    let second = read(&printed).unwrap_or_else(|| {
        let error = parse_module(Arc::new(Context::new()), &printed).err();
        panic!("our print is refused: {error:?}\n{}", String::from_utf8_lossy(&printed))
    });
    let again = print_module(&second.module);
    assert!(
        printed == again,
        "printing is no fixpoint:\n{}\n----\n{}",
        String::from_utf8_lossy(&printed),
        String::from_utf8_lossy(&again)
    );
}
