//! Encrypted connections.

/// Makes them possible in this process; to be called before each client is built. It costs nothing the second time.
pub(crate) fn get_ready() {
    // An error means that a provider is installed already, which is all that is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
