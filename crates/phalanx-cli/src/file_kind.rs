//! Recognises files that are not LLVM IR text but are easily mistaken for it, and advises what to
//! do.
//!
//! Tools for GPUs write many kinds of files, and users easily pass the wrong one:
//!
//! ```text
//! phalanx: a.out is an ELF file; compile its source with `clang -S -emit-llvm` instead
//! ```
//!
//! Binary files are recognised by their first bytes. Text is recognised by its first token behind
//! comments, which in LLVM IR is one of a few words, so no valid IR text is misjudged. O(comments
//! at the start), and for C sources O(length).

/// The kind of a file, and advice; `None` if it may be LLVM IR text.
pub(crate) fn recognize(bytes: &[u8]) -> Option<String> {
    let (what, advice) = binary(bytes).or_else(|| text(bytes))?;
    Some(format!("{what}; {advice}"))
}

/// Whether a file is bitcode, bare or in a wrapper.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(b"\xDE\xC0\x17\x0B")
}

type Kind = (&'static str, &'static str);

const DISASSEMBLE: &str = "phalanx reads textual IR (run llvm-dis on it first)";
const COMPILE: &str =
    "phalanx reads LLVM IR text: compile the source with `clang -S -emit-llvm` instead";
const UNPACK: &str = "unpack it first";
const DEVICE: &str = "it holds compiled code for GPUs: compile the source with \
     `clang --cuda-device-only -S -emit-llvm` (CUDA, HIP) instead";
const TRANSLATE: &str = "translate it to LLVM bitcode with `llvm-spirv -r`, then run llvm-dis";

/// First bytes, and what they begin.
const MAGICS: [(&[u8], Kind); 20] = [
    (b"BC\xC0\xDE", ("LLVM bitcode", DISASSEMBLE)),
    (b"\xDE\xC0\x17\x0B", ("LLVM bitcode", DISASSEMBLE)),
    (b"\x50\xED\x55\xBA", ("a CUDA fat binary", DEVICE)),
    (b"\x10\xFF\x10\xAD", ("a package of clang's offloading", DEVICE)),
    (b"__CLANG_OFFLOAD_BUNDLE__", ("a bundle of clang's offloading", DEVICE)),
    (b"CCOB", ("a compressed bundle of clang's offloading", DEVICE)),
    (b"\x03\x02\x23\x07", ("SPIR-V", TRANSLATE)),
    (b"\x07\x23\x02\x03", ("SPIR-V", TRANSLATE)),
    (b"\x1F\x8B", ("compressed with gzip", UNPACK)),
    (b"BZh", ("compressed with bzip2", UNPACK)),
    (b"\xFD7zXZ\x00", ("compressed with xz", UNPACK)),
    (b"\x28\xB5\x2F\xFD", ("compressed with zstd", UNPACK)),
    (b"PK\x03\x04", ("a ZIP archive", UNPACK)),
    (b"!<arch>\n", ("an archive of object files", COMPILE)),
    (b"DXBC", ("a DirectX container", COMPILE)),
    (b"MTLB", ("a Metal library", COMPILE)),
    (b"MZ", ("a Windows program", COMPILE)),
    (b"\xCF\xFA\xED\xFE", ("a Mach-O file", COMPILE)),
    (b"\xFF\xFE", ("text in UTF-16", "convert it to UTF-8 first")),
    (b"\xFE\xFF", ("text in UTF-16", "convert it to UTF-8 first")),
];

fn binary(bytes: &[u8]) -> Option<Kind> {
    if bytes.starts_with(b"\x7FELF") {
        let little = bytes.get(5) != Some(&2);
        let machine = bytes.get(18..20).map(|two| match little {
            true => u16::from_le_bytes([two[0], two[1]]),
            false => u16::from_be_bytes([two[0], two[1]]),
        });
        return Some(match machine {
            Some(190) => ("an ELF file with code for NVIDIA GPUs (cubin)", DEVICE),
            Some(224) => ("an ELF file with code for AMD GPUs (code object)", DEVICE),
            _ => ("an ELF file", COMPILE),
        });
    }
    MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

const CUDA: Kind =
    ("CUDA source", "phalanx compiles it from a file that ends in `.cu`, or with `-- -x cuda`");
const HIP: Kind =
    ("HIP source", "phalanx compiles it from a file that ends in `.hip`, or with `-- -x hip`");
const OPENCL: Kind =
    ("OpenCL source", "phalanx compiles it from a file that ends in `.cl`, or with `-- -x cl`");
const C: Kind = ("C or C++ source", "compile it to LLVM IR first: `clang -S -emit-llvm -g`");
const PTX: Kind = (
    "PTX",
    "it cannot be turned back into LLVM IR: compile the source with \
     `clang --cuda-device-only -S -emit-llvm` instead",
);
const ASSEMBLY: Kind = ("assembly", COMPILE);
const SPIRV_TEXT: Kind = (
    "SPIR-V assembly",
    "assemble it with spirv-as and translate it with `llvm-spirv -r`, then run llvm-dis",
);
const MLIR: Kind = (
    "MLIR",
    "lower it to the LLVM dialect and translate it with `mlir-translate --mlir-to-llvmir`",
);

fn text(bytes: &[u8]) -> Option<Kind> {
    let rest = behind_comments(bytes);
    let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word.as_bytes()));
    let starts_words = |words: &[&str]| {
        words.iter().any(|word| {
            let after = rest.strip_prefix(word.as_bytes());
            let ends = |after: &[u8]| {
                !after.first().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
            };
            after.is_some_and(ends)
        })
    };
    if starts_words(&[".version"]) {
        return Some(PTX);
    }
    if starts(&[
        ".text",
        ".amdgcn_target",
        ".amdgpu",
        ".section",
        ".file",
        ".globl",
        ".hsa",
        ".target",
    ]) {
        return Some(ASSEMBLY);
    }
    if starts_words(&["OpCapability", "OpExtension", "OpMemoryModel"]) {
        return Some(SPIRV_TEXT);
    }
    let is_mlir = starts(&[
        "module {",
        "module @",
        "module attributes",
        "builtin.module",
        "gpu.module",
        "func.func",
        "llvm.func",
        "llvm.module",
        "#map",
        "#loc",
    ]);
    if is_mlir {
        return Some(MLIR);
    }
    let is_c = starts(&["#include", "#define", "#if", "#pragma", "#undef", "#line", "#error"])
        || starts_words(&[
            "extern",
            "static",
            "typedef",
            "template",
            "using",
            "namespace",
            "struct",
            "class",
            "enum",
            "void",
            "int",
            "float",
            "const",
            "inline",
            "kernel",
            "__kernel",
            "__global__",
            "__device__",
            "__constant__",
            "__constant",
            "__attribute__",
            "__host__",
            "__shared__",
            "unsigned",
            "double",
            "half",
            "char",
            "bool",
            "uint",
        ]);
    if !is_c {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| contains(bytes, word.as_bytes()));
    Some(if has(&["hip_runtime", "hipLaunch"]) {
        HIP
    } else if has(&["__global__", "__device__", "<<<", "cuda"]) {
        CUDA
    } else if has(&["__kernel", "kernel void", "get_global_id", "get_local_id", "__local"]) {
        OPENCL
    } else {
        C
    })
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// The text behind white space and comments of LLVM IR, C and PTX.
fn behind_comments(text: &[u8]) -> &[u8] {
    let mut rest = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b";") || rest.starts_with(b"//") {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            rest = &rest[end..];
        } else if rest.starts_with(b"/*") {
            let end = rest.windows(2).skip(2).position(|two| two == b"*/");
            rest = &rest[end.map_or(rest.len(), |end| end + 4)..];
        } else {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        let found = recognize(bytes);
        let what = found.as_deref().and_then(|found| found.split(';').next());
        assert_eq!(what, expected);
    }

    #[test]
    fn binary_files_are_known_by_their_first_bytes() {
        check(b"BC\xC0\xDE5\x14", Some("LLVM bitcode"));
        check(b"\x7FELF\x02\x01\x01", Some("an ELF file"));
        let mut cubin = b"\x7FELF\x02\x01\x01".to_vec();
        cubin.resize(18, 0);
        cubin.extend([190, 0]);
        check(&cubin, Some("an ELF file with code for NVIDIA GPUs (cubin)"));
        check(b"\x50\xED\x55\xBA\x01\0", Some("a CUDA fat binary"));
        check(b"\x03\x02\x23\x07\0\0", Some("SPIR-V"));
        check(b"\x1F\x8B\x08", Some("compressed with gzip"));
    }

    #[test]
    fn sources_are_known_by_their_first_token() {
        check(b"//\n// Generated\n//\n\n.version 7.8\n.target sm_70\n", Some("PTX"));
        check(b"; SPIR-V\n; Version: 1.0\n OpCapability Kernel\n", Some("SPIR-V assembly"));
        check(b"/* x */ #include <cuda.h>\n__global__ void k() {}\n", Some("CUDA source"));
        check(b"extern \"C\" __global__ void k() {}", Some("CUDA source"));
        check(b"#include <hip/hip_runtime.h>\n__global__ void k();", Some("HIP source"));
        check(b"kernel void k(global int *p) {}", Some("OpenCL source"));
        check(b"__kernel void k() {}", Some("OpenCL source"));
        check(b"int main(void) { return 0; }", Some("C or C++ source"));
        check(b"\t.text\n\t.globl f\n", Some("assembly"));
        check(b"module attributes {gpu.container_module} {", Some("MLIR"));
    }

    #[test]
    fn ir_is_not_taken_for_something_else() {
        for text in [
            &b""[..],
            b"; ModuleID = 'a'\nsource_filename = \"a\"\n",
            b"module asm \".version 1\"\n",
            b"define void @f() { ret void }",
            b"/* OpCapability */ declare void @int()",
            b"%struct.x = type { i32 }",
            b"attributes #0 = { nounwind }",
            b"$c = comdat any\n",
            b"!0 = !{}",
            b"/* open",
        ] {
            check(text, None);
        }
    }
}
