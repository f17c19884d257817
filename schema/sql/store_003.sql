-- The store, version 3: what a cost is may be unknown (a gift that was sent elsewhere), and an item that is not physical has no
-- shipping cost; both are null, and nothing that costs 0.00. A gift from elsewhere of which all is 0 was told without costs.
-- And reports that are kept beside held changes are found by their gift, counted in their index alone (SQLite sees no constant
-- in its condition, so the reason is in it), and know the changes that they were read as: `change_id`, and `sent_id` for the time
-- of sending; 0: none. `to_judge`: the mark of the settings under which those of a source are still to be judged; or empty.
--@sqlite
CREATE TABLE gift_item_003 (
  gift_id             @key@,
  name                TEXT NOT NULL,
  description         TEXT NOT NULL,
  item_cost           BIGINT,
  shipping_cost       BIGINT,
  carbon_neutral_cost BIGINT,
  transaction_fee     BIGINT,
  active              BIGINT NOT NULL,
  picture             TEXT NOT NULL,
  redemption_text     TEXT NOT NULL,
  redemption_link     TEXT NOT NULL
);;
INSERT INTO gift_item_003 SELECT gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost, transaction_fee,
  active, picture, redemption_text, redemption_link FROM gift_item;;
DROP TABLE gift_item;;
ALTER TABLE gift_item_003 RENAME TO gift_item;;
CREATE TABLE gift_request_003 (
  id                  @key@,
  account_id          BIGINT NOT NULL,
  mode                TEXT NOT NULL,
  gift_id             BIGINT NOT NULL,
  item_name           TEXT NOT NULL,
  item_description    TEXT NOT NULL,
  item_cost           BIGINT,
  shipping_cost       BIGINT,
  carbon_neutral_cost BIGINT,
  transaction_fee     BIGINT,
  sender_email        TEXT NOT NULL,
  sender_name         TEXT NOT NULL,
  utm_campaign_id     TEXT,
  triggered_by        TEXT NOT NULL DEFAULT '',
  created_at          BIGINT NOT NULL,
  terms               TEXT NOT NULL DEFAULT ''
);;
INSERT INTO gift_request_003 SELECT id, account_id, mode, gift_id, item_name, item_description, item_cost, shipping_cost,
  carbon_neutral_cost, transaction_fee, sender_email, sender_name, utm_campaign_id, triggered_by, created_at, terms
  FROM gift_request;;
DROP TABLE gift_request;;
ALTER TABLE gift_request_003 RENAME TO gift_request;;
--@postgresql
ALTER TABLE gift_item ALTER COLUMN item_cost DROP NOT NULL, ALTER COLUMN shipping_cost DROP NOT NULL,
  ALTER COLUMN carbon_neutral_cost DROP NOT NULL, ALTER COLUMN transaction_fee DROP NOT NULL;;
ALTER TABLE gift_request ALTER COLUMN item_cost DROP NOT NULL, ALTER COLUMN shipping_cost DROP NOT NULL,
  ALTER COLUMN carbon_neutral_cost DROP NOT NULL, ALTER COLUMN transaction_fee DROP NOT NULL;;
--@end
UPDATE gift_request SET item_cost = NULL, shipping_cost = NULL, carbon_neutral_cost = NULL, transaction_fee = NULL
  WHERE mode = 'external' AND item_cost = 0 AND shipping_cost = 0 AND carbon_neutral_cost = 0 AND transaction_fee = 0;;
ALTER TABLE source_aside ADD COLUMN change_id BIGINT NOT NULL DEFAULT 0;;
ALTER TABLE source_aside ADD COLUMN sent_id BIGINT NOT NULL DEFAULT 0;;
CREATE INDEX source_aside_held ON source_aside (source, transaction_id, reason) WHERE reason = 'no_gift';;
ALTER TABLE source ADD COLUMN to_judge TEXT NOT NULL DEFAULT '';;
