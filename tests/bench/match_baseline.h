// tests/bench: the reference for matching: the bare indexed SELECTs for 200 recipients at a time, over tables
// that contain the match keys, through the back end's own C API with prepared statements. Shared by
// match_sqlite.c and match_postgresql.c; built by scripts/bench. Any fault prints its reason and exits 70.
#pragma once

enum { BATCH = 200, QUERIES = 5 };

enum query { CONTACT_BY_EMAIL, CONTACT_BY_PHONE, LEAD_BY_EMAIL, LEAD_BY_PHONE, OPEN_OPPORTUNITIES };

// Writes the text of a query into `text`. `in_list` is the condition on the keys, with one %s for the column.
// Rows are (key, id, ...), ordered by key and then by preference.
void query_text(enum query query, const char* in_list, char* text, unsigned long size);

// Runs a query for a list of keys, and calls row(key, id) for each row.
typedef void run_query(enum query query, const char* list, void (*row)(const char* key, const char* id));

// Matches the file's recipients (lines "e-mail key TAB phone key") again and again for `seconds`, and prints
// the rate and what was found as one line of JSON. `brackets` opens and closes a list: "[]" or "{}".
void match_recipients(const char* file, double seconds, const char* brackets, run_query* run);

double seconds_now(void);
_Noreturn void fail(const char* doing, const char* reason);
