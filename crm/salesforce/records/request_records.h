// crm/salesforce: the request records of an org that has giftsync's package. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/request_records.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/records/request_poll.h"
#include "crm/salesforce/records/request_updates.h"

namespace giftsync::salesforce {

class SalesforceRequestRecords : public crm::RequestRecords {
 public:
  /// `calls` and `names` outlive this object.
  SalesforceRequestRecords(OrgCalls& calls, const ApiNames& names, RequestPollOptions poll, Clock clock);

  std::vector<crm::RequestRecordEvent> events(std::size_t limit) override { return poll_.events(limit); }
  void acknowledge(std::span<const std::int64_t> event_ids) override { poll_.acknowledge(event_ids); }
  /// Makes no call: the next events() do.
  void enqueue_open() override { poll_.enqueue_open(); }
  std::vector<RequestRecord> find(std::span<const std::string> ids) override;
  std::optional<RequestRecord> find_one(const std::string& number_or_id) override;
  std::vector<RequestRecord> page(const std::string& after, std::optional<RequestRecordStatus> status,
                                  std::size_t limit) override;
  std::vector<crm::RowResult> update(std::span<const crm::RequestRecordUpdate> rows) override;
  /// Throws giftsync::DependencyError with the org's words when it refuses a record.
  std::vector<RequestRecord> create(std::span<const crm::NewRequestRecord> rows) override;
  std::vector<crm::Person> find_persons(crm::PersonObject object, std::span<const std::string> ids) override;
  std::vector<crm::Opportunity> find_opportunities(std::span<const std::string> ids) override;

 private:
  std::vector<RequestRecord> records_of(const Query& query);

  OrgCalls& calls_;
  const ApiNames& names_;
  RequestPoll poll_;
  WrittenRevisions revisions_;
};

}  // namespace giftsync::salesforce
