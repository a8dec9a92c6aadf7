//! Tests whose result may depend on the server, but not on the platform of the module: what the server reports about commands,
//! events, settings, metrics, errors of files, moves between servers, clusters, examples in the documents, and tests/support. They
//! run on every server of one platform. Clusters copy keys with RESTORE and replication, which other tests check on every platform.

pub mod cluster;
pub mod commands;
mod copy_sketches;
pub mod documents;
mod failed_saves;
mod loading;
pub mod migration;
mod monitoring;
mod new_features;
mod notifications;
mod peers;
mod refused_calls;
mod selection;
mod settings;
mod test_server;
mod warnings;
