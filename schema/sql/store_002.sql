-- For what `status` and the overview tell of the last days.
CREATE INDEX recipient_transaction_undelivered ON recipient_transaction (undelivered_at) WHERE status = 'undelivered';;
CREATE INDEX mail_outbox_undelivered ON mail_outbox (updated_at) WHERE state = 'undelivered';;

-- PostgreSQL folds addresses by the rules of the database's language: of Turkish, "I" to another letter than "i". The bytes
-- decide now, as in the program and on SQLite.
--@postgresql
DROP INDEX recipient_transaction_email;;
CREATE INDEX recipient_transaction_email ON recipient_transaction (lower(trim(email) COLLATE "C"), id);;
--@end

-- Who gets mails about own gifts that became undelivered. `email_key` is the address in the form that is compared.
CREATE TABLE notified_sender (
--@sqlite
  id        INTEGER PRIMARY KEY,
--@postgresql
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  email_key @id@ NOT NULL UNIQUE,
  email     TEXT NOT NULL
);;

-- That the mail of a gift failed, for a mail to its sender: once for each time that the gift was sent. `resent_at`: that time; 0: the
-- first one. `email`: the recipient's address then; `reply`: the relay's last reply; empty: a source reported the failure.
-- `mail_number`: mail_outbox.number of the mail that has it; 0: none yet; -1: the gift was not undelivered any more before one
-- left.
CREATE TABLE sender_notice (
  transaction_id BIGINT NOT NULL,
  resent_at      BIGINT NOT NULL,
  sender_id      BIGINT NOT NULL REFERENCES notified_sender (id),
  email          TEXT NOT NULL,
  reply          TEXT NOT NULL,
  undelivered_at BIGINT NOT NULL,
  mail_number    BIGINT NOT NULL DEFAULT 0,
  created_at     BIGINT NOT NULL,
  PRIMARY KEY (transaction_id, resent_at)
);;
CREATE INDEX sender_notice_mail ON sender_notice (mail_number, sender_id);;
CREATE INDEX sender_notice_age ON sender_notice (created_at);;
