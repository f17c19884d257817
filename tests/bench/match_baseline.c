#include "match_baseline.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recipient {
  const char* email;
  const char* phone;
  char contact[32];
  char lead[32];
  char opportunity[32];
};

// The recipient of a key, in an open-addressing hash table: equal keys are adjacent.
struct slot {
  const char* key;
  struct recipient* recipient;
};

enum { SLOTS = 1024, MAX_RECIPIENTS = 100000 };

static struct recipient* recipients;
static size_t count;
static struct slot slots[SLOTS];
static enum query current_query;
static long contacts, leads, opportunities;

void query_text(enum query query, const char* in_list, char* text, unsigned long size) {
  char email[200];
  char phone[200];
  char mobile[200];
  char contact[200];
  snprintf(email, sizeof email, in_list, "email_key");
  snprintf(phone, sizeof phone, in_list, "phone_key");
  snprintf(mobile, sizeof mobile, in_list, "mobile_key");
  snprintf(contact, sizeof contact, in_list, "r.contactid");
  const bool is_lead = query == LEAD_BY_EMAIL || query == LEAD_BY_PHONE;
  const char* table = is_lead ? "bench_lead" : "bench_contact";
  const char* columns = is_lead ? "id, name, lastmodifieddate" : "id, name, lastmodifieddate, accountid";
  const char* open = is_lead ? " AND NOT isconverted" : "";
  if (query == OPEN_OPPORTUNITIES) {
    snprintf(
        text, size,
        "SELECT r.contactid, o.id, o.name, o.stagename, o.accountid, o.closedate FROM "
        "crm_opportunity_contact_role r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE %s AND NOT "
        "o.isclosed ORDER BY r.contactid, o.closedate, o.id",
        contact);
  } else if (query == CONTACT_BY_EMAIL || query == LEAD_BY_EMAIL) {
    snprintf(text, size,
             "SELECT email_key, %s FROM %s WHERE %s%s ORDER BY email_key, lastmodifieddate DESC, id", columns,
             table, email, open);
  } else {
    snprintf(text, size,
             "SELECT phone_key AS k, %s FROM %s WHERE %s%s UNION SELECT mobile_key, %s FROM %s WHERE %s%s "
             "ORDER BY k, "
             "lastmodifieddate DESC, id",
             columns, table, phone, open, columns, table, mobile, open);
  }
}

static size_t slot_of(const char* key) {
  size_t hash = 5381;
  for (const char* c = key; *c; ++c) hash = hash * 33 + (unsigned char)*c;
  return hash % SLOTS;
}

static void store_row(const char* key, const char* id) {
  for (size_t at = slot_of(key); slots[at].key; at = (at + 1) % SLOTS) {
    if (strcmp(slots[at].key, key) != 0) continue;
    struct recipient* who = slots[at].recipient;
    char* found = current_query == OPEN_OPPORTUNITIES ? who->opportunity
                  : current_query == LEAD_BY_EMAIL || current_query == LEAD_BY_PHONE ? who->lead
                                                                                     : who->contact;
    if (!*found) snprintf(found, sizeof who->contact, "%s", id);
  }
}

// The key with which a query searches for this recipient; NULL: the query is not needed.
static const char* key_for(enum query query, const struct recipient* who) {
  const char* key = NULL;
  switch (query) {
    case CONTACT_BY_EMAIL:
      key = who->email;
      break;
    case CONTACT_BY_PHONE:
      key = *who->contact ? NULL : who->phone;
      break;
    case LEAD_BY_EMAIL:
      key = *who->contact ? NULL : who->email;
      break;
    case LEAD_BY_PHONE:
      key = *who->contact || *who->lead ? NULL : who->phone;
      break;
    case OPEN_OPPORTUNITIES:
      key = who->contact;
      break;
  }
  return key && *key ? key : NULL;
}

static void match_batch(struct recipient* batch, const char* brackets, run_query* run) {
  static char list[BATCH * 120];
  for (int i = 0; i < BATCH; ++i) *batch[i].contact = *batch[i].lead = *batch[i].opportunity = '\0';
  for (int query = 0; query < QUERIES; ++query) {
    memset(slots, 0, sizeof slots);
    size_t length = 0;
    list[length++] = brackets[0];
    for (int i = 0; i < BATCH; ++i) {
      const char* key = key_for(query, &batch[i]);
      if (!key) continue;
      length += (size_t)snprintf(list + length, sizeof list - length, "%s\"%s\"", length > 1 ? "," : "", key);
      size_t at = slot_of(key);
      while (slots[at].key) at = (at + 1) % SLOTS;
      slots[at] = (struct slot){key, &batch[i]};
    }
    if (length == 1) continue;
    list[length++] = brackets[1];
    list[length] = '\0';
    current_query = (enum query)query;
    run(current_query, list, store_row);
  }
}

static void read_recipients(const char* file) {
  FILE* lines = fopen(file, "r");
  if (!lines) fail("read the recipients", file);
  recipients = calloc(MAX_RECIPIENTS, sizeof *recipients);
  char line[300];
  while (count < MAX_RECIPIENTS && fgets(line, sizeof line, lines)) {
    line[strcspn(line, "\n")] = '\0';
    char* tab = strchr(line, '\t');
    if (!tab) fail("read the recipients", "a line without a tab");
    *tab = '\0';
    recipients[count].email = strdup(line);
    recipients[count++].phone = strdup(tab + 1);
  }
  fclose(lines);
  count -= count % BATCH;
  if (count == 0) fail("read the recipients", "fewer than 200");
}

void match_recipients(const char* file, double seconds, const char* brackets, run_query* run) {
  read_recipients(file);
  for (size_t at = 0; at < count; at += BATCH)
    match_batch(recipients + at, brackets, run);  // warms up and finds the matches
  for (size_t i = 0; i < count; ++i) {
    contacts += *recipients[i].contact != '\0';
    leads += *recipients[i].lead != '\0';
    opportunities += *recipients[i].opportunity != '\0';
  }
  long batches = 0;
  const double begun = seconds_now();
  for (size_t at = 0; seconds_now() < begun + seconds; at = (at + BATCH) % count, ++batches)
    match_batch(recipients + at, brackets, run);
  printf("{\"batch_millis\": %.3f, \"contacts\": %ld, \"leads\": %ld, \"opportunities\": %ld}\n",
         (seconds_now() - begun) * 1000 / (double)batches, contacts, leads, opportunities);
}
