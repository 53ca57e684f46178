//! Steps of chains that go into callees and up to callers.

use phalanx_analysis::explain::{Cause, Fact};
use phalanx_db::{
    FunctionInput,
    queries::{self, CallLink, Passage, Site},
};
use phalanx_ir::{Type, Value};

use super::{Explainer, Step};

impl<'a> Explainer<'a> {
    /// The links of a chain, each as a step in its own function.
    pub(crate) fn steps_through_calls(&self, chain: &[CallLink]) -> Vec<Step> {
        let (db, input) = self.function();
        let mut others: Vec<(FunctionInput, Explainer<'a>)> = Vec::new();
        for at in chain.iter().flat_map(CallLink::functions).filter(|at| *at != input) {
            if others.iter().all(|(known, _)| *known != at) {
                others.push((at, self.of(at)));
            }
        }
        let explainer = |of: FunctionInput| -> &Explainer<'a> {
            let other = others.iter().find(|(known, _)| *known == of);
            other.map_or(self, |(_, explainer)| explainer)
        };
        let mut steps = Vec::with_capacity(chain.len());
        let mut before = Passage::No;
        for link in chain {
            let of_memory = link.memory.as_ref();
            let of_memory =
                of_memory.map(|memory| self.of(link.function).with_memory(Some(memory.clone())));
            let own = of_memory.as_ref().unwrap_or_else(|| explainer(link.function));
            let mut step = own.step(&link.link);
            let mut is_in = link.function;
            match before {
                Passage::Into(_) => {
                    own.say_returned(link, queries::is_parting(db, link), &mut step);
                }
                Passage::Behind { parameter, .. } => own.say_left(link, parameter, &mut step),
                _ => {}
            }
            match link.passage {
                Passage::No => {}
                Passage::Into(callee) => {
                    say_call(link, &explainer(callee).function_name(), &mut step);
                }
                // The sentence names the callee.
                Passage::Behind { .. } if link.link.cause == Cause::Source => step.kind = "call",
                Passage::Behind { .. } => {}
                Passage::Back(site) => {
                    own.say_passed(site, explainer(site.caller), &mut step);
                }
                Passage::Up(site) => {
                    let caller = explainer(site.caller);
                    own.say_passed(site, caller, &mut step);
                    caller.stand_at(site, own, &mut step);
                    is_in = site.caller;
                }
            }
            before = link.passage;
            step.function = (is_in != input).then(|| explainer(is_in).function_name());
            steps.push(step);
        }
        steps
    }

    /// Explains the value that a call of this function returns.
    fn say_returned(&self, link: &CallLink, is_parting: bool, step: &mut Step) {
        let name = self.function_name();
        match (link.link.fact, &link.link.cause) {
            (Fact::Terminator(block), _) if is_parting => {
                let block = self.block_name(block);
                step.sentence = format!(
                    "threads that separate at the end of {block} return different values; {}",
                    step.sentence
                );
            }
            (Fact::Terminator(block), Cause::Operand(value)) => {
                let (value, block) = (self.value_name(*value), self.block_name(block));
                step.what = format!("what {name} returns");
                step.kind = "return";
                step.sentence = format!("{value} is returned at the end of {block}");
            }
            (Fact::Use(value, _), Cause::Operand(_)) => {
                step.kind = "return";
                step.sentence = format!("{} is put into what is returned", self.value_name(value));
            }
            (Fact::Terminator(_), _) => step.what = format!("what {name} returns"),
            _ => {}
        }
    }

    /// Explains what this function stores where a parameter points.
    fn say_left(&self, link: &CallLink, parameter: u32, step: &mut Step) {
        let place = format!("what {} points to", self.operand(Value::arg(parameter)));
        match (link.link.fact, &link.link.cause) {
            (Fact::Terminator(block), _) => {
                let block = self.block_name(block);
                step.sentence = format!(
                    "threads that separate at the end of {block} leave different values in {place}; {}",
                    step.sentence
                );
            }
            (_, Cause::Operand(value)) => {
                let (value, name) = (self.value_name(*value), self.function_name());
                step.kind = "return";
                step.sentence = match value == place {
                    true => format!("{place} is as it was last written when {name} returns"),
                    false => format!("{place} is {value} when {name} returns"),
                };
            }
            _ => {}
        }
    }

    /// Explains the value of a parameter of this function.
    fn say_passed(&self, site: Site, caller: &Explainer<'_>, step: &mut Step) {
        let parameter = self.operand(Value::arg(site.position));
        let (db, input) = caller.function();
        let passed = input.body(db).call_args(site.call).get(site.position as usize);
        let passed = passed.map(|&value| caller.operand(value)).unwrap_or_default();
        step.kind = "passed";
        step.sentence = format!(
            "the argument {parameter} is what the call in {} passes: {passed}",
            caller.function_name()
        );
    }

    /// Places a step at the call in this function that passes a parameter of another function.
    fn stand_at(&self, site: Site, of: &Explainer<'_>, step: &mut Step) {
        let (db, input) = self.function();
        let call = Value::inst(site.call);
        let body = input.body(db);
        let passed = body.call_args(site.call).get(site.position as usize);
        let passed = passed.map(|&value| self.operand(value)).unwrap_or_default();
        let parameter = of.operand(Value::arg(site.position));
        let callee = of.function_name();
        step.sentence =
            format!("the call passes {passed} for the argument {parameter} of {callee}");
        let numbering = phalanx_analysis::lower::Numbering::new(input.header(db));
        let fact = match body.inst(site.call).opcode.is_terminator() {
            false => Fact::Value(numbering.inst(site.call)),
            true => match body.block_of(site.call) {
                Some(block) => Fact::Terminator(phalanx_ir::flow::node_of(block)),
                None => return,
            },
        };
        (step.place, step.debug) = self.place(fact);
        step.text = self.inst_text(site.call);
        if body.inst(site.call).ty != Type::VOID {
            step.what = format!("the call {}", self.operand(call));
        } else {
            step.what = "the call".to_owned();
        }
    }
}

fn say_call(link: &CallLink, callee: &str, step: &mut Step) {
    match link.link.cause {
        Cause::Source => {
            step.kind = "call";
            step.sentence = format!(
                "{} is the result of a call of {callee}, which brings this in by itself",
                step.what
            );
        }
        _ => step.sentence = format!("{}; {callee} uses it for what it returns", step.sentence),
    }
}
