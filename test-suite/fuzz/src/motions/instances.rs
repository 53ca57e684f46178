//! Single motions.
