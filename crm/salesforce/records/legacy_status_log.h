// crm/salesforce: the old status log of an org (SYNC-59): an object with one row for each status that a
// gift came to. An org cannot sum up numbers by gift, so the rows are read in the order of their gifts, 2,000
// a call in the class that rests first, and summed up here. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crm/crm.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/org/org_description.h"

namespace giftsync::salesforce {

/// API names. The defaults are those of package version 1.1 without a namespace.
struct StatusLogNames {
  std::string object = "Status_Log__c";
  std::string transaction_id = "RecipientTransactionId__c";
  std::string status = "Status__c";
  std::string time = "CreatedDate";
};

class SalesforceStatusLog : public crm::LegacyStatusLog {
 public:
  /// `calls` outlives this object.
  SalesforceStatusLog(OrgCalls& calls, StatusLogNames names) : calls_(calls), names_(std::move(names)) {}

  /// Whether the integration user may read such an object. Asks the org once.
  bool exists();

  crm::StatusLogSize size() override;
  void prepare() override {}
  /// What was read before a call failed is kept for the next try, with its bounds of times.
  std::vector<crm::StatusLogGroup> spans(TransactionId after, std::size_t limit, UtcMillis from,
                                         UtcMillis to) override;

 private:
  struct Row {
    std::string id;
    TransactionId transaction;
    std::string status_text;
    std::optional<UtcMillis> time;
  };
  using Groups = std::map<std::pair<TransactionId, std::string>, crm::StatusLogGroup>;
  /// The rows above `start`, as far as they are read.
  struct LogScan {
    TransactionId start;
    UtcMillis from;
    UtcMillis to;
    TransactionId position;  ///< of this gift and those before it every row is read ...
    std::string row_after;   ///< ... unless this Id names the last one that is
    bool is_end = false;
    Groups groups;
  };

  const std::vector<FieldFacts>* fields();
  void check_fields();
  const FieldFacts& require(const std::string& name, const char* key);
  std::vector<Row> read_rows(const std::string& soql);
  std::string page_of_gifts(TransactionId after) const;
  std::string page_of_one_gift(TransactionId gift, const std::string& row_after) const;
  void read_on(LogScan& scan);

  OrgCalls& calls_;
  const StatusLogNames names_;
  std::mutex mutex_;  // guards the following
  bool is_described_ = false;
  std::optional<std::vector<FieldFacts>> fields_;
  std::optional<LogScan> interrupted_;
};

}  // namespace giftsync::salesforce
