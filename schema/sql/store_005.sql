-- Budgets that an admin set, instead of those of the settings. `scope`: 'all', 'organization:3' or 'account:17'. Null: as the
-- settings say; 0: no limit. Amounts are in cents.
CREATE TABLE sending_budget (
  scope        @id@ PRIMARY KEY NOT NULL,
  day_gifts    BIGINT,
  day_amount   BIGINT,
  month_gifts  BIGINT,
  month_amount BIGINT,
  changed_at   BIGINT NOT NULL,
  changed_by   TEXT NOT NULL
);;

-- What was requested in a period and is not refunded. `id`: the period and the scope, '2026-11-28 account:17', '2026-11 all'; of a
-- burst when its window began, its minutes and the key or token, 'burst:1795860000000:10 gsk_abc'. The row '2026-11 counted account'
-- says that accounts were counted in the period: one without a row has requested nothing. `warned`: the highest threshold in percent
-- that was reported.
CREATE TABLE sending_usage (
  id     @id@ PRIMARY KEY NOT NULL,
  gifts  BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  warned BIGINT NOT NULL DEFAULT 0
);;

-- Gifts that were refunded (negative), or whose refund was voided, until a worker adds them to sending_usage.
CREATE TABLE sending_adjustment (
--@sqlite
  id              INTEGER PRIMARY KEY,
--@postgresql
  id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  account_id      BIGINT NOT NULL,
  organization_id BIGINT,
  sending_day     TEXT NOT NULL,
  gifts           BIGINT NOT NULL,
  amount          BIGINT NOT NULL
);;

-- In which budgets the gifts of the request count, whatever the settings become: the day '2026-11-28' of sending.time_zone, and
-- the account's organization then. Empty: it counts in none.
ALTER TABLE gift_request ADD COLUMN organization_id BIGINT;;
ALTER TABLE gift_request ADD COLUMN sending_day TEXT NOT NULL DEFAULT '';;
CREATE INDEX gift_request_sending_day ON gift_request (sending_day) WHERE sending_day <> '';;

-- Gift requests that wait for a person. `request_id`: allotted to the gift request that it becomes. `content`: JSON of what the
-- caller sent, from which it is made; emptied 30 days after the decision. `findings`: why it waits, one code, field and message
-- a line, with a tabulator between. `state`: held, sent, rejected or expired.
CREATE TABLE held_gift_request (
  request_id        BIGINT PRIMARY KEY NOT NULL,
  account_id        BIGINT NOT NULL,
  organization_id   BIGINT,
  mode              TEXT NOT NULL,
  gift_id           BIGINT NOT NULL,
  credential_prefix TEXT NOT NULL,
  content           TEXT NOT NULL,
  gifts             BIGINT NOT NULL,
  amount            BIGINT,
  findings          TEXT NOT NULL,
  state             TEXT NOT NULL,
  held_at           BIGINT NOT NULL,
  expires_at        BIGINT NOT NULL,
  decided_at        BIGINT,
  decided_by        TEXT NOT NULL DEFAULT '',
  comment           TEXT NOT NULL DEFAULT ''
);;
CREATE INDEX held_gift_request_held ON held_gift_request (request_id) WHERE state = 'held';;
CREATE INDEX held_gift_request_end ON held_gift_request (expires_at) WHERE state = 'held';;
CREATE INDEX held_gift_request_decided ON held_gift_request (decided_at) WHERE content <> '';;

-- The domains to which a gift was ever requested.
CREATE TABLE recipient_domain (
  domain   @id@ PRIMARY KEY NOT NULL,
  first_at BIGINT NOT NULL
);;
INSERT INTO recipient_domain (domain, first_at) SELECT domain, min(sent_at) FROM (
--@sqlite
  SELECT lower(trim(substr(email, instr(email, '@') + 1))) AS domain, sent_at FROM recipient_transaction
  WHERE gift_source = '' AND instr(email, '@') > 0
--@postgresql
  SELECT lower(trim(split_part(email, '@', 2)) COLLATE "C") AS domain, sent_at FROM recipient_transaction
  WHERE gift_source = '' AND position('@' IN email) > 0
--@end
) sent GROUP BY domain;;
