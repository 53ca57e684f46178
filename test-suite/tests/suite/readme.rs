//! The commands of the README, and of the page about the command line, work as written, in a folder with a `kernel.ll`.

use std::fs;

use phalanx_testing::llvm_tools::{self, Program, TIME_LIMIT};

#[test]
fn commands_of_the_readme_work() {
    let commands = run_commands("README.md");
    assert!(commands.iter().any(|command| command == "cargo test --workspace"), "{commands:?}");
    run_commands("docs/cli.md");
}

/// Runs what a page tells people to type, as far as it is about the binary; all that it tells them.
fn run_commands(page: &str) -> Vec<String> {
    let root = llvm_tools::workspace_root();
    let text = fs::read_to_string(root.join(page)).expect("page");
    let commands = phalanx_test_suite::readme::commands(&text);
    let folder = tempfile::tempdir().expect("folder");
    let kernel = fs::read(root.join("test-suite/ll/reduce.amdgcn.ll")).expect("kernel");
    fs::write(folder.path().join("kernel.ll"), kernel).expect("kernel.ll");
    let mut run = 0;
    for command in &commands {
        // What cargo builds and runs is the binary that is here already; `dot` may not be installed.
        let (arguments, at) =
            if let Some((_, arguments)) = command.split_once(" -p phalanx-cli -- ") {
                (arguments, root.as_path())
            } else if let Some(arguments) = command.strip_prefix("phalanx ") {
                (arguments, folder.path())
            } else {
                continue;
            };
        let script = format!(
            "set -e; phalanx() {{ '{}' \"$@\"; }}; dot() {{ grep digraph; }}; phalanx {arguments}",
            crate::phalanx().path().display()
        );
        let shell = Program::new("/bin/sh").named("sh");
        let outcome = shell.run_in(Some(at), ["-c", &script], &[], TIME_LIMIT).expect("sh starts");
        assert!(outcome.success(), "`{command}`: {}", outcome.summary());
        let prints = !outcome.stdout.is_empty() || !outcome.stderr.is_empty();
        assert!(
            prints || command.contains(" -o ") || command.contains(" > "),
            "`{command}` says nothing"
        );
        run += 1;
    }
    assert!(run >= 1, "{commands:?}");
    commands
}
