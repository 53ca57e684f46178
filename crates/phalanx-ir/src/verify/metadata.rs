//! Rules of metadata that makes statements about values: attachments of instructions, module flags.
//!
//! Debug information is kept but not checked. `tbaa`, `profile` and `attached` have the rules of
//! some kinds.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    body::InstId,
    constant::{Const, ConstKind},
    function::FunctionRef,
    inst::Opcode,
    metadata::{Attachment, Metadata, MetadataId, MetadataValue, NodeKind, kind},
    module::Module,
    symbol::{GlobalName, Symbol},
    types::{Type, TypeKind},
    verify::{
        attached,
        env::Env,
        fault::{Check, Fault, Related, ensure},
        profile::{self, Operands},
        tbaa,
        view::InstView,
    },
};

/// The kinds with rules, in the order in which broken rules are reported.
const JUDGED: [Symbol; 21] = [
    kind::FPMATH,
    kind::RANGE,
    kind::NOALIAS_ADDRSPACE,
    kind::INVARIANT_GROUP,
    kind::NONNULL,
    kind::DEREFERENCEABLE,
    kind::DEREFERENCEABLE_OR_NULL,
    kind::NOFREE,
    kind::TBAA,
    kind::NOALIAS,
    kind::ALIAS_SCOPE,
    kind::ACCESS_GROUP,
    kind::ALIGN,
    kind::PROF,
    kind::MEMPROF,
    kind::CALLSITE,
    kind::CALLEE_TYPE,
    kind::MMRA,
    kind::CAPTURES,
    kind::ALLOC_TOKEN,
    kind::ANNOTATION,
];

/// Kinds whose rules depend only on the node, the opcode of the instruction and the type of its
/// result.
///
/// Such nodes may be long and attached to many instructions: each is read once.
const OF_THE_NODE: [Symbol; 11] = [
    kind::NOALIAS,
    kind::ALIAS_SCOPE,
    kind::ACCESS_GROUP,
    kind::RANGE,
    kind::NOALIAS_ADDRSPACE,
    kind::MEMPROF,
    kind::CALLSITE,
    kind::CALLEE_TYPE,
    kind::MMRA,
    kind::ALLOC_TOKEN,
    kind::ANNOTATION,
];

/// Attachments of a function that were found to be valid, so that they are not read again.
#[derive(Default)]
pub(crate) struct Seen {
    tbaa: tbaa::Seen,
    nodes: FxHashSet<(Symbol, MetadataId, Opcode, Type)>,
    /// Nodes that contain no source locations.
    placeless: FxHashSet<MetadataId>,
}

/// Checks attachments of an instruction. O(attachments), and the size of nodes not seen before.
pub(crate) fn attachments(
    env: &Env<'_>,
    seen: &mut Seen,
    function: FunctionRef<'_>,
    view: &InstView<'_>,
    inst: InstId,
) -> Check {
    let metadata = &env.module.metadata;
    let mut judged: SmallVec<[(usize, Attachment); 4]> = SmallVec::new();
    for attachment in function.extras.attachments_of(inst) {
        let rank = JUDGED.iter().position(|&kind| kind == attachment.kind);
        judged.extend(rank.map(|rank| (rank, attachment)));
        let (kind, node) = (attachment.kind, attachment.node);
        if matches!(kind, kind::DBG | kind::LOOP) || seen.placeless.contains(&node) {
            continue;
        }
        let is_known = (node.into_raw().into_u32() as usize) < metadata.len();
        let is_location = |value: MetadataValue| {
            value.as_node().is_some_and(|node| metadata.node_kind(node) == NodeKind::Location)
        };
        ensure!(
            !is_known || !metadata.values(node).any(is_location),
            "DILocation not allowed within this metadata node"
        );
        seen.placeless.insert(node);
    }
    judged.sort_by_key(|&(rank, _)| rank);
    for (_, attachment) in judged {
        let (wanted, node) = (attachment.kind, attachment.node);
        let exists = (node.into_raw().into_u32() as usize) < metadata.len();
        ensure!(exists, "Referring to metadata of another module!", Related::Name(wanted));
        let opcode = view.opcode();
        let subject = (wanted, node, opcode, view.data.ty);
        if seen.nodes.contains(&subject) {
            continue;
        }
        match wanted {
            kind::TBAA => tbaa::access(env, &mut seen.tbaa, node, opcode)?,
            kind::NOALIAS | kind::ALIAS_SCOPE => attached::scopes(env, node)?,
            kind::ACCESS_GROUP => attached::access_groups(env, node)?,
            kind::PROF => profile::instruction(env, function, inst, node)?,
            kind::MEMPROF => attached::call_contexts(env, node, opcode, true)?,
            kind::CALLSITE => attached::call_contexts(env, node, opcode, false)?,
            kind::CALLEE_TYPE => attached::callee_type(env, node, opcode)?,
            kind::MMRA => attached::memory_model(env, node, opcode)?,
            kind::CAPTURES => attached::captures(env, node, view)?,
            kind::ALLOC_TOKEN => attached::alloc_token(env, node, opcode)?,
            kind::ANNOTATION => attached::annotation(env, node)?,
            _ => attachment_rules(env, function, inst, wanted, node)?,
        }
        if OF_THE_NODE.contains(&wanted) {
            seen.nodes.insert(subject);
        }
    }
    Ok(())
}

fn attachment_rules(
    env: &Env<'_>,
    function: FunctionRef<'_>,
    inst: InstId,
    attached: Symbol,
    node: MetadataId,
) -> Check {
    let (types, metadata) = (&env.types, &env.module.metadata);
    let data = function.body.inst(inst);
    let (opcode, ty) = (data.opcode, data.ty);
    let only_i64 = || match metadata.element(node, 0) {
        Some(MetadataValue::Const(constant)) => {
            types.const_int(constant).filter(|_| types.context.const_data(constant).ty == Type::I64)
        }
        _ => None,
    };
    let len = metadata.values(node).len();
    match attached {
        kind::FPMATH => {
            ensure!(types.is_float_or_vector(ty), "fpmath requires a floating point result!");
            ensure!(len == 1, "fpmath takes one operand!");
            accuracy(env, metadata.element(node, 0))?;
        }
        kind::RANGE => {
            ensure!(
                matches!(opcode, Opcode::Load | Opcode::Call | Opcode::Invoke),
                "Ranges are only for loads, calls and invokes!"
            );
            range(env, node, RangeOf::Values(ty))?;
        }
        kind::NOALIAS_ADDRSPACE => {
            ensure!(
                matches!(
                    opcode,
                    Opcode::Load
                        | Opcode::Store
                        | Opcode::AtomicRmw
                        | Opcode::CmpXchg
                        | Opcode::Call
                ),
                "noalias.addrspace are only for memory operations!"
            );
            range(env, node, RangeOf::AddressSpaces)?;
        }
        kind::INVARIANT_GROUP => ensure!(
            matches!(opcode, Opcode::Load | Opcode::Store),
            "invariant.group metadata is only for loads and stores"
        ),
        kind::NONNULL => {
            ensure!(types.is_ptr(ty), "nonnull applies only to pointer types");
            ensure!(
                opcode == Opcode::Load,
                "nonnull applies only to load instructions, use attributes for calls or invokes"
            );
            ensure!(len == 0, "nonnull metadata must be empty");
        }
        kind::NOFREE => {
            ensure!(types.is_ptr(ty), "nofree applies only to pointer types");
            ensure!(opcode == Opcode::IntToPtr, "nofree applies only to inttoptr instruction");
            ensure!(len == 0, "nofree metadata must be empty");
        }
        kind::DEREFERENCEABLE | kind::DEREFERENCEABLE_OR_NULL => {
            ensure!(
                types.is_ptr(ty),
                "dereferenceable, dereferenceable_or_null apply only to pointer types"
            );
            ensure!(
                matches!(opcode, Opcode::Load | Opcode::IntToPtr),
                "dereferenceable, dereferenceable_or_null apply only to load and inttoptr instructions, use attributes for calls or invokes"
            );
            ensure!(len == 1, "dereferenceable, dereferenceable_or_null take one operand!");
            ensure!(
                only_i64().is_some(),
                "dereferenceable, dereferenceable_or_null metadata value must be an i64!"
            );
        }
        _ => {
            ensure!(types.is_ptr(ty), "align applies only to pointer types");
            ensure!(
                opcode == Opcode::Load,
                "align applies only to load instructions, use attributes for calls or invokes"
            );
            ensure!(len == 1, "align takes one operand!");
            let Some(align) = only_i64() else {
                ensure!(false, "align metadata value must be an i64!");
                return Ok(());
            };
            ensure!(align.is_power_of_two(), "align metadata value must be a power of 2!");
            ensure!(
                align <= crate::verify::types::MAX_ALIGN,
                "alignment is larger that implementation defined limit"
            );
        }
    }
    Ok(())
}

/// `!fpmath`: a positive `float`.
fn accuracy(env: &Env<'_>, value: Option<MetadataValue>) -> Check {
    let constant = value.and_then(MetadataValue::as_const);
    let data = constant.map(|constant| env.types.context.const_data(constant));
    match data {
        Some(data) if env.types.is_float(data.ty) => {
            ensure!(data.ty == Type::FLOAT, "fpmath accuracy must have float type");
            let bits = match data.kind {
                ConstKind::Float(bits) => f32::from_bits(bits as u32),
                _ => 0.0,
            };
            ensure!(bits > 0.0 && bits.is_finite(), "fpmath accuracy not a positive number!");
        }
        _ => ensure!(false, "invalid fpmath accuracy!"),
    }
    Ok(())
}

/// The meaning of a list of ranges.
#[derive(Clone, Copy)]
pub(crate) enum RangeOf {
    /// Values of a type, or of its elements.
    Values(Type),
    /// Address spaces.
    AddressSpaces,
    /// Addresses of a symbol, where any range is allowed.
    Addresses(Type),
}

/// `!range` and the like: pairs of integers of one type, each a range that is neither empty nor
/// full, in order, with gaps.
pub(crate) fn range(env: &Env<'_>, node: MetadataId, of: RangeOf) -> Check {
    let (types, metadata) = (&env.types, &env.module.metadata);
    let ends: Vec<MetadataValue> = metadata.values(node).collect();
    ensure!(ends.len().is_multiple_of(2), "Unfinished range!");
    ensure!(!ends.is_empty(), "It should have at least one range!");
    let integer = |value: MetadataValue| value.as_const().filter(|&c| types.is_plain_int(c));
    let mut first: Option<(Number, Number)> = None;
    let mut last: Option<(Number, Number)> = None;
    let pairs = ends.len() / 2;
    for (at, pair) in ends.chunks_exact(2).enumerate() {
        let Some(low) = integer(pair[0]) else {
            ensure!(false, "The lower limit must be an integer!");
            return Ok(());
        };
        let Some(high) = integer(pair[1]) else {
            ensure!(false, "The upper limit must be an integer!");
            return Ok(());
        };
        let type_of = |constant: Const| types.context.const_data(constant).ty;
        ensure!(type_of(low) == type_of(high), "Range pair types must match!");
        match of {
            RangeOf::Values(ty) | RangeOf::Addresses(ty) => ensure!(
                type_of(low) == types.scalar(ty),
                "Range types must match instruction type!"
            ),
            RangeOf::AddressSpaces => {
                ensure!(type_of(low) == Type::I32, "noalias.addrspace type must be i32!");
            }
        }
        let bits = types.bits(type_of(low)).unwrap_or(64) as u32;
        let (low, high) = (Number::new(env, low, bits), Number::new(env, high, bits));
        let is_full = matches!(of, RangeOf::Addresses(_)) && low.is_minus_one(bits);
        ensure!(low != high || is_full, "The upper and lower limits cannot be the same value");
        if let Some((last_low, last_high)) = last {
            // The end of a range that wraps around is below its start.
            let overlaps = low.signed_lt(&last_high) && last_low.signed_lt(&high)
                || last_high.signed_lt(&last_low) && low.signed_lt(&last_high);
            ensure!(!overlaps, "Intervals are overlapping");
            ensure!(last_low.signed_lt(&low), "Intervals are not in order");
            ensure!(last_high != low && high != last_low, "Intervals are contiguous");
        }
        last = Some((low.clone(), high.clone()));
        let (first_low, first_high) = first.get_or_insert((low.clone(), high.clone())).clone();
        if at + 1 == pairs && pairs > 2 {
            let overlaps = high.signed_lt(&low) && first_low.signed_lt(&high);
            ensure!(!overlaps, "Intervals are overlapping");
            ensure!(first_high != low && high != first_low, "Intervals are contiguous");
        }
    }
    Ok(())
}

/// An integer of any width, for comparisons by sign.
#[derive(Clone, PartialEq, Eq)]
struct Number {
    /// Whether it is not negative: the most significant part of the order.
    not_negative: bool,
    /// Most significant word first, without leading zeroes.
    words: Vec<u64>,
}

impl Number {
    fn new(env: &Env<'_>, constant: Const, bits: u32) -> Number {
        let key = env.types.int_key(constant);
        let top = bits.saturating_sub(1);
        let negative = key.get(top as usize / 64).is_some_and(|word| word >> (top % 64) & 1 == 1);
        let words = key.iter().rev().copied().skip_while(|&word| word == 0).collect();
        Number { not_negative: !negative, words }
    }

    fn is_minus_one(&self, bits: u32) -> bool {
        !self.not_negative && self.words.iter().map(|word| word.count_ones()).sum::<u32>() == bits
    }

    fn signed_lt(&self, other: &Number) -> bool {
        (self.not_negative, self.words.len(), &self.words)
            < (other.not_negative, other.words.len(), &other.words)
    }
}

/// Attachments of variables and functions.
pub(crate) fn of_global(
    env: &Env<'_>,
    name: GlobalName,
    (address_space, is_declaration): (u32, bool),
    attached: &[Attachment],
) -> Check {
    let me = || Related::Global(name);
    for attachment in attached {
        match attachment.kind {
            kind::ASSOCIATED => {
                let operands = Operands::new(env, attachment.node);
                ensure!(operands.all.len() == 1, "associated metadata must have one operand", me());
                ensure!(
                    operands.all[0] != MetadataValue::Null,
                    "associated metadata must have a global value",
                    me()
                );
                let Some(constant) = operands.all[0].as_const() else {
                    ensure!(false, "associated metadata must be ValueAsMetadata", me());
                    return Ok(());
                };
                let data = env.types.context.const_data(constant);
                ensure!(env.types.is_ptr(data.ty), "associated value must be pointer typed", me());
                ensure!(
                    data.kind != ConstKind::Global(name),
                    "global values should not associate to themselves",
                    me()
                );
            }
            kind::IMPLICIT_REF => {
                ensure!(!is_declaration, "ref metadata must not be placed on a declaration", me());
                let operands = Operands::new(env, attachment.node);
                ensure!(operands.all.len() == 1, "ref metadata must have one operand", me());
                let Some(constant) = operands.all[0].as_const() else {
                    ensure!(false, "ref metadata must be ValueAsMetadata", me());
                    return Ok(());
                };
                let data = env.types.context.const_data(constant);
                ensure!(env.types.is_ptr(data.ty), "ref value must be pointer typed", me());
                ensure!(
                    data.kind != ConstKind::Global(name),
                    "values should not reference themselves",
                    me()
                );
            }
            kind::ABSOLUTE_SYMBOL => {
                let bits = env.index.layout.pointer(address_space).size;
                let address = env.types.context.type_of_kind(&TypeKind::Int(bits));
                range(env, attachment.node, RangeOf::Addresses(address))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `!llvm.ident`, `!llvm.commandline` and `!llvm.errno.tbaa`.
pub(crate) fn named(env: &Env<'_>, mut report: impl FnMut(Check)) {
    let context = env.types.context;
    for name in ["llvm.ident", "llvm.commandline", "llvm.errno.tbaa"] {
        let Some(symbol) = context.find_symbol(name.as_bytes()) else { continue };
        let is_there = env.module.metadata.named().iter().any(|named| named.name == symbol);
        if name == "llvm.errno.tbaa"
            && is_there
            && env.module.metadata.named_operands(symbol).is_empty()
        {
            report(Err(Fault::new("llvm.errno.tbaa must have at least one operand", Vec::new())));
        }
        for &node in env.module.metadata.named_operands(symbol) {
            if name == "llvm.errno.tbaa" {
                report(tbaa::tag(env, node));
            } else {
                report(one_string(env, node, name));
            }
        }
    }
}

fn one_string(env: &Env<'_>, node: MetadataId, name: &str) -> Check {
    let operands = Operands::new(env, node);
    ensure!(operands.all.len() == 1, format!("incorrect number of operands in {name} metadata"));
    ensure!(
        operands.string(0).is_some(),
        format!("invalid value for {name} metadata entry operand(the operand should be a string)")
    );
    Ok(())
}

/// `!llvm.module.flags`.
pub(crate) fn module_flags(module: &Module, env: &Env<'_>, mut report: impl FnMut(Check)) {
    let Some(name) = module.context.find_symbol(b"llvm.module.flags") else { return };
    let metadata = &module.metadata;
    let mut seen: FxHashMap<Symbol, MetadataValue> = FxHashMap::default();
    let mut requirements = Vec::new();
    for &node in metadata.named_operands(name) {
        report(module_flag(env, metadata, node, &mut seen, &mut requirements));
    }
    report(pointer_authentication(env, &seen));
    for (key, value) in requirements {
        report(requirement(&seen, key, value));
    }
}

/// The flags for the platform and the version of the pointer authentication ABI must be both
/// present or both absent.
fn pointer_authentication(env: &Env<'_>, seen: &FxHashMap<Symbol, MetadataValue>) -> Check {
    let is_known = |name: &str| {
        let key = env.types.context.find_symbol(name.as_bytes());
        let constant = key.and_then(|key| seen.get(&key)).and_then(|value| value.as_const());
        let value =
            constant.filter(|&c| env.types.is_plain_int(c)).and_then(|c| env.types.const_int(c));
        value.is_some_and(|value| value != u64::MAX)
    };
    ensure!(
        is_known("aarch64-elf-pauthabi-platform") == is_known("aarch64-elf-pauthabi-version"),
        "either both or no 'aarch64-elf-pauthabi-platform' and 'aarch64-elf-pauthabi-version' module flags must be present"
    );
    Ok(())
}

/// How often one function calls another: two functions (or null) and a number.
fn call_counts(env: &Env<'_>, metadata: &Metadata, list: MetadataValue) -> Check {
    let Some(list) = list.as_node() else { return Ok(()) };
    for entry in metadata.values(list) {
        let entry = entry.as_node().map(|entry| metadata.values(entry).collect::<Vec<_>>());
        let Some([from, to, count]) = entry.as_deref().and_then(|e| <&[_; 3]>::try_from(e).ok())
        else {
            ensure!(false, "expected a MDNode triple");
            return Ok(());
        };
        let is_function = |value: &MetadataValue| match value {
            MetadataValue::Null => true,
            MetadataValue::Const(constant) => env.function_of(*constant).is_some(),
            _ => false,
        };
        ensure!(is_function(from) && is_function(to), "expected a Function or null");
        let ty = count.as_const().map(|count| env.types.context.const_data(count).ty);
        ensure!(ty.is_some_and(|ty| env.types.is_int(ty)), "expected an integer constant");
    }
    Ok(())
}

fn requirement(
    seen: &FxHashMap<Symbol, MetadataValue>,
    key: Symbol,
    value: MetadataValue,
) -> Check {
    let Some(&found) = seen.get(&key) else {
        ensure!(
            false,
            "invalid requirement on flag, flag is not present in module",
            Related::Name(key)
        );
        return Ok(());
    };
    ensure!(
        found == value,
        "invalid requirement on flag, flag does not have the required value",
        Related::Name(key)
    );
    Ok(())
}

fn module_flag(
    env: &Env<'_>,
    metadata: &Metadata,
    node: MetadataId,
    seen: &mut FxHashMap<Symbol, MetadataValue>,
    requirements: &mut Vec<(Symbol, MetadataValue)>,
) -> Check {
    let exists = (node.into_raw().into_u32() as usize) < metadata.len();
    ensure!(exists, "Referring to metadata of another module!");
    let values: Vec<MetadataValue> = metadata.values(node).collect();
    let &[behaviour, key, value] = &values[..] else {
        ensure!(false, "incorrect number of operands in module flag");
        return Ok(());
    };
    let integer = |value: MetadataValue| {
        value.as_const().filter(|&c| env.types.is_plain_int(c)).and_then(|c| env.types.const_int(c))
    };
    let Some(behaviour) = integer(behaviour) else {
        ensure!(false, "invalid behavior operand in module flag (expected constant integer)");
        return Ok(());
    };
    ensure!(
        (1..=8).contains(&behaviour),
        "invalid behavior operand in module flag (unexpected constant)"
    );
    let Some(key) = key.as_string() else {
        ensure!(false, "invalid ID operand in module flag (expected metadata string)");
        return Ok(());
    };
    match behaviour {
        3 => {
            let pair = value.as_node().filter(|&pair| metadata.values(pair).len() == 2);
            let Some(pair) = pair else {
                ensure!(false, "invalid value for 'require' module flag (expected metadata pair)");
                return Ok(());
            };
            let wanted = metadata.element(pair, 0).and_then(MetadataValue::as_string);
            let (Some(wanted), Some(value)) = (wanted, metadata.element(pair, 1)) else {
                ensure!(
                    false,
                    "invalid value for 'require' module flag (first value operand should be a string)"
                );
                return Ok(());
            };
            requirements.push((wanted, value));
        }
        5 | 6 => ensure!(
            value.as_node().is_some(),
            "invalid value for 'append'-type module flag (expected a metadata node)"
        ),
        7 => ensure!(
            integer(value).is_some(),
            "invalid value for 'max' module flag (expected constant integer)"
        ),
        8 => ensure!(
            integer(value).is_some(),
            "invalid value for 'min' module flag (expected constant non-negative integer)"
        ),
        _ => {}
    }
    if behaviour != 3 {
        ensure!(
            seen.insert(key, value).is_none(),
            "module flag identifiers must be unique (or of 'require' type)",
            Related::Name(key)
        );
    }
    match env.types.context.bytes(key) {
        b"wchar_size" => ensure!(
            integer(value).is_some(),
            "wchar_size metadata requires constant integer argument"
        ),
        b"SemanticInterposition" => ensure!(
            integer(value).is_some(),
            "SemanticInterposition metadata requires constant integer argument"
        ),
        b"Linker Options" => ensure!(
            env.types
                .context
                .find_symbol(b"llvm.linker.options")
                .is_some_and(|name| { metadata.named().iter().any(|named| named.name == name) }),
            "'Linker Options' named metadata no longer supported"
        ),
        b"CG Profile" => call_counts(env, metadata, value)?,
        _ => {}
    }
    Ok(())
}
