//! The default data layouts of modules that state none, against LLVM's.

use phalanx_target::Target;

use crate::oracle;

#[test]
fn layouts_are_those_of_llvm() {
    let triples = [
        "amdgcn-amd-amdhsa",
        "amdgcn--",
        "r600--",
        "nvptx64-nvidia-cuda",
        "nvptx--",
        "spirv--",
        "spirv1.5-unknown-vulkan1.3",
        "spirv32--",
        "spirv32v1.2-unknown-unknown",
        "spirv64--",
        "spirv64v1.3-amd-amdhsa",
        "spirv64-amd-foo",
        "spirv64-intel",
        "spirvfoo--",
        "spir--",
        "spir64-unknown-unknown",
        "",
    ];
    for triple in triples {
        let module = format!("target triple = \"{triple}\"\n@variable = global i32 0\n");
        let Some(output) = oracle::run("opt-22", &["-S", "-"], &module) else { return };
        let line = output.stdout.lines().find_map(|line| line.strip_prefix("target datalayout = "));
        let layout = line.map(|line| line.trim_matches('"'));
        assert_eq!(Target::new(triple, "").default_data_layout(), layout, "{triple}");
    }
}
