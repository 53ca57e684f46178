//! Sentences about an access that takes more transactions than necessary.
//!
//! ```text
//! 4096 bytes from lane to lane, 4 bytes each: 32 transactions of 32 bytes where 4 would do, for 32 lanes of a row
//! 4 * w bytes from lane to lane of a row, 4 bytes each, if no index wraps
//! ```

use phalanx_analysis::check::{AccessCost, Rule, Symbol, WaveCost};

/// The distance between lanes, its cost, and the assumptions. `symbol` is the program's name for a
/// distance that is known at run time only.
pub(crate) fn label(rule: Rule, cost: AccessCost, symbol: Option<&str>) -> String {
    let assumed = if cost.assumes_no_wrap { ", if no index wraps" } else { "" };
    match (cost.symbol, symbol) {
        (Some(of), Some(name)) => {
            let banks = if rule == Rule::BankConflict { banks(of, cost.size, name) } else { None };
            let banks = banks.unwrap_or_default();
            let distance = distance(of.bytes, name);
            format!(
                "{distance} bytes from lane to lane of a row, {} bytes each{banks}{assumed}",
                cost.size
            )
        }
        _ => format!("{}{assumed}", counted(rule, cost)),
    }
}

/// `4 * w`
pub(crate) fn distance(bytes: i64, name: &str) -> String {
    match bytes {
        1 => name.to_owned(),
        _ => format!("{bytes} * {name}"),
    }
}

/// For which values of a run-time distance lanes use different banks: for an odd number of words.
fn banks(Symbol { bytes, .. }: Symbol, size: u32, name: &str) -> Option<String> {
    let is_words = size == 4 && bytes % 4 == 0;
    is_words.then(|| match bytes % 8 == 0 {
        false => format!(": all are in different banks only if `{name}` is odd"),
        true => ": several are in one bank, whatever it is".to_owned(),
    })
}

fn counted(rule: Rule, AccessCost { stride, size, waves, in_rows, .. }: AccessCost) -> String {
    let distance = match (rule, stride) {
        (Rule::SameAddressAtomic, _) => "one address for all lanes".to_owned(),
        (_, Some(stride)) => format!("{stride} bytes from lane to lane"),
        (_, None) => "lanes far apart".to_owned(),
    };
    let unit = match rule {
        Rule::BankConflict => "bank cycles",
        Rule::SameAddressAtomic => "updates, one after the other,",
        _ => "transactions of 32 bytes",
    };
    let mut costs = Vec::new();
    for WaveCost { lanes, count, least } in waves.into_iter().flatten() {
        let unit = if costs.is_empty() { format!(" {unit}") } else { String::new() };
        costs.push(format!("{count}{unit} where {least} would do, for {lanes} lanes"));
    }
    let rows = if in_rows { " of a row" } else { "" };
    format!("{distance}, {size} bytes each: {}{rows}", costs.join("; "))
}
