//! Rules of attachments that are lists: scopes of aliasing, access groups, annotations, memory
//! model tags.

use crate::{
    inst::Opcode,
    metadata::{MetadataId, MetadataValue, schema::NodeKind},
    verify::{
        env::Env,
        fault::{Check, ensure},
        profile::{self, Operands},
        view::InstView,
    },
};

/// `!alias.scope` or `!noalias`: a list of scopes.
pub(crate) fn scopes(env: &Env<'_>, list: MetadataId) -> Check {
    for value in env.module.metadata.values(list) {
        let Some(scope) = value.as_node() else {
            ensure!(false, "scope list must consist of MDNodes");
            return Ok(());
        };
        self::scope(env, scope)?;
    }
    Ok(())
}

/// A scope: itself or a name, its domain, and a name. A domain: itself or a name, and a name.
fn scope(env: &Env<'_>, scope: MetadataId) -> Check {
    let operands = Operands::new(env, scope);
    let len = operands.all.len();
    ensure!(len == 2 || len == 3, "scope must have two or three operands");
    ensure!(
        operands.node(0) == Some(scope) || operands.string(0).is_some(),
        "first scope operand must be self-referential or string"
    );
    ensure!(
        len == 2 || operands.string(2).is_some(),
        "third scope operand must be string (if used)"
    );
    let Some(domain) = operands.node(1) else {
        ensure!(false, "second scope operand must be MDNode");
        return Ok(());
    };
    let operands = Operands::new(env, domain);
    let len = operands.all.len();
    ensure!(
        (len == 1 || len == 2) && is_tuple(env, domain),
        "domain must have one or two operands"
    );
    ensure!(
        operands.node(0) == Some(domain) || operands.string(0).is_some(),
        "first domain operand must be self-referential or string"
    );
    ensure!(
        len == 1 || operands.string(1).is_some(),
        "second domain operand must be string (if used)"
    );
    Ok(())
}

/// `!llvm.access.group`: a distinct node without operands, or a list of such nodes.
pub(crate) fn access_groups(env: &Env<'_>, node: MetadataId) -> Check {
    let metadata = &env.module.metadata;
    let is_group =
        |node: MetadataId| metadata.values(node).len() == 0 && metadata.is_distinct(node);
    if is_group(node) {
        return Ok(());
    }
    for value in metadata.values(node) {
        let Some(group) = value.as_node() else {
            ensure!(false, "Access scope list must consist of MDNodes");
            return Ok(());
        };
        ensure!(is_group(group), "Access scope list contains invalid access scope");
    }
    Ok(())
}

fn is_tuple(env: &Env<'_>, node: MetadataId) -> bool {
    env.module.metadata.node_kind(node) == NodeKind::Tuple
}

fn is_strings(env: &Env<'_>, node: MetadataId) -> bool {
    is_tuple(env, node) && env.module.metadata.values(node).all(|value| value.as_string().is_some())
}

/// `!annotation`: strings and tuples of strings.
pub(crate) fn annotation(env: &Env<'_>, node: MetadataId) -> Check {
    ensure!(is_tuple(env, node), "annotation must be a tuple");
    let mut values = env.module.metadata.values(node);
    ensure!(values.len() >= 1, "annotation must have at least one operand");
    let is_one = |value: MetadataValue| {
        value.as_string().is_some() || value.as_node().is_some_and(|node| is_strings(env, node))
    };
    ensure!(values.all(is_one), "operands must be a string or a tuple of strings");
    Ok(())
}

/// `!mmra`: a tag, which is a pair of strings, or a tuple of tags.
pub(crate) fn memory_model(env: &Env<'_>, node: MetadataId, opcode: Opcode) -> Check {
    ensure!(
        opcode.is_call()
            || matches!(
                opcode,
                Opcode::Load | Opcode::Store | Opcode::Fence | Opcode::CmpXchg | Opcode::AtomicRmw
            ),
        "!mmra metadata attached to unexpected instruction kind"
    );
    let metadata = &env.module.metadata;
    let is_tag = |node: MetadataId| metadata.values(node).len() == 2 && is_strings(env, node);
    if is_tag(node) {
        return Ok(());
    }
    ensure!(is_tuple(env, node), "!mmra expected to be a metadata tuple");
    ensure!(
        metadata.values(node).all(|value| value.as_node().is_some_and(is_tag)),
        "!mmra metadata tuple operand is not an MMRA tag"
    );
    Ok(())
}

/// `!captures`: which parts of a stored pointer are captured.
pub(crate) fn captures(env: &Env<'_>, node: MetadataId, inst: &InstView<'_>) -> Check {
    const WAYS: [&[u8]; 4] = [b"address_is_null", b"address", b"read_provenance", b"provenance"];
    ensure!(
        inst.opcode() == Opcode::Store,
        "!captures metadata can only be applied to store instructions"
    );
    ensure!(
        env.types.is_ptr(inst.ty(0)),
        "!captures metadata can only be applied to store with value operand of pointer type"
    );
    let operands = Operands::new(env, node);
    ensure!(!operands.all.is_empty(), "!captures metadata cannot be empty");
    for at in 0..operands.all.len() {
        let way = operands.string(at);
        ensure!(way.is_some(), "!captures metadata must be a list of strings");
        ensure!(way.is_some_and(|way| WAYS.contains(&way)), "invalid entry in !captures metadata");
    }
    Ok(())
}

/// `!memprof` and `!callsite`: only calls have contexts.
pub(crate) fn call_contexts(
    env: &Env<'_>,
    node: MetadataId,
    opcode: Opcode,
    is_profile: bool,
) -> Check {
    let operands = Operands::new(env, node);
    if is_profile {
        ensure!(opcode.is_call(), "!memprof metadata should only exist on calls");
        return profile::contexts(env, &operands);
    }
    ensure!(opcode.is_call(), "!callsite metadata should only exist on calls");
    profile::call_stack(&operands)
}

/// `!callee_type`: generalized types of functions.
pub(crate) fn callee_type(env: &Env<'_>, node: MetadataId, opcode: Opcode) -> Check {
    ensure!(opcode.is_call(), "!callee_type metadata should only exist on calls");
    for value in env.module.metadata.values(node) {
        let Some(ty) = value.as_node().map(|node| Operands::new(env, node)) else {
            ensure!(false, "The callee_type metadata must be a list of type metadata nodes");
            return Ok(());
        };
        ensure!(
            ty.all.len() == 2,
            "Well-formed generalized type metadata must contain exactly two operands"
        );
        ensure!(
            ty.int(0) == Some(0),
            "The first operand of type metadata for functions must be zero"
        );
        ensure!(
            ty.string(1).is_some_and(|name| name.ends_with(b".generalized")),
            "Only generalized type metadata can be part of the callee_type metadata list"
        );
    }
    Ok(())
}

/// `!alloc_token`: the type that is allocated, and whether it contains pointers.
pub(crate) fn alloc_token(env: &Env<'_>, node: MetadataId, opcode: Opcode) -> Check {
    ensure!(opcode.is_call(), "!alloc_token should only exist on calls");
    let operands = Operands::new(env, node);
    ensure!(operands.all.len() == 2, "!alloc_token must have 2 operands");
    ensure!(operands.string(0).is_some(), "expected string");
    ensure!(operands.is_int(1), "expected integer constant");
    Ok(())
}
