-- Who gets no gifts. `pattern`: an address ('ana@example.com'), a domain with its subdomains ('example.com'), or subdomains
-- alone ('*.gov'); in the form that is compared. `reason`: blocked, opted_out, complained or bounced. `transaction_id`: the
-- gift whose page, complaint or bounce it was. `added_at`: also of a later change, since daemons read the newest ones.
-- `pattern_hash`: of an erased person the HMAC of the address, and `pattern` is the mark made from it; else empty.
CREATE TABLE do_not_send (
  pattern        @id@ NOT NULL,
  pattern_hash   @id@ NOT NULL DEFAULT '',
  reason         @id@ NOT NULL,
  comment        TEXT NOT NULL,
  transaction_id BIGINT,
  added_at       BIGINT NOT NULL,
  added_by       TEXT NOT NULL,
  expires_at     BIGINT,
  PRIMARY KEY (pattern, reason)
);;
CREATE INDEX do_not_send_added ON do_not_send (added_at);;
CREATE INDEX do_not_send_end ON do_not_send (expires_at) WHERE expires_at IS NOT NULL;;

-- An admin has paused the credential: it sends nothing until it is released.
ALTER TABLE api_key ADD COLUMN paused_at BIGINT;;
ALTER TABLE api_key ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';;
ALTER TABLE organization_token ADD COLUMN paused_at BIGINT;;
ALTER TABLE organization_token ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';;
