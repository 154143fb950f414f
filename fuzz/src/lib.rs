//! What the fuzz targets share: bytes in pieces, a folder with a session's tools, an agent without a place in the world.

pub mod agent;
pub mod pieces;
pub mod room;
