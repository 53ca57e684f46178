//! Rules of attributes: where they may stand, on which types, and which exclude each other.
//!
//! The same rules hold for functions and for calls.

use std::borrow::Cow;

use crate::{
    attributes::{
        AttrKind, AttrList, AttrSetData, Attribute, FP_CLASSES, MemoryLocation, Positions,
    },
    constant::ConstKind,
    describe::type_name,
    types::{Type, TypeKind},
    verify::{
        env::Env,
        fault::{Check, Fault, ensure},
        target_attrs,
        types::{MAX_ALIGN, Types},
    },
};

/// The function or call that an attribute list is attached to.
#[derive(Copy, Clone)]
pub(crate) struct Subject<'a> {
    pub(crate) ret: Type,
    pub(crate) params: &'a [Type],
    /// Number of arguments: in a call with variable arguments, more than there are parameters.
    pub(crate) args: usize,
    pub(crate) vararg: bool,
    pub(crate) is_intrinsic: bool,
    pub(crate) is_inline_asm: bool,
}

/// All rules of one list. O(attributes).
pub(crate) fn check(env: &Env<'_>, list: AttrList, subject: Subject<'_>) -> Check {
    if list == AttrList::EMPTY {
        return Ok(());
    }
    let (types, context) = (&env.types, env.types.context);
    let data = context.attr_list_data(list);
    ensure!(data.params.len() <= subject.args, "Attribute after last parameter!");
    let ret = context.attr_set_data(data.ret);
    booleans(types, ret)?;
    positions(ret, Positions::RETURN, "function return values")?;
    on_value(types, ret, subject.ret)?;
    let mut seen = Once::default();
    for (at, &set) in data.params.iter().enumerate() {
        let set = context.attr_set_data(set);
        booleans(types, set)?;
        positions(set, Positions::PARAM, "parameters")?;
        // Variable arguments have no parameter type to compare their attributes with.
        let Some(&ty) = subject.params.get(at) else { continue };
        ensure!(
            subject.is_intrinsic || !set.has(AttrKind::ImmArg),
            "immarg attribute only applies to intrinsics"
        );
        ensure!(
            subject.is_intrinsic || subject.is_inline_asm || !set.has(AttrKind::ElementType),
            "Attribute 'elementtype' can only be applied to intrinsics and inline asm."
        );
        on_value(types, set, ty)?;
        seen.param(types, set, at, ty, subject)?;
    }
    on_function(types, data.params.as_ref(), context.attr_set_data(data.function), subject)
}

/// Attributes of the variable arguments of a call, by their types.
pub(crate) fn variable_arguments(
    env: &Env<'_>,
    list: AttrList,
    subject: Subject<'_>,
    args: &[Type],
    is_statepoint: bool,
) -> Check {
    let (types, context) = (&env.types, env.types.context);
    let sets = &context.attr_list_data(list).params;
    let count = subject.params.len();
    if sets.len() <= count {
        return Ok(());
    }
    let before = |kind| sets.iter().take(count).any(|&set| context.attr_set_data(set).has(kind));
    let (mut nest, mut returned) = (before(AttrKind::Nest), before(AttrKind::Returned));
    for (at, (&set, &ty)) in sets.iter().zip(args).enumerate().skip(count) {
        let set = context.attr_set_data(set);
        on_value(types, set, ty)?;
        if set.has(AttrKind::Nest) {
            ensure!(!nest, "More than one parameter has attribute nest!");
            nest = true;
        }
        if set.has(AttrKind::Returned) {
            ensure!(!returned, "More than one parameter has attribute returned!");
            ensure!(
                converts_without_loss(types, ty, subject.ret),
                "Incompatible argument and return types for 'returned' attribute"
            );
            returned = true;
        }
        ensure!(
            is_statepoint || !set.has(AttrKind::StructRet),
            "Attribute 'sret' cannot be used for vararg call arguments!"
        );
        ensure!(
            !set.has(AttrKind::InAlloca) || at + 1 == args.len(),
            "inalloca isn't on the last argument!"
        );
    }
    Ok(())
}

/// Attributes that may occur on one parameter only.
#[derive(Default)]
struct Once {
    nest: bool,
    returned: bool,
    sret: bool,
    swift_self: bool,
    swift_async: bool,
    swift_error: bool,
}

impl Once {
    fn param(
        &mut self,
        types: &Types<'_>,
        set: &AttrSetData,
        at: usize,
        ty: Type,
        subject: Subject<'_>,
    ) -> Check {
        let once = |seen: &mut bool, kind, message: &'static str| {
            if set.has(kind) && std::mem::replace(seen, true) {
                return Err(Fault::new(message, Vec::new()));
            }
            Ok(())
        };
        once(&mut self.nest, AttrKind::Nest, "More than one parameter has attribute nest!")?;
        once(
            &mut self.returned,
            AttrKind::Returned,
            "More than one parameter has attribute returned!",
        )?;
        ensure!(
            !set.has(AttrKind::Returned) || converts_without_loss(types, ty, subject.ret),
            "Incompatible argument and return types for 'returned' attribute"
        );
        once(&mut self.sret, AttrKind::StructRet, "Cannot have multiple 'sret' parameters!")?;
        ensure!(
            !set.has(AttrKind::StructRet) || at <= 1,
            "Attribute 'sret' is not on first or second parameter!"
        );
        once(
            &mut self.swift_self,
            AttrKind::SwiftSelf,
            "Cannot have multiple 'swiftself' parameters!",
        )?;
        once(
            &mut self.swift_async,
            AttrKind::SwiftAsync,
            "Cannot have multiple 'swiftasync' parameters!",
        )?;
        once(
            &mut self.swift_error,
            AttrKind::SwiftError,
            "Cannot have multiple 'swifterror' parameters!",
        )?;
        ensure!(
            !set.has(AttrKind::InAlloca) || at + 1 == subject.params.len(),
            "inalloca isn't on the last parameter!"
        );
        Ok(())
    }
}

/// Same type, or vectors of the same number of bits.
fn converts_without_loss(types: &Types<'_>, from: Type, to: Type) -> bool {
    from == to
        || types.is_vector(from)
            && types.is_vector(to)
            && types.bits(from).is_some()
            && types.bits(from) == types.bits(to)
            && types.lanes(from).map(|l| l.scalable) == types.lanes(to).map(|l| l.scalable)
}

fn positions(set: &AttrSetData, wanted: Positions, place: &str) -> Check {
    let misplaced = set
        .attributes()
        .iter()
        .filter_map(Attribute::kind)
        .find(|kind| !kind.positions().contains(wanted));
    match misplaced {
        None => Ok(()),
        Some(kind) => {
            let end = if wanted == Positions::FUNCTION { "!" } else { "" };
            Err(Fault::new(
                format!("Attribute '{}' does not apply to {place}{end}", kind.text()),
                vec![],
            ))
        }
    }
}

/// Pairs of attributes of one value that contradict each other.
const EXCLUSIVE: [(AttrKind, AttrKind, &str); 8] = [
    (
        AttrKind::InAlloca,
        AttrKind::ReadOnly,
        "Attributes 'inalloca and readonly' are incompatible!",
    ),
    (AttrKind::StructRet, AttrKind::Returned, "Attributes 'sret and returned' are incompatible!"),
    (AttrKind::ZeroExt, AttrKind::SignExt, "Attributes 'zeroext and signext' are incompatible!"),
    (
        AttrKind::ReadNone,
        AttrKind::ReadOnly,
        "Attributes 'readnone and readonly' are incompatible!",
    ),
    (
        AttrKind::ReadNone,
        AttrKind::WriteOnly,
        "Attributes 'readnone and writeonly' are incompatible!",
    ),
    (
        AttrKind::ReadOnly,
        AttrKind::WriteOnly,
        "Attributes 'readonly and writeonly' are incompatible!",
    ),
    (AttrKind::Writable, AttrKind::ReadNone, "Attributes writable and readnone are incompatible!"),
    (AttrKind::Writable, AttrKind::ReadOnly, "Attributes writable and readonly are incompatible!"),
];

/// Rules of the attributes of one parameter or result.
fn on_value(types: &Types<'_>, set: &AttrSetData, ty: Type) -> Check {
    if set.is_empty() {
        return Ok(());
    }
    ensure!(
        !set.has(AttrKind::ImmArg)
            || set.attributes().len() == 1 + usize::from(set.has(AttrKind::Range)),
        "Attribute 'immarg' is incompatible with other attributes except the 'range' attribute"
    );
    let passing = [
        set.has(AttrKind::ByVal),
        set.has(AttrKind::InAlloca),
        set.has(AttrKind::Preallocated),
        set.has(AttrKind::StructRet) || set.has(AttrKind::InReg),
        set.has(AttrKind::Nest),
        set.has(AttrKind::ByRef),
    ];
    ensure!(
        passing.iter().filter(|&&present| present).count() <= 1,
        "Attributes 'byval', 'inalloca', 'preallocated', 'inreg', 'nest', 'byref', and 'sret' are incompatible!"
    );
    for (first, second, message) in EXCLUSIVE {
        ensure!(!(set.has(first) && set.has(second)), message);
    }
    for attribute in set.attributes() {
        let Some(kind) = attribute.kind() else { continue };
        ensure!(
            fits_type(types, kind, ty) && (kind != AttrKind::Range || range_fits(types, set, ty)),
            format!(
                "Attribute '{}' applied to incompatible type!",
                attribute_text(types, set, kind)
            )
        );
    }
    for kind in [AttrKind::ByVal, AttrKind::ByRef, AttrKind::InAlloca, AttrKind::Preallocated] {
        if let Some(pointee) = set.type_of(kind) {
            ensure!(
                types.is_sized(pointee),
                format!("Attribute '{}' does not support unsized types!", kind.text())
            );
            ensure!(
                kind != AttrKind::ByVal || !types.contains_group_object(pointee),
                "'byval' argument has illegal target extension type"
            );
            ensure!(
                types.least_size(pointee) < 1 << 32,
                format!("huge '{}' arguments are unsupported", kind.text())
            );
        }
    }
    ensure!(set.align().unwrap_or(1) <= MAX_ALIGN, "huge alignment values are unsupported");
    if set.has(AttrKind::NoFpClass) {
        let mask = set.no_fp_class();
        ensure!(mask != 0 && mask & !0x3ff == 0, "Invalid value for 'nofpclass' test mask");
    }
    let ranges = set.initializes();
    ensure!(
        ranges.iter().all(|&(from, to)| from < to) && ranges.windows(2).all(|w| w[0].1 < w[1].0),
        "Attribute 'initializes' does not support unordered ranges"
    );
    Ok(())
}

/// Whether a range has integers of the value's width.
fn range_fits(types: &Types<'_>, set: &AttrSetData, ty: Type) -> bool {
    set.range().is_none_or(|(low, _)| {
        types.bits(types.context.const_data(low).ty) == types.bits(types.scalar(ty))
    })
}

/// An attribute as it is written, for messages.
fn attribute_text(types: &Types<'_>, set: &AttrSetData, kind: AttrKind) -> Cow<'static, str> {
    let name = kind.text();
    let with = |payload: String| Cow::Owned(format!("{name}({payload})"));
    match (kind, set.get(kind)) {
        (AttrKind::Align, Some(Attribute::Int(_, bytes))) => format!("{name} {bytes}").into(),
        (AttrKind::NoFpClass, _) => {
            let mask = set.no_fp_class();
            // Keywords for several classes come before keywords for their parts.
            let mut left = mask;
            let names = FP_CLASSES.iter().filter(|&&(_, bits)| {
                let fits = bits != 0 && left & bits == bits;
                left &= if fits { !bits } else { !0 };
                fits
            });
            with(names.map(|&(name, _)| name).collect::<Vec<_>>().join(" "))
        }
        (_, Some(Attribute::Type(_, ty))) => with(type_name(types.context, *ty)),
        (
            AttrKind::Dereferenceable | AttrKind::DereferenceableOrNull,
            Some(Attribute::Int(_, n)),
        ) => with(n.to_string()),
        (_, Some(&Attribute::Range(_, low, high))) => {
            let ty = types.context.const_data(low).ty;
            let number = |constant| types.const_signed(constant).unwrap_or_default();
            with(format!("{} {}, {}", type_name(types.context, ty), number(low), number(high)))
        }
        _ => name.into(),
    }
}

/// Whether an attribute of a value makes sense on its type.
fn fits_type(types: &Types<'_>, kind: AttrKind, ty: Type) -> bool {
    use AttrKind as K;
    match kind {
        K::SignExt | K::ZeroExt | K::AllocAlign => types.is_int(ty),
        K::Range => types.is_int_or_vector(ty),
        K::Align => types.is_ptr_or_vector(ty),
        K::NoAlias
        | K::NonNull
        | K::ReadNone
        | K::ReadOnly
        | K::Captures
        | K::Dereferenceable
        | K::DereferenceableOrNull
        | K::Writable
        | K::DeadOnUnwind
        | K::DeadOnReturn
        | K::Initializes
        | K::Nest
        | K::SwiftError
        | K::Preallocated
        | K::InAlloca
        | K::ByVal
        | K::StructRet
        | K::ByRef
        | K::ElementType
        | K::AllocatedPointer => types.is_ptr(ty),
        K::NoFpClass => {
            let mut ty = ty;
            while let TypeKind::Array { elem, .. } = types.kind(ty) {
                ty = *elem;
            }
            match types.kind(ty) {
                TypeKind::Struct { fields, .. } => fields.first().is_some_and(|&f| {
                    types.is_float_or_vector(f) && fields.iter().all(|&g| g == f)
                }),
                _ => types.is_float_or_vector(ty),
            }
        }
        K::NoUndef => ty != Type::VOID,
        _ => true,
    }
}

/// Rules of the attributes of a function or call as a whole.
fn on_function(
    types: &Types<'_>,
    params: &[crate::AttrSet],
    set: &AttrSetData,
    subject: Subject<'_>,
) -> Check {
    use AttrKind as K;
    if set.is_empty() {
        return Ok(());
    }
    booleans(types, set)?;
    positions(set, Positions::FUNCTION, "functions")?;
    let both = |a, b| set.has(a) && set.has(b);
    ensure!(
        !both(K::NoInline, K::AlwaysInline),
        "Attributes 'noinline and alwaysinline' are incompatible!"
    );
    ensure!(
        !set.has(K::OptimizeNone) || set.has(K::NoInline),
        "Attribute 'optnone' requires 'noinline'!"
    );
    for (first, second, message) in [
        (K::OptimizeNone, K::OptimizeForSize, "Attributes 'optsize and optnone' are incompatible!"),
        (K::OptimizeNone, K::MinSize, "Attributes 'minsize and optnone' are incompatible!"),
        (
            K::OptimizeNone,
            K::OptimizeForDebugging,
            "Attributes 'optdebug and optnone' are incompatible!",
        ),
        (
            K::OptimizeForDebugging,
            K::OptimizeForSize,
            "Attributes 'optsize and optdebug' are incompatible!",
        ),
        (
            K::OptimizeForDebugging,
            K::MinSize,
            "Attributes 'minsize and optdebug' are incompatible!",
        ),
    ] {
        ensure!(!both(first, second), message);
    }
    let some_writable = params.iter().any(|&p| types.context.attr_set_data(p).has(K::Writable));
    let writes_args =
        set.memory().is_none_or(|memory| memory.access(MemoryLocation::ArgMem).writes());
    ensure!(
        !some_writable || writes_args,
        "Attribute writable and memory without argmem: write are incompatible!"
    );
    if let Some(size) = set.alloc_size() {
        alloc_size_param(types, subject, size.size, "element size")?;
        if let Some(count) = size.count {
            alloc_size_param(types, subject, count, "number of elements")?;
        }
    }
    if let Some(&Attribute::Int(_, kinds)) = set.get(K::AllocKind) {
        const FREE: u64 = 1 << 2;
        const UNINITIALIZED: u64 = 1 << 3;
        const ZEROED: u64 = 1 << 4;
        const ALIGNED: u64 = 1 << 5;
        ensure!(
            (kinds & 0b111).count_ones() == 1,
            "'allockind()' requires exactly one of alloc, realloc, and free"
        );
        ensure!(
            kinds & FREE == 0 || kinds & (UNINITIALIZED | ZEROED | ALIGNED) == 0,
            "'allockind(\"free\")' doesn't allow uninitialized, zeroed, or aligned modifiers."
        );
        ensure!(
            kinds & UNINITIALIZED == 0 || kinds & ZEROED == 0,
            "'allockind()' can't be both zeroed and uninitialized"
        );
    }
    if let Some(range) = set.vscale_range() {
        ensure!(range.min != 0, "'vscale_range' minimum must be greater than 0");
        ensure!(range.min.is_power_of_two(), "'vscale_range' minimum must be power-of-two value");
        ensure!(
            range.max == 0 || range.max.is_power_of_two(),
            "'vscale_range' maximum must be power-of-two value"
        );
        ensure!(
            range.max == 0 || range.min <= range.max,
            "'vscale_range' minimum cannot be greater than maximum"
        );
    }
    target_attrs::check(types, set)?;
    texts(types, set, subject)
}

fn alloc_size_param(types: &Types<'_>, subject: Subject<'_>, at: u32, what: &str) -> Check {
    let ty = subject.params.get(at as usize);
    ensure!(ty.is_some(), format!("'allocsize' {what} argument is out of bounds"));
    ensure!(
        ty.is_some_and(|&ty| types.is_int(ty)),
        format!("'allocsize' {what} argument must refer to an integer parameter")
    );
    Ok(())
}

/// String attributes whose value must be `"true"`, `"false"` or absent, in any position.
const BOOLEANS: [&[u8]; 11] = [
    b"allow_direct_access_in_hot_patch_function",
    b"less-precise-fpmad",
    b"loader-replaceable",
    b"marked_for_windows_hot_patching",
    b"no-infs-fp-math",
    b"no-inline-line-tables",
    b"no-jump-tables",
    b"no-nans-fp-math",
    b"no-signed-zeros-fp-math",
    b"profile-sample-accurate",
    b"use-sample-profile",
];

/// The same, for attributes of functions only.
const FUNCTION_BOOLEANS: [&[u8]; 3] =
    [b"branch-protection-pauth-lr", b"branch-target-enforcement", b"guarded-control-stack"];

fn booleans(types: &Types<'_>, set: &AttrSetData) -> Check {
    one_of(types, set, &BOOLEANS)
}

fn one_of(types: &Types<'_>, set: &AttrSetData, names: &[&[u8]]) -> Check {
    for (key, value) in set.texts() {
        let name = types.context.bytes(key);
        let value = value.map_or(&b""[..], |symbol| types.context.bytes(symbol));
        ensure!(
            !names.contains(&name) || matches!(value, b"" | b"true" | b"false"),
            format!(
                "invalid value for '{}' attribute: {}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value)
            )
        );
    }
    Ok(())
}

/// String attributes whose values LLVM restricts.
fn texts(types: &Types<'_>, set: &AttrSetData, subject: Subject<'_>) -> Check {
    one_of(types, set, &FUNCTION_BOOLEANS)?;
    for (key, value) in set.texts() {
        let value = value.map_or(&b""[..], |symbol| types.context.bytes(symbol));
        let name = types.context.bytes(key);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"frame-pointer" => ensure!(
                matches!(
                    value,
                    b"all" | b"non-leaf" | b"none" | b"reserved" | b"non-leaf-no-reserve"
                ),
                format!("invalid value for 'frame-pointer' attribute: {}", text())
            ),
            b"patchable-function-prefix"
            | b"patchable-function-entry"
            | b"warn-stack-size"
            | b"split-buffer-offset" => ensure!(
                is_unsigned(value),
                format!(
                    "\"{}\" takes an unsigned integer: {}",
                    String::from_utf8_lossy(name),
                    text()
                )
            ),
            b"sign-return-address" => ensure!(
                matches!(value, b"none" | b"all" | b"non-leaf"),
                format!("invalid value for 'sign-return-address' attribute: {}", text())
            ),
            b"sign-return-address-key" => ensure!(
                matches!(value, b"a_key" | b"b_key"),
                format!("invalid value for 'sign-return-address-key' attribute: {}", text())
            ),
            b"modular-format" => {
                let parts: Vec<&[u8]> = value.split(|&byte| byte == b',').collect();
                ensure!(parts.len() >= 5, "modular-format attribute requires at least 5 arguments");
                let first = std::str::from_utf8(parts[1]).ok().and_then(|n| n.parse::<u32>().ok());
                let Some(first) = first else {
                    ensure!(false, "modular-format attribute first arg index is not an integer");
                    return Ok(());
                };
                let bound = subject.params.len() + usize::from(subject.vararg);
                ensure!(
                    first > 0 && first as usize <= bound,
                    "modular-format attribute first arg index is out of bounds"
                );
            }
            b"denormal-fp-math" | b"denormal-fp-math-f32" => ensure!(
                is_denormal_mode(value),
                format!(
                    "invalid value for '{}' attribute: {}",
                    String::from_utf8_lossy(name),
                    text()
                )
            ),
            _ => {}
        }
    }
    Ok(())
}

fn is_unsigned(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

/// One mode, or one for results and one for operands.
fn is_denormal_mode(value: &[u8]) -> bool {
    let is_mode = |mode: &[u8]| {
        matches!(mode, b"" | b"ieee" | b"preserve-sign" | b"positive-zero" | b"dynamic")
    };
    value.splitn(2, |&b| b == b',').all(is_mode)
}

/// Whether a constant can stand for an `immarg`.
pub(crate) fn is_immediate(types: &Types<'_>, constant: crate::Const) -> bool {
    let data = types.context.const_data(constant);
    match &data.kind {
        ConstKind::Int(_) | ConstKind::Float(_) => true,
        ConstKind::Zero => types.is_int(data.ty) || types.is_float(data.ty),
        _ => false,
    }
}
