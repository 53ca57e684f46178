//! The `phalanx` command line: arguments, files, terminal, threads. Everything else is in the
//! library.
#![allow(clippy::disallowed_methods, reason = "this crate is where files are read")]

mod analyze;
mod args;
mod check;
mod explain;
mod file_kind;
mod files;
mod functions;
mod graph;
mod input;
mod md5;
mod opt;
mod performance;
mod pipeline;
mod report;
mod run;
mod shell;
mod status;
mod terminal;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser;

use args::{Cli, Command};
use status::Status;
use terminal::Terminal;

fn main() -> ExitCode {
    if std::env::args_os().len() <= 1 {
        Terminal::new(args::ColorChoice::Auto).err(shell::FIRST);
        return ExitCode::from(Status::Bad as u8);
    }
    let cli = match Cli::try_parse_from(args::normalize(std::env::args_os())) {
        Ok(cli) => cli,
        Err(said) => return ExitCode::from(say(&said) as u8),
    };
    let terminal = Terminal::new(cli.color);
    if let Err(error) =
        rayon::ThreadPoolBuilder::new().num_threads(cli.threads.into()).build_global()
    {
        terminal.error(&format!("cannot start {} threads: {error}", cli.threads));
        return ExitCode::from(Status::Bad as u8);
    }
    let result = match &cli.command {
        Command::Analyze(args) => analyze::run(args, &terminal),
        Command::Explain(args) => explain::run(args, &terminal),
        Command::Check(args) => check::run(args, &terminal),
        Command::Opt(args) => opt::run(args, &terminal),
        Command::Graph(args) => graph::run(args, &terminal),
        Command::Performance(args) => performance::run(args, &terminal),
        Command::Report(args) => report::run(args, &terminal),
        Command::Run(args) => run::run(args, &terminal),
        Command::Completions(args) => shell::completions(args, &terminal),
        Command::Man(args) => shell::man(args, &terminal),
    };
    let status = result.unwrap_or_else(|error| {
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_broken_pipe) {
            return Status::Fine;
        }
        input::tell(&error, &terminal);
        Status::Bad
    });
    ExitCode::from(status as u8)
}

/// Prints clap's output in place of a command: help and the version, or an error in the command
/// line. Clap itself would end the program with the same status whether the output could be written
/// or not.
fn say(said: &clap::Error) -> Status {
    let written = said.print().and_then(|()| io::stdout().flush());
    match written {
        _ if said.use_stderr() => Status::Bad,
        Ok(()) => Status::Fine,
        Err(error) if is_broken_pipe(&error) => Status::Fine,
        Err(error) => {
            Terminal::new(args::ColorChoice::Auto).error(&error.to_string());
            Status::Bad
        }
    }
}

/// A reader that closes the pipe (`| head`) is not an error.
fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
