-- Schema 9. Which sessions are put aside is asked by every search, and must not be looked up in the rows of all of them:
-- each has its system prompt in it.

CREATE INDEX sessions_archived ON sessions (key) WHERE archived_ms IS NOT NULL;
