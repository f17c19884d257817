// tests/bench: the reference for status changes: the tables and columns that the C programs copy from a store
// that the daemon has finished into an unchanged copy. Each row is written once, in its final state; no
// change is read, folded, compared or synced. Shared by final_writes_sqlite.c and final_writes_postgresql.c.
#pragma once

enum { MAX_FIELDS = 16 };

// A table to copy; the first field is the key.
struct final_table {
  const char* name;
  const char* key;  // NULL: rows are inserted; else they are updated by this key
  const char* field[MAX_FIELDS + 1];
  const char* types;      // one letter per field: i: 64-bit integer, t: text, T: time in the CRM
  const char* condition;  // the rows that the changes modified
};

static const struct final_table final_tables[] = {
    {"change_log",
     NULL,
     {"id", "source", "transaction_id", "status", "premise", "occurred_at", "received_at", "orphaned", NULL},
     "itittiii",
     "1 = 1 ORDER BY id"},
    {"change_event", NULL, {"change_id", "event_id", NULL}, "it", "1 = 1 ORDER BY change_id"},
    {"recipient_transaction",
     "id",
     {"id", "status", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at",
      "expired_at", "refunded_at", "has_conflict", "version", NULL},
     "itiiiiiiiii",
     "version > 1 ORDER BY id"},
    {"crm_gift_record",
     "recipienttransactionid",
     {"recipienttransactionid", "record_version", "lastmodifieddate", "recipienttransactionstatus",
      "delivered_date_time", "undelivered_date_time", "opened_date_time", "redeemed_date_time",
      "donated_date_time", "expired_date_time", "refunded_date_time", NULL},
     "iiTtTTTTTTT",
     "record_version > 1 ORDER BY recipienttransactionid"},
    {"crm_sync_state",
     "transaction_id",
     {"transaction_id", "state", "written_version", "error", "warnings", NULL},
     "ititt",
     "written_version > 1 ORDER BY transaction_id"},
};
enum { FINAL_TABLES = sizeof final_tables / sizeof *final_tables };
