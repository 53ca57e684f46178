//! Tests of this chore itself, and its quick mode on `phalanx`.

use super::*;

fn options() -> Options {
    Options {
        quick: true,
        mutants: Some(60),
        random: Some(400),
        seed: 1,
        show: 5,
        ..Options::default()
    }
}

/// All sections together, and what they say.
fn run(options: &Options) -> Option<(usize, String)> {
    let tools = tools(options).expect("programs")?;
    let sections = sections(&tools, options).expect("a run");
    let unexplained = sections.iter().map(|section| section.of_class(Class::Unexplained)).sum();
    Some((unexplained, sections.iter().map(|section| section.render(options.show)).collect()))
}

/// With `opt-22` on both sides there must be no difference, except that executions of random
/// functions refute LLVM.
#[test]
fn opt_agrees_with_itself() {
    let section = vec![Part::Facts, Part::Tests, Part::Accept, Part::Round];
    let options = Options { self_test: true, mutants: Some(20), section, ..options() };
    let Some((unexplained, report)) = run(&options) else { return };
    assert_eq!(unexplained, 0, "{report}");
    assert!(
        report.contains("Facts about our kernels\n") && report.contains("Round trips\n"),
        "{report}"
    );
}

#[test]
fn phalanx_agrees_with_opt() {
    let Some((unexplained, report)) = run(&options()) else { return };
    assert_eq!(unexplained, 0, "{report}");
}

#[test]
fn by_llvms_rules_alone_phalanx_agrees_with_opt_on_random_functions() {
    let options = Options { exact_llvm: true, section: vec![Part::Random], ..options() };
    let Some((unexplained, report)) = run(&options) else { return };
    assert_eq!(unexplained, 0, "{report}");
}
