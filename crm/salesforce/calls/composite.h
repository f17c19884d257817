// crm/salesforce: composite calls: parts to calls, rows to parts, and the answers back to the rows. One
// composite call counts as one call of the org's quota, whatever is in it. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/error_class.h"

namespace giftsync::salesforce {

// Salesforce's limits, and giftsync's for the body.
inline constexpr std::size_t kMaxParts = 25;
inline constexpr std::size_t kMaxHeavyParts = 5;  ///< queries and Collections among them
inline constexpr std::size_t kMaxRowsPerPart = 200;
inline constexpr std::size_t kMaxCallBytes = 4'000'000;

struct PartRequest {
  std::string method;
  std::string url;        ///< from /services on
  std::string reference;  ///< letters and digits; the answer names it
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};  ///< JSON; empty: none
  bool is_heavy = true;   ///< a query or a Collections request
  bool is_alone = false;  ///< it is a call by itself: a composite call would read a reference in it (ORG-21)
};

/// Whether a composite call would take a text in the JSON for a reference to another part: "Hello @{name}".
bool reads_as_reference(std::string_view json);

/// "/services/data/v62.0".
std::string data_path(std::string_view api_version);

/// `is_all`: with deleted and archived rows.
PartRequest query_part(std::string_view api_version, std::string_view soql, std::string reference,
                       bool is_all = false);

/// As a part a missing object is an answer, HTTP 404, and no failed call.
PartRequest describe_part(std::string_view api_version, std::string_view object, std::string reference);

std::string composite_body(std::span<const PartRequest> parts);

/// The parts of each call, as positions in `parts`, in their order: as few calls as the order allows.
std::vector<std::vector<std::size_t>> group_parts(std::span<const PartRequest> parts);

constexpr bool is_success(int status) {
  return status >= 200 && status < 300;
}

inline constexpr int kNotFound = 404;  ///< of HTTP

/// Null when the answer has no part of that name.
const CompositePart* find_part(std::span<const CompositePart> parts, std::string_view reference);

/// A field that gets the Id of another row, which the same call creates before.
struct RowReference {
  std::string field;
  std::size_t row = 0;  ///< its position in the rows given
};

/// A row of record_json.h.
struct WriteRow {
  Operation operation = Operation::create;  ///< or upsert, update
  std::string json;
  std::string key = {};  ///< of an upsert: "Object/Field", the same for all rows of a call
  std::optional<RowReference> refers_to = {};
};

/// Rows of one operation that one part writes, as positions in the given rows.
struct RowBlock {
  Operation operation = Operation::create;
  std::string reference;
  std::vector<std::size_t> rows;
  bool refers = false;  ///< its rows refer to rows of other blocks
};

/// The part of one block of the given rows. `blocks`: of the call, to whose rows these may refer.
PartRequest block_part(std::string_view api_version, const RowBlock& block, std::span<const WriteRow> rows,
                       std::span<const RowBlock> blocks = {});

struct WriteCall {
  std::vector<PartRequest> parts;
  std::vector<RowBlock> blocks;
};

/// Whether one call can have all rows that are not alone; only then may some refer to others. Rows that refer
/// come last, and neither they nor the rows that they name are alone.
bool fits_one_call(std::size_t rows_per_call, std::span<const WriteRow> rows);

/// Each call has the next rows in the order given, `rows_per_call` at most, in blocks of a fifth of it (with
/// references: a third): smaller blocks hold fewer locks. Rows that a composite call would misread come last,
/// a block in a call.
std::vector<WriteCall> write_calls(std::string_view api_version, std::size_t rows_per_call,
                                   std::span<const WriteRow> rows);

struct RowAnswer {
  std::size_t row = 0;
  Operation operation = Operation::create;
  bool is_answered = false;  ///< false: it is unknown whether it was written
  /// The part's status. Without success `written.errors` are the part's, and all its rows have them.
  int status = 0;
  WrittenRow written;

  ErrorContext context(std::string_view key_field) const {
    return {operation, is_success(status), status, key_field};
  }
};

/// One answer for each row of the call, in the order of the rows given.
std::vector<RowAnswer> row_answers(const WriteCall& call, std::span<const CompositePart> parts);

}  // namespace giftsync::salesforce
