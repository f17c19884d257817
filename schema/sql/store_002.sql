-- The store, version 2: who voided a change and who restored it, when and why, however often. Whether a change counts now is
-- told by its own row (`voided_at`). `what`: voided or restored.
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
