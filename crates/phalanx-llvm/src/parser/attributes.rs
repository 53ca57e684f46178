//! Attributes: of parameters, results, functions, calls and groups.

use phalanx_ir::AttrSet;
use smallvec::SmallVec;

/// Function attributes as written: explicit ones, and groups that may be defined later.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FnAttrs {
    /// What stands there itself.
    pub(crate) set: AttrSet,
    /// `#N`, in the order of the text.
    pub(crate) groups: SmallVec<[u32; 2]>,
    /// `align N`
    pub(crate) align: Option<u64>,
}
