-- What admins are mailed of budgets and bursts, in the mail that approvers get: one row for each admin who sees the scope. `kind`:
-- budget (its use has reached a threshold), key or token (a burst paused it). `scope`: as in sending_usage.id; of a key or token its
-- prefix. `period`: as in sending_usage.id; of a pause the milliseconds when it began. `threshold`: percent; of a pause 0. `owner`:
-- the account's address or the organization's name. `gifts` and `amount`: what was used. `begins_at` and `ends_at`: of the period, or
-- of the burst's window. `mail_number`: mail_outbox.number of the mail that has it; 0: none yet.
CREATE TABLE admin_notice (
  user_id      BIGINT NOT NULL REFERENCES console_user (id),
  kind         @id@ NOT NULL,
  scope        @id@ NOT NULL,
  period       @id@ NOT NULL,
  threshold    BIGINT NOT NULL,
  owner        TEXT NOT NULL,
  key_name     TEXT NOT NULL,
  gifts        BIGINT NOT NULL,
  amount       BIGINT NOT NULL,
  gifts_limit  BIGINT,
  amount_limit BIGINT,
  begins_at    BIGINT NOT NULL,
  ends_at      BIGINT NOT NULL,
  mail_number  BIGINT NOT NULL DEFAULT 0,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (user_id, kind, scope, period, threshold)
);;
CREATE INDEX admin_notice_mail ON admin_notice (mail_number, user_id);;
CREATE INDEX admin_notice_age ON admin_notice (created_at);;

-- What is used of days, for their end: the months stay, and a look for old days reads none of them.
CREATE INDEX sending_usage_day ON sending_usage (id) WHERE substr(id, 8, 1) = '-';;

-- Test gifts, which test keys (gsk_test_...) make: no recipient is mailed, the CRM is not written, and no list of live gifts has
-- them. Both columns say the same; each query uses the one of the table that it reads.
ALTER TABLE gift_request ADD COLUMN is_test BIGINT NOT NULL DEFAULT 0;;
ALTER TABLE recipient_transaction ADD COLUMN is_test BIGINT NOT NULL DEFAULT 0;;
CREATE INDEX gift_request_test ON gift_request (created_at) WHERE is_test = 1;;
CREATE INDEX recipient_transaction_test ON recipient_transaction (id) WHERE is_test = 1;;
CREATE INDEX held_gift_request_test ON held_gift_request (held_at) WHERE substr(credential_prefix, 1, 9) = 'gsk_test_';;

CREATE INDEX gift_request_idempotency_test ON gift_request_idempotency (created_at) WHERE substr(mode, 1, 5) = 'test_';;

-- What the CRM would have as the record of a test gift, as JSON.
CREATE TABLE test_record (
  transaction_id BIGINT PRIMARY KEY NOT NULL,
  record         TEXT NOT NULL
);;
