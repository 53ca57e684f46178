//! Variables, aliases and ifuncs.

use phalanx_ir::{
    ConstKind, GlobalName, GlobalVariable, Symbol,
    module::{DllStorage, GlobalAlias, Linkage, ThreadLocal, UnnamedAddr, Visibility},
};

use super::Writer;

/// What stands between the name of any global and its own keyword.
pub(super) struct Placement {
    pub(super) linkage: Linkage,
    pub(super) visibility: Visibility,
    pub(super) dll: DllStorage,
    pub(super) dso_local: Option<bool>,
}

impl Placement {
    /// Whether linkage or visibility already say that the definition is in the same linked object.
    fn is_local_anyway(&self) -> bool {
        matches!(self.linkage, Linkage::Private | Linkage::Internal)
            || self.visibility != Visibility::Default && self.linkage != Linkage::ExternWeak
    }
}

impl Writer<'_> {
    /// All variables, aliases and ifuncs.
    pub(super) fn globals(&mut self) {
        let module = self.module();
        if !module.variables.is_empty() {
            self.str("\n");
        }
        for variable in &module.variables {
            self.variable(variable);
            self.str("\n");
        }
        for is_ifunc in [false, true] {
            let mut first = true;
            for alias in module.aliases.iter().filter(|alias| alias.is_ifunc == is_ifunc) {
                if std::mem::take(&mut first) {
                    self.str("\n");
                }
                self.alias(alias);
                self.str("\n");
            }
        }
    }

    /// Linkage, `dso_local`, visibility, DLL storage class; each with a space after it.
    pub(super) fn placement(&mut self, placement: &Placement) {
        let Placement { linkage, visibility, dll, dso_local } = placement;
        if *linkage != Linkage::External {
            self.words(&[linkage.text()]);
        }
        if *dso_local == Some(true) && !placement.is_local_anyway() {
            self.str("dso_local ");
        }
        if *visibility != Visibility::Default {
            self.words(&[visibility.text()]);
        }
        self.words(&[dll.text()]);
    }

    /// Words with a space after each; empty ones are left out.
    fn words(&mut self, words: &[&str]) {
        for word in words.iter().filter(|word| !word.is_empty()) {
            self.str(word);
            self.str(" ");
        }
    }

    fn thread_local(&mut self, model: Option<ThreadLocal>) {
        match model {
            None => {}
            Some(ThreadLocal::GeneralDynamic) => self.str("thread_local "),
            Some(model) => {
                self.str("thread_local(");
                self.str(model.text());
                self.str(") ");
            }
        }
    }

    fn unnamed_addr(&mut self, unnamed_addr: UnnamedAddr) {
        self.words(&[unnamed_addr.text()]);
    }

    /// ` keyword "string"`, when there is one; `comma` stands before.
    pub(super) fn string_clause(&mut self, before: &str, string: Option<Symbol>) {
        if let Some(string) = string {
            let bytes = self.context().bytes(string);
            if !bytes.is_empty() {
                self.str(before);
                self.quoted_bytes(bytes);
            }
        }
    }

    /// ` comdat` or ` comdat($name)`.
    pub(super) fn comdat(&mut self, name: GlobalName, comdat: Option<Symbol>) {
        let Some(comdat) = comdat else { return };
        self.str(" comdat");
        if name != GlobalName::Named(comdat) {
            self.str("(");
            self.name(b'$', self.context().bytes(comdat));
            self.str(")");
        }
    }

    /// `align N` after what stands before.
    pub(super) fn align(&mut self, before: &str, align: Option<u64>) {
        if let Some(align) = align {
            self.str(before);
            self.number(align);
        }
    }

    fn variable(&mut self, variable: &GlobalVariable) {
        self.global(variable.name);
        self.str(" = ");
        if variable.initializer.is_none() && variable.linkage == Linkage::External {
            self.str("external ");
        }
        self.placement(&Placement {
            linkage: variable.linkage,
            visibility: variable.visibility,
            dll: variable.dll,
            dso_local: variable.dso_local,
        });
        self.thread_local(variable.thread_local);
        self.unnamed_addr(variable.unnamed_addr);
        if variable.address_space != 0 {
            self.str("addrspace(");
            self.number(u64::from(variable.address_space));
            self.str(") ");
        }
        if variable.externally_initialized {
            self.str("externally_initialized ");
        }
        self.str(if variable.is_constant { "constant " } else { "global " });
        self.ty(variable.ty);
        if let Some(initializer) = variable.initializer {
            self.str(" ");
            self.constant(initializer);
        }
        self.string_clause(", section ", variable.section);
        self.string_clause(", partition ", variable.partition);
        if let Some(model) = variable.code_model {
            self.str(", code_model ");
            self.quoted_bytes(model.text().as_bytes());
        }
        let sanitizers = [
            ", no_sanitize_address",
            ", no_sanitize_hwaddress",
            ", sanitize_memtag",
            ", sanitize_address_dyninit",
        ];
        for (&set, text) in variable.sanitizer.iter().zip(sanitizers) {
            if set {
                self.str(text);
            }
        }
        if variable.comdat.is_some() {
            self.str(",");
            self.comdat(variable.name, variable.comdat);
        }
        self.align(", align ", variable.align);
        self.attachments(variable.metadata.iter().copied(), ", ");
        self.attr_group(variable.attributes);
    }

    fn alias(&mut self, alias: &GlobalAlias) {
        self.global(alias.name);
        self.str(" = ");
        self.placement(&Placement {
            linkage: alias.linkage,
            visibility: alias.visibility,
            dll: if alias.is_ifunc { DllStorage::Default } else { alias.dll },
            dso_local: alias.dso_local,
        });
        if alias.is_ifunc {
            self.str("ifunc ");
        } else {
            self.thread_local(alias.thread_local);
            self.unnamed_addr(alias.unnamed_addr);
            self.str("alias ");
        }
        self.ty(alias.ty);
        self.str(", ");
        match self.context().const_data(alias.target).kind {
            ConstKind::Expr(_) => self.constant(alias.target),
            _ => self.typed_constant(alias.target),
        }
        self.string_clause(", partition ", alias.partition);
        self.attachments(alias.metadata.iter().copied(), ", ");
    }
}
