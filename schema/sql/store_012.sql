-- What gifts add to the counts of reports, until a worker adds it to gift_rollup (NUM-3). A row for each change of a group of gifts
-- that have these columns in common; numbers may be negative. `day`: of sending, in days since 1970 by UTC. `organization_id`,
-- `account_id` 0: of none. `item`: "17", or "=Name" of a gift sent elsewhere whose item has no number here. `campaign`: "=autumn";
-- empty: none. `source`: gift_source. The other columns are as of gift_rollup.
CREATE TABLE gift_rollup_delta (
--@sqlite
  id              INTEGER PRIMARY KEY,
--@postgresql
  id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  day             BIGINT NOT NULL,
  organization_id BIGINT NOT NULL,
  account_id      BIGINT NOT NULL,
  item            TEXT NOT NULL,
  campaign        TEXT NOT NULL,
  source          TEXT NOT NULL,
  sent            BIGINT NOT NULL DEFAULT 0,
  delivered       BIGINT NOT NULL DEFAULT 0,
  undelivered     BIGINT NOT NULL DEFAULT 0,
  opened          BIGINT NOT NULL DEFAULT 0,
  redeemed        BIGINT NOT NULL DEFAULT 0,
  donated         BIGINT NOT NULL DEFAULT 0,
  expired         BIGINT NOT NULL DEFAULT 0,
  refunded        BIGINT NOT NULL DEFAULT 0,
  cost            BIGINT NOT NULL DEFAULT 0,
  refunded_cost   BIGINT NOT NULL DEFAULT 0,
  redeem_seconds  BIGINT NOT NULL DEFAULT 0,
  redeemed_1h     BIGINT NOT NULL DEFAULT 0,
  redeemed_6h     BIGINT NOT NULL DEFAULT 0,
  redeemed_1d     BIGINT NOT NULL DEFAULT 0,
  redeemed_3d     BIGINT NOT NULL DEFAULT 0,
  redeemed_7d     BIGINT NOT NULL DEFAULT 0,
  redeemed_14d    BIGINT NOT NULL DEFAULT 0,
  redeemed_30d    BIGINT NOT NULL DEFAULT 0,
  redeemed_later  BIGINT NOT NULL DEFAULT 0
);;

-- The counts of reports: of the gifts that were sent on a day, by one dimension. `dimension`: 0 all, 1 account, 2 item, 3 campaign,
-- 4 source. `key`: of all empty; "17" of account 17, empty: none; else as in gift_rollup_delta; the campaign "*": those that are not
-- counted apart. A gift counts in each status that it came to. `cost` of all of them, `refunded_cost` of the refunded ones, in cents.
-- `redeem_seconds`: the sum of the times from sending to redeeming; `redeemed_6h`: redeemed after one hour and within six.
CREATE TABLE gift_rollup (
  dimension       BIGINT NOT NULL,
  day             BIGINT NOT NULL,
  organization_id BIGINT NOT NULL,
  key             @id@ NOT NULL,
  sent            BIGINT NOT NULL,
  delivered       BIGINT NOT NULL,
  undelivered     BIGINT NOT NULL,
  opened          BIGINT NOT NULL,
  redeemed        BIGINT NOT NULL,
  donated         BIGINT NOT NULL,
  expired         BIGINT NOT NULL,
  refunded        BIGINT NOT NULL,
  cost            BIGINT NOT NULL,
  refunded_cost   BIGINT NOT NULL,
  redeem_seconds  BIGINT NOT NULL,
  redeemed_1h     BIGINT NOT NULL,
  redeemed_6h     BIGINT NOT NULL,
  redeemed_1d     BIGINT NOT NULL,
  redeemed_3d     BIGINT NOT NULL,
  redeemed_7d     BIGINT NOT NULL,
  redeemed_14d    BIGINT NOT NULL,
  redeemed_30d    BIGINT NOT NULL,
  redeemed_later  BIGINT NOT NULL,
  PRIMARY KEY (dimension, day, organization_id, key)
)
--@sqlite
WITHOUT ROWID
--@end
;;

-- Locked by what changes gift_rollup; the value changes with each repair (NUM-5).
INSERT INTO store_metadata (name, value) VALUES ('gift_rollup', '');;
-- Which gifts are counted: "all"; "20780": those of that day and later; without this row none from before the counts.
INSERT INTO store_metadata (name, value) SELECT 'gift_rollup_filled', 'all' FROM id_block WHERE name = 'gift_request' AND next_id = 1
  AND NOT EXISTS (SELECT 1 FROM daemon_instance);;

-- Whether the daemon inserts into gift_rollup_delta; versions before this one do not.
ALTER TABLE daemon_instance ADD COLUMN counts_gifts BIGINT NOT NULL DEFAULT 0;;

-- Whether the gift's row has the status of its changes (NUM-6): 0 not known; 1 a change came since; 2 it has.
ALTER TABLE crm_outbox ADD COLUMN to_fold BIGINT NOT NULL DEFAULT 0;;
--@background
CREATE INDEX crm_outbox_to_fold ON crm_outbox (transaction_id) WHERE to_fold = 1;;
--@end
