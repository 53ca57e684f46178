//! Which copies of a function would access memory through narrower spaces.
//!
//! A function that is called with pointers into different memories has generic accesses, although
//! each call may say which memory it is. A copy for calls that agree needs no generic access. Calls
//! are grouped by the narrowest space of each generic argument that is not already narrow over all
//! calls. A call that narrows no argument stays with the original function. O(calls × arguments).
//!
//! ```text
//! call void @f(ptr %shared)    ; first copy: argument 0 in shared memory
//! call void @f(ptr %global)    ; second copy: argument 0 in device memory
//! ```

use rustc_hash::FxHashMap;

use crate::code::{SpaceModel, SpaceSet};

/// A copy of a function, for some of its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialization<C> {
    /// Positions of arguments, with the memories that these calls pass and the space that has them;
    /// sorted.
    pub arguments: Vec<(u32, SpaceSet, u32)>,
    /// The calls, in the order in which they were given.
    pub calls: Vec<C>,
}

/// The copies that would help, in the order of their first calls. `is_generic` says whether the
/// argument at a position is a generic pointer; `calls` have the memories that they pass, by
/// position.
#[must_use]
pub fn specializations<C: Copy>(
    model: SpaceModel,
    is_generic: impl Fn(u32) -> bool,
    calls: &[(C, Vec<SpaceSet>)],
) -> Vec<Specialization<C>> {
    let count = calls.iter().map(|(_, sets)| sets.len()).min().unwrap_or(0) as u32;
    let narrow = |set: SpaceSet| match set.memories().is_empty() {
        true => None,
        false => model.narrowest(set).filter(|space| Some(*space) != model.generic()),
    };
    let union = |at: u32| {
        calls.iter().fold(SpaceSet::EMPTY, |all, (_, sets)| all.or(sets[at as usize].memories()))
    };
    let wanted: Vec<u32> =
        (0..count).filter(|&at| is_generic(at) && narrow(union(at)).is_none()).collect();
    // The copy for each set of narrowed arguments.
    let mut copy_of: FxHashMap<Vec<(u32, u32)>, usize> = FxHashMap::default();
    let mut found: Vec<Specialization<C>> = Vec::new();
    for (call, sets) in calls {
        let narrowed = wanted.iter().filter_map(|&at| Some((at, narrow(sets[at as usize])?)));
        let key: Vec<(u32, u32)> = narrowed.collect();
        if key.is_empty() {
            continue;
        }
        let passed = |at: u32| sets[at as usize].memories();
        match copy_of.get(&key) {
            Some(&known) => {
                let copy = &mut found[known];
                copy.calls.push(*call);
                copy.arguments.iter_mut().for_each(|(at, set, _)| *set = set.or(passed(*at)));
            }
            None => {
                let arguments = key.iter().map(|&(at, space)| (at, passed(at), space)).collect();
                copy_of.insert(key.clone(), found.len());
                found.push(Specialization { arguments, calls: vec![*call] });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use phalanx_target::Architecture;

    use super::*;

    #[test]
    fn calls_that_agree_share_a_copy() {
        let model = SpaceModel::new(Architecture::Nvptx);
        let (shared, global) = (SpaceSet::SHARED, SpaceSet::GLOBAL);
        let any = shared | global;
        let calls = [
            (0, vec![shared, global]),
            (1, vec![global | SpaceSet::NOWHERE, global]),
            (2, vec![shared, global]),
            (3, vec![any, global]),
            (4, vec![SpaceSet::NOWHERE, global]),
        ];
        let found = specializations(model, |_| true, &calls);
        let copy = |calls: &[i32], set, space| Specialization {
            arguments: vec![(0, set, space)],
            calls: calls.to_vec(),
        };
        // The second argument is narrow in the function as it is.
        assert_eq!(found, [copy(&[0, 2], shared, 3), copy(&[1], global, 1)]);
        assert_eq!(specializations(model, |at| at == 1, &calls), []);
        // If all calls agree, the function itself is narrow.
        assert_eq!(specializations(model, |_| true, &calls[..1]), []);
    }
}
