//! The documentation pages of the rules.

use phalanx_analysis::check::Rule;

macro_rules! pages {
    ($($rule:ident $code:literal,)*) => {
        /// The page of a rule.
        #[must_use]
        pub fn page_of(rule: Rule) -> &'static str {
            match rule {
                $(Rule::$rule => include_str!(concat!("diagnostics/", $code, ".md")),)*
            }
        }
    };
}

pages! {
    DivergentBarrier "PHX001",
    BarrierInDivergentLoop "PHX002",
    BarrierAfterExit "PHX003",
    UnmatchedBarriers "PHX004",
    DivergentGroupOperation "PHX005",
    MissingMembers "PHX006",
    UnstatedLaunch "PHX007",
    WrongBarrierCount "PHX008",
    UnpairedBarrier "PHX009",
    DifferentBarrierNumbers "PHX013",
    NotInMask "PHX014",
    DifferentMasks "PHX015",
    SourceNotInMask "PHX016",
    DivergentArgument "PHX017",
    ActiveMask "PHX018",
    LanesWait "PHX019",
    UncoalescedAccess "PHX011",
    BankConflict "PHX012",
    SameAddressAtomic "PHX044",
    BarrierBecameDivergent "PHX020",
    GroupChanged "PHX021",
    BarrierMoved "PHX022",
    ResultChanged "PHX023",
    GroupParted "PHX024",
    NothingInCommon "PHX025",
    NotExecuted "PHX026",
    ConstantStore "PHX030",
    ContradictedCast "PHX031",
    EscapingPrivate "PHX032",
    MixedSpaces "PHX033",
    FixedAddress "PHX034",
    CoherentLoad "PHX040",
    LaneByLaneLoad "PHX041",
    GridWait "PHX042",
    WrittenTooSoon "PHX043",
    WorkgroupRace "PHX050",
    WaveSynchronous "PHX051",
    ReadBeforeWritten "PHX052",
    OutOfBounds "PHX053",
    LostIndex "PHX054",
    PendingCopy "PHX055",
    LostGroup "PHX056",
}

/// The page of the rule with a code or a name.
#[must_use]
pub fn page(name: &str) -> Option<&'static str> {
    Rule::from_name(name).map(page_of)
}
