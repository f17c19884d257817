// daemon/salesforce: tries in an org what giftsync believes of Salesforce: makes records of its own, writes
// them from two threads at once, looks at what was kept, and deletes them. For developer orgs and sandboxes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/api_client.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_findings.h"

namespace giftsync::daemon::salesforce {

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

/// Throws platform::DependencyError where the org does not answer.
OrgProof prove_org(ApiClient& client, const ProofOptions& options);

}  // namespace giftsync::daemon::salesforce
