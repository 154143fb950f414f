//! toolsets
