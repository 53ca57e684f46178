//! Memory accesses of a wave in kernels as clang-22 compiles them. `UPDATE_EXPECT=1` accepts
//! changes.

use std::path::PathBuf;

use expect_test::{Expect, expect};
use phalanx_test_suite::kernels::Manifest;

/// The memory accesses of the first kernel of a source, compiled with -O2 and launched so.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(file: &str, target: &str, block: &str, expected: Expect) {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let variants = manifest.variants();
    let variant = variants
        .iter()
        .find(|v| v.file == file && v.target == target && v.level == "-O2" && !v.debug)
        .unwrap_or_else(|| panic!("{file} is not compiled for {target}"));
    let path =
        manifest.compile(&compiler, variant, &folder).unwrap_or_else(|error| panic!("{error:#}"));
    let mut command = crate::phalanx().with("analyze").with("--print").with("accesses");
    if !block.is_empty() {
        command = command.with("--group").with(block);
    }
    let outcome = command.run([&path], &[]).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let mut out = String::new();
    let mut functions = 0;
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        functions += usize::from(!line.starts_with(' '));
        // The first one.
        if functions < 2 {
            out.push_str(line.split(", !").next().unwrap_or_default().trim_end());
            out.push('\n');
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn saxpy() {
    check(
        "cuda/saxpy.cu",
        "nvptx",
        "256",
        expect![[r#"
        kernel @saxpy line 11
          13 of 18 values divergent, 2 of 2 branches, 1 of 1 cycles
          memory accesses
              32  consecutive 128 bytes in 2 x 128 or 5 x 32  %19 = load float, ptr %18, align 4
              35  consecutive 128 bytes in 2 x 128 or 5 x 32  %22 = load float, ptr %21, align 4
              37  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %23, ptr %21, align 4
    "#]],
    );
}

#[test]
fn matmul() {
    check(
        "cuda/matmul.cu",
        "nvptx",
        "32x8",
        expect![[r#"
            kernel @matmul_blocked line 10
              85 of 141 values divergent, 4 of 7 branches, 0 of 2 cycles
              memory accesses
                  61  consecutive if no index wraps 128 bytes in 2 x 128 or 5 x 32  %51 = load float, ptr %50, align 4
                  62  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %51, ptr %20, align 4
                  67  consecutive 128 bytes in 2 x 128 or 5 x 32  %56 = load float, ptr %55, align 4
                  68  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %56, ptr %21, align 4
                  72  consecutive if no index wraps 128 bytes in 2 x 128 or 5 x 32  %60 = load float, ptr %59, align 4
                  73  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %60, ptr %26, align 4
                  79  consecutive 128 bytes in 2 x 128 or 5 x 32  %66 = load float, ptr %65, align 4
                  80  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %66, ptr %27, align 4
                  84  consecutive if no index wraps 128 bytes in 2 x 128 or 5 x 32  %70 = load float, ptr %69, align 4
                  85  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %70, ptr %32, align 4
                  91  consecutive 128 bytes in 2 x 128 or 5 x 32  %76 = load float, ptr %75, align 4
                  92  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %76, ptr %33, align 4
                  96  consecutive if no index wraps 128 bytes in 2 x 128 or 5 x 32  %80 = load float, ptr %79, align 4
                  97  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %80, ptr %38, align 4
                 103  consecutive 128 bytes in 2 x 128 or 5 x 32  %86 = load float, ptr %85, align 4
                 104  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %86, ptr %39, align 4
                 127  consecutive 128 bytes in 2 x 128 or 5 x 32  %104 = load float, ptr %103, align 4
                 129  broadcast 128 bytes in 1 x 128 or 1 x 32  %106 = load float, ptr %105, align 4
                 133  broadcast 128 bytes in 1 x 128 or 1 x 32  %110 = load float, ptr %109, align 4
                 137  broadcast 128 bytes in 1 x 128 or 1 x 32  %114 = load float, ptr %113, align 4
                 141  broadcast 128 bytes in 1 x 128 or 1 x 32  %118 = load float, ptr %117, align 4
                 159  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %88, ptr %130, align 4
                 173  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %89, ptr %139, align 4
                 187  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %90, ptr %148, align 4
                 201  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %91, ptr %157, align 4
        "#]],
    );
}

#[test]
fn stencil() {
    check(
        "cuda/stencil.cu",
        "nvptx",
        "32x8",
        expect![[r#"
            kernel @_Z9heat_stepILi1EEvPKfPfii line 20
              39 of 67 values divergent, 3 of 6 branches, 1 of 2 cycles
              memory accesses
                  71  unknown  %42 = load float, ptr %41, align 4
                  74  consecutive 128 bytes in 2 x 128 or 5 x 32  store float %42, ptr %44, align 4
                  85  broadcast 128 bytes in 1 x 128 or 1 x 32  %51 = load float, ptr addrspacecast (ptr addrspace(4) @weights to ptr), align 4
                  91  consecutive 128 bytes in 2 x 128 or 5 x 32  %57 = load float, ptr %56, align 4
                  94  broadcast 128 bytes in 1 x 128 or 1 x 32  %60 = load float, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(4) @weights to ptr), i64 4), align 4
                  97  consecutive 128 bytes in 2 x 128 or 5 x 32  %63 = load float, ptr %62, align 4
                  99  consecutive 128 bytes in 2 x 128 or 5 x 32  %65 = load float, ptr %64, align 4
                 102  consecutive 128 bytes in 2 x 128 or 5 x 32  %68 = load float, ptr %67, align 4
                 106  consecutive 128 bytes in 2 x 128 or 5 x 32  %72 = load float, ptr %71, align 4
                 114  consecutive if no index wraps 128 bytes in 2 x 128 or 5 x 32  store float %75, ptr %79, align 4
        "#]],
    );
}

#[test]
fn transpose() {
    check(
        "opencl/transpose.cl",
        "amdgcn",
        "",
        expect![[r#"
            kernel @transpose_tiled line 9
              74 of 78 values divergent, 10 of 10 branches, 0 of 0 cycles
              memory accesses
                  30  consecutive in rows  %23 = load float, ptr addrspace(1) %22, align 4
                  31  consecutive in rows  store float %23, ptr addrspace(3) %15, align 4
                  47  consecutive in rows  %33 = load float, ptr addrspace(1) %32, align 4
                  49  consecutive in rows  store float %33, ptr addrspace(3) %34, align 4
                  62  consecutive in rows  %43 = load float, ptr addrspace(1) %42, align 4
                  64  consecutive in rows  store float %43, ptr addrspace(3) %44, align 4
                  77  consecutive in rows  %53 = load float, ptr addrspace(1) %52, align 4
                  79  consecutive in rows  store float %53, ptr addrspace(3) %54, align 4
                  96  strided by 132 in rows  %64 = load float, ptr addrspace(3) %60, align 4
                 101  consecutive in rows  store float %64, ptr addrspace(1) %68, align 4
                 114  strided by 132 in rows  %75 = load float, ptr addrspace(3) %74, align 4
                 119  consecutive in rows  store float %75, ptr addrspace(1) %79, align 4
                 129  strided by 132 in rows  %85 = load float, ptr addrspace(3) %84, align 4
                 134  consecutive in rows  store float %85, ptr addrspace(1) %89, align 4
                 144  strided by 132 in rows  %95 = load float, ptr addrspace(3) %94, align 4
                 149  consecutive in rows  store float %95, ptr addrspace(1) %99, align 4
        "#]],
    );
}

#[test]
fn reduce() {
    check(
        "opencl/reduce.cl",
        "amdgcn",
        "",
        expect![[r#"
        kernel @reduce_sum line 10
          52 of 63 values divergent, 9 of 12 branches, 1 of 1 cycles, 1 temporally divergent use
          memory accesses
              24  broadcast 256 bytes in 1 x 128 or 1 x 32  %13 = load i32, ptr addrspace(4) %12, align 8
              31  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %16, ptr addrspace(3) %17, align 4
              43  consecutive 256 bytes in 3 x 128 or 9 x 32  %24 = load float, ptr addrspace(1) %23, align 4
              51  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %30 = load float, ptr addrspace(3) %29, align 4
              52  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %31 = load float, ptr addrspace(3) %17, align 4
              54  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %32, ptr addrspace(3) %17, align 4
              66  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %37 = load float, ptr addrspace(3) %36, align 4
              67  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %38 = load float, ptr addrspace(3) %17, align 4
              69  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %39, ptr addrspace(3) %17, align 4
              81  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %44 = load float, ptr addrspace(3) %43, align 4
              82  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %45 = load float, ptr addrspace(3) %17, align 4
              84  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %46, ptr addrspace(3) %17, align 4
              96  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %51 = load float, ptr addrspace(3) %50, align 4
              97  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %52 = load float, ptr addrspace(3) %17, align 4
              99  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %53, ptr addrspace(3) %17, align 4
             111  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %58 = load float, ptr addrspace(3) %57, align 4
             112  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %59 = load float, ptr addrspace(3) %17, align 4
             114  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %60, ptr addrspace(3) %17, align 4
             126  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %65 = load float, ptr addrspace(3) %64, align 4
             127  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %66 = load float, ptr addrspace(3) %17, align 4
             129  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %67, ptr addrspace(3) %17, align 4
             141  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %72 = load float, ptr addrspace(3) %71, align 4
             142  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  %73 = load float, ptr addrspace(3) %17, align 4
             144  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %74, ptr addrspace(3) %17, align 4
             155  strided by 4 512 bytes in 3 x 128 or 9 x 32, no bank conflict  %78 = load <2 x float>, ptr addrspace(3) %17, align 4
             159  consecutive 256 bytes in 3 x 128 or 9 x 32, no bank conflict  store float %81, ptr addrspace(3) %17, align 4
             172  broadcast 256 bytes in 1 x 128 or 1 x 32, no bank conflict  %87 = load float, ptr addrspace(3) @reduce_sum.scratch, align 4
             173  broadcast 256 bytes in 1 x 128 or 1 x 32  store float %87, ptr addrspace(1) %86, align 4
    "#]],
    );
}
