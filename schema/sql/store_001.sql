-- The store, version 1. Times are UTC milliseconds, money is minor units, both BIGINT on both back ends.
-- The tables that every gift request writes have no foreign keys: their rows go in together, in one transaction, with ids
-- that the store allotted, and each key would cost a look-up per row.

CREATE TABLE store_fact (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);;

-- Ids are taken in blocks (hi-lo), so that a request knows its ids before its transaction begins.
CREATE TABLE id_block (
  name    TEXT PRIMARY KEY,
  next_id BIGINT NOT NULL
);;
INSERT INTO id_block (name, next_id) VALUES ('account', 1), ('key', 1), ('request', 1), ('transaction', 1), ('change', 1), ('aside', 1),
  ('organization', 1), ('token', 1);;

-- The companies whose CRM may send (Spec 5.6), each known by its tokens.
CREATE TABLE organization (
  id         @key@,
  name       TEXT NOT NULL,
  name_key   TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);;

CREATE TABLE organization_token (
  id              @key@,
  organization_id BIGINT NOT NULL REFERENCES organization (id),
  prefix          TEXT NOT NULL,
  hash            TEXT NOT NULL UNIQUE,
  created_at      BIGINT NOT NULL,
  expires_at      BIGINT,
  revoked_at      BIGINT
);;

CREATE TABLE account (
  id              @key@,
  email           TEXT NOT NULL,
  email_key       TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL,
  plan            TEXT NOT NULL,
  active          BIGINT NOT NULL,
  organization_id BIGINT REFERENCES organization (id),
  created_at      BIGINT NOT NULL
);;

CREATE TABLE api_key (
  id           @key@,
  account_id   BIGINT NOT NULL REFERENCES account (id),
  prefix       TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  scopes       TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  revoked_at   BIGINT,
  last_used_at BIGINT
);;
CREATE INDEX api_key_account ON api_key (account_id);;

CREATE TABLE gift_item (
  gift_id             @key@,
  name                TEXT NOT NULL,
  description         TEXT NOT NULL,
  item_cost           BIGINT NOT NULL,
  shipping_cost       BIGINT NOT NULL,
  carbon_neutral_cost BIGINT NOT NULL,
  transaction_fee     BIGINT NOT NULL,
  active              BIGINT NOT NULL,
  picture             TEXT NOT NULL,
  redemption_text     TEXT NOT NULL,
  redemption_link     TEXT NOT NULL
);;

-- What one call asked for. Item and sender are as they were when the gift was sent: later edits change no gift.
-- `triggered_by`: the CRM user at whose hand it was sent, if one is known (Actual Sender). `terms`: what the life of its
-- gifts goes by, as the settings were then; empty for gifts that were sent elsewhere.
CREATE TABLE gift_request (
  id                  @key@,
  account_id          BIGINT NOT NULL,
  mode                TEXT NOT NULL,
  gift_id             BIGINT NOT NULL,
  item_name           TEXT NOT NULL,
  item_description    TEXT NOT NULL,
  item_cost           BIGINT NOT NULL,
  shipping_cost       BIGINT NOT NULL,
  carbon_neutral_cost BIGINT NOT NULL,
  transaction_fee     BIGINT NOT NULL,
  sender_email        TEXT NOT NULL,
  sender_name         TEXT NOT NULL,
  utm_campaign_id     TEXT,
  triggered_by        TEXT NOT NULL DEFAULT '',
  created_at          BIGINT NOT NULL,
  terms               TEXT NOT NULL DEFAULT ''
);;

-- One gift to one person, with its state as folded from the change log so far. `contradictory`: something in its history
-- contradicts something else. `origin` is empty for our own gifts; for one that was sent elsewhere it is the name of the
-- source that reported it, under whose id it is kept, or 'crm' for one whose record was in the CRM before giftsync. Such a
-- record may have a status without its time: `untimed_status`. `due_at`: when a timer is to look at it, for a deadline or a
-- reminder; null when nothing is to come. `reminded_day`: the last reminder day that was seen to.
CREATE TABLE recipient_transaction (
  id             @key@,
  request_id     BIGINT NOT NULL,
  position       BIGINT NOT NULL,
  email          TEXT NOT NULL,
  first_name     TEXT NOT NULL,
  last_name      TEXT NOT NULL,
  message        TEXT NOT NULL,
  generation     BIGINT NOT NULL,
  status         TEXT NOT NULL,
  sent_at        BIGINT NOT NULL,
  delivered_at   BIGINT,
  undelivered_at BIGINT,
  opened_at      BIGINT,
  redeemed_at    BIGINT,
  donated_at     BIGINT,
  expired_at     BIGINT,
  refunded_at    BIGINT,
  contradictory  BIGINT NOT NULL DEFAULT 0,
  version        BIGINT NOT NULL,
  phone          TEXT NOT NULL DEFAULT '',
  origin         TEXT NOT NULL DEFAULT '',
  untimed_status TEXT NOT NULL DEFAULT '',
  due_at         BIGINT,
  resent_at      BIGINT,
  reminded_day   BIGINT NOT NULL DEFAULT 0
);;
CREATE INDEX recipient_transaction_due ON recipient_transaction (due_at) WHERE due_at IS NOT NULL;;
CREATE INDEX recipient_transaction_external ON recipient_transaction (id) WHERE origin <> '';;
CREATE INDEX recipient_transaction_request ON recipient_transaction (request_id, position);;
CREATE INDEX recipient_transaction_contradictory ON recipient_transaction (id) WHERE contradictory = 1;;

CREATE TABLE idempotency (
  account_id BIGINT NOT NULL,
  mode       TEXT NOT NULL,
  key        TEXT NOT NULL,
  body_hash  TEXT NOT NULL,
  request_id BIGINT NOT NULL,
  warnings   TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, mode, key)
);;
CREATE INDEX idempotency_age ON idempotency (created_at);;

-- Where the value of a donated gift goes (settings: pages.charities, as they were then); empty: the sender's company chooses.
CREATE TABLE donation (
  transaction_id @key@,
  charity        TEXT NOT NULL,
  link           TEXT NOT NULL
);;

-- Codes that recipients of an item are given when they accept: one each, in the order in which they were imported, never one
-- twice. `transaction_id`: who has it; the unique key is why nobody gets two.
CREATE TABLE gift_code (
--@sqlite
  id             INTEGER PRIMARY KEY,
--@postgresql
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  gift_id        BIGINT NOT NULL,
  code           TEXT NOT NULL,
  imported_at    BIGINT NOT NULL,
  transaction_id BIGINT UNIQUE,
  handed_out_at  BIGINT,
  UNIQUE (gift_id, code)
);;
CREATE INDEX gift_code_left ON gift_code (gift_id, id) WHERE transaction_id IS NULL;;

-- The outbox: one row for each gift that goes out by e-mail. A gift that is sent again, or a reminder of it, takes the
-- same row as the gift's next mail: `kind`, `number`.
CREATE TABLE delivery (
  transaction_id @key@,
  state          TEXT NOT NULL,
  attempt        BIGINT NOT NULL,
  due_at         BIGINT NOT NULL,
  message_id     TEXT NOT NULL,
  first_try_at   BIGINT,
  repeats        BIGINT NOT NULL,
  last_reply     TEXT NOT NULL,
  updated_at     BIGINT NOT NULL,
  lease_owner    TEXT NOT NULL,
  lease_until    BIGINT NOT NULL,
  kind           TEXT NOT NULL DEFAULT 'gift',
  number         BIGINT NOT NULL DEFAULT 1,
  ordered_at     BIGINT NOT NULL DEFAULT 0
);;
CREATE INDEX delivery_due ON delivery (due_at) WHERE state IN ('queued', 'sending', 'uncertain');;

-- What was done to a gift apart from its status: sent again, reminded of, cancelled; who did it, and what it meant.
CREATE TABLE gift_act (
--@sqlite
  id             INTEGER PRIMARY KEY,
--@postgresql
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  transaction_id BIGINT NOT NULL,
  done_at        BIGINT NOT NULL,
  what           TEXT NOT NULL,
  who            TEXT NOT NULL,
  remark         TEXT NOT NULL
);;
CREATE INDEX gift_act_gift ON gift_act (transaction_id, id);;

-- At most one row: the transport is at fault and the outbox rests until then.
CREATE TABLE delivery_pause (
  id       @key@,
  since    BIGINT NOT NULL,
  until    BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  reason   TEXT NOT NULL
);;

-- Every status change that was ever accepted, once. `held`: its transaction is not known yet. `premise`: what a change of
-- giftsync's own timers rests on, else empty. `origin`: that of the transactions which this change may apply to. One that
-- was voided stays, and counts no more. SQLite keeps it in the order of what makes a change the same, so that the changes
-- of one gift lie together.
CREATE TABLE change_log (
--@sqlite
  id             BIGINT NOT NULL UNIQUE,
--@postgresql
  id             @key@,
--@end
  source         TEXT NOT NULL,
  transaction_id BIGINT NOT NULL,
  status         TEXT NOT NULL,
  premise        TEXT NOT NULL DEFAULT '',
  occurred_at    BIGINT NOT NULL,
  received_at    BIGINT NOT NULL,
  held           BIGINT NOT NULL,
  voided_at      BIGINT,
  voided_by      TEXT,
  void_reason    TEXT,
  origin         TEXT NOT NULL DEFAULT '',
--@sqlite
  PRIMARY KEY (transaction_id, status, premise, occurred_at, source)
) WITHOUT ROWID
--@postgresql
  UNIQUE (transaction_id, status, premise, occurred_at, source)
)
--@end
;;
CREATE INDEX change_log_held ON change_log (source, transaction_id) WHERE held = 1;;
CREATE INDEX change_log_held_id ON change_log (id) WHERE held = 1;;
CREATE INDEX change_log_held_lately ON change_log (received_at) WHERE held = 1;;

CREATE TABLE change_event (
  change_id BIGINT NOT NULL,
  event_id  TEXT NOT NULL,
  PRIMARY KEY (change_id, event_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;

-- The sync loop's queue: a transaction with a mark has something the CRM does not know yet. `seq` grows with every
-- change that comes while its transaction is claimed, so that it is not closed with what is being synced. What fell due in
-- the same ten seconds is taken in the order of the transactions, which lie together.
CREATE TABLE sync_mark (
  transaction_id @key@,
  seq            BIGINT NOT NULL,
  due_at         BIGINT NOT NULL,
  attempts       BIGINT NOT NULL,
  lease_owner    TEXT NOT NULL,
  lease_until    BIGINT NOT NULL,
  last_error     TEXT NOT NULL
);;
CREATE INDEX sync_mark_due ON sync_mark ((due_at / 10000), transaction_id);;

-- What the CRM has been told of a transaction: to whom it was matched and why, decided once, and how far it was written.
-- `needs_rematch`: the CRM refused a lookup of it. `task`: where its task in the CRM stands.
CREATE TABLE gift_mirror (
  transaction_id  @key@,
  state           TEXT NOT NULL,
  decided_at      BIGINT NOT NULL,
  contact_id      TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  lead_id         TEXT NOT NULL,
  opportunity_id  TEXT NOT NULL,
  deal_stage      TEXT NOT NULL,
  sender_id       TEXT NOT NULL,
  reason          TEXT NOT NULL,
  warnings        TEXT NOT NULL,
  written_version BIGINT NOT NULL,
  error           TEXT NOT NULL,
  needs_rematch   BIGINT NOT NULL,
  task            TEXT NOT NULL
);;

-- The sources of changes (settings: sources): how far a poll has come, how the source stands, what came from it so far.
-- `position` is the poller's own text; `revision` grows with it, so that a poller that slept cannot set it back.
CREATE TABLE source (
  name          TEXT PRIMARY KEY,
  state         TEXT NOT NULL,
  state_since   BIGINT NOT NULL,
  reason        TEXT NOT NULL,
  position      TEXT NOT NULL,
  revision      BIGINT NOT NULL,
  due_at        BIGINT NOT NULL,
  failures      BIGINT NOT NULL,
  lease_owner   TEXT NOT NULL,
  lease_until   BIGINT NOT NULL,
  last_heard_at BIGINT,
  accepted      BIGINT NOT NULL,
  repeated      BIGINT NOT NULL,
  ignored       BIGINT NOT NULL,
  gifts         BIGINT NOT NULL,
  refused       BIGINT NOT NULL
);;

-- Ids of webhook messages that were taken, so that a message sent again changes nothing.
CREATE TABLE source_message (
  source      TEXT NOT NULL,
  message_id  TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (source, message_id)
);;
CREATE INDEX source_message_age ON source_message (received_at);;

-- What a source said that cannot be applied: an unmapped word, an unbelievable time. `report` is what the daemon needs to
-- read it again under other settings; `digest` is the same for the same report.
CREATE TABLE source_aside (
  id             @key@,
  source         TEXT NOT NULL,
  digest         TEXT NOT NULL,
  reason         TEXT NOT NULL,
  word           TEXT NOT NULL,
  detail         TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  report         TEXT NOT NULL,
  received_at    BIGINT NOT NULL,
  UNIQUE (source, digest)
);;

-- How far a backfill has come, so that one that was killed goes on where it stopped; its row goes when it is done. `run` is
-- whose position it is: a run that finds a row takes it over. `counts` is the command's own text.
CREATE TABLE backfill (
  name           TEXT PRIMARY KEY,
  run            TEXT NOT NULL,
  transaction_id BIGINT NOT NULL,
  counts         TEXT NOT NULL
);;

-- What is known of each request record of the CRM, by its Id there (design 3.3). `state`: pending, approved, claimed (being
-- sent), rejected, sent. `shown`: the Request Status that the CRM is known to show; another one there is somebody's edit.
-- `approved_content`: what the approval is bound to. `order_text`: what is sent once the claim is made. `due_at`: when to
-- look at it again without being told. `asked_by`: who made it by command or over HTTP.
CREATE TABLE request_state (
  request_key      TEXT PRIMARY KEY,
  number           TEXT NOT NULL,
  state            TEXT NOT NULL,
  shown            TEXT NOT NULL,
  approval         TEXT NOT NULL,
  approved_by      TEXT NOT NULL,
  approved_content TEXT NOT NULL,
  order_text       TEXT NOT NULL,
  asked_by         TEXT NOT NULL,
  error            TEXT NOT NULL,
  failures         BIGINT NOT NULL,
  due_at           BIGINT,
  deleted          BIGINT NOT NULL,
  version          BIGINT NOT NULL
);;
CREATE INDEX request_state_due ON request_state (due_at) WHERE due_at IS NOT NULL;;

-- Every move of a request: who, when, from, to, why.
CREATE TABLE request_move (
--@sqlite
  id          INTEGER PRIMARY KEY,
--@postgresql
  id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  request_key TEXT NOT NULL,
  moved_at    BIGINT NOT NULL,
  who         TEXT NOT NULL,
  from_state  TEXT NOT NULL,
  to_state    TEXT NOT NULL,
  remark      TEXT NOT NULL
);;
CREATE INDEX request_move_request ON request_move (request_key, id);;

-- Request records that are made over HTTP under an Idempotency-Key: each is made once, under its creation_key in the CRM.
-- `request_key` and `number` are those of the record, once it is known to stand.
CREATE TABLE request_making (
  account_id   BIGINT NOT NULL,
  key          TEXT NOT NULL,
  body_hash    TEXT NOT NULL,
  creation_key TEXT NOT NULL UNIQUE,
  request_key  TEXT NOT NULL,
  number       TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (account_id, key)
);;
CREATE INDEX request_making_age ON request_making (created_at);;

-- Which gift request was sent for a request record, and what its gift record refers to. Written in the gift request's own
-- transaction and never pruned: this row is why a request is sent once, whatever breaks.
CREATE TABLE sent_request (
  request_key     TEXT PRIMARY KEY,
  gift_request_id BIGINT NOT NULL UNIQUE,
  contact_id      TEXT NOT NULL,
  lead_id         TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  opportunity_id  TEXT NOT NULL,
  sender_id       TEXT NOT NULL
);;
