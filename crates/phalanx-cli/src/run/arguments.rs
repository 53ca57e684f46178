//! Parses kernel arguments of the command line, and makes their buffers.

use std::fmt;

use anyhow::{Context as _, bail};
use phalanx::{
    llvm::ModulePrinter,
    simt::{
        Arg, Memory, Program,
        memory::Region,
        shape::{FloatKind, Shape},
        unknown::State,
    },
    target::{Architecture, Target},
};
use serde_json::json;

/// A buffer that an argument points to.
pub(super) struct Buffer {
    pub(super) argument: usize,
    pub(super) element: Element,
    address: u64,
    bytes: u64,
}

/// Types of elements, as they are written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Element {
    Int(u32),
    F32,
    F64,
}

impl Element {
    fn parse(text: &str) -> anyhow::Result<Element> {
        Ok(match text {
            "i1" | "i8" => Element::Int(8),
            "i16" => Element::Int(16),
            "i32" => Element::Int(32),
            "i64" => Element::Int(64),
            "f32" | "float" => Element::F32,
            "f64" | "double" => Element::F64,
            _ => bail!("unknown type `{text}` (known: i8, i16, i32, i64, f32, f64)"),
        })
    }

    fn size(self) -> usize {
        match self {
            Element::Int(bits) => bits as usize / 8,
            Element::F32 => 4,
            Element::F64 => 8,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Element::Int(bits) => format!("i{bits}"),
            Element::F32 => "f32".to_owned(),
            Element::F64 => "f64".to_owned(),
        }
    }

    /// The bits of a number as it is written.
    fn bits(self, text: &str) -> anyhow::Result<u128> {
        let text = text.trim();
        Ok(match self {
            Element::Int(bits) => integer(bits, text)?,
            Element::F32 => {
                let value: f32 = text.parse().with_context(|| format!("`{text}` is no number"))?;
                value.to_bits().into()
            }
            Element::F64 => {
                let value: f64 = text.parse().with_context(|| format!("`{text}` is no number"))?;
                value.to_bits().into()
            }
        })
    }

    fn of_number(self, number: u64) -> u128 {
        match self {
            Element::Int(bits) => u128::from(number) & ((1 << bits) - 1),
            Element::F32 => (number as f32).to_bits().into(),
            Element::F64 => (number as f64).to_bits().into(),
        }
    }

    fn show(self, bytes: &[u8]) -> serde_json::Value {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        match self {
            Element::Int(bits) => json!(((word << (64 - bits)) as i64) >> (64 - bits)),
            Element::F32 => float(f32::from_bits(word as u32).into(), &f32::from_bits(word as u32)),
            Element::F64 => float(f64::from_bits(word), &f64::from_bits(word)),
        }
    }
}

/// A number as JSON, which has no infinities; with the digits of its own type.
fn float(value: f64, text: &dyn fmt::Display) -> serde_json::Value {
    match value.is_finite() {
        true => text.to_string().parse().map_or(serde_json::Value::Null, |n: f64| json!(n)),
        false => json!(text.to_string()),
    }
}

/// The bits of an integer of at most 64 bits as it is written.
fn integer(bits: u32, text: &str) -> anyhow::Result<u128> {
    let text = text.trim();
    let value: i128 = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .with_context(|| format!("`{text}` is no integer"))?;
    let limit = 1i128 << bits;
    if value < -(limit / 2) || value >= limit {
        bail!("{value} does not fit {bits} bits");
    }
    Ok(value as u128 & (limit as u128 - 1))
}

/// The bits of an integer type by its name, from one to 64.
fn width(ty: &str) -> Option<u32> {
    let bits = ty.strip_prefix('i')?.parse().ok()?;
    (1..=64).contains(&bits).then_some(bits)
}

/// The kernel's parameters, which arguments must fit.
pub(super) struct Parameters<'a> {
    program: &'a Program<'a>,
    architecture: Architecture,
    function: Option<usize>,
}

impl<'a> Parameters<'a> {
    /// The parameters of a function; unknown if the function does not exist, which the launch
    /// reports.
    pub(super) fn new(program: &'a Program<'a>, target: &Target, function: &str) -> Self {
        let (architecture, function) = (target.architecture(), program.function(function));
        Parameters { program, architecture, function }
    }

    /// Refuses an argument whose type does not match its parameter. The launch refuses surplus
    /// arguments.
    fn check(&self, position: usize, given: Given) -> anyhow::Result<()> {
        let Some(number) = self.function else { return Ok(()) };
        let function = self.program.code(number);
        let Some(&ty) = function.header.params.get(position) else { return Ok(()) };
        let region = |space: &u32| Region::of(self.architecture, *space);
        let fits = match (self.program.shapes().of(ty), given) {
            (Shape::Int(bits), Given::Int(given)) => *bits == given,
            (Shape::Float(FloatKind::Single), Given::Number(Element::F32))
            | (Shape::Float(FloatKind::Double), Given::Number(Element::F64)) => true,
            // Numbers without a notation are given by their bits, and so are addresses.
            (Shape::Float(FloatKind::Half | FloatKind::BFloat), Given::Int(given)) => given == 16,
            (Shape::Ptr { bits, .. }, Given::Int(given)) => *bits == given,
            (Shape::Ptr { space, .. }, Given::Buffer) => {
                matches!(region(space), Some(Region::Global | Region::Generic))
            }
            (Shape::Ptr { space, .. }, Given::Shared) => region(space) == Some(Region::Shared),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let printer = ModulePrinter::new(self.program.module());
        let (mut parameter, mut of) = (Vec::new(), Vec::new());
        printer.function(function.view()).arg(position as u32, &mut parameter);
        printer.global(function.header.name, &mut of);
        let [parameter, of] = [&parameter, &of].map(|text| String::from_utf8_lossy(text));
        bail!("parameter {position} of {of} is `{parameter}`, given is {given}")
    }
}

/// The kind of an argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Given {
    /// An integer of this many bits.
    Int(u32),
    /// A floating-point number.
    Number(Element),
    /// A pointer to a buffer in global memory.
    Buffer,
    /// A pointer to workgroup memory.
    Shared,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Int(bits) => write!(f, "an i{bits}"),
            Given::Number(element) => write!(f, "an {}", element.name()),
            Given::Buffer => write!(f, "a buffer in global memory"),
            Given::Shared => write!(f, "workgroup memory"),
        }
    }
}

/// Parses an argument; it must match the parameter at its position.
pub(super) fn argument(
    parameters: &Parameters<'_>,
    position: usize,
    text: &str,
    memory: &mut Memory,
    buffers: &mut Vec<Buffer>,
) -> anyhow::Result<Arg> {
    let Some((kind, rest)) = text.split_once(':') else {
        bail!("expected `type:value`, `buf:type:elements` or `shared:bytes`");
    };
    match kind {
        "shared" => {
            let bytes = rest.parse().context("expected a number of bytes")?;
            parameters.check(position, Given::Shared)?;
            Ok(Arg::Shared(bytes))
        }
        "buf" => {
            parameters.check(position, Given::Buffer)?;
            let Some((ty, elements)) = rest.split_once(':') else {
                bail!("expected `buf:type:elements`");
            };
            let element = Element::parse(ty)?;
            let all: Vec<u128> = match elements.split_once('*') {
                Some((fill, count)) => {
                    let count: u64 = count.parse().context("expected a count after `*`")?;
                    if count > 1 << 26 {
                        bail!("a buffer has at most 2^26 elements");
                    }
                    match fill {
                        "zero" => vec![0; count as usize],
                        "iota" => (0..count).map(|n| element.of_number(n)).collect(),
                        number => vec![element.bits(number)?; count as usize],
                    }
                }
                None => elements.split(',').map(|e| element.bits(e)).collect::<Result<_, _>>()?,
            };
            let bytes: Vec<u8> =
                all.iter().flat_map(|b| b.to_le_bytes().into_iter().take(element.size())).collect();
            let address = memory.buffer(&bytes)?;
            let bytes = bytes.len() as u64;
            buffers.push(Buffer { argument: position, element, address, bytes });
            Ok(Arg::bits(address))
        }
        ty => {
            if let Some(bits) = width(ty) {
                let value = integer(bits, rest)?;
                parameters.check(position, Given::Int(bits))?;
                return Ok(Arg::bits(value));
            }
            let element = Element::parse(ty)?;
            let value = element.bits(rest)?;
            parameters.check(position, Given::Number(element))?;
            Ok(Arg::bits(value))
        }
    }
}

/// The current contents of a buffer. An element with any poison byte has no number.
pub(super) fn contents(buffer: &Buffer, memory: &Memory) -> anyhow::Result<Vec<serde_json::Value>> {
    let size = buffer.element.size();
    let bytes = memory.bytes(buffer.address, buffer.bytes)?.chunks_exact(size);
    let states = memory.states(buffer.address, buffer.bytes)?.chunks_exact(size);
    let element = |(bytes, states): (&[u8], &[State])| match states.contains(&State::Poison) {
        true => json!("poison"),
        false => buffer.element.show(bytes),
    };
    Ok(bytes.zip(states).map(element).collect())
}

/// A value as text.
pub(super) fn show(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phalanx::{ir, llvm::parse_module, simt};

    use super::*;

    /// Parses an argument of `@f`, which has this parameter; `@g` has none, so that any type is
    /// accepted.
    fn read(
        function: &str,
        parameter: &str,
        text: &str,
        buffers: &mut Vec<Buffer>,
        memory: &mut Memory,
    ) -> anyhow::Result<Arg> {
        let source = format!("define void @f({parameter}) {{ ret void }}\ndeclare void @g()");
        let module = parse_module(Arc::new(ir::Context::new()), source.as_bytes()).unwrap().module;
        let target = Target::new("nvptx64-nvidia-cuda", "");
        let program = Program::new(&module, &target).unwrap();
        let parameters = Parameters::new(&program, &target, function);
        argument(&parameters, 0, text, memory, buffers)
    }

    #[test]
    fn arguments_fit_parameters() {
        let check = |parameter: &str, text: &str, expected: &str| {
            let read = read("f", parameter, text, &mut Vec::new(), &mut Memory::new(0));
            assert_eq!(read.map_or_else(|error| error.to_string(), |_| String::new()), expected);
        };
        check("i32 %n", "i32:1", "");
        check("i1 %n", "i1:1", "");
        check("i24 %n", "i24:1", "");
        check("half %h", "i16:0x3c00", "");
        check("ptr %p", "i64:0", "");
        check("ptr %p", "buf:i8:1", "");
        check("ptr addrspace(1) %p", "buf:i8:1", "");
        check("ptr addrspace(3) %p", "shared:4", "");
        let is = |what: &str| format!("parameter 0 of @f is {what}");
        check("float %x", "i32:1", &is("`float %x`, given is an i32"));
        check("i32 %n", "f32:1", &is("`i32 %n`, given is an f32"));
        check("i32 %n", "i64:1", &is("`i32 %n`, given is an i64"));
        check("double", "f32:1", &is("`double %0`, given is an f32"));
        check("ptr %p", "i32:1", &is("`ptr %p`, given is an i32"));
        check("i64 %n", "buf:i8:1", &is("`i64 %n`, given is a buffer in global memory"));
        let shared = "`ptr addrspace(3) %p`, given is a buffer in global memory";
        check("ptr addrspace(3) %p", "buf:i8:1", &is(shared));
        check("ptr %p", "shared:4", &is("`ptr %p`, given is workgroup memory"));
    }

    #[test]
    fn arguments() {
        let mut memory = Memory::new(0);
        let mut buffers = Vec::new();
        let mut parse = |text: &str| read("g", "", text, &mut buffers, &mut memory);
        assert_eq!(parse("i32:-1").unwrap(), Arg::bits(0xffff_ffffu32));
        assert_eq!(parse("i8:0xff").unwrap(), Arg::bits(255u32));
        assert_eq!(parse("f32:1.5").unwrap(), Arg::bits(0x3fc0_0000u32));
        assert_eq!(parse("shared:64").unwrap(), Arg::Shared(64));
        assert!(parse("buf:f32:iota*3").is_ok() && parse("buf:i16:1,2,-3").is_ok());
        for bad in ["5", "i32:x", "i8:256", "u32:1", "buf:i32", "buf:i32:1,,2", "shared:-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let shown: Vec<Vec<String>> = buffers
            .iter()
            .map(|b| contents(b, &memory).unwrap().iter().map(show).collect())
            .collect();
        assert_eq!(shown, [vec!["0.0", "1.0", "2.0"], vec!["1", "2", "-3"]]);
    }

    #[test]
    fn poison_in_a_buffer_is_shown_as_such() {
        let text = "define ptx_kernel void @f(ptr %p) {
              %q = getelementptr i8, ptr %p, i64 5
              store i8 poison, ptr %q
              ret void
            }";
        let module = parse_module(Arc::new(ir::Context::new()), text.as_bytes()).unwrap().module;
        let target = Target::new("nvptx64-nvidia-cuda", "");
        let program = Program::new(&module, &target).unwrap();
        let parameters = Parameters::new(&program, &target, "f");
        let (mut memory, mut buffers) = (program.memory(0).unwrap(), Vec::new());
        let arg = argument(&parameters, 0, "buf:i32:1,2,3", &mut memory, &mut buffers).unwrap();
        let launch = simt::Launch { args: vec![arg], ..simt::Launch::default() };
        simt::run(&program, "f", &launch, &mut memory, &mut simt::Silent).unwrap();
        let shown: Vec<String> = contents(&buffers[0], &memory).unwrap().iter().map(show).collect();
        assert_eq!(shown, ["1", "poison", "3"]);
    }
}
