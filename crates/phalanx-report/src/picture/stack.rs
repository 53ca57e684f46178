//! Several drawings below each other, each with its title.

use std::fmt::Write as _;

/// The height of a title.
const TITLE: f64 = 28.0;

/// Stacks several drawings: each has a title, and is either an SVG of [`svg()`](super::svg()) or a
/// text in its place.
#[must_use]
pub fn stacked(drawings: &[(String, Result<String, String>)]) -> String {
    let (mut inner, mut width, mut y) = (String::new(), 0.0_f64, 0.0_f64);
    for (title, drawing) in drawings {
        text(&mut inner, y + 0.7 * TITLE, title);
        y += TITLE;
        match drawing {
            Ok(drawing) => {
                let size = size(drawing);
                let start = drawing.find("<svg").map_or("", |at| &drawing[at..]);
                let placed = start.replacen("<svg", &format!("<svg y=\"{y}\""), 1);
                inner.push_str(&placed);
                (width, y) = (width.max(size.0), y + size.1);
            }
            Err(reason) => {
                text(&mut inner, y + 0.7 * TITLE, reason);
                y += TITLE;
            }
        }
        let letters = title.len().max(drawing.as_ref().err().map_or(0, String::len));
        width = width.max(9.0 * letters as f64 + 20.0);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n\
         <svg width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{inner}</svg>\n"
    )
}

fn text(out: &mut String, y: f64, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let style = "font-family=\"monospace\" font-size=\"14\"";
    writeln!(out, "<text x=\"10\" y=\"{y}\" {style}>{text}</text>").expect("a string takes all");
}

/// Width and height that a drawing states.
fn size(drawing: &str) -> (f64, f64) {
    let number = |name: &str| {
        let from = drawing.find("<svg")?;
        let at = from + drawing[from..].find(name)? + name.len();
        drawing[at..].split('"').next()?.parse().ok()
    };
    (number(" width=\"").unwrap_or(0.0), number(" height=\"").unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn drawings_stand_below_each_other() {
        let drawing = "<?xml?>\n<svg width=\"40\" height=\"30\" viewBox=\"0 0 40 30\">x</svg>\n";
        let all = [
            ("a<b>".to_owned(), Ok(drawing.to_owned())),
            ("c".to_owned(), Err("too large".to_owned())),
        ];
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8" standalone="no"?>
            <svg width="101" height="114" viewBox="0 0 101 114" xmlns="http://www.w3.org/2000/svg">
            <text x="10" y="19.599999999999998" font-family="monospace" font-size="14">a&lt;b></text>
            <svg y="28" width="40" height="30" viewBox="0 0 40 30">x</svg>
            <text x="10" y="77.6" font-family="monospace" font-size="14">c</text>
            <text x="10" y="105.6" font-family="monospace" font-size="14">too large</text>
            </svg>
        "#]].assert_eq(&stacked(&all));
    }
}
