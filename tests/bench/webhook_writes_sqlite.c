// See webhook_writes.h. SQLite's own C API, with the daemon's pragmas and statements prepared once.
#include "baseline_sqlite.h"
#include "webhook_writes.h"

static sqlite3_stmt* begin_statement;
static sqlite3_stmt* change_statement;
static sqlite3_stmt* mark_statement;
static sqlite3_stmt* count_statement;
static sqlite3_stmt* commit_statement;

static void write_change(long long number) {
  sqlite3_bind_int64(change_statement, 1, number);
  sqlite3_bind_int64(change_statement, 2, GIFT_OF_CHANGE(number));
  sqlite3_bind_int64(change_statement, 3, number);
  run(change_statement);
  sqlite3_bind_int64(mark_statement, 1, GIFT_OF_CHANGE(number));
  run(mark_statement);
}

static void commit_group(long long first_id, long size) {
  run(begin_statement);
  for (long i = 0; i < size; ++i) write_change(first_id + i);
  sqlite3_bind_int64(count_statement, 1, size);
  run(count_statement);
  run(commit_statement);
}

int main(int argc, char** argv) {
  const struct options options = read_options(argc, argv, false);
  open_database(options.database);
  each_ddl_statement(options.schema, "sqlite", "INTEGER PRIMARY KEY", execute);
  execute(SOURCE_ROW);
  begin_statement = prepare("BEGIN IMMEDIATE");
  change_statement = prepare(
      "INSERT INTO change_log (id, source, transaction_id, status, premise, occurred_at, received_at, "
      "orphaned, "
      "gift_source) VALUES (?, 'vendor', ?, 'opened', '', ?, 1800000000000, 0, '') ON CONFLICT DO NOTHING");
  mark_statement = prepare(
      "INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
      "lease_until, "
      "last_error) VALUES (?, 1, 1800000000000, 0, '', 0, '')" MARK_CONFLICT);
  count_statement =
      prepare("UPDATE source SET last_received_at = 1, accepted = accepted + ? WHERE name = 'vendor'");
  commit_statement = prepare("COMMIT");
  run_groups(options, commit_group);
  return 0;
}
