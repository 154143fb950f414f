//! What keeps the writer from writing, in words for people: another try later, or the end of all writing.

use std::time::{Duration, Instant};

use rusqlite::ErrorCode;
use rusqlite::config::DbConfig;

use super::Writer;
use crate::store::log::Loss;
use crate::store::trouble::Trouble;

impl Writer {
    /// Whether anything may be written; gives up if the log was replaced. To be asked before each write.
    pub(super) fn may_write(&mut self) -> bool {
        let log = self.log.as_mut().filter(|_| !self.damaged);
        let loss = log.and_then(|log| log.loss(&self.connection));
        if let Some(loss) = loss {
            let place = self.place();
            let what = match loss {
                Loss::LogReplaced => format!("another program has replaced the log of the session database {place}"),
                Loss::LogCut => format!("another program has cut off the log of the session database {place}"),
                Loss::DatabaseReplaced => format!("another file has taken the place of the session database {place}"),
                Loss::DatabaseDeleted => format!("the session database {place} was deleted"),
            };
            self.give_up(format!(
                "{what}. This session goes on in memory only. End all agents and start again."
            ));
        }
        !self.damaged
    }

    pub(super) fn wait(&mut self, error: &rusqlite::Error) {
        let place = self.place();
        let code = error.sqlite_error_code();
        self.is_busy = matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
        let trouble = match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy { place },
            Some(ErrorCode::DiskFull) => {
                self.is_full = true;
                Trouble::Full { place }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                return self.give_up_damaged(&error.to_string());
            }
            _ => Trouble::Fault {
                place,
                why: error.to_string(),
            },
        };
        let reason = trouble.of_rows();
        if self.queue.set_trouble(trouble) {
            tracing::warn!(reason, "can't store now");
        }
        self.retry_later();
    }

    pub(super) fn retry_later(&mut self) {
        const FIRST: Duration = Duration::from_millis(50);
        const LAST: Duration = Duration::from_secs(1);
        let pause = self.retry.map_or(FIRST, |(_, pause)| (pause * 2).min(LAST));
        // Several processes that wait for the same disk should not come back at the same moment.
        let jitter = pause.mul_f64(fastrand::f64() / 2.0);
        self.retry = Some((Instant::now() + pause + jitter, pause));
    }

    pub(super) fn give_up_damaged(&mut self, fault: &str) {
        if !self.damaged {
            self.give_up(format!(
                "the session database {} is damaged ({fault}). This session goes on in memory only. End all \
                 agents, then run `agent doctor --repair`, which saves what can be read.",
                self.place()
            ));
        }
    }

    /// Never writes anything.
    pub(super) fn only_look(&mut self) {
        self.damaged = true;
        let why = format!("{} can't be written.", self.place());
        self.queue.set_trouble(Trouble::GivenUp { why });
    }

    /// Stops writing for good. Not even the end of the connection moves the log into the database then.
    pub(super) fn give_up(&mut self, why: String) {
        tracing::error!(why, "nothing is stored any more");
        self.damaged = true;
        self.retry = None;
        self.queue.set_trouble(Trouble::GivenUp { why });
        let connection = self.connection.lock();
        if let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
            tracing::error!(%error, "the log may be moved into the database at the end");
        }
    }

    /// The database's path, for people.
    pub(super) fn place(&self) -> String {
        self.path
            .as_ref()
            .map_or("memory".into(), |path| path.display().to_string())
    }
}
