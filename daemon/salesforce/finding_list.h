// daemon/salesforce: collects the findings of a check of an org, and the remedies that several of them share.
// One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/org_facts.h"
#include "daemon/salesforce/org_findings.h"

namespace giftsync::daemon::salesforce {

class FindingList {
 public:
  FindingList(const OrgFacts& facts, const OrgExpectations& expected);

  void add(Finding::Severity severity, std::string subject, std::string found, std::string remedy = {});

  /// A missing field and one that the user may not see look the same from outside.
  std::string to_see(std::string_view field) const;
  /// For objects and fields that the user sees but may not write.
  std::string to_write() const;

  /// Faults, then warnings, then notes; each in the order in which they were added. Many that the package's
  /// permission set explains alike are one, which has their subjects.
  std::vector<Finding> take();

 private:
  void fold();

  std::string user_;
  std::string permission_set_;
  bool has_package_;
  std::vector<Finding> findings_;
};

// What examine() consists of.
void examine_gift_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);
void examine_request_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);
void examine_matching(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);

}  // namespace giftsync::daemon::salesforce
