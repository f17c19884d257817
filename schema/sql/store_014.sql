-- Of a gift's event: the time of the status that its type names, as the gift had it when the event was published (API-11). Null: of
-- other events, of a status without a known time, and of events that a former version inserted.
ALTER TABLE feed_event ADD COLUMN occurred_at BIGINT;;
