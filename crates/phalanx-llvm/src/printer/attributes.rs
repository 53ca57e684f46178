//! Attributes as text.

use phalanx_ir::{
    AttrSet,
    attributes::{
        ALLOC_KINDS, AllocSize, AttrKind, Attribute, CaptureComponents, Captures, FP_CLASSES,
        MemoryEffects, MemoryLocation, UnwindTable, VScaleRange,
    },
};

use super::Writer;

/// How alignments are written.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Style {
    /// `align 8`, `alignstack(8)`
    List,
    /// `align=8`, `alignstack=8`
    Group,
}

impl Writer<'_> {
    /// The attributes of a parameter, result or function, with spaces between.
    pub(super) fn attributes(&mut self, set: AttrSet) {
        self.attribute_list(set, Style::List, true);
    }

    /// The attributes of a function that are no strings.
    pub(super) fn function_attrs_comment(&mut self, set: AttrSet) {
        self.attribute_list(set, Style::List, false);
    }

    /// The attributes of a group.
    pub(super) fn group_attributes(&mut self, set: AttrSet) {
        self.attribute_list(set, Style::Group, true);
    }

    fn attribute_list(&mut self, set: AttrSet, style: Style, with_texts: bool) {
        let mut space = "";
        for attribute in self.context().attr_set_data(set).attributes() {
            if with_texts || attribute.kind().is_some() {
                self.str(space);
                self.attribute(attribute, style);
                space = " ";
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute, style: Style) {
        match *attribute {
            Attribute::Enum(kind) => self.str(kind.text()),
            Attribute::Type(kind, ty) => {
                self.str(kind.text());
                self.str("(");
                self.ty(ty);
                self.str(")");
            }
            Attribute::Int(kind, value) => {
                self.str(kind.text());
                self.int_attribute(kind, value, style);
            }
            Attribute::Range(kind, low, high) => {
                self.str(kind.text());
                self.str("(");
                self.typed_constant(low);
                self.str(", ");
                self.constant(high);
                self.str(")");
            }
            Attribute::Ranges(kind, ref ranges) => {
                self.str(kind.text());
                let mut before = "((";
                for &(low, high) in ranges {
                    self.str(before);
                    self.signed(low);
                    self.str(", ");
                    self.signed(high);
                    before = "), (";
                }
                self.str("))");
            }
            Attribute::Text(key, value) => {
                self.quoted(key);
                if let Some(value) = value {
                    self.str("=");
                    self.quoted(value);
                }
            }
        }
    }

    /// What stands after the keyword.
    fn int_attribute(&mut self, kind: AttrKind, value: u64, style: Style) {
        match kind {
            AttrKind::Align | AttrKind::StackAlign if style == Style::Group => {
                self.str("=");
                self.number(value);
                return;
            }
            AttrKind::Align => {
                self.str(" ");
                self.number(value);
                return;
            }
            AttrKind::UwTable => {
                if value == UnwindTable::Sync as u64 {
                    self.str("(sync)");
                }
                return;
            }
            _ => {}
        }
        self.str("(");
        match kind {
            AttrKind::AllocKind => self.alloc_kind(value),
            AttrKind::AllocSize => {
                let AllocSize { size, count } = AllocSize::from_raw(value);
                self.number(size.into());
                if let Some(count) = count {
                    self.str(",");
                    self.number(count.into());
                }
            }
            AttrKind::VScaleRange => {
                let VScaleRange { min, max } = VScaleRange::from_raw(value);
                self.number(min.into());
                self.str(",");
                self.number(max.into());
            }
            AttrKind::Captures => self.captures(Captures::from_raw(value)),
            AttrKind::Memory => self.memory_effects(MemoryEffects::from_raw(value)),
            AttrKind::NoFpClass => self.fp_classes(value as u16),
            _ => self.number(value),
        }
        self.str(")");
    }

    fn alloc_kind(&mut self, bits: u64) {
        let mut before = "\"";
        for (name, bit) in ALLOC_KINDS {
            if bits & u64::from(bit) != 0 {
                self.str(before);
                self.str(name);
                before = ",";
            }
        }
        self.str("\"");
    }

    fn captures(&mut self, captures: Captures) {
        let Captures { other, ret } = captures;
        if other == ret || !other.is_none() {
            self.components(other);
        }
        if other != ret {
            self.str(if other.is_none() { "ret: " } else { ", ret: " });
            self.components(ret);
        }
    }

    fn components(&mut self, components: CaptureComponents) {
        let mut before = "";
        for keyword in components.keywords() {
            self.str(before);
            self.str(keyword);
            before = ", ";
        }
    }

    /// The access to memory that is not named comes first, where there is any; then what differs
    /// from it.
    fn memory_effects(&mut self, effects: MemoryEffects) {
        let default = effects.access(MemoryLocation::Other);
        let mut before = "";
        if default != phalanx_ir::attributes::Access::None || effects.is_none() {
            self.str(default.text());
            before = ", ";
        }
        for &location in MemoryLocation::ALL {
            let access = effects.access(location);
            if access != default {
                self.str(before);
                self.str(location.text());
                self.str(": ");
                self.str(access.text());
                before = ", ";
            }
        }
    }

    fn fp_classes(&mut self, mask: u16) {
        let mut rest = mask;
        let mut before = "";
        for (name, bits) in FP_CLASSES {
            if rest & bits == bits {
                self.str(before);
                self.str(name);
                rest &= !bits;
                before = " ";
            }
        }
    }
}
