//! Programs made ready to be started, behind a wall or without one.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_core::config::SandboxMode;
use agent_core::wall::Sandbox as State;

use super::confinement::Confinement;
use super::found::Wall;
#[cfg(target_os = "linux")]
use super::kernel;
use super::{Held, Protected, Sandbox, Who, bwrap, fault, mac, no_wall};
use crate::process::{Leader, Ready, Spawner};

impl Sandbox {
    /// A program as it is started where the state is this one. It gets the session's own folder for temporary files.
    ///
    /// # Errors
    /// A [`Fault`] if the wall can't be put up, or is not what the state says.
    pub(crate) fn ready(&self, state: &State, program: &OsStr, args: &[OsString], cwd: &Path) -> io::Result<Held> {
        match state {
            State::Inside(told) => {
                let mut before = self.look();
                let wall = self.wall().map_err(|why| fault(no_wall(why)))?;
                let is_to_be_whole = told.holds_protected && matches!(wall, Wall::Bubblewrap(_));
                if is_to_be_whole && !before.is_whole {
                    before = self.noted(Protected::look_longer(&self.roots));
                }
                if is_to_be_whole && !before.is_whole {
                    return Err(fault(
                        "the workspace has grown so large that the sandbox can't hold all that is \
                         protected in it any more: run the command again, and it is asked about"
                            .to_owned(),
                    ));
                }
                let mut held = self.behind(wall, Who::Command, &before, program, args, cwd)?;
                held.before = Some(before);
                Ok(held)
            }
            State::Left | State::None { .. } => Ok(free(program, args)),
        }
    }

    /// A server as it is started, behind a wall unless the configuration leaves it out.
    ///
    /// # Errors
    /// As for [`Self::ready`].
    pub(crate) fn server_ready(&self, name: &str, program: &OsStr, args: &[OsString], cwd: &Path) -> io::Result<Held> {
        match self.wall() {
            _ if self.leaves_out(name) => Ok(free(program, args)),
            Ok(wall) => self.behind(wall, Who::Server, &self.look(), program, args, cwd),
            Err(why) if self.mode == SandboxMode::Required => Err(fault(no_wall(why))),
            Err(_) => Ok(free(program, args)),
        }
    }

    fn behind(
        &self,
        wall: &Wall,
        who: Who,
        before: &Protected,
        program: &OsStr,
        args: &[OsString],
        cwd: &Path,
    ) -> io::Result<Held> {
        let tmp = self
            .tmp()
            .map_err(|error| fault(format!("there is no folder for temporary files: {error}")))?;
        if self.network {
            self.caches.make_for(program, args);
        }
        let (confinement, life) = self.confinement(wall, who, before, tmp);
        match wall {
            Wall::Bubblewrap(bwrap) => {
                let mut command = Command::new(bwrap);
                command
                    .args(bwrap::arguments(&confinement, Path::new(program), cwd))
                    .arg(program)
                    .args(args);
                Ok(Held {
                    ready: Ready::new(command, Spawner::of_all(), Leader::Keeper).living(life),
                    tmp: Some(PathBuf::from("/tmp")),
                    before: None,
                })
            }
            Wall::Kernel(_) => {
                let mut command = Command::new(program);
                command.args(args);
                let spawner = self.spawner(who, confinement)?;
                Ok(Held {
                    ready: Ready::new(command, spawner, Leader::Command),
                    tmp: Some(tmp.to_owned()),
                    before: None,
                })
            }
            Wall::Seatbelt => {
                let mut command = Command::new(mac::PROGRAM);
                command
                    .arg("-p")
                    .arg(mac::profile(&confinement))
                    .arg(program)
                    .args(args);
                Ok(Held {
                    ready: Ready::from(command),
                    tmp: Some(tmp.to_owned()),
                    before: None,
                })
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn spawner(&self, who: Who, confinement: Confinement) -> io::Result<Spawner> {
        let mut spawners = self.spawners.lock();
        let key = (who, confinement.writable.clone());
        if let Some(spawner) = spawners.get(&key) {
            return Ok(spawner.clone());
        }
        let spawner = Spawner::confined(move || kernel::confine(&confinement).map(drop))
            .map_err(|error| fault(format!("the sandbox can't be put up: {error}")))?;
        spawners.insert(key, spawner.clone());
        Ok(spawner)
    }

    #[cfg(not(target_os = "linux"))]
    fn spawner(&self, _who: Who, _confinement: Confinement) -> io::Result<Spawner> {
        Err(fault("the walls of Linux are not on this system".to_owned()))
    }
}

fn free(program: &OsStr, args: &[OsString]) -> Held {
    let mut command = Command::new(program);
    command.args(args);
    Held {
        ready: Ready::from(command),
        tmp: None,
        before: None,
    }
}
