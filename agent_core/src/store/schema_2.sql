-- Schema 2. What the model has been told of a session's settings, so that what changes while nobody runs is told too.

ALTER TABLE sessions ADD COLUMN begun TEXT; -- JSON: what the system prompt says
ALTER TABLE sessions ADD COLUMN told TEXT;  -- JSON: what the last note said
