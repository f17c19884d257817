#include "crm/salesforce/org/org_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <utility>

#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/org/package.h"
#include "platform/dependency_error.h"
#include "platform/strict_json.h"
#include "schema/enums.h"

namespace giftsync::salesforce {
namespace {
using Result = ProofStep::Result;

/// Stamps of Salesforce have whole seconds.
constexpr std::int64_t kNextSecondMillis = 2'100;
constexpr const char* kDuplicate = "DUPLICATE_VALUE";

bool is_refused_by(const TrialOutcome& outcome, std::string_view mark) {
  return outcome.code == "FIELD_CUSTOM_VALIDATION_EXCEPTION" && outcome.message.starts_with(mark);
}

Result result_if(bool holds) {
  return holds ? Result::holds : Result::does_not_hold;
}

class Proof {
 public:
  Proof(ApiClient& client, const ProofOptions& options)
      : options_(options), names_(options.names), records_(client, options.api_version) {}

  OrgProof run() {
    OrgProof proof;
    try {
      prove_gifts(proof.steps);
      prove_requests(proof.steps);
      prove_tasks(proof.steps);
      prove_values(proof.steps);
      prove_recycle_bin(proof.steps);
    } catch (const giftsync::DependencyError& error) {
      throw giftsync::DependencyError(
          error.transient(),
          fmt::format("{}; records named \"giftsync proof\" may be left in the org", error.what()), true);
    }
    proof.left_records = records_.remove_all();
    return proof;
  }

  bool is_doubled() const { return is_doubled_; }

 private:
  using Steps = std::vector<ProofStep>;

  JsonRow new_gift(std::int64_t number, std::string_view name = "giftsync proof") const {
    JsonRow row(names_.object("gift_record"));
    row.add_number(names_.field(GiftField::transaction_id), options_.transaction + number);
    row.add_text(names_.field(GiftField::name), name);
    row.add_text(names_.field(GiftField::status), giftsync::to_word(Status::sent));
    row.add_number(names_.field(OwnField::record_version), 2);
    return row;
  }
  JsonRow gift_version(const std::string& id, std::int64_t version) const {
    JsonRow row(names_.object("gift_record"));
    row.add_text("id", id);
    row.add_number(names_.field(OwnField::record_version), version);
    return row;
  }

  void prove_gifts(Steps& steps) {
    const TrialOutcome gift = records_.create(names_.object("gift_record"), new_gift(0));
    gift_id_ = gift.id;
    ProofStep rule{.name = "version_rule",
                   .belief = "the rule Only_Newer refuses an older version",
                   .found = {},
                   .consequence = "gift records are not protected: guarded mode is not possible"};
    ProofStep writers{
        .name = "two_writers",
        .belief = "the same under two writers at once",
        .found = {},
        .consequence = "an older state may overwrite a newer one: guarded mode is not possible"};
    if (gift.is_done()) {
      const TrialOutcome older = records_.write(gift_version(gift.id, 1));
      rule.result = result_if(is_refused_by(older, kOlderVersionMark));
      rule.found = older.text();
      run_two_writers(writers);
    } else {
      rule.found = writers.found = "no record could be made: " + gift.text();
    }
    steps.push_back(std::move(rule));
    steps.push_back(std::move(writers));
    prove_duplicates(steps, gift);
  }

  void run_two_writers(ProofStep& step) {
    const std::string& field = names_.field(OwnField::record_version);
    for (int round = 0; round < options_.rounds; ++round) {
      const std::int64_t newer = 10 + 2 * std::int64_t{round} + 1;
      const JsonRow first = gift_version(gift_id_, newer - 1);
      const JsonRow second = gift_version(gift_id_, newer);
      auto other = std::async(std::launch::async, [&] { return records_.write(first); });
      records_.write(second);
      other.get();
      const auto kept = records_.value(names_.object("gift_record"), gift_id_, field);
      if (kept == std::to_string(newer)) continue;
      step.result = Result::does_not_hold;
      step.found =
          fmt::format("round {} kept version {} instead of {}", round + 1, kept.value_or("none"), newer);
      return;
    }
    step.result = Result::holds;
    step.found = fmt::format("{} rounds kept the newer version", options_.rounds);
  }

  void prove_duplicates(Steps& steps, const TrialOutcome& gift) {
    ProofStep step{.name = "duplicate_names_the_record",
                   .belief = "a second gift record of a key is refused, and the refusal names the first one",
                   .found = {},
                   .consequence =
                       "a lost answer costs one more call; where the second one was made, guarded mode "
                       "is not possible"};
    if (gift.is_done()) {
      const TrialOutcome again = records_.create(names_.object("gift_record"), new_gift(0));
      step.result = result_if(again.code == kDuplicate &&
                              again.message.find(gift.id.substr(0, 15)) != std::string::npos);
      step.found = again.text();
      is_doubled_ = again.is_done();
    }
    steps.push_back(std::move(step));
  }

  void prove_requests(Steps& steps) {
    using F = RequestRecordField;
    ProofStep step{
        .name = "request_guard",
        .belief = "the rule As_Read accepts a write of what was read, and refuses it after a change",
        .found = {},
        .consequence = "request records cannot be claimed: they are not possible"};
    const std::string object = names_.object("request_record");
    JsonRow row(object);
    row.add_text(names_.field(F::status), giftsync::to_word(RequestRecordStatus::pending));
    const TrialOutcome made = records_.create(object, row);
    const auto read = made.is_done() ? records_.value(object, made.id, "LastModifiedDate") : std::nullopt;
    if (read) {
      options_.pause(kNextSecondMillis);
      const TrialOutcome first = records_.write(guarded_request(made.id, *read, "proof 1"));
      const TrialOutcome second = records_.write(guarded_request(made.id, *read, "proof 2"));
      step.result = result_if(first.is_done() && is_refused_by(second, kChangedSinceReadMark));
      step.found = first.text() + ", then " + second.text();
    } else {
      step.found = "no record could be made: " + made.text();
    }
    steps.push_back(std::move(step));
  }

  JsonRow guarded_request(const std::string& id, const std::string& read, std::string_view mark) const {
    JsonRow row(names_.object("request_record"));
    row.add_text("id", id);
    row.add_text(names_.field(OwnField::guard_modified), read);
    row.add_text(names_.field(OwnField::guard_mark), mark);
    return row;
  }

  void prove_tasks(Steps& steps) {
    ProofStep step{.name = "unique_task",
                   .belief = "a second task of a gift is refused",
                   .found = {},
                   .consequence = "tasks could be doubled: they are not possible"};
    const std::string object = names_.object("task");
    JsonRow row(object);
    row.add_text(names_.field("task", "Subject"), "giftsync proof");
    row.add_text(names_.field("task", "WhatId"), gift_id_);
    row.add_number(names_.field(OwnField::task_transaction), options_.transaction);
    const TrialOutcome first = records_.create(object, row);
    step.found = first.text();
    if (first.is_done()) {
      const TrialOutcome second = records_.create(object, row);
      step.result = result_if(second.code == kDuplicate);
      step.found = second.text();
    }
    steps.push_back(std::move(step));
  }

  void prove_values(Steps& steps) {
    const std::string object = names_.object("gift_record");
    JsonRow row = new_gift(1, "  giftsync proof  ");
    row.add_text(names_.field(GiftField::sent_at), "2026-01-31T10:00:00.789Z");
    const TrialOutcome made = records_.create(object, row);
    const auto name =
        made.is_done() ? records_.value(object, made.id, names_.field(GiftField::name)) : std::nullopt;
    const auto time =
        made.is_done() ? records_.value(object, made.id, names_.field(GiftField::sent_at)) : std::nullopt;
    steps.push_back({"trimming", name ? result_if(*name == "giftsync proof") : Result::unknown,
                     "texts lose white space at both ends", name.value_or(made.text()),
                     "a backfill reports such texts as drift"});
    steps.push_back({"whole_seconds",
                     time ? result_if(time->find(".000") != std::string::npos) : Result::unknown,
                     "times lose their milliseconds", time.value_or(made.text()),
                     "a backfill reports such times as drift"});
  }

  void prove_recycle_bin(Steps& steps) {
    ProofStep step{
        .name = "recycle_bin",
        .belief = "a deleted record in the recycle bin does not keep its key",
        .found = {},
        .consequence = "a deleted gift record is made again only after the recycle bin was emptied"};
    const std::string object = names_.object("gift_record");
    const TrialOutcome made = records_.create(object, new_gift(2));
    const TrialOutcome removed = made.is_done() ? records_.remove(made.id) : made;
    step.found = removed.text();
    if (removed.is_done()) {
      const TrialOutcome again = records_.create(object, new_gift(2));
      step.result = result_if(again.is_done());
      step.found = again.text();
    }
    steps.push_back(std::move(step));
  }

  const ProofOptions& options_;
  const ApiNames& names_;
  TrialRecords records_;
  std::string gift_id_;
  bool is_doubled_ = false;  ///< two records of one key were made
};

bool holds(const OrgProof& proof, std::string_view name) {
  const auto step = std::ranges::find(proof.steps, name, &ProofStep::name);
  return step != proof.steps.end() && step->result == Result::holds;
}

}  // namespace

std::string_view to_word(Result result) {
  constexpr auto kWords = std::to_array<std::string_view>({"holds", "does not hold", "unknown"});
  return kWords[static_cast<std::size_t>(result)];
}

bool OrgProof::has_failed() const {
  return std::ranges::any_of(steps, [](const ProofStep& step) { return step.result != Result::holds; });
}

bool is_trial_org(const OrgFacts& org) {
  return org.is_sandbox || org.edition == "Developer Edition";
}

OrgProof prove_org(ApiClient& client, const ProofOptions& options) {
  Proof trial(client, options);
  OrgProof proof = trial.run();
  const bool is_guarded = holds(proof, "version_rule") && holds(proof, "two_writers") && !trial.is_doubled();
  proof.mode_left = is_guarded ? OrgMode::guarded : trial.is_doubled() ? OrgMode::none : OrgMode::bare;
  proof.offers_tasks = holds(proof, "unique_task");
  proof.offers_requests = is_guarded && holds(proof, "request_guard");
  for (ProofStep& step : proof.steps) {
    if (step.result == Result::holds) step.consequence.clear();
  }
  return proof;
}

namespace {

TrialOutcome outcome_of(const WrittenRow& row) {
  if (row.is_success) return {row.id, {}, {}};
  if (row.errors.empty()) return {{}, "UNKNOWN", "no error was named"};
  return {{}, row.errors.front().code, row.errors.front().message};
}

/// The outcome in an answer to one row: a list of one.
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

std::optional<std::string> text_of(const JsonValue& value) {
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
  const AnswerBody body =
      call({.path = data_path(api_version_) + "/query", .query = "q=" + percent_encoded(to_soql(select))});
  if (!is_success(body.status) || !body.json()) return std::nullopt;
  const auto page = query_page(*body.json());
  if (!page || page->records.empty()) return std::nullopt;
  const JsonValue* found = page->records.front().find(field);
  return found == nullptr ? std::nullopt : text_of(*found);
}

TrialOutcome TrialRecords::remove(const std::string& id) {
  TrialOutcome outcome = outcome_of(call({.method = "DELETE",
                                          .path = data_path(api_version_) + "/composite/sobjects",
                                          .query = "ids=" + percent_encoded(id) + "&allOrNone=false"}));
  if (outcome.is_done()) std::erase_if(made_, [&](const Made& made) { return made.id == id; });
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

}  // namespace giftsync::salesforce
