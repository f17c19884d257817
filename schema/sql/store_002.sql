-- The store, version 2: who voided a change and who restored it, when and why, however often. Whether a change counts now is
-- told by its own row (`voided_at`). `what`: voided or restored.
--
-- Gifts from outside were sent when their first report said; those of which an earlier one is there are folded anew.
CREATE TABLE change_review (
--@sqlite
  id        INTEGER PRIMARY KEY,
--@postgresql
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  change_id BIGINT NOT NULL,
  done_at   BIGINT NOT NULL,
  what      TEXT NOT NULL,
  who       TEXT NOT NULL,
  reason    TEXT NOT NULL
);;
CREATE INDEX change_review_change ON change_review (change_id, id);;
INSERT INTO change_review (change_id, done_at, what, who, reason)
  SELECT id, voided_at, 'voided', coalesce(voided_by, ''), coalesce(void_reason, '') FROM change_log
  WHERE voided_at IS NOT NULL ORDER BY voided_at, id;;
INSERT INTO sync_mark (transaction_id, seq, due_at, attempts, lease_owner, lease_until, last_error)
  SELECT t.id, 1, 0, 0, '', 0, '' FROM recipient_transaction t WHERE t.origin NOT IN ('', 'crm') AND EXISTS (
    SELECT 1 FROM change_log c WHERE c.transaction_id = t.id AND c.status = 'sent' AND c.occurred_at < t.sent_at)
  ON CONFLICT DO NOTHING;;
