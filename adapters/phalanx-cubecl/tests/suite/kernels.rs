//! Small kernels. A line is a value or a block, the largest group of units that shares the value or
//! executes the block together, and what it depends on; in brackets what cubecl's analysis says, if
//! that is something else.

use expect_test::expect;

use crate::text::check;

const ID: &str = "id = cube.read_builtin (UnitPos) : cube.index;";
const ZERO: &str = "zero = builtin.constant <cube.index 0> : cube.index;";

#[test]
fn values_of_the_launch() {
    check(
        "length = cube.buffer_len buffer_0 : cube.index;
         scalar = cube.read_scalar <cube.index>[1] : cube.index;
         seven = builtin.constant <builtin.integer <7: i64>> : builtin.integer i64;
         sum = math.i_add (length, scalar) [] [] : <(cube.index, cube.index) -> (cube.index)>;
         dim = cube.read_builtin (CubeDim) : cube.index;
         count = cube.read_builtin (CubeCountY) : cube.index;
         plane_dim = cube.read_builtin (PlaneDim) : cube.index;
         branch.return",
        &expect![[r#"
            length: Device {}
            scalar: Device {}
            seven: Device {}
            sum: Device {}
            dim: Device {}
            count: Device {}
            plane_dim: Device {}
        "#]],
    );
}

#[test]
fn positions() {
    check(
        "cube = cube.read_builtin (CubePos) : cube.index;
         cube_y = cube.read_builtin (CubePosY) : cube.index;
         in_cluster = cube.read_builtin (CubePosClusterX) : cube.index;
         plane = cube.read_builtin (PlanePos) : cube.index;
         unit = cube.read_builtin (UnitPos) : cube.index;
         unit_x = cube.read_builtin (UnitPosX) : cube.index;
         in_plane = cube.read_builtin (UnitPosPlane) : cube.index;
         absolute = cube.read_builtin (AbsolutePos) : cube.index;
         absolute_z = cube.read_builtin (AbsolutePosZ) : cube.index;
         branch.return",
        &expect![[r#"
            cube: Cube {block.x, block.y, block.z}
            cube_y: Cube {block.y}
            in_cluster: Cube {cluster}
            plane: Plane {wave}
            unit: None {x, y, z}
            unit_x: None {x}
            in_plane: None {lane}
            absolute: None {x, y, z, block.x, block.y, block.z}
            absolute_z: None {z, block.z}
        "#]],
    );
}

/// Planes at the end of a cube have fewer units: a sum of what all share is another one there.
#[test]
fn operations_of_a_plane() {
    check(
        &format!(
            "{ID}
             cube = cube.read_builtin (CubePos) : cube.index;
             scalar = cube.read_scalar <cube.bool>[0] : cube.bool;
             elected = plane.elect () [] []: <() -> (cube.bool)>;
             sum_id = plane.i_sum (id) [] [] : <(cube.index) -> (cube.index)>;
             sum_cube = plane.i_sum (cube) [] [] : <(cube.index) -> (cube.index)>;
             below = plane.exclusive_i_sum (cube) [] [] : <(cube.index) -> (cube.index)>;
             least_id = plane.u_min (id) [] [] : <(cube.index) -> (cube.index)>;
             least_cube = plane.u_min (cube) [] [] : <(cube.index) -> (cube.index)>;
             all = plane.all (scalar) [] [] : <(cube.bool) -> (cube.bool)>;
             ballot = plane.ballot (scalar) [] [] :
                 <(cube.bool) -> (vector.vector <4 x builtin.integer ui32>)>;
             shuffled = plane.shuffle (id, cube) [] [] : <(cube.index, cube.index) -> (cube.index)>;
             moved = plane.shuffle_up (id, cube) [] [] : <(cube.index, cube.index) -> (cube.index)>;
             branch.return"
        ),
        &expect![[r#"
            id: None {x, y, z}
            cube: Cube {block.x, block.y, block.z}
            scalar: Device {}
            elected: None {opaque.thread}
            sum_id: Plane {opaque.wave}
            sum_cube: Plane {opaque.wave} (cubecl: Cube)
            below: None {opaque.thread}
            least_id: Plane {opaque.wave}
            least_cube: Cube {block.x, block.y, block.z}
            all: Device {}
            ballot: Plane {opaque.wave} (cubecl: Device)
            shuffled: Plane {block.x, block.y, block.z, opaque.wave} (cubecl: None)
            moved: None {block.x, block.y, block.z, opaque.thread}
        "#]],
    );
}

#[test]
fn an_if_of_a_scalar_and_one_of_the_plane() {
    check(
        &format!(
            "{ZERO}
             scalar = cube.read_scalar <cube.bool>[0] : cube.bool;
             plane = cube.read_builtin (PlanePos) : cube.index;
             is_first = cmp.i_equal (plane, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
             x, same = scf.if scalar : cube.index, cube.index then {{
               ^yes(): one = builtin.constant <cube.index 1> : cube.index;
                       branch.yield (one, zero)
             }} else {{
               ^no(): branch.yield (zero, zero)
             }};
             y, z = scf.if is_first : cube.index, cube.index then {{
               ^first(): two = builtin.constant <cube.index 2> : cube.index;
                         unit = cube.read_builtin (UnitPos) : cube.index;
                         branch.yield (two, unit)
             }} else {{
               ^other(): three = builtin.constant <cube.index 3> : cube.index;
                         branch.yield (three, zero)
             }};
             sum = math.i_add (x, y) [] [] : <(cube.index, cube.index) -> (cube.index)>;
             after = builtin.constant <cube.index 9> : cube.index;
             branch.return"
        ),
        &expect![[r#"
            zero: Device {}
            scalar: Device {}
            plane: Plane {wave}
            is_first: Plane {wave}
            x: Device {}
            same: Device {}
            yes: Device {}
            one: Device {}
            no: Device {}
            y: Plane {wave}
            z: None {x, y, z, wave}
            first: Plane {wave}
            two: Device {}
            unit: None {x, y, z}
            other: Plane {wave}
            three: Device {}
            sum: Plane {wave}
            after: Device {}
        "#]],
    );
}

#[test]
fn an_if_of_a_constant() {
    check(
        "always = builtin.constant <cube.bool true> : cube.bool;
         x = scf.if always : cube.index then {
           ^yes(): one = builtin.constant <cube.index 1> : cube.index;
                   branch.yield (one)
         } else {
           ^no(): two = builtin.constant <cube.index 2> : cube.index;
                  branch.yield (two)
         };
         branch.return",
        &expect![[r#"
            always: Device {}
            x: Device {}
            yes: Device {}
            one: Device {}
            no: Device {}
            two: Device {} (cubecl: None)
        "#]],
    );
}

#[test]
fn loops_over_numbers() {
    for bounds in [["scalar", "count", "one"], ["plane", "count", "one"], ["cube", "plane", "one"]]
    {
        let [start, end, step] = bounds;
        let text = format!(
            "one = builtin.constant <cube.index 1> : cube.index;
             scalar = cube.read_scalar <cube.index>[0] : cube.index;
             cube = cube.read_builtin (CubePos) : cube.index;
             count = cube.read_builtin (CubeCount) : cube.index;
             plane = cube.read_builtin (PlanePos) : cube.index;
             result = scf.for {start} to {end} step {step} iter_args(scalar) {{
               ^body(i: cube.index, carried: cube.index):
                 next = bitwise.xor (carried, one) [] [] :
                     <(cube.index, cube.index) -> (cube.index)>;
                 branch.yield (next)
             }};
             branch.return"
        );
        let expected = match start {
            "scalar" => expect![[r#"
                one: Device {}
                scalar: Device {}
                cube: Cube {block.x, block.y, block.z}
                count: Device {}
                plane: Plane {wave}
                result: Device {}
                body: Device {}
                i: Device {} (cubecl: None)
                carried: Device {}
                next: Device {}
            "#]],
            "plane" => expect![[r#"
                one: Device {}
                scalar: Device {}
                cube: Cube {block.x, block.y, block.z}
                count: Device {}
                plane: Plane {wave}
                result: Plane {wave}
                body: Plane {wave}
                i: Plane {wave} (cubecl: None)
                carried: Device {} (cubecl: Plane)
                next: Device {} (cubecl: Plane)
            "#]],
            _ => expect![[r#"
                one: Device {}
                scalar: Device {}
                cube: Cube {block.x, block.y, block.z}
                count: Device {}
                plane: Plane {wave}
                result: Plane {wave, block.x, block.y, block.z}
                body: Plane {wave, block.x, block.y, block.z}
                i: Cube {block.x, block.y, block.z} (cubecl: None)
                carried: Device {} (cubecl: Plane)
                next: Device {} (cubecl: Plane)
            "#]],
        };
        check(&text, &expected);
    }
}

/// The step decides in which round a unit leaves.
#[test]
fn a_loop_by_steps_of_the_plane() {
    check(
        "cube = cube.read_builtin (CubePos) : cube.index;
         count = cube.read_builtin (CubeCount) : cube.index;
         plane = cube.read_builtin (PlanePos) : cube.index;
         scf.for cube to count step plane iter_args() {
           ^body(i: cube.index): branch.yield ()
         };
         branch.return",
        &expect![[r#"
            cube: Cube {block.x, block.y, block.z}
            count: Device {}
            plane: Plane {wave}
            body: Plane {wave, block.x, block.y, block.z}
            i: Plane {wave, block.x, block.y, block.z} (cubecl: None)
        "#]],
    );
}

/// In a round `seen` is one value for all units that are there; what they leave with is not.
#[test]
fn a_while_that_units_leave_in_different_rounds() {
    check(
        &format!(
            "{ID} {ZERO}
             one = builtin.constant <cube.index 1> : cube.index;
             rounds = scf.while zero : cube.index {{
               ^before(seen: cube.index):
                 more = cmp.u_less_than (seen, id) [] [] :
                     <(cube.index, cube.index) -> (cube.bool)>;
                 branch.condition (more, seen)
             }} do {{
               ^after(now: cube.index):
                 next = math.i_add (now, one) [] [] : <(cube.index, cube.index) -> (cube.index)>;
                 branch.yield (next)
             }};
             twice = math.i_add (rounds, rounds) [] [] : <(cube.index, cube.index) -> (cube.index)>;
             branch.return"
        ),
        &expect![[r#"
            id: None {x, y, z}
            zero: Device {}
            one: Device {}
            rounds: None {x, y, z} (cubecl: Cube)
            before: None {x, y, z}
            seen: Device {} (cubecl: Cube)
            more: None {x, y, z}
            after: None {x, y, z}
            now: Device {} (cubecl: Cube)
            next: Device {} (cubecl: Cube)
            twice: None {x, y, z} (cubecl: Cube)
        "#]],
    );
}

/// How many units are there to add is known of no part of a branch.
#[test]
fn a_sum_under_divergent_control() {
    check(
        &format!(
            "{ID} {ZERO}
             scalar = cube.read_scalar <cube.index>[0] : cube.index;
             is_first = cmp.i_equal (id, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
             same = scf.if is_first : cube.index then {{
               ^first(): sum = plane.i_sum (scalar) [] [] : <(cube.index) -> (cube.index)>;
                         least = plane.u_min (scalar) [] [] : <(cube.index) -> (cube.index)>;
                         branch.yield (zero)
             }} else {{
               ^other(): branch.yield (zero)
             }};
             branch.return"
        ),
        &expect![[r#"
            id: None {x, y, z}
            zero: Device {}
            scalar: Device {}
            is_first: None {x, y, z}
            same: Device {} (cubecl: None)
            first: None {x, y, z}
            sum: Plane {opaque.wave} (cubecl: Device)
            least: Device {}
            other: None {x, y, z}
        "#]],
    );
}

#[test]
fn a_graph_of_blocks() {
    check(
        &format!(
            "{ID} {ZERO}
             is_first = cmp.i_equal (id, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
             scalar = cube.read_scalar <cube.bool>[0] : cube.bool;
             cf.branch_conditional if is_first ^one() else ^two(zero)
             ^one(): constant = builtin.constant <cube.index 1> : cube.index;
                     cf.branch ^two(constant)
             ^two(joined: cube.index):
                     cf.branch_conditional if scalar ^three(zero) else ^three(id)
             ^three(chosen: cube.index):
                     cf.branch_conditional if scalar ^four() else ^four()
             ^four(): branch.return"
        ),
        &expect![[r#"
            joined: None {x, y, z} (cubecl: Device)
            chosen: None {x, y, z}
            id: None {x, y, z}
            zero: Device {}
            is_first: None {x, y, z}
            scalar: Device {}
            constant: Device {}
        "#]],
    );
}

/// Units that return do not come to what is behind.
#[test]
fn a_return_in_an_if() {
    check(
        &format!(
            "{ID} {ZERO}
             is_first = cmp.i_equal (id, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
             scalar = cube.read_scalar <cube.bool>[0] : cube.bool;
             branch.if is_first then {{
               ^first(): branch.return
             }} else {{
               ^other(): branch.yield ()
             }};
             branch.if scalar then {{
               ^then(): branch.yield ()
             }} else {{
               ^else(): branch.yield ()
             }};
             branch.return"
        ),
        &expect![[r#"
            id: None {x, y, z}
            zero: Device {}
            is_first: None {x, y, z}
            scalar: Device {}
            first: None {x, y, z}
            other: None {x, y, z}
            then: None {x, y, z}
            else: None {x, y, z}
        "#]],
    );
}

/// A dimension may be asked for by each unit; memory of a cube is another in each cube.
#[test]
fn memory_and_metadata() {
    check(
        &format!(
            "{ID} {ZERO}
             shape = cube.shape (id) [] [cube_shape_buffer_idx: cube.index 0] :
                 <(cube.index) -> (cube.index)>;
             shared = memory.declare_variable cube.array [cube.index; 8] Shared, align = 4, init = ;
             of_id = memory.index shared[id] : cube.ptr <cube.index, Shared>;
             of_zero = memory.index shared[zero] : cube.ptr <cube.index, Shared>;
             mine = memory.load (of_id) [] [] : <(cube.ptr <cube.index, Shared>) -> (cube.index)>;
             first = memory.load (of_zero) [] [] :
                 <(cube.ptr <cube.index, Shared>) -> (cube.index)>;
             old = atomic.i_add (of_zero, zero) [] [] :
                 <(cube.ptr <cube.index, Shared>, cube.index) -> (cube.index)>;
             own = memory.declare_variable cube.index Local, align = 4, init = cube.index 0;
             memory.store (own, zero) [] [] : <(cube.ptr <cube.index, Local>, cube.index) -> ()>;
             held = memory.load (own) [] [] : <(cube.ptr <cube.index, Local>) -> (cube.index)>;
             branch.return"
        ),
        &expect![[r#"
            id: None {x, y, z}
            zero: Device {}
            shape: None {x, y, z} (cubecl: Device)
            shared: Cube {opaque.group}
            of_id: None {x, y, z, opaque.group}
            of_zero: Cube {opaque.group}
            mine: None {x, y, z, opaque.wave, opaque.group}
            first: Plane {opaque.wave, opaque.group} (cubecl: None)
            old: None {opaque.thread}
            own: None {opaque.thread}
            held: Device {} (cubecl: None)
        "#]],
    );
}
