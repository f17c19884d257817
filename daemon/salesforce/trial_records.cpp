#include "daemon/salesforce/trial_records.h"

#include <algorithm>
#include <utility>

#include "daemon/salesforce/composite.h"
#include "daemon/salesforce/select.h"
#include "daemon/salesforce/soql_text.h"
#include "platform/dependency_error.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::salesforce {
namespace {

TrialOutcome outcome_of(const WrittenRow& row) {
  if (row.is_success) return {row.id, {}, {}};
  if (row.errors.empty()) return {{}, "UNKNOWN", "no error was named"};
  return {{}, row.errors.front().code, row.errors.front().message};
}

/// Of an answer to one row: a list of one.
TrialOutcome outcome_of(const AnswerBody& body) {
  if (!body.json()) return {{}, "UNKNOWN", describe(body)};
  if (!is_success(body.status)) {
    const std::vector<ApiError> errors = request_errors(*body.json());
    return errors.empty() ? TrialOutcome{{}, "UNKNOWN", describe(body)}
                          : TrialOutcome{{}, errors.front().code, errors.front().message};
  }
  const auto rows = written_rows(*body.json(), 1);
  return rows ? outcome_of(rows->front()) : TrialOutcome{{}, "UNKNOWN", rows.error()};
}

std::optional<std::string> text_of(const platform::JsonValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto number = value.integer()) return std::to_string(*number);
  if (const auto number = value.real()) return std::to_string(static_cast<std::int64_t>(*number));
  return std::nullopt;
}

}  // namespace

TrialRecords::TrialRecords(ApiClient& client, std::string api_version)
    : client_(client), api_version_(std::move(api_version)) {}

TrialOutcome TrialRecords::create(const std::string& object, const JsonRow& row) {
  TrialOutcome outcome = send("POST", row);
  if (outcome.is_done()) made_.push_back({object, outcome.id});
  return outcome;
}

TrialOutcome TrialRecords::write(const JsonRow& row) {
  return send("PATCH", row);
}

TrialOutcome TrialRecords::send(const std::string& method, const JsonRow& row) {
  return outcome_of(call({.method = method,
                          .path = data_path(api_version_) + "/composite/sobjects",
                          .body = R"({"allOrNone":false,"records":[)" + row.text() + "]}",
                          .rows = 1}));
}

std::optional<std::string> TrialRecords::value(const std::string& object, const std::string& id,
                                               const std::string& field) {
  Select select;
  select.fields = {field};
  select.from = object;
  select.conditions = {"Id = " + id_literal(id).value_or("''")};
  const AnswerBody body = call({.path = data_path(api_version_) + "/query",
                                .query = "q=" + platform::percent_encoded(to_soql(select))});
  if (!is_success(body.status) || !body.json()) return std::nullopt;
  const auto page = query_page(*body.json());
  if (!page || page->records.empty()) return std::nullopt;
  const platform::JsonValue* found = page->records.front().find(field);
  return found == nullptr ? std::nullopt : text_of(*found);
}

TrialOutcome TrialRecords::remove(const std::string& id) {
  TrialOutcome outcome =
      outcome_of(call({.method = "DELETE",
                       .path = data_path(api_version_) + "/composite/sobjects",
                       .query = "ids=" + platform::percent_encoded(id) + "&allOrNone=false"}));
  if (outcome.is_done()) std::erase_if(made_, [&](const Made& one) { return one.id == id; });
  return outcome;
}

std::vector<std::string> TrialRecords::remove_all() {
  std::vector<Made> made = made_;
  std::ranges::reverse(made);  // tasks before their gifts
  std::vector<std::string> left;
  for (const Made& one : made) {
    if (!remove(one.id).is_done()) left.push_back(one.object + " " + one.id);
  }
  return left;
}

AnswerBody TrialRecords::call(const ApiRequest& request) {
  const tl::expected<ApiResponse, ApiFault> response = client_.call(request);
  if (!response) throw_fault(response.error());
  return read_body(response->http.status, response->http.body);
}

}  // namespace giftsync::daemon::salesforce
