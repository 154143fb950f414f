//! What the test suites share: a stage for the core, a client for the built binary, a mock model server.

pub mod capabilities;
pub mod client;
pub mod counting;
pub mod editor;
pub mod heard;
pub mod hearing;
pub mod inside;
pub mod mcp;
pub mod measure;
pub mod mock;
pub mod process;
pub mod reliability;
pub mod remote;
pub mod safety;
pub mod schema;
pub mod spoken;
pub mod stage;
pub mod start;
pub mod stored;
mod tap;
pub mod tasks;
pub mod walls;
