#include "crm/salesforce/records/legacy_status_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {
using crm::StatusLogGroup;
using crm::StatusLogSize;

constexpr const char* kGrant = "and let the integration user read it by a permission set";

[[noreturn]] void refuse(const std::string& words) {
  throw giftsync::DependencyError(false, words, true);
}

[[noreturn]] void refuse_field(const StatusLogNames& names, const FieldFacts& field, const std::string& found,
                               const char* wanted, const char* key) {
  refuse(fmt::format("the status log's field {}.{} {}, {} is needed; name another one as crm.status_log.{}",
                     names.object, field.name, found, wanted, key));
}

bool is_number(const FieldFacts& field) {
  return field.type == "double" || field.type == "int" || field.type == "long";
}

/// The number of rows that a part of a call counted.
std::int64_t count_in(OrgCalls& calls, std::span<const CompositePart> parts, std::string_view reference) {
  const CompositePart& part = require_part(parts, reference);
  if (!is_success(part.status)) calls.stop(part, CallPurpose::backfill);
  const tl::expected<QueryPage, Fault> page = query_page(*part.body);
  if (!page) throw giftsync::DependencyError(true, "Salesforce: " + page.error(), true);
  return page->total_size;
}

void add(StatusLogGroup& group, const std::optional<UtcMillis>& time, UtcMillis from, UtcMillis to) {
  ++group.rows;
  if (!time || *time < from || *time > to) {
    ++group.implausible;
    return;
  }
  if (!group.earliest || *time < *group.earliest) group.earliest = time;
  if (!group.latest || *time > *group.latest) group.latest = time;
}

}  // namespace

const std::vector<FieldFacts>* SalesforceStatusLog::fields() {
  if (!is_described_) {
    fields_ = describe_fields(calls_, names_.object, CallPurpose::backfill);
    is_described_ = true;
  }
  return fields_ ? &*fields_ : nullptr;
}

bool SalesforceStatusLog::exists() {
  const std::lock_guard lock(mutex_);
  return fields() != nullptr;
}

const FieldFacts& SalesforceStatusLog::require(const std::string& name, const char* key) {
  const std::vector<FieldFacts>* known = fields();
  if (!known)
    refuse(fmt::format("the org has no status log {}; set crm.status_log.object to its API name, {}",
                       names_.object, kGrant));
  if (const FieldFacts* field = find_field(*known, name)) return *field;
  refuse(fmt::format("the status log {} has no field {}; name the right one in crm.status_log.{}, {}",
                     names_.object, name, key, kGrant));
}

void SalesforceStatusLog::check_fields() {
  const FieldFacts& transaction = require(names_.transaction_id, "transaction_id");
  require(names_.status, "status");
  const FieldFacts& time = require(names_.time, "time");
  const char* wanted = "a number without decimals that queries may filter and sort by";
  if (!is_number(transaction))
    refuse_field(names_, transaction, "is of type " + transaction.type, wanted, "transaction_id");
  if (transaction.scale > 0)
    refuse_field(names_, transaction, fmt::format("has {} decimals", transaction.scale), wanted,
                 "transaction_id");
  if (!transaction.is_filterable || !transaction.is_sortable)
    refuse_field(names_, transaction, "cannot be filtered or sorted", wanted, "transaction_id");
  if (time.type != "datetime" && time.type != "date")
    refuse_field(names_, time, "is of type " + time.type, "a time", "time");
}

StatusLogSize SalesforceStatusLog::size() {
  const std::lock_guard lock(mutex_);
  check_fields();
  const std::string& field = names_.transaction_id;
  const Select with_gift{{}, names_.object, {field + " > 0", fmt::format("{} <= {}", field, kMaxId)}, {}, 0};
  const Select without_gift{{},
                            names_.object,
                            {fmt::format("({} = null OR {} <= 0 OR {} > {})", field, field, field, kMaxId)},
                            {},
                            0};
  const std::array<PartRequest, 2> parts{query_part(calls_.api_version(), to_count(with_gift), "with"),
                                         query_part(calls_.api_version(), to_count(without_gift), "without")};
  const CompositeAnswer answer = calls_.read(parts, 0, CallPurpose::backfill);
  const std::int64_t without = count_in(calls_, answer.parts, "without");
  return {count_in(calls_, answer.parts, "with") + without, without};
}

std::string SalesforceStatusLog::page_of_gifts(TransactionId after) const {
  const std::string& field = names_.transaction_id;
  return to_soql({{"Id", field, names_.status, names_.time},
                  names_.object,
                  {fmt::format("{} > {}", field, after.value), fmt::format("{} <= {}", field, kMaxId)},
                  order_by(field, false),
                  kPageRows});
}

std::string SalesforceStatusLog::page_of_one_gift(TransactionId gift, const std::string& row_after) const {
  const std::string& field = names_.transaction_id;
  return to_soql({{"Id", field, names_.status, names_.time},
                  names_.object,
                  {fmt::format("{} = {}", field, gift.value),
                   fmt::format("Id > {}", id_literal(row_after).value_or("''"))},
                  "Id ASC",
                  kPageRows});
}

std::vector<SalesforceStatusLog::Row> SalesforceStatusLog::read_rows(const std::string& soql) {
  std::vector<Row> rows;
  each_row(calls_, query_of(soql), CallPurpose::backfill, [&](const JsonValue& json) {
    const JsonValue* number = value_at(json, names_.transaction_id);
    const std::optional<std::string> digits = number ? number_text(*number) : std::nullopt;
    const auto transaction = digits ? whole_number(*digits) : std::nullopt;
    if (!transaction)
      throw giftsync::DependencyError(
          false,
          fmt::format("the status log's field {}.{} has a row without a whole number", names_.object,
                      names_.transaction_id),
          true);
    rows.push_back({text_at(json, "Id"),
                    {*transaction},
                    text_of_value(value_at(json, names_.status)),
                    read_time(text_of_value(value_at(json, names_.time)))});
  });
  return rows;
}

/// The last gift of a full page may go on behind it. It is read again from its beginning, unless it fills the
/// whole page.
void SalesforceStatusLog::read_on(LogScan& scan) {
  const bool is_within_gift = !scan.row_after.empty();
  std::vector<Row> rows = read_rows(is_within_gift ? page_of_one_gift(scan.position, scan.row_after)
                                                   : page_of_gifts(scan.position));
  const bool is_full = rows.size() >= kPageRows;
  scan.row_after.clear();
  if (is_full && rows.front().transaction == rows.back().transaction) {
    scan.row_after = rows.back().id;
  } else if (is_full) {
    const TransactionId last = rows.back().transaction;
    while (rows.back().transaction == last) rows.pop_back();
  } else {
    scan.is_end = !is_within_gift;
  }
  for (const Row& row : rows) {
    StatusLogGroup& group = scan.groups[{row.transaction, row.status_text}];
    group.transaction = row.transaction;
    group.status_text = row.status_text;
    add(group, row.time, scan.from, scan.to);
    scan.position = row.transaction;
  }
}

std::vector<StatusLogGroup> SalesforceStatusLog::spans(TransactionId after, std::size_t limit, UtcMillis from,
                                                       UtcMillis to) {
  const std::lock_guard lock(mutex_);
  check_fields();
  if (!interrupted_ || interrupted_->start != after || interrupted_->from != from) {
    // Ids below 1 are not those of gifts.
    const TransactionId start{std::max<std::int64_t>(after.value, 0)};
    interrupted_ = LogScan{after, from, to, start, {}, false, {}};
  }
  LogScan& scan = *interrupted_;
  while (!scan.is_end && (scan.groups.size() < limit || !scan.row_after.empty())) read_on(scan);
  std::vector<StatusLogGroup> spans;
  for (auto& [key, group] : scan.groups) {
    if (spans.size() >= limit) break;
    spans.push_back(std::move(group));
  }
  interrupted_.reset();
  return spans;
}

}  // namespace giftsync::salesforce
