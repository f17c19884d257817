// crm/salesforce: what the facts of an org mean for giftsync: the mode in which it can write there, and a
// list of findings, each with its remedy. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crm/directory.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/org/org_description.h"

namespace giftsync::salesforce {

inline constexpr int kOldestApiVersion = 60;

/// How gift records are kept from an older version.
enum class OrgMode {
  guarded,  ///< by the validation rules of giftsync's package
  bare,     ///< by the store's newest version and one writer: another owner's package
  none      ///< not at all: nothing is written
};
std::string_view to_word(OrgMode mode);

/// What the settings want of the org.
struct OrgExpectations {
  ApiNames names;
  crm::MatchFields match_fields = {};
  std::string api_version = "62.0";
  std::string integration_user = {};  ///< crm.integration_user; may be empty
  bool is_bare = false;               ///< the settings ask for bare mode
  bool has_tasks = false;
  std::vector<std::string> task_fields = {};  ///< that only some settings fill: Description, ActivityDate
  bool has_requests = false;
  bool auto_approves_requests = false;  ///< the default of Auto-Approved that the settings have
  int share_percent = 20;
  int keep_free_percent = 10;
};

struct Finding {
  enum class Severity {
    note,     ///< nothing to do
    warning,  ///< giftsync works, with the loss that is named
    fault     ///< something that the settings want does not work
  };
  Severity severity = Severity::note;
  std::string subject = {};  ///< "Gift_Record__c.RecipientTransactionId__c"
  std::string found = {};    ///< a sentence without an end
  std::string remedy = {};   ///< what an admin does; empty for notes

  friend bool operator==(const Finding&, const Finding&) = default;
};
std::string_view to_word(Finding::Severity severity);
/// "SUBJECT: FOUND; REMEDY".
std::string to_text(const Finding& finding);

struct OrgReport {
  OrgMode mode = OrgMode::none;
  std::string reason = {};             ///< of the mode, a sentence without an end
  bool offers_tasks = false;           ///< each gift's task can be made exactly once
  bool offers_requests = false;        ///< request records can be claimed
  std::vector<Finding> findings = {};  ///< faults, then warnings, then notes

  bool has_faults() const;
};
OrgReport check(const OrgFacts& facts, const OrgExpectations& expected);

/// Without it no gift record is written.
constexpr bool is_vital(GiftField field) {
  return field == GiftField::transaction_id || field == GiftField::status;
}
/// The gift fields that the user cannot read, or cannot write where giftsync writes them, and which giftsync
/// therefore leaves out: the org refuses what names them. Vital ones are not among them.
std::vector<GiftField> unusable_fields(const ApiNames& names, const OrgFacts& facts);

// Collects the findings of a check of an org, and the remedies that several of them share.
// One thread at a time.

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
  bool has_package_;
  std::vector<Finding> findings_;
};

// What examine() consists of.
void check_gift_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);
void check_request_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);
void check_matching(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list);

}  // namespace giftsync::salesforce
