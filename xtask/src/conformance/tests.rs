//! The chore on itself, and its quick mode on `phalanx`.

use super::*;

/// With `opt-22` on both sides nothing may differ, and something must have been compared.
#[test]
fn opt_agrees_with_itself() {
    let options = Options {
        quick: true,
        self_test: true,
        mutants: Some(20),
        random: Some(200),
        seed: 1,
        ..Options::default()
    };
    let Some(tools) = tools(&options).expect("programs") else { return };
    for section in sections(&tools, &options).expect("a run") {
        assert_eq!(section.of_class(Class::Unexplained), 0, "{}", section.render(5));
    }
}
