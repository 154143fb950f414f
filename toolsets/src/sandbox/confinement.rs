//! What is held in, as plain data: every wall is built from it.

use std::path::{Path, PathBuf};

/// What a process may reach. All paths are real ones, and are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// Folders that it may write.
    pub(crate) writable: Vec<PathBuf>,
    /// Folders inside them that may be written, and not be moved or taken away.
    pub(crate) fixed: Vec<PathBuf>,
    /// Files and folders inside them that stay as they are.
    pub(crate) read_only: Vec<PathBuf>,
    /// Files and folders that it doesn't see, or can't read.
    pub(crate) hidden: Vec<PathBuf>,
    /// The folder for what it keeps for a while.
    pub(crate) tmp: PathBuf,
    /// It reaches the network.
    pub(crate) network: bool,
}

/// What becomes of a place. Of two in the same place the later one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Writable,
    Fixed,
    ReadOnly,
    Hidden,
}

impl Confinement {
    /// All places, each after those that it lies in: what comes later lies over what came before.
    pub(crate) fn layers(&self) -> Vec<(&Path, Layer)> {
        fn places(paths: &[PathBuf], layer: Layer) -> impl Iterator<Item = (&Path, Layer)> {
            paths.iter().map(move |path| (path.as_path(), layer))
        }
        let mut layers: Vec<_> = places(&self.writable, Layer::Writable)
            .chain(places(&self.fixed, Layer::Fixed))
            .chain(places(&self.read_only, Layer::ReadOnly))
            .chain(places(&self.hidden, Layer::Hidden))
            .collect();
        // Paths are compared by their parts, so that a folder comes before what is in it.
        layers.sort();
        layers.dedup();
        without_repeats(layers)
    }

    /// Whether a place lies in a folder that may be written.
    pub(crate) fn is_writable(&self, place: &Path) -> bool {
        self.writable.iter().any(|folder| place.starts_with(folder))
    }
}

/// What is writable in a writable place needs no layer of its own, which would follow a link that was put there.
fn without_repeats(layers: Vec<(&Path, Layer)>) -> Vec<(&Path, Layer)> {
    let mut kept: Vec<(&Path, Layer)> = Vec::new();
    for (path, layer) in layers {
        let around = kept.iter().rfind(|(place, _)| path.starts_with(place));
        if layer != Layer::Writable || around.is_none_or(|(_, around)| *around != Layer::Writable) {
            kept.push((path, layer));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_another_place_comes_after_it() {
        let confinement = Confinement {
            writable: vec!["/h/.ssh/x".into(), "/h".into(), "/w/a".into(), "/w".into()],
            fixed: vec!["/w/.git".into()],
            read_only: vec!["/h/a/.git".into(), "/h/.ssh/x/.git".into(), "/w/.git/config".into()],
            hidden: vec!["/h/.ssh".into(), "/h-other".into(), "/h".into()],
            ..Confinement::default()
        };
        let layers: Vec<String> = confinement
            .layers()
            .iter()
            .map(|(path, layer)| format!("{} {layer:?}", path.display()))
            .collect();
        assert_eq!(
            layers,
            [
                "/h Writable",
                "/h Hidden",
                "/h/.ssh Hidden",
                "/h/.ssh/x Writable",
                "/h/.ssh/x/.git ReadOnly",
                "/h/a/.git ReadOnly",
                "/h-other Hidden",
                "/w Writable",
                "/w/.git Fixed",
                "/w/.git/config ReadOnly",
            ]
        );
    }
}
