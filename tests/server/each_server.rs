//! Tests whose result may depend on the server, but not on the platform of the module: of clusters, of examples in the
//! documents, of scripts/copy-sketches, and of tests/support. They run on every server of one platform. Clusters copy keys
//! with RESTORE and replication, which other tests check on every platform.

pub mod cluster;
mod copy_sketches;
pub mod documents;
mod test_server;
