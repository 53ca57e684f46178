//! What instructions do besides giving a value: memory, undefined behaviour, convergence.
//!
//! [`Code`] is a view of a function and the functions it calls. It is made from the database
//! ([`Code::of`]) or within a transaction ([`Code::in_edit`]). Unknown properties are taken for the
//! worst case.
//!
//! The facts of a call combine the call site, the declaration and, for an intrinsic, the target's
//! table; each may only add promises. Operand bundles other than `convergencectrl` void all
//! promises.

use phalanx_analysis::{lower::Library, memory::effects::of_table};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    BlockId, Body, Const, Context, Extras, Flow, FunctionHeader, GlobalName, InstId, Opcode,
    Symbol, Type, TypeKind, Value, ValueKind,
    attributes::{AttrKind, AttrList, AttrSetData, MemoryEffects},
    constant::{ConstKind, Int},
    edit::Transaction,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{Intrinsic, intrinsics};

use crate::speculated::DEMANDS;

/// A function and what it calls.
#[derive(Copy, Clone)]
pub struct Code<'a> {
    /// Where types and constants live.
    pub context: &'a Context,
    /// Header of the function.
    pub header: &'a FunctionHeader,
    /// Blocks and edges.
    pub flow: &'a Flow,
    /// Instructions.
    pub body: &'a Body,
    /// Names and attachments.
    pub extras: &'a Extras,
    /// Library functions that the module declares and that are known by name. None while a
    /// transaction is open, since the transaction may define them.
    pub library: &'a Library,
    callees: Callees<'a>,
}

#[derive(Copy, Clone)]
enum Callees<'a> {
    Database(&'a Database, FunctionInput),
    Edit(&'a dyn Declarations),
}

/// Declarations of other functions as a transaction sees them; erases the lifetime of its store.
trait Declarations {
    fn named(&self, callee: Const) -> Option<&FunctionHeader>;
    fn data_layout(&self) -> Option<Symbol>;
}

impl Declarations for Transaction<'_> {
    fn named(&self, callee: Const) -> Option<&FunctionHeader> {
        self.function_named(callee)
    }

    fn data_layout(&self) -> Option<Symbol> {
        self.module().data_layout
    }
}

/// What a call does.
#[derive(Copy, Clone, Debug)]
pub struct CallFacts {
    /// Which memory it accesses.
    pub memory: MemoryEffects,
    /// It returns to the caller.
    pub will_return: bool,
    /// It does not unwind.
    pub no_unwind: bool,
    /// It communicates among the threads that execute it together.
    pub is_convergent: bool,
    /// It has no effects and no undefined behaviour, whatever its arguments are.
    pub is_speculatable: bool,
    /// Equal calls give equal results to the same thread.
    pub is_function: bool,
    /// The intrinsic that is called.
    pub intrinsic: Option<Intrinsic>,
}

impl CallFacts {
    const UNKNOWN: CallFacts = CallFacts {
        memory: MemoryEffects::UNKNOWN,
        will_return: false,
        no_unwind: false,
        is_convergent: true,
        is_speculatable: false,
        is_function: false,
        intrinsic: None,
    };

    /// Whether what follows is executed by every thread that executes the call.
    #[must_use]
    pub fn comes_back(&self) -> bool {
        self.will_return && self.no_unwind
    }
}

impl<'a> Code<'a> {
    /// A function of the database.
    #[must_use]
    pub fn of(db: &'a Database, function: FunctionInput) -> Code<'a> {
        Code {
            context: function.module(db).context(db),
            header: function.header(db),
            flow: function.flow(db),
            body: function.body(db),
            extras: function.extras(db),
            library: queries::library(db, function.module(db)),
            callees: Callees::Database(db, function),
        }
    }

    /// A function as a transaction has it now.
    #[must_use]
    pub fn in_edit(edit: &'a Transaction<'_>) -> Code<'a> {
        Code {
            context: edit.context(),
            header: edit.header(),
            flow: edit.flow(),
            body: edit.body(),
            extras: edit.extras(),
            library: Library::NONE,
            callees: Callees::Edit(edit),
        }
    }

    fn header_of(&self, callee: Const) -> Option<&'a FunctionHeader> {
        match self.callees {
            Callees::Edit(edit) => edit.named(callee),
            Callees::Database(db, function) => {
                let ConstKind::Global(name) = self.context.const_data(callee).kind else {
                    return None;
                };
                let symbols = queries::symbols(db, function.module(db));
                symbols.get(&name).map(|input| input.header(db))
            }
        }
    }

    /// Whether the first lane of a vector is the most significant part when the vector is cast to
    /// an integer.
    pub(crate) fn is_big_endian(&self) -> bool {
        let layout = match self.callees {
            Callees::Edit(edit) => edit.data_layout(),
            Callees::Database(db, function) => function.module(db).shell(db).data_layout,
        };
        let mut parts =
            layout.map(|text| self.context.bytes(text)).unwrap_or_default().split(|&c| c == b'-');
        parts.any(|part| part == b"E")
    }

    /// Type of a value.
    #[must_use]
    pub fn type_of(&self, value: Value) -> Type {
        match value.kind() {
            ValueKind::Inst(inst) => self.body.inst(inst).ty,
            ValueKind::Arg(position) => self.header.params[position as usize],
            ValueKind::Block(_) => Type::LABEL,
            ValueKind::Const(constant) => self.context.const_data(constant).ty,
            ValueKind::Metadata(_) => Type::METADATA,
        }
    }

    /// The intrinsic that a call names.
    #[must_use]
    pub fn intrinsic(&self, call: InstId) -> Option<Intrinsic> {
        if !self.body.inst(call).opcode.is_call() {
            return None;
        }
        let callee = self.body.const_callee(call)?;
        match self.context.const_data(callee).kind {
            ConstKind::Global(GlobalName::Named(symbol)) => {
                intrinsics::lookup(self.context.bytes(symbol))
            }
            _ => None,
        }
    }

    /// The library function that a call names, if the module is known not to define it.
    fn of_library(&self, call: InstId) -> Option<Intrinsic> {
        let callee = self.body.const_callee(call)?;
        match self.context.const_data(callee).kind {
            ConstKind::Global(name) => self.library.get(name),
            _ => None,
        }
    }

    /// What a call does.
    #[must_use]
    pub fn call(&self, call: InstId) -> CallFacts {
        let info = self.body.call_info(call);
        let control = self.context.find_symbol(b"convergencectrl");
        let site = self.context.function_attrs(info.attributes);
        let callee = self.body.const_callee(call);
        let declared = callee.and_then(|callee| self.header_of(callee));
        let intrinsic = self.intrinsic(call);
        let of_declaration = declared.map(|header| self.context.function_attrs(header.attributes));
        let has = |kind| site.has(kind) || of_declaration.is_some_and(|set| set.has(kind));
        let promised = |set: &AttrSetData| set.memory().unwrap_or(MemoryEffects::UNKNOWN);
        let mut facts = CallFacts {
            memory: promised(site)
                .intersect(of_declaration.map_or(MemoryEffects::UNKNOWN, promised)),
            will_return: has(AttrKind::WillReturn),
            no_unwind: has(AttrKind::NoUnwind),
            is_convergent: has(AttrKind::Convergent),
            is_speculatable: has(AttrKind::Speculatable),
            is_function: false,
            intrinsic,
        };
        if let Some(known) = intrinsic.or_else(|| self.of_library(call)) {
            let table = known.info;
            facts.memory = facts.memory.intersect(of_table(table.memory));
            // No intrinsic of the tables unwinds but those that call something.
            facts.no_unwind |= table.willreturn;
            facts.will_return |= table.willreturn;
            facts.is_convergent |= table.convergent;
            facts.is_speculatable |= table.speculatable;
            facts.is_function = table.result.is_timeless() && table.further_results.is_timeless();
            if table.noduplicate {
                facts.is_speculatable = false;
            }
        } else {
            // A function that accesses no memory depends on its arguments only, and on what a
            // thread can ask about itself.
            facts.is_function = facts.memory.is_none();
        }
        facts.is_speculatable &= !facts.is_convergent;
        if info.bundles.iter().any(|&(tag, _)| Some(tag) != control) {
            return CallFacts {
                is_convergent: facts.is_convergent,
                intrinsic,
                ..CallFacts::UNKNOWN
            };
        }
        facts
    }

    /// Whether an instruction is a convergent operation.
    #[must_use]
    pub fn is_convergent(&self, inst: InstId) -> bool {
        self.body.inst(inst).opcode.is_call() && self.call(inst).is_convergent
    }

    /// Whether any instruction in a block is a convergent operation. O(instructions).
    pub fn convergent_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let order = self.flow.order().iter().copied();
        order.filter(|&block| self.body.block_insts(block).any(|inst| self.is_convergent(inst)))
    }

    /// Whether an instruction may write memory, wait for others, or not come back.
    #[must_use]
    pub fn has_side_effects(&self, inst: InstId) -> bool {
        let data = self.body.inst(inst);
        match data.opcode {
            Opcode::Load => {
                data.flags.contains(InstFlags::VOLATILE)
                    || data.mem().ordering() > Ordering::Unordered
            }
            Opcode::Call => {
                let facts = self.call(inst);
                data.flags.contains(InstFlags::MUST_TAIL)
                    || !facts.memory.only_reads()
                    || !facts.will_return
                    || !facts.no_unwind
            }
            Opcode::Store
            | Opcode::Fence
            | Opcode::CmpXchg
            | Opcode::AtomicRmw
            | Opcode::VaArg
            | Opcode::LandingPad
            | Opcode::CleanupPad
            | Opcode::CatchPad => true,
            Opcode::Alloca => data.flags.contains(InstFlags::IN_ALLOCA),
            opcode => opcode.is_terminator(),
        }
    }

    /// Whether an instruction that is no load, store or plain call may access memory.
    #[must_use]
    pub(crate) fn may_access_memory(&self, inst: InstId) -> bool {
        let opcode = self.body.inst(inst).opcode;
        let is_jump = matches!(
            opcode,
            Opcode::Br | Opcode::Switch | Opcode::Ret | Opcode::Unreachable | Opcode::IndirectBr
        );
        !is_jump && self.has_side_effects(inst)
    }

    /// Whether a load or store is volatile or atomic.
    #[must_use]
    pub fn has_order(&self, inst: InstId) -> bool {
        let data = self.body.inst(inst);
        data.flags.contains(InstFlags::VOLATILE) || data.mem().ordering() != Ordering::NotAtomic
    }

    /// Whether an instruction may be executed where it was not executed before: no effects, no
    /// undefined behaviour, no communication among threads. Its result may be poison there.
    #[must_use]
    pub fn is_speculatable(&self, inst: InstId) -> bool {
        let data = self.body.inst(inst);
        let operands = self.body.operands(inst);
        match data.opcode {
            Opcode::UDiv | Opcode::URem => self.int(operands[1]).is_some_and(|d| d != 0),
            Opcode::SDiv | Opcode::SRem => {
                let ones = match self.context.type_kind(data.ty) {
                    &TypeKind::Int(bits @ 1..=128) => u128::MAX >> (128 - bits),
                    _ => return false,
                };
                self.int(operands[1]).is_some_and(|d| d != 0 && d != ones)
            }
            Opcode::Call => {
                let facts = self.call(inst);
                facts.is_speculatable && facts.memory.is_none() && !self.is_declared_demanding(inst)
            }
            _ => self.is_pure_operation(inst),
        }
    }

    /// Whether an ill-defined (`undef` or poison) argument or result of a call is undefined
    /// behaviour.
    pub(crate) fn demands_defined(&self, call: InstId) -> bool {
        self.is_demanding(call, self.body.call_info(call).attributes)
            || self.is_declared_demanding(call)
    }

    /// Whether the declaration demands that; its attributes stay when the call is speculated.
    fn is_declared_demanding(&self, call: InstId) -> bool {
        let declared = self.body.const_callee(call).and_then(|callee| self.header_of(callee));
        declared.is_some_and(|header| self.is_demanding(call, header.attributes))
    }

    fn is_demanding(&self, call: InstId, list: AttrList) -> bool {
        let args = self.body.call_info(call).args as usize;
        // Without arguments a demand holds for this place only, and is dropped when the call is
        // speculated.
        if args == 0 {
            return false;
        }
        let sets = (0..args).map(|at| self.context.param_attrs(list, at));
        sets.chain([self.context.return_attrs(list)])
            .any(|set| DEMANDS.iter().any(|&kind| set.has(kind)))
    }

    /// The name of the function that a call names.
    pub(crate) fn callee_name(&self, call: InstId) -> Option<&'a [u8]> {
        match self.context.const_data(self.body.const_callee(call)?).kind {
            ConstKind::Global(GlobalName::Named(symbol)) => Some(self.context.bytes(symbol)),
            _ => None,
        }
    }

    /// Whether a call may be duplicated: no attribute forbids it, and it does not declare an alias
    /// scope, of which each copy would need its own.
    pub(crate) fn may_be_copied(&self, call: InstId) -> bool {
        let of_table = self.intrinsic(call).is_some_and(|found| found.info.noduplicate);
        let is_scope = self.callee_name(call) == Some(b"llvm.experimental.noalias.scope.decl");
        !of_table && !is_scope && !self.says(call, AttrKind::NoDuplicate)
    }

    /// Whether a call may be merged with an equal call on another path: no attribute says that the
    /// two must stay distinct.
    pub(crate) fn may_be_merged(&self, call: InstId) -> bool {
        !self.says(call, AttrKind::NoMerge)
    }

    /// Whether a call, or the declaration of what it calls, has an attribute.
    fn says(&self, call: InstId, kind: AttrKind) -> bool {
        let declared = self.body.const_callee(call).and_then(|callee| self.header_of(callee));
        let site = Some(self.body.call_info(call).attributes);
        let lists = [site, declared.map(|header| header.attributes)];
        lists.into_iter().flatten().any(|list| self.context.function_attrs(list).has(kind))
    }

    /// Whether an instruction is a function of its operands alone that is defined for all of them:
    /// arithmetic without division, comparisons, conversions, addresses, selections, parts of
    /// aggregates.
    #[must_use]
    pub fn is_pure_operation(&self, inst: InstId) -> bool {
        let data = self.body.inst(inst);
        match data.opcode {
            Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem => false,
            Opcode::FNeg
            | Opcode::ICmp
            | Opcode::FCmp
            | Opcode::Select
            | Opcode::GetElementPtr
            | Opcode::ExtractElement
            | Opcode::InsertElement
            | Opcode::ShuffleVector
            | Opcode::ExtractValue
            | Opcode::InsertValue
            | Opcode::Freeze => true,
            opcode => opcode.is_binary() || opcode.is_cast(),
        }
    }

    /// The number that a scalar constant of at most 128 bits is.
    #[must_use]
    pub fn int(&self, value: Value) -> Option<u128> {
        match &self.context.const_data(value.as_const()?).kind {
            ConstKind::Int(Int::Small(value)) => Some(u128::from(*value)),
            ConstKind::Int(Int::Big(words)) => match **words {
                [low, high] => Some(u128::from(high) << 64 | u128::from(low)),
                _ => None,
            },
            _ => None,
        }
    }
}
