//! Debug records.
