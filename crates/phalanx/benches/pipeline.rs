//! Cold times of everything a driver asks, beside LLVM 22 where it is installed:
//! `cargo bench -p phalanx`.
//!
//! For each input: reading (parse and verify), all graph facts, uniformity, in nanoseconds per
//! instruction; their sum; and the sum as a share of what `opt-22 -passes='print<uniformity>'`
//! takes for the same file with its output thrown away. The second table gives the growth of each
//! family from 10,000 to 100,000 units, where 10 is linear.
//!
//! Times are medians of runs in this process. Arguments are parts of names; inputs without one of
//! them are left out.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads files, runs programs and prints"
)]

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use phalanx::{Session, db::queries};
use phalanx_testing::{
    giants::{Family, Giant},
    llvm_tools,
};

/// LLVM is given up on after this: several families are quadratic there.
const PATIENCE: Duration = Duration::from_secs(20);

struct Times {
    instructions: usize,
    read: Duration,
    graph: Duration,
    uniformity: Duration,
}

impl Times {
    fn total(&self) -> Duration {
        self.read + self.graph + self.uniformity
    }
}

fn main() {
    let filters: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str()));
    let opt = llvm_tools::find("opt");
    println!(
        "{:<28}{:>10}{:>8}{:>8}{:>8}{:>10}{:>10}{:>8}",
        "input", "insts", "read", "graph", "unif", "total ms", "opt ms", "share"
    );
    println!("{:<28}{:>10}{:>8}{:>8}{:>8}", "", "", "ns/inst", "ns/inst", "ns/inst");
    let mut kernels: Vec<PathBuf> =
        std::fs::read_dir(llvm_tools::workspace_root().join("test-suite/ll"))
            .expect("the kernels are there")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "ll"))
            .collect();
    kernels.sort();
    for path in kernels {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if wanted(&name) {
            let text = std::fs::read(&path).expect("a kernel can be read");
            row(&name, &text, opt.as_deref(), &path);
        }
    }
    let folder = std::env::temp_dir().join(format!("phalanx-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for inputs");
    let mut growth = Vec::new();
    for &family in Family::ALL {
        let mut totals = Vec::new();
        for size in [10_000, 100_000, 1_000_000] {
            let name = format!("{} {size}", family.name());
            if !wanted(&name) || size == 1_000_000 && family != Family::Line {
                continue;
            }
            let text = Giant::new(family, size).text();
            let path = folder.join("input.ll");
            std::fs::write(&path, &text).expect("an input can be written");
            // LLVM needs minutes and gigabytes for most families beyond this.
            let opt = opt.as_deref().filter(|_| size <= 10_000 || family == Family::Line);
            totals.push(row(&name, text.as_bytes(), opt, &path));
        }
        if let [small, large, ..] = totals[..] {
            growth.push((family.name(), large.as_secs_f64() / small.as_secs_f64()));
        }
    }
    // Nothing is lost when the folder stays behind.
    let _ = std::fs::remove_dir_all(&folder);
    if !growth.is_empty() {
        println!("\ngrowth from 10,000 to 100,000 units (10 is linear)");
        for (name, factor) in growth {
            println!("{name:<28}{factor:>10.1}");
        }
    }
}

fn row(name: &str, text: &[u8], opt: Option<&Path>, path: &Path) -> Duration {
    let runs = if text.len() > 1_000_000 { 3 } else { 15 };
    let mut samples: Vec<Times> = (0..runs).map(|_| measure(text)).collect();
    samples.sort_by_key(Times::total);
    let times = &samples[runs / 2];
    let per = |time: Duration| time.as_nanos() as f64 / times.instructions as f64;
    let total = times.total();
    let llvm = opt.map(|opt| time_of_opt(opt, path));
    let (llvm, share) = match llvm {
        None => ("-".to_owned(), "-".to_owned()),
        Some(None) => (format!(">{}", PATIENCE.as_millis()), "-".to_owned()),
        Some(Some(time)) => (
            format!("{:.1}", millis(time)),
            format!("{:.2}", total.as_secs_f64() / time.as_secs_f64()),
        ),
    };
    println!(
        "{name:<28}{:>10}{:>8.0}{:>8.0}{:>8.0}{:>10.2}{llvm:>10}{share:>8}",
        times.instructions,
        per(times.read),
        per(times.graph),
        per(times.uniformity),
        millis(total),
    );
    total
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// One cold run.
fn measure(text: &[u8]) -> Times {
    let mut session = Session::new();
    let start = Instant::now();
    let module =
        session.read(text).unwrap_or_else(|error| panic!("{}", error.render("input", text)));
    let read = start.elapsed();
    let functions: Vec<_> = session.functions(module).collect();
    let start = Instant::now();
    for &function in &functions {
        black_box(session.dom_tree(function));
        black_box(session.postdom_tree(function));
        black_box(session.dom_frontier(function));
        black_box(session.control_dependence(function));
        black_box(session.cycles(function));
    }
    let graph = start.elapsed();
    let start = Instant::now();
    for &function in &functions {
        black_box(queries::uniformity(session.database(), function.input()));
    }
    let uniformity = start.elapsed();
    let instructions = functions
        .iter()
        .map(|&function| {
            let code = session.code(function);
            let blocks = code.flow.order().iter();
            blocks.map(|&block| code.body.block_insts(block).count()).sum::<usize>()
        })
        .sum::<usize>();
    Times { instructions: instructions.max(1), read, graph, uniformity }
}

/// The median of three runs of LLVM; none when it takes too long.
fn time_of_opt(opt: &Path, path: &Path) -> Option<Duration> {
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        let mut child = Command::new(opt)
            .args(["-passes=print<uniformity>", "-disable-output"])
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        while child.try_wait().ok()?.is_none() {
            if start.elapsed() > PATIENCE {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(start.elapsed());
    }
    times.sort();
    Some(times[1])
}
