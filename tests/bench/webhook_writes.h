// tests/bench: the reference for webhook messages of one change each: the rows that they leave in the store,
// written in groups by a plain C program without HTTP, signatures, JSON or clients. Built by scripts/bench.
#pragma once

enum { BENCH_GIFTS = 20000 };

// The gift of the change with that number; changes take turns over all gifts, each at a time of its own.
#define GIFT_OF_CHANGE(number) ((number) % BENCH_GIFTS + 1)

#define SOURCE_ROW                                                                                         \
  "INSERT INTO source (name, state, state_since, reason, cursor_state, revision, next_attempt_at, "        \
  "failures, "                                                                                             \
  "lease_owner, lease_until, accepted, duplicates, ignored, gifts, rejected) VALUES ('vendor', 'new', 0, " \
  "'', '', 0, 0, 0, '', 0, 0, 0, 0, 0, 0)"

#define MARK_CONFLICT                                                                                   \
  " ON CONFLICT (transaction_id) DO UPDATE SET mark_seq = crm_outbox.mark_seq + 1, attempts = 0, "      \
  "next_attempt_at = CASE WHEN crm_outbox.next_attempt_at < excluded.next_attempt_at THEN "             \
  "crm_outbox.next_attempt_at ELSE excluded.next_attempt_at END WHERE crm_outbox.lease_owner <> '' OR " \
  "crm_outbox.attempts > 0 OR crm_outbox.next_attempt_at > excluded.next_attempt_at"
