-- Schema 1. Times are Unix ms and only shown; order is by `seq` within a session and by `events.id` over all.

CREATE TABLE sessions (
    id             TEXT PRIMARY KEY,
    source         TEXT NOT NULL,
    cwd            NOT NULL,             -- text; a blob where a path is no UTF-8
    real_cwd       NOT NULL,             -- `cwd` with its symbolic links resolved when it was stored
    extra_roots    TEXT NOT NULL,        -- a JSON array
    title          TEXT,
    model          TEXT NOT NULL,
    origin         TEXT NOT NULL,        -- JSON
    mode           TEXT NOT NULL,
    system         TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    messages       INTEGER NOT NULL,
    input          INTEGER,
    cached_read    INTEGER,
    cached_write   INTEGER,
    output         INTEGER,
    reasoning      INTEGER,
    context_used   INTEGER,
    context_window INTEGER,
    last_seq       INTEGER NOT NULL,
    last_turn      INTEGER NOT NULL,
    activity       INTEGER NOT NULL      -- `events.id` of its last row: newest activity first, whatever the clock says
);

CREATE INDEX sessions_activity ON sessions (activity);
CREATE INDEX sessions_folder ON sessions (real_cwd, activity);

-- Rows are final.
CREATE TABLE events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    turn       INTEGER,
    at_ms      INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    body       TEXT NOT NULL,            -- the event as JSON, images by their hash
    UNIQUE (session_id, seq)
);

CREATE INDEX events_moves ON events (session_id, seq) WHERE kind = 'history_moved';

-- Bytes by their SHA-256.
CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    bytes  BLOB NOT NULL
) WITHOUT ROWID;

-- The text so far of a message that is still being written, in pieces; dropped with the message's row.
CREATE TABLE partials (
    id         INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    turn       INTEGER,
    event      TEXT NOT NULL,            -- the event as JSON, with empty text
    text       TEXT NOT NULL
);

CREATE INDEX partials_message ON partials (session_id, seq);

-- Who writes to a session.
CREATE TABLE leases (
    session_id TEXT PRIMARY KEY,
    pid        INTEGER NOT NULL,
    started    TEXT NOT NULL,            -- the process's start time; empty where the system does not tell
    place      TEXT NOT NULL,            -- the boot and the PID namespace in which `pid` means something
    beat_ms    INTEGER NOT NULL
);

CREATE TABLE grants (
    id         INTEGER PRIMARY KEY,
    root       NOT NULL,
    program    NOT NULL,
    args       TEXT NOT NULL,            -- a JSON array
    created_ms INTEGER NOT NULL,
    UNIQUE (root, program, args)
);
