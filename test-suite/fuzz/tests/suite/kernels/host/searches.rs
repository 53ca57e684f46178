//! Searching, filtering, hashing, words, sorting.

use std::collections::BTreeMap;

use super::{Case, case, numbers};
use crate::kernels::device::{Given, args, ensure, same};

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        binary_search(),
        stream_compact(),
        sparse_set(),
        hash_insert(),
        hash_lookup(),
        match_naive(),
        match_wildcard(),
        edit_distance(),
    ];
    all.extend(sorts());
    all
}

fn binary_search() -> Case {
    case("opencl/compaction", &["binary_search"], |device| {
        let mut table = numbers(1, 200, 1000);
        table.sort_unstable();
        let keys = numbers(2, 64, 1100);
        let (sorted, wanted) = (device.input(&table), device.input(&keys));
        let out = device.buffer(&[-1i32; 64]);
        device.line("binary_search", 2, 32, args![sorted, 200, wanted, out])?;
        let place = keys.iter().map(|&key| table.partition_point(|&entry| entry < key) as i32);
        device.expect(out, &place.collect::<Vec<_>>())
    })
}

/// Groups append in any order, the threads of a group too.
fn stream_compact() -> Case {
    case("opencl/compaction", &["stream_compact"], |device| {
        // All different, so that each tells where it comes from.
        let v: Vec<i32> = (0..220).map(|i| i * 37 % 223).collect();
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 220]));
        let (total, threshold) = (device.buffer(&[0i32]), 120);
        device.line("stream_compact", 4, 64, args![given, out, total, 220, threshold])?;
        let mut groups: Vec<Vec<i32>> = v
            .chunks(64)
            .map(|group| group.iter().copied().filter(|&v| v > threshold).collect())
            .collect();
        let count = groups.iter().map(Vec::len).sum::<usize>();
        device.expect(total, &[count as i32])?;
        let found = device.read(out);
        ensure(found[count..].iter().all(|&v| v == -1), || "too much is written".to_owned())?;
        let mut rest = &found[..count];
        while let Some(first) = rest.first() {
            let group = groups.iter().position(|group| group.contains(first));
            let mut group = groups.swap_remove(group.ok_or(format!("where is {first} from?"))?);
            let (mut part, next) = (rest[..group.len().min(rest.len())].to_vec(), rest);
            part.sort_unstable();
            group.sort_unstable();
            same(&part, &group)?;
            rest = &next[part.len()..];
        }
        Ok(())
    })
}

fn sparse_set() -> Case {
    case("opencl/compaction", &["sparse_set"], |device| {
        let indices: Vec<u32> = numbers(1, 150, 320).iter().map(|&n| n as u32).collect();
        let mut bits = vec![0x0001_0001u32; 10];
        let (given, words) = (device.input(&indices), device.buffer(&bits));
        let fresh = device.buffer(&[100i32]);
        device.line("sparse_set", 1, 64, args![given, words, fresh, 150])?;
        let before: u32 = bits.iter().map(|word| word.count_ones()).sum();
        indices.iter().for_each(|&i| bits[i as usize / 32] |= 1 << (i % 32));
        let after: u32 = bits.iter().map(|word| word.count_ones()).sum();
        device.expect(words, &bits)?;
        device.expect(fresh, &[100 + (after - before) as i32])
    })
}

const EMPTY: u64 = u64::MAX;

fn hash(mut key: u32) -> u32 {
    key ^= key >> 16;
    key = key.wrapping_mul(0x7feb_352d);
    key ^= key >> 15;
    key = key.wrapping_mul(0x846c_a68b);
    key ^ key >> 16
}

/// Places between where a key belongs and where it is are taken.
fn is_found(table: &[u64], slot: usize) -> bool {
    let mask = table.len() - 1;
    let mut at = hash((table[slot] >> 32) as u32) as usize & mask;
    while at != slot && table[at] != EMPTY {
        at = (at + 1) & mask;
    }
    at == slot
}

/// Where an entry goes, and which of two with the same key, depends on the order.
fn hash_insert() -> Case {
    case("opencl/hash_table", &["hash_insert"], |device| {
        for (size, keys, fits) in [(128usize, 60, true), (16, 1000, false)] {
            let keys = numbers(1, 100, keys);
            let pairs: Vec<u32> =
                keys.iter().enumerate().flat_map(|(i, &k)| [k as u32, i as u32]).collect();
            let (given, failed) = (device.input(&pairs), device.buffer(&[0i32]));
            let table = device.buffer(&vec![EMPTY; size]);
            let mask = size as u32 - 1;
            device.line("hash_insert", 4, 32, args![table, mask, given, failed, 100])?;
            device.expect(failed, &[i32::from(!fits)])?;
            let table = device.read(table);
            let mut by_key = BTreeMap::new();
            for (slot, &entry) in table.iter().enumerate().filter(|&(_, &entry)| entry != EMPTY) {
                let (key, value) = ((entry >> 32) as i32, entry as u32 as usize);
                let is_given = keys.get(value) == Some(&key);
                ensure(is_given, || format!("slot {slot} has {key}: {value}"))?;
                ensure(by_key.insert(key, value).is_none(), || format!("{key} is there twice"))?;
                ensure(is_found(&table, slot), || format!("{key} is not found at {slot}"))?;
            }
            let all_there = keys.iter().all(|key| by_key.contains_key(key));
            let is_full = by_key.len() == size;
            ensure(if fits { all_there } else { is_full }, || {
                format!("{} entries are in {size} places", by_key.len())
            })?;
        }
        Ok(())
    })
}

fn hash_lookup() -> Case {
    case("opencl/hash_table", &["hash_lookup"], |device| {
        let entries: BTreeMap<u32, u32> = numbers(2, 45, 100)
            .iter()
            .enumerate()
            .map(|(i, &k)| (k as u32, 7 + i as u32))
            .collect();
        let mut slots = vec![EMPTY; 64];
        for (&key, &value) in &entries {
            let mut slot = hash(key) as usize & 63;
            while slots[slot] != EMPTY {
                slot = (slot + 1) & 63;
            }
            slots[slot] = u64::from(key) << 32 | u64::from(value);
        }
        let keys: Vec<u32> = (0..100).collect();
        let (table, wanted) = (device.input(&slots), device.input(&keys));
        let out = device.buffer(&[u32::MAX; 128]);
        device.line("hash_lookup", 4, 32, args![table, 63u32, wanted, out, 100])?;
        let value = |key: u32| match key {
            100.. => u32::MAX,
            _ => entries.get(&key).copied().unwrap_or(0),
        };
        device.expect(out, &(0..128).map(value).collect::<Vec<_>>())
    })
}

/// A text of few different letters.
fn letters(seed: u32, count: usize, different: u32) -> Vec<u8> {
    numbers(seed, count, different).iter().map(|&n| b'a' + n as u8).collect()
}

fn match_naive() -> Case {
    case("opencl/string_match", &["match_naive"], |device| {
        let text = letters(1, 300, 3);
        for pattern in [text[200..206].to_vec(), b"abx".to_vec(), text[294..].to_vec()] {
            let (given, wanted) = (device.input(&text), device.input(&pattern));
            let first = device.buffer(&[i32::MAX]);
            let args = args![given, wanted, first, 300, pattern.len() as i32];
            device.line("match_naive", 1, 64, args)?;
            let found = text.windows(pattern.len()).position(|w| w == pattern);
            device.expect(first, &[found.map_or(i32::MAX, |at| at as i32)])?;
        }
        Ok(())
    })
}

/// Whether a pattern with `*` and `?` matches, by a table over all prefixes.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let mut row: Vec<bool> = vec![true];
    row.resize(text.len() + 1, false);
    for &letter in glob {
        let mut next = vec![letter == b'*' && row[0]];
        for (at, &c) in text.iter().enumerate() {
            next.push(match letter {
                b'*' => row[at + 1] || next[at],
                b'?' => row[at],
                _ => row[at] && letter == c,
            });
        }
        row = next;
    }
    row[text.len()]
}

fn match_wildcard() -> Case {
    case("opencl/string_match", &["match_wildcard"], |device| {
        let words: Vec<Vec<u8>> = (0..60).map(|i| letters(i, i as usize % 9, 2)).collect();
        let (mut text, mut start) = (Vec::new(), Vec::new());
        for word in &words {
            start.push(text.len() as i32);
            text.extend(word);
            text.push(0);
        }
        let (text, start) = (device.input(&text), device.input(&start));
        for glob in ["a*b", "*ab*", "??a*", "", "*", "a?b*a", "*b*a*b", "*a?b"] {
            let pattern = device.input(format!("{glob}\0").as_bytes());
            let out = device.buffer(&[-1i32; 64]);
            device.line("match_wildcard", 2, 32, args![text, start, pattern, out, 60])?;
            let expected = words.iter().map(|word| i32::from(matches(glob.as_bytes(), word)));
            device.expect(out, &expected.chain([-1; 4]).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn edit_distance() -> Case {
    case("opencl/dynamic_programming", &["edit_distance"], |device| {
        for n in [40usize, 1] {
            let (a, b) = (letters(1, n, 4), letters(2, n, 4));
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
            let (left, right) = (device.input(&a), device.input(&b));
            let out = device.buffer(&[-1i32]);
            let args = args![left, right, Given::Shared(256), out, n as i32];
            device.line("edit_distance", 1, 64, args)?;
            device.expect(out, &[row[n]])?;
        }
        Ok(())
    })
}

fn sorts() -> Vec<Case> {
    vec![bitonic_sort(), bitonic_steps(), odd_even_sort(), radix(), warp_sort(), merge()]
}

fn sorted<T: Ord + Copy>(keys: &[T]) -> Vec<T> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys
}

fn unsigned(seed: u32, count: usize, limit: u32) -> Vec<u32> {
    numbers(seed, count, limit).iter().map(|&n| n as u32).collect()
}

fn bitonic_sort() -> Case {
    case("opencl/sort", &["bitonic_sort"], |device| {
        let mut v = unsigned(1, 512, 1000);
        v[3] = u32::MAX;
        let keys = device.buffer(&v);
        device.line("bitonic_sort", 2, 256, args![keys])?;
        device.expect(keys, &v.chunks(256).flat_map(sorted).collect::<Vec<_>>())
    })
}

/// A whole network, a launch for each step.
fn bitonic_steps() -> Case {
    case("opencl/sort", &["bitonic_step"], |device| {
        let mut v = unsigned(2, 128, 500);
        v[100] = u32::MAX;
        let keys = device.buffer(&v);
        for size in (1..=7).map(|log| 1 << log) {
            let mut stride = size / 2;
            while stride > 0 {
                device.line("bitonic_step", 2, 64, args![keys, size, stride])?;
                stride /= 2;
            }
        }
        device.expect(keys, &sorted(&v))
    })
}

fn odd_even_sort() -> Case {
    case("opencl/sort", &["odd_even_sort"], |device| {
        let v: Vec<i32> = numbers(3, 50, 1000).iter().map(|n| n - 500).collect();
        let data = device.buffer(&v);
        device.line("odd_even_sort", 1, 64, args![data, Given::Shared(256), 50])?;
        device.expect(data, &sorted(&v))
    })
}

/// Counts, their prefix sums by the host, a stable scatter: one pass by each of two digits sorts by
/// both.
fn radix() -> Case {
    case("opencl/radix_pass", &["radix_count", "radix_scatter"], |device| {
        let (n, groups) = (300usize, 3usize);
        let mut v = unsigned(4, n, 1 << 12);
        for shift in [4, 8] {
            let digit = |key: u32| (key >> shift & 15) as usize;
            let (keys, counts) = (device.input(&v), device.buffer(&[u32::MAX; 48]));
            device.line("radix_count", 3, 128, args![keys, counts, shift, n as i32])?;
            let mut expected = vec![0u32; 16 * groups];
            v.iter().enumerate().for_each(|(i, &key)| expected[digit(key) * groups + i / 128] += 1);
            device.expect(counts, &expected)?;
            let mut sum = 0;
            let before = expected.iter().map(|count| {
                sum += count;
                sum - count
            });
            let offsets = device.input(&before.collect::<Vec<_>>());
            let out = device.buffer(&vec![u32::MAX; n]);
            device.line("radix_scatter", 3, 128, args![keys, offsets, out, shift, n as i32])?;
            v.sort_by_key(|&key| digit(key));
            device.expect(out, &v)?;
        }
        assert!(v.is_sorted_by_key(|key| key >> 4));
        Ok(())
    })
}

fn warp_sort() -> Case {
    case("cuda/warp_sort", &["warp_sort"], |device| {
        let v: Vec<i32> = numbers(5, 128, 1000).iter().map(|n| n - 300).collect();
        let keys = device.buffer(&v);
        device.line("warp_sort", 2, 64, args![keys])?;
        device.expect(keys, &v.chunks(32).flat_map(sorted).collect::<Vec<_>>())
    })
}

fn merge() -> Case {
    case("cuda/warp_sort", &["merge_path"], |device| {
        for (na, nb) in [(70usize, 57usize), (0, 9), (30, 0)] {
            let (a, b) = (sorted(&numbers(6, na, 80)), sorted(&numbers(7, nb, 80)));
            // An empty buffer has no address.
            let (left, right) =
                (device.input(&[&a[..], &[0]].concat()), device.input(&[&b[..], &[0]].concat()));
            let out = device.buffer(&vec![-1i32; na + nb + 1]);
            device.line("merge_path", 2, 16, args![left, na as i32, right, nb as i32, out, 5])?;
            let mut expected = sorted(&[a, b].concat());
            expected.push(-1);
            device.expect(out, &expected)?;
        }
        Ok(())
    })
}
