//! Metadata nodes, named metadata and attachments.
