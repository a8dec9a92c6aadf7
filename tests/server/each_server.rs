//! Tests whose result may depend on the server, but not on the platform of the module: of examples in the documents, of
//! scripts/copy-sketches, and of tests/support. They run on every server of one platform.

mod copy_sketches;
pub mod documents;
mod test_server;
