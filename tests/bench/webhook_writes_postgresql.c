// See webhook_writes.h. libpq: one connection, one prepared statement per table and group, with arrays as
// text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "baseline_postgresql.h"
#include "webhook_writes.h"

static void run(const char* statement, int count, const char* const* values) {
  check(PQexecPrepared(connection, statement, count, values, NULL, NULL, 0), statement);
}

static void commit_group(long long first_id, long size) {
  const size_t capacity = (size_t)size * 22 + 2;
  char* numbers = malloc(capacity);
  char* gifts = malloc(capacity);
  if (!numbers || !gifts) fail("make a group", "no memory");
  size_t numbers_length = 0;
  size_t gifts_length = 0;
  for (long i = 0; i < size; ++i) {
    const char* before = i == 0 ? "{" : ",";
    numbers_length += (size_t)sprintf(numbers + numbers_length, "%s%lld", before, first_id + i);
    gifts_length += (size_t)sprintf(gifts + gifts_length, "%s%lld", before, GIFT_OF_CHANGE(first_id + i));
  }
  strcpy(numbers + numbers_length, "}");
  strcpy(gifts + gifts_length, "}");
  char count[24];
  snprintf(count, sizeof count, "%ld", size);
  execute("BEGIN");
  run("change", 2, (const char*[]){numbers, gifts});
  run("mark", 1, (const char*[]){gifts});
  run("count", 1, (const char*[]){count});
  execute("COMMIT");
  free(numbers);
  free(gifts);
}

int main(int argc, char** argv) {
  const struct options options = read_options(argc, argv, false);
  open_database(options.database);
  each_ddl_statement(options.schema, "postgresql", "BIGINT PRIMARY KEY", execute);
  execute(SOURCE_ROW);
  const char* statements[][2] = {
      {"change",
       "INSERT INTO change_log (id, source, transaction_id, status, premise, occurred_at, received_at, "
       "orphaned, "
       "gift_source) SELECT n, 'vendor', t, 'opened', '', n, 1800000000000, 0, '' FROM unnest($1::bigint[], "
       "$2::bigint[]) AS r (n, t) ON CONFLICT DO NOTHING"},
      {"mark",
       "INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
       "lease_until, "
       "last_error) SELECT DISTINCT t, 1, 1800000000000, 0, '', 0, '' FROM unnest($1::bigint[]) AS r (t) "
       "ORDER BY "
       "t" MARK_CONFLICT},
      {"count",
       "UPDATE source SET last_received_at = 1, accepted = accepted + $1::bigint WHERE name = 'vendor'"}};
  for (int i = 0; i < 3; ++i)
    check(PQprepare(connection, statements[i][0], statements[i][1], 0, NULL), statements[i][1]);
  run_groups(options, commit_group);
  PQfinish(connection);
  return 0;
}
