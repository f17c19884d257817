-- What has to be published in the feed (API-10): one row for each object that has changed since the feed last looked at it.
-- `kind`: 1 a gift, by its id; 2 a request record, by the id of its transition; 3 a held gift request, by its request's id.
-- `reasons`, bits: 1 it was made, 2 it has changed, 4 to be published even if its version is the same. `marked_at`: when the first of
-- them came, by the clock of the daemon.
CREATE TABLE feed_queue (
  object_id BIGINT NOT NULL,
  kind      BIGINT NOT NULL,
  reasons   BIGINT NOT NULL,
  marked_at BIGINT NOT NULL,
  PRIMARY KEY (kind, object_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;

-- What has happened, in the order of the commits: `seq` is allotted from id_block at the end of the transaction, which holds that row
-- until its commit. `object_id`: a gift's, a gift request's, or 0. `record`: the Id of a request record, or the name of what the
-- event is about; else empty. `account_id` 0: of no account. `recorded_at`: by the database's clock, never below the event before.
CREATE TABLE feed_event (
  seq             @key@,
  type            TEXT NOT NULL,
  object_id       BIGINT NOT NULL,
  record          TEXT NOT NULL,
  account_id      BIGINT NOT NULL,
  organization_id BIGINT,
  status_before   TEXT NOT NULL,
  status_after    TEXT NOT NULL,
  version         BIGINT NOT NULL,
  recorded_at     BIGINT NOT NULL,
  is_test         BIGINT NOT NULL
);;
CREATE INDEX feed_event_object ON feed_event (object_id, seq);;
CREATE INDEX feed_event_age ON feed_event (recorded_at, seq);;
INSERT INTO id_block (name, next_id) VALUES ('feed_event', 1);;

-- What of a gift was published: its status then, a bit for each status that it came to, and its version: "opened 13 4". Empty:
-- nothing yet.
ALTER TABLE recipient_transaction ADD COLUMN published TEXT NOT NULL DEFAULT '';;
