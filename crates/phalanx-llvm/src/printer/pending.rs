use phalanx_ir::*;
use phalanx_ir::metadata::*;
use super::Writer;
impl Writer<'_> {
    pub(super) fn attributes(&mut self, _set: AttrSet) {}
    pub(super) fn function_attrs_comment(&mut self, _set: AttrSet) {}
    pub(super) fn group_attributes(&mut self, _set: AttrSet) {}
    pub(super) fn attachments(&mut self, _a: impl Iterator<Item = Attachment>, _sep: &str) {}
    pub(super) fn local_metadata(&mut self, _id: LocalMetadataId) {}
    pub(super) fn debug_record(&mut self, _r: &DebugRecord) {}
    pub(super) fn named_metadata(&mut self) {}
    pub(super) fn metadata_node(&mut self, _id: MetadataId) {}

    pub(super) fn default_align(&self, _t: Type) -> Option<u64> { None }
    pub(super) fn default_atomic_align(&self, _t: Type) -> Option<u64> { None }
    pub(super) fn default_stack_align(&self, _t: &InstData) -> Option<u64> { None }
}
