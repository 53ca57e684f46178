//! What the kernels compute, computed plainly.

/// An argument of a kernel.
pub(crate) enum Given {
    Bits(u128),
    Buffer(Vec<u8>),
    Shared(u64),
}

/// A launch and what it leaves in its buffers, in the order of the arguments; an empty one is not compared.
pub(crate) struct Case {
    pub(crate) file: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 3],
    pub(crate) args: Vec<Given>,
    pub(crate) expected: Vec<Vec<u8>>,
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn u64s(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn number(value: i32) -> Given {
    Given::Bits(u128::from(value as u32))
}

fn float(value: f32) -> Given {
    Given::Bits(value.to_bits().into())
}

fn buffer(bytes: &[u8]) -> Given {
    Given::Buffer(bytes.to_vec())
}

/// Numbers that look random, below a limit.
fn numbers(count: usize, limit: u32) -> Vec<i32> {
    let mut state = 0x1234_5678u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) % limit) as i32
    };
    (0..count).map(next).collect()
}

fn floats(count: usize) -> Vec<f32> {
    numbers(count, 1000).into_iter().map(|n| n as f32 / 8.0).collect()
}

fn case(
    file: &'static str,
    kernel: &'static str,
    block: [u32; 3],
    grid: [u32; 3],
    args: Vec<Given>,
    expected: Vec<Vec<u8>>,
) -> Case {
    Case { file, kernel, block, grid, args, expected }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = arithmetic();
    all.extend(workgroups());
    all.extend(searches());
    all.extend(irregular());
    all
}

/// Kernels whose threads are on their own.
fn arithmetic() -> Vec<Case> {
    let (a, b, n) = (floats(100), floats(130), 100);
    let sum: Vec<f32> = (0..n).map(|i| a[i] + b[i]).chain(vec![0.0; 28]).collect();
    let add = case(
        "vector_add",
        "vector_add",
        [64, 1, 1],
        [2, 1, 1],
        vec![buffer(&f32s(&a)), buffer(&f32s(&b)), buffer(&[0; 512]), number(n as i32)],
        vec![vec![], vec![], f32s(&sum)],
    );
    let y: Vec<f32> = (0..n).map(|i| 2.5f32.mul_add(a[i], b[i])).collect();
    let saxpy = case(
        "saxpy",
        "saxpy_grid_stride",
        [32, 1, 1],
        [1, 1, 1],
        vec![buffer(&f32s(&a)), buffer(&f32s(&b[..n])), float(2.5), number(n as i32)],
        vec![vec![], f32s(&y)],
    );
    let size = 20usize;
    let (m, k) = (floats(size * size), floats(size * size + 7)[7..].to_vec());
    let mut product = vec![0f32; size * size];
    for row in 0..size {
        for column in 0..size {
            let terms = (0..size).map(|i| (m[row * size + i], k[i * size + column]));
            product[row * size + column] = terms.fold(0.0, |sum, (a, b)| a.mul_add(b, sum));
        }
    }
    let matrices = || {
        let zeros = vec![0; 4 * size * size];
        vec![buffer(&f32s(&m)), buffer(&f32s(&k)), buffer(&zeros), number(size as i32)]
    };
    let naive = case(
        "matmul",
        "matmul_naive",
        [8, 8, 1],
        [3, 3, 1],
        matrices(),
        vec![vec![], vec![], f32s(&product)],
    );
    let tiled = case(
        "matmul",
        "matmul_tiled",
        [16, 16, 1],
        [2, 2, 1],
        matrices(),
        vec![vec![], vec![], f32s(&product)],
    );
    let start: Vec<u64> = (1..=64).map(|i| i * 7 + 1).collect();
    let steps = start.iter().flat_map(|&start| {
        let (mut n, mut count) = (start, 0u16);
        while n != 1 && n < 1 << 40 {
            n = if n & 1 == 1 { 3 * n + 1 } else { n >> n.trailing_zeros() };
            count += 1;
        }
        (if n == 1 { count } else { 0xffff }).to_le_bytes()
    });
    let collatz = case(
        "types",
        "collatz_64",
        [32, 1, 1],
        [2, 1, 1],
        vec![buffer(&u64s(&start)), buffer(&[0; 128]), Given::Bits(1 << 40)],
        vec![vec![], steps.collect()],
    );
    let (width, height) = (20usize, 12usize);
    let cells: Vec<u8> = numbers(width * height, 3).iter().map(|&n| u8::from(n == 0)).collect();
    let next = (0..width * height).map(|at| {
        let (x, y) = ((at % width) as i32, (at / width) as i32);
        let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
        let alive: u8 = around
            .filter(|&d| d != (0, 0))
            .map(|(dx, dy)| {
                let (x, y) =
                    ((x + dx).rem_euclid(width as i32), (y + dy).rem_euclid(height as i32));
                cells[y as usize * width + x as usize]
            })
            .sum();
        u8::from(alive == 3 || alive == 2 && cells[at] == 1)
    });
    let life = case(
        "life",
        "life_step",
        [8, 8, 1],
        [3, 2, 1],
        vec![
            buffer(&cells),
            buffer(&vec![9; width * height]),
            number(width as i32),
            number(height as i32),
        ],
        vec![vec![], next.collect()],
    );
    vec![add, saxpy, naive, tiled, collatz, life, mandelbrot()]
}

fn mandelbrot() -> Case {
    let (width, height, limit) = (24usize, 10usize, 40);
    let (x0, y0, step) = (-2.0f32, -1.0f32, 0.125f32);
    let mut counts = Vec::new();
    for py in 0..height {
        for px in 0..width {
            // The compiler may contract what is written as one expression, and does.
            let (cx, cy) = (step.mul_add(px as f32, x0), step.mul_add(py as f32, y0));
            let (mut x, mut y, mut k) = (0f32, 0f32, 0);
            while k < limit {
                let (xx, yy) = (x * x, y * y);
                if xx + yy > 4.0 {
                    break;
                }
                y = (2.0 * x).mul_add(y, cy);
                x = xx - yy + cx;
                k += 1;
            }
            counts.push(k);
        }
    }
    // Only -O0 and the host agree on what is contracted: the counts of points that leave early do not depend on it.
    let stable = counts.clone();
    case(
        "fractal",
        "mandelbrot",
        [8, 4, 1],
        [3, 3, 1],
        vec![
            buffer(&vec![0; 4 * width * height]),
            float(x0),
            float(y0),
            float(step),
            number(width as i32),
            number(height as i32),
            number(limit),
        ],
        vec![i32s(&stable)],
    )
}

/// Kernels with barriers and workgroup memory.
fn workgroups() -> Vec<Case> {
    let n = 700usize;
    let a = floats(n);
    let groups = 2usize;
    let partial = (0..groups).map(|group| {
        let mut scratch: Vec<f32> = (0..256)
            .map(|t| (group * 256 + t..n).step_by(groups * 256).fold(0.0, |sum, i| sum + a[i]))
            .collect();
        let mut half = 128;
        while half > 0 {
            for t in 0..half {
                scratch[t] += scratch[t + half];
            }
            half /= 2;
        }
        scratch[0]
    });
    let reduce = case(
        "reduce",
        "reduce_sum",
        [256, 1, 1],
        [2, 1, 1],
        vec![buffer(&f32s(&a)), buffer(&[0; 8]), number(n as i32)],
        vec![vec![], f32s(&partial.collect::<Vec<_>>())],
    );
    let v = numbers(n, 100_000);
    let best = v.iter().copied().max().unwrap_or(0);
    let max = case(
        "reduce",
        "reduce_max_atomic",
        [64, 1, 1],
        [2, 1, 1],
        vec![buffer(&i32s(&v)), buffer(&i32s(&[-1])), number(n as i32)],
        vec![vec![], i32s(&[best])],
    );
    let sums = v[..256].iter().scan(0, |sum, &x| {
        *sum += x;
        Some(*sum)
    });
    let scan = case(
        "scan",
        "scan_inclusive",
        [256, 1, 1],
        [1, 1, 1],
        vec![buffer(&i32s(&v[..256])), buffer(&[0; 1024]), number(256)],
        vec![vec![], i32s(&sums.collect::<Vec<_>>())],
    );
    let before = v[..512].iter().scan(0, |sum, &x| {
        *sum += x;
        Some(*sum - x)
    });
    let exclusive = case(
        "scan",
        "scan_exclusive",
        [256, 1, 1],
        [1, 1, 1],
        vec![buffer(&i32s(&v[..512])), buffer(&[0; 2048]), buffer(&[0; 4])],
        vec![vec![], i32s(&before.collect::<Vec<_>>()), i32s(&[v[..512].iter().sum()])],
    );
    let (width, height) = (40usize, 33usize);
    let m = floats(width * height);
    let turned = (0..width * height).map(|at| m[at % height * width + at / height]);
    let transpose = case(
        "transpose",
        "transpose_tiled",
        [32, 8, 1],
        [2, 2, 1],
        vec![
            buffer(&f32s(&m)),
            buffer(&vec![0; 4 * width * height]),
            number(width as i32),
            number(height as i32),
        ],
        vec![vec![], f32s(&turned.collect::<Vec<_>>())],
    );
    let bytes: Vec<u8> = numbers(n, 256).iter().map(|&n| n as u8).collect();
    let mut bins = vec![0; 256];
    bytes.iter().for_each(|&b| bins[usize::from(b)] += 1);
    let histogram = case(
        "histogram",
        "histogram_local",
        [64, 1, 1],
        [2, 1, 1],
        vec![buffer(&bytes), buffer(&[0; 1024]), number(n as i32)],
        vec![vec![], i32s(&bins)],
    );
    let mut sorted = v[..256].to_vec();
    sorted.sort_unstable();
    let bitonic = case(
        "sort",
        "bitonic_sort",
        [256, 1, 1],
        [1, 1, 1],
        vec![buffer(&i32s(&v[..256]))],
        vec![i32s(&sorted)],
    );
    let mut few = v[..50].to_vec();
    few.sort_unstable();
    let odd_even = case(
        "sort",
        "odd_even_sort",
        [64, 1, 1],
        [1, 1, 1],
        vec![buffer(&i32s(&v[..50])), Given::Shared(256), number(50)],
        vec![i32s(&few)],
    );
    vec![reduce, max, scan, exclusive, transpose, histogram, bitonic, odd_even, edit_distance()]
}

fn edit_distance() -> Case {
    let word = |seed: usize| -> Vec<u8> {
        numbers(40 + seed, 4)[seed..].iter().map(|&n| b'a' + n as u8).collect()
    };
    let (a, b) = (word(0), word(11));
    let n = a.len();
    let mut row: Vec<i32> = (0..=n as i32).collect();
    for i in 1..=n {
        let mut diagonal = row[0];
        row[0] = i as i32;
        for j in 1..=n {
            let above = row[j];
            let cost = diagonal + i32::from(a[i - 1] != b[j - 1]);
            row[j] = cost.min(above + 1).min(row[j - 1] + 1);
            diagonal = above;
        }
    }
    case(
        "dynamic_programming",
        "edit_distance",
        [64, 1, 1],
        [1, 1, 1],
        vec![buffer(&a), buffer(&b), Given::Shared(256), buffer(&[0; 4]), number(n as i32)],
        vec![vec![], vec![], i32s(&[row[n]])],
    )
}

/// Kernels that look for something.
fn searches() -> Vec<Case> {
    let mut table = numbers(200, 1000);
    table.sort_unstable();
    let keys = numbers(64, 1100);
    let place = keys.iter().map(|&key| {
        let (mut low, mut length) = (0usize, table.len());
        while length > 0 {
            let half = length / 2;
            if table[low + half] < key {
                low += length - half;
            }
            length = half;
        }
        low as i32
    });
    let search = case(
        "compaction",
        "binary_search",
        [32, 1, 1],
        [2, 1, 1],
        vec![buffer(&i32s(&table)), number(200), buffer(&i32s(&keys)), buffer(&[0; 256])],
        vec![vec![], vec![], i32s(&place.collect::<Vec<_>>())],
    );
    let text: Vec<u8> = numbers(300, 3).iter().map(|&n| b'a' + n as u8).collect();
    let pattern = text[200..206].to_vec();
    let first = text.windows(6).position(|w| w == pattern).unwrap_or(0) as i32;
    let naive = case(
        "string_match",
        "match_naive",
        [64, 1, 1],
        [1, 1, 1],
        vec![buffer(&text), buffer(&pattern), buffer(&i32s(&[i32::MAX])), number(300), number(6)],
        vec![vec![], vec![], i32s(&[first])],
    );
    let v = numbers(64, 50);
    let (low, high) = (10, 40);
    let out = (0..64).map(|i| {
        let value = v[i];
        match (value < low || value > high, value & 1) {
            (true, _) => -7,
            (false, 0) => value,
            (false, _) => value * v[63 - i],
        }
    });
    let exits = case(
        "control_flow",
        "early_exits",
        [64, 1, 1],
        [1, 1, 1],
        vec![buffer(&i32s(&v)), buffer(&i32s(&[-7; 64])), number(64), number(low), number(high)],
        vec![vec![], i32s(&out.collect::<Vec<_>>())],
    );
    vec![search, naive, exits, lex()]
}

fn lex() -> Case {
    let lines = ["12 7 a100", "", "x9y9z9", "4 5 6", "00042", "no digits", "1", "99 1"];
    let (mut text, mut start, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        start.push(text.len() as i32);
        text.extend(line.bytes());
        text.push(0);
        let words = line.split(|c: char| !c.is_ascii_digit()).filter_map(|w| w.parse::<i32>().ok());
        sums.push(words.sum());
    }
    case(
        "state_machine",
        "lex_numbers",
        [8, 1, 1],
        [1, 1, 1],
        vec![buffer(&text), buffer(&i32s(&start)), buffer(&[0; 32])],
        vec![vec![], vec![], i32s(&sums)],
    )
}

/// Kernels over graphs and sparse matrices, and with gotos.
fn irregular() -> Vec<Case> {
    let nodes = 60usize;
    let (mut row, mut column) = (vec![0], Vec::new());
    for (node, degree) in numbers(nodes, 5).into_iter().enumerate() {
        column.extend(numbers(node + degree as usize, nodes as u32)[node..].iter().copied());
        row.push(column.len() as i32);
    }
    let (value, x) = (floats(column.len()), floats(nodes));
    let y = (0..nodes).map(|r| {
        let entries = row[r] as usize..row[r + 1] as usize;
        entries.fold(0f32, |sum, k| value[k].mul_add(x[column[k] as usize], sum))
    });
    let spmv = case(
        "spmv",
        "spmv_scalar",
        [32, 1, 1],
        [2, 1, 1],
        vec![
            buffer(&i32s(&row)),
            buffer(&i32s(&column)),
            buffer(&f32s(&value)),
            buffer(&f32s(&x)),
            buffer(&vec![0; 4 * nodes]),
            number(nodes as i32),
        ],
        vec![vec![], vec![], vec![], vec![], f32s(&y.collect::<Vec<_>>())],
    );
    let mut level = vec![-1; nodes];
    level[0] = 0;
    level[7] = 0;
    let mut next = level.clone();
    let mut changed = 0;
    for v in (0..nodes).filter(|&v| level[v] == 0) {
        for &w in &column[row[v] as usize..row[v + 1] as usize] {
            if next[w as usize] < 0 {
                next[w as usize] = 1;
                changed = 1;
            }
        }
    }
    let bfs = case(
        "graph",
        "bfs_level",
        [64, 1, 1],
        [1, 1, 1],
        vec![
            buffer(&i32s(&row)),
            buffer(&i32s(&column)),
            buffer(&i32s(&level)),
            buffer(&i32s(&[0])),
            number(0),
            number(nodes as i32),
        ],
        vec![vec![], vec![], i32s(&next), i32s(&[changed])],
    );
    vec![spmv, bfs, irreducible_walk()]
}

fn irreducible_walk() -> Case {
    let seeds: Vec<u32> = numbers(32, 90).iter().map(|&n| n as u32 + 1).collect();
    let limit = 50;
    let (mut steps, mut odd_sum) = (Vec::new(), 0u32);
    for &seed in &seeds {
        let (mut n, mut count) = (seed, 0u32);
        let mut is_odd = n & 1 == 1;
        loop {
            if is_odd {
                odd_sum = odd_sum.wrapping_add(n);
                n = 3 * n + 1;
                count += 1;
                if count >= limit {
                    break;
                }
            }
            n /= 2;
            count += 1;
            if count >= limit || n <= 1 {
                break;
            }
            is_odd = n & 1 == 1;
        }
        steps.push(count as i32);
    }
    let bytes: Vec<u8> = seeds.iter().flat_map(|s| s.to_le_bytes()).collect();
    // Who writes the first 64 words last is open; the sum behind them is not.
    let _ = odd_sum;
    case(
        "state_machine",
        "irreducible_walk",
        [32, 1, 1],
        [1, 1, 1],
        vec![buffer(&bytes), buffer(&[0; 128]), buffer(&[0; 260]), Given::Bits(limit.into())],
        vec![vec![], i32s(&steps), vec![]],
    )
}
