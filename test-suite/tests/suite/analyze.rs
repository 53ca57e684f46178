//! The text output of `phalanx analyze` for a few kernels. `UPDATE_EXPECT=1` accepts changes.

use expect_test::{Expect, expect};

/// The report on a file of `ll/`.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(file: &str, options: &[&str], expected: Expect) {
    let folder = phalanx_test_suite::folder().join("ll");
    let arguments = ["analyze"].iter().chain(options).copied().chain([file]);
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    expected.assert_eq(&String::from_utf8_lossy(&outcome.stdout));
}

#[test]
fn an_early_exit() {
    check(
        "early_exit.ll",
        &[],
        expect![[r#"
            early_exit.ll: amdgcn-amd-amdhsa, wave scope

            kernel @early_exit line 8
              3 of 5 values divergent, 1 of 2 branches, 0 of 0 cycles

              branches
                  12  uniform        br i1 %nothing, label %leave, label %check
                  16  divergent {x}  br i1 %outside, label %leave, label %work

              divergent values
                  10  divergent {x}  %id = call i32 @llvm.amdgcn.workitem.id.x()
                  15  divergent {x}  %outside = icmp uge i32 %id, %n
                  20  divergent {x}  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id

            Braces list what something depends on:
              x  the thread's index x
        "#]],
    );
}

/// The file does not say how it is launched; with rows of 32 in waves of 32, y is the same for all
/// lanes.
#[test]
fn a_launch_that_the_driver_states() {
    for (options, expected) in [
        (
            &["--function", "of_rows", "--print", "branches"][..],
            expect![[r#"
                stated_launch.ll: nvptx64-nvidia-cuda, wave scope

                kernel @of_rows line 7
                  3 of 3 values divergent, 1 of 1 branches, 0 of 0 cycles

                  branches
                      12  divergent {y}  br i1 %first.row, label %store, label %exit

                Braces list what something depends on:
                  y  the thread's index y
            "#]],
        ),
        (
            &["--function", "of_rows", "--print", "branches", "--group", "32x8", "--wave", "32"],
            expect![[r#"
                stated_launch.ll: nvptx64-nvidia-cuda, wave scope

                kernel @of_rows line 7
                  1 of 3 values divergent, 0 of 1 branches, 0 of 0 cycles

                  branches
                      12  uniform   {y}  br i1 %first.row, label %store, label %exit

                Braces list what something depends on:
                  y  the thread's index y
            "#]],
        ),
    ] {
        check("stated_launch.ll", options, expected);
    }
}

#[test]
fn a_counter_that_diverges_after_its_loop() {
    check(
        "temporal_divergence.ll",
        &["--function", "divergent_exit"],
        expect![[r#"
            temporal_divergence.ll: amdgcn-amd-amdhsa, wave scope

            kernel @divergent_exit line 9
              3 of 5 values divergent, 1 of 1 branches, 1 of 1 cycles, 1 temporally divergent use

              branches
                  18  divergent {x}  br i1 %more, label %loop, label %exit

              cycles
                %loop  divergent exit, 1 block
                  exit %loop -> %exit

              divergent values
                  11  divergent {x}  %id = call i32 @llvm.amdgcn.workitem.id.x()
                  17  divergent {x}  %more = icmp ult i32 %next, %id
                  21  divergent {x}  %after = mul i32 %i, 3

              temporally divergent uses
                  21  divergent {x}  %after = mul i32 %i, 3
                      %i from cycle %loop

            Braces list what something depends on:
              x  the thread's index x
        "#]],
    );
}

#[test]
fn an_irreducible_cycle_entered_on_both_sides() {
    check(
        "irreducible_entry.ll",
        &["--print", "branches,cycles"],
        expect![[r#"
            irreducible_entry.ll: amdgcn-amd-amdhsa, wave scope

            kernel @divergent_entry line 10
              8 of 8 values divergent, 2 of 2 branches, 1 of 1 cycles, 1 temporally divergent use

              branches
                  14  divergent {x}  br i1 %even, label %ping, label %pong
                  20  divergent {x}  br i1 %done, label %exit, label %pong

              cycles
                %pong (also entered at %ping)  assumed divergent, irreducible, 2 blocks
                  exit %ping -> %exit

            kernel @uniform_entry line 33
              0 of 6 values divergent, 0 of 2 branches, 0 of 1 cycles

              branches
                  35  uniform    br i1 %even, label %ping, label %pong
                  41  uniform    br i1 %done, label %exit, label %pong

              cycles
                %pong (also entered at %ping)  uniform, irreducible, 2 blocks

            Braces list what something depends on:
              x  the thread's index x
        "#]],
    );
}

#[test]
fn registers_that_are_the_same_for_a_block_differ_in_the_grid() {
    check(
        "nvptx_registers.ll",
        &["--scope", "grid", "--print", "summary,values"],
        expect![[r#"
            nvptx_registers.ll: nvptx64-nvidia-cuda, grid scope

            kernel @registers line 10
              10 of 13 values divergent, 2 of 2 branches, 0 of 0 cycles

              divergent values
                  12  divergent {x}            %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
                  13  divergent {lane}         %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
                  14  divergent {block.x}      %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
                  17  divergent {block.x}      %start = mul i32 %block, %size
                  19  divergent {x, block.x}   %index = add i32 %start, %thread
                  20  divergent {block.x}      %block.low = icmp ult i32 %start, %n
                  24  divergent {x, block.x}   %inside = icmp ult i32 %index, %n
                  25  divergent {opaque.wave}  %mask = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %inside)
                  26  divergent {opaque.wave}  %any = icmp ne i32 %mask, 0
                  30  divergent {lane}         %at = getelementptr i32, ptr addrspace(1) %out, i32 %lane

            Braces list what something depends on:
              x            the thread's index x
              lane         the number of the lane
              block.x      the workgroup's index x
              opaque.wave  a value loaded from memory
        "#]],
    );
    check(
        "nvptx_registers.ll",
        &["--print", "summary,values"],
        expect![[r#"
            nvptx_registers.ll: nvptx64-nvidia-cuda, wave scope

            kernel @registers line 10
              5 of 13 values divergent, 0 of 2 branches, 0 of 0 cycles

              divergent values
                  12  divergent {x}           %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
                  13  divergent {lane}        %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
                  19  divergent {x, block.x}  %index = add i32 %start, %thread
                  24  divergent {x, block.x}  %inside = icmp ult i32 %index, %n
                  30  divergent {lane}        %at = getelementptr i32, ptr addrspace(1) %out, i32 %lane

            Braces list what something depends on:
              x        the thread's index x
              lane     the number of the lane
              block.x  the workgroup's index x
        "#]],
    );
}

#[test]
fn a_tree_reduction() {
    check(
        "reduce.amdgcn.ll",
        &["--print", "summary,branches,cycles,uses"],
        expect![[r#"
            reduce.amdgcn.ll: amdgcn-amd-amdhsa, wave scope

            kernel @reduce_sum line 9
              19 of 31 values divergent, 4 of 6 branches, 1 of 2 cycles, 1 temporally divergent use

              branches
                  15  uniform   {block.x}     br i1 %cmp.not.i, label %if.end.i, label %__clang_ocl_kern_imp_reduce_sum.exit
                  20  divergent {x, block.x}  br i1 %cmp1.i1, label %for.body.i.lr.ph, label %for.cond.cleanup.i
                  46  divergent {x, block.x}  br i1 %cmp1.i, label %for.body.i, label %for.cond.cleanup.i, !llvm.loop !16
                  50  divergent {x}           br i1 %cmp25.i, label %if.then27.i, label %__clang_ocl_kern_imp_reduce_sum.exit
                  55  divergent {x}           br i1 %cmp12.i, label %if.then14.i, label %if.end21.i
                  71  uniform                 br i1 %cmp8.not.i, label %for.cond.cleanup10.i, label %for.body11.i, !llvm.loop !18

              cycles
                %for.body.i  divergent exit, 1 block
                  exit %for.body.i -> %for.cond.cleanup.i
                %for.body11.i  uniform, 3 blocks

              temporally divergent uses
                  29  divergent {x, block.x}  %sum.0.i.lcssa = phi float [ 0.000000e+00, %if.end.i ], [ %add2.i, %for.body.i ]
                      %add2.i from cycle %for.body.i

            Braces list what something depends on:
              x        `get_local_id(0)`
              block.x  `get_group_id(0)`
        "#]],
    );
}

/// Waves that read at different times get one value if there is no write in between; the driver
/// states which assumptions hold.
#[test]
fn loads_that_are_stable_beyond_a_wave() {
    let common = ["--print", "values", "--scope", "workgroup"];
    for (options, expected) in [
        (
            &[][..],
            expect![[r#"
                stable_loads.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @f line 10
                  7 of 10 values divergent, 1 of 1 branches, 0 of 0 cycles

                  divergent values
                      12  divergent {x}                           %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
                      17  divergent {opaque.wave}                 %start = load i32, ptr addrspace(1) %in, align 4
                      18  divergent {x}                           %own.at = getelementptr i32, ptr addrspace(3) @tile, i32 %id
                      21  divergent {opaque.wave}                 %head = load i32, ptr addrspace(3) @tile, align 4
                      22  divergent {block.x, opaque.wave}        %is.more = icmp ult i32 %head, %size
                      27  divergent {opaque.thread, opaque.wave}  %old = atomicrmw add ptr addrspace(1) %out, i32 %head acquire, align 4
                      28  divergent {opaque.wave}                 %late = load i32, ptr addrspace(1) %in, align 4

                Braces list what something depends on:
                  x              the thread's index x
                  block.x        the workgroup's index x
                  opaque.thread  a value that may differ between any two threads
                  opaque.wave    a value loaded from memory
            "#]],
        ),
        (
            &["--assume-race-free"][..],
            expect![[r#"
                stable_loads.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @f line 10
                  6 of 10 values divergent, 1 of 1 branches, 0 of 0 cycles

                  divergent values
                      12  divergent {x}                           %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
                      18  divergent {x}                           %own.at = getelementptr i32, ptr addrspace(3) @tile, i32 %id
                      21  divergent {opaque.wave}                 %head = load i32, ptr addrspace(3) @tile, align 4
                      22  divergent {block.x, opaque.wave}        %is.more = icmp ult i32 %head, %size
                      27  divergent {opaque.thread, opaque.wave}  %old = atomicrmw add ptr addrspace(1) %out, i32 %head acquire, align 4
                      28  divergent {opaque.wave}                 %late = load i32, ptr addrspace(1) %in, align 4

                Braces list what something depends on:
                  x              the thread's index x
                  block.x        the workgroup's index x
                  opaque.thread  a value that may differ between any two threads
                  opaque.wave    a value loaded from memory
            "#]],
        ),
        (
            &["--assume-race-free", "--assume-barriers"][..],
            expect![[r#"
                stable_loads.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @f line 10
                  4 of 10 values divergent, 0 of 1 branches, 0 of 0 cycles

                  divergent values
                      12  divergent {x}                            %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
                      18  divergent {x}                            %own.at = getelementptr i32, ptr addrspace(3) @tile, i32 %id
                      27  divergent {opaque.thread, opaque.group}  %old = atomicrmw add ptr addrspace(1) %out, i32 %head acquire, align 4
                      28  divergent {opaque.wave}                  %late = load i32, ptr addrspace(1) %in, align 4

                Braces list what something depends on:
                  x              the thread's index x
                  opaque.thread  a value that may differ between any two threads
                  opaque.wave    a value loaded from memory
                  opaque.group   a value that may differ between workgroups
            "#]],
        ),
    ] {
        let options: Vec<&str> = common.iter().chain(options).copied().collect();
        check("stable_loads.nvptx.ll", &options, expected);
    }
}

/// Conclusions from barriers are printed on request only, and for terminators only.
#[test]
fn barriers_that_are_used_rightly() {
    let common = ["--print", "branches", "--scope", "workgroup"];
    for (option, expected) in [
        (
            None,
            expect![[r#"
                assumed_barrier.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @decides line 9
                  5 of 5 values divergent, 1 of 1 branches, 0 of 0 cycles

                  branches
                      15  divergent {x, opaque.wave}  br i1 %is.set, label %meet, label %join

                kernel @early_exit line 28
                  2 of 2 values divergent, 1 of 1 branches, 0 of 0 cycles

                  branches
                      32  divergent {x}  br i1 %is.outside, label %exit, label %work

                kernel @nested line 43
                  2 of 3 values divergent, 1 of 2 branches, 0 of 0 cycles

                  branches
                      47  divergent {x}  br i1 %is.low, label %low, label %exit
                      51  uniform        br i1 %is.large, label %meet, label %exit

                Braces list what something depends on:
                  x            the thread's index x
                  opaque.wave  a value loaded from memory
            "#]],
        ),
        (
            Some("--assume-barriers"),
            expect![[r#"
                assumed_barrier.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @decides line 9
                  4 of 5 values divergent, 0 of 1 branches, 0 of 0 cycles

                  branches
                      15  uniform   {opaque.group}  br i1 %is.set, label %meet, label %join

                kernel @early_exit line 28
                  2 of 2 values divergent, 1 of 1 branches, 0 of 0 cycles

                  branches
                      32  divergent {x}  br i1 %is.outside, label %exit, label %work

                kernel @nested line 43
                  2 of 3 values divergent, 1 of 2 branches, 0 of 0 cycles

                  branches
                      47  divergent {x}  br i1 %is.low, label %low, label %exit
                      51  uniform        br i1 %is.large, label %meet, label %exit

                Braces list what something depends on:
                  x             the thread's index x
                  opaque.group  a value that may differ between workgroups
            "#]],
        ),
        (
            Some("--assume-barriers=strict"),
            expect![[r#"
                assumed_barrier.nvptx.ll: nvptx64-nvidia-cuda, workgroup scope

                kernel @decides line 9
                  4 of 5 values divergent, 0 of 1 branches, 0 of 0 cycles

                  branches
                      15  uniform   {opaque.group}  br i1 %is.set, label %meet, label %join

                kernel @early_exit line 28
                  2 of 2 values divergent, 0 of 1 branches, 0 of 0 cycles

                  branches
                      32  uniform   {opaque.group}  br i1 %is.outside, label %exit, label %work

                kernel @nested line 43
                  2 of 3 values divergent, 1 of 2 branches, 0 of 0 cycles

                  branches
                      47  divergent {x}  br i1 %is.low, label %low, label %exit
                      51  uniform        br i1 %is.large, label %meet, label %exit

                Braces list what something depends on:
                  x             the thread's index x
                  opaque.group  a value that may differ between workgroups
            "#]],
        ),
    ] {
        let options: Vec<&str> = common.iter().copied().chain(option).collect();
        check("assumed_barrier.nvptx.ll", &options, expected);
    }
}

#[test]
fn convergent_operations_and_tokens() {
    check(
        "../semantics/single_break_tokens.ll",
        &["--print", "convergence"],
        expect![[r#"
            ../semantics/single_break_tokens.ll: amdgcn-amd-amdhsa, wave scope

            kernel @single_break_tokens line 8
              3 of 8 values divergent, 1 of 1 branches, 1 of 1 cycles, 1 temporally divergent use

              convergence by tokens
                  10  %anchor anchor, live in %entry, %loop, %cont, %break
                  15  %heart loop of %anchor, heart of cycle %loop, live in %loop, %break
                      extends cycle %loop
                  22  wave, %heart   %round = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %heart) ]
                  23  wave, %anchor  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %anchor) ]
        "#]],
    );
}

/// If one of several kernels states another size than the option, its own size is used and a
/// warning says so. A file with only that kernel is refused.
#[test]
fn a_kernel_of_another_size() {
    let folder = tempfile::tempdir().expect("folder");
    let kernel = |name: &str, attribute: &str| {
        format!("define ptx_kernel void @{name}() {attribute} {{\n  ret void\n}}\n")
    };
    let head = "target triple = \"nvptx64-nvidia-cuda\"\n";
    let (free, small) = (kernel("free", ""), kernel("small", "\"nvvm.reqntid\"=\"16\""));
    let run = |command: &str, text: &str| {
        std::fs::write(folder.path().join("k.ll"), format!("{head}{text}")).expect("file");
        let arguments = [command, "k.ll", "--group", "64"];
        let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
        let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], limit);
        let outcome = outcome.expect("it starts");
        (outcome.status, outcome.errors().lines().next().unwrap_or_default().to_owned())
    };
    let why =
        "@small is not launched with 64 threads of a workgroup along x: the module says exactly 16";
    for command in ["analyze", "report", "performance"] {
        let warning = format!("warning: {why}; it is taken as its module says");
        assert_eq!(run(command, &format!("{free}{small}")), (Some(0), warning), "{command}");
        assert_eq!(run(command, &small), (Some(2), format!("error: {why}")), "{command}");
    }
}
