//! [`varying`] against its definition: enumerate the threads of every small launch, cut them into
//! waves, look.

use expect_test::expect;

use super::*;
use crate::launch::Extent;

const COORDINATES: [SourceSet; 6] =
    [SourceSet::X, SourceSet::Y, SourceSet::Z, SourceSet::LANE, SourceSet::WAVE, SourceSet::QUAD];

/// The slow twin: which coordinates differ between two threads of one quad, of one wave, and of the
/// workgroup.
fn observed(size: [u32; 3], width: u32) -> [SourceSet; 3] {
    let [dx, dy, dz] = size;
    let mut threads = Vec::new();
    for z in 0..dz {
        for y in 0..dy {
            for x in 0..dx {
                let linear = x + dx * (y + dy * z);
                let lane = linear % width;
                threads.push([x, y, z, lane, linear / width, lane / 4]);
            }
        }
    }
    // Equality is transitive: comparing everyone with the first thread of its group is comparing
    // all pairs.
    let differing = |group: &[[u32; 6]]| -> SourceSet {
        let first = group[0];
        let differs = |i: usize| group.iter().any(|thread| thread[i] != first[i]);
        (0..6).filter(|i| differs(*i)).map(|i| COORDINATES[i]).collect()
    };
    let waves = threads.chunk_by(|a, b| a[4] == b[4]).map(differing).collect();
    let quads = threads.chunk_by(|a, b| a[4..] == b[4..]).map(differing).collect();
    [quads, waves, differing(&threads)]
}

fn coordinates(set: SourceSet) -> SourceSet {
    set & COORDINATES.into_iter().collect()
}

#[test]
fn exact_geometry_is_answered_exactly() {
    let mut geometries = 0;
    let check = |size: [u32; 3], width: u32| {
        let facts = LaunchFacts::exact(size[0], size[1], size[2], width);
        for (scope, seen) in Scope::ALL.into_iter().zip(observed(size, width)) {
            assert_eq!(coordinates(varying(scope, &facts)), seen, "{size:?} {scope} {width}");
        }
    };
    for width in [1, 2, 3, 4, 8] {
        for dx in 1..=17 {
            for dy in 1..=6 {
                for dz in 1..=4 {
                    check([dx, dy, dz], width);
                    geometries += 1;
                }
            }
        }
    }
    for size in
        [[256, 1, 1], [32, 8, 1], [64, 4, 1], [16, 16, 1], [8, 8, 4], [96, 2, 1], [48, 2, 1]]
    {
        for width in [32, 64] {
            check(size, width);
            geometries += 1;
        }
    }
    assert_eq!(geometries, 2054);
}

/// Partial facts: the answer is the union over the launches that agree with them.
#[test]
fn partial_facts_cover_every_launch_and_no_more() {
    /// Every launch is drawn from extents `1..=TOP`, which stands for "unknown": beyond the least
    /// common multiple of the numbers in play nothing new can happen.
    const TOP: u32 = 9;
    let extents = [
        Extent::Unknown,
        Extent::AtMost(1),
        Extent::AtMost(3),
        Extent::Exactly(1),
        Extent::Exactly(2),
        Extent::Exactly(4),
        Extent::Exactly(6),
    ];
    let agrees = |extent: Extent, n: u32| match extent {
        Extent::Unknown => true,
        Extent::AtMost(max) => n <= max,
        Extent::Exactly(exact) => n == exact,
    };
    let mut launches = vec![];
    for width in [1, 4, 7] {
        for dx in 1..=TOP {
            for dy in 1..=TOP {
                for dz in 1..=TOP {
                    launches.push(([dx, dy, dz], width, observed([dx, dy, dz], width)));
                }
            }
        }
    }
    let mut cases = 0;
    for x in extents {
        for y in extents {
            for z in extents {
                for flat in [None, Some(1), Some(8), Some(24)] {
                    for width in [None, Some(1), Some(4)] {
                        let facts = LaunchFacts {
                            workgroup_size: [x, y, z],
                            max_flat_workgroup_size: flat,
                            uniform_work_group_size: true,
                            wave_width: width,
                            max_cluster_size: None,
                            ..LaunchFacts::default()
                        };
                        let mut all = [SourceSet::EMPTY; 3];
                        let mut consistent = false;
                        for (size, launch_width, seen) in &launches {
                            if (0..3).all(|d| agrees(facts.workgroup_size[d], size[d]))
                                && flat.is_none_or(|flat| size.iter().product::<u32>() <= flat)
                                && width.is_none_or(|width| width == *launch_width)
                            {
                                consistent = true;
                                all.iter_mut().zip(seen).for_each(|(all, seen)| *all |= *seen);
                            }
                        }
                        if !consistent {
                            continue;
                        }
                        cases += 1;
                        for (scope, seen) in Scope::ALL.into_iter().zip(all) {
                            let said = coordinates(varying(scope, &facts));
                            // Of waves of no known width, it is not known where they end, nor how
                            // their lanes are numbered.
                            let unknown = match (width, scope) {
                                (None, Scope::Quad) => SourceSet::ALL,
                                (None, _) => SourceSet::QUAD,
                                _ => SourceSet::EMPTY,
                            };
                            assert!(said.contains(seen), "{scope}, {facts:?}");
                            assert_eq!(said - unknown, seen - unknown, "{scope}, {facts:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(cases > 2500, "{cases}");
}

/// More threads, or fewer facts, never take a source away.
#[test]
fn monotone_in_scope_and_facts() {
    let extents = [Extent::Unknown, Extent::AtMost(64), Extent::Exactly(1), Extent::Exactly(32)];
    for x in extents {
        for y in extents {
            for width in [None, Some(1), Some(32)] {
                // Bounds that contradict the exact extents (32 * 32) describe no launch at all.
                for flat in [None, Some(1024), Some(2048)] {
                    for cluster in [None, Some(1), Some(4)] {
                        let facts = LaunchFacts {
                            workgroup_size: [x, y, Extent::Unknown],
                            max_flat_workgroup_size: flat,
                            uniform_work_group_size: true,
                            wave_width: width,
                            max_cluster_size: cluster,
                            ..LaunchFacts::default()
                        };
                        for pair in Scope::ALL.windows(2) {
                            let (inner, outer) =
                                (varying(pair[0], &facts), varying(pair[1], &facts));
                            assert!(outer.contains(inner), "{facts:?}: {inner} {outer}");
                        }
                        for scope in Scope::ALL {
                            let known = varying(scope, &facts);
                            assert!(varying(scope, &LaunchFacts::default()).contains(known));
                            let fewer = [
                                LaunchFacts { uniform_work_group_size: false, ..facts.clone() },
                                LaunchFacts { max_flat_workgroup_size: None, ..facts.clone() },
                                LaunchFacts { wave_width: None, ..facts.clone() },
                                LaunchFacts { max_cluster_size: None, ..facts.clone() },
                                LaunchFacts {
                                    workgroup_size: [Extent::Unknown; 3],
                                    ..facts.clone()
                                },
                            ];
                            for fewer in fewer {
                                assert!(
                                    varying(scope, &fewer).contains(known),
                                    "{facts:?} {fewer:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn scopes_without_facts() {
    let facts = LaunchFacts::default();
    let answers: String =
        Scope::ALL.iter().map(|scope| format!("{scope}: {}\n", varying(*scope, &facts))).collect();
    expect![[r#"
        quad: {x, y, z, lane, opaque.thread}
        wave: {x, y, z, lane, opaque.thread, quad, opaque.quad}
        workgroup: {x, y, z, lane, wave, opaque.thread, opaque.wave, quad, opaque.quad}
        cluster: {x, y, z, lane, wave, block.x, block.y, block.z, cluster, opaque.thread, opaque.wave, opaque.group, quad, opaque.quad}
        grid: {x, y, z, lane, wave, block.x, block.y, block.z, cluster, opaque.thread, opaque.wave, opaque.group, quad, opaque.quad}
    "#]]
    .assert_eq(&answers);
}

/// The launches people write: rows as long as a wave make `y` uniform, a power of two is not
/// needed.
#[test]
fn wave_scope_of_common_launches() {
    let launches = [
        [256, 1, 1],
        [32, 8, 1],
        [64, 4, 1],
        [96, 2, 1],
        [16, 16, 1],
        [48, 2, 1],
        [8, 4, 8],
        [1, 64, 2],
        [1, 1, 1],
    ];
    let answers: String = launches
        .iter()
        .map(|[x, y, z]| {
            format!("{x}x{y}x{z}: {}\n", varying(Scope::Wave, &LaunchFacts::exact(*x, *y, *z, 32)))
        })
        .collect();
    expect![[r#"
        256x1x1: {x, lane, opaque.thread, quad, opaque.quad}
        32x8x1: {x, lane, opaque.thread, quad, opaque.quad}
        64x4x1: {x, lane, opaque.thread, quad, opaque.quad}
        96x2x1: {x, lane, opaque.thread, quad, opaque.quad}
        16x16x1: {x, y, lane, opaque.thread, quad, opaque.quad}
        48x2x1: {x, y, lane, opaque.thread, quad, opaque.quad}
        8x4x8: {x, y, lane, opaque.thread, quad, opaque.quad}
        1x64x2: {y, lane, opaque.thread, quad, opaque.quad}
        1x1x1: {}
    "#]]
    .assert_eq(&answers);
}

/// Edge workgroups of an OpenCL 2 launch may be narrower than declared, so rows no longer end where
/// waves do.
#[test]
fn partial_workgroups_weaken_exact_sizes() {
    let uniform = LaunchFacts::exact(64, 4, 1, 64);
    let mut partial = uniform.clone();
    partial.uniform_work_group_size = false;
    expect!["{x, lane, opaque.thread, quad, opaque.quad}"]
        .assert_eq(&varying(Scope::Wave, &uniform).to_string());
    expect!["{x, y, lane, opaque.thread, quad, opaque.quad}"]
        .assert_eq(&varying(Scope::Wave, &partial).to_string());
}

#[test]
fn a_workgroup_of_one_wave_shares_what_the_wave_shares() {
    let facts = LaunchFacts::exact(32, 1, 1, 32);
    expect!["{x, lane, opaque.thread, quad, opaque.quad}"]
        .assert_eq(&varying(Scope::Workgroup, &facts).to_string());
}

/// A cluster is a box of workgroups: enumerate those of each, and look which indices differ.
#[test]
fn clusters_are_answered_exactly() {
    let mut cases = 0;
    let sources = [SourceSet::BLOCK_X, SourceSet::BLOCK_Y, SourceSet::BLOCK_Z, SourceSet::CLUSTER];
    for number in 0..64u32 {
        let size = [number % 4 + 1, number / 4 % 4 + 1, number / 16 + 1];
        // Any cluster but the first, so that indices begin somewhere.
        let first = size.map(|n| 5 * n);
        let mut workgroups = Vec::new();
        for place in 0..size.iter().product::<u32>() {
            let at = [place % size[0], place / size[0] % size[1], place / (size[0] * size[1])];
            workgroups.push([first[0] + at[0], first[1] + at[1], first[2] + at[2], place]);
        }
        let differs = |i: &usize| workgroups.iter().any(|each| each[*i] != workgroups[0][*i]);
        let seen: SourceSet = (0..4).filter(differs).map(|i| sources[i]).collect();
        for bound in [None, Some(size.iter().product()), Some(1000)] {
            let facts = LaunchFacts {
                max_cluster_size: bound,
                cluster_size: size.map(Extent::Exactly),
                ..LaunchFacts::exact(32, 2, 1, 32)
            };
            let said = varying(Scope::Cluster, &facts) & sources.into_iter().collect();
            assert_eq!(said, seen, "{size:?}");
            assert!(varying(Scope::Grid, &facts).contains(sources.into_iter().collect()));
            cases += 1;
        }
    }
    assert_eq!(cases, 192);
    let bounded = LaunchFacts { max_cluster_size: Some(1), ..LaunchFacts::default() };
    let alone = varying(Scope::Workgroup, &bounded);
    assert_eq!(varying(Scope::Cluster, &bounded), alone);
}

/// What holds of two kinds of launches holds of each, at every scope.
#[test]
fn joined_facts_cover_both() {
    let of = |size: [Extent; 3], flat, uniform, wave, cluster, quads| LaunchFacts {
        workgroup_size: size,
        max_flat_workgroup_size: flat,
        uniform_work_group_size: uniform,
        wave_width: wave,
        max_cluster_size: None,
        cluster_size: cluster,
        quads,
    };
    let sizes = [
        [Extent::Unknown; 3],
        [Extent::Exactly(32), Extent::Exactly(8), Extent::Exactly(1)],
        [Extent::Exactly(64), Extent::Exactly(1), Extent::Exactly(1)],
        [Extent::AtMost(16), Extent::AtMost(2), Extent::Exactly(1)],
        [Extent::Exactly(1); 3],
    ];
    let mut all = Vec::new();
    for size in sizes {
        for flat in [None, Some(32)] {
            for uniform in [false, true] {
                for wave in [None, Some(32)] {
                    for cluster in [[Extent::Unknown; 3], [Extent::Exactly(1); 3]] {
                        for quads in [QuadLayout::Linear, QuadLayout::Square] {
                            all.push(of(size, flat, uniform, wave, cluster, quads));
                        }
                    }
                }
            }
        }
    }
    for a in &all {
        for b in &all {
            let (joined, met) = (a.join(b), a.meet(b));
            for scope in Scope::ALL {
                let either = varying(scope, a) | varying(scope, b);
                assert!(varying(scope, &joined).contains(either), "{scope}: {a:?} {b:?}");
                // What is said less of than by one that says nothing of sizes is not made worse.
                let plain = a.meet(&LaunchFacts::default());
                assert_eq!(varying(scope, &plain), varying(scope, a), "{a:?}");
            }
            assert!(met.workgroup_size == a.workgroup_size || a.workgroup_size == sizes[0]);
        }
    }
}

/// Squares of two by two threads: enumerate those of each quad, and look which coordinates differ.
#[test]
fn square_quads_have_threads_of_two_rows_of_one_plane() {
    for [dx, dy, dz] in [[2, 2, 1], [8, 8, 1], [16, 2, 3], [4, 6, 2], [64, 4, 1]] {
        let mut seen = SourceSet::EMPTY;
        for at in 0..dx / 2 * (dy / 2) * dz {
            let (x, y, z) =
                (at % (dx / 2) * 2, at / (dx / 2) % (dy / 2) * 2, at / (dx / 2 * (dy / 2)));
            let lanes = [[x, y, z], [x + 1, y, z], [x, y + 1, z], [x + 1, y + 1, z]];
            let differs = |dim: &usize| lanes.iter().any(|lane| lane[*dim] != lanes[0][*dim]);
            seen |= (0..3).filter(differs).map(|dim| COORDINATES[dim]).collect();
        }
        let facts = LaunchFacts { quads: QuadLayout::Square, ..LaunchFacts::exact(dx, dy, dz, 32) };
        let said = varying(Scope::Quad, &facts);
        assert_eq!(said & SourceSet::THREAD_XYZ, seen, "{dx}x{dy}x{dz}");
        // Nothing is known of the order in which waves have these quads.
        let unknown = LaunchFacts { wave_width: None, quads: QuadLayout::Linear, ..facts.clone() };
        assert_eq!(varying(Scope::Wave, &facts), varying(Scope::Wave, &unknown));
    }
}

#[test]
fn facts_that_contradict_each_other_do_not_panic() {
    let zero = LaunchFacts { max_flat_workgroup_size: Some(0), ..LaunchFacts::exact(0, 0, 0, 0) };
    let clash = LaunchFacts { max_flat_workgroup_size: Some(3), ..LaunchFacts::exact(8, 8, 8, 4) };
    let huge = LaunchFacts::exact(u32::MAX, u32::MAX, u32::MAX, 64);
    for facts in [zero, clash, huge] {
        for scope in Scope::ALL {
            assert!(LaunchFacts::default().wave_width.is_none());
            assert!(varying(Scope::Grid, &facts).contains(varying(scope, &facts)));
        }
    }
}

#[test]
fn names_go_both_ways() {
    for source in SourceSet::ALL.iter() {
        assert_eq!(source.name().and_then(SourceSet::from_name), Some(source));
    }
    assert_eq!(SourceSet::ALL.len(), SourceSet::COUNT);
    assert_eq!((SourceSet::X | SourceSet::Y).name(), None);
    assert_eq!(SourceSet::from_name("tid"), None);
    for scope in Scope::ALL {
        assert_eq!(Scope::from_name(scope.name()), Some(scope));
    }
    expect!["{x, y, lane}"]
        .assert_eq(&format!("{}", SourceSet::LANE | SourceSet::X | SourceSet::Y));
    expect!["{}"].assert_eq(&format!("{:?}", SourceSet::EMPTY));
}
