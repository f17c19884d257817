-- For what `status` and the overview tell of the last days.
CREATE INDEX recipient_transaction_undelivered ON recipient_transaction (undelivered_at) WHERE status = 'undelivered';;
CREATE INDEX mail_outbox_undelivered ON mail_outbox (updated_at) WHERE state = 'undelivered';;

-- PostgreSQL folds addresses by the rules of the database's language: of Turkish, "I" to another letter than "i". The bytes
-- decide now, as in the program and on SQLite.
--@postgresql
DROP INDEX recipient_transaction_email;;
CREATE INDEX recipient_transaction_email ON recipient_transaction (lower(trim(email) COLLATE "C"), id);;
--@end
