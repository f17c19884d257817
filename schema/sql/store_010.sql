-- The caller's own reference of a gift request and of each of its gifts; empty: none.
ALTER TABLE gift_request ADD COLUMN reference TEXT NOT NULL DEFAULT '';;
ALTER TABLE recipient_transaction ADD COLUMN reference TEXT NOT NULL DEFAULT '';;

-- Finds them: a row for each reference that is not empty. `transaction_id` 0: of the request. A table of its own, since an index on
-- those would take long to make (ARCH-13).
CREATE TABLE gift_reference (
  reference      TEXT NOT NULL,
  request_id     BIGINT NOT NULL,
  transaction_id BIGINT NOT NULL,
  PRIMARY KEY (reference, request_id, transaction_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;
CREATE INDEX gift_reference_request ON gift_reference (request_id, transaction_id);;

-- Until when a gift can be accepted that was extended, if its terms end it before; null: never extended.
ALTER TABLE recipient_transaction ADD COLUMN extended_until BIGINT;;

-- Of a key that a version used which did not know `reference`, and on endpoint A not utm_campaign_id: `body_hash` leaves these out.
-- Such a version names no such column; this one inserts 0.
ALTER TABLE gift_request_idempotency ADD COLUMN is_former BIGINT NOT NULL DEFAULT 1;;
