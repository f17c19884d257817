#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

const struct table tables[TABLES] = {
    {"gift_request",
     14,
     {"id", "account_id", "mode", "gift_id", "item_name", "item_description", "item_cost", "shipping_cost",
      "carbon_neutral_cost", "transaction_fee", "sender_email", "sender_name", "utm_campaign_id",
      "created_at"},
     "iitittiiiittti"},
    {"recipient_transaction",
     11,
     {"id", "request_id", "position", "email", "first_name", "last_name", "message", "generation", "status",
      "sent_at", "version"},
     "iiittttitii"},
    {"crm_outbox",
     7,
     {"transaction_id", "mark_seq", "next_attempt_at", "attempts", "lease_owner", "lease_until",
      "last_error"},
     "iiiitit"},
    {"mail_outbox",
     11,
     {"transaction_id", "state", "attempt", "next_attempt_at", "message_id", "uncertain_retries",
      "last_reply", "updated_at", "lease_owner", "lease_until", "turn"},
     "itiitititii"},
};

_Noreturn void fail(const char* doing, const char* reason) {
  fprintf(stderr, "bench: cannot %s: %s\n", doing, reason);
  exit(EX_SOFTWARE);
}

static double clock_seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double seconds_now(void) {
  return clock_seconds(CLOCK_MONOTONIC);
}

// ---- Options
// ----------------------------------------------------------------------------------------------------------

static _Noreturn void usage(const char* program) {
  fprintf(stderr,
          "Usage: %s --database NAME (--schema FILE --group REQUESTS | --watch) --seconds SECONDS\n"
          "scripts/bench builds and calls this program; see scripts/bench --help.\n",
          program);
  exit(EX_USAGE);
}

struct options read_options(int argc, char** argv, bool can_watch) {
  struct options options = {NULL, NULL, 0, 0, false};
  for (int i = 1; i < argc; ++i) {
    if (can_watch && strcmp(argv[i], "--watch") == 0) {
      options.watch = true;
      continue;
    }
    const char* name = argv[i];
    if (++i == argc) usage(argv[0]);
    if (strcmp(name, "--database") == 0) {
      options.database = argv[i];
    } else if (strcmp(name, "--schema") == 0) {
      options.schema = argv[i];
    } else if (strcmp(name, "--seconds") == 0) {
      options.seconds = strtod(argv[i], NULL);
    } else if (strcmp(name, "--group") == 0) {
      options.group = strtol(argv[i], NULL, 10);
    } else {
      usage(argv[0]);
    }
  }
  const bool complete = options.watch || (options.schema && options.group > 0);
  if (!options.database || !(options.seconds > 0) || !complete) usage(argv[0]);
  return options;
}

// ---- The store's DDL
// --------------------------------------------------------------------------------------------------

static char* whole_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) fail("open the schema", path);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) fail("read the schema", path);
  fclose(file);
  return text;
}

// Reads the script as schema/sql/script.cpp does: lines from "--@sqlite" or "--@postgresql" to "--@end" are
// for that back end only, "@key@" is the type of a primary key, a statement ends with ";;".
void each_ddl_statement(const char* path, const char* dialect, const char* key_type,
                        void (*run)(const char* statement)) {
  char* text = whole_file(path);
  char* statement = calloc(2 * strlen(text) + 1, 1);
  bool skipping = false;
  char* rest = text;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (strncmp(line, "--@", 3) == 0) {
      skipping = strcmp(line, "--@end") != 0 && strcmp(line + 3, dialect) != 0;
      continue;
    }
    if (skipping) continue;
    char* comment = strstr(line, "--");
    if (comment) *comment = '\0';
    char* end = strstr(line, ";;");
    if (end) *end = '\0';
    char* key = strstr(line, "@key@");
    if (key) {
      strncat(statement, line, (size_t)(key - line));
      strcat(statement, key_type);
      line = key + strlen("@key@");
    }
    strcat(strcat(statement, line), "\n");
    if (!end) continue;
    run(statement);
    *statement = '\0';
  }
  free(statement);
  free(text);
}

// ---- The rows
// ---------------------------------------------------------------------------------------------------------

static const char* given(const char* name) {
  const char* text = getenv(name);
  if (!text) fail("make rows without the environment of scripts/bench", name);
  return text;
}

static struct value integer(long long number) {
  return (struct value){INTEGER, number, NULL};
}
static struct value text(const char* string) {
  return (struct value){TEXT, 0, string};
}

void each_row_of_request(long long id, void (*add)(int table, const struct value* cells)) {
  const long long now = (long long)(clock_seconds(CLOCK_REALTIME) * 1000);
  char email[80];
  snprintf(email, sizeof email, "recipient-%lld@example.com", id);
  const struct value zero = integer(0);
  const struct value none = text("");
  add(0, (struct value[]){integer(id),
                          integer(1),
                          text("email"),
                          integer(101),
                          text(given("BENCH_ITEM_NAME")),
                          text(given("BENCH_ITEM_DESCRIPTION")),
                          integer(500),
                          integer(250),
                          integer(10),
                          integer(35),
                          text(given("BENCH_SENDER_EMAIL")),
                          text(given("BENCH_SENDER_NAME")),
                          {ABSENT, 0, NULL},
                          integer(now)});
  add(1, (struct value[]){integer(id), integer(id), zero, text(email), text(given("BENCH_FIRST_NAME")),
                          text(given("BENCH_LAST_NAME")), text(given("BENCH_MESSAGE")), zero, text("sent"),
                          integer(now), integer(1)});
  add(2, (struct value[]){integer(id), integer(1), integer(now), zero, none, zero, none});
  add(3, (struct value[]){integer(id), text("queued"), zero, integer(now), none, zero, none, integer(now),
                          none, zero, integer(now)});
}

// ---- The measurement
// --------------------------------------------------------------------------------------------------

void run_groups(struct options options, void (*commit_group)(long long first_id, long size)) {
  long long written = 0;
  const double begin = seconds_now();
  double now = begin;
  while (now < begin + options.seconds) {
    commit_group(written + 1, options.group);
    written += options.group;
    now = seconds_now();
  }
  printf("{\"requests_per_second\": %.0f, \"requests\": %lld, \"requests_in_commit\": %ld}\n",
         (double)written / (now - begin), written, options.group);
}
