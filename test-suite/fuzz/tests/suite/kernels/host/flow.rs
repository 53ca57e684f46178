//! Shapes of control flow: exits, breaks, gotos, state machines, a machine that runs byte code.

use super::{Case, case, numbers};
use crate::kernels::device::{Device, Outcome, args, ensure};

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![early_exits(), nested_breaks(), uniform_and_divergent()];
    all.extend([lexer(), irreducible_walk(), duff_copy(), stack_machine()]);
    all.extend([parser(), protocol()]);
    all
}

fn early_exits() -> Case {
    case("opencl/control_flow", &["early_exits"], |device| {
        let v = numbers(1, 60, 50);
        let given = device.input(&v);
        for (low, high) in [(10, 40), (40, 10)] {
            let out = device.buffer(&[-7i32; 64]);
            device.line("early_exits", 1, 64, args![given, out, 60, low, high])?;
            let value = |i: usize| match v.get(i) {
                Some(&value) if low <= high && (low..=high).contains(&value) => match value % 2 {
                    0 => value,
                    _ => value * v[59 - i],
                },
                _ => -7,
            };
            device.expect(out, &(0..64).map(value).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn nested_breaks() -> Case {
    case("opencl/control_flow", &["nested_breaks"], |device| {
        let (rows, columns) = (5usize, 64usize);
        let v = numbers(2, rows * columns, 70);
        let given = device.input(&v);
        for stop in [3, 9] {
            let out = device.buffer(&[0i32; 64]);
            let args = args![given, out, rows as i32, columns as i32, stop];
            device.line("nested_breaks", 2, 32, args)?;
            let result = |id: usize| {
                let rows_done = (stop as usize).min(rows);
                let row_sum = |row: &[i32]| {
                    let met: Vec<i32> = (0..columns).map(|j| row[j ^ id]).collect();
                    let end = met.iter().position(|&v| v != 0 && v == id as i32);
                    let end = end.unwrap_or(columns);
                    met[..end].iter().sum::<i32>() + end as i32
                };
                let sum: i32 = v.chunks(columns).take(rows_done).map(row_sum).sum();
                sum + rows_done as i32
            };
            device.expect(out, &(0..64).map(result).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn uniform_and_divergent() -> Case {
    case("opencl/control_flow", &["uniform_and_divergent"], |device| {
        let v = numbers(3, 64 + 18, 40);
        let given = device.input(&v);
        for mode in [9, -12, 0] {
            let out = device.buffer(&[0i32; 64]);
            device.line("uniform_and_divergent", 2, 32, args![given, out, mode])?;
            let result = |id: usize| {
                let a = if mode > 0 { 2 * mode } else { -mode };
                let b = if v[id] > a { a + 1 } else { a - 1 };
                v[id..id + a as usize].iter().fold(b, |b, &v| if v < b { b + 1 } else { b })
            };
            device.expect(out, &(0..64).map(result).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn lexer() -> Case {
    case("opencl/state_machine", &["lex_numbers"], |device| {
        let lines = [
            "12 7 a100",
            "",
            "x9y9z9",
            "4 5 6",
            "00042",
            "no digits",
            "1",
            "99 1",
            "8z8",
            "887",
            "3;",
        ];
        let (mut text, mut start, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            start.push(text.len() as i32);
            text.extend(line.bytes());
            text.push(0);
            let words = line.split(|c: char| !c.is_ascii_digit());
            sums.push(words.filter_map(|w| w.parse::<i32>().ok()).sum());
        }
        let (text, start) = (device.input(&text), device.input(&start));
        let out = device.buffer(&[-1i32; 11]);
        device.line("lex_numbers", 1, 11, args![text, start, out])?;
        device.expect(out, &sums)
    })
}

/// The last writer of a word of the trace is unspecified, but the value is a number that some
/// thread had in that round. The sum behind the trace is specified.
fn irreducible_walk() -> Case {
    case("opencl/state_machine", &["irreducible_walk"], |device| {
        let seeds: Vec<u32> = numbers(1, 32, 90).iter().map(|&n| n as u32 + 1).collect();
        for limit in [50, 7, 4] {
            walk_within(device, &seeds, limit)?;
        }
        Ok(())
    })
}

fn walk_within(device: &mut Device<'_>, seeds: &[u32], limit: u32) -> Outcome {
    let mut seen = vec![Vec::new(); 64];
    let (mut steps, mut odd_sum) = (Vec::new(), 0u32);
    for &seed in seeds {
        let (mut n, mut count) = (seed, 0);
        loop {
            if n % 2 == 1 {
                odd_sum = odd_sum.wrapping_add(n);
                n = 3 * n + 1;
                count += 1;
                if count >= limit {
                    break;
                }
            }
            seen[(count & 63) as usize].push(n);
            n /= 2;
            count += 1;
            if count >= limit || n <= 1 {
                break;
            }
        }
        steps.push(count);
    }
    let given = device.input(seeds);
    let (out, trace) = (device.buffer(&[0u32; 32]), device.buffer(&[0u32; 65]));
    device.line("irreducible_walk", 1, 32, args![given, out, trace, limit])?;
    device.expect(out, &steps)?;
    let trace = device.read(trace);
    ensure(trace[64] == odd_sum, || format!("the sum is {}, not {odd_sum}", trace[64]))?;
    for (k, seen) in seen.iter().enumerate() {
        let is_right = seen.contains(&trace[k]) || seen.is_empty() && trace[k] == 0;
        ensure(is_right, || format!("trace {k} is {}, which nobody had: {seen:?}", trace[k]))?;
    }
    Ok(())
}

fn duff_copy() -> Case {
    case("opencl/state_machine", &["duff_copy"], |device| {
        let v = numbers(1, 48 * 12, 1000);
        let given = device.input(&v);
        for count in [0, 1, 4, 6, 7, 11] {
            let out = device.buffer(&vec![-1i32; v.len()]);
            device.line("duff_copy", 3, 16, args![given, out, count])?;
            let copied = 48 * count as usize;
            let expected: Vec<i32> =
                v.iter().enumerate().map(|(i, &v)| if i < copied { v } else { -1 }).collect();
            device.expect(out, &expected)?;
        }
        Ok(())
    })
}

/// Operations of the byte code.
mod code {
    pub(super) const HALT: i32 = 0;
    pub(super) const PUSH: i32 = 1;
    pub(super) const INPUT: i32 = 2;
    pub(super) const ADD: i32 = 3;
    pub(super) const SUB: i32 = 4;
    pub(super) const MUL: i32 = 5;
    pub(super) const DUP: i32 = 6;
    pub(super) const SWAP: i32 = 7;
    pub(super) const JUMP: i32 = 8;
    pub(super) const JUMP_IF_ZERO: i32 = 9;
    pub(super) const LESS: i32 = 10;
}

/// The byte code: if the input is less than 1, returns minus five; if it is greater than 17,
/// executes an invalid operation; else makes as many rounds of `x = 3 * x + 1`. The host computes
/// the intended result.
fn stack_machine() -> Case {
    use code::*;
    const PROGRAM: &[i32] = &[
        INPUT,
        PUSH,
        1,
        LESS,
        JUMP_IF_ZERO,
        9,
        PUSH,
        -5,
        HALT, // 9:
        PUSH,
        17,
        INPUT,
        LESS,
        JUMP_IF_ZERO,
        16,
        99, // 16:
        PUSH,
        2,
        INPUT, // 19: x, n
        SWAP,
        PUSH,
        3,
        MUL,
        PUSH,
        1,
        ADD,
        SWAP,
        PUSH,
        1,
        SUB,
        DUP,
        JUMP_IF_ZERO,
        35,
        JUMP,
        19, // 35:
        SWAP,
        HALT,
    ];
    case("opencl/interpreter", &["stack_machine"], |device| {
        let inputs: Vec<i32> = numbers(1, 64, 24).iter().map(|n| n - 3).collect();
        let (program, given) = (device.input(PROGRAM), device.input(&inputs));
        let out = device.buffer(&[0i32; 64]);
        device.line("stack_machine", 2, 32, args![program, given, out, 1000])?;
        let result = |&n: &i32| match n {
            ..1 => -5,
            1..=17 => (0..n).fold(2, |x, _| 3 * x + 1),
            _ => -1,
        };
        device.expect(out, &inputs.iter().map(result).collect::<Vec<_>>())?;
        // Out of fuel in the first round, after a push.
        device.line("stack_machine", 2, 32, args![program, given, out, 2])?;
        device.expect(out, &[1; 64])
    })
}

fn parser() -> Case {
    case("cuda/state_machine", &["irreducible_parser"], |device| {
        let texts =
            ["a # b\nccc", "no comment", "", "##\n#\nx", "one\ntwo # three", "#", "\n\n", "y"];
        let (mut text, mut start) = (Vec::new(), Vec::new());
        let (mut inside, mut expected) = (Vec::new(), Vec::new());
        for is_inside in [0u8, 1] {
            for part in texts {
                start.push(text.len() as i32);
                text.extend(part.bytes());
                text.push(0);
                inside.push(is_inside);
                // Inside a comment, what comes first is one up to the end of its line.
                let code = match is_inside {
                    0 => part,
                    _ => part.split_once('\n').map_or("", |(_, rest)| rest),
                };
                // The end of a line ends a comment and belongs to it.
                let lines = code.split_inclusive('\n');
                let code_bytes = lines.map(|line| line.find('#').unwrap_or(line.len()));
                expected.push(code_bytes.sum::<usize>() as i32);
            }
        }
        let (text, start) = (device.input(&text), device.input(&start));
        let (inside, out) = (device.input(&inside), device.buffer(&[-1i32; 16]));
        device.line("irreducible_parser", 1, 16, args![text, start, inside, out])?;
        device.expect(out, &expected)
    })
}

fn protocol() -> Case {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Idle,
        Sent,
        Waiting,
        Retry,
        Closed,
    }
    case("cuda/state_machine", &["protocol"], |device| {
        let (threads, count, max_retries) = (64usize, 60usize, 2);
        let events: Vec<u8> =
            numbers(1, threads * count, 4).iter().map(|&event| event as u8).collect();
        let (given, out) = (device.input(&events), device.buffer(&vec![-99i32; threads]));
        device.line("protocol", 2, 32, args![given, out, count as i32, max_retries])?;
        let result = |i: usize| {
            let (mut state, mut retries, mut acknowledged) = (State::Idle, 0, 0);
            for k in 0..count {
                let event = events[k * threads + i];
                state = match (state, event) {
                    (State::Idle, 1 | 3) => State::Sent,
                    (State::Idle, _) => State::Idle,
                    (State::Sent, _) | (State::Waiting, 0 | 1) => State::Waiting,
                    (State::Waiting, 2) => {
                        acknowledged += 1;
                        State::Idle
                    }
                    (State::Waiting, _) => State::Retry,
                    (State::Retry, _) => {
                        retries += 1;
                        if retries > max_retries { State::Closed } else { State::Sent }
                    }
                    (State::Closed, _) => State::Closed,
                };
            }
            if state == State::Closed { -acknowledged } else { acknowledged }
        };
        device.expect(out, &(0..threads).map(result).collect::<Vec<_>>())
    })
}
