-- The store, version 1. Times are UTC milliseconds, money is minor units, both BIGINT on both back ends.
-- The tables that every gift request writes have no foreign keys: one transaction inserts their rows together, with ids that
-- the store allocated, and each key would cost a lookup per row.
--
-- Installations have run this script: it is never edited (ARCH-12). A change is a script of its own.

-- Facts about the store itself: its version, the fingerprint of its schema, the fingerprint of the server secret.
CREATE TABLE store_metadata (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);;

-- Ids are allocated in blocks (hi-lo): a request knows its ids before its transaction begins.
CREATE TABLE id_block (
  name    TEXT PRIMARY KEY,
  next_id BIGINT NOT NULL
);;
INSERT INTO id_block (name, next_id) VALUES ('account', 1), ('api_key', 1), ('gift_request', 1), ('recipient_transaction', 1),
  ('status_change', 1), ('inbound_event', 1), ('organization', 1), ('organization_token', 1),
  ('refused_message', 1), ('crm_message_token', 1), ('crm_change_event', 1), ('console_user', 1), ('user_identity', 1);;

-- The daemons that run: what `giftsyncctl status` and `settings show` tell about them (OPS-25). `last_seen_at` is by the
-- database's clock, so that daemons of several hosts compare. `settings` has no secret. `reload_faults` has one fault per line;
-- it is empty when the last reload was not refused.
CREATE TABLE daemon_instance (
  id             TEXT PRIMARY KEY,
  host           TEXT NOT NULL,
  pid            BIGINT NOT NULL,
  version        TEXT NOT NULL,
  listen         TEXT NOT NULL,
  settings_file  TEXT NOT NULL,
  settings       TEXT NOT NULL,
  started_at     BIGINT NOT NULL,
  loaded_at      BIGINT NOT NULL,
  last_reload_at BIGINT,
  reload_faults  TEXT NOT NULL,
  last_seen_at   BIGINT NOT NULL
);;

-- The companies whose CRM may send for its accounts. `name_key` is the name in the form that is compared.
CREATE TABLE organization (
  id         @key@,
  name       TEXT NOT NULL,
  name_key   TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);;

-- The tokens (got_live_...) that authenticate an organization. Only the prefix and the hash of a token are stored.
CREATE TABLE organization_token (
  id              @key@,
  organization_id BIGINT NOT NULL REFERENCES organization (id),
  prefix          TEXT NOT NULL,
  hash            TEXT NOT NULL UNIQUE,
  created_at      BIGINT NOT NULL,
  expires_at      BIGINT,
  revoked_at      BIGINT
);;

-- The senders. `email_key` is the address in the form that is compared.
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

-- The API keys (gsk_live_...) of the accounts. Only the prefix and the hash of a key are stored. `name`: what the admin calls
-- it; may be empty.
CREATE TABLE api_key (
  id           @key@,
  account_id   BIGINT NOT NULL REFERENCES account (id),
  name         TEXT NOT NULL,
  prefix       TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  scopes       TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  revoked_at   BIGINT,
  last_used_at BIGINT
);;
CREATE INDEX api_key_account ON api_key (account_id);;

-- The catalogue. A cost that is null is unknown or does not apply (an item that is not physical has no shipping cost); a cost
-- of 0 is 0.00.
CREATE TABLE gift_item (
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

-- One call for one item and one or more recipients. Item and sender are copies from the time of sending: later edits change no
-- gift. Costs are null when they are unknown (gifts that were sent elsewhere). `triggered_by`: the CRM user who sent it, if
-- known (Actual Sender). `terms`: the lifecycle settings at the time of sending; empty for gifts that were sent elsewhere.
-- `credential_prefix`: of the API key or organization token that asked for it; `http_request_id`: the Request-Id of that call.
-- Both are empty for gifts of request records and gifts that were sent elsewhere.
CREATE TABLE gift_request (
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
  terms               TEXT NOT NULL DEFAULT '',
  credential_prefix   TEXT NOT NULL DEFAULT '',
  http_request_id     TEXT NOT NULL DEFAULT ''
);;

-- One gift to one recipient, with the status and times folded from the change log. `has_conflict`: two of its final statuses
-- contradict each other. `gift_source` is empty for giftsync's own gifts. For a gift that was sent elsewhere it is the source
-- that reported it, or 'crm' for a gift whose record was in the CRM before giftsync; such a record may have a status without a
-- time: `untimed_status`. `external_id`: the source's own id, when the id here was allotted for it; else empty. `due_at`: when a timer next checks the gift for a deadline or a reminder;
-- null: never. `last_reminder_day`: the last reminder day that was handled.
CREATE TABLE recipient_transaction (
  id                @key@,
  request_id        BIGINT NOT NULL,
  position          BIGINT NOT NULL,
  email             TEXT NOT NULL,
  first_name        TEXT NOT NULL,
  last_name         TEXT NOT NULL,
  message           TEXT NOT NULL,
  generation        BIGINT NOT NULL,
  status            TEXT NOT NULL,
  sent_at           BIGINT NOT NULL,
  delivered_at      BIGINT,
  undelivered_at    BIGINT,
  opened_at         BIGINT,
  redeemed_at       BIGINT,
  donated_at        BIGINT,
  expired_at        BIGINT,
  refunded_at       BIGINT,
  has_conflict      BIGINT NOT NULL DEFAULT 0,
  version           BIGINT NOT NULL,
  phone             TEXT NOT NULL DEFAULT '',
  gift_source       TEXT NOT NULL DEFAULT '',
  untimed_status    TEXT NOT NULL DEFAULT '',
  due_at            BIGINT,
  resent_at         BIGINT,
  last_reminder_day BIGINT NOT NULL DEFAULT 0,
  external_id       TEXT NOT NULL DEFAULT ''
);;
CREATE INDEX recipient_transaction_due ON recipient_transaction (due_at, id) WHERE due_at IS NOT NULL;;
CREATE INDEX recipient_transaction_external ON recipient_transaction (id) WHERE gift_source <> '';;
CREATE INDEX recipient_transaction_request ON recipient_transaction (request_id, position);;
CREATE INDEX recipient_transaction_sent ON recipient_transaction (sent_at, id);;
-- Finds a recipient's gifts for a person who has the address alone (CON-47).
CREATE INDEX recipient_transaction_email ON recipient_transaction (lower(trim(email)), id);;
CREATE INDEX recipient_transaction_conflict ON recipient_transaction (id) WHERE has_conflict = 1;;

-- The transaction ids that were allotted for the ids of a source's own (settings: transaction_ids: allot), also of gifts that
-- are not known yet.
CREATE TABLE external_transaction (
  external_id    TEXT NOT NULL,
  gift_source    TEXT NOT NULL,
  transaction_id BIGINT NOT NULL UNIQUE,
  PRIMARY KEY (external_id, gift_source)
)
--@sqlite
WITHOUT ROWID
--@end
;;

-- The idempotency keys of gift requests: a key creates one request. `body_hash` detects a key that is reused for another body.
-- The primary key begins with `key`, because a group of requests looks up its keys in one query, of all accounts.
CREATE TABLE gift_request_idempotency (
  account_id BIGINT NOT NULL,
  mode       TEXT NOT NULL,
  key        TEXT NOT NULL,
  body_hash  TEXT NOT NULL,
  request_id BIGINT NOT NULL,
  warnings   TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (key, account_id, mode)
);;
CREATE INDEX gift_request_idempotency_age ON gift_request_idempotency (created_at);;

-- The charity that a recipient donated to, as in pages.charities at that time; empty: the sender's company chooses.
CREATE TABLE donation (
  transaction_id @key@,
  charity        TEXT NOT NULL,
  link           TEXT NOT NULL
);;

-- The codes of an item. Each recipient who accepts gets one, in the order of the import. `transaction_id`: the gift that the
-- code is assigned to; its unique key ensures that a gift gets only one code.
CREATE TABLE gift_code (
--@sqlite
  id             INTEGER PRIMARY KEY,
--@postgresql
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  gift_id        BIGINT NOT NULL,
  code           TEXT NOT NULL,
  imported_at    BIGINT NOT NULL,
  transaction_id BIGINT,
  assigned_at    BIGINT,
  UNIQUE (gift_id, code)
);;
-- Of assigned codes only: SQLite would search all unassigned ones of all items in it for those of one item.
CREATE UNIQUE INDEX gift_code_transaction ON gift_code (transaction_id) WHERE transaction_id IS NOT NULL;;
CREATE INDEX gift_code_assigned ON gift_code (gift_id) WHERE transaction_id IS NOT NULL;;
CREATE INDEX gift_code_unassigned ON gift_code (gift_id, id) WHERE transaction_id IS NULL;;

-- One row for each gift that is sent by e-mail. A resend or a reminder reuses the row as the gift's next mail: `kind`,
-- `number`. `first_deferred_at`: when the relay first deferred this mail. `uncertain_retries`: how often the mail was sent again
-- after an unknown outcome. `turn`: the place of a mail that was never tried among those of other requests; 0 once it was
-- tried, then `next_attempt_at` orders it. A negative `transaction_id` is a console_user's id: the mail for this approver, of kind
-- approval (approver_notice).
CREATE TABLE mail_outbox (
  transaction_id    @key@,
  state             TEXT NOT NULL,
  attempt           BIGINT NOT NULL,
  next_attempt_at   BIGINT NOT NULL,
  message_id        TEXT NOT NULL,
  first_deferred_at BIGINT,
  uncertain_retries BIGINT NOT NULL,
  last_reply        TEXT NOT NULL,
  updated_at        BIGINT NOT NULL,
  lease_owner       TEXT NOT NULL,
  lease_until       BIGINT NOT NULL,
  kind              TEXT NOT NULL DEFAULT 'gift',
  number            BIGINT NOT NULL DEFAULT 1,
  ordered_at        BIGINT NOT NULL DEFAULT 0,
  turn              BIGINT NOT NULL DEFAULT 0
);;
CREATE INDEX mail_outbox_due ON mail_outbox (turn, next_attempt_at, transaction_id) WHERE state IN ('queued', 'sending', 'uncertain');;
-- For counts and lists by state. Nearly all mails are accepted; a count of those is found without an index.
CREATE INDEX mail_outbox_state ON mail_outbox (state, transaction_id) WHERE state <> 'accepted';;

-- Actions on a gift that are not status changes: resent, reminded, cancelled, linked, mail_released, mail_withdrawn,
-- mail_retried; with the actor and a comment. mail_accepted, mail_undelivered, mail_uncertain, mail_held and mail_deferred are
-- what a mail was until one of these changed or replaced it. `readdressed`: 1 if it changed the gift's address.
CREATE TABLE gift_action (
--@sqlite
  id             INTEGER PRIMARY KEY,
--@postgresql
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  transaction_id BIGINT NOT NULL,
  done_at        BIGINT NOT NULL,
  action         TEXT NOT NULL,
  actor          TEXT NOT NULL,
  comment        TEXT NOT NULL,
  readdressed    BIGINT NOT NULL DEFAULT 0
);;
CREATE INDEX gift_action_gift ON gift_action (transaction_id, id);;

-- The circuit breakers of mail delivery. A row means that the relay failed for a daemon and that its delivery is paused until
-- `until`. `daemon`: host and address, the same after a restart. `relay`: the fingerprint of the relay's settings; the pause
-- holds for this relay alone.
CREATE TABLE mail_breaker (
  daemon   TEXT NOT NULL PRIMARY KEY,
  since    BIGINT NOT NULL,
  until    BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  reason   TEXT NOT NULL,
  relay    TEXT NOT NULL
);;

-- Every status change that was accepted, once. `orphaned`: its transaction is not known yet. `premise`: the condition under
-- which a timer's change counts; else empty. `gift_source`: the `gift_source` of the transactions that the change may apply to.
-- A voided change stays and no longer counts. SQLite stores the rows in the order of the unique key: the changes of one gift
-- are adjacent.
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
  orphaned       BIGINT NOT NULL,
  voided_at      BIGINT,
  voided_by      TEXT,
  void_reason    TEXT,
  gift_source    TEXT NOT NULL DEFAULT '',
--@sqlite
  PRIMARY KEY (transaction_id, status, premise, occurred_at, source)
) WITHOUT ROWID
--@postgresql
  UNIQUE (transaction_id, status, premise, occurred_at, source)
)
--@end
;;
CREATE INDEX change_log_orphaned ON change_log (source, transaction_id) WHERE orphaned = 1;;
CREATE INDEX change_log_orphaned_id ON change_log (id) WHERE orphaned = 1;;
-- `orphaned` is in the index because SQLite does not derive it from the index's condition: with it a count reads the index alone.
CREATE INDEX change_log_orphaned_source ON change_log (source, received_at, orphaned) WHERE orphaned = 1;;
CREATE INDEX change_log_orphaned_recent ON change_log (received_at) WHERE orphaned = 1;;

-- Who voided or restored a change, when and why, however often. `change_log.voided_at` says whether the change counts now.
-- `action`: voided or restored.
CREATE TABLE change_audit (
--@sqlite
  id        INTEGER PRIMARY KEY,
--@postgresql
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  change_id BIGINT NOT NULL,
  done_at   BIGINT NOT NULL,
  action    TEXT NOT NULL,
  actor     TEXT NOT NULL,
  reason    TEXT NOT NULL
);;
CREATE INDEX change_audit_change ON change_audit (change_id, id);;

-- The vendor's event ids of a change: one change may have been reported by several events.
CREATE TABLE change_event (
  change_id BIGINT NOT NULL,
  event_id  TEXT NOT NULL,
  PRIMARY KEY (change_id, event_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;

-- The sync workers' queue: a row marks a transaction whose state the CRM does not have yet. `mark_seq` grows with every change
-- that arrives while the transaction is claimed; a row whose `mark_seq` grew is not closed. Rows that became due within the same
-- ten seconds are claimed in the order of their transaction ids, so that one claim reads adjacent rows. `failing_since`: when the
-- first of the attempts failed that have failed in a row since, `failed_at`: the last one, by the daemon's clock; 0: none.
CREATE TABLE crm_outbox (
  transaction_id  @key@,
  mark_seq        BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  attempts        BIGINT NOT NULL,
  lease_owner     TEXT NOT NULL,
  lease_until     BIGINT NOT NULL,
  last_error      TEXT NOT NULL,
  is_rejected     BIGINT NOT NULL DEFAULT 0,
  failing_since   BIGINT NOT NULL DEFAULT 0,
  failed_at       BIGINT NOT NULL DEFAULT 0
);;
CREATE INDEX crm_outbox_due ON crm_outbox ((next_attempt_at / 10000), transaction_id);;
CREATE INDEX crm_outbox_failing ON crm_outbox (transaction_id) WHERE attempts > 0 OR last_error <> '';;
CREATE INDEX crm_outbox_rejected ON crm_outbox (next_attempt_at) WHERE is_rejected = 1;;

-- What the CRM's record of a transaction holds: the match decision with its reason, made once, and the last version that was
-- written. `linked_by`: the admin who linked the gift; rules then change nothing. `needs_relink`: the CRM refused one of its
-- lookups. `task`: the state of its task in the CRM. `crm_id` and `task_crm_id`: the Ids of record and task, where the CRM said
-- them.
CREATE TABLE crm_sync_state (
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
  needs_relink    BIGINT NOT NULL,
  task            TEXT NOT NULL,
  linked_by       TEXT NOT NULL DEFAULT '',
  crm_id          TEXT NOT NULL DEFAULT '',
  task_crm_id     TEXT NOT NULL DEFAULT ''
);;
-- What is listed or rematched is a small part of all gifts. The queries repeat these conditions word by word: SQLite compares
-- no more than that.
CREATE INDEX crm_sync_state_state ON crm_sync_state (state, transaction_id) WHERE state IN ('skipped', 'deleted', 'rejected');;
CREATE INDEX crm_sync_state_unmatched ON crm_sync_state (transaction_id)
  WHERE (contact_id = '' AND lead_id = '') OR needs_relink = 1;;
CREATE INDEX crm_sync_state_relink ON crm_sync_state (transaction_id) WHERE needs_relink = 1;;
CREATE INDEX crm_sync_state_lead ON crm_sync_state (transaction_id) WHERE lead_id <> '';;

-- The sources of changes (settings: sources): health, poll cursor and counts. `cursor_state` is the poller's own text.
-- `revision` grows with it: a poller that slept cannot overwrite a newer cursor. `reprocess_fingerprint`: the settings under
-- which its quarantined events still have to be reprocessed; empty: none. `rejected`: all refused messages; `refused_in_row`:
-- those with a verified sender since a message was accepted; `last_refusal`: the reason of the last one.
CREATE TABLE source (
  name                  TEXT PRIMARY KEY,
  state                 TEXT NOT NULL,
  state_since           BIGINT NOT NULL,
  reason                TEXT NOT NULL,
  cursor_state          TEXT NOT NULL,
  revision              BIGINT NOT NULL,
  next_attempt_at       BIGINT NOT NULL,
  failures              BIGINT NOT NULL,
  lease_owner           TEXT NOT NULL,
  lease_until           BIGINT NOT NULL,
  last_received_at      BIGINT,
  accepted              BIGINT NOT NULL,
  duplicates            BIGINT NOT NULL,
  ignored               BIGINT NOT NULL,
  gifts                 BIGINT NOT NULL,
  rejected              BIGINT NOT NULL,
  refused_in_row        BIGINT NOT NULL DEFAULT 0,
  last_refused_at       BIGINT,
  last_refusal          TEXT NOT NULL DEFAULT '',
  reprocess_fingerprint TEXT NOT NULL DEFAULT ''
);;

-- The ids of accepted webhook messages: a message that is sent again changes nothing.
CREATE TABLE source_message (
  source      TEXT NOT NULL,
  message_id  TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (source, message_id)
);;
CREATE INDEX source_message_age ON source_message (received_at);;

-- The newest webhook messages that were refused although their sender was verified (SRC-61). `body`: base64 of its first
-- 64 KiB; `size`: bytes of the whole body. `status`: of the response.
CREATE TABLE refused_message (
  id          @key@,
  source      TEXT NOT NULL,
  message_id  TEXT NOT NULL,
  status      BIGINT NOT NULL,
  reason      TEXT NOT NULL,
  size        BIGINT NOT NULL,
  body        TEXT NOT NULL,
  received_at BIGINT NOT NULL
);;
CREATE INDEX refused_message_source ON refused_message (source, id);;
CREATE INDEX refused_message_age ON refused_message (received_at);;

-- The events that are not applied, each once, as they came. An applied event is its row in change_log; its row here is deleted
-- by the transaction that applies it. `state`: quarantined (it cannot be applied, `reason` says why), orphaned (its change is,
-- `change_id`) or ignored (no status maps to it; the newest 1,000 of a source). `reason` is null in the other states.
-- `payload`: what is needed to process the event again under other settings. `digest`: equal for equal events. `change_id`,
-- `sent_id`: the orphaned changes of an orphaned event, the second one for its time of sending; 0: none.
CREATE TABLE inbound_event (
  id             @key@,
  source         TEXT NOT NULL,
  digest         TEXT NOT NULL,
  state          TEXT NOT NULL,
  reason         TEXT,
  status_word    TEXT NOT NULL,
  detail         TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  payload        TEXT NOT NULL,
  received_at    BIGINT NOT NULL,
  change_id      BIGINT NOT NULL DEFAULT 0,
  sent_id        BIGINT NOT NULL DEFAULT 0,
  UNIQUE (source, digest)
);;
-- For the counts against the limits, which read it alone, and for the oldest ignored events.
CREATE INDEX inbound_event_state ON inbound_event (source, state, received_at, id);;
-- `state` is in it so that SQLite prefers it to the other index.
CREATE INDEX inbound_event_orphaned ON inbound_event (source, transaction_id, state) WHERE state = 'orphaned';;

-- The position at which an interrupted backfill resumes; the row is deleted when the backfill is complete. `run`: the run that
-- owns the position; a later run takes it over. `counts`: the command's own text.
CREATE TABLE backfill_checkpoint (
  name           TEXT PRIMARY KEY,
  run            TEXT NOT NULL,
  transaction_id BIGINT NOT NULL,
  counts         TEXT NOT NULL
);;

-- The state of each request record of the CRM, by its Id there. `state`: pending, approved, claimed (being sent), rejected, sent.
-- `crm_status`: the Request Status that giftsync last saw or wrote in the CRM; another value there is a user's edit.
-- `approved_content`: the content that the approval binds to. `seen_content`: the content when it was last read, until the gift is
-- sent or the request rejected. `gift_request_text`: what is sent after the claim.
-- `next_attempt_at`: when the record is reconciled next without an event. `requested_by`: who created it by command or HTTP.
CREATE TABLE request_record_state (
  record_id         TEXT PRIMARY KEY,
  number            TEXT NOT NULL,
  state             TEXT NOT NULL,
  crm_status        TEXT NOT NULL,
  approval          TEXT NOT NULL,
  approved_by       TEXT NOT NULL,
  approved_content  TEXT NOT NULL,
  seen_content      TEXT NOT NULL DEFAULT '',
  gift_request_text TEXT NOT NULL,
  requested_by      TEXT NOT NULL,
  error             TEXT NOT NULL,
  failures          BIGINT NOT NULL,
  next_attempt_at   BIGINT,
  deleted           BIGINT NOT NULL,
  version           BIGINT NOT NULL
);;
CREATE INDEX request_record_state_number ON request_record_state (number);;
CREATE INDEX request_record_state_due ON request_record_state (next_attempt_at) WHERE next_attempt_at IS NOT NULL;;
CREATE INDEX request_record_state_failed ON request_record_state (record_id) WHERE failures > 0;;
CREATE INDEX request_record_state_state ON request_record_state (state, number) WHERE deleted = 0;;
CREATE INDEX request_record_state_requester ON request_record_state (requested_by, state, number) WHERE deleted = 0 AND requested_by <> '';;
CREATE INDEX request_record_state_error ON request_record_state (number)
  WHERE deleted = 0 AND error <> '' AND state NOT IN ('sent', 'rejected');;

-- The state transitions of request records.
CREATE TABLE request_record_transition (
--@sqlite
  id          INTEGER PRIMARY KEY,
--@postgresql
  id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  record_id   TEXT NOT NULL,
  occurred_at BIGINT NOT NULL,
  actor       TEXT NOT NULL,
  from_state  TEXT NOT NULL,
  to_state    TEXT NOT NULL,
  comment     TEXT NOT NULL
);;
CREATE INDEX request_record_transition_record ON request_record_transition (record_id, id);;

-- What was edited in request records before the gift was sent or the request rejected. `old_values` and `new_values` have the edited
-- fields alone. `actor` is empty when it is not known.
CREATE TABLE request_record_edit (
--@sqlite
  id          INTEGER PRIMARY KEY,
--@postgresql
  id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  record_id   TEXT NOT NULL,
  occurred_at BIGINT NOT NULL,
  actor       TEXT NOT NULL,
  old_values  TEXT NOT NULL,
  new_values  TEXT NOT NULL
);;
CREATE INDEX request_record_edit_record ON request_record_edit (record_id, id);;

-- The idempotency keys of request records that are created over HTTP: each record is created once, under its `creation_key` in
-- the CRM. `record_id` and `number` are filled when the record is known to exist.
CREATE TABLE request_record_idempotency (
  account_id   BIGINT NOT NULL,
  key          TEXT NOT NULL,
  body_hash    TEXT NOT NULL,
  creation_key TEXT NOT NULL UNIQUE,
  record_id    TEXT NOT NULL,
  number       TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (account_id, key)
);;
CREATE INDEX request_record_idempotency_age ON request_record_idempotency (created_at);;

-- The tokens that are the secret part of the URL to which a CRM sends messages. Only the prefix and the hash of a token are
-- stored. `expires_at`: it was replaced and works until then; at most one token has none.
CREATE TABLE crm_message_token (
  id           @key@,
  prefix       TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  last_used_at BIGINT
);;

-- The Ids of records that the CRM reported as inserted or changed, until a worker has looked them up. `event_id` is another one
-- after each further report; `received_at` is that of the first one.
CREATE TABLE crm_change_event (
  record_id   TEXT PRIMARY KEY,
  event_id    BIGINT NOT NULL UNIQUE,
  received_at BIGINT NOT NULL
);;
CREATE INDEX crm_change_event_age ON crm_change_event (received_at, event_id);;

-- Who alone may write to a dependency that has no conditional writes: one row for each dependency, kept after its release.
CREATE TABLE writer_lease (
  name        TEXT PRIMARY KEY,
  lease_owner TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);;

-- The gift request that was sent for a request record, and the lookups of its gift records. The row is inserted in the gift
-- request's own transaction and never deleted: its primary key ensures that a request record is sent only once.
CREATE TABLE request_record_gift (
  record_id       TEXT PRIMARY KEY,
  gift_request_id BIGINT NOT NULL UNIQUE,
  contact_id      TEXT NOT NULL,
  lead_id         TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  opportunity_id  TEXT NOT NULL,
  sender_id       TEXT NOT NULL
);;

-- The people who may use the console. `email_key` is the address in the form that is compared. `organization_id`: the only
-- organization whose accounts the user sees; null: all.
CREATE TABLE console_user (
  id              @key@,
  email           TEXT NOT NULL,
  email_key       TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL,
  active          BIGINT NOT NULL,
  organization_id BIGINT REFERENCES organization (id),
  created_at      BIGINT NOT NULL
);;

-- The roles of users. `origin`: granted (by a command) or crm (from the permission sets of the CRM, replaced at each look).
CREATE TABLE user_role (
  user_id    BIGINT NOT NULL REFERENCES console_user (id),
  role       TEXT NOT NULL,
  origin     TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  granted_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, role, origin)
);;

-- What approvers are mailed: of each transition of a request record to pending one row for each approver who may decide on it.
-- `mail_number`: mail_outbox.number of the mail that has it; 0: none yet; -1: the record was decided before one left.
-- `repeated_in`: the number of the last later mail that says that the record still waits; 0: none.
CREATE TABLE approver_notice (
  transition_id BIGINT NOT NULL,
  user_id       BIGINT NOT NULL REFERENCES console_user (id),
  record_id     TEXT NOT NULL,
  number        TEXT NOT NULL,
  item          TEXT NOT NULL,
  cost          TEXT NOT NULL,
  mail_number   BIGINT NOT NULL DEFAULT 0,
  repeated_in   BIGINT NOT NULL DEFAULT 0,
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (transition_id, user_id)
);;
CREATE INDEX approver_notice_mail ON approver_notice (mail_number, user_id);;
CREATE INDEX approver_notice_user ON approver_notice (user_id, mail_number);;
CREATE INDEX approver_notice_age ON approver_notice (created_at);;

-- Who a user is at an identity provider. `tenant` is empty except for a directory. `last_email`: the address at the last
-- sign-in, for display alone.
CREATE TABLE user_identity (
  id              @key@,
  user_id         BIGINT NOT NULL REFERENCES console_user (id),
  connection      TEXT NOT NULL,
  tenant          TEXT NOT NULL,
  subject         TEXT NOT NULL,
  last_email      TEXT NOT NULL,
  linked_at       BIGINT NOT NULL,
  last_sign_in_at BIGINT NOT NULL,
  UNIQUE (connection, tenant, subject)
);;
CREATE INDEX user_identity_user ON user_identity (user_id);;

-- The signed-in browsers. `id_hash`: hex SHA-256 of the cookie's value. `form_secret`: the key of the session's form tokens.
-- `expires_at`: the end, however busy the session is. `authenticated_at`: when the user last proved who they are.
-- `identity_id`: null for a session that a sign-in link began. `network`: of the sign-in, for display.
CREATE TABLE session (
  id_hash          TEXT PRIMARY KEY,
  user_id          BIGINT NOT NULL REFERENCES console_user (id),
  identity_id      BIGINT,
  form_secret      TEXT NOT NULL,
  created_at       BIGINT NOT NULL,
  last_seen_at     BIGINT NOT NULL,
  authenticated_at BIGINT NOT NULL,
  expires_at       BIGINT NOT NULL,
  agent            TEXT NOT NULL,
  network          TEXT NOT NULL
);;
CREATE INDEX session_of_user ON session (user_id);;
CREATE INDEX session_end ON session (expires_at);;

-- Sign-ins at an identity provider that have begun. `id_hash`: of the value that travels as OpenID's state or SAML's RelayState;
-- `browser_hash`: of the value in the browser's cookie. `claimed_at`: when the provider's reply was taken; a second reply is
-- refused. `outcome`: what was validated, the flow's own text; empty until then. `must_reauthenticate`: the user was to prove
-- again who they are.
CREATE TABLE sign_in_attempt (
  id_hash             TEXT PRIMARY KEY,
  connection          TEXT NOT NULL,
  browser_hash        TEXT NOT NULL,
  nonce               TEXT NOT NULL,
  pkce_verifier       TEXT NOT NULL,
  saml_request_id     TEXT NOT NULL,
  return_path         TEXT NOT NULL,
  must_reauthenticate BIGINT NOT NULL,
  outcome             TEXT NOT NULL,
  created_at          BIGINT NOT NULL,
  claimed_at          BIGINT,
  finished_at         BIGINT
);;
CREATE INDEX sign_in_attempt_age ON sign_in_attempt (created_at);;

-- The sign-in links of `giftsyncctl console sign-in-link`, until they are used. `token_hash`: hex SHA-256 of the link's token.
CREATE TABLE sign_in_link (
  token_hash TEXT PRIMARY KEY,
  user_id    BIGINT NOT NULL REFERENCES console_user (id),
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);;
CREATE INDEX sign_in_link_end ON sign_in_link (expires_at);;

-- The SAML assertions that were accepted: none is accepted twice. A row is needed until the assertion has expired.
CREATE TABLE saml_assertion_seen (
  connection   TEXT NOT NULL,
  assertion_id TEXT NOT NULL,
  expires_at   BIGINT NOT NULL,
  PRIMARY KEY (connection, assertion_id)
);;
CREATE INDEX saml_assertion_seen_end ON saml_assertion_seen (expires_at);;

-- What is known of the connections (settings: sso.connections). `tenant`: the one that a directory's documents named first; empty:
-- none yet.
CREATE TABLE sign_in_connection_state (
  name            TEXT PRIMARY KEY,
  tenant          TEXT NOT NULL,
  last_success_at BIGINT,
  last_error      TEXT NOT NULL,
  last_error_at   BIGINT
);;

-- Who did what, inserted by the transaction that does it. `actor_kind`: user (of the console; `user_id`), command (`actor`: the
-- operating system's user) or system. `session`: the first characters of the session's hash. `organization_id`: whose object it
-- is, if it is known. `outcome`: done or refused; `rule`: the rule that refused it. Never a message, a token or a secret.
CREATE TABLE audit_event (
--@sqlite
  id              INTEGER PRIMARY KEY,
--@postgresql
  id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  occurred_at     BIGINT NOT NULL,
  actor_kind      TEXT NOT NULL,
  actor           TEXT NOT NULL,
  user_id         BIGINT,
  session         TEXT NOT NULL,
  request_id      TEXT NOT NULL,
  network         TEXT NOT NULL,
  action          TEXT NOT NULL,
  object_kind     TEXT NOT NULL,
  object_id       TEXT NOT NULL,
  organization_id BIGINT,
  outcome         TEXT NOT NULL,
  rule            TEXT NOT NULL,
  detail          TEXT NOT NULL
);;
CREATE INDEX audit_event_age ON audit_event (occurred_at);;
CREATE INDEX audit_event_object ON audit_event (object_kind, object_id, id);;
CREATE INDEX audit_event_user ON audit_event (user_id, id) WHERE user_id IS NOT NULL;;
