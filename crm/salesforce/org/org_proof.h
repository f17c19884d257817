// crm/salesforce: tries in an org what giftsync believes of Salesforce: makes records of its own, writes
// them from two threads at once, looks at what was kept, and deletes them. For developer orgs and sandboxes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/api_client.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/org/org_findings.h"

namespace giftsync::salesforce {

struct ProofStep {
  enum class Result { holds, does_not_hold, unknown };
  std::string name;  ///< "two_writers"
  Result result = Result::unknown;
  std::string belief;       ///< what giftsync relies on, a sentence without an end
  std::string found;        ///< what the org did
  std::string consequence;  ///< where it does not hold; else empty
};
std::string_view to_word(ProofStep::Result result);

struct OrgProof {
  std::vector<ProofStep> steps;  ///< the most important first
  OrgMode mode_left = OrgMode::guarded;
  bool offers_tasks = true;
  bool offers_requests = true;
  std::vector<std::string> left_records;  ///< that the user may not delete: "Gift_Record__c a0G..."

  bool has_failed() const;
};

struct ProofOptions {
  const ApiNames& names;
  std::string api_version;
  std::int64_t transaction = 0;  ///< the first of ten ids that no gift has
  int rounds = 100;              ///< of two writers
  std::function<void(std::int64_t millis)> pause;
};

/// In `org` of describe_org(): whether records may be made there for trial.
bool is_trial_org(const OrgFacts& org);

/// Throws giftsync::DependencyError where the org does not answer.
OrgProof prove_org(ApiClient& client, const ProofOptions& options);

// Single records that a proof makes, changes, reads and deletes. Any thread for write().

/// What the org did with one record.
struct TrialOutcome {
  std::string id;    ///< of a record that was made
  std::string code;  ///< empty: done
  std::string message;
  bool is_done() const { return code.empty(); }
  /// "done", or code and words.
  std::string text() const { return is_done() ? "done" : code + ": " + message; }
};

class TrialRecords {
 public:
  TrialRecords(ApiClient& client, std::string api_version);

  /// By POST of Collections, as the adapter does. `row` has its object.
  TrialOutcome create(const std::string& object, const JsonRow& row);
  /// By PATCH of Collections; `row` has the record's id.
  TrialOutcome write(const JsonRow& row);
  /// The field's value as text; nullopt for null and for what cannot be read.
  std::optional<std::string> value(const std::string& object, const std::string& id,
                                   const std::string& field);
  TrialOutcome remove(const std::string& id);
  /// Deletes what was made and is there still. Returns those that stay: "Gift_Record__c a0G...".
  std::vector<std::string> remove_all();

 private:
  TrialOutcome send(const std::string& method, const JsonRow& row);
  AnswerBody call(const ApiRequest& request);

  ApiClient& client_;
  const std::string api_version_;
  struct Made {
    std::string object;
    std::string id;
  };
  std::vector<Made> made_;
};

}  // namespace giftsync::salesforce
