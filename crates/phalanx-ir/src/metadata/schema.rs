//! The schema of specialised nodes: for every kind, its fields, their types, which are required,
//! and the defaults of the others.
//!
//! Reading, checking and printing of nodes follow this one table. Fields stand in the order in
//! which they are printed. A node stores a field only if it differs from its default or is always
//! printed, so different ways to write a node yield the same fields. The order in which a node's
//! operands are numbered when a module is printed differs from the printed order for some kinds;
//! [`NodeKind::operands`] has it.

use super::names::NameTable;

macro_rules! fields {
    ($($name:ident $text:literal,)*) => {
        /// The name of a field of a specialised node.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Field {
            /// An element of a tuple, of an expression or of an argument list: no name.
            Element,
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Field {
            const ALL: &'static [Field] = &[Field::Element, $(Field::$name),*];

            /// The name.
            pub const fn text(self) -> &'static str {
                match self { Field::Element => "", $(Field::$name => $text),* }
            }
        }
    };
}

fields! {
    Align "align", Allocated "allocated", Annotations "annotations", Apinotes "apinotes", Arg "arg",
    Associated "associated", AtomGroup "atomGroup", AtomRank "atomRank", Attributes "attributes",
    BaseType "baseType", Bias "bias", BitStride "bitStride", Cc "cc", Checksum "checksum",
    Checksumkind "checksumkind", Column "column", ConfigMacros "configMacros", ContainingType "containingType",
    CoroSuspendIdx "coroSuspendIdx", Count "count", DataLocation "dataLocation", DataSize "dataSize",
    DebugInfoForProfiling "debugInfoForProfiling", Declaration "declaration", Defaulted "defaulted",
    Denominator "denominator", Directory "directory", Discriminator "discriminator",
    DwarfAddressSpace "dwarfAddressSpace", DwoId "dwoId", Elements "elements", EmissionKind "emissionKind",
    Encoding "encoding", Entity "entity", EnumKind "enumKind", Enums "enums", ExportSymbols "exportSymbols",
    Expr "expr", ExtraData "extraData", Factor "factor", File "file", Filename "filename", Flags "flags",
    Getter "getter", Globals "globals", Header "header", Identifier "identifier", Imports "imports",
    IncludePath "includePath", InlinedAt "inlinedAt", IsArtificial "isArtificial", IsDecl "isDecl",
    IsDefinition "isDefinition", IsImplicitCode "isImplicitCode", IsLocal "isLocal", IsOptimized "isOptimized",
    IsUnsigned "isUnsigned", KeyInstructions "keyInstructions", Kind "kind", Language "language", Line "line",
    LinkageName "linkageName", LowerBound "lowerBound", Macros "macros", Name "name",
    NameTableKind "nameTableKind", Nodes "nodes", NumExtraInhabitants "num_extra_inhabitants",
    Numerator "numerator", Offset "offset", Operands "operands",
    Producer "producer", PtrAuthAuthenticatesNullValues "ptrAuthAuthenticatesNullValues",
    PtrAuthExtraDiscriminator "ptrAuthExtraDiscriminator",
    PtrAuthIsAddressDiscriminated "ptrAuthIsAddressDiscriminated", PtrAuthIsaPointer "ptrAuthIsaPointer",
    PtrAuthKey "ptrAuthKey", RangesBaseAddress "rangesBaseAddress", Rank "rank", RetainedNodes "retainedNodes",
    RetainedTypes "retainedTypes", RuntimeLang "runtimeLang", RuntimeVersion "runtimeVersion", Scope "scope",
    ScopeLine "scopeLine", Sdk "sdk", Setter "setter", Size "size", Source "source",
    SourceLanguageName "sourceLanguageName", SourceLanguageVersion "sourceLanguageVersion",
    Specification "specification", SpFlags "spFlags", SplitDebugFilename "splitDebugFilename",
    SplitDebugInlining "splitDebugInlining", Stride "stride", StringLength "stringLength",
    StringLengthExpression "stringLengthExpression", StringLocationExpression "stringLocationExpression",
    Sysroot "sysroot", Tag "tag", TargetFuncName "targetFuncName", TemplateParams "templateParams",
    ThisAdjustment "thisAdjustment", ThrownTypes "thrownTypes", Type "type", Types "types", Unit "unit",
    UpperBound "upperBound", Value "value", Var "var", VirtualIndex "virtualIndex", Virtuality "virtuality",
    VtableHolder "vtableHolder",
}

impl Field {
    pub(super) const fn from_number(number: u8) -> Field {
        Field::ALL[number as usize]
    }
}

/// What the value of a field may be.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// An unsigned number up to a limit.
    Uint(u64),
    /// A signed number within limits.
    Int(i64, i64),
    /// A number of any size.
    BigInt,
    /// `true` or `false`
    Bool,
    /// A string.
    String,
    /// A string that is not empty.
    NonEmptyString,
    /// Any metadata, or `null`.
    Node,
    /// Any metadata.
    NonNullNode,
    /// Any metadata, `null`, or an unsigned 64-bit number; an integer constant counts as its
    /// number.
    NodeOrUint,
    /// Any metadata, `null`, or a signed 64-bit number; an integer constant counts as its number.
    NodeOrInt,
    /// As `NodeOrInt`, but not `null`, and not below this number.
    NonNullNodeOrInt(i64),
    /// Any metadata, `null`, or a signed 64-bit number that stands for an expression.
    NodeOrExpression,
    /// Any metadata, `null`, or a signed 64-bit number that stands for a constant `i64`.
    NodeOrI64,
    /// A named number of a table, or a number up to a limit; 0 when only names are allowed.
    Named(NameTable, u32),
    /// Named bits of a table, joined by `|`.
    Mask(NameTable),
    /// `{..}`: any number of nodes.
    List,
}

/// Whether a field is stored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Must be given, is always stored.
    Required,
    /// Stored when given.
    Kept,
    /// Stored when it is not the default: nothing, zero, `false`, `null` or the empty string; or
    /// this number.
    Default(u32),
    /// Always stored; the default when it is not given.
    Always(u32),
}

/// A field of a kind of node.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FieldSchema {
    /// Its name.
    pub name: Field,
    /// Its type.
    pub ty: FieldType,
    /// Whether it is stored.
    pub presence: Presence,
}

const fn field(name: Field, ty: FieldType, presence: Presence) -> FieldSchema {
    FieldSchema { name, ty, presence }
}

const fn opt(name: Field, ty: FieldType) -> FieldSchema {
    field(name, ty, Presence::Default(0))
}

const fn opt_or(name: Field, ty: FieldType, default: u32) -> FieldSchema {
    field(name, ty, Presence::Default(default))
}

const fn keep(name: Field, ty: FieldType) -> FieldSchema {
    field(name, ty, Presence::Kept)
}

const fn req(name: Field, ty: FieldType) -> FieldSchema {
    field(name, ty, Presence::Required)
}

const fn always(name: Field, ty: FieldType) -> FieldSchema {
    field(name, ty, Presence::Always(0))
}

const fn always_or(name: Field, ty: FieldType, default: u32) -> FieldSchema {
    field(name, ty, Presence::Always(default))
}

const U8: FieldType = FieldType::Uint(u8::MAX as u64);
const U16: FieldType = FieldType::Uint(u16::MAX as u64);
const U32: FieldType = FieldType::Uint(u32::MAX as u64);
const U64: FieldType = FieldType::Uint(u64::MAX);
const I32: FieldType = FieldType::Int(i32::MIN as i64, i32::MAX as i64);
const I64: FieldType = FieldType::Int(i64::MIN, i64::MAX);
const TAG: FieldType = FieldType::Named(NameTable::Tag, 0xffff);
const ENCODING: FieldType = FieldType::Named(NameTable::Encoding, 0xff);
const LANGUAGE: FieldType = FieldType::Named(NameTable::Language, 0xffff);
const LANGUAGE_NAME: FieldType = FieldType::Named(NameTable::LanguageName, u32::MAX);
const CONVENTION: FieldType = FieldType::Named(NameTable::CallingConvention, 0xff);
const VIRTUALITY: FieldType = FieldType::Named(NameTable::Virtuality, 2);
const MACINFO: FieldType = FieldType::Named(NameTable::Macinfo, 0xff);
const ENUM_KIND: FieldType = FieldType::Named(NameTable::EnumKind, 1);
const CHECKSUM_KIND: FieldType = FieldType::Named(NameTable::ChecksumKind, 0);
const EMISSION_KIND: FieldType = FieldType::Named(NameTable::EmissionKind, 3);
const NAME_TABLE_KIND: FieldType = FieldType::Named(NameTable::NameTableKind, 3);
const FIXED_POINT_KIND: FieldType = FieldType::Named(NameTable::FixedPointKind, 2);
const FLAGS: FieldType = FieldType::Mask(NameTable::Flag);
const SUBPROGRAM_FLAGS: FieldType = FieldType::Mask(NameTable::SubprogramFlag);

const BASE_TYPE: u32 = 0x24;
const STRING_TYPE: u32 = 0x12;
const TEMPLATE_VALUE_PARAMETER: u32 = 0x30;
const START_FILE: u32 = 3;

macro_rules! nodes {
    ($($kind:ident $text:literal [$($field:expr),* $(,)?] [$($operand:ident),*];)*) => {
        /// What a node is.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum NodeKind {
            /// `!{..}`
            Tuple,
            /// `!DIExpression(..)`
            Expression,
            $(#[doc = concat!("`!", $text, "(..)`")] $kind,)*
        }

        impl NodeKind {
            /// All kinds.
            pub const ALL: &'static [NodeKind] =
                &[NodeKind::Tuple, NodeKind::Expression, $(NodeKind::$kind),*];

            /// The name, without the exclamation mark; empty for a tuple.
            pub const fn text(self) -> &'static str {
                match self {
                    NodeKind::Tuple => "",
                    NodeKind::Expression => "DIExpression",
                    $(NodeKind::$kind => $text),*
                }
            }

            /// The kind with this name.
            pub fn from_text(text: &[u8]) -> Option<NodeKind> {
                Some(match std::str::from_utf8(text).ok()? {
                    "DIExpression" => NodeKind::Expression,
                    $($text => NodeKind::$kind,)*
                    _ => return None,
                })
            }

            /// The fields, in the order they are printed; none for a tuple or expression.
            pub const fn fields(self) -> &'static [FieldSchema] {
                use Field::*;
                match self {
                    NodeKind::Tuple | NodeKind::Expression => &[],
                    $(NodeKind::$kind => { const FIELDS: &[FieldSchema] = &[$($field),*]; FIELDS })*
                }
            }

            /// The fields that hold nodes, in the order in which these are numbered when a module
            /// is printed.
            pub const fn operands(self) -> &'static [Field] {
                use Field::*;
                match self {
                    NodeKind::Tuple | NodeKind::Expression => &[],
                    $(NodeKind::$kind => &[$($operand),*]),*
                }
            }
        }
    };
}

nodes! {
    Location "DILocation" [
        always(Line, U32),
        opt(Column, U16),
        req(Scope, FieldType::NonNullNode),
        opt(InlinedAt, FieldType::Node),
        opt(IsImplicitCode, FieldType::Bool),
        opt(AtomGroup, U64),
        opt(AtomRank, U8),
    ] [Scope, InlinedAt];
    GlobalVariableExpression "DIGlobalVariableExpression" [
        req(Var, FieldType::Node),
        req(Expr, FieldType::Node),
    ] [Var, Expr];
    Generic "GenericDINode" [
        req(Tag, TAG),
        opt(Header, FieldType::String),
        opt(Operands, FieldType::List),
    ] [Operands];
    Subrange "DISubrange" [
        keep(Count, FieldType::NonNullNodeOrInt(-1)),
        keep(LowerBound, FieldType::NodeOrInt),
        keep(UpperBound, FieldType::NodeOrInt),
        keep(Stride, FieldType::NodeOrInt),
    ] [Count, LowerBound, UpperBound, Stride];
    GenericSubrange "DIGenericSubrange" [
        keep(Count, FieldType::NodeOrExpression),
        keep(LowerBound, FieldType::NodeOrExpression),
        keep(UpperBound, FieldType::NodeOrExpression),
        keep(Stride, FieldType::NodeOrExpression),
    ] [Count, LowerBound, UpperBound, Stride];
    SubrangeType "DISubrangeType" [
        opt(Name, FieldType::String),
        opt(Scope, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(Flags, FLAGS),
        always(BaseType, FieldType::Node),
        keep(LowerBound, FieldType::NodeOrI64),
        keep(UpperBound, FieldType::NodeOrI64),
        keep(Stride, FieldType::NodeOrI64),
        keep(Bias, FieldType::NodeOrI64),
    ] [File, Scope, Size, BaseType, LowerBound, UpperBound, Stride, Bias];
    Enumerator "DIEnumerator" [
        req(Name, FieldType::String),
        req(Value, FieldType::BigInt),
        opt(IsUnsigned, FieldType::Bool),
    ] [];
    BasicType "DIBasicType" [
        opt_or(Tag, TAG, BASE_TYPE),
        opt(Name, FieldType::String),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(DataSize, U32),
        opt(Encoding, ENCODING),
        opt(NumExtraInhabitants, U32),
        opt(Flags, FLAGS),
    ] [Size];
    FixedPointType "DIFixedPointType" [
        opt_or(Tag, TAG, BASE_TYPE),
        opt(Name, FieldType::String),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(Encoding, ENCODING),
        opt(Flags, FLAGS),
        always(Kind, FIXED_POINT_KIND),
        opt(Factor, I64),
        keep(Numerator, FieldType::BigInt),
        keep(Denominator, FieldType::BigInt),
    ] [Size];
    StringType "DIStringType" [
        opt_or(Tag, TAG, STRING_TYPE),
        opt(Name, FieldType::String),
        opt(StringLength, FieldType::Node),
        opt(StringLengthExpression, FieldType::Node),
        opt(StringLocationExpression, FieldType::Node),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(Encoding, ENCODING),
    ] [Size, StringLength, StringLengthExpression, StringLocationExpression];
    DerivedType "DIDerivedType" [
        req(Tag, TAG),
        opt(Name, FieldType::String),
        opt(Scope, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        req(BaseType, FieldType::Node),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(Offset, FieldType::NodeOrUint),
        opt(Flags, FLAGS),
        opt(ExtraData, FieldType::Node),
        opt_or(DwarfAddressSpace, U32, u32::MAX),
        opt(Annotations, FieldType::Node),
        opt(PtrAuthKey, FieldType::Uint(7)),
        keep(PtrAuthIsAddressDiscriminated, FieldType::Bool),
        opt(PtrAuthExtraDiscriminator, U16),
        keep(PtrAuthIsaPointer, FieldType::Bool),
        keep(PtrAuthAuthenticatesNullValues, FieldType::Bool),
    ] [File, Scope, Size, Offset, BaseType, ExtraData, Annotations];
    CompositeType "DICompositeType" [
        req(Tag, TAG),
        opt(Name, FieldType::String),
        opt(Scope, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(BaseType, FieldType::Node),
        opt(Size, FieldType::NodeOrUint),
        opt(Align, U32),
        opt(Offset, FieldType::NodeOrUint),
        opt(NumExtraInhabitants, U32),
        opt(Flags, FLAGS),
        opt(Elements, FieldType::Node),
        opt(RuntimeLang, LANGUAGE),
        opt(VtableHolder, FieldType::Node),
        opt(TemplateParams, FieldType::Node),
        opt(Identifier, FieldType::String),
        opt(Discriminator, FieldType::Node),
        opt(DataLocation, FieldType::Node),
        opt(Associated, FieldType::Node),
        opt(Allocated, FieldType::Node),
        keep(Rank, FieldType::NodeOrInt),
        opt(Annotations, FieldType::Node),
        opt(Specification, FieldType::Node),
        keep(EnumKind, ENUM_KIND),
        opt(BitStride, FieldType::Node),
    ] [File, Scope, Size, Offset, BaseType, Elements, VtableHolder, TemplateParams, Discriminator, DataLocation, Associated, Allocated, Rank, Annotations, Specification, BitStride];
    SubroutineType "DISubroutineType" [
        opt(Flags, FLAGS),
        opt(Cc, CONVENTION),
        req(Types, FieldType::Node),
    ] [Types];
    File "DIFile" [
        req(Filename, FieldType::String),
        req(Directory, FieldType::String),
        keep(Checksumkind, CHECKSUM_KIND),
        keep(Checksum, FieldType::String),
        keep(Source, FieldType::String),
    ] [];
    CompileUnit "DICompileUnit" [
        keep(Language, LANGUAGE),
        keep(SourceLanguageName, LANGUAGE_NAME),
        opt(SourceLanguageVersion, U32),
        req(File, FieldType::NonNullNode),
        opt(Producer, FieldType::String),
        always(IsOptimized, FieldType::Bool),
        opt(Flags, FieldType::String),
        always(RuntimeVersion, U32),
        opt(SplitDebugFilename, FieldType::String),
        always(EmissionKind, EMISSION_KIND),
        opt(Enums, FieldType::Node),
        opt(RetainedTypes, FieldType::Node),
        opt(Globals, FieldType::Node),
        opt(Imports, FieldType::Node),
        opt(Macros, FieldType::Node),
        opt(DwoId, U64),
        opt_or(SplitDebugInlining, FieldType::Bool, 1),
        opt(DebugInfoForProfiling, FieldType::Bool),
        opt(NameTableKind, NAME_TABLE_KIND),
        opt(RangesBaseAddress, FieldType::Bool),
        opt(Sysroot, FieldType::String),
        opt(Sdk, FieldType::String),
    ] [File, Enums, RetainedTypes, Globals, Imports, Macros];
    Subprogram "DISubprogram" [
        opt(Name, FieldType::String),
        opt(LinkageName, FieldType::String),
        always(Scope, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Type, FieldType::Node),
        opt(ScopeLine, U32),
        opt(ContainingType, FieldType::Node),
        keep(VirtualIndex, U32),
        opt(ThisAdjustment, I32),
        opt(Flags, FLAGS),
        keep(SpFlags, SUBPROGRAM_FLAGS),
        opt(Unit, FieldType::Node),
        opt(TemplateParams, FieldType::Node),
        opt(Declaration, FieldType::Node),
        opt(RetainedNodes, FieldType::Node),
        opt(ThrownTypes, FieldType::Node),
        opt(Annotations, FieldType::Node),
        opt(TargetFuncName, FieldType::String),
        opt(KeyInstructions, FieldType::Bool),
        keep(IsLocal, FieldType::Bool),
        keep(IsDefinition, FieldType::Bool),
        keep(IsOptimized, FieldType::Bool),
        keep(Virtuality, VIRTUALITY),
    ] [File, Scope, Type, Unit, Declaration, RetainedNodes, ContainingType, TemplateParams, ThrownTypes, Annotations];
    LexicalBlock "DILexicalBlock" [
        req(Scope, FieldType::NonNullNode),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Column, U16),
    ] [File, Scope];
    LexicalBlockFile "DILexicalBlockFile" [
        req(Scope, FieldType::NonNullNode),
        opt(File, FieldType::Node),
        req(Discriminator, U32),
    ] [File, Scope];
    Namespace "DINamespace" [
        opt(Name, FieldType::String),
        req(Scope, FieldType::Node),
        opt(ExportSymbols, FieldType::Bool),
    ] [Scope];
    Module "DIModule" [
        req(Scope, FieldType::Node),
        req(Name, FieldType::String),
        opt(ConfigMacros, FieldType::String),
        opt(IncludePath, FieldType::String),
        opt(Apinotes, FieldType::String),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(IsDecl, FieldType::Bool),
    ] [File, Scope];
    TemplateTypeParameter "DITemplateTypeParameter" [
        opt(Name, FieldType::String),
        req(Type, FieldType::Node),
        opt(Defaulted, FieldType::Bool),
    ] [Type];
    TemplateValueParameter "DITemplateValueParameter" [
        opt_or(Tag, TAG, TEMPLATE_VALUE_PARAMETER),
        opt(Name, FieldType::String),
        opt(Type, FieldType::Node),
        opt(Defaulted, FieldType::Bool),
        req(Value, FieldType::Node),
    ] [Type, Value];
    GlobalVariable "DIGlobalVariable" [
        opt(Name, FieldType::NonEmptyString),
        opt(LinkageName, FieldType::String),
        always(Scope, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Type, FieldType::Node),
        always(IsLocal, FieldType::Bool),
        always_or(IsDefinition, FieldType::Bool, 1),
        opt(Declaration, FieldType::Node),
        opt(TemplateParams, FieldType::Node),
        opt(Align, U32),
        opt(Annotations, FieldType::Node),
    ] [Scope, File, Type, Declaration, TemplateParams, Annotations];
    LocalVariable "DILocalVariable" [
        opt(Name, FieldType::String),
        opt(Arg, U16),
        req(Scope, FieldType::NonNullNode),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Type, FieldType::Node),
        opt(Flags, FLAGS),
        opt(Align, U32),
        opt(Annotations, FieldType::Node),
    ] [Scope, File, Type, Annotations];
    Label "DILabel" [
        req(Scope, FieldType::NonNullNode),
        req(Name, FieldType::String),
        req(File, FieldType::Node),
        req(Line, U32),
        opt(Column, U16),
        opt(IsArtificial, FieldType::Bool),
        keep(CoroSuspendIdx, U64),
    ] [Scope, File];
    ObjCProperty "DIObjCProperty" [
        opt(Name, FieldType::String),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Setter, FieldType::String),
        opt(Getter, FieldType::String),
        opt(Attributes, U32),
        opt(Type, FieldType::Node),
    ] [File, Type];
    ImportedEntity "DIImportedEntity" [
        req(Tag, TAG),
        opt(Name, FieldType::String),
        req(Scope, FieldType::Node),
        opt(Entity, FieldType::Node),
        opt(File, FieldType::Node),
        opt(Line, U32),
        opt(Elements, FieldType::Node),
    ] [Scope, Entity, File, Elements];
    AssignID "DIAssignID" [] [];
    Macro "DIMacro" [
        req(Type, MACINFO),
        opt(Line, U32),
        req(Name, FieldType::String),
        opt(Value, FieldType::String),
    ] [];
    MacroFile "DIMacroFile" [
        opt_or(Type, MACINFO, START_FILE),
        opt(Line, U32),
        req(File, FieldType::Node),
        opt(Nodes, FieldType::Node),
    ] [File, Nodes];
    CommonBlock "DICommonBlock" [
        req(Scope, FieldType::Node),
        always(Declaration, FieldType::Node),
        opt(Name, FieldType::String),
        opt(File, FieldType::Node),
        opt(Line, U32),
    ] [Scope, Declaration, File];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_the_fields_that_can_hold_nodes() {
        for &kind in NodeKind::ALL {
            let mut holders: Vec<Field> = kind
                .fields()
                .iter()
                .filter(|field| {
                    matches!(
                        field.ty,
                        FieldType::Node
                            | FieldType::NonNullNode
                            | FieldType::NodeOrUint
                            | FieldType::NodeOrInt
                            | FieldType::NonNullNodeOrInt(_)
                            | FieldType::NodeOrExpression
                            | FieldType::NodeOrI64
                            | FieldType::List
                    )
                })
                .map(|field| field.name)
                .collect();
            let mut operands = kind.operands().to_vec();
            holders.sort();
            operands.sort();
            assert_eq!(holders, operands, "{}", kind.text());
        }
    }

    #[test]
    fn kinds_and_fields_are_found_by_name() {
        for &kind in &NodeKind::ALL[1..] {
            assert_eq!(NodeKind::from_text(kind.text().as_bytes()), Some(kind));
            let mut names: Vec<_> = kind.fields().iter().map(|f| f.name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), kind.fields().len(), "{}: a field twice", kind.text());
        }
        for (number, &field) in Field::ALL.iter().enumerate() {
            assert_eq!(Field::from_number(number as u8), field);
        }
        assert_eq!(NodeKind::from_text(b"DIFoo"), None);
    }
}
