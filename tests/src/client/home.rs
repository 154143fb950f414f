//! A home for the binary, and a folder to work in.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::binary::binary;

/// A throw-away home: configuration and state in one folder, and a workspace beside it.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// An empty home.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let home = Self { folder };
        std::fs::create_dir(home.workspace()).expect("a folder can be made");
        home
    }

    /// A home with this configuration.
    pub fn with_config(text: &str) -> Self {
        let home = Self::new();
        home.write_config(text);
        home
    }

    /// A home whose model plays this script.
    pub fn with_script(script: &Value) -> Self {
        let home = Self::new();
        let path = home.folder.path().join("script.json");
        std::fs::write(&path, script.to_string()).expect("a file can be written");
        home.write_config(&format!(
            "model = \"demo/demo\"\n[providers.demo]\napi = \"script\"\nbase_url = {:?}\n",
            path.display().to_string()
        ));
        home
    }

    /// Writes the configuration.
    pub fn write_config(&self, text: &str) {
        std::fs::create_dir_all(self.state()).expect("a folder can be made");
        std::fs::write(self.state().join("config.toml"), text).expect("a file can be written");
    }

    /// Adds to the configuration.
    pub fn add_config(&self, text: &str) {
        let path = self.state().join("config.toml");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        self.write_config(&format!("{before}{text}"));
    }

    /// Where configuration and state are.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A folder to work in.
    pub fn workspace(&self) -> PathBuf {
        let path = self.folder.path().canonicalize().expect("the folder exists");
        path.join("work")
    }

    /// Leaves the folder where it is, for somebody to look at.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// The binary with this home, and no key or switch of the machine's own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        let foreign = std::env::vars().map(|(name, _)| name);
        for name in
            foreign.filter(|name| name.ends_with("_API_KEY") || name.starts_with("TALARIA_") || name == "RUST_LOG")
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .env("TALARIA_HOME", self.state())
            .current_dir(self.workspace());
        command
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}
