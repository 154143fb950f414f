//! toolsets

pub mod command;
pub mod process;
pub mod process_tool;
pub mod terminal;
