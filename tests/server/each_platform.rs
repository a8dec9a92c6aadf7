//! Tests whose result may depend on the processor or the C library, but does not depend on the server: numbers, stored
//! bytes, limits of memory and time. They run on one server of each platform.

mod format_stability;
mod hostile;
