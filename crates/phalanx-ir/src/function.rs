//! Functions: header, flow, body and extras.
//!
//! A function has four parts that change at different rates and are read by different queries:
//!
//! | part | holds |
//! |---|---|
//! | [`FunctionHeader`] | type, convention, attributes, linkage ... |
//! | [`Flow`] | blocks, their order, successors |
//! | [`Body`] | instructions, their operands and order |
//! | [`Extras`] | names, metadata attachments, debug records: carried, read by no analysis |

use crate::{
    attributes::AttrList,
    call_conv::CallConv,
    constant::Const,
    context::Context,
    metadata::Attachment,
    module::{DllStorage, Linkage, UnnamedAddr, UseListOrder, Visibility},
    symbol::{GlobalName, Symbol},
    types::{Type, TypeKind},
    value::{Value, ValueKind},
};
pub use crate::{
    body::{Body, InstId, LocalMetadataId},
    extras::{Extras, Names},
    flow::{BlockFlow, BlockId, Flow},
};

/// Everything of a function except its code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionHeader {
    /// `@name`
    pub name: GlobalName,
    /// The function type.
    pub ty: Type,
    /// Return type.
    pub ret: Type,
    /// Parameter types.
    pub params: Box<[Type]>,
    /// Whether further arguments may follow.
    pub vararg: bool,
    /// Calling convention.
    pub call_conv: CallConv,
    /// Attributes.
    pub attributes: AttrList,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// DLL storage class.
    pub dll: DllStorage,
    /// `dso_local` (`Some(true)`), `dso_preemptable` (`Some(false)`) or neither.
    pub dso_local: Option<bool>,
    /// `unnamed_addr`
    pub unnamed_addr: UnnamedAddr,
    /// Address space of the function pointer.
    pub address_space: u32,
    /// Section.
    pub section: Option<Symbol>,
    /// Partition.
    pub partition: Option<Symbol>,
    /// Comdat, by name.
    pub comdat: Option<Symbol>,
    /// Alignment in bytes.
    pub align: Option<u64>,
    /// Garbage collector.
    pub gc: Option<Symbol>,
    /// `prefix` data.
    pub prefix: Option<Const>,
    /// `prologue` data.
    pub prologue: Option<Const>,
    /// Personality function.
    pub personality: Option<Const>,
    /// Metadata attachments.
    pub metadata: Box<[Attachment]>,
}

impl FunctionHeader {
    /// Whether another header has the same name, type and address space: all that references to the
    /// function depend on.
    #[must_use]
    pub fn is_same_entity(&self, other: &FunctionHeader) -> bool {
        (self.name, self.ty, self.address_space) == (other.name, other.ty, other.address_space)
            && (self.ret, &self.params, self.vararg) == (other.ret, &other.params, other.vararg)
    }

    /// A header of external linkage and C convention, without attributes.
    pub fn new(
        context: &Context,
        name: GlobalName,
        ret: Type,
        params: &[Type],
        vararg: bool,
    ) -> Self {
        FunctionHeader {
            name,
            ty: context.type_of_kind(&TypeKind::Function { ret, params: params.into(), vararg }),
            ret,
            params: params.into(),
            vararg,
            call_conv: CallConv::C,
            attributes: AttrList::EMPTY,
            linkage: Linkage::External,
            visibility: Visibility::Default,
            dll: DllStorage::Default,
            dso_local: None,
            unnamed_addr: UnnamedAddr::No,
            address_space: 0,
            section: None,
            partition: None,
            comdat: None,
            align: None,
            gc: None,
            prefix: None,
            prologue: None,
            personality: None,
            metadata: Box::default(),
        }
    }
}

/// A function: declaration or definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Everything but the code.
    pub header: FunctionHeader,
    /// Blocks and successors.
    pub flow: Flow,
    /// Instructions.
    pub body: Body,
    /// Names, metadata, debug records.
    pub extras: Extras,
    /// `uselistorder` directives of the function, carried.
    pub use_list_orders: Vec<UseListOrder>,
}

impl Function {
    /// A function without code: a declaration so far.
    pub fn new(header: FunctionHeader) -> Self {
        Function {
            header,
            flow: Flow::new(),
            body: Body::new(),
            extras: Extras::default(),
            use_list_orders: Vec::new(),
        }
    }

    /// Whether this has no blocks.
    pub fn is_declaration(&self) -> bool {
        self.flow.entry().is_none()
    }

    /// The parts by reference.
    pub fn view(&self) -> FunctionRef<'_> {
        FunctionRef {
            header: &self.header,
            flow: &self.flow,
            body: &self.body,
            extras: &self.extras,
            use_list_orders: &self.use_list_orders,
        }
    }

    /// Type of an operand.
    pub fn value_type(&self, context: &Context, value: Value) -> Type {
        self.view().value_type(context, value)
    }

    /// The type of `self` as a callee, pointer included.
    pub fn pointer_type(&self, context: &Context) -> Type {
        context.ptr_type(self.header.address_space)
    }

    /// Parameter and return types of a function type; none for any other type.
    pub fn split_type(context: &Context, ty: Type) -> Option<(Type, &[Type], bool)> {
        match context.type_kind(ty) {
            TypeKind::Function { ret, params, vararg } => Some((*ret, params, *vararg)),
            _ => None,
        }
    }
}

/// All parts of a function by reference, wherever each of them lives.
#[derive(Copy, Clone, Debug)]
pub struct FunctionRef<'a> {
    /// Everything but the code.
    pub header: &'a FunctionHeader,
    /// Blocks and successors.
    pub flow: &'a Flow,
    /// Instructions.
    pub body: &'a Body,
    /// Names, metadata, debug records.
    pub extras: &'a Extras,
    /// `uselistorder` directives, carried.
    pub use_list_orders: &'a [UseListOrder],
}

impl<'a> FunctionRef<'a> {
    /// A copy that stands by itself. O(function).
    #[must_use]
    pub fn to_function(self) -> Function {
        Function {
            header: self.header.clone(),
            flow: self.flow.clone(),
            body: self.body.clone(),
            extras: self.extras.clone(),
            use_list_orders: self.use_list_orders.to_vec(),
        }
    }

    /// Whether this has no blocks.
    pub fn is_declaration(self) -> bool {
        self.flow.entry().is_none()
    }

    /// Type of an operand.
    pub fn value_type(self, context: &Context, value: Value) -> Type {
        match value.kind() {
            ValueKind::Inst(inst) => self.body.inst(inst).ty,
            ValueKind::Arg(position) => self.header.params[position as usize],
            ValueKind::Block(_) => Type::LABEL,
            ValueKind::Const(constant) => context.const_data(constant).ty,
            ValueKind::Metadata(_) => Type::METADATA,
        }
    }
}
