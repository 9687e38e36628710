//! `strix links install DIR`: links by the names of the tools that strix stands for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::personality::Personality;
use crate::{exit, say};

/// Runs the command.
pub fn main(args: &[OsString]) -> u8 {
    match args {
        [verb, dir] if verb == "install" => match install(Path::new(dir)) {
            Ok(made) => {
                say::result(&made.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
            }
            Err((path, error)) => {
                say::remark(format_args!("strix: cannot make link {}: {error}", path.display()));
                exit::FAILURE
            }
        },
        _ => {
            say::remark(format_args!("usage: strix links install DIR"));
            exit::USAGE
        }
    }
}

/// Makes the links. A link that leads here already is left; anything else by that name is not touched and is an error.
fn install(dir: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let target = env::current_exe().map_err(|e| (dir.to_owned(), e))?;
    fs::create_dir_all(dir).map_err(|e| (dir.to_owned(), e))?;
    let mut made = Vec::new();
    for (name, _) in Personality::NAMES {
        let path = dir.join(name);
        match fs::read_link(&path) {
            Ok(existing) if existing == target => {}
            Ok(_) => {
                return Err((
                    path,
                    io::Error::new(io::ErrorKind::AlreadyExists, "a link to something else is there"),
                ));
            }
            Err(_) => std::os::unix::fs::symlink(&target, &path).map_err(|e| (path.clone(), e))?,
        }
        made.push(path);
    }
    Ok(made)
}
