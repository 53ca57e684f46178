//! Phalanx's own headers for CUDA and HIP, for machines without a toolkit. They are part of the
//! program and are written to a folder for clang to read.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Digest, Hasher, cache::write_atomically};

/// The header that is included before each source.
pub(crate) const MAIN: &str = "phalanx_device.h";

/// Files by their names.
const FILES: [(&str, &str); 3] = [
    (MAIN, include_str!("../headers/phalanx_device.h")),
    ("phalanx_cuda.h", include_str!("../headers/phalanx_cuda.h")),
    ("phalanx_hip.h", include_str!("../headers/phalanx_hip.h")),
];

/// Headers that sources include. They are written without content: the main header, which is
/// included before each source, has all that is supported of them.
const NAMES: [&str; 13] = [
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "device_atomic_functions.h",
    "vector_types.h",
    "vector_functions.h",
    "sm_30_intrinsics.h",
    "sm_20_atomic_functions.h",
    "hip/hip_runtime.h",
    "hip/hip_runtime_api.h",
    // Clang's wrapper of instructions includes it.
    "crt/sm_70_rt.hpp",
];

/// Headers that clang's wrapper of CUDA's headers includes, and that incomplete toolkits lack.
const OPTIONAL: [&str; 1] = ["curand_mtgp32_kernel.h"];

/// The folders that were written.
pub(crate) struct Own {
    /// Headers in place of a toolkit.
    pub(crate) include: PathBuf,
    /// Empty headers in place of optional parts of a toolkit.
    pub(crate) optional: PathBuf,
}

/// Writes the headers below a folder, or finds them there.
pub(crate) fn write(folder: &Path) -> io::Result<Own> {
    let base = folder.join(format!("phalanx-headers-{}", digest()));
    let own = Own { include: base.join("include"), optional: base.join("optional") };
    for (name, text) in FILES {
        put(&own.include.join(name), text)?;
    }
    for name in NAMES {
        put(&own.include.join(name), "#pragma once\n#pragma GCC system_header\n")?;
    }
    for name in OPTIONAL {
        put(&own.optional.join(name), "#pragma once\n#pragma GCC system_header\n")?;
    }
    Ok(own)
}

/// Writes a file unless it exists with this content; another process may do the same.
fn put(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_atomically(path, text.as_bytes())
}

fn digest() -> Digest {
    let add = |hasher: Hasher, (name, text): &(&str, &str)| {
        hasher.with(name.as_bytes()).with(text.as_bytes())
    };
    FILES.iter().fold(Hasher::default(), add).finish()
}
