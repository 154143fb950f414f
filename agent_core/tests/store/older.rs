//! Stores of older versions, made of the newest.

use std::path::Path;

use rusqlite::Connection;

/// Nobody knows how sessions have ended, and several may have one title.
pub(crate) const TO_SCHEMA_7: &str = "DROP INDEX sessions_archived; DROP INDEX sessions_title;
     ALTER TABLE sessions DROP COLUMN archived_ms; ALTER TABLE sessions DROP COLUMN ended_ms;
     ALTER TABLE sessions DROP COLUMN end_reason;
     PRAGMA user_version = 7;";

/// Rows name their session by its id.
const TO_SCHEMA_6: &str = "DROP TRIGGER events_use_blobs;
     CREATE TABLE older (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions (id)
         ON DELETE CASCADE, seq INTEGER NOT NULL, turn INTEGER, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
         body TEXT NOT NULL, original INTEGER, UNIQUE (session_id, seq));
     INSERT INTO older SELECT events.id, sessions.id, seq, turn, at_ms, kind, body, original
         FROM events JOIN sessions ON sessions.key = session;
     UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'events') WHERE name = 'older';
     DROP TABLE events;
     ALTER TABLE older RENAME TO events;
     CREATE INDEX events_moves ON events (session_id, seq) WHERE kind = 'history_moved';
     CREATE INDEX events_copies ON events (original) WHERE original IS NOT NULL;
     DROP INDEX sessions_key;
     ALTER TABLE sessions DROP COLUMN key;
     PRAGMA user_version = 6;";

/// Nothing is indexed.
pub(crate) const TO_SCHEMA_5: &str = "DROP TABLE search; DROP INDEX events_copies;
     ALTER TABLE events DROP COLUMN original;
     PRAGMA user_version = 5;";

/// Nobody knows which bytes are whose.
pub(crate) const TO_SCHEMA_3: &str = "DROP TRIGGER blobs_go_with_their_last_use; DROP TABLE blob_uses;
     ALTER TABLE sessions DROP COLUMN parent_id; ALTER TABLE sessions DROP COLUMN parent_seq;
     ALTER TABLE sessions DROP COLUMN instructions; ALTER TABLE grants DROP COLUMN tool;
     PRAGMA user_version = 3;";

/// Takes a closed store's database back to schema 6, then by these steps further.
pub(crate) fn make_older(folder: &Path, steps: &[&str]) {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    for step in [TO_SCHEMA_7, TO_SCHEMA_6].iter().chain(steps) {
        connection.execute_batch(step).unwrap();
    }
}
