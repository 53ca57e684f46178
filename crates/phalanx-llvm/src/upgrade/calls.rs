//! Finds old intrinsics and chooses a rule for each.
//!
//! A rule belongs to a name and signature; `rewrite` rewrites the calls. A call whose operands do
//! not have the types of the rule stays as it is, and then so does the declaration.

use std::sync::Arc;

use phalanx_ir::{
    ConstKind, Context, Function, FunctionHeader, GlobalName, Module, Opcode, Symbol, Type,
    TypeKind, Value, data_layout::DataLayout, inst::RmwOp,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    mangle::{is_intrinsic_type, remangled},
    rewrite::rewrite,
};
use crate::{
    parser::{Parsed, header::intrinsic},
    source_map::{FunctionMap, SourceMap},
};

/// An operand of a new call.
#[derive(Copy, Clone, Debug)]
pub(super) enum Arg {
    /// The argument of the old call at this position.
    Old(usize),
    /// `i32 0`
    Zero,
    /// `i1 false`
    False,
    /// `token none`
    NoToken,
    /// An argument, and a power of two to which it is known to be aligned by the constant argument
    /// at another position.
    Aligned(usize, usize),
    /// The same, without other attributes.
    OnlyAligned(usize, usize),
    /// Addresses of elements of a vector. An alignment of 0 stands for that of such elements.
    ElementsAligned(usize, usize),
}

/// Which properties a rewritten call keeps, besides its debug location.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    Nothing,
    Attributes,
    /// Attributes, metadata, and whether it is a tail call, but not the name.
    All,
    /// Metadata, and whether it is a tail call.
    Metadata,
}

/// How the calls of an intrinsic are rewritten.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// The same call of another name. Everything about it stays.
    Rename(String),
    /// A call with other operands.
    Call(String, Vec<Arg>, Keep),
    /// Elements of two vectors behind each other: from the left or from the right, by the sign of
    /// the offset.
    Splice,
    /// A call of another name with the same operands, which has nothing else of the old one.
    Renew(String),
    /// A call of another intrinsic, which has nothing of the old one but the operands.
    Replace(String, Vec<Arg>),
    /// A conversion of the only argument.
    Cast(Opcode),
    /// A barrier that counts or combines a condition: `icmp ne`, the call, and a `zext` if its
    /// result is `i1`.
    Reduction(&'static str, Type),
    /// `load`, invariant, from global memory.
    InvariantLoad,
    /// `llvm.lifetime.*` with a size: without it for an allocation, gone otherwise.
    Lifetime,
    /// `llvm.coro.end` without the results of the coroutine, or with one of its own that is not
    /// used.
    CoroutineEnd,
    /// Rotation: both inputs of a funnel shift are the same.
    Rotate(&'static str),
    /// The distance of the rotation by half the width.
    SwapHalves,
    /// A conversion from `half` in an integer.
    FromHalf,
    /// A bit count whose result is narrower than its operand.
    Count(&'static str, &'static [Arg]),
    /// A call of another intrinsic of which an approximation will do.
    Approximate(&'static str),
    /// `x < 0 ? 0 - x : x`
    Abs,
    /// A copy to shared memory of a cluster: the address is one of it, and a number of a group of
    /// blocks may follow.
    ToCluster { has_group: bool },
    /// An address in another address space than the result's: the call, and a conversion.
    Converted(u32),
    /// `atomicrmw` at system scope.
    Atomic(RmwOp),
    /// `atomicrmw` at agent scope, as AMDGPU's intrinsics said it.
    AgentAtomic(RmwOp),
}

/// A rule for the intrinsic of this name (without `llvm.`) and signature.
fn rule(
    context: &Context,
    name: &str,
    (ret, params, vararg): (Type, &[Type], bool),
) -> Option<Rule> {
    if name.ends_with(".bf16f32") && name.starts_with("aarch64.sve.fcvt") {
        // Not `aarch64.sve.fcvt` with another suffix.
        return None;
    }
    let found = if let Some(name) = name.strip_prefix("nvvm.") {
        nvvm(name, ret, params)
    } else if let Some(name) = name.strip_prefix("amdgcn.") {
        amdgcn(context, name, ret, params)
    } else if matches!(name, "aarch64.thread.pointer" | "arm.thread.pointer") {
        remangled(context, "thread.pointer", ret, params, vararg).map(Rule::Renew)
    } else if name.starts_with("aarch64.rbit") || name.starts_with("arm.rbit") {
        remangled(context, "bitreverse", ret, params, vararg).map(Rule::Renew)
    } else {
        generic(context, name, ret, params)
    };
    if found.is_some() {
        return found;
    }
    let today = remangled(context, name, ret, params, vararg)?;
    if today == name {
        return None;
    }
    let is_new = ["bitreverse.", "convert.from.fp16.", "ctpop.", "objectsize.", "thread.pointer."]
        .iter()
        .any(|base| today.starts_with(base));
    Some(if is_new { Rule::Renew(today) } else { Rule::Rename(today) })
}

fn nvvm(name: &str, ret: Type, params: &[Type]) -> Option<Rule> {
    let first = params.first().copied().unwrap_or(Type::VOID);
    let old = |count: usize| (0..count).map(Arg::Old).collect();
    let barrier =
        |name: &str, args: Vec<Arg>| Some(Rule::Replace(format!("nvvm.barrier.cta.{name}"), args));
    match (name, params.len()) {
        ("barrier0", 0) => return barrier("sync.aligned.all", vec![Arg::Zero]),
        ("barrier.n" | "bar.sync", 1) => return barrier("sync.aligned.all", old(1)),
        ("barrier", 2) => return barrier("sync.aligned.count", old(2)),
        ("barrier.sync", 1) => return barrier("sync.all", old(1)),
        ("barrier.sync.cnt", 2) => return barrier("sync.count", old(2)),
        _ => {}
    }
    let rename = |name: &str| Some(Rule::Rename(name.to_string()));
    let replace = |name: &str| Some(Rule::Replace(format!("nvvm.{name}"), old(1)));
    match name {
        "barrier0.popc" => Some(Rule::Reduction("popc", Type::I32)),
        "barrier0.and" => Some(Rule::Reduction("and", Type::I1)),
        "barrier0.or" => Some(Rule::Reduction("or", Type::I1)),
        "brev32" => Some(Rule::Renew("bitreverse.i32".to_string())),
        "brev64" => Some(Rule::Renew("bitreverse.i64".to_string())),
        "popc.i" => Some(Rule::Renew("ctpop.i32".to_string())),
        "popc.ll" => Some(Rule::Count("ctpop", &[Arg::Old(0)])),
        "clz.i" => {
            let args = vec![Arg::Old(0), Arg::False];
            Some(Rule::Call("ctlz.i32".to_string(), args, Keep::Nothing))
        }
        "clz.ll" => Some(Rule::Count("ctlz", &[Arg::Old(0), Arg::False])),
        "max.s" => rename("smax.i16"),
        "max.i" => rename("smax.i32"),
        "max.ll" => rename("smax.i64"),
        "max.us" => rename("umax.i16"),
        "max.ui" => rename("umax.i32"),
        "max.ull" => rename("umax.i64"),
        "min.s" => rename("smin.i16"),
        "min.i" => rename("smin.i32"),
        "min.ll" => rename("smin.i64"),
        "min.us" => rename("umin.i16"),
        "min.ui" => rename("umin.i32"),
        "min.ull" => rename("umin.i64"),
        "abs.i" | "abs.ll" => Some(Rule::Abs),
        "abs.bf16" => replace("fabs.bf16"),
        "abs.bf16x2" => replace("fabs.v2bf16"),
        "h2f" => Some(Rule::FromHalf),
        "tanh.approx.f32" => Some(Rule::Approximate("tanh.f32")),
        "fabs.f" => replace("fabs.f32"),
        "fabs.ftz.f" => replace("fabs.ftz.f32"),
        "fabs.d" => replace("fabs.f64"),
        "ex2.approx.f" => replace("ex2.approx.f32"),
        "ex2.approx.ftz.f" => replace("ex2.approx.ftz.f32"),
        "ex2.approx.d" => replace("ex2.approx.f64"),
        "ex2.approx.f16x2" => replace("ex2.approx.v2f16"),
        "ex2.approx.ftz.f16x2" => replace("ex2.approx.ftz.v2f16"),
        "cp.async.bulk.global.to.shared.cluster" | "cp.async.bulk.shared.cta.to.cluster" => {
            (first == Type::PTR3).then_some(Rule::ToCluster { has_group: true })
        }
        _ if is_copy_to_cluster(name) => {
            let has_group = params.len().checked_sub(3).is_some_and(|at| params[at] == Type::I1);
            (first == Type::PTR3 || !has_group).then_some(Rule::ToCluster { has_group })
        }
        "rotate.b32" | "rotate.b64" => Some(Rule::Rotate("fshl")),
        "rotate.right.b64" => Some(Rule::Rotate("fshr")),
        "swap.lo.hi.b64" => Some(Rule::SwapHalves),
        "bitcast.f2i" | "bitcast.i2f" | "bitcast.d2ll" | "bitcast.ll2d" => {
            Some(Rule::Cast(Opcode::BitCast))
        }
        "mapa.shared.cluster" if ret == Type::PTR3 => Some(Rule::Converted(7)),
        _ if name.starts_with("ldg.global.") => Some(Rule::InvariantLoad),
        _ if name.starts_with("ptr.") && name.contains(".gen") => {
            Some(Rule::Cast(Opcode::AddrSpaceCast))
        }
        _ => {
            let atomic = name.strip_prefix("atomic.load.")?;
            let op = match atomic.split('.').next()? {
                "add" if atomic.starts_with("add.f") => RmwOp::FAdd,
                "inc" => RmwOp::UIncWrap,
                "dec" => RmwOp::UDecWrap,
                _ => return None,
            };
            Some(Rule::Atomic(op))
        }
    }
}

/// A copy of a tensor to shared memory, but not one that only the own block sees.
fn is_copy_to_cluster(name: &str) -> bool {
    let shape = name.strip_prefix("cp.async.bulk.tensor.g2s.").unwrap_or_default();
    let tile = ["tile.1d", "tile.2d", "tile.3d", "tile.4d", "tile.5d"];
    tile.contains(&shape) || ["im2col.3d", "im2col.4d", "im2col.5d"].contains(&shape)
}

fn amdgcn(context: &Context, name: &str, ret: Type, params: &[Type]) -> Option<Rule> {
    // These are from before results could be clamped.
    let count = params.len();
    if name.starts_with("wmma.i32.16x16x64.iu8") && count == 7
        || name.starts_with("swmmac.i32.16x16x128.iu8") && count == 8
    {
        let args = (0..count).map(Arg::Old).chain([Arg::False]).collect();
        let wanted = [params, &[Type::I1]].concat();
        let name = remangled(context, &format!("amdgcn.{name}"), ret, &wanted, false)?;
        return Some(Rule::Call(name, args, Keep::All));
    }
    if name == "alignbit" {
        return Some(Rule::Rename("fshr.i32".to_string()));
    }
    const ATOMICS: &[(&str, RmwOp)] = &[
        ("atomic.inc.", RmwOp::UIncWrap),
        ("atomic.dec.", RmwOp::UDecWrap),
        ("ds.fadd", RmwOp::FAdd),
        ("ds.fmin", RmwOp::FMin),
        ("ds.fmax", RmwOp::FMax),
        ("atomic.cond.sub", RmwOp::USubCond),
        ("atomic.csub", RmwOp::USubSat),
        ("global.atomic.fadd", RmwOp::FAdd),
        ("global.atomic.fmin.", RmwOp::FMin),
        ("global.atomic.fmax.", RmwOp::FMax),
        ("flat.atomic.fadd", RmwOp::FAdd),
        ("flat.atomic.fmin.", RmwOp::FMin),
        ("flat.atomic.fmax.", RmwOp::FMax),
    ];
    // `fmin.num` and `fmax.num` differ from `atomicrmw` in what they make of signalling NaNs.
    if name.contains("num") {
        return None;
    }
    let found = ATOMICS.iter().find(|(prefix, _)| name.starts_with(prefix))?;
    Some(Rule::AgentAtomic(found.1))
}

fn generic(context: &Context, name: &str, ret: Type, params: &[Type]) -> Option<Rule> {
    let first = name.split('.').next()?;
    let mangled = |base: &str, params: &[Type]| remangled(context, base, ret, params, false);
    match (first, params.len()) {
        // A call that is removed has no result, so nothing may read it.
        ("lifetime", 2) if ret == Type::VOID => Some(Rule::Lifetime),
        ("memcpy" | "memmove", 5) => {
            let args = vec![Arg::Aligned(0, 3), Arg::Aligned(1, 3), Arg::Old(2), Arg::Old(4)];
            let wanted = [params[0], params[1], params[2], params[4]];
            Some(Rule::Call(mangled(first, &wanted)?, args, Keep::Attributes))
        }
        ("memset", 5) => {
            let args = vec![Arg::Aligned(0, 3), Arg::Old(1), Arg::Old(2), Arg::Old(4)];
            let wanted = [params[0], params[1], params[2], params[4]];
            Some(Rule::Call(mangled(first, &wanted)?, args, Keep::Attributes))
        }
        ("masked", 4) => {
            let (at, args) = match name.split('.').nth(1)? {
                "load" => (1, vec![Arg::OnlyAligned(0, 1), Arg::Old(2), Arg::Old(3)]),
                "gather" => (1, vec![Arg::ElementsAligned(0, 1), Arg::Old(2), Arg::Old(3)]),
                "store" => (2, vec![Arg::Old(0), Arg::OnlyAligned(1, 2), Arg::Old(3)]),
                "scatter" => (2, vec![Arg::Old(0), Arg::ElementsAligned(1, 2), Arg::Old(3)]),
                _ => return None,
            };
            if params[at] != Type::I32 {
                return None;
            }
            let mut wanted = params.to_vec();
            wanted.remove(at);
            Some(Rule::Call(mangled(name, &wanted)?, args, Keep::Metadata))
        }
        ("ctlz" | "cttz", 1) => {
            let name = mangled(first, &[params[0], Type::I1])?;
            Some(Rule::Call(name, vec![Arg::Old(0), Arg::False], Keep::Nothing))
        }
        ("objectsize", count @ 2..=3) => {
            let given = (0..count).map(Arg::Old);
            let args = given.chain([Arg::False, Arg::False]).take(4).collect();
            let wanted = [params[0], params[1], Type::I1, Type::I1];
            Some(Rule::Call(mangled(name, &wanted)?, args, Keep::Nothing))
        }
        ("coro", 2) if name == "coro.end" && matches!(ret, Type::VOID | Type::I1) => {
            Some(Rule::CoroutineEnd)
        }
        ("flt", 0) if name == "flt.rounds" => Some(Rule::Rename("get.rounding".to_string())),
        ("invariant", 1) if name.starts_with("invariant.group.barrier") => {
            Some(Rule::Rename(mangled("launder.invariant.group", params)?))
        }
        ("vector", 3) if name == "vector.splice" || name.starts_with("vector.splice.") => {
            let is_old =
                !name.starts_with("vector.splice.left") && !name.starts_with("vector.splice.right");
            is_old.then_some(Rule::Splice)
        }
        ("experimental", 3) if name.starts_with("experimental.vector.splice") => Some(Rule::Splice),
        ("experimental", _) => {
            if let Some(rest) = name.strip_prefix("experimental.stepvector.") {
                let name = mangled("stepvector", params);
                return Some(Rule::Rename(name.unwrap_or_else(|| format!("stepvector.{rest}"))));
            }
            let rest = name.strip_prefix("experimental.vector.")?;
            if let Some(ordered) = rest.strip_prefix("reduce.v2.") {
                let base = format!("vector.reduce.{}", ordered.split('.').next()?);
                return Some(Rule::Rename(mangled(&base, params)?));
            }
            let known =
                ["reduce.", "reverse.", "extract.", "insert.", "interleave2.", "deinterleave2."];
            let same = known.iter().any(|prefix| rest.starts_with(prefix))
                // This is another operation than `vector.extract`.
                && !rest.starts_with("extract.last.active");
            let name = format!("vector.{rest}");
            same.then(|| Rule::Rename(mangled(&name, params).unwrap_or(name)))
        }
        _ => None,
    }
}

/// Whether a function of this name and type is an old intrinsic.
pub(crate) fn is_old(context: &Context, name: &str, ty: Type) -> bool {
    name.strip_prefix("llvm.")
        .zip(Function::split_type(context, ty))
        .is_some_and(|(name, parts)| rule(context, name, parts).is_some())
}

/// An old intrinsic: its declaration, and what becomes of its calls.
pub(super) struct Old {
    /// Place of the declaration in the module.
    pub(super) order: usize,
    name: GlobalName,
    address_space: u32,
    /// Where it is declared; none if it is not.
    declared: Option<u32>,
    pub(super) rule: Rule,
}

/// The order in which LLVM visits the calls of an old intrinsic: first the calls behind the
/// declaration, from the last to the first; then those before it in their order.
pub(super) type Turn = (bool, i64);

impl Old {
    /// The turn of a call at this place of the text.
    pub(super) fn turn(&self, place: u32) -> Turn {
        match self.declared {
            Some(declared) if place < declared => (true, place.into()),
            _ => (false, -i64::from(place)),
        }
    }
}

/// Declarations by name, and the ones to be added.
pub(super) struct Declarations<'a> {
    pub(super) context: &'a Context,
    /// How types lie in memory.
    pub(super) layout: DataLayout,
    /// Functions that are there and stay.
    known: FxHashSet<Symbol>,
    /// New ones, with the place of the old one that they are for.
    added: Vec<(usize, Function)>,
    /// Where a function is first needed: whether for a declaration, its place, and the turn of the
    /// call.
    first: FxHashMap<Symbol, (bool, usize, Turn)>,
    /// The turn of the call that is being rewritten.
    pub(super) now: Turn,
    /// Old ones of which a call had to stay.
    kept: FxHashSet<GlobalName>,
}

impl Declarations<'_> {
    /// The intrinsic of this name (without `llvm.`) and type, declared if need be for an old one.
    pub(super) fn intrinsic(&mut self, old: &Old, name: &str, ty: Type) -> Value {
        let symbol = self.context.symbol(format!("llvm.{name}").as_bytes());
        let global = GlobalName::Named(symbol);
        let turn = (old.declared.is_some(), old.order, self.now);
        let first = self.first.entry(symbol).or_insert(turn);
        *first = turn.min(*first);
        if self.known.insert(symbol) {
            let function = intrinsic(self.context, global, ty, old.address_space);
            self.added.extend(function.map(|function| (old.order, function)));
        }
        let ptr = self.context.ptr_type(old.address_space);
        self.context.constant(ptr, ConstKind::Global(global)).into()
    }

    /// The name of an old intrinsic without `llvm.`
    pub(super) fn base_name(&self, old: &Old) -> Option<String> {
        let name = self.context.text(old.name.symbol()?);
        name.strip_prefix("llvm.").map(str::to_string)
    }

    /// `lifetime.start` or `lifetime.end`
    pub(super) fn lifetime(&self, old: &Old) -> Option<String> {
        let name = self.base_name(old)?;
        let end = name.match_indices('.').nth(1).map_or(name.len(), |(at, _)| at);
        Some(name[..end].to_string())
    }

    /// A call stays as it is, so its declaration does.
    pub(super) fn keep(&mut self, old: &Old) {
        self.kept.insert(old.name);
    }
}

/// The old intrinsics of a module, by callee; its first `written` functions are declared in the
/// text.
fn old_intrinsics(module: &Module, places: &SourceMap, written: usize) -> FxHashMap<Value, Old> {
    let context = &*module.context;
    let mut found = FxHashMap::default();
    for (order, function) in module.functions.iter().enumerate() {
        let FunctionHeader { name, address_space, ret, ref params, vararg, .. } = function.header;
        let Some(symbol) = name.symbol().filter(|_| function.is_declaration()) else { continue };
        let Some(text) = context.bytes(symbol).strip_prefix(b"llvm.") else { continue };
        let Ok(text) = std::str::from_utf8(text) else { continue };
        if let Some(rule) = rule(context, text, (ret, params, vararg)) {
            let ty = context.ptr_type(address_space);
            let callee = context.constant(ty, ConstKind::Global(name));
            // A call that already has the right name is rewritten only if its declaration has
            // another name.
            let rule = match rule {
                Rule::Renew(name)
                    if order >= written
                        && is_intrinsic_type(
                            context,
                            context.bytes(symbol),
                            function.header.ty,
                        ) =>
                {
                    Rule::Rename(name)
                }
                rule => rule,
            };
            let declared = places.function(order).filter(|_| order < written);
            found.insert(callee.into(), Old { order, name, address_space, declared, rule });
        }
    }
    found
}

/// The function type of a call with these arguments instead of what this header says.
fn called_type(context: &Context, header: &FunctionHeader, args: &[Arg]) -> Option<Type> {
    let ty = |arg: &Arg| match *arg {
        Arg::Old(at)
        | Arg::Aligned(at, _)
        | Arg::OnlyAligned(at, _)
        | Arg::ElementsAligned(at, _) => header.params.get(at).copied(),
        Arg::Zero => Some(Type::I32),
        Arg::False => Some(Type::I1),
        Arg::NoToken => Some(Type::TOKEN),
    };
    let params = args.iter().map(ty).collect::<Option<_>>()?;
    let kind = TypeKind::Function { ret: header.ret, params, vararg: false };
    Some(context.type_of_kind(&kind))
}

/// Rewrites the calls of all old intrinsics; the text holds the first `written` functions.
///
/// What LLVM declares for calls without a declaration comes first, each in the place of what it is
/// for; then what takes the place of old declarations.
pub(super) fn upgrade(parsed: &mut Parsed, written: usize) {
    let context = Arc::clone(&parsed.module.context);
    let olds = old_intrinsics(&parsed.module, &parsed.source_map, written);
    if olds.is_empty() {
        return;
    }
    let old_names: FxHashSet<GlobalName> = olds.values().map(|old| old.name).collect();
    let staying = parsed.module.functions.iter().map(|function| function.header.name);
    let staying = staying.filter(|name| !old_names.contains(name));
    let layout = parsed.module.data_layout.map(|text| context.text(text).into_owned());
    let mut declarations = Declarations {
        context: &context,
        layout: DataLayout::parse(&layout.unwrap_or_default()).unwrap_or_default(),
        known: staying.filter_map(GlobalName::symbol).collect(),
        added: Vec::new(),
        first: FxHashMap::default(),
        now: (false, i64::MIN),
        kept: FxHashSet::default(),
    };
    let mut in_order: Vec<&Old> = olds.values().collect();
    in_order.sort_by_key(|old| (old.order < written, old.order));
    for old in in_order {
        let ty = parsed.module.functions[old.order].header.ty;
        match &old.rule {
            Rule::Rename(name) | Rule::Renew(name) => {
                declarations.intrinsic(old, name, ty);
            }
            Rule::Call(name, args, _) => {
                let header = &parsed.module.functions[old.order].header;
                if let Some(ty) = called_type(&context, header, args) {
                    declarations.intrinsic(old, name, ty);
                }
            }
            // LLVM leaves a declaration behind that takes only the size. So do we: texts stay
            // alike.
            Rule::Lifetime => {
                if let Some(name) = declarations.lifetime(old) {
                    let kind = TypeKind::Function {
                        ret: Type::VOID,
                        params: [Type::I64].into(),
                        vararg: false,
                    };
                    let size_only = context.type_of_kind(&kind);
                    declarations.intrinsic(old, &format!("{name}.i64"), size_only);
                }
            }
            _ => {}
        }
    }
    let Parsed { module, source_map } = parsed;
    for (index, function) in module.functions.iter_mut().enumerate() {
        let place = |inst| source_map.inst(index, inst).unwrap_or_default();
        let places = rewrite(function, &place, &olds, &mut declarations, &mut module.metadata);
        if !places.is_empty() {
            source_map.extend_from(index, &places);
        }
    }
    let Declarations { added, kept, first, .. } = declarations;
    let undeclared = parsed.module.functions.split_off(written.min(parsed.module.functions.len()));
    let maps = parsed.source_map.split_functions(written);
    super::remove_declarations(parsed, |header| {
        old_names.contains(&header.name) && !kept.contains(&header.name)
    });
    let undeclared = undeclared
        .into_iter()
        .zip(maps)
        .enumerate()
        .filter(|(_, (function, _))| {
            let name = function.header.name;
            !old_names.contains(&name) || kept.contains(&name)
        })
        .map(|(at, (function, map))| ((false, written + at, (false, i64::MIN)), function, map));
    // An old function that is still called takes precedence over an added one with its name.
    let added = added
        .into_iter()
        .filter(|(_, function)| !kept.contains(&function.header.name))
        .map(|(order, function)| {
            let turn = function.header.name.symbol().and_then(|name| first.get(&name).copied());
            let turn = turn.unwrap_or((order < written, order, (false, i64::MIN)));
            (turn, function, FunctionMap::default())
        });
    let mut behind: Vec<_> = undeclared.chain(added).collect();
    behind.sort_by_key(|&(turn, ..)| turn);
    for (_, function, map) in behind {
        parsed.source_map.push_function(map);
        parsed.module.functions.push(function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_today_have_no_rule() {
        let context = Context::new();
        for name in [
            "amdgcn.workitem.id.x",
            "amdgcn.s.barrier",
            "nvvm.barrier.cta.sync.aligned.all",
            "nvvm.ldu.global.i.i32.p1",
            "lifetime.start.p0",
            "unknown.thing",
        ] {
            let params: &[Type] =
                if name.starts_with("lifetime") { &[Type::PTR] } else { &[Type::PTR1] };
            assert!(rule(&context, name, (Type::I32, params, false)).is_none(), "{name}");
        }
    }
}
