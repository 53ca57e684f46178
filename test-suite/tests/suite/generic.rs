//! Where pointers lead, and why they are generic, one kind of reason each. `UPDATE_EXPECT=1`
//! accepts changes.

use expect_test::{Expect, expect};

/// Runs a command in `ll/`; what it writes to standard output if that succeeds, else to standard
/// error.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(arguments: &[&str], expected: Expect) {
    let folder = phalanx_test_suite::folder().join("ll");
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments.iter().copied(), &[], limit);
    let outcome = outcome.expect("it starts");
    let text = if outcome.success() { &outcome.stdout } else { &outcome.stderr };
    expected.assert_eq(&String::from_utf8_lossy(text));
}

/// Two memories, by what was stored where.
#[test]
fn through_private_memory() {
    check(
        &["explain", "generic.ll", "@kernel", "--generic", "%r"],
        expect![[r#"
            generic.ll:23:3: note: %r is generic: no narrower address space has all of global, shared
            why global:
            generic.ll:23:3: because: 1. %r is a step from %q
               |
            23 |   %r = getelementptr inbounds i32, ptr %q, i32 4
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ made
            generic.ll:22:3: because: 2. %q is loaded from private memory: the content of %slot at the start of %join
               |
            22 |   %q = load ptr, ptr %slot
               |   ^^^^^^^^^^^^^^^^^^^^^^^^ held
            generic.ll:20:1: because: 3. the content of %slot at the start of %join can be what the store leaves in private memory
               |
            20 | join:
               | ^^^^^ held
            generic.ll:13:3: because: 4. %out is stored
               |
            13 |   store ptr %out, ptr %slot
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^ stored
            generic.ll:9:36: because: 5. the argument %out comes from the host, which knows addresses of device memory
              |
            9 | define ptx_kernel void @kernel(ptr %out, i1 %c) {
              |                                    ^^^^^^^^^^^^^^ kernel
            why shared:
            generic.ll:23:3: because: 1. %r is a step from %q
               |
            23 |   %r = getelementptr inbounds i32, ptr %q, i32 4
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ made
            generic.ll:22:3: because: 2. %q is loaded from private memory: the content of %slot at the start of %join
               |
            22 |   %q = load ptr, ptr %slot
               |   ^^^^^^^^^^^^^^^^^^^^^^^^ held
            generic.ll:20:1: because: 3. the content of %slot at the start of %join can be what the store leaves in private memory
               |
            20 | join:
               | ^^^^^ held
            generic.ll:17:3: because: 4. %tile is stored
               |
            17 |   store ptr %tile, ptr %slot
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ stored
            generic.ll:12:3: because: 5. %tile is @lds by another name
               |
            12 |   %tile = addrspacecast ptr addrspace(3) @lds to ptr
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ made
            generic.ll: because: 6. @lds is in workgroup memory
        "#]],
    );
}

/// One chain for all memories.
#[test]
fn nothing_is_known() {
    check(
        &["explain", "generic.ll", "@kernel", "--generic", "%x"],
        expect![[r#"
            generic.ll:33:3: note: %x is generic: no narrower address space has all of global, constant, shared, cluster, private, param
            why global, constant, shared, cluster, private, param:
            generic.ll:33:3: because: 1. %x is the result of a call that is not known: it can be in device memory, constant memory, workgroup memory, memory of other workgroups, private memory and parameters
               |
            33 |   %x = call ptr @unknown()
               |   ^^^^^^^^^^^^^^^^^^^^^^^^ called
        "#]],
    );
}

/// A pointer that is not generic.
#[test]
fn one_space() {
    check(
        &["explain", "generic.ll", "@kernel", "--generic", "tile"],
        expect![[r#"
            generic.ll:12:3: note: %tile is not generic: it leads to shared, all in address space 3
            why shared:
            generic.ll:12:3: because: 1. %tile is @lds by another name
               |
            12 |   %tile = addrspacecast ptr addrspace(3) @lds to ptr
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ made
            generic.ll: because: 2. @lds is in workgroup memory
        "#]],
    );
}

/// Field names are the format.
#[test]
fn as_json() {
    check(
        &["explain", "--json", "generic.ll", "@kernel", "--generic", "%p"],
        expect![[r#"
            {
              "address": {
                "place": {
                  "line": 21,
                  "column": 3
                },
                "name": "%p",
                "text": "%p = phi ptr [ %out, %entry ], [ %tile, %other ]",
                "memories": [
                  "global",
                  "shared"
                ],
                "null": true,
                "space": 0,
                "narrowest": 0
              },
              "generic": true,
              "chains": [
                {
                  "memories": [
                    "global"
                  ],
                  "steps": [
                    {
                      "kind": "from",
                      "what": "%p",
                      "text": "%p = phi ptr [ %out, %entry ], [ %tile, %other ]",
                      "place": {
                        "line": 21,
                        "column": 3
                      },
                      "sentence": "%p is %out for threads that come from %entry"
                    },
                    {
                      "kind": "kernel",
                      "what": "%out",
                      "text": "",
                      "place": {
                        "line": 9,
                        "column": 36
                      },
                      "sentence": "the argument %out comes from the host, which knows addresses of device memory"
                    }
                  ]
                },
                {
                  "memories": [
                    "shared"
                  ],
                  "steps": [
                    {
                      "kind": "from",
                      "what": "%p",
                      "text": "%p = phi ptr [ %out, %entry ], [ %tile, %other ]",
                      "place": {
                        "line": 21,
                        "column": 3
                      },
                      "sentence": "%p is %tile for threads that come from %other"
                    },
                    {
                      "kind": "made",
                      "what": "%tile",
                      "text": "%tile = addrspacecast ptr addrspace(3) @lds to ptr",
                      "place": {
                        "line": 12,
                        "column": 3
                      },
                      "sentence": "%tile is @lds by another name"
                    },
                    {
                      "kind": "constant",
                      "what": "@lds",
                      "text": "",
                      "place": {
                        "line": 0,
                        "column": 0
                      },
                      "sentence": "@lds is in workgroup memory"
                    }
                  ]
                }
              ]
            }
        "#]],
    );
}

/// Near names are offered.
#[test]
fn no_such_value() {
    check(
        &["explain", "generic.ll", "@kernel", "--generic", "%tyle"],
        expect![[r#"
            error: no value is called %tyle; did you mean %tile?
        "#]],
    );
}

/// All pointers, and operands of which tests say more.
#[test]
fn lists() {
    check(
        &["analyze", "--print", "spaces", "generic.ll"],
        expect![[r#"
            generic.ll: nvptx64-nvidia-cuda, wave scope

            kernel @kernel line 9
              1 of 7 values divergent, 0 of 2 branches, 0 of 0 cycles

              spaces
                   9  global, null               %out
                  11  private                    %slot = alloca ptr, align 8
                  12  shared                     %tile = addrspacecast ptr addrspace(3) @lds to ptr
                  21  global, shared, null       %p = phi ptr [ %out, %entry ], [ %tile, %other ]
                  22  global, shared, null       %q = load ptr, ptr %slot, align 8
                  23  global, shared, null       %r = getelementptr inbounds i32, ptr %q, i32 4
                  29  shared                     operand 1 of the store: store i32 2, ptr %p, align 4
                  33  global, constant, shared, cluster, private, param, null  %x = call ptr @unknown()
        "#]],
    );
}

/// A function that accesses generically what its calls know, and which copies would not.
#[test]
fn copies_that_would_know_more() {
    check(
        &["analyze", "--print", "spaces", "--function", "put", "specialize.ll"],
        expect![[r#"
        specialize.ll: nvptx64-nvidia-cuda, wave scope

        function @put line 5
          0 of 0 values divergent, 0 of 0 branches, 0 of 0 cycles

          spaces
               5  global, shared, null       %p
               5  global, null               %q
          a copy for the calls in @first line 13, @second line 22 would have %p in addrspace(3): shared
          a copy for the call in @first line 14 would have %p in addrspace(1): global
    "#]],
    );
}

/// The same as data.
#[test]
fn lists_as_json() {
    check(
        &["analyze", "--print", "spaces", "--format", "json", "generic.ll"],
        expect![[r#"
            [
              {
                "file": "generic.ll",
                "triple": "nvptx64-nvidia-cuda",
                "scope": "wave",
                "functions": [
                  {
                    "name": "kernel",
                    "kernel": true,
                    "place": {
                      "line": 9,
                      "column": 24
                    },
                    "summary": {
                      "instructions": 17,
                      "values": 7,
                      "divergent_values": 1,
                      "branches": 2,
                      "divergent_branches": 0,
                      "cycles": 0,
                      "divergent_cycles": 0,
                      "temporal_uses": 0
                    },
                    "arguments": [
                      {
                        "place": {
                          "line": 9,
                          "column": 36
                        },
                        "name": "%out",
                        "text": "ptr %out",
                        "divergent": false,
                        "sources": []
                      },
                      {
                        "place": {
                          "line": 9,
                          "column": 45
                        },
                        "name": "%c",
                        "text": "i1 %c",
                        "divergent": false,
                        "sources": []
                      }
                    ],
                    "spaces": [
                      {
                        "place": {
                          "line": 9,
                          "column": 36
                        },
                        "name": "%out",
                        "text": "%out",
                        "memories": [
                          "global"
                        ],
                        "null": true,
                        "space": 0,
                        "narrowest": 1
                      },
                      {
                        "place": {
                          "line": 11,
                          "column": 3
                        },
                        "name": "%slot",
                        "text": "%slot = alloca ptr, align 8",
                        "memories": [
                          "private"
                        ],
                        "null": false,
                        "space": 0,
                        "narrowest": 5
                      },
                      {
                        "place": {
                          "line": 12,
                          "column": 3
                        },
                        "name": "%tile",
                        "text": "%tile = addrspacecast ptr addrspace(3) @lds to ptr",
                        "memories": [
                          "shared"
                        ],
                        "null": false,
                        "space": 0,
                        "narrowest": 3
                      },
                      {
                        "place": {
                          "line": 21,
                          "column": 3
                        },
                        "name": "%p",
                        "text": "%p = phi ptr [ %out, %entry ], [ %tile, %other ]",
                        "memories": [
                          "global",
                          "shared"
                        ],
                        "null": true,
                        "space": 0,
                        "narrowest": 0
                      },
                      {
                        "place": {
                          "line": 22,
                          "column": 3
                        },
                        "name": "%q",
                        "text": "%q = load ptr, ptr %slot, align 8",
                        "memories": [
                          "global",
                          "shared"
                        ],
                        "null": true,
                        "space": 0,
                        "narrowest": 0
                      },
                      {
                        "place": {
                          "line": 23,
                          "column": 3
                        },
                        "name": "%r",
                        "text": "%r = getelementptr inbounds i32, ptr %q, i32 4",
                        "memories": [
                          "global",
                          "shared"
                        ],
                        "null": true,
                        "space": 0,
                        "narrowest": 0
                      },
                      {
                        "place": {
                          "line": 29,
                          "column": 3
                        },
                        "name": "operand 1 of the store",
                        "text": "store i32 2, ptr %p, align 4",
                        "memories": [
                          "shared"
                        ],
                        "null": false,
                        "space": 0,
                        "narrowest": 3
                      },
                      {
                        "place": {
                          "line": 33,
                          "column": 3
                        },
                        "name": "%x",
                        "text": "%x = call ptr @unknown()",
                        "memories": [
                          "global",
                          "constant",
                          "shared",
                          "cluster",
                          "private",
                          "param"
                        ],
                        "null": true,
                        "space": 0,
                        "narrowest": 0
                      }
                    ]
                  }
                ]
              }
            ]
        "#]],
    );
}
