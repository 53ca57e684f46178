//! Rules of operands of intrinsics beyond types and immediates.
//!
//! ```text
//! %r = call i8 @llvm.bswap.i8(i8 %x)
//! ```
//!
//! fits its signature, but there are no two bytes to swap. The messages are LLVM's. O(operands).

use crate::{
    attributes::AttrKind,
    function::FunctionHeader,
    intrinsics::{Lookup, lookup},
    metadata::{LocalMetadata, MetadataValue},
    types::{Type, TypeKind},
    value::{Value, ValueKind},
    verify::{
        amdgpu,
        env::Env,
        fault::{Check, ensure},
        gc,
        view::InstView,
    },
};

/// A call of the intrinsic that `header` declares.
pub(crate) fn call(env: &Env<'_>, inst: &InstView<'_>, header: &FunctionHeader) -> Check {
    let name = env.name_bytes(header.name);
    let text = std::str::from_utf8(name).unwrap_or_default();
    let base = match lookup(name) {
        Lookup::Known(base, _) => base,
        Lookup::Elsewhere => text.strip_prefix("llvm.").unwrap_or_default(),
        Lookup::Unknown => return Ok(()),
    };
    let call = Call { env, inst, ret: header.ret };
    ensure!(
        inst.args()
            .iter()
            .zip(inst.types)
            .all(|(arg, &ty)| { ty != Type::X86_AMX || arg.as_const().is_none() }),
        "const x86_amx is not allowed in argument!"
    );
    if let Some(name) = base.strip_prefix("amdgcn.") {
        amdgpu::call(env, inst, name)?;
    }
    match base {
        "assume" => call.assume(),
        "bswap" => {
            let bits = call.element_bits(header.ret);
            ensure!(bits.is_multiple_of(16), "bswap must be an even number of bytes");
            Ok(())
        }
        "ptrmask" => call.pointer_mask(),
        "scmp" | "ucmp" => call.three_way(),
        "experimental.get.vector.length" => {
            let factor = call.integer(1);
            ensure!(factor.is_none_or(|n| n > 0), "get_vector_length: VF must be positive");
            Ok(())
        }
        "vector.insert" | "vector.extract" => call.part_of_vector(base == "vector.insert"),
        "fptrunc.round" => call.rounding_of_truncation(),
        "nvvm.setmaxnreg.inc.sync.aligned.u32" | "nvvm.setmaxnreg.dec.sync.aligned.u32" => {
            ensure!(
                call.integer(0).is_none_or(|n| n % 8 == 0),
                "reg_count argument to nvvm.setmaxnreg must be in multiples of 8"
            );
            Ok(())
        }
        "gcroot"
        | "gcread"
        | "gcwrite"
        | "experimental.gc.statepoint"
        | "experimental.gc.result"
        | "experimental.gc.relocate" => gc::call(env, inst, base),
        "vector.splice.left" => call.splice(false),
        "vector.splice.right" => call.splice(true),
        "experimental.memset.pattern" => {
            ensure!(
                env.types.is_sized(call.ty(1)),
                "unsized types cannot be used as memset patterns"
            );
            Ok(())
        }
        "reloc.none" => {
            ensure!(call.string(0).is_some(), "llvm.reloc.none argument must be a metadata string");
            Ok(())
        }
        "aarch64.range.prefetch" => {
            for (at, name) in [(1, "write"), (2, "stream")] {
                ensure!(
                    call.integer(at).is_none_or(|n| (0..2).contains(&n)),
                    format!("{name} argument to llvm.aarch64.range.prefetch must be 0 or 1")
                );
            }
            Ok(())
        }
        _ if base.starts_with("amdgcn.cooperative.atomic.") => call.cooperative_atomic(),
        _ if base.starts_with("experimental.constrained.") => call.constrained(base),
        _ if base.starts_with("vp.") => call.predicated(base),
        _ => call.element_types(base),
    }
}

struct Call<'a, 'e> {
    env: &'a Env<'e>,
    inst: &'a InstView<'a>,
    ret: Type,
}

impl Call<'_, '_> {
    fn arg(&self, at: usize) -> Option<Value> {
        self.inst.args().get(at).copied()
    }

    fn ty(&self, at: usize) -> Type {
        self.inst.types.get(at).copied().unwrap_or(Type::VOID)
    }

    /// A constant integer argument as a signed number, if it has at most 64 bits.
    fn integer(&self, at: usize) -> Option<i64> {
        let constant = self.arg(at)?.as_const()?;
        super::call::signed(&self.env.types, constant)
    }

    /// A metadata argument that is a string.
    fn string(&self, at: usize) -> Option<&[u8]> {
        let ValueKind::Metadata(id) = self.arg(at)?.kind() else { return None };
        match self.inst.body.try_local_metadata(id)? {
            LocalMetadata::String(symbol) => Some(self.env.types.context.bytes(*symbol)),
            _ => None,
        }
    }

    /// The size of a type, or of its elements, in bits; 0 if it has none.
    fn element_bits(&self, ty: Type) -> u64 {
        self.env.types.bits(self.env.types.scalar(ty)).unwrap_or(0)
    }

    fn pointer_mask(&self) -> Check {
        let types = &self.env.types;
        let (pointer, mask) = (self.ty(0), self.ty(1));
        ensure!(
            types.is_ptr(types.scalar(pointer)),
            "llvm.ptrmask intrinsic first argument must be pointer or vector of pointers"
        );
        ensure!(
            types.is_vector(pointer) == types.is_vector(mask),
            "llvm.ptrmask intrinsic arguments must be both scalars or both vectors"
        );
        ensure!(
            types.lanes(pointer) == types.lanes(mask),
            "llvm.ptrmask intrinsic arguments must have the same number of elements"
        );
        let space = types.address_space(types.scalar(pointer)).unwrap_or(0);
        let index = self.env.index.layout.pointer(space).index_size;
        ensure!(
            self.element_bits(mask) == u64::from(index),
            "llvm.ptrmask intrinsic second argument bitwidth must match pointer index type size of first argument"
        );
        Ok(())
    }

    fn three_way(&self) -> Check {
        let types = &self.env.types;
        let source = self.ty(0);
        ensure!(self.element_bits(self.ret) >= 2, "result type must be at least 2 bits wide");
        ensure!(
            types.is_vector(source) == types.is_vector(self.ret),
            "ucmp/scmp argument and result types must both be either vector or scalar types"
        );
        ensure!(
            types.lanes(source) == types.lanes(self.ret),
            "return type and arguments must have the same number of elements"
        );
        Ok(())
    }

    fn part_of_vector(&self, is_insert: bool) -> Check {
        let types = &self.env.types;
        let whole = self.ty(0);
        let (part, index) = if is_insert { (self.ty(1), 2) } else { (self.ret, 1) };
        let (Some(of), Some(lanes)) = (types.lanes(whole), types.lanes(part)) else {
            return Ok(());
        };
        ensure!(
            types.scalar(whole) == types.scalar(part),
            match is_insert {
                true => "vector_insert parameters must have the same element type.",
                false =>
                    "vector_extract result must have the same element type as the input vector.",
            }
        );
        let Some(at) = self.integer(index).and_then(|at| u64::try_from(at).ok()) else {
            return Ok(());
        };
        let (of_len, len) = (u64::from(of.len), u64::from(lanes.len));
        ensure!(
            at.is_multiple_of(len.max(1)),
            match is_insert {
                true =>
                    "vector_insert index must be a constant multiple of the subvector's known minimum vector length.",
                false =>
                    "vector_extract index must be a constant multiple of the result type's known minimum vector length.",
            }
        );
        ensure!(
            of.scalable != lanes.scalable || at < of_len && at + len <= of_len,
            match is_insert {
                true =>
                    "subvector operand of vector_insert would overrun the vector being inserted into.",
                false => "vector_extract would overrun.",
            }
        );
        Ok(())
    }

    /// The index of `vector.splice.*` must lie within a vector, since it selects a window of two
    /// concatenated vectors.
    fn splice(&self, is_right: bool) -> Check {
        let Some(lanes) = self.env.types.lanes(self.ret) else { return Ok(()) };
        let own = self.env.types.context.function_attrs(self.inst.header.attributes);
        let least = own.vscale_range().filter(|_| lanes.scalable).map_or(1, |range| range.min);
        let len = i64::from(lanes.len).saturating_mul(least.into());
        let (end, range) = if is_right { (len + 1, "[0, VL]") } else { (len, "[0, VL-1]") };
        ensure!(
            self.integer(2).is_none_or(|at| (0..end).contains(&at)),
            format!(
                "The splice index exceeds the range {range} where VL is the known minimum number of elements in the vector. For scalable vectors the minimum number of elements is determined from vscale_range."
            )
        );
        Ok(())
    }

    fn rounding_of_truncation(&self) -> Check {
        let Some(mode) = self.string(1) else {
            ensure!(
                false,
                "invalid value for llvm.fptrunc.round metadata operand (the operand should be a string)"
            );
            return Ok(());
        };
        ensure!(
            ROUNDINGS.contains(&mode) && mode != b"round.dynamic",
            "unsupported rounding mode argument"
        );
        Ok(())
    }

    fn constrained(&self, base: &str) -> Check {
        let count = self.inst.args().len();
        let name = base.strip_prefix("experimental.constrained.").unwrap_or_default();
        if name.starts_with("fcmp") {
            ensure!(
                self.string(2).is_some_and(|name| FLOAT_PREDICATES.contains(&name)),
                "invalid predicate for constrained FP comparison intrinsic"
            );
        }
        ensure!(
            count
                .checked_sub(1)
                .and_then(|at| self.string(at))
                .is_some_and(|behaviour| EXCEPTIONS.contains(&behaviour)),
            "invalid exception behavior argument"
        );
        // Two metadata operands: the rounding mode comes first.
        let at = count.saturating_sub(2);
        if self.ty(at) == Type::METADATA && !name.starts_with("fcmp") {
            ensure!(
                self.string(at).is_some_and(|mode| ROUNDINGS.contains(&mode)),
                "invalid rounding mode argument"
            );
        }
        Ok(())
    }

    /// Rules of intrinsics with a mask and a vector length.
    fn predicated(&self, base: &str) -> Check {
        let types = &self.env.types;
        const CASTS: [&str; 12] = [
            "vp.fpext",
            "vp.fptosi",
            "vp.fptoui",
            "vp.fptrunc",
            "vp.inttoptr",
            "vp.lrint",
            "vp.llrint",
            "vp.ptrtoint",
            "vp.sext",
            "vp.sitofp",
            "vp.trunc",
            "vp.uitofp",
        ];
        if CASTS.contains(&base) || base == "vp.zext" {
            ensure!(
                types.lanes(self.ty(0)) == types.lanes(self.ret),
                "VP cast intrinsic first argument and result vector lengths must be equal"
            );
        } else if base == "vp.fcmp" {
            ensure!(
                self.string(2).is_some_and(|name| FLOAT_PREDICATES.contains(&name)
                    || name == b"true"
                    || name == b"false"),
                "invalid predicate for VP FP comparison intrinsic"
            );
        } else if base == "vp.icmp" {
            ensure!(
                self.string(2).is_some_and(|name| INTEGER_PREDICATES.contains(&name)),
                "invalid predicate for VP integer comparison intrinsic"
            );
        }
        Ok(())
    }

    fn cooperative_atomic(&self) -> Check {
        let types = &self.env.types;
        let space = types.address_space(self.ty(0));
        ensure!(
            matches!(space, Some(0 | 1)),
            "cooperative atomic intrinsics require a generic or global pointer"
        );
        let last = self.inst.args().last().map(|value| value.kind());
        let node = match last {
            Some(ValueKind::Metadata(id)) => {
                self.inst.body.try_local_metadata(id).and_then(LocalMetadata::as_node)
            }
            _ => None,
        };
        let metadata = &self.env.module.metadata;
        let is_string = node.is_some_and(|node| {
            metadata.values(node).len() == 1
                && matches!(metadata.element(node, 0), Some(MetadataValue::String(_)))
        });
        ensure!(
            is_string,
            "cooperative atomic intrinsics require that the last argument is a metadata string"
        );
        Ok(())
    }

    /// Intrinsics that need an `elementtype` attribute on a pointer that they read or write
    /// through.
    fn element_types(&self, base: &str) -> Check {
        let has = |prefixes: &[&str]| {
            prefixes.iter().any(|prefix| {
                base.strip_prefix(prefix)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let (at, place) = if has(&[
            "aarch64.ldaxr",
            "aarch64.ldxr",
            "arm.ldaex",
            "arm.ldrex",
            "preserve.array.access.index",
            "preserve.struct.access.index",
        ]) {
            (0, "first")
        } else if has(&["aarch64.stlxr", "aarch64.stxr", "arm.stlex", "arm.strex"]) {
            (1, "second")
        } else {
            return Ok(());
        };
        let attributes = self.inst.call_attributes();
        ensure!(
            self.env.types.context.param_attrs(attributes, at).has(AttrKind::ElementType),
            format!("Intrinsic requires elementtype attribute on {place} argument.")
        );
        Ok(())
    }

    /// Checks that bundles of an assumption name attributes and have the operands of those.
    fn assume(&self) -> Check {
        let types = &self.env.types;
        for (tag, operands) in self.inst.bundles() {
            let tag = types.context.bytes(tag);
            let first = self.first_type(operands);
            match tag {
                b"ignore" => continue,
                b"separate_storage" => {
                    ensure!(
                        operands.len() == 2,
                        "separate_storage assumptions should have 2 arguments"
                    );
                    ensure!(
                        operands.iter().all(|&value| types.is_ptr(self.type_of(value))),
                        "arguments to separate_storage assumptions should be pointers"
                    );
                    continue;
                }
                b"align" => {
                    ensure!(
                        (2..=3).contains(&operands.len()),
                        "alignment assumptions should have 2 or 3 arguments"
                    );
                    ensure!(
                        first.is_some_and(|ty| types.is_ptr(ty)),
                        "first argument should be a pointer"
                    );
                    let is_int = |at: usize| {
                        operands.get(at).is_none_or(|&value| {
                            matches!(types.kind(self.type_of(value)), TypeKind::Int(_))
                        })
                    };
                    ensure!(is_int(1), "second argument should be an integer");
                    ensure!(is_int(2), "third argument should be an integer if present");
                    continue;
                }
                _ => {}
            }
            let kind = AttrKind::from_text(tag);
            // String attributes have names with a hyphen, such as `"no-jump-tables"`.
            ensure!(kind.is_some() || tag.contains(&b'-'), "tags must be valid attribute names");
            ensure!(operands.len() <= 2, "too many arguments");
        }
        Ok(())
    }

    fn first_type(&self, operands: &[Value]) -> Option<Type> {
        operands.first().map(|&value| self.type_of(value))
    }

    fn type_of(&self, value: Value) -> Type {
        let at = self.inst.operands.iter().position(|&operand| operand == value);
        at.map_or(Type::VOID, |at| self.inst.ty(at))
    }
}

const ROUNDINGS: [&[u8]; 6] = [
    b"round.dynamic",
    b"round.tonearest",
    b"round.tonearestaway",
    b"round.downward",
    b"round.upward",
    b"round.towardzero",
];

const EXCEPTIONS: [&[u8]; 3] = [b"fpexcept.ignore", b"fpexcept.maytrap", b"fpexcept.strict"];

const INTEGER_PREDICATES: [&[u8]; 10] =
    [b"eq", b"ne", b"sgt", b"sge", b"slt", b"sle", b"ugt", b"uge", b"ult", b"ule"];

const FLOAT_PREDICATES: [&[u8]; 14] = [
    b"oeq", b"ogt", b"oge", b"olt", b"ole", b"one", b"ord", b"ueq", b"ugt", b"uge", b"ult", b"ule",
    b"une", b"uno",
];
