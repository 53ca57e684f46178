//! Debug records as text.

use phalanx_ir::metadata::{DebugRecord, MetadataId};

use super::Writer;

impl Writer<'_> {
    /// `#dbg_value(..)`, without spaces before or a line break after.
    pub(super) fn debug_record(&mut self, record: &DebugRecord) {
        match record {
            DebugRecord::Variable(variable) => {
                self.str("#dbg_");
                self.str(variable.kind.text());
                self.str("(");
                self.metadata_as_value(&variable.value);
                self.record_nodes(&[variable.variable, variable.expression, variable.location]);
            }
            DebugRecord::Assign(assign) => {
                self.str("#dbg_assign(");
                self.metadata_as_value(&assign.value);
                self.record_nodes(&[assign.variable, assign.expression, assign.id]);
                self.str(", ");
                self.metadata_as_value(&assign.address);
                self.record_nodes(&[assign.address_expression, assign.location]);
            }
            DebugRecord::Label { label, location } => {
                self.str("#dbg_label(");
                self.metadata_ref(*label);
                self.record_nodes(&[*location]);
            }
        }
        self.str(")");
    }

    /// A comma before each.
    fn record_nodes(&mut self, nodes: &[MetadataId]) {
        for &node in nodes {
            self.str(", ");
            self.metadata_ref(node);
        }
    }
}
