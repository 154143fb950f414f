//! acp_adapter
