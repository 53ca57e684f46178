//! Reads the commands and code that documents show.
//!
//! A page is Markdown. The language of a fenced block says what it contains: `console` has commands
//! behind the prompt `$ `, each followed by its output; any other language is a file, or a part of
//! one. A comment directly before a block says how a test treats it:
//!
//! ````text
//! <!-- not run: it takes minutes -->          the reason why nothing is executed
//! <!-- from: crates/phalanx/examples/a.rs -->  the block is a part of that file
//! ```console
//! $ phalanx check kernel.cu   # a comment
//! nothing found; ...
//! ```
//! ````
//!
//! A backslash at the end of a line continues a command.

/// A fenced block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    /// Line of its opening fence, from 1.
    pub line: usize,
    /// What stands behind the fence.
    pub language: &'a str,
    /// The comment directly before it.
    pub note: Option<&'a str>,
    /// Its lines.
    pub lines: Vec<&'a str>,
}

impl<'a> Block<'a> {
    /// Why nothing in it is executed, if the page says so.
    #[must_use]
    pub fn not_run(&self) -> Option<&'a str> {
        self.note?.strip_prefix("not run: ")
    }

    /// The file that it is a part of, where the page says so.
    #[must_use]
    pub fn from(&self) -> Option<&'a str> {
        self.note?.strip_prefix("from: ")
    }

    /// The name in its first line, a comment with nothing else: `// kernel.cu`, `; kernel.ll`.
    #[must_use]
    pub fn file_name(&self) -> Option<&'a str> {
        let first = self.lines.first()?;
        let name = ["// ", "; ", "# "].iter().find_map(|start| first.strip_prefix(start))?;
        let is_name = !name.contains(' ') && name.contains('.');
        is_name.then_some(name)
    }

    /// The commands of a block for the console, and what each is shown to print.
    #[must_use]
    pub fn commands(&self) -> Vec<Command<'a>> {
        let mut out: Vec<Command<'a>> = Vec::new();
        let mut open = false;
        for line in &self.lines {
            let text = match line.strip_prefix("$ ") {
                Some(text) => text,
                None if open => line,
                None => {
                    if let Some(last) = out.last_mut() {
                        last.shown.push(line);
                    }
                    continue;
                }
            };
            let text = text.split(" #").next().unwrap_or_default().trim();
            let (text, continues) = match text.strip_suffix('\\') {
                Some(start) => (start.trim_end(), true),
                None => (text, false),
            };
            match out.last_mut() {
                Some(last) if open => last.text = format!("{} {text}", last.text),
                _ => out.push(Command { text: text.to_owned(), shown: Vec::new() }),
            }
            open = continues;
        }
        out
    }
}

/// A command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command<'a> {
    /// What is typed, without prompt and comment.
    pub text: String,
    /// The lines that follow it.
    pub shown: Vec<&'a str>,
}

/// The blocks of a page, in order.
#[must_use]
pub fn blocks(markdown: &str) -> Vec<Block<'_>> {
    let mut out: Vec<Block<'_>> = Vec::new();
    let (mut note, mut open) = (None, false);
    for (at, line) in markdown.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, open, out.last_mut()) {
            (Some(_), true, _) => open = false,
            (Some(language), false, _) => {
                let language = language.trim();
                let lines = Vec::new();
                out.push(Block { line: at + 1, language, note: note.take(), lines });
                open = true;
            }
            (None, true, Some(block)) => block.lines.push(line),
            _ => {
                let inside = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                note = inside;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
Words.

```console
$ first   # a comment
it prints
$ second \\
  --option
```

<!-- not run: a reason -->
```console
$ third
```

<!-- too early -->

```rust
// src/main.rs
let sh = 1;
```
";

    #[test]
    fn commands_and_what_they_print() {
        let commands: Vec<_> = blocks(PAGE)[0].commands();
        let [first, second] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!((&*first.text, &first.shown[..]), ("first", &["it prints"][..]));
        assert_eq!((&*second.text, &second.shown[..]), ("second --option", &[][..]));
    }

    #[test]
    fn notes_belong_to_the_block_behind_them() {
        let blocks = blocks(PAGE);
        let notes: Vec<_> = blocks.iter().map(|block| (block.line, block.not_run())).collect();
        assert_eq!(notes, [(3, None), (11, Some("a reason")), (17, None)]);
    }

    #[test]
    fn files_have_a_name_in_their_first_line() {
        let names: Vec<_> = blocks(PAGE).iter().map(Block::file_name).collect();
        assert_eq!(names, [None, None, Some("src/main.rs")]);
    }
}
