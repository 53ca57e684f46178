//! A page of links to the pages of several modules: the findings of each function, and how many of
//! its values differ. It has no script.
//!
//! ```text
//! a.cu    sum (kernel)    1 error    44 of 51 values differ    -> report/a.cu.html#_Z3sumPf
//! b.cu    copy (kernel)              7 of 19 values differ     -> report/b.cu.html#_Z4copyPf
//! ```

use std::fmt::{self, Write};

use super::{STYLE, escaped, model::Page};

/// Collects pages and where they are.
#[derive(Debug, Default)]
pub struct List {
    rows: String,
}

impl List {
    /// Adds a page that can be opened at a relative address.
    ///
    /// # Errors
    /// Never: writing to a string does not fail.
    pub fn add(&mut self, page: &Page, address: &str) -> fmt::Result {
        let href = |anchor: &str| {
            let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
            format!("{}{anchor}", percent(address))
        };
        let (file, judged) = (escaped(&page.file), escaped(&page.judged));
        writeln!(
            self.rows,
            "<tr class=\"file\"><th colspan=\"4\" scope=\"rowgroup\"><a href=\"{}\">{file}</a> \
             <span>{judged}</span></th></tr>",
            href("")
        )?;
        for (entry, function) in page.index.iter().zip(&page.functions) {
            let [errors, warnings, _] = entry.findings;
            let [differ, all] = entry.divergent;
            let kind = if entry.kernel { "kernel" } else { "function" };
            writeln!(
                self.rows,
                "<tr><td><a href=\"{}\">{}</a></td><td>{kind}</td><td>{}{}</td>\
                 <td>{differ} of {all} values differ between threads of a wave</td></tr>",
                href(&percent(&function.symbol)),
                escaped(&entry.name),
                found(errors, "error", "errors"),
                found(warnings, "warning", "warnings"),
            )?;
        }
        Ok(())
    }

    /// Writes the page.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> fmt::Result {
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>phalanx report</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body class=\"list\">\n\
             <header><h1>phalanx report</h1></header>\n<table>\n{}</table>\n</body>\n</html>\n",
            self.rows
        )
    }
}

/// `2 errors `, and nothing for none.
fn found(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!("<span class=\"{one}\">1 {one}</span> "),
        _ => format!("<span class=\"{one}\">{count} {many}</span> "),
    }
}

/// Text as a part of an address.
fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_addresses() {
        let page = Page { file: "<b>.cu".to_owned(), ..Page::default() };
        let (mut list, mut out) = (List::default(), String::new());
        list.add(&page, "report/<b> #.html").expect("a string takes all");
        list.write(&mut out).expect("a string takes all");
        assert!(out.contains("<a href=\"report/%3Cb%3E%20%23.html\">&lt;b>.cu</a>"), "{out}");
    }
}
