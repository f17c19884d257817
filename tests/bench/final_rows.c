#include "final_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "baseline.h"

// Of gifts that were taken, mailed and synced: whole rows, into an empty store.
static const struct final_table tables_of_requests[MAX_FINAL_TABLES + 1] = {
    {"gift_request", false, NULL, NULL},   {"recipient_transaction", false, NULL, NULL},
    {"mail_outbox", false, NULL, NULL},    {"change_log", false, NULL, NULL},
    {"crm_sync_state", false, NULL, NULL}, {"crm_gift_record", false, NULL, NULL},
};

// Of status changes: what they modified, into a copy of the store before them.
static const struct final_table tables_of_changes[MAX_FINAL_TABLES + 1] = {
    {"change_log", false, "id, source, transaction_id, status, premise, occurred_at, received_at, orphaned",
     "1 = 1 ORDER BY id"},
    {"change_event", false, "change_id, event_id", "1 = 1 ORDER BY change_id"},
    {"recipient_transaction", true,
     "id, status, delivered_at, undelivered_at, opened_at, redeemed_at, donated_at, expired_at, refunded_at, "
     "has_conflict, version",
     "version > 1 ORDER BY id"},
    {"crm_gift_record", true,
     "recipienttransactionid, record_version, lastmodifieddate, recipienttransactionstatus, "
     "delivered_date_time, undelivered_date_time, opened_date_time, redeemed_date_time, donated_date_time, "
     "expired_date_time, refunded_date_time",
     "record_version > 1 ORDER BY recipienttransactionid"},
    {"crm_sync_state", true, "transaction_id, state, written_version, error, warnings",
     "written_version > 1 ORDER BY transaction_id"},
};

const struct final_table* final_tables;

struct mail {
  char* name;
  char* text;
  size_t size;
};

static struct mail* mails;
static long mail_count;
static long gift_count;
static long change_count;

struct final_rows_options read_final_rows_options(int argc, char** argv) {
  const long batch = argc == 5 || argc == 7 ? strtol(argv[4], NULL, 10) : 0;
  if (batch > 0 && strcmp(argv[1], "requests") == 0) final_tables = tables_of_requests;
  if (batch > 0 && strcmp(argv[1], "changes") == 0) final_tables = tables_of_changes;
  if (!final_tables) {
    fprintf(stderr,
            "Usage: %s requests|changes FINISHED FRESH ROWS-IN-A-COMMIT [FINISHED-FOLDER FRESH-FOLDER]\n",
            argv[0]);
    exit(EX_USAGE);
  }
  const bool has_mails = argc == 7;
  return (struct final_rows_options){argv[2], argv[3], batch, has_mails ? argv[5] : NULL,
                                     has_mails ? argv[6] : NULL};
}

static void read_mail(int folder, struct mail* mail, const char* name) {
  const int file = openat(folder, name, O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) fail("open a mail", name);
  mail->name = strdup(name);
  mail->size = (size_t)about.st_size;
  mail->text = malloc(mail->size + 1);
  if (!mail->text || read(file, mail->text, mail->size) != (ssize_t)mail->size) fail("read a mail", name);
  close(file);
}

// Keeps the mails of the folder in memory.
static void read_mails(const char* path) {
  DIR* folder = opendir(path);
  if (!folder) fail("open the folder", path);
  long capacity = 0;
  for (struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".eml")) continue;
    if (mail_count == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      mails = realloc(mails, (size_t)capacity * sizeof *mails);
      if (!mails) fail("store the mails", "no memory");
    }
    read_mail(dirfd(folder), &mails[mail_count++], entry->d_name);
  }
  closedir(folder);
}

static void write_mails(const char* path, long batch) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY);
  if (folder < 0) fail("open the folder", path);
  for (long i = 0; i < mail_count; ++i) {
    const int file = openat(folder, mails[i].name, O_WRONLY | O_CREAT | O_EXCL, 0640);
    if (file < 0 || write(file, mails[i].text, mails[i].size) != (ssize_t)mails[i].size || fsync(file) != 0)
      fail("write a mail", mails[i].name);
    close(file);
    if ((i % batch == batch - 1 || i == mail_count - 1) && fsync(folder) != 0) fail("sync the folder", path);
  }
  close(folder);
}

void read_final(struct final_rows_options options, read_final_table* read) {
  for (int i = 0; final_tables[i].name; ++i) {
    const long count = read(i);
    if (strcmp(final_tables[i].name, "recipient_transaction") == 0) gift_count = count;
    if (strcmp(final_tables[i].name, "change_log") == 0) change_count = count;
  }
  if (options.finished_folder) read_mails(options.finished_folder);
}

void write_final(struct final_rows_options options, write_final_table* write) {
  const double begin = seconds_now();
  for (int i = 0; final_tables[i].name; ++i) write(i, options.batch);
  const double rows_end = seconds_now();
  if (options.fresh_folder) write_mails(options.fresh_folder, options.batch);
  printf("{\"seconds\": %.3f, \"row_seconds\": %.3f, \"gifts\": %ld, \"changes\": %ld, \"mails\": %ld}\n",
         seconds_now() - begin, rows_end - begin, gift_count, change_count, mail_count);
}
