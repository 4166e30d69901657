//! Whether something has to be built again: the times of files.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::workspace::root;

/// Whether a file is newer than all of these.
pub fn is_newer(made: &Path, sources: &[&str]) -> bool {
    let Some(made) = changed(made) else { return false };
    sources.iter().all(|source| newest(&root().join(source)).is_some_and(|latest| latest < made))
}

/// When a file was changed; `None` if it is not there.
pub fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

/// When a file, or the last of those in a folder, was changed.
fn newest(path: &Path) -> Option<SystemTime> {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).fold(changed(path), Option::max)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_output_is_outdated_when_any_of_its_inputs_changed() {
        let folder = std::env::temp_dir().join(format!("tidegate-newer-{}", std::process::id()));
        fs::create_dir_all(folder.join("from/deep")).unwrap();
        let write = |name: &str, second: u64| {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        let sources = [folder.join("from/deep/source")];
        let sources = sources.each_ref().map(|path| path.to_str().unwrap());
        let made = folder.join("made");
        assert!(!is_newer(&made, &sources), "it is not there");
        write("made", 20);
        for (second, newer) in [(10, true), (20, false), (30, false)] {
            write("from/deep/source", second);
            assert_eq!(is_newer(&made, &sources), newer, "changed at {second}");
        }
        assert_eq!(
            newest(&folder.join("from/deep/source")),
            changed(&folder.join("from/deep/source"))
        );
        assert!(
            newest(&folder.join("from")) > changed(&made),
            "a folder is as new as what is in it"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
