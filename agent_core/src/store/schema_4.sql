-- Schema 4. Where a session was forked from, what its client adds to the system prompt, and which sessions use which
-- bytes, so that those go with the last of them.

ALTER TABLE sessions ADD COLUMN parent_id TEXT;      -- null for a session that was begun anew
ALTER TABLE sessions ADD COLUMN parent_seq INTEGER;  -- the last row that was copied from there
ALTER TABLE sessions ADD COLUMN instructions TEXT;   -- JSON

CREATE TABLE blob_uses (
    sha256     TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    PRIMARY KEY (sha256, session_id)
) WITHOUT ROWID;

CREATE INDEX blob_uses_session ON blob_uses (session_id);

-- A row that is no JSON is passed over here as it is everywhere.
INSERT OR IGNORE INTO blob_uses (sha256, session_id)
SELECT substr(piece.atom, 8), events.session_id
FROM events, json_tree(CASE WHEN json_valid(events.body) THEN events.body ELSE 'null' END) AS piece
WHERE instr(events.body, '"sha256:') > 0 AND piece.key = 'data' AND substr(piece.atom, 1, 7) = 'sha256:'
  AND substr(piece.atom, 8) IN (SELECT sha256 FROM blobs);

CREATE TRIGGER events_use_blobs AFTER INSERT ON events WHEN instr(new.body, '"sha256:') > 0 BEGIN
    INSERT OR IGNORE INTO blob_uses (sha256, session_id)
    SELECT substr(piece.atom, 8), new.session_id FROM json_tree(new.body) AS piece
    WHERE piece.key = 'data' AND substr(piece.atom, 1, 7) = 'sha256:'
      AND substr(piece.atom, 8) IN (SELECT sha256 FROM blobs);
END;

CREATE TRIGGER blobs_go_with_their_last_use AFTER DELETE ON blob_uses BEGIN
    DELETE FROM blobs WHERE sha256 = old.sha256
      AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE sha256 = old.sha256);
END;
