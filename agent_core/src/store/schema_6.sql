-- Schema 6. What was said can be searched; the index itself is made by `index.rs`, which also makes it anew. What a fork
-- has copied is found in the session it came from, and in a copy only when that is gone.

ALTER TABLE events ADD COLUMN original INTEGER; -- the `id` of the row this one is a copy of; null for one that is none

CREATE INDEX events_copies ON events (original) WHERE original IS NOT NULL;
