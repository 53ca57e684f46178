//! Rules of modules: names, variables, aliases, comdats, identified types.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    body::{Body, InstId},
    constant::{Const, ConstKind},
    context::Context,
    function::FunctionRef,
    inst::Opcode,
    module::{GlobalAlias, GlobalIndex, GlobalVariable, Linkage},
    symbol::GlobalName,
    types::{Type, TypeKind},
    value::Value,
    verify::{
        constants::Constants,
        debug_info,
        env::Env,
        fault::{Check, Fault, Related, VerifyError, ensure},
        header, metadata,
        types::{MAX_ALIGN, target_type_may_be_global},
    },
};

/// All broken rules outside of functions. O(module's globals).
pub(crate) fn check(
    env: &Env<'_>,
    constants: &mut Constants,
    functions: &[FunctionRef<'_>],
) -> Vec<VerifyError> {
    let module = env.module;
    let mut errors = Vec::new();
    let mut run = |check: Check| {
        if let Err(Fault { message, related }) = check {
            errors.push(VerifyError { function: None, block: None, inst: None, message, related });
        }
    };
    let variables = module.variables.iter().map(|v| v.name);
    let aliases = module.aliases.iter().map(|a| a.name);
    let function_names = functions.iter().map(|f| f.header.name);
    let mut names = FxHashSet::default();
    for name in variables.chain(aliases).chain(function_names) {
        run(once(&mut names, name, |name| Related::Global(*name), "Name is defined twice!"));
    }
    let mut structs = FxHashSet::default();
    for (name, _) in &module.structs {
        run(once(
            &mut structs,
            *name,
            |name| Related::Type(env.types.context.type_of_kind(&TypeKind::Named(*name))),
            "Type is defined twice!",
        ));
    }
    let mut comdats = FxHashSet::default();
    for &(name, _) in &module.comdats {
        run(once(&mut comdats, name, |name| Related::Name(*name), "Comdat is defined twice!"));
    }
    for variable in &module.variables {
        run(variable_rules(env, constants, variable));
        run(metadata::of_global(
            env,
            variable.name,
            (variable.address_space, variable.initializer.is_none()),
            &variable.metadata,
        ));
    }
    let aliases = Aliases::new(env);
    for alias in &module.aliases {
        if alias.is_ifunc {
            run(ifunc_rules(env, constants, alias, functions));
        } else {
            run(alias_rules(env, constants, alias, (&aliases, functions)));
        }
    }
    let with_comdat = module
        .variables
        .iter()
        .map(|v| (v.name, v.comdat))
        .chain(functions.iter().map(|f| (f.header.name, f.header.comdat)));
    for (name, comdat) in with_comdat {
        run(comdat_exists(&comdats, name, comdat));
    }
    metadata::module_flags(module, env, &mut run);
    metadata::named(env, &mut run);
    debug_info::named(env, &mut run);
    for target in &module.block_addresses {
        run(block_address(env, target, functions));
    }
    errors
}

fn once<T: std::hash::Hash + Eq + Copy>(
    seen: &mut FxHashSet<T>,
    entity: T,
    related: impl Fn(&T) -> Related,
    message: &'static str,
) -> Check {
    ensure!(seen.insert(entity), message, related(&entity));
    Ok(())
}

fn comdat_exists(
    comdats: &FxHashSet<crate::Symbol>,
    name: GlobalName,
    comdat: Option<crate::Symbol>,
) -> Check {
    ensure!(
        comdat.is_none_or(|comdat| comdats.contains(&comdat)),
        "use of undefined comdat",
        Related::Global(name)
    );
    Ok(())
}

fn block_address(
    env: &Env<'_>,
    target: &crate::module::BlockAddress,
    functions: &[FunctionRef<'_>],
) -> Check {
    let related = || Related::Global(target.function);
    let Some(GlobalIndex::Function(at)) = env.global(target.function) else {
        ensure!(false, "Referencing global in another module!", related());
        return Ok(());
    };
    let flow = functions[at].flow;
    let number = target.block.into_raw().into_u32() as usize;
    ensure!(number < flow.id_count(), "Referring to a basic block in another function!", related());
    ensure!(
        flow.entry() != Some(target.block),
        "blockaddress may not be used with the entry block!",
        related()
    );
    Ok(())
}

fn variable_rules(env: &Env<'_>, constants: &mut Constants, variable: &GlobalVariable) -> Check {
    let types = &env.types;
    let me = || Related::Global(variable.name);
    ensure!(
        variable.align.unwrap_or(1) <= MAX_ALIGN,
        "huge alignment values are unsupported",
        me()
    );
    let is_declaration = variable.initializer.is_none();
    ensure!(
        !is_declaration || matches!(variable.linkage, Linkage::External | Linkage::ExternWeak),
        "Global is external, but doesn't have external or weak linkage!",
        me()
    );
    let is_array = matches!(types.kind(variable.ty), TypeKind::Array { .. });
    ensure!(
        variable.linkage != Linkage::Appending || is_array,
        "Only global arrays can have appending linkage!",
        me()
    );
    ensure!(
        !is_declaration && variable.linkage != Linkage::AvailableExternally
            || variable.comdat.is_none(),
        "Declaration may not be in a Comdat!",
        me()
    );
    if let Some(initializer) = variable.initializer {
        let data = types.context.const_data(initializer);
        ensure!(
            data.ty == variable.ty,
            "Global variable initializer type does not match global variable type!",
            me()
        );
        ensure!(types.is_sized(variable.ty), "Global variable initializer must be sized", me());
        if variable.linkage == Linkage::Common {
            ensure!(
                is_null(types.context, initializer),
                "'common' global must have a zero initializer!",
                me()
            );
            ensure!(!variable.is_constant, "'common' global may not be marked constant!", me());
            ensure!(variable.comdat.is_none(), "'common' global may not be in a Comdat!", me());
        }
    }
    header::visibility_and_storage(
        variable.dll,
        variable.visibility,
        variable.linkage,
        variable.dso_local,
        is_declaration,
    )?;
    special_variable(env, variable)?;
    let scalable = types.contains(variable.ty, |kind| match kind {
        TypeKind::Vector { scalable, .. } => *scalable,
        TypeKind::Target { name, .. } => {
            let name = types.context.bytes(*name);
            matches!(name, b"riscv.vector.tuple" | b"aarch64.svcount")
        }
        _ => false,
    });
    ensure!(!scalable, "Globals cannot contain scalable types", me());
    let has_no_place = types.contains(variable.ty, |kind| {
        let TypeKind::Target { name, .. } = kind else { return false };
        !target_type_may_be_global(types.context.bytes(*name))
    });
    ensure!(
        !has_no_place,
        format!(
            "Global @{} has illegal target extension type",
            String::from_utf8_lossy(env.name_bytes(variable.name))
        ),
        me(),
        Related::Type(variable.ty)
    );
    if let Some(initializer) = variable.initializer {
        constants.check(env, initializer)?;
    }
    Ok(())
}

fn is_null(context: &Context, constant: Const) -> bool {
    match &context.const_data(constant).kind {
        ConstKind::Zero | ConstKind::Null => true,
        ConstKind::Int(int) => int.words().iter().all(|&word| word == 0),
        ConstKind::Float(bits) => *bits == 0,
        ConstKind::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
        ConstKind::Splat(element) => {
            matches!(&context.const_data(*element).kind, ConstKind::Int(int)
                if int.words().iter().all(|&word| word == 0))
        }
        // An aggregate that is all zeroes. The work list replaces recursion into nested aggregates.
        ConstKind::Aggregate(elements) => {
            let mut work: Vec<Const> = elements.to_vec();
            let mut seen = FxHashSet::default();
            while let Some(element) = work.pop() {
                if !seen.insert(element) {
                    continue;
                }
                match &context.const_data(element).kind {
                    ConstKind::Aggregate(elements) => work.extend_from_slice(elements),
                    ConstKind::Zero | ConstKind::Null => {}
                    ConstKind::Int(int) if int.words().iter().all(|&word| word == 0) => {}
                    ConstKind::Float(0) => {}
                    ConstKind::Bytes(bytes) if bytes.iter().all(|&byte| byte == 0) => {}
                    _ => return false,
                }
            }
            true
        }
        _ => false,
    }
}

/// Whether a variable of this name is a list that LLVM reads (`llvm.used` ...), which nothing may
/// refer to.
fn is_list_of_llvm(name: &[u8]) -> bool {
    const LISTS: [&[u8]; 4] =
        [b"llvm.used", b"llvm.compiler.used", b"llvm.global_ctors", b"llvm.global_dtors"];
    LISTS.contains(&name)
}

/// Rules of variables whose names have a meaning for LLVM.
fn special_variable(env: &Env<'_>, variable: &GlobalVariable) -> Check {
    let types = &env.types;
    let me = || Related::Global(variable.name);
    ensure!(
        !is_list_of_llvm(env.name_bytes(variable.name)) || !env.misused.contains(&variable.name),
        "invalid uses of intrinsic global variable",
        me()
    );
    let element = match types.kind(variable.ty) {
        TypeKind::Array { elem, .. } => Some(*elem),
        _ => None,
    };
    match env.name_bytes(variable.name) {
        b"llvm.global_ctors" | b"llvm.global_dtors" => {
            ensure!(
                variable.initializer.is_none() || variable.linkage == Linkage::Appending,
                "invalid linkage for intrinsic global variable",
                me()
            );
            // LLVM has no rule for arrays of other elements.
            if let Some(elem) = element {
                let fields = types.fields(elem).unwrap_or(&[]);
                let space = env.index.layout.program_space();
                ensure!(
                    matches!(fields.len(), 2 | 3)
                        && fields[0] == Type::I32
                        && types.address_space(fields[1]) == Some(space),
                    "wrong type for intrinsic global variable",
                    me()
                );
                ensure!(
                    fields.len() == 3,
                    "the third field of the element type is mandatory, specify ptr null to migrate from the obsoleted 2-field form",
                    me()
                );
                ensure!(types.is_ptr(fields[2]), "wrong type for intrinsic global variable", me());
            }
        }
        b"llvm.used" | b"llvm.compiler.used" => {
            ensure!(
                variable.initializer.is_none() || variable.linkage == Linkage::Appending,
                "invalid linkage for intrinsic global variable",
                me()
            );
            if let Some(elem) = element {
                ensure!(types.is_ptr(elem), "wrong type for intrinsic global variable", me());
                if let Some(initializer) = variable.initializer {
                    used_members(env, initializer, me())?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that members of `llvm.used` are named globals, possibly below casts.
fn used_members(env: &Env<'_>, initializer: Const, me: Related) -> Check {
    let context = env.types.context;
    let members = match &context.const_data(initializer).kind {
        ConstKind::Aggregate(members) if !is_null(context, initializer) => members,
        _ => {
            ensure!(false, "wrong initializer for intrinsic global variable", me);
            return Ok(());
        }
    };
    for &member in members {
        match &context.const_data(strip_casts(context, member)).kind {
            ConstKind::Global(GlobalName::Named(_)) => {}
            ConstKind::Global(_) => ensure!(
                false,
                "members of llvm.used must be named",
                Related::Value(Value::constant(member))
            ),
            _ => {
                ensure!(false, "invalid llvm.used member", Related::Value(Value::constant(member)));
            }
        }
    }
    Ok(())
}

/// The constant below casts and address computations.
fn strip_casts(context: &Context, mut constant: Const) -> Const {
    while let ConstKind::Expr(expr) = &context.const_data(constant).kind {
        let through =
            matches!(expr.opcode, Opcode::AddrSpaceCast | Opcode::BitCast | Opcode::GetElementPtr);
        match expr.operands.first() {
            Some(&first) if through => constant = first,
            _ => break,
        }
    }
    constant
}

/// The aliases on cycles of aliases: found once for all of them.
struct Aliases {
    cyclic: FxHashSet<GlobalName>,
    /// Names each alias refers to, however deep in its target.
    targets: FxHashMap<GlobalName, Vec<GlobalName>>,
}

impl Aliases {
    fn new(env: &Env<'_>) -> Self {
        let module = env.module;
        let mut targets = FxHashMap::default();
        for alias in module.aliases.iter().filter(|alias| !alias.is_ifunc) {
            targets.insert(alias.name, names_in(env.types.context, alias.target));
        }
        // Colours of a depth-first search: absent, open, done. Whatever can reach an open alias is
        // cyclic.
        let mut done: FxHashMap<GlobalName, bool> = FxHashMap::default();
        let mut cyclic = FxHashSet::default();
        for alias in &module.aliases {
            if alias.is_ifunc || done.contains_key(&alias.name) {
                continue;
            }
            let mut stack = vec![(alias.name, 0usize)];
            done.insert(alias.name, false);
            while let Some(&mut (name, ref mut next)) = stack.last_mut() {
                let target =
                    targets.get(&name).and_then(|list: &Vec<GlobalName>| list.get(*next)).copied();
                *next += 1;
                let Some(target) = target else {
                    done.insert(name, true);
                    stack.pop();
                    if cyclic.contains(&name)
                        && let Some(&(user, _)) = stack.last()
                    {
                        cyclic.insert(user);
                    }
                    continue;
                };
                if !targets.contains_key(&target) {
                    continue;
                }
                match done.get(&target) {
                    None => {
                        done.insert(target, false);
                        stack.push((target, 0));
                    }
                    Some(false) => {
                        cyclic.insert(name);
                    }
                    Some(true) if cyclic.contains(&target) => {
                        cyclic.insert(name);
                    }
                    Some(true) => {}
                }
            }
        }
        Aliases { cyclic, targets }
    }
}

/// Intrinsics of the module that are used other than by calling them with their own type. Function
/// bodies are searched only if `with_bodies` is set. O(operands).
pub(crate) fn misused_intrinsics(
    env: &Env<'_>,
    functions: &[FunctionRef<'_>],
    with_bodies: bool,
) -> FxHashSet<GlobalName> {
    let (module, context) = (env.module, env.types.context);
    let mut misused = FxHashSet::default();
    let lists: FxHashSet<GlobalName> = module
        .variables
        .iter()
        .map(|variable| variable.name)
        .filter(|&name| is_list_of_llvm(env.name_bytes(name)))
        .collect();
    if lists.is_empty() && !functions.iter().any(|f| env.is_intrinsic(f.header.name)) {
        return misused;
    }
    // Uses of debug intrinsics are not checked, since broken debug records are dropped.
    let is_special = |name: GlobalName| {
        let is_debug = env.name_bytes(name).starts_with(b"llvm.dbg.");
        env.is_intrinsic(name) && !is_debug || lists.contains(&name)
    };
    let mut seen = FxHashSet::default();
    let mut note = |constant: Const| {
        let is_known = (constant.raw() as usize) < context.const_count();
        if is_known && seen.insert(constant) {
            let names = names_in(context, constant);
            misused.extend(names.into_iter().filter(|&name| is_special(name)));
        }
    };
    for variable in &module.variables {
        let is_list = env.name_bytes(variable.name).starts_with(b"llvm.");
        variable.initializer.into_iter().filter(|_| !is_list).for_each(&mut note);
    }
    module.aliases.iter().map(|alias| alias.target).for_each(&mut note);
    for function in functions.iter().filter(|_| with_bodies) {
        let (header, body) = (function.header, function.body);
        let own = [header.prefix, header.prologue, header.personality];
        own.into_iter().flatten().for_each(&mut note);
        for &block in function.flow.order() {
            for inst in body.block_insts(block).filter(|&inst| body.is_intact(inst)) {
                let mut operands = body.operands(inst);
                if body.inst(inst).opcode.is_call()
                    && let Some((&callee, others)) = operands.split_last()
                    && is_call_by_own_type(env, callee, body.call_info(inst).function_type)
                {
                    operands = others;
                }
                let attached = attached_callees(context, body, inst);
                let others = operands.iter().filter(|value| !attached.contains(value));
                others.filter_map(|value| value.as_const()).for_each(&mut note);
            }
        }
    }
    misused
}

/// The callees in `clang.arc.attachedcall` bundles of a call. They are called later, so they may be
/// intrinsics.
fn attached_callees(context: &Context, body: &Body, inst: InstId) -> Vec<Value> {
    if !body.inst(inst).opcode.is_call() {
        return Vec::new();
    }
    let tagged = |tag| context.bytes(tag) == b"clang.arc.attachedcall";
    let bundles = body.bundles(inst).filter(|&(tag, _)| tagged(tag));
    bundles.flat_map(|(_, operands)| operands.to_vec()).collect()
}

fn is_call_by_own_type(env: &Env<'_>, callee: Value, function_type: Type) -> bool {
    let constant =
        callee.as_const().filter(|c| (c.raw() as usize) < env.types.context.const_count());
    let header = constant.and_then(|constant| env.function_of(constant));
    header.is_some_and(|header| header.ty == function_type)
}

/// All names in a constant, in order of first occurrence.
fn names_in(context: &Context, constant: Const) -> Vec<GlobalName> {
    let (mut names, mut seen, mut work) = (Vec::new(), FxHashSet::default(), vec![constant]);
    while let Some(constant) = work.pop() {
        if !seen.insert(constant) {
            continue;
        }
        match &context.const_data(constant).kind {
            ConstKind::Global(name)
            | ConstKind::DsoLocalEquivalent(name)
            | ConstKind::NoCfi(name) => names.push(*name),
            ConstKind::Expr(expr) => work.extend(expr.operands.iter().rev()),
            ConstKind::Aggregate(parts) | ConstKind::PtrAuth(parts) => {
                work.extend(parts.iter().rev());
            }
            _ => {}
        }
    }
    names
}

fn alias_rules(
    env: &Env<'_>,
    constants: &mut Constants,
    alias: &GlobalAlias,
    (aliases, functions): (&Aliases, &[FunctionRef<'_>]),
) -> Check {
    let context = env.types.context;
    let me = || Related::Global(alias.name);
    ensure!(
        !matches!(alias.linkage, Linkage::Appending | Linkage::Common | Linkage::ExternWeak),
        "Alias should have private, internal, linkonce, weak, linkonce_odr, weak_odr, external, or available_externally linkage!",
        me()
    );
    let GlobalAlias { dll, visibility, linkage, dso_local, .. } = *alias;
    header::visibility_and_storage(dll, visibility, linkage, dso_local, false)?;
    let target = context.const_data(alias.target);
    ensure!(target.ty == alias.ptr_ty, "Alias and aliasee types should match!", me());
    ensure!(
        matches!(target.kind, ConstKind::Global(_) | ConstKind::Expr(_)),
        "Aliasee should be either GlobalValue or ConstantExpr",
        me()
    );
    ensure!(!aliases.cyclic.contains(&alias.name), "Aliases cannot form a cycle", me());
    for &name in aliases.targets.get(&alias.name).map_or(&[][..], |list| list) {
        let module = env.module;
        match env.global(name) {
            Some(GlobalIndex::Function(at)) => {
                let function = &functions[at];
                points_to_definition(alias, function.is_declaration(), function.header.linkage)?;
            }
            Some(GlobalIndex::Variable(at)) => {
                let variable = &module.variables[at];
                points_to_definition(alias, variable.initializer.is_none(), variable.linkage)?;
            }
            Some(GlobalIndex::Alias(at)) => {
                let interposable = matches!(
                    module.aliases[at].linkage,
                    Linkage::Weak | Linkage::LinkOnce | Linkage::Common | Linkage::ExternWeak
                );
                ensure!(
                    !interposable || module.aliases[at].is_ifunc,
                    "Alias cannot point to an interposable alias",
                    me()
                );
            }
            None => ensure!(false, "Referencing global in another module!", Related::Global(name)),
        }
    }
    constants.check(env, alias.target)
}

fn points_to_definition(alias: &GlobalAlias, is_declaration: bool, linkage: Linkage) -> Check {
    let me = || Related::Global(alias.name);
    if alias.linkage == Linkage::AvailableExternally {
        ensure!(
            linkage == Linkage::AvailableExternally,
            "available_externally alias must point to available_externally global value",
            me()
        );
    } else {
        ensure!(
            !is_declaration && linkage != Linkage::AvailableExternally,
            "Alias must point to a definition",
            me()
        );
    }
    Ok(())
}

fn ifunc_rules(
    env: &Env<'_>,
    constants: &mut Constants,
    ifunc: &GlobalAlias,
    functions: &[FunctionRef<'_>],
) -> Check {
    let context = env.types.context;
    let me = || Related::Global(ifunc.name);
    let GlobalAlias { dll, visibility, linkage, dso_local, .. } = *ifunc;
    header::visibility_and_storage(dll, visibility, linkage, dso_local, false)?;
    ensure!(
        !matches!(
            ifunc.linkage,
            Linkage::Appending
                | Linkage::Common
                | Linkage::ExternWeak
                | Linkage::AvailableExternally
        ),
        "IFunc should have private, internal, linkonce, weak, linkonce_odr, weak_odr, or external linkage!",
        me()
    );
    let mut resolver = strip_casts(context, ifunc.target);
    // A resolver may be reached through aliases; a chain longer than there are aliases is a cycle.
    for _ in 0..=env.module.aliases.len() {
        let ConstKind::Global(name) = context.const_data(resolver).kind else { break };
        match env.global(name) {
            Some(GlobalIndex::Alias(at)) => {
                resolver = strip_casts(context, env.module.aliases[at].target);
            }
            _ => break,
        }
    }
    let function = match context.const_data(resolver).kind {
        ConstKind::Global(name) => match env.global(name) {
            Some(GlobalIndex::Function(at)) => functions.get(at),
            _ => None,
        },
        _ => None,
    };
    let Some(function) = function else {
        ensure!(false, "IFunc must have a Function resolver", me());
        return Ok(());
    };
    ensure!(
        !function.is_declaration() && function.header.linkage != Linkage::AvailableExternally,
        "IFunc resolver must be a definition",
        me()
    );
    ensure!(env.types.is_ptr(function.header.ret), "IFunc resolver must return a pointer", me());
    constants.check(env, ifunc.target)
}
