-- Schema 3. What a session has cost, and how much its model should think.

ALTER TABLE sessions ADD COLUMN cost_nano_usd INTEGER; -- billionths of a US dollar; null where nobody said
ALTER TABLE sessions ADD COLUMN thought TEXT;          -- off, low, medium or high; null leaves it to the service
