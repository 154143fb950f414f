-- Schema 7. Rows name their session by a number: its `id` took a tenth of the file.

ALTER TABLE sessions ADD COLUMN key INTEGER;
UPDATE sessions SET key = rowid;
CREATE UNIQUE INDEX sessions_key ON sessions (key);

-- Rows are final.
CREATE TABLE keyed_events (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    session  INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    turn     INTEGER,
    at_ms    INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL,    -- the event as JSON, images by their hash
    original INTEGER,          -- the `id` of the row this one is a copy of; null for one that is none
    UNIQUE (session, seq)
);

INSERT INTO keyed_events (id, session, seq, turn, at_ms, kind, body, original)
SELECT events.id, sessions.key, seq, turn, at_ms, kind, body, original
FROM events JOIN sessions ON sessions.id = events.session_id ORDER BY events.id;

-- A number is never given twice, not even that of a row that is gone.
INSERT INTO sqlite_sequence (name, seq) SELECT 'keyed_events', 0
WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'keyed_events');
UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0))
WHERE name = 'keyed_events';

DROP TABLE events;
ALTER TABLE keyed_events RENAME TO events;

CREATE INDEX events_moves ON events (session, seq) WHERE kind = 'history_moved';
CREATE INDEX events_copies ON events (original) WHERE original IS NOT NULL;

CREATE TRIGGER events_use_blobs AFTER INSERT ON events WHEN instr(new.body, '"sha256:') > 0 BEGIN
    INSERT OR IGNORE INTO blob_uses (sha256, session_id)
    SELECT substr(piece.atom, 8), (SELECT id FROM sessions WHERE key = new.session) FROM json_tree(new.body) AS piece
    WHERE piece.key = 'data' AND substr(piece.atom, 1, 7) = 'sha256:'
      AND substr(piece.atom, 8) IN (SELECT sha256 FROM blobs);
END;
