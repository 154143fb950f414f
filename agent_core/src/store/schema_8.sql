-- Schema 8. When a session was put aside, and how it has ended. Titles are looked up, so that no two sessions have one.

ALTER TABLE sessions ADD COLUMN archived_ms INTEGER; -- null for one that is not put aside
ALTER TABLE sessions ADD COLUMN ended_ms INTEGER;    -- null while it is open, and where its process was killed
ALTER TABLE sessions ADD COLUMN end_reason TEXT;     -- closed, disconnected or shutdown

CREATE INDEX sessions_title ON sessions (title) WHERE title IS NOT NULL;

-- Nobody has noted the end of older ones. Those without a lease were let go.
UPDATE sessions SET ended_ms = updated_ms, end_reason = 'closed' WHERE id NOT IN (SELECT session_id FROM leases);
