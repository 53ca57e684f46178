//! Measures the parser: time, size and the ratio to LLVM, per family of generated modules or per
//! file.
//!
//! `cargo bench -p phalanx-llvm --bench parse` reads each family at about 10,000, 100,000 and
//! 1,000,000 instructions. `-- NAME…` restricts the families or names `.ll` files, `-- --size N`
//! gives one size.
//!
//! Where `opt-22` is installed it reads the same text (`-passes=no-op-module -disable-output`,
//! which checks it as well). The ratio is of user times, the best of a few runs each; LLVM's
//! includes the start of its process, so it means something from 100,000 instructions on. Our
//! memory is body, flow and extras of all functions, names included.
//!
//! A plain harness and not criterion: another program's user time is part of the result.

#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::disallowed_methods, reason = "reads files and runs LLVM")]

use std::{
    fs,
    hint::black_box,
    io,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use phalanx_ir::Context;
use phalanx_llvm::{Parsed, parse_module};
use phalanx_testing::{
    giants::{Family, Giant},
    llvm_tools,
};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn main() {
    let mut sizes = SIZES.to_vec();
    let (mut families, mut files) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--size" {
            sizes = arguments.next().and_then(|size| size.parse().ok()).into_iter().collect();
        } else if let Some(family) = Family::from_name(&argument) {
            families.push(family);
        } else if argument.ends_with(".ll") {
            files.push(argument);
        }
    }
    if families.is_empty() && files.is_empty() {
        families = Family::ALL.to_vec();
    }
    let opt = llvm_tools::find("opt");
    if opt.is_none() {
        println!("opt-22 not found: no ratios");
    }
    println!(
        "{:<24} {:>9} {:>8} {:>8} {:>9} {:>9} {:>10} {:>7}",
        "text", "insts", "MB", "MB/s", "ns/inst", "B/inst", "opt user s", "ratio"
    );
    for family in families {
        for &size in &sizes {
            let giant = Giant::new(family, size / family.instructions_per_unit());
            row(family.name(), giant.text().as_bytes(), opt.as_deref());
        }
    }
    for file in files {
        match fs::read(&file) {
            Ok(source) => row(&file, &source, opt.as_deref()),
            Err(error) => println!("{file}: {error}"),
        }
    }
}

fn row(name: &str, source: &[u8], opt: Option<&Path>) {
    let parse =
        || parse_module(Arc::new(Context::new()), black_box(source)).expect("the text is good");
    let (wall, user) = best(|| {
        black_box(parse());
        Ok(())
    })
    .expect("nothing of the system is needed");
    let parsed = parse();
    let insts: usize =
        parsed.module.functions.iter().map(|function| function.body.id_count()).sum();
    assert!(insts > 0, "{name} has no instructions");
    let bytes = heap_bytes(&parsed);
    let megabytes = source.len() as f64 / 1e6;
    print!(
        "{name:<24} {insts:>9} {megabytes:>8.1} {:>8.0} {:>9.0} {:>9.1}",
        megabytes / wall.as_secs_f64(),
        wall.as_nanos() as f64 / insts as f64,
        bytes as f64 / insts as f64,
    );
    match opt.map(|opt| opt_time(opt, source)) {
        Some(Ok(theirs)) => {
            println!(
                " {:>10.3} {:>7.2}",
                theirs.as_secs_f64(),
                user.as_secs_f64() / theirs.as_secs_f64()
            );
        }
        Some(Err(error)) => println!(" {error}"),
        None => println!(),
    }
}

fn heap_bytes(parsed: &Parsed) -> usize {
    let functions = parsed.module.functions.iter();
    functions.map(|f| f.body.heap_bytes() + f.flow.heap_bytes() + f.extras.heap_bytes()).sum()
}

/// Least wall-clock and user time of a few runs. Short runs are repeated, since user time comes in
/// ticks of 10 ms.
fn best(mut run: impl FnMut() -> io::Result<()>) -> io::Result<(Duration, Duration)> {
    let (mut wall, mut user) = (Duration::MAX, Duration::MAX);
    let all = Instant::now();
    while all.elapsed() < Duration::from_secs(2) {
        let (start, before, mut runs) = (Instant::now(), user_time()?, 0u32);
        while runs == 0 || start.elapsed() < Duration::from_millis(300) {
            let start = Instant::now();
            run()?;
            wall = wall.min(start.elapsed());
            runs += 1;
        }
        user = user.min((user_time()? - before) / runs);
    }
    Ok((wall, user))
}

/// User time of this process and of its children that have ended.
fn user_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = after_name.split_whitespace();
    // Fields 14 (own) and 16 (children) of the whole line, of which two are before the name's end.
    let own: u64 = fields.nth(11).and_then(|field| field.parse().ok()).unwrap_or(0);
    let children: u64 = fields.nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    Ok(Duration::from_millis((own + children) * 10))
}

fn opt_time(opt: &Path, source: &[u8]) -> io::Result<Duration> {
    let file = std::env::temp_dir().join(format!("phalanx-parse-{}.ll", std::process::id()));
    fs::write(&file, source)?;
    let run = || {
        let mut command = Command::new(opt);
        command.args(["-passes=no-op-module", "-disable-output"]).arg(&file);
        let status = command.stdin(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other("opt-22 refuses the text")) }
    };
    let result = best(run).map(|(_, user)| user);
    fs::remove_file(&file)?;
    result
}
