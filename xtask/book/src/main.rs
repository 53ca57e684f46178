//! Renders an mdBook: `phalanx-book SOURCE OUT`. `cargo xtask docs` runs it.

use std::process::ExitCode;

use mdbook_driver::{MDBook, errors::Result};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, out] = &arguments[..] else {
        eprintln!("usage: phalanx-book SOURCE OUT");
        return ExitCode::from(2);
    };
    match render(source, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn render(source: &str, out: &str) -> Result<()> {
    let mut book = MDBook::load(source)?;
    book.config.build.build_dir = out.into();
    book.build()
}
