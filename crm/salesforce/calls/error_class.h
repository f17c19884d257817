// crm/salesforce: what an error of Salesforce means and what follows from it: one table of its codes, and
// rules for the others. Salesforce's words are English, because the integration user's language is checked.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crm/salesforce/calls/answers.h"

namespace giftsync::salesforce {

enum class ErrorClass {
  // Rows: what was written, or what is to be done before the row is written again.
  already_created,     ///< our key is in the org: look the record up
  gone,                ///< the record itself was deleted, merged or is of another gift: look it up by its key
  lost_lookup,         ///< a lookup's target was deleted, merged, converted or is out of reach: clear it
  inactive_owner,      ///< write again without the owner
  older_version,       ///< giftsync's rule: the org has a newer version
  changed_since_read,  ///< giftsync's rule, or HTTP 412: the record is not as it was read
  value_too_long,      ///< cut to the length that describe tells
  bad_value,           ///< a value of one field: written again without it if it is optional
  // Rows: try later.
  row_lock,
  busy,            ///< limits of one transaction, other work on the record: smaller calls, later
  under_approval,  ///< locked until the approval ends
  // Rows: refused as they are.
  org_rule,          ///< the org's own rules, triggers and filters
  restricted_value,  ///< a picklist without this value
  no_access,
  several_records,  ///< the external id is not unique
  refused,          ///< every other code of a row
  // Whole requests.
  fields_differ,    ///< no such field or object, or not visible: describe again
  session_ended,    ///< sign in again, once
  session_refused,  ///< signing in again changes nothing
  daily_quota,      ///< no call until the quota is free
  concurrency,      ///< too many long calls: smaller calls, later
  api_disabled,     ///< an admin must act
  storage_full,
  query_too_heavy,  ///< ask for fewer values
  locator_expired,  ///< the query from its beginning
  unavailable,      ///< try later
  invalid_request,  ///< a defect of giftsync
};

enum class Operation {
  query,
  create,
  update,
  other,
  upsert  ///< by an external id: a creation where no record has it
};

struct ErrorContext {
  Operation operation = Operation::other;
  bool is_row = false;         ///< of a Collections row; else of a request or a part
  int status = 200;            ///< of HTTP, for requests and parts
  std::string_view key_field;  ///< API name of the unique field that giftsync writes
};

/// `error.code` may be empty: then the status decides.
ErrorClass classify(const ApiError& error, const ErrorContext& context);

/// What a row or a call does after such an error.
struct Treatment {
  enum class Next {
    look_up,      ///< ask the org, then decide
    write_again,  ///< changed, in the same step
    unchanged,    ///< the row's final result
    retry,        ///< after `retry_after_millis`
    reject,       ///< after `retry_after_millis` at the earliest once more
    sign_in,      ///< then the same call once more
    ask_less,     ///< a query in smaller pieces
    stop,         ///< no call before `retry_after_millis`; is_transient says whether time alone helps
  };
  Next next = Next::reject;
  std::int64_t retry_after_millis = 0;
  bool halves_rows = false;  ///< the next calls have half as many rows
  bool is_transient = true;  ///< false: only an admin can help

  /// A row is neither decided nor changed: it is written as it is later.
  bool is_later() const {
    return next == Next::retry || next == Next::stop || next == Next::sign_in || next == Next::ask_less;
  }
};
Treatment policy_for(ErrorClass error_class);

/// "Salesforce: CODE: words", of which at most 500 characters, for people.
std::string words_of_row(const ApiError& error);
/// What an admin does about a user without access, to be appended to the refusal.
std::string assign_permission_set();
/// What an admin does about a row that is refused so, to be appended to the refusal; may be empty.
std::string remedy_of_row(ErrorClass error_class);

/// Whether the table has a line for this code.
bool is_known_code(std::string_view code);

/// The record that has the value of a unique field, from the words of DUPLICATE_VALUE.
struct DuplicateRecord {
  std::string field;      ///< API name
  std::string record_id;  ///< empty when it is out of reach
};
std::optional<DuplicateRecord> duplicate_record(std::string_view message);

/// The class of a failed sign-in: session_refused for what settings or an admin must change, else
/// unavailable.
ErrorClass classify_sign_in(int status, const std::optional<OAuthError>& error);

// The codes of Salesforce's errors with their classes. A code that depends on the
// operation or on words has the class of the usual case. Pure.

std::optional<ErrorClass> class_of_code(std::string_view code);

}  // namespace giftsync::salesforce
