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

-- That the mail of a gift failed, for a mail to its sender: once for each time that the gift was sent. `sending`: the number of
-- the gift's mail then. `email`: the recipient's address then; `reply`: the relay's last reply; empty: a source reported the
-- failure. `mail_number`: mail_outbox.number of the mail to the sender that has it; 0: none yet.
CREATE TABLE sender_notice (
  transaction_id BIGINT NOT NULL,
  sending        BIGINT NOT NULL,
  sender_id      BIGINT NOT NULL REFERENCES notified_sender (id),
  email          TEXT NOT NULL,
  reply          TEXT NOT NULL,
  undelivered_at BIGINT NOT NULL,
  mail_number    BIGINT NOT NULL DEFAULT 0,
  created_at     BIGINT NOT NULL,
  PRIMARY KEY (transaction_id, sending)
);;
CREATE INDEX sender_notice_mail ON sender_notice (mail_number, sender_id);;
CREATE INDEX sender_notice_age ON sender_notice (created_at);;
