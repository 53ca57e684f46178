//! What the tests of the printer share: reading and writing, and LLVM's answers to compare with.
#![allow(dead_code, reason = "each test program uses a part")]

use std::sync::{Arc, OnceLock};

use phalanx_ir::Context;
use phalanx_llvm::{parse_module, print_module};
use phalanx_testing::llvm_tools::{Program, require};

/// `llvm-as-22` and `llvm-dis-22`, looked for once.
pub(crate) struct Llvm {
    assembler: Program,
    disassembler: Program,
}

impl Llvm {
    /// The programs, when they are installed; says so when they are not.
    pub(crate) fn find() -> Option<&'static Llvm> {
        static FOUND: OnceLock<Option<Llvm>> = OnceLock::new();
        let find =
            || Some(Llvm { assembler: require("llvm-as")?, disassembler: require("llvm-dis")? });
        FOUND.get_or_init(find).as_ref()
    }

    /// Whether LLVM reads `text`.
    pub(crate) fn accepts(&self, text: &[u8]) -> bool {
        let run = self.assembler.run(["-disable-verify", "-disable-output"], text);
        run.is_ok_and(|outcome| outcome.success())
    }

    /// How LLVM writes what it reads from `text`, [`normalized`].
    ///
    /// # Errors
    /// LLVM's message when it does not take the text.
    pub(crate) fn rewrite(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let bitcode = self.assembler.run(["-disable-verify", "-o", "-"], text);
        let bitcode = bitcode.map_err(|error| format!("{error:#}"))?;
        if !bitcode.success() {
            return Err(bitcode.errors());
        }
        let out = self.disassembler.run(["-o", "-"], &bitcode.stdout);
        let out = out.map_err(|error| format!("{error:#}"))?;
        if !out.success() {
            return Err(out.errors());
        }
        Ok(normalized(&out.stdout))
    }
}

/// Leaves out what LLVM writes and the module does not say: the name of the file, and the comment
/// before functions whose name is an intrinsic's but that no intrinsic has.
pub(crate) fn normalized(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let made_up = line.starts_with(b"; ModuleID = ")
            || line == b"source_filename = \"<stdin>\"\n"
            || line == b"; Unknown intrinsic\n";
        if !made_up {
            out.extend_from_slice(line);
        }
    }
    // The empty line after the names stands only where something was named.
    let start = out.iter().position(|&byte| byte != b'\n').unwrap_or(out.len());
    out.split_off(start)
}

/// What we write after reading `text`.
///
/// # Errors
/// Our message when we do not take the text.
pub(crate) fn ours(text: &[u8]) -> Result<Vec<u8>, String> {
    match parse_module(Arc::new(Context::new()), text) {
        Ok(parsed) => Ok(normalized(&print_module(&parsed.module))),
        Err(error) => Err(error.message),
    }
}

/// Where two texts differ first: line numbers from 1 and the lines.
pub(crate) fn first_difference(left: &[u8], right: &[u8]) -> Option<String> {
    let mut lines = 1;
    let (mut left, mut right) = (left.split(|&b| b == b'\n'), right.split(|&b| b == b'\n'));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (a, b) if a == b => lines += 1,
            (a, b) => {
                let text = |line: Option<&[u8]>| {
                    line.map_or("(end)".into(), |line| String::from_utf8_lossy(line).into_owned())
                };
                return Some(format!("line {lines}:\n  {}\n  {}", text(a), text(b)));
            }
        }
    }
}

/// Checks that a text is refused with this message, by LLVM too.
#[track_caller]
pub(crate) fn refuse(source: &str, expected: &expect_test::Expect) {
    let error = match parse_module(Arc::new(Context::new()), source.as_bytes()) {
        Err(error) => error,
        Ok(_) => panic!("taken:\n{source}"),
    };
    let (line, column) = error.line_col(source.as_bytes());
    expected.assert_eq(&format!("{line}:{column}: {}", error.message));
    if let Some(llvm) = Llvm::find() {
        assert!(!llvm.accepts(source.as_bytes()), "LLVM takes\n{source}");
    }
}
