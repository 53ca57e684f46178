//! The commands that a document tells people to type.
//!
//! They stand in fenced blocks marked `sh`, `bash` or `console`, one to a line; a leading `$ ` is a prompt, and in a
//! block with prompts the other lines are output. A comment ends a command; a backslash at the end of a line continues
//! it.

/// The commands of a Markdown text, in order.
#[must_use]
pub fn commands(markdown: &str) -> Vec<String> {
    let mut out = Vec::new();
    // In a block: its language and its lines so far.
    let mut block: Option<(&str, Vec<&str>)> = None;
    for line in markdown.lines() {
        match (line.trim_start().strip_prefix("```"), &mut block) {
            (None, None) => {}
            (None, Some((_, lines))) => lines.push(line),
            (Some(language), None) => block = Some((language.trim(), Vec::new())),
            (Some(_), Some((language, lines))) => {
                if matches!(*language, "sh" | "bash" | "console" | "shell") {
                    out.extend(commands_of_block(lines));
                }
                block = None;
            }
        }
    }
    out
}

fn commands_of_block(lines: &[&str]) -> Vec<String> {
    let prompts = lines.iter().any(|line| line.starts_with("$ "));
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        let text = match line.strip_prefix("$ ") {
            Some(text) => text,
            None if prompts && !open => continue,
            None => line,
        };
        let text = text.split(" #").next().unwrap_or_default().trim();
        let (text, continues) = match text.strip_suffix('\\') {
            Some(start) => (start.trim_end(), true),
            None => (text, false),
        };
        if open && let Some(last) = out.last_mut() {
            last.push(' ');
            last.push_str(text);
        } else if !text.is_empty() && !text.starts_with('#') {
            out.push(text.to_owned());
        }
        open = continues;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_shell_blocks_only() {
        let text = "\
Words.

```sh
# first
cargo run -- a.ll   # shows
cargo test \\
  --workspace
```

```rust
let sh = 1;
```

```console
$ phalanx analyze a.ll
output
$ true
```
";
        assert_eq!(
            commands(text),
            ["cargo run -- a.ll", "cargo test --workspace", "phalanx analyze a.ll", "true"]
        );
    }
}
