-- Schema 5. Permissions for tools of MCP servers. They hold in every folder: their root is empty, and where a command has
-- its program and arguments they have what tells the server from others, and the tool with the hash of its description.

ALTER TABLE grants ADD COLUMN tool TEXT; -- JSON: the tool; null for a command
