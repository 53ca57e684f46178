//! The tasks for each file: every command, every pass by itself, all facts.
//!
//! `completions` and `man` read no code.

use std::path::Path;

use phalanx::transform::Registry;

/// One kind of run.
pub(super) struct Task {
    pub(super) name: String,
    /// Whether the chore starts itself to ask every fact.
    pub(super) is_facts: bool,
    arguments: Vec<String>,
    subject: Subject,
}

/// The arguments behind the file on the command line.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Subject {
    None,
    /// A kernel, and a line in it.
    Line,
    /// A kernel, and what it is launched with.
    Launch,
}

impl Task {
    fn new(name: &str, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { name: name.to_owned(), is_facts: false, arguments, subject: Subject::None }
    }

    /// The arguments of the program. The file is the last of them, except for its subject.
    pub(super) fn arguments(&self, file: &Path, text: &str) -> Vec<String> {
        let mut words = self.arguments.clone();
        words.push(file.display().to_string());
        let (name, parameters, line) = kernel(text).unwrap_or(("k", "", 0));
        match self.subject {
            Subject::None => {}
            Subject::Line => words.extend([format!("@{name}"), format!("--line={line}")]),
            Subject::Launch => {
                words.push(format!("@{name}"));
                let parameters = parameters.split(", ").filter(|parameter| !parameter.is_empty());
                words.extend(parameters.map(|parameter| match parameter.starts_with("ptr") {
                    true => "--arg=buf:i32:zero*64".to_owned(),
                    false => "--arg=i32:3".to_owned(),
                }));
            }
        }
        words
    }
}

/// The first kernel: its name, its parameters, and the number of its last line that stores or
/// branches under a condition.
fn kernel(text: &str) -> Option<(&str, &str, usize)> {
    let lines = || text.lines().enumerate();
    let (start, head) = lines().find(|(_, line)| line.starts_with("define amdgpu_kernel"))?;
    let (name, rest) = head.split_once('@')?.1.split_once('(')?;
    let parameters = rest.rsplit_once(')')?.0;
    let last = lines()
        .skip(start)
        .take_while(|(_, line)| *line != "}")
        .filter(|(_, line)| line.starts_with("  store") || line.starts_with("  br i1"))
        .last();
    Some((name, parameters, last.map_or(start, |(at, _)| at) + 1))
}

/// Every task.
pub(super) fn all() -> Vec<Task> {
    let mut tasks = vec![
        Task::new("analyze", "-j1 analyze"),
        Task::new("analyze all", "-j1 analyze --print all"),
        Task::new("analyze json", "-j1 analyze --print all --format json"),
        Task::new("analyze whole", "-j1 analyze --whole-program"),
        Task::new("check", "-j1 check"),
        Task::new("check sarif", "-j1 check --format sarif"),
        Task { subject: Subject::Line, ..Task::new("explain", "explain") },
        Task::new("graph", "graph"),
        Task::new("graph svg", "graph --format svg"),
        Task::new("performance", "-j1 performance"),
        Task::new("report", "-j1 report -o -"),
        Task { subject: Subject::Launch, ..Task::new("run", "run --fuel 1000000 --group 64") },
        Task::new("read and print", "opt -S"),
        Task::new("print uniformity", "opt --disable-output -passes=print<uniformity>"),
        facts(),
    ];
    for pass in Registry::standard().names() {
        tasks.push(Task::new(pass, &format!("opt --disable-output -passes={pass}")));
    }
    tasks
}

/// The tasks of the quick run: together they run nearly all code that grows with the input.
pub(super) fn few() -> Vec<Task> {
    const PASSES: &str = "instsimplify,simplifycfg,early-cse,licm,dce,infer-address-spaces";
    vec![
        Task::new("analyze", "-j1 analyze --print all"),
        Task::new("check", "-j1 check"),
        facts(),
        Task::new("passes", &format!("opt --disable-output -passes={PASSES}")),
    ]
}

fn facts() -> Task {
    Task { is_facts: true, ..Task::new("facts", "growth --facts-of") }
}
