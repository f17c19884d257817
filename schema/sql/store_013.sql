-- Who asked for a sign-in link by mail (SIGN-15), known or not: a row for each request for ten minutes. `token_hash`: hex SHA-256 of
-- the link's token, which follows from `salt` and the server secret. `client`: the address that asked. `mail_number`:
-- mail_outbox.number of the mail that has the link; 0: none yet. The mail of console_user 7 has the transaction_id -(3e15 + 7), and the
-- kind test, which an older daemon leaves alone.
CREATE TABLE sign_in_request (
  token_hash  TEXT PRIMARY KEY,
  salt        TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  client      TEXT NOT NULL,
  mail_number BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL
);;
CREATE INDEX sign_in_request_email ON sign_in_request (email_key, mail_number);;
CREATE INDEX sign_in_request_end ON sign_in_request (expires_at);;

-- 1: it was mailed, and the session that it begins lasts as long as others.
ALTER TABLE sign_in_link ADD COLUMN by_mail BIGINT NOT NULL DEFAULT 0;;
ALTER TABLE session ADD COLUMN by_mail BIGINT NOT NULL DEFAULT 0;;
