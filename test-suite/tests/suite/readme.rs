//! The commands of the README, and of the page about the command line, work as written, in a folder
//! with a `kernel.ll` and a `kernel.cu`.

use std::fs;

use phalanx_testing::llvm_tools::{self, Program, TIME_LIMIT};

const SOURCE: &str = "\
__global__ void reduce(const float *in, float *out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  out[threadIdx.x] = sum;
}
";

#[test]
fn commands_of_the_readme_work() {
    let commands = run_commands("README.md");
    assert!(commands.iter().any(|command| command == "cargo test --workspace"), "{commands:?}");
    run_commands("docs/cli.md");
    run_commands("docs/report.md");
}

/// Runs what a page tells people to type, as far as it is about the binary; all that it tells them.
fn run_commands(page: &str) -> Vec<String> {
    let root = llvm_tools::workspace_root();
    let text = fs::read_to_string(root.join(page)).expect("page");
    let commands = phalanx_test_suite::readme::commands(&text);
    let folder = tempfile::tempdir().expect("folder");
    let kernel = fs::read(root.join("test-suite/ll/reduce.amdgcn.ll")).expect("kernel");
    fs::write(folder.path().join("kernel.ll"), kernel).expect("kernel.ll");
    fs::write(folder.path().join("kernel.cu"), SOURCE).expect("kernel.cu");
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
        if arguments.contains(".cu") && llvm_tools::require("clang").is_none() {
            continue;
        }
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

/// Lines that a page shows are lines of what is printed, in that order, down to the `...` after which it leaves the rest out.
pub(crate) fn shown(text: &str, printed: &str) {
    let mut rest = printed.lines();
    for line in text.lines().take_while(|&line| line != "...") {
        assert!(
            rest.any(|other| other == line),
            "`{line}` is not printed, or not there:\n{printed}"
        );
    }
}

/// What pages show of outputs is printed, for the files of `test-suite/ll` that they are about.
#[test]
fn outputs_that_pages_show() {
    let (root, folder) = (llvm_tools::workspace_root(), phalanx_test_suite::folder().join("ll"));
    let run = |arguments: &[&str]| {
        let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], TIME_LIMIT);
        let outcome = outcome.expect("it starts");
        String::from_utf8([outcome.stdout, outcome.stderr].concat()).expect("text")
    };
    let page = fs::read_to_string(root.join("docs/explain.md")).expect("page");
    let block = page.split("```\n$ phalanx ").find(|part| part.starts_with("explain calls.ll "));
    let block = block.and_then(|part| part.split("```").next()).expect("an example");
    let (command, text) = block.split_once('\n').expect("a command, then what it prints");
    assert!(text.lines().count() > 3, "{text}");
    shown(text, &run(&command.split_whitespace().collect::<Vec<_>>()));

    let page = fs::read_to_string(root.join("docs/spaces.md")).expect("page");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).map(str::trim_start).collect();
    let find = |start: &str| {
        let mut starting = blocks.iter().filter(|block| block.starts_with(start));
        starting.next().unwrap_or_else(|| panic!("no block begins with {start}"))
    };
    let printed = run(&["opt", "-passes=print<hssa>", "-disable-output", "hssa.ll"]);
    shown(find("; mu(global.0)"), &printed);
    let printed = run(&["analyze", "--print", "spaces", "specialize.ll"]);
    assert!(printed.contains(find("a copy for the calls").trim_end()), "{printed}");
}
