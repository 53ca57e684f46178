//! `phalanx report`: an HTML page about one module, in one file.
//!
//! The page shows the source and the IR side by side, each line coloured by the smallest scope
//! whose threads differ there. It also shows findings at their lines, a summary in sentences, the
//! control-flow graph, and for each value the chain of causes. It loads nothing from a network.
//!
//! A [`Page`] is plain data. [`write()`] embeds it in HTML as JSON, one part for each function, so
//! that a browser parses a function only when it is shown. A script draws the page.
//!
//! ```text
//! List ── links to pages of several modules
//! Page ── files: lines of the program
//!      └─ functions ── rows: labels, instructions, what each depends on
//!                   ├─ steps: the links of all chains, each once
//!                   └─ picture: the control-flow graph as SVG
//! ```
//!
//! **Invariant.** Text of the program and of the module is data, never markup: the script makes
//! text nodes of it, and `<` is escaped in the JSON, so that no name can end a script.
//!
//! **Cost.** O(instructions), and a search for each chain. In functions with more than
//! [`MAX_CHAINS`] values that differ, only branches have chains.

mod against;
mod build;
mod list;
mod model;
mod rows;
mod sentences;

pub use against::Earlier;
pub use build::Builder;
pub use list::List;
pub use model::{AccessRow, Entry, FilePage, FindingRow, FunctionPage, Page, Row, StepRow};

use std::fmt::{self, Write};

/// In functions with more values that differ, only branches have chains of causes.
pub const MAX_CHAINS: usize = 3000;

const FRAME: &str = include_str!("frame.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(include_str!("pictures.js"), include_str!("script.js"));

/// Writes a page as one file of HTML.
///
/// # Errors
/// Errors of `out`.
pub fn write(page: &Page, out: &mut dyn Write) -> fmt::Result {
    let mut rest = FRAME;
    while let Some((before, behind)) = rest.split_once("<!--") {
        let Some((name, after)) = behind.split_once("-->") else { break };
        out.write_str(before)?;
        match name {
            "title" => out.write_str(&escaped(&page.file))?,
            "style" => out.write_str(STYLE)?,
            "script" => out.write_str(SCRIPT)?,
            "data" => data(page, out)?,
            _ => {}
        }
        rest = after;
    }
    out.write_str(rest)
}

/// The parts of the page as scripts that are not executed.
fn data(page: &Page, out: &mut dyn Write) -> fmt::Result {
    element("page", &serde_json::to_string(page).map_err(|_| fmt::Error)?, out)?;
    for (number, function) in page.functions.iter().enumerate() {
        let text = serde_json::to_string(function).map_err(|_| fmt::Error)?;
        element(&format!("f{number}"), &text, out)?;
    }
    Ok(())
}

fn element(id: &str, json: &str, out: &mut dyn Write) -> fmt::Result {
    write!(out, "<script type=\"application/json\" id=\"{id}\">")?;
    out.write_str(&json.replace('<', "\\u003c"))?;
    out.write_str("</script>\n")
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let page = Page { file: "</script><b>\"".to_owned(), ..Page::default() };
        let mut out = String::new();
        write(&page, &mut out).expect("a string takes all");
        assert!(!out.contains("</script><b>"), "{out}");
        assert!(out.contains("<title>&lt;/script>&lt;b>&quot;"));
    }
}
