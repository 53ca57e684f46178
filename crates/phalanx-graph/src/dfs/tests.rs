use super::*;
use crate::cfg::Cfg;

fn n(i: usize) -> Node {
    Node::new(i)
}

#[test]
fn orders_of_a_diamond_with_an_unreachable_tail() {
    let cfg =
        Cfg::new(n(0), [vec![n(1), n(2)], vec![n(3)], vec![n(3)], vec![], vec![n(3), n(4)]]);
    let dfs = Dfs::new(&cfg);
    assert_eq!(dfs.preorder(), [n(0), n(1), n(3), n(2)]);
    assert_eq!(dfs.rpo().collect::<Vec<_>>(), [n(0), n(2), n(1), n(3)]);
    assert_eq!(dfs.rpo_index(n(3)), Some(3));
    assert!(!dfs.is_reachable(n(4)) && dfs.pre(n(4)).is_none() && dfs.post(n(4)).is_none());
    assert!(dfs.is_ancestor(n(1), n(3)) && !dfs.is_ancestor(n(2), n(3)));
    assert!(!dfs.is_ancestor(n(0), n(4)) && !dfs.is_ancestor(n(4), n(4)));

    let dfs = Dfs::last_successor_first(&cfg);
    assert_eq!(dfs.preorder(), [n(0), n(2), n(3), n(1)]);
    assert_eq!(dfs.last_descendant(n(2)), Some(2));
}
